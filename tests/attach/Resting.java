// SPDX-License-Identifier: GPL-2.0
// Programs of Java with nothing to do, or of which nobody can tell from outside.
import java.nio.channels.Pipe;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;

final class Resting {
	private static Selector selector() throws Exception {
		Selector selector = Selector.open();
		Pipe pipe = Pipe.open();
		pipe.source().configureBlocking(false);
		pipe.source().register(selector, SelectionKey.OP_READ);
		return selector;
	}

	private static void begin(String name, Runnable work) {
		new Thread(work, name).start();
	}

	private static void sleep() {
		try {
			Thread.sleep(1000000);
		} catch (InterruptedException e) {
			throw new IllegalStateException(e);
		}
	}

	private static void select(Selector selector) {
		try {
			selector.select();
		} catch (java.io.IOException e) {
			throw new IllegalStateException(e);
		}
	}

	public static void main(String[] args) throws Exception {
		Selector selector = selector();
		switch (args[0]) {
		case "selector" -> select(selector);
		case "pool" -> {
			var pool = Executors.newFixedThreadPool(4);
			for (int i = 0; i < 8; i++)
				pool.submit(() -> 0).get();
			begin("selector", () -> select(selector));
			Thread.currentThread().join();
		}
		case "sleeping-main" -> {
			begin("selector", () -> select(selector));
			sleep();
		}
		case "future" -> { /* the selector's thread is in a handler, which is not known */
			begin("selector", () -> new CompletableFuture<Integer>().join());
			sleep();
		}
		default -> throw new IllegalArgumentException(args[0]);
		}
	}

	private Resting() {
	}
}
