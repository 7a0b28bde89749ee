// SPDX-License-Identifier: GPL-2.0
// Go's netpoll at work: clients and servers in one process, for a minute at most.
package main

import (
	"fmt"
	"net"
	"os"
	"time"
)

const (
	clients = 16
	pauseMs = 2
	lifeS   = 60
)

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(77)
}

func echo(connection net.Conn) {
	room := make([]byte, 64)
	for {
		count, err := connection.Read(room)
		if err != nil {
			return
		}
		connection.Write(room[:count])
	}
}

func ask(address string) {
	connection, err := net.Dial("tcp", address)
	if err != nil {
		fail(err)
	}
	room := make([]byte, 64)
	for {
		connection.Write([]byte("hello"))
		if _, err := connection.Read(room); err != nil {
			fail(err)
		}
		time.Sleep(pauseMs * time.Millisecond)
	}
}

func main() {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fail(err)
	}
	for i := 0; i < clients; i++ {
		go ask(server.Addr().String())
	}
	go func() {
		for {
			connection, err := server.Accept()
			if err != nil {
				fail(err)
			}
			go echo(connection)
		}
	}()
	fmt.Println("ready")
	time.Sleep(lifeS * time.Second)
}
