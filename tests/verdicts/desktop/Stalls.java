// SPDX-License-Identifier: GPL-2.0
// Stalls of Swing's event thread: usage: Stalls FILE DELAY_MS ROUNDS
import java.io.FileWriter;
import java.io.IOException;
import javax.swing.JFrame;
import javax.swing.JLabel;
import javax.swing.SwingUtilities;
import javax.swing.Timer;

public class Stalls {
	static final int STALL_MS = 150, GAP_MS = 400;
	static final String[] KINDS = { "cpu", "sleep", "futex" };
	static final Object lock = new Object();
	static volatile long spun;

	static long now() {
		java.time.Instant at = java.time.Instant.now();
		return at.getEpochSecond() * 1000000000L + at.getNano();
	}

	static void spin() {
		for (long end = System.nanoTime() + STALL_MS * 1000000L; System.nanoTime() < end; )
			spun++;
	}

	static void stall(String kind) throws InterruptedException {
		switch (kind) {
		case "cpu": spin(); break;
		case "sleep": Thread.sleep(STALL_MS); break;
		case "futex": synchronized (lock) { lock.wait(STALL_MS); } break;
		}
	}

	static void tell(String path, String kind) {
		try (FileWriter file = new FileWriter(path, true)) {
			long begin = now();
			stall(kind);
			file.write(begin + " " + now() + " " + kind + "\n");
		} catch (IOException | InterruptedException error) {
			throw new RuntimeException(error);
		}
	}

	public static void main(String[] args) throws Exception {
		int rounds = Integer.parseInt(args[2]);

		SwingUtilities.invokeAndWait(() -> {
			JFrame frame = new JFrame("stalls");
			frame.add(new JLabel("stalls"));
			frame.setSize(200, 200);
			frame.setVisible(true);
		});
		Thread.sleep(Integer.parseInt(args[1]));
		for (int i = 0; i < rounds * KINDS.length; i++) {
			String kind = KINDS[i % KINDS.length];
			SwingUtilities.invokeLater(() -> tell(args[0], kind));
			Thread.sleep(STALL_MS + GAP_MS);
		}
		Thread.sleep(1 << 30);
	}
}
