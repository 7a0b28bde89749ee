// SPDX-License-Identifier: GPL-2.0
// Netty's event loop: a handler of a channel, a task, a scheduled task.
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoop;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.util.ReferenceCountUtil;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.concurrent.TimeUnit;

final class Netty {
	private static Socket peer;

	private static final class Handler extends ChannelInboundHandlerAdapter {
		@Override
		public void channelRead(ChannelHandlerContext context, Object data) throws Exception {
			ReferenceCountUtil.release(data);
			Stall.here("read", "\"fd_target\":\"tcp\"");
		}
	}

	private static void stall(String kind) {
		try {
			Stall.here(kind, "");
		} catch (Exception e) {
			Runtime.getRuntime().halt(1);
		}
	}

	private static void tick(EventLoop loop) {
		try {
			switch (Stall.due(3)) {
			case 0 -> peer.getOutputStream().write(1);
			case 1 -> new Thread(() -> loop.execute(() -> stall("task"))).start();
			case 2 -> loop.schedule(() -> stall("scheduled"), 1, TimeUnit.MILLISECONDS);
			case Stall.OVER -> System.exit(0);
			default -> { }
			}
		} catch (Exception e) {
			Runtime.getRuntime().halt(1);
		}
	}

	public static void main(String[] args) throws Exception {
		NioEventLoopGroup group = new NioEventLoopGroup(1);
		Channel server = new ServerBootstrap().group(group).channel(NioServerSocketChannel.class)
			.childHandler(new ChannelInitializer<Channel>() {
				@Override
				protected void initChannel(Channel channel) {
					channel.pipeline().addLast(new Handler());
				}
			})
			.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0)).sync().channel();
		EventLoop loop = group.next();

		peer = new Socket(InetAddress.getLoopbackAddress(), ((InetSocketAddress)server.localAddress()).getPort());
		loop.scheduleWithFixedDelay(() -> tick(loop), Stall.TICK_MS, Stall.TICK_MS, TimeUnit.MILLISECONDS);
	}

	private Netty() {
	}
}
