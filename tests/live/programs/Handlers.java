// SPDX-License-Identifier: GPL-2.0
// An event loop as in Java servers: a Selector, and a handler for each byte that a client sends.
// The byte selects the handler and is also the answer.
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.concurrent.locks.LockSupport;

final class Handlers {
	static final int STALL_MS = 80;
	static final long WARM_NS = 20000;
	static final Object lock = new Object();
	static volatile boolean held;
	static volatile long sink;
	static Path file;

	// The chain that each stack on the CPU must have: busy, outer, middle, inner.
	static long inner(long from) {
		long sum = from;

		for (int i = 0; i < 200; i++)
			sum = sum * 6364136223846793005L + (sum >>> 33);
		return sum;
	}

	static long middle(long from) {
		return inner(from) ^ inner(from + 1);
	}

	static long outer(long from) {
		return middle(from) + 1;
	}

	static void busy(long ns) {
		long end = System.nanoTime() + ns;

		while (System.nanoTime() < end)
			sink = outer(sink);
	}

	static void nap() throws InterruptedException {
		Thread.sleep(STALL_MS);
	}

	static void park() {
		long end = System.nanoTime() + STALL_MS * 1000000L;

		while (System.nanoTime() < end)
			LockSupport.parkNanos(end - System.nanoTime());
	}

	static void contend() throws InterruptedException {
		held = false;
		new Thread(() -> {
			synchronized (lock) {
				held = true;
				try {
					Thread.sleep(STALL_MS);
				} catch (InterruptedException e) {
					throw new IllegalStateException(e);
				}
			}
		}, "holder").start();
		while (!held)
			Thread.onSpinWait();
		synchronized (lock) {
			held = false;
		}
	}

	static void store(long ns) throws Exception {
		long end = System.nanoTime() + ns;

		try (FileChannel out = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
			do {
				out.write(ByteBuffer.wrap(new byte[1 << 16]), 0);
				out.force(true);
			} while (System.nanoTime() < end);
		}
	}

	/** Library code and its stubs: arrays are filled, copied, sorted, hashed. */
	static void library(long ns) {
		long end = System.nanoTime() + ns;
		int[] numbers = new int[20000];

		while (System.nanoTime() < end) {
			for (int i = 0; i < numbers.length; i++)
				numbers[i] = (int)(i * 2654435761L);
			Arrays.sort(numbers);
			StringBuilder text = new StringBuilder();
			for (int i = 0; i < 2000; i++)
				text.append(numbers[i]).append(',');
			sink += text.toString().hashCode() + Arrays.copyOf(numbers, 10000).length;
		}
	}

	static void handle(int letter) throws Exception {
		switch (letter) {
		case 'c' -> busy(STALL_MS * 1000000L);
		case 'j' -> library(STALL_MS * 1000000L);
		case 'n' -> nap();
		case 'p' -> park();
		case 'l' -> contend();
		case 'f' -> store(STALL_MS * 1000000L);
		case 'w' -> { // gets the others' code compiled
			busy(WARM_NS);
			library(WARM_NS);
			if (sink == 0)
				contend();
		}
		case 'q' -> System.exit(0);
		default -> { }
		}
	}

	static void serve(SocketChannel client, ByteBuffer room) throws Exception {
		room.clear();
		if (client.read(room) < 0)
			System.exit(0);
		room.flip();
		while (room.hasRemaining()) {
			int letter = room.get();

			handle(letter);
			client.write(ByteBuffer.wrap(new byte[] { (byte)letter }));
		}
	}

	public static void main(String[] args) throws Exception {
		Selector selector = Selector.open();
		ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
		ByteBuffer room = ByteBuffer.allocateDirect(4096);

		file = Path.of(args[0] + ".data");
		server.bind(UnixDomainSocketAddress.of(args[0]));
		server.configureBlocking(false);
		server.register(selector, SelectionKey.OP_ACCEPT);
		for (;;) {
			selector.select();
			for (SelectionKey key : selector.selectedKeys()) {
				if (key.isAcceptable()) {
					SocketChannel client = server.accept();
					client.configureBlocking(false);
					client.register(selector, SelectionKey.OP_READ);
				} else {
					serve((SocketChannel)key.channel(), room);
				}
			}
			selector.selectedKeys().clear();
		}
	}

	private Handlers() {
	}
}
