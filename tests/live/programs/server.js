// SPDX-License-Identifier: GPL-2.0
// An HTTP server on a socket of the file system, whose paths stall it. argv: socket, cold file.
'use strict';
const { execSync } = require('child_process');
const fs = require('fs');
const http = require('http');
const { PerformanceObserver, constants } = require('perf_hooks');
const [socket, cold] = process.argv.slice(2);

const text = JSON.stringify(Array.from({ length: 200000 }, (_, i) => ({ id: i, name: 'name ' + i, list: [i, i + 1] })));
const cell = new Int32Array(new SharedArrayBuffer(4));

function fibonacci(n) {
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

// Created when needed: most tests need neither.
let large = '';
const kept = [];
const collections = [];

function makeLarge() {
	const cell = text.slice(1, -1);

	large = '[' + Array(Math.ceil((50 << 20) / cell.length)).fill(cell).join(',') + ']';
	return large.length;
}

function keep(count) {
	for (let i = 0; i < count; i++)
		kept.push({ id: i, next: kept[i >> 1], list: [i] });
	return kept.length;
}

// Objects that live until they are old and are then dropped, beside those that are kept.
function churn() {
	const ring = new Array(200000);

	for (let i = 0; i < 600000; i++)
		ring[i % ring.length] = { id: i, list: [i, i + 1, i + 2] };
	return ring.length;
}

// Only with --expose-gc.
function collect() {
	const length = churn();

	for (let i = 0; i < 4; i++)
		gc();
	return length;
}

function observe() {
	new PerformanceObserver((list) => {
		for (const { duration, detail } of list.getEntries())
			collections.push({ ms: duration, major: detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR });
	}).observe({ entryTypes: ['gc'] });
	return 0;
}

const paths = {
	'/quick': () => 1,
	'/fibonacci': () => fibonacci(34),
	'/parse': () => JSON.parse(text).length,
	'/exec': () => execSync('sleep 0.2').length,
	'/file': () => fs.readFileSync(cold).length,
	'/make-large': makeLarge,
	'/parse-large': () => JSON.parse(large).length,
	'/keep': () => keep(1200000),
	'/churn': churn,
	'/collect': collect,
	'/observe': observe,
	'/collections': () => JSON.stringify(collections.splice(0)),
	'/wait': () => Atomics.wait(cell, 0, 0, 150),
};

http.createServer((request, response) => {
	const handler = paths[request.url];

	response.end(String(handler ? handler() : 'no such path'));
}).listen(socket);
