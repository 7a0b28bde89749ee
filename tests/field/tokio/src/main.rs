// SPDX-License-Identifier: GPL-2.0
// Tasks that block their worker for 100 ms by std::thread::sleep. argv: the number of workers, the
// way in which the tasks come, and how many. Writes the times of each, CLOCK_MONOTONIC, in ns.
use std::io::{Read, Write};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::Builder;

const NAP: Duration = Duration::from_millis(100);
const PAUSE: Duration = Duration::from_millis(150);

fn now() -> i64 {
    let mut ts = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut ts) };
    ts.tv_sec as i64 * 1_000_000_000 + ts.tv_nsec as i64
}

#[inline(never)]
fn nap() {
    let begin = now();
    std::thread::sleep(NAP);
    println!("{} {}", begin, now());
}

async fn serve(mut socket: tokio::net::TcpStream) {
    let mut room = [0u8; 1];
    while socket.read_exact(&mut room).await.is_ok() {
        nap();
        socket.write_all(&room).await.unwrap();
    }
}

/* A thread that is no worker asks the server. */
async fn answer(count: usize) {
    let server = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = server.local_addr().unwrap();
    let client = std::thread::spawn(move || {
        let mut peer = std::net::TcpStream::connect(address).unwrap();
        let mut room = [0u8; 1];
        for _ in 0..count {
            peer.write_all(b"x").unwrap();
            peer.read_exact(&mut room).unwrap();
            std::thread::sleep(PAUSE);
        }
    });
    let (socket, _) = server.accept().await.unwrap();
    tokio::spawn(serve(socket));
    while !client.is_finished() {
        tokio::time::sleep(PAUSE).await;
    }
}

async fn run(way: String, count: usize) {
    match way.as_str() {
        "spawned" => {
            for _ in 0..count {
                tokio::spawn(async { nap() });
                tokio::time::sleep(NAP + PAUSE).await;
            }
        }
        "timer" => tokio::spawn(async move {
            for _ in 0..count {
                nap();
                tokio::time::sleep(PAUSE).await;
            }
        })
        .await
        .unwrap(),
        _ => answer(count).await,
    }
}

fn main() {
    let mut args = std::env::args().skip(1);
    let workers = args.next().unwrap().parse().unwrap();
    let way = args.next().unwrap();
    let count = args.next().unwrap().parse().unwrap();
    unsafe { libc::alarm(120) };
    let runtime = Builder::new_multi_thread().worker_threads(workers).enable_all().build().unwrap();
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    runtime.block_on(run(way, count));
    println!("done");
    std::io::stdin().read_line(&mut line).unwrap();
}
