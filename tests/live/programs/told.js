// SPDX-License-Identifier: GPL-2.0
// A loop that does what datagrams tell it: "busy 300" (ms of CPU), or nothing. Argument: the port.
const spent = () => { const now = process.cpuUsage(); return (now.user + now.system) / 1000; };
const socket = require('dgram').createSocket('udp4');

socket.on('message', (message) => {
  const [deed, ms] = String(message).split(' ');
  const end = spent() + Number(ms);
  while (deed === 'busy' && spent() < end);
});
socket.bind(Number(process.argv[2]), '127.0.0.1', () => console.log('ready'));
