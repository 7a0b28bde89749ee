// SPDX-License-Identifier: GPL-2.0
// Stalls of known functions, three calls deep. A line of stdin names one; "done NAME" answers. The
// marks @name are at the lines in which each takes its time. argv: a FIFO, and by how much a slow
// machine has fewer rows.
'use strict';
const fs = require('fs');
const { Worker } = require('worker_threads');

const scale = Number(process.argv[3] || 1);
const text = JSON.stringify(Array.from({ length: 60000 / scale }, (_, i) => ({ id: i, name: 'name ' + i })));
const cell = new Int32Array(new SharedArrayBuffer(4));
let sum = 0;

function until(end) {
	let x = 0;

	while (Date.now() < end)
		x += Math.sqrt(x + 1); // @busy
	return x;
}

function compute(ms) {
	return until(Date.now() + ms) + 1;
}

function parseCatalog() {
	let n = 0;

	for (let i = 0; i < 6; i++)
		n += JSON.parse(text).length; // @json
	return n;
}

function checkName() {
	const end = Date.now() + 90; // V8 compiles an expression that is used again
	let n = 0;
	while (Date.now() < end)
		n += /^(a+)+$/.test('a'.repeat(20) + 'b'); // @regex
	return n;
}

function loadConfig() {
	return fs.readFileSync(process.argv[2]).length; // @fifo
}

function takeLock() {
	return Atomics.wait(cell, 0, 0, 120); // @lock
}

function sortRows() {
	const rows = Array.from({ length: 60000 / scale }, (_, i) => i * 7919 % 60013);

	return rows.sort(function compareRows(x, y) {
		for (let i = 0; i < 20; i++)
			sum += x ^ i; // @sort
		return x - y;
	}).length;
}

function descend(depth) {
	if (depth === 0) {
		for (const end = Date.now() + 90; Date.now() < end;)
			sum++; // @recursion
		return 0;
	}
	return 1 + descend(depth - 1);
}

class Catalog {
	rebuild() {
		for (const end = Date.now() + 90; Date.now() < end;)
			sum++; // @method
		return sum;
	}
}

async function finish() {
	await null;
	await null;
	for (const end = Date.now() + 90; Date.now() < end;)
		sum++; // @async
	return sum;
}

function perRequest() {
	const closure = (ms) => {
		for (const end = Date.now() + ms; Date.now() < end;)
			sum++; // @closure
		return sum;
	};

	return closure(90);
}

// V8 infers the name "end" for one of them.
function unnamed() {
	const ms = 90;
	const list = [() => ms, () => {
		for (const end = Date.now() + ms; Date.now() < end;)
			sum++; // @unnamed
		return sum;
	}];

	return list[1]();
}

function grow() {
	const kept = [];

	for (let i = 0; i < 900000 / scale; i++)
		kept.push({ id: i, list: [i] }); // @collection
	return kept.length;
}

const cases = {
	busy: () => compute(90),
	json: parseCatalog,
	regex: checkName,
	fifo: loadConfig,
	lock: takeLock,
	sort: sortRows,
	recursion: () => descend(60),
	method: () => new Catalog().rebuild(),
	async: finish,
	closure: perRequest,
	unnamed,
	collection: grow,
};

// A worker of its own: the names of a process are not the main thread's alone.
new Worker('setInterval(() => 0, 1000)', { eval: true });

process.stdin.setEncoding('utf8');
process.stdin.on('data', function onCommand(line) {
	Promise.resolve(cases[line.trim()]()).then(function onDone() {
		process.stdout.write('done\n');
	});
});
process.stdout.write('ready\n');
