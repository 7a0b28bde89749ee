// SPDX-License-Identifier: GPL-2.0
// An HTTP server on a socket of the file system, whose paths stall it. argv: socket, cold file.
'use strict';
const { execSync } = require('child_process');
const fs = require('fs');
const http = require('http');
const [socket, cold] = process.argv.slice(2);

const text = JSON.stringify(Array.from({ length: 200000 }, (_, i) => ({ id: i, name: 'name ' + i, list: [i, i + 1] })));
const cell = new Int32Array(new SharedArrayBuffer(4));

function fibonacci(n) {
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

const paths = {
	'/quick': () => 1,
	'/fibonacci': () => fibonacci(34),
	'/parse': () => JSON.parse(text).length,
	'/exec': () => execSync('sleep 0.2').length,
	'/file': () => fs.readFileSync(cold).length,
	'/wait': () => Atomics.wait(cell, 0, 0, 150),
};

http.createServer((request, response) => {
	const handler = paths[request.url];

	response.end(String(handler ? handler() : 'no such path'));
}).listen(socket);
