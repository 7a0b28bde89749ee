// SPDX-License-Identifier: GPL-2.0
// A web server with four slow handlers, two or three calls deep. argv: the port on 127.0.0.1.
'use strict';
const http = require('http');

const text = JSON.stringify(Array.from({ length: 60000 }, (_, i) => ({ id: i, name: 'name ' + i })));
let sum = 0;

class Catalog {
	parse() {
		let n = 0;

		for (let i = 0; i < 4; i++)
			n += JSON.parse(text).length;
		return n;
	}
}

function until(end) {
	while (Date.now() < end)
		sum += Math.sqrt(sum + 1);
	return sum;
}

function price(ms) {
	return until(Date.now() + ms);
}

function checkName() {
	return /^(a+)+$/.test('a'.repeat(24) + 'b');
}

function sortRows() {
	const rows = Array.from({ length: 60000 }, (_, i) => i * 7919 % 60013);

	return rows.sort((x, y) => {
		for (let i = 0; i < 20; i++)
			sum += x ^ i;
		return x - y;
	}).length;
}

const handlers = {
	'/price': () => price(60),
	'/parse': () => new Catalog().parse(),
	'/check': checkName,
	'/sort': sortRows,
};

const server = http.createServer((request, response) => response.end(String(handlers[request.url]())));
server.listen(Number(process.argv[2]), '127.0.0.1', () => process.stdout.write('ready\n'));
