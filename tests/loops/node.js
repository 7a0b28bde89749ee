// SPDX-License-Identifier: GPL-2.0
// Node.js: a timeout, an immediate, what follows a file's read, a socket's data. Native stacks do not have the functions.
'use strict';
const fs = require('fs');
const net = require('net');

const STALL_MS = 60, TICK_MS = 20, APART = 4, ROUNDS = 2, LINGER = 6, LIFE_MS = 120000;
let ticks = 0, round = 0, begun = false, peer;

const say = (record) => fs.writeSync(1, JSON.stringify(record) + '\n');
const now = () => process.hrtime.bigint();

function sleep() {
	Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STALL_MS);
}

function spin() {
	for (const end = Date.now() + STALL_MS; Date.now() < end;)
		;
}

function stall(kind, message) {
	const begin = now();

	(round % 2 ? spin : sleep)();
	// JSON.stringify cannot write numbers as large as CLOCK_MONOTONIC's.
	fs.writeSync(1, `{"kind":"${kind}","how":"${round % 2 ? 'cpu' : 'futex'}","begin_ns":${begin},` +
		`"end_ns":${now()},"tid":${process.pid},"frame":null,"message":${JSON.stringify(message)}}\n`);
}

const triggers = [
	() => setTimeout(() => stall('timeout', {callback: 'RunTimers'}), 1),
	() => setImmediate(() => stall('immediate', {callback: 'CheckImmediate'})),
	() => fs.readFile('/proc/self/comm', () => stall('file', {})),
	() => peer.write('x'),
];

function tick() {
	if (!begun || ++ticks % APART)
		return;
	const turn = ticks / APART - 1;

	round = Math.floor(turn / triggers.length);
	if (round < ROUNDS)
		triggers[turn % triggers.length]();
	else if (turn >= ROUNDS * triggers.length + LINGER)
		process.exit(0);
}

const server = net.createServer((socket) => {
	socket.on('data', () => stall('socket', {fd: socket._handle.fd, fd_target: 'tcp'}));
	setInterval(tick, TICK_MS);
	say({ready: process.pid});
	process.stdin.on('data', () => { begun = true; });
	process.stdin.on('end', () => { begun = true; });
});

// The thread pool starts at its first use, which must wait for its threads.
fs.readFile('/proc/self/comm', () => server.listen(0, '127.0.0.1', () => { peer = net.connect(server.address().port, '127.0.0.1'); }));
setTimeout(() => process.exit(1), LIFE_MS);
