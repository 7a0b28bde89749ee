// SPDX-License-Identifier: GPL-2.0
// Go's netpoll: a goroutine that handles what arrives on a socket, beside other goroutines. A
// goroutine moves between threads, and its thread may run another one when it is done. So a stall
// has the thread of its begin and that of its end.
package main

import (
	"fmt"
	"net"
	"os"
	"syscall"
	"time"
	"unsafe"
)

const (
	stallMs = 60
	tickMs  = 20
	apart   = 4
	rounds  = 2
	lifeS   = 120
)

func now() int64 {
	var ts syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&ts)), 0)
	return ts.Nano()
}

// A system call of the thread; time.Sleep would not be one.
func nap() {
	ts := syscall.NsecToTimespec(stallMs * 1000000)
	syscall.Nanosleep(&ts, nil)
}

func spin() {
	for end := now() + stallMs*1000000; now() < end; {
	}
}

func serve(connection net.Conn) {
	room := make([]byte, 1)
	for {
		if _, err := connection.Read(room); err != nil {
			return
		}
		how, stall := "sleep", nap
		if room[0]%2 != 0 {
			how, stall = "cpu", spin
		}
		begin, tid := now(), syscall.Gettid()
		stall()
		fmt.Printf("{\"kind\":\"goroutine\",\"how\":\"%s\",\"begin_ns\":%d,\"end_ns\":%d,\"tid\":%d,\"end_tid\":%d,"+
			"\"frame\":\"main.serve\",\"message\":{\"fd_target\":\"tcp\"}}\n",
			how, begin, now(), tid, syscall.Gettid())
	}
}

func started() bool {
	room := make([]byte, 1)
	count, _ := os.Stdin.Read(room)
	return count >= 0
}

func main() {
	time.AfterFunc(lifeS*time.Second, func() { os.Exit(1) })
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(77)
	}
	go func() {
		for {
			connection, err := server.Accept()
			if err != nil {
				return
			}
			go serve(connection)
		}
	}()
	peer, _ := net.Dial("tcp", server.Addr().String())
	fmt.Printf("{\"ready\":%d}\n", os.Getpid())
	started()
	for turn := 0; turn < rounds*2; turn++ {
		time.Sleep(tickMs * apart * time.Millisecond)
		peer.Write([]byte{byte(turn)})
		time.Sleep(stallMs * time.Millisecond)
	}
	time.Sleep(tickMs * apart * time.Millisecond)
}
