// SPDX-License-Identifier: GPL-2.0
// A server whose requests are handled by a ThreadPoolExecutor, ?kind= cpu, sleep, futex (Stalls.java) or plain: usage: Pool PORT FILE
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

public class Pool {
	static final int WORKERS = 3;

	public static void main(String[] args) throws Exception {
		HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0])), 0);

		server.createContext("/", exchange -> {
			String kind = exchange.getRequestURI().getQuery().replace("kind=", "");
			if (!kind.equals("plain"))
				Stalls.tell(args[1], kind);
			exchange.sendResponseHeaders(200, -1);
			exchange.close();
		});
		ThreadPoolExecutor pool = new ThreadPoolExecutor(WORKERS, WORKERS, 0, TimeUnit.SECONDS, new LinkedBlockingQueue<>());
		pool.prestartAllCoreThreads(); // else each one's first request comes before its first wait
		server.setExecutor(pool);
		server.start();
	}
}
