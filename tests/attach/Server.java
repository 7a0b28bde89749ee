// SPDX-License-Identifier: GPL-2.0
// A server over java.nio's selector, with the stalls of stall_preload.c, done in Java.
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;

final class Server {
	private static final int SLICE_MS = 20;
	private static final Object monitor = new Object();

	private static Thread later(Runnable work) {
		Thread thread = new Thread(work);
		thread.start();
		return thread;
	}

	private static void rest(int seconds) {
		try {
			Thread.sleep(seconds * 1000L);
		} catch (InterruptedException e) {
			throw new IllegalStateException(e);
		}
	}

	private static void writeLater(Path fifo, int seconds) {
		try (FileOutputStream file = new FileOutputStream(fifo.toFile())) {
			rest(seconds);
			file.write(0);
		} catch (IOException e) {
			throw new IllegalStateException(e);
		}
	}

	private static void block(Path folder, int seconds) throws Exception {
		Path fifo = folder.resolve("fifo");
		if (!Files.exists(fifo))
			new ProcessBuilder("mkfifo", fifo.toString()).start().waitFor();
		Thread writer = later(() -> writeLater(fifo, seconds));
		try (FileInputStream file = new FileInputStream(fifo.toFile())) {
			file.read();
		}
		writer.join();
	}

	private static void lock(int seconds) throws Exception {
		CountDownLatch held = new CountDownLatch(1);
		Thread holder = later(() -> {
			synchronized (monitor) {
				held.countDown();
				rest(seconds);
			}
		});
		held.await();
		synchronized (monitor) {
			holder.isAlive();
		}
		holder.join();
	}

	private static void compute(int seconds) {
		long end = System.nanoTime() + seconds * 1000000000L;
		while (System.nanoTime() < end)
			;
	}

	private static void stallOnDemand(Path folder, Path order) throws Exception {
		if (!Files.exists(order))
			return;
		String[] words = Files.readString(order).split(" ");
		int seconds = Integer.parseInt(words[1].trim());
		Files.delete(order);
		switch (words[0]) {
		case "asleep" -> rest(seconds);
		case "blocked" -> block(folder, seconds);
		case "busy" -> compute(seconds);
		case "locked" -> lock(seconds);
		default -> throw new IllegalArgumentException(words[0]);
		}
	}

	public static void main(String[] args) throws Exception {
		Path folder = Path.of(args[0]);
		Path order = folder.resolve(Long.toString(ProcessHandle.current().pid()));
		Selector selector = Selector.open();
		ServerSocketChannel server = ServerSocketChannel.open()
			.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));

		server.configureBlocking(false);
		server.register(selector, SelectionKey.OP_ACCEPT);
		for (;;) {
			selector.select(SLICE_MS);
			stallOnDemand(folder, order);
		}
	}

	private Server() {
	}
}
