<?php
/* SPDX-License-Identifier: GPL-2.0 */
/* A request of ?kind=plain, cpu, sleep or child. */

function spin($seconds)
{
	for ($end = microtime(true) + $seconds; microtime(true) < $end; )
		;
}

$kind = $_GET['kind'];
$begin = microtime(true);
switch ($kind) {
case 'cpu': spin(0.15); break;
case 'sleep': usleep(150000); break;
case 'child': exec('sleep 0.15'); break;
}
if ($kind != 'plain')
	file_put_contents(getenv('STALLS_FILE'), sprintf("%.0f %.0f %s\n", $begin * 1e9, microtime(true) * 1e9, $kind), FILE_APPEND);
echo "done\n";
