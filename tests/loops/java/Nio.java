// SPDX-License-Identifier: GPL-2.0
// A loop over java.nio's selector: what comes through a pipe and a socket, a task after a wakeup.
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

final class Nio {
	private static volatile boolean task;

	private static void wakeLater(Selector selector) {
		new Thread(() -> {
			task = true;
			selector.wakeup();
		}).start();
	}

	private static <T extends SelectableChannel> T watch(T channel, Selector selector) throws Exception {
		channel.configureBlocking(false);
		channel.register(selector, SelectionKey.OP_READ);
		return channel;
	}

	private static void handle(SelectionKey key, ByteBuffer room) throws Exception {
		room.clear();
		if (key.channel() instanceof SocketChannel socket) {
			socket.read(room);
			Stall.here("socket", "\"fd_target\":\"tcp\"");
		} else {
			((Pipe.SourceChannel)key.channel()).read(room);
			Stall.here("pipe", "\"fd_target\":\"pipe\"");
		}
	}

	public static void main(String[] args) throws Exception {
		Selector selector = Selector.open();
		Pipe pipe = Pipe.open();
		ServerSocketChannel server = ServerSocketChannel.open()
			.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
		SocketChannel peer = SocketChannel.open(server.getLocalAddress());
		ByteBuffer room = ByteBuffer.allocateDirect(16);
		long tick = System.nanoTime();

		watch(pipe.source(), selector);
		watch(server.accept(), selector);
		for (;;) {
			selector.select(key -> {
				try {
					handle(key, room);
				} catch (Exception e) {
					throw new RuntimeException(e);
				}
			}, Math.max(1, (tick - System.nanoTime()) / 1000000));
			if (task) {
				task = false;
				Stall.here("wakeup", "");
			}
			if (System.nanoTime() < tick)
				continue;
			tick = System.nanoTime() + Stall.TICK_MS * 1000000L;
			switch (Stall.due(3)) {
			case 0 -> pipe.sink().write(ByteBuffer.wrap(new byte[1]));
			case 1 -> peer.write(ByteBuffer.wrap(new byte[1]));
			case 2 -> wakeLater(selector);
			case Stall.OVER -> System.exit(0);
			default -> { }
			}
		}
	}

	private Nio() {
	}
}
