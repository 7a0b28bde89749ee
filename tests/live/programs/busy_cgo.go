// SPDX-License-Identifier: GPL-2.0
// Beside busy.go: the same with C in it, so that the C library starts the threads.
package main

// #include <stdio.h>
import "C"

func init() {
	C.fflush(C.stdout)
}
