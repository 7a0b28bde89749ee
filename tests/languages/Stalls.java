// SPDX-License-Identifier: GPL-2.0
// Stalls of known methods, three calls deep, as stalls.js. A line of the socket names one; "done"
// answers. The marks @name are at the lines in which each takes its time. args: a port of this
// machine, a FIFO, and "virtual" to run the loop in a virtual thread.
import java.io.FileInputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.function.LongSupplier;
import java.util.regex.Pattern;

final class Stalls {
	static final long STALL_NS = 90000000L;
	static final int SCALE = Integer.getInteger("scale", 1); // a slow machine has fewer rows
	static final Object lock = new Object();
	static volatile long sink;
	static String fifo;

	static void until(long end) {
		while (System.nanoTime() - end < 0)
			sink = sink * 6364136223846793005L + (sink >>> 33); // @busy
	}

	static void compute(long ns) {
		until(System.nanoTime() + ns);
	}

	static void busy() {
		compute(STALL_NS);
	}

	static void checkName() {
		Pattern pattern = Pattern.compile("(.*,){11}P");
		for (long end = System.nanoTime() + STALL_NS; System.nanoTime() - end < 0;)
			sink += pattern.matcher("1,2,3,4,5,6,7,8,9,10,11,12,13,14").find() ? 1 : 0; // @regex
	}

	static long loadConfig() throws Exception {
		try (FileInputStream file = new FileInputStream(fifo)) { // @fifo
			return file.read();
		}
	}

	static void holdLock(CountDownLatch held) {
		synchronized (lock) {
			held.countDown();
			try {
				Thread.sleep(120);
			} catch (InterruptedException e) {
				throw new IllegalStateException(e);
			}
		}
	}

	static void takeLock() throws Exception {
		CountDownLatch held = new CountDownLatch(1);
		new Thread(() -> holdLock(held)).start();
		held.await();
		synchronized (lock) { // @lock
			sink++;
		}
	}

	static final class ByKey implements Comparator<Integer> {
		@Override
		public int compare(Integer a, Integer b) {
			for (int i = 0; i < 100; i++)
				sink += a ^ i; // @sort
			return Integer.compare(a, b);
		}
	}

	static void sortRows() {
		Integer[] rows = new Integer[40000 / SCALE];
		for (int i = 0; i < rows.length; i++)
			rows[i] = (int)(i * 7919L % 60013);
		Arrays.sort(rows, new ByKey());
	}

	static long descend(int depth) {
		if (depth == 0) {
			long end = System.nanoTime() + STALL_NS;
			while (System.nanoTime() - end < 0)
				sink++; // @recursion
			return 0;
		}
		return 1 + descend(depth - 1);
	}

	static final class Catalog {
		long total;

		void rebuild() {
			for (long end = System.nanoTime() + STALL_NS; System.nanoTime() - end < 0;)
				total++; // @method
		}
	}

	static void makeCatalog() {
		new Catalog().rebuild();
	}

	// Small methods that a compiler puts into their caller.
	static long tax(long from) {
		long sum = from;
		for (int i = 0; i < 2000; i++)
			sum = sum * 6364136223846793005L + (sum >>> 33); // @inlined
		return sum;
	}

	static long total(long from) {
		return tax(from) ^ tax(from + 1);
	}

	static void invoice() {
		for (long end = System.nanoTime() + STALL_NS; System.nanoTime() - end < 0;)
			sink = total(sink);
	}

	static void perRequest(long seed) {
		LongSupplier supplier = () -> {
			for (long end = System.nanoTime() + STALL_NS; System.nanoTime() - end < 0;)
				sink += seed; // @lambda
			return seed;
		};
		sink += supplier.getAsLong();
	}

	static int grow() {
		List<long[]> kept = new ArrayList<>();
		for (int i = 0; i < 400000 / SCALE; i++)
			kept.add(new long[] { i, i, i, i, i, i, i, i, i, i, i, i }); // @collection
		return kept.size();
	}

	static void onCommand(String name) throws Exception {
		switch (name) {
		case "busy": busy(); break;
		case "regex": checkName(); break;
		case "fifo": loadConfig(); break;
		case "lock": takeLock(); break;
		case "sort": sortRows(); break;
		case "recursion": descend(60); break;
		case "method": makeCatalog(); break;
		case "inlined": invoice(); break;
		case "lambda": perRequest(name.length()); break;
		case "collection": grow(); break;
		default: throw new IllegalArgumentException(name);
		}
	}

	static void serve(int port) throws Exception {
		Selector selector = Selector.open();
		SocketChannel client = SocketChannel.open(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
		ByteBuffer room = ByteBuffer.allocateDirect(64);

		client.configureBlocking(false);
		client.register(selector, SelectionKey.OP_READ);
		client.write(StandardCharsets.UTF_8.encode("ready\n"));
		for (;;) {
			selector.select();
			selector.selectedKeys().clear();
			room.clear();
			int size = client.read(room);
			if (size < 0)
				System.exit(0);
			if (size > 0) {
				onCommand(StandardCharsets.UTF_8.decode(room.flip()).toString().trim());
				client.write(StandardCharsets.UTF_8.encode("done\n"));
			}
		}
	}

	static void serveAlways(String port) {
		try {
			serve(Integer.parseInt(port));
		} catch (Exception e) {
			e.printStackTrace();
			System.exit(1);
		}
	}

	public static void main(String[] args) throws Exception {
		fifo = args[1];
		if (args.length > 2) // by reflection: JDK 21 and later have them
			((Thread)Thread.class.getMethod("startVirtualThread", Runnable.class)
				 .invoke(null, (Runnable)() -> serveAlways(args[0]))).join();
		else
			serve(Integer.parseInt(args[0]));
	}

	private Stalls() {
	}
}
