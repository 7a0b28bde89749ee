// SPDX-License-Identifier: GPL-2.0-or-later
// Stalls node's loop for 60 ms of every 80: "addon FILE" in an add-on, "script" in JavaScript and
// its callees, "sleep" asleep.
'use strict';
const [how, file] = process.argv.slice(2);
const addon = how === 'addon' ? require(file) : null;
const text = JSON.stringify(Array.from({ length: 30000 }, (_, i) => ({ id: i, name: 'name ' + i })));
let turn = 0;

function fibonacci(n) {
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

function parse() {
	return JSON.parse(text).length;
}

function sort() {
	return Array.from({ length: 60000 }, (_, i) => (i * 7919) % 60013).sort((a, b) => a - b)[0];
}

function search() {
	return text.replace(/name (\d+)/g, 'nom $1').length;
}

function sleep() {
	return Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60);
}

const handlers = { addon: [() => addon.spin(60)], sleep: [sleep], script: [() => fibonacci(29), parse, sort, search] }[how];

function handle() {
	for (const end = Date.now() + 60; Date.now() < end;)
		handlers[turn % handlers.length]();
	turn++;
}

setInterval(handle, 80);
console.log('ready');
setTimeout(() => process.exit(0), 120000);
