package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/time/rate"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/etcd"
	"github.com/berth-sched/berth/etcd/internal/certs"
	"github.com/berth-sched/berth/etcd/metrics"
	"github.com/berth-sched/berth/journal"
)

const (
	prefix = "/berth/demo"
	ttl    = 2 * time.Second
	// atOnce is how many requests become one transaction.
	atOnce = 64
)

var coreConfig = berth.Config{Levels: []string{"leaf"}}

// An orchestrator is a replica: a member, and its door for agents and clients.
type orchestrator struct {
	client *clientv3.Client
	inbox  chan *request
	limits limiter
	shown  *metrics.Collector

	lock sync.Mutex
	term int64 // 0: it does not lead
	head uint64
	// out has the orders of each node that are not reported.
	out map[berth.NodeID][]berth.Bind
}

// runReplica is the process of one.
func runReplica(name, folder, listen string, endpoints []string) error {
	m, server, err := newReplica(name, folder, listen, endpoints)
	if err != nil {
		return err
	}
	go func() {
		fmt.Fprintln(os.Stderr, "http:", server.ListenAndServeTLS("", ""))
		os.Exit(1)
	}()
	return m.Run(context.Background())
}

// newReplica makes a member, and its door.
func newReplica(name, folder, listen string, endpoints []string) (*etcd.Member, *http.Server, error) {
	client, err := connect(folder, "replica/"+name, endpoints)
	if err != nil {
		return nil, nil, err
	}
	config, err := certs.Config(doorCerts(folder), "replica/"+name)
	if err != nil {
		return nil, nil, err
	}
	o := &orchestrator{client: client, inbox: make(chan *request, atOnce), limits: limiter{peers: map[peer]*rate.Limiter{}}}
	m, err := etcd.New(etcd.Options{
		Client: client, Prefix: prefix, Name: listen, TTL: ttl, Serve: o.serve,
		Journal: journal.Options{Config: coreConfig, SnapshotRecords: 500},
		Log:     slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return nil, nil, err
	}
	o.shown = metrics.New("demo", func() metrics.Log { return o.standing(m) })
	registry := prometheus.NewRegistry()
	if err := registry.Register(o.shown); err != nil {
		return nil, nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", clientsOnly(promhttp.HandlerFor(registry, promhttp.HandlerOpts{})))
	mux.HandleFunc("POST /exchange", o.exchange)
	return m, &http.Server{
		Addr: listen, Handler: mux, TLSConfig: config,
		ReadHeaderTimeout: 2 * time.Second, ReadTimeout: 10 * time.Second, MaxHeaderBytes: 16 << 10,
	}, nil
}

// serve is the loop while it leads.
func (o *orchestrator) serve(ctx context.Context, l *etcd.Leader) error {
	o.lock.Lock()
	o.term, o.out = l.Term, map[berth.NodeID][]berth.Bind{}
	o.lock.Unlock()
	defer func() {
		o.lock.Lock()
		o.term, o.out = 0, nil
		o.lock.Unlock()
		o.shown.See(nil)
	}()
	var told []*request
	for {
		began := time.Now()
		orders, err := l.Schedule(ctx)
		switch {
		case errors.Is(err, journal.ErrFull): // what was told waits with it
		case err != nil:
			return err
		default:
			o.durable(told)
			told = nil
			o.hand(orders, l.Position())
			o.show(l, orders, time.Since(began))
		}
		var due <-chan time.Time
		if wait, ok := l.Wait(); ok {
			due = time.After(wait)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-due:
		case r := <-o.inbox:
			came := []*request{r}
			for len(came) < atOnce && len(o.inbox) > 0 {
				came = append(came, <-o.inbox)
			}
			for _, r := range came {
				if err := o.allowed(l.Core(), r); err != nil {
					slog.Warn("refused", "error", err)
					r.done <- err
					continue
				}
				if err := o.apply(ctx, l, r); err != nil {
					return err
				}
				told = append(told, r)
			}
		}
	}
}

// apply tells the core what a request says. What is known already is told twice, no more.
func (o *orchestrator) apply(ctx context.Context, l *etcd.Leader, r *request) error {
	for _, e := range r.events {
		if over, err := o.over(ctx, l, e); err != nil {
			return fmt.Errorf("%w: %w", journal.ErrUncertain, err)
		} else if over {
			continue
		}
		err := l.Apply(e)
		if err != nil && !errors.Is(err, berth.ErrStale) && !errors.Is(err, berth.ErrDuplicate) && !errors.Is(err, berth.ErrUnknown) {
			slog.Warn("refused", "event", e.Kind(), "error", err)
		}
		if report, ok := e.(berth.OrderReported); ok {
			o.reported(report.Order)
		}
	}
	return nil
}

// over reports whether a job that is submitted has ended already. A client that got no answer
// submits its job again, and the core forgets a job when it ends: a name in etcd remembers it,
// which is written before the core is told the end.
func (o *orchestrator) over(ctx context.Context, l *etcd.Leader, e berth.Event) (bool, error) {
	const ended = prefix + "-ended/"
	ctx, cancel := context.WithTimeout(ctx, ttl)
	defer cancel()
	switch e := e.(type) {
	case berth.JobFinished:
		if _, known := current(l.Core(), e); !known {
			return true, nil // it was told before; a name that nobody runs is not to be marked
		}
		_, err := o.client.Put(ctx, ended+string(e.Job), "") // in earnest with a lease of a day
		return false, err
	case berth.JobSubmitted:
		if _, known := l.Core().Job(e.Job.ID); known {
			return false, nil
		}
		resp, err := o.client.Get(ctx, ended+string(e.Job.ID), clientv3.WithCountOnly())
		return err == nil && resp.Count > 0, err
	}
	return false, nil
}

// reported takes an order off the list of its node.
func (o *orchestrator) reported(id berth.OrderID) {
	o.lock.Lock()
	defer o.lock.Unlock()
	for node, list := range o.out {
		var rest []berth.Bind
		for _, bind := range list {
			if bind.ID != id {
				rest = append(rest, bind)
			}
		}
		o.out[node] = rest
	}
}

func (o *orchestrator) durable(told []*request) {
	for _, r := range told {
		r.done <- nil
	}
}

// hand puts orders where the agents of their nodes find them. Jobs here have one member, and are
// not preempted, so all orders are Binds of one node.
func (o *orchestrator) hand(orders []berth.Order, at journal.Position) {
	o.lock.Lock()
	defer o.lock.Unlock()
	o.head = at.Number
	for _, order := range orders {
		bind, ok := order.(berth.Bind)
		if !ok {
			slog.Warn("no agent knows this order", "kind", order.Kind(), "job", order.Header().Job)
			continue
		}
		node := bind.Members[0].Node
		o.out[node] = append(o.out[node], bind)
	}
}

// show hands a pass to the metrics.
func (o *orchestrator) show(l *etcd.Leader, orders []berth.Order, took time.Duration) {
	o.shown.Pass(l.Core(), orders, took)
	if o.shown.Due() {
		o.shown.See(l.Core())
	}
}

// standing is where the replica stands in the log, as the metrics have it.
func (o *orchestrator) standing(m *etcd.Member) metrics.Log {
	s := m.Status()
	log := metrics.Log{Leads: s.Role == etcd.Leading, Head: s.Head.Number, Compared: s.Compared}
	if log.Leads {
		o.lock.Lock()
		defer o.lock.Unlock()
		log.Head = o.head
	} else if s.At.Number < s.Head.Number {
		log.Behind = s.Head.Number - s.At.Number
	}
	return log
}
