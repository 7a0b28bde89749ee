// SPDX-License-Identifier: GPL-2.0
// A Selector loop whose handlers are slow three calls deep. Each handler stays in one line of its
// innermost method, which the test knows by the comment at that line ("slow: …").
package shop;

import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.Arrays;
import java.util.Comparator;
import java.util.function.LongSupplier;
import java.util.regex.Pattern;

final class Names {
	static final long STALL_NS = 80000000L;
	static final long WARM_NS = 3000000L;
	static final int DEPTH = 60;
	static volatile long sink;
	static long end;

	static boolean late() {
		return System.nanoTime() - end >= 0;
	}

	// A loop in the method itself: compiled while it runs.
	static void spin() {
		while (!late()) sink = sink * 6364136223846793005L + (sink >>> 33); // slow: spin
	}

	static void price() {
		spin();
	}

	static void checkout() {
		price();
	}

	// Small methods that the compiler inlines into their caller.
	static long tax(long from) {
		long sum = from;
		for (int i = 0; i < 2000; i++) sum = sum * 6364136223846793005L + (sum >>> 33); // slow: tax
		return sum;
	}

	static long total(long from) {
		return tax(from) ^ tax(from + 1);
	}

	static void invoice() {
		while (!late())
			sink = total(sink);
	}

	static void descend(int depth) {
		if (depth > 0)
			descend(depth - 1);
		else
			spin();
	}

	static void nap() throws InterruptedException {
		Thread.sleep(STALL_NS / 1000000); // slow: nap
	}

	static void match() {
		String text = "a".repeat(24) + "b";
		while (!late()) sink += Pattern.compile("(a+)+c").matcher(text).find() ? 1 : 0; // slow: match
	}

	static void sort() {
		Integer[] numbers = new Integer[500];
		while (!late()) {
			for (int i = 0; i < numbers.length; i++)
				numbers[i] = (int)(i * 2654435761L);
			Arrays.sort(numbers, new ByKey()); // slow: sort
		}
	}

	static final class ByKey implements Comparator<Integer> {
		@Override
		public int compare(Integer a, Integer b) {
			long sum = a;
			for (int i = 0; i < 100; i++) sum = sum * 6364136223846793005L + b; // slow: compare
			sink = sum;
			return Integer.compare(a, b);
		}
	}

	static void closure(long seed) {
		LongSupplier supplier = () -> {
			while (!late()) sink = sink * 6364136223846793005L + seed; // slow: closure
			return seed;
		};
		sink += supplier.getAsLong();
	}

	static void handle(int letter, long ns) throws Exception {
		end = System.nanoTime() + ns;
		switch (letter) {
		case 's': checkout(); break;
		case 'i': invoice(); break;
		case 'r': descend(DEPTH); break;
		case 'n': nap(); break;
		case 'm': match(); break;
		case 'o': sort(); break;
		case 'c': closure(letter); break;
		case 'w':
			for (char each : "siroc".toCharArray())
				handle(each, WARM_NS);
			break;
		default: System.exit(0);
		}
	}

	static void serve(SocketChannel client, ByteBuffer room) throws Exception {
		room.clear();
		if (client.read(room) < 0)
			System.exit(0);
		int letter = room.get(0);
		handle(letter, STALL_NS);
		client.write(ByteBuffer.wrap(new byte[] { (byte)letter }));
	}

	public static void main(String[] args) throws Exception {
		Selector selector = Selector.open();
		ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
		ByteBuffer room = ByteBuffer.allocateDirect(1);

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

	private Names() {
	}
}
