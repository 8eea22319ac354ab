package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/etcd"
	"github.com/berth-sched/berth/etcd/internal/certs"
	"github.com/berth-sched/berth/etcd/internal/server"
)

// A process is a child, which can be started again.
type process struct {
	args  []string
	seen  func(line string) // of what it says
	lock  sync.Mutex
	child *exec.Cmd
}

func (p *process) start() error {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.child = exec.Command(os.Args[0], p.args...)
	out, err := p.child.StderrPipe()
	if err != nil {
		return err
	}
	if err := p.child.Start(); err != nil {
		return err
	}
	go func() {
		for in := bufio.NewScanner(out); in.Scan(); {
			p.seen(in.Text())
		}
	}()
	return nil
}

func (p *process) signal(s syscall.Signal) {
	p.lock.Lock()
	defer p.lock.Unlock()
	_ = p.child.Process.Signal(s)
}

// kill has it die at once, and waits for that.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	_ = p.child.Wait()
}

// A stage is the whole of the demonstration.
type stage struct {
	dir      string
	servers  []*server.Server
	etcds    []*process
	replicas []*process
	doors    []string // of the replicas
	caller   *caller
	proxies  [][]*proxy
	agents   []*process
	nodes    []string
	audits   map[string]*audit // by pool
	verbose  bool

	equal, differ atomic.Int64 // comparisons of states
	lock          sync.Mutex
	accepted      []berth.JobID
	terms         map[string]int64 // of the last answers, by pool
	leaders       int              // that were at work, one after the other
	tookOver      []time.Duration
	jobs, harmed  int
}

const boxes, boxesPerProcess = 8, 2

// A script is what is to befall the cluster: rounds of the same, or what a seed draws.
type script struct {
	rounds, random int
	seed           uint64
}

func demo(what script, verbose bool) error {
	began := time.Now()
	dir, err := os.MkdirTemp("", "cluster")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s := &stage{dir: dir, verbose: verbose, audits: map[string]*audit{}, terms: map[string]int64{}}
	defer s.stop()
	if err := s.start(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var submitting sync.WaitGroup
	enough := make(chan struct{})
	for _, pool := range pools {
		submitting.Go(func() { s.knock(pool, enough) })
	}
	for _, pool := range pools { // which learns its queue before a job comes
		if err := s.until(ctx, "a leader", func() bool { return s.term(pool) > 0 }); err != nil {
			return err
		}
	}
	submitting.Go(func() { s.submit(enough) })
	if err := s.until(ctx, "the first job", func() bool { return s.acceptedSoFar() > 0 }); err != nil {
		return err
	}
	if what.random > 0 {
		err = s.random(ctx, what.random, what.seed)
	} else {
		err = s.play(ctx, what.rounds)
	}
	if err != nil {
		return err
	}
	close(enough)
	submitting.Wait()
	v, err := s.rest(ctx)
	if err != nil {
		return err
	}
	return s.table(v, time.Since(began))
}

func (s *stage) say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// start starts all processes, and waits for the first leader.
func (s *stage) start() error {
	var err error
	if s.servers, err = server.Cluster(s.dir, 3); err != nil {
		return err
	}
	if s.doors, err = server.Addresses(3); err != nil {
		return err
	}
	for i := range boxes {
		s.nodes = append(s.nodes, fmt.Sprintf("box-%s-%d", pools[i%len(pools)], i))
	}
	if err := s.certify(); err != nil {
		return err
	}
	var endpoints []string
	for _, e := range s.servers {
		endpoints = append(endpoints, e.Client)
		s.etcds = append(s.etcds, &process{
			args: []string{"etcd", e.Name, e.Dir, e.Client, e.Peer, strings.Join(e.Cluster, ","), etcdCerts(s.dir)}, seen: s.heard("etcd"),
		})
	}
	for i := range 3 {
		var through []*proxy
		var ways []string
		for _, e := range s.servers {
			p, err := startProxy(e.Client)
			if err != nil {
				return err
			}
			through, ways = append(through, p), append(ways, p.at)
		}
		s.proxies = append(s.proxies, through)
		s.replicas = append(s.replicas, &process{
			args: []string{"replica", fmt.Sprint(i), s.dir, s.doors[i], strings.Join(ways, ",")}, seen: s.heard(fmt.Sprintf("replica %d", i)),
		})
	}
	for some := range slices.Chunk(s.nodes, boxesPerProcess) {
		s.agents = append(s.agents, &process{args: []string{"agents", s.dir, strings.Join(s.doors, ","), strings.Join(some, ",")}, seen: s.heard("agents")})
	}
	for _, p := range slices.Concat(s.etcds, s.replicas, s.agents) {
		if err := p.start(); err != nil {
			return err
		}
	}
	if s.caller, err = newCaller(doorCerts(s.dir), "client/demo", s.doors); err != nil {
		return err
	}
	client, err := connect(s.dir, "audit/demo", endpoints)
	if err != nil {
		return err
	}
	for _, pool := range pools {
		source, err := etcd.NewSource(client, prefix+"/"+pool)
		if err != nil {
			return err
		}
		if s.audits[pool], err = newAudit(source); err != nil {
			return err
		}
	}
	return nil
}

// certify gives a certificate to each process, and to each box.
func (s *stage) certify() error {
	inside, err := certs.New(etcdCerts(s.dir))
	if err != nil {
		return err
	}
	door, err := certs.New(doorCerts(s.dir))
	if err != nil {
		return err
	}
	for _, e := range s.servers {
		err = errors.Join(err, inside.Server("etcd/"+e.Name))
	}
	for i := range s.doors {
		name := fmt.Sprintf("replica/%d", i)
		err = errors.Join(err, inside.Client(name), door.Server(name))
	}
	for _, node := range s.nodes {
		err = errors.Join(err, door.Client("node/"+node))
	}
	return errors.Join(err, inside.Client("audit/demo"), door.Client("client/demo"))
}

// heard is what a child says: the comparisons are counted, and what is no news is left out.
func (s *stage) heard(of string) func(string) {
	return func(line string) {
		switch {
		case strings.Contains(line, "states are equal"):
			s.equal.Add(1)
		case strings.HasPrefix(line, "cluster:"): // a replica stops with a mismatch alone
			s.differ.Add(1)
			fmt.Printf("%s: %s\n", of, line)
			return
		}
		if s.verbose {
			fmt.Printf("%s: %s\n", of, line)
		}
	}
}

func (s *stage) stop() {
	for _, p := range slices.Concat(s.agents, s.replicas, s.etcds) {
		if p.child != nil && p.child.Process != nil {
			p.signal(syscall.SIGCONT)
			p.kill()
		}
	}
}

// until waits for what has to come, and has the audit go on meanwhile.
func (s *stage) until(ctx context.Context, what string, is func() bool) error {
	for i, end := 1, time.Now().Add(time.Minute); !is(); i++ {
		time.Sleep(10 * time.Millisecond)
		if i%20 == 0 {
			if err := s.look(ctx); err != nil {
				return err
			}
		}
		if time.Now().After(end) {
			return errors.New("it did not come: " + what)
		}
	}
	return nil
}

func (s *stage) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for _, pool := range pools {
		if err := s.audits[pool].readOn(ctx); err != nil {
			return fmt.Errorf("pool %s: %w", pool, err)
		}
	}
	return nil
}

// leader is the number of the replica that leads a pool.
func (s *stage) leader(ctx context.Context, pool string) (int, error) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if name, _, err := s.audits[pool].source.Leader(ctx); err == nil && name != "" {
			return slices.Index(s.doors, name), nil
		}
	}
	return 0, errors.New("no replica leads")
}

// play is what befalls the cluster, round by round.
func (s *stage) play(ctx context.Context, rounds int) error {
	for round := range rounds {
		for _, part := range []struct {
			name    string
			harm    func(leader int)
			restore func(leader int) error
		}{
			{"killed with SIGKILL", func(i int) { s.replicas[i].kill() }, func(i int) error { return s.replicas[i].start() }},
			{"stopped with SIGSTOP, and woken later", func(i int) { s.replicas[i].signal(syscall.SIGSTOP) }, func(i int) error { s.replicas[i].signal(syscall.SIGCONT); return nil }},
			{"cut off from etcd, and mended later", func(i int) { s.cut(i, true) }, func(i int) error { s.cut(i, false); return nil }},
		} {
			if err := s.takeOver(ctx, part.name, part.harm, part.restore); err != nil {
				return err
			}
		}
		if err := s.others(ctx, round); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) cut(replica int, cut bool) {
	for _, p := range s.proxies[replica] {
		p.set(cut)
	}
}

// takeOver harms a replica that leads, and measures until each pool that it led has another leader,
// at work.
func (s *stage) takeOver(ctx context.Context, name string, harm func(int), restore func(int) error) error {
	leader, err := s.leader(ctx, pools[s.harmed%len(pools)])
	s.harmed++
	if err != nil {
		return err
	}
	before := map[string]int64{}
	for _, pool := range pools {
		if at, err := s.leader(ctx, pool); err != nil {
			return err
		} else if at == leader {
			before[pool] = s.term(pool)
		}
	}
	began := time.Now()
	harm(leader)
	for _, pool := range slices.Sorted(maps.Keys(before)) {
		if err := s.until(ctx, "another leader", func() bool { return s.term(pool) > before[pool] }); err != nil {
			return err
		}
		took := time.Since(began)
		s.tookOver = append(s.tookOver, took)
		s.say("replica %d led pool %s and was %s; the next one was at work after %.2f s", leader, pool, name, took.Seconds())
	}
	time.Sleep(300 * time.Millisecond)
	if err := restore(leader); err != nil {
		return err
	}
	time.Sleep(700 * time.Millisecond)
	return s.look(ctx)
}

// others kills an etcd server and agents: no replica has to take over, unless etcd loses its
// leader for longer than the lease.
func (s *stage) others(ctx context.Context, round int) error {
	e, a := s.etcds[round%len(s.etcds)], s.agents[round%len(s.agents)]
	e.kill()
	a.kill()
	before := s.acceptedSoFar()
	if err := s.until(ctx, "jobs without that server", func() bool { return s.acceptedSoFar() > before+10 }); err != nil {
		return err
	}
	s.say("etcd server %d and the agents of %d boxes were killed; jobs are accepted on, and both are started again", round%len(s.etcds), boxesPerProcess)
	if err := errors.Join(e.start(), a.start()); err != nil {
		return err
	}
	return s.look(ctx)
}

// rest waits until all jobs have ended, and judges.
func (s *stage) rest(ctx context.Context) (verdict, error) {
	var v verdict
	for end := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		if err := s.look(ctx); err != nil {
			return v, err
		}
		lines := map[string][]happened{}
		for _, node := range s.nodes {
			var err error
			if lines[node], err = readBox(s.dir + "/" + node + ".box"); err != nil {
				return v, err
			}
		}
		v = judge(s.audits, s.accepted, lines)
		if quiet := v.lost+v.disturbed == 0 && s.quiet(); quiet || time.Now().After(end) {
			var err error
			for _, pool := range pools {
				err = errors.Join(err, s.audits[pool].core.Check())
			}
			return v, err
		}
	}
}

// quiet reports whether nothing is under way in any pool.
func (s *stage) quiet() bool {
	for _, a := range s.audits {
		if len(a.core.JobIDs())+len(a.core.Outstanding()) > 0 || a.checker.States()[berth.ReplicaRunning] > 0 {
			return false
		}
	}
	return true
}

// table prints what came of it, and fails if anything is not as it has to be.
func (s *stage) table(v verdict, all time.Duration) error {
	took, n := "", len(s.tookOver)
	if slices.Sort(s.tookOver); n > 0 {
		took = fmt.Sprintf("    median %.2f s, worst %.2f s, with a lease of %v", s.tookOver[n/2].Seconds(), s.tookOver[n-1].Seconds(), ttl)
	}
	events, orders := 0, 0
	for _, a := range s.audits {
		events, orders = events+a.events, orders+a.orders
	}
	fmt.Printf(`
take-overs              %8d%s
events                  %8d
orders                  %8d
jobs accepted           %8d    %d moves to another pool
lost                    %8d
doubled                 %8d
running jobs disturbed  %8d
states compared         %8d    equal; %d replicas stopped as they differ
seconds in all          %8.0f
`, s.leaders-len(pools), took, events, orders, len(s.accepted), v.wentOn,
		v.lost, v.doubled, v.disturbed, s.equal.Load(), s.differ.Load(), all.Seconds())
	if v.wentOn == 0 && v.firstFault == "" {
		v.firstFault = "no job went on to another pool"
	}
	if v.lost+v.doubled+v.disturbed > 0 || v.wentOn == 0 || s.differ.Load() > 0 || s.equal.Load() == 0 {
		return fmt.Errorf("it is not as it has to be: %s", v.firstFault)
	}
	return nil
}
