// SPDX-License-Identifier: GPL-2.0
// tokio, and so mio: a task that a socket wakes, one that a timer wakes, one that is spawned, one
// that waits for a mutex. argv[1]: the number of worker threads; 0: all in the main thread. Of
// several only one waits in epoll. The others are parked on a futex, for which the mutex waits,
// too.
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Mutex;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::runtime::{Builder, Runtime};

const STALL_MS: u64 = 60;
const TICK_MS: u64 = 20;
const APART: usize = 4;
const ROUNDS: usize = 2;
const LIFE_S: u32 = 120;
const KINDS: usize = 4;

static ROUND: AtomicUsize = AtomicUsize::new(0);
static LOCK: Mutex<()> = Mutex::new(());
static LOCKED: AtomicBool = AtomicBool::new(false);
static AWAITED: AtomicBool = AtomicBool::new(false);

fn now() -> i64 {
    let mut ts = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut ts) };
    ts.tv_sec as i64 * 1_000_000_000 + ts.tv_nsec as i64
}

// Debian's libstd has no frame pointers, so none of it may be between a stall and the C library.
#[inline(never)]
fn nap() {
    let ts = libc::timespec { tv_sec: 0, tv_nsec: STALL_MS as i64 * 1_000_000 };
    unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, 0, &ts, std::ptr::null_mut()) };
}

#[inline(never)]
fn spin() {
    let end = now() + STALL_MS as i64 * 1_000_000;
    while now() < end {}
}

#[inline(never)]
fn stall(kind: &str, message: &str) {
    let cpu = ROUND.load(Ordering::Relaxed) % 2 != 0;
    let begin = now();
    if cpu {
        spin();
    } else {
        nap();
    }
    let line = format!(
        "{{\"kind\":\"{}\",\"how\":\"{}\",\"begin_ns\":{},\"end_ns\":{},\"tid\":{},\"frame\":\"stall\",\"message\":{{{}}}}}\n",
        kind, if cpu { "cpu" } else { "sleep" }, begin, now(), unsafe { libc::syscall(libc::SYS_gettid) }, message
    );
    std::io::stdout().write_all(line.as_bytes()).unwrap();
}

async fn on_socket(mut socket: tokio::net::TcpStream) {
    let mut room = [0u8; 1];
    while socket.read_exact(&mut room).await.is_ok() {
        stall("socket", "\"fd_target\":\"tcp\"");
    }
}

async fn on_timer() {
    tokio::time::sleep(Duration::from_millis(1)).await;
    stall("timer", "");
}

async fn on_spawn() {
    stall("spawn", "");
}

fn wait_for(flag: &AtomicBool) {
    while !flag.swap(false, Ordering::AcqRel) {
        std::thread::yield_now();
    }
}

fn hold() {
    let held = LOCK.lock().unwrap();
    LOCKED.store(true, Ordering::Release);
    wait_for(&AWAITED);
    nap();
    drop(held);
}

async fn on_mutex() {
    let holder = std::thread::spawn(hold);
    wait_for(&LOCKED);
    AWAITED.store(true, Ordering::Release);
    let begin = now();
    drop(LOCK.lock().unwrap());
    let line = format!(
        "{{\"kind\":\"mutex\",\"how\":\"futex\",\"begin_ns\":{},\"end_ns\":{},\"tid\":{},\"message\":{{}}}}\n",
        begin, now(), unsafe { libc::syscall(libc::SYS_gettid) }
    );
    std::io::stdout().write_all(line.as_bytes()).unwrap();
    drop(holder);
}

fn started() -> bool {
    let mut count: libc::c_int = 0;
    unsafe { libc::ioctl(0, libc::FIONREAD, &mut count) != 0 || count > 0 }
}

async fn begin() -> std::net::TcpStream {
    let server = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let peer = std::net::TcpStream::connect(server.local_addr().unwrap()).unwrap();
    let (socket, _) = server.accept().await.unwrap();
    tokio::spawn(on_socket(socket));
    println!("{{\"ready\":{}}}", std::process::id());
    while !started() {
        tokio::time::sleep(Duration::from_millis(TICK_MS)).await;
    }
    peer
}

async fn run() {
    let mut peer = begin().await;
    for turn in 0..KINDS * ROUNDS {
        for _ in 0..APART {
            tokio::time::sleep(Duration::from_millis(TICK_MS)).await;
        }
        ROUND.store(turn / KINDS, Ordering::Relaxed);
        match turn % KINDS {
            0 => peer.write_all(b"x").unwrap(),
            1 => drop(tokio::spawn(on_timer())),
            2 => drop(tokio::spawn(on_spawn())),
            _ => drop(tokio::spawn(on_mutex())),
        }
    }
    tokio::time::sleep(Duration::from_millis(TICK_MS * APART as u64 + STALL_MS)).await;
}

fn runtime(workers: usize) -> Runtime {
    let built = match workers {
        0 => Builder::new_current_thread().enable_all().build(),
        count => Builder::new_multi_thread().worker_threads(count).enable_all().build(),
    };
    built.unwrap()
}

fn main() {
    let workers = std::env::args().nth(1).map_or(0, |word| word.parse().unwrap());
    unsafe { libc::alarm(LIFE_S) };
    runtime(workers).block_on(run());
}
