/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A handler of Swing sleeps 68 ms, and waits shortly for a monitor that another thread often holds.
 * A line on stdin starts it, COUNT times.
 */
import java.awt.EventQueue;
import javax.swing.JFrame;
import javax.swing.JLabel;

public class SwingNap {
    static final Object monitor = new Object();

    static void nap(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void handle() {
        nap(68);
        for (int i = 0; i < 3; i++) {
            synchronized (monitor) {
                Thread.onSpinWait();
            }
        }
    }

    static void hold() {
        for (;;) {
            synchronized (monitor) {
                nap(1);
            }
            nap(2);
        }
    }

    public static void main(String[] args) throws Exception {
        EventQueue.invokeAndWait(() -> {
            JFrame frame = new JFrame("nap");
            frame.add(new JLabel("nap"));
            frame.pack();
            frame.setVisible(true);
        });
        Thread holder = new Thread(SwingNap::hold, "holder");
        holder.setDaemon(true);
        holder.start();
        System.out.println("ready");
        System.in.read();
        for (int i = Integer.parseInt(args[0]); i > 0; i--) {
            nap(100);
            EventQueue.invokeAndWait(SwingNap::handle);
        }
        System.exit(0);
    }
}
