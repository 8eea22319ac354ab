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
	// lookForJobs is how often the leader of a pool looks for jobs that came.
	lookForJobs = 50 * time.Millisecond
)

var coreConfig = berth.Config{Levels: []string{"leaf"}}

// A replica is a process that may lead any of the pools, and the door of it for agents and clients.
type replica struct {
	pools  *etcd.Pools
	router *etcd.Router
	limits limiter
	desks  map[string]*orchestrator // by pool
}

// An orchestrator is the part of a replica for one pool.
type orchestrator struct {
	pool   string
	router *etcd.Router
	inbox  chan *request
	shown  *metrics.Collector
	passed journal.Position

	lock sync.Mutex
	term int64 // 0: it does not lead
	head uint64
	// out has the orders of each node that are not reported.
	out map[berth.NodeID][]berth.Bind
}

// runReplica is the process of one.
func runReplica(name, folder, listen string, endpoints []string) error {
	r, server, err := newReplica(name, folder, listen, endpoints)
	if err != nil {
		return err
	}
	go func() {
		fmt.Fprintln(os.Stderr, "http:", server.ListenAndServeTLS("", ""))
		os.Exit(1)
	}()
	return r.pools.Run(context.Background())
}

// newReplica makes a member for each pool, and the door.
func newReplica(name, folder, listen string, endpoints []string) (*replica, *http.Server, error) {
	client, err := connect(folder, "replica/"+name, endpoints)
	if err != nil {
		return nil, nil, err
	}
	config, err := certs.Config(doorCerts(folder), "replica/"+name)
	if err != nil {
		return nil, nil, err
	}
	r := &replica{limits: limiter{peers: map[peer]*rate.Limiter{}}, desks: map[string]*orchestrator{}}
	if r.router, err = etcd.NewRouter(client, prefix+"/jobs", goOn); err != nil {
		return nil, nil, err
	}
	var options []etcd.Options
	for _, pool := range pools {
		o := &orchestrator{pool: pool, router: r.router, inbox: make(chan *request, atOnce)}
		r.desks[pool] = o
		options = append(options, etcd.Options{
			Client: client, Prefix: prefix + "/" + pool, Name: listen, TTL: ttl, Serve: o.serve,
			Journal: journal.Options{Config: coreConfig, SnapshotRecords: 500},
			Log:     slog.New(slog.NewTextHandler(os.Stderr, nil)).With("pool", pool),
		})
	}
	if r.pools, err = etcd.NewPools(options...); err != nil {
		return nil, nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /exchange", r.exchange)
	mux.HandleFunc("POST /jobs", r.submit)
	registry := prometheus.NewRegistry()
	for i, m := range r.pools.Members() {
		o := r.desks[pools[i]]
		o.shown = metrics.New(o.pool, func() metrics.Log { return o.standing(m) })
		if err := registry.Register(o.shown); err != nil {
			return nil, nil, err
		}
	}
	mux.Handle("GET /metrics", clientsOnly(promhttp.HandlerFor(registry, promhttp.HandlerOpts{})))
	return r, &http.Server{
		Addr: listen, Handler: mux, TLSConfig: config,
		ReadHeaderTimeout: 2 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, MaxHeaderBytes: 16 << 10,
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
	intake := o.router.Lead(l, o.pool)
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
			if err := turn(ctx, intake); err != nil {
				return err
			}
		}
		due := time.After(lookForJobs)
		if wait, ok := l.Wait(); ok && wait < lookForJobs {
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
				switch err := o.apply(ctx, l, intake, r); {
				case errors.Is(err, journal.ErrFull): // it is told again
					r.done <- err
					continue
				case err != nil:
					return err
				}
				told = append(told, r)
			}
		}
	}
}

// turn takes the jobs that came, and sends on those that have waited for too long.
func turn(ctx context.Context, intake *etcd.Intake) error {
	refused, err := intake.Turn(ctx)
	for _, r := range refused {
		slog.Warn("refused", "job", r.Job.ID, "error", r.Err)
	}
	if errors.Is(err, journal.ErrFull) {
		return nil // the next one tries again
	}
	return err
}

// apply tells the core what a request says. What is known already is told twice, no more.
func (o *orchestrator) apply(ctx context.Context, l *etcd.Leader, intake *etcd.Intake, r *request) error {
	for _, e := range r.events {
		if over, ok := e.(berth.JobFinished); ok {
			if _, known := current(l.Core(), over); !known {
				continue // it was told before; a job of that name in another life is not over
			}
			if err := intake.End(ctx, over.Job); err != nil {
				return err
			}
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

// show hands a pass to the metrics, if there was one, and has them look at the core now and then:
// also when no pass comes, as the last one may be younger than what they show.
func (o *orchestrator) show(l *etcd.Leader, orders []berth.Order, took time.Duration) {
	if l.Position() != o.passed {
		o.passed = l.Position()
		o.shown.Pass(l.Core(), orders, took)
	}
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
