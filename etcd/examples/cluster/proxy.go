package main

import (
	"net"
	"sync"
	"time"
)

// A proxy is the network between a replica and an etcd server. While it is cut nothing comes
// through in either direction, and nobody is told.
type proxy struct {
	at, to string
	lock   sync.Mutex
	cut    bool
	open   []net.Conn
}

func startProxy(to string) (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{at: l.Addr().String(), to: to}
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go p.connect(in)
		}
	}()
	return p, nil
}

func (p *proxy) connect(in net.Conn) {
	out, err := net.Dial("tcp", p.to)
	if err != nil {
		in.Close()
		return
	}
	p.lock.Lock()
	p.open = append(p.open, in, out)
	p.lock.Unlock()
	go p.copy(in, out)
	p.copy(out, in)
}

func (p *proxy) copy(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		for p.isCut() {
			time.Sleep(10 * time.Millisecond)
		}
		if _, failed := to.Write(buffer[:n]); failed != nil || err != nil {
			return
		}
	}
}

func (p *proxy) isCut() bool {
	p.lock.Lock()
	defer p.lock.Unlock()
	return p.cut
}

// set cuts it or mends it. Connections that were open when it was cut go on.
func (p *proxy) set(cut bool) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.cut = cut
}
