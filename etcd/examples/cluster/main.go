// The program cluster runs the scheduling cores of two pools on three replicas, breaks whatever can
// be broken, and counts. It starts, as processes of their own, three etcd servers, three replicas,
// each of which may lead any of the pools, and the agents of eight pretended boxes, which talk to
// the leader of their pool over HTTP in lines of JSON. All talk is by mutual TLS, with certificates
// that it makes at the start. Then it kills leaders with SIGKILL, stops some with SIGSTOP and lets
// them wake, cuts some off from etcd, kills an etcd server and kills agents, while a client keeps
// submitting jobs, more than the first pool can take. It ends with a table, and fails unless no job
// was lost, none ran twice or was in two pools, none that ran was disturbed, and all replicas came
// to the same states.
//
//	go run ./examples/cluster           # twelve take-overs, in less than two minutes
//	go run ./examples/cluster -short    # three
//	go run ./examples/cluster -random 60 -seed 1    # sixty harms that a seed draws, in three minutes
//
// It runs from the folder of the module. See audit.go for what is counted, agent.go for what an
// agent owes to a leader, replica.go for what a leader does, and door.go for what it lets in.
package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/berth-sched/berth/bench/flagline"
	"github.com/berth-sched/berth/etcd/internal/certs"
	"github.com/berth-sched/berth/etcd/internal/server"
)

func main() { os.Exit(flagline.Status("cluster", run(os.Args[1:]), os.Stderr)) }

func run(args []string) error {
	flags := flag.NewFlagSet("cluster", flag.ContinueOnError)
	short := flags.Bool("short", false, "three take-overs instead of twelve")
	random := flags.Int("random", 0, "so many harms that the seed draws, instead of take-overs one by one")
	seed := flags.Uint64("seed", 1, "what -random draws from")
	verbose := flags.Bool("v", false, "show what the replicas say")
	if err := flagline.Flags(flags, args, os.Stdout, "usage: cluster [flags]\n\n"); err != nil {
		return err
	}
	switch args := flags.Args(); {
	case len(args) == 0 && *short:
		return demo(script{rounds: 1}, *verbose)
	case len(args) == 0:
		return demo(script{rounds: 4, random: *random, seed: *seed}, *verbose)
	case args[0] == "etcd" && len(args) == 7:
		return runEtcd(args[1:])
	case args[0] == "replica" && len(args) == 5:
		return runReplica(args[1], args[2], args[3], strings.Split(args[4], ","))
	case args[0] == "agents" && len(args) == 4:
		return runAgents(args[1], strings.Split(args[2], ","), strings.Split(args[3], ","))
	}
	return flagline.Misused("%q is no flag", flags.Arg(0))
}

// runEtcd is the process of one etcd server.
func runEtcd(args []string) error {
	s := &server.Server{Name: args[0], Dir: args[1], Client: args[2], Peer: args[3], Cluster: strings.Split(args[4], ","), Certificates: args[5]}
	e, err := s.Start()
	if err != nil {
		return err
	}
	return <-e.Err()
}

// There are two authorities, each with a folder below that of the demonstration: one for etcd, and
// one for the doors of the replicas. So no agent is let in by etcd, whatever its certificate says.
func etcdCerts(folder string) string { return filepath.Join(folder, "etcd-certificates") }
func doorCerts(folder string) string { return filepath.Join(folder, "door-certificates") }

// connect connects to etcd as a replica should: by mutual TLS; a server that is silent is left
// within seconds, and one that is down is tried again each second.
func connect(folder, name string, endpoints []string) (*clientv3.Client, error) {
	config, err := certs.Config(etcdCerts(folder), name)
	if err != nil {
		return nil, err
	}
	return clientv3.New(clientv3.Config{
		Endpoints: endpoints, Logger: zap.NewNop(), TLS: config,
		DialKeepAliveTime: time.Second, DialKeepAliveTimeout: 2 * time.Second,
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.5, MaxDelay: time.Second}, MinConnectTimeout: 2 * time.Second,
		})},
	})
}
