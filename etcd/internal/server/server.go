// Package server runs etcd servers within a process, for tests and examples: real ones, with a
// folder each, that can be stopped and started again.
package server

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"

	"github.com/berth-sched/berth/etcd/internal/certs"
)

// A Server is one member of an etcd cluster.
type Server struct {
	Name string
	// Dir is where it keeps its data.
	Dir string
	// Client and Peer are its addresses, as in "127.0.0.1:2379".
	Client, Peer string
	// Cluster has the names and peer addresses of all members, as in "a=127.0.0.1:2380".
	Cluster []string
	// Election is the timeout after which a server stands for election; 0: 500 ms.
	Election time.Duration
	// Quota is how many bytes the data may have; 0: 2 GiB.
	Quota int64
	// Sync has writes be on disk before they are answered, as in production.
	Sync bool
	// Certificates is a folder of package certs with a certificate etcd/NAME: then all talk to
	// this server, of clients and of other servers, is by mutual TLS. Empty: there is none.
	Certificates string
}

// Addresses are free ports of this machine, for the moment.
func Addresses(n int) ([]string, error) {
	var list []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		list = append(list, l.Addr().String())
	}
	return list, nil
}

// Start starts it, with what it has in its folder if there is anything. The cluster is not joined
// yet: see Ready.
func (s *Server) Start() (*embed.Etcd, error) {
	c := embed.NewConfig()
	c.Name, c.Dir = s.Name, s.Dir
	c.LogLevel, c.LogOutputs = "fatal", []string{"stderr"}
	c.TickMs, c.ElectionMs = 50, uint(cmp.Or(s.Election, 500*time.Millisecond)/time.Millisecond)
	c.UnsafeNoFsync = !s.Sync
	c.QuotaBackendBytes = s.Quota
	c.AutoCompactionMode, c.AutoCompactionRetention = "revision", "1000"
	scheme := "http"
	if s.Certificates != "" {
		file := certs.File(s.Certificates, "etcd/"+s.Name)
		c.ClientTLSInfo = transport.TLSInfo{CertFile: file, KeyFile: file, TrustedCAFile: certs.CA(s.Certificates), ClientCertAuth: true}
		c.PeerTLSInfo = c.ClientTLSInfo
		scheme = "https"
	}
	client, peer := address(scheme, s.Client), address(scheme, s.Peer)
	c.ListenClientUrls, c.AdvertiseClientUrls = client, client
	c.ListenPeerUrls, c.AdvertisePeerUrls = peer, peer
	var members []string
	for _, member := range s.Cluster {
		name, at, _ := strings.Cut(member, "=")
		members = append(members, name+"="+scheme+"://"+at)
	}
	c.InitialCluster = strings.Join(members, ",")
	return embed.StartEtcd(c)
}

func address(scheme, hostPort string) []url.URL {
	return []url.URL{{Scheme: scheme, Host: hostPort}}
}

// Ready waits until a server takes requests.
func Ready(e *embed.Etcd, within time.Duration) error {
	select {
	case <-e.Server.ReadyNotify():
		return nil
	case err := <-e.Err():
		return err
	case <-time.After(within):
		return errors.New("the server is not ready")
	}
}

// Cluster makes servers of one cluster, each with a folder below dir.
func Cluster(dir string, n int) ([]*Server, error) {
	ports, err := Addresses(2 * n)
	if err != nil {
		return nil, err
	}
	var list []*Server
	var members []string
	for i := range n {
		s := &Server{Name: fmt.Sprintf("etcd%d", i), Client: ports[2*i], Peer: ports[2*i+1]}
		s.Dir = dir + "/" + s.Name
		members = append(members, s.Name+"="+s.Peer)
		list = append(list, s)
	}
	for _, s := range list {
		s.Cluster = members
	}
	return list, nil
}
