// SPDX-License-Identifier: GPL-2.0
// stall.h for Java: the same lines, the same start by a byte on stdin, the same ticks.
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

final class Stall {
	static final int MS = 60, TICK_MS = 20, APART = 4, ROUNDS = 2, LINGER = 6, LIFE_MS = 120000;
	static final int NONE = -1, OVER = -2;
	private static boolean ready, started;
	private static volatile int round;
	private static int ticks;

	/** Which of count stalls is to be done now; called by every tick. */
	static int due(int count) throws IOException {
		if (!ready) {
			ready = true;
			live();
			warm();
			System.out.println("{\"ready\":" + ProcessHandle.current().pid() + "}");
		}
		started = started || System.in.available() > 0;
		if (!started || ++ticks % APART != 0)
			return NONE;
		int turn = ticks / APART - 1;
		round = turn / count;
		if (round < ROUNDS)
			return turn % count;
		return turn < ROUNDS * count + LINGER ? NONE : OVER;
	}

	/** Nobody is left behind by a test that died. */
	private static void live() {
		Thread limit = new Thread(() -> {
			nap(LIFE_MS);
			Runtime.getRuntime().halt(1);
		});
		limit.setDaemon(true);
		limit.start();
	}

	/** What the first stall would need of the machine is loaded before a tracer comes. */
	private static void warm() throws IOException {
		line("", "sleep", 0, 0, "");
		nap(1);
		spin(1);
	}

	private static void nap(int ms) {
		try {
			Thread.sleep(ms);
		} catch (InterruptedException e) {
			Runtime.getRuntime().halt(1);
		}
	}

	private static void spin(int ms) {
		long end = System.nanoTime() + ms * 1000000L;
		while (System.nanoTime() < end)
			;
	}

	private static String line(String kind, String how, long begin, long end, String message) throws IOException {
		Path thread = Files.readSymbolicLink(Path.of("/proc/thread-self")).getFileName();
		return "{\"kind\":\"" + kind + "\",\"how\":\"" + how + "\",\"begin_ns\":" + begin + ",\"end_ns\":" + end
			+ ",\"tid\":" + thread + ",\"frame\":null,\"message\":{" + message + "}}";
	}

	/** message: its members, as JSON. */
	static void here(String kind, String message) throws IOException {
		boolean cpu = round % 2 != 0;
		long begin = System.nanoTime();
		if (cpu)
			spin(MS);
		else
			nap(MS);
		System.out.println(line(kind, cpu ? "cpu" : "futex", begin, System.nanoTime(), message));
	}

	private Stall() {
	}
}
