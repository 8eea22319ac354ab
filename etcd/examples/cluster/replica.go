package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/etcd"
	"github.com/berth-sched/berth/journal"
)

const (
	prefix = "/berth/demo"
	ttl    = 2 * time.Second
	// mostBytes and mostEvents are what one request may have.
	mostBytes, mostEvents = 1 << 20, 1000
	// atOnce is how many requests become one transaction.
	atOnce = 64
	// linger is how long an agent is kept waiting for orders.
	linger = 300 * time.Millisecond
)

var config = berth.Config{Levels: []string{"leaf"}}

// A message is one line between an agent and the leader. The first line of an answer has the
// term, each further one an order.
type message struct {
	Term  int64           `json:"term,omitempty"`
	Order json.RawMessage `json:"order,omitempty"`
}

// A request is what an agent or a client tells, and waits for.
type request struct {
	events []berth.Event
	done   chan struct{} // closed when all of it is durable
}

// An orchestrator is a replica: a member, and its door for agents and clients.
type orchestrator struct {
	client *clientv3.Client
	source *etcd.Source
	inbox  chan *request

	lock sync.Mutex
	term int64 // 0: it does not lead
	// out has the orders of each node that are not reported.
	out map[berth.NodeID][]berth.Bind
}

// runReplica is the process of one.
func runReplica(listen string, endpoints []string) error {
	client, err := connect(endpoints)
	if err != nil {
		return err
	}
	source, err := etcd.NewSource(client, prefix)
	if err != nil {
		return err
	}
	o := &orchestrator{client: client, source: source, inbox: make(chan *request, atOnce)}
	m, err := etcd.New(etcd.Options{
		Client: client, Prefix: prefix, Name: listen, TTL: ttl, Serve: o.serve,
		Journal: journal.Options{Config: config, SnapshotRecords: 500},
		Log:     slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /exchange", o.exchange)
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) { json.NewEncoder(w).Encode(m.Status()) })
	server := &http.Server{Addr: listen, Handler: mux, ReadTimeout: 10 * time.Second}
	go func() {
		fmt.Fprintln(os.Stderr, "http:", server.ListenAndServe())
		os.Exit(1)
	}()
	return m.Run(context.Background())
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
	}()
	var told []*request
	for {
		orders, err := l.Schedule(ctx)
		switch {
		case errors.Is(err, journal.ErrFull): // what was told waits with it
		case err != nil:
			return err
		default:
			o.durable(told)
			told = nil
			o.hand(orders)
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
				if err := o.apply(ctx, l, r); err != nil {
					return err
				}
			}
			told = append(told, came...)
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
		close(r.done)
	}
}

// hand puts orders where the agents of their nodes find them. Jobs here have one member, and are
// not preempted, so all orders are Binds of one node.
func (o *orchestrator) hand(orders []berth.Order) {
	o.lock.Lock()
	defer o.lock.Unlock()
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

// exchange takes lines with events from an agent or a client, and answers when they are durable,
// with orders for the node above the ID that the agent names.
func (o *orchestrator) exchange(w http.ResponseWriter, in *http.Request) {
	o.lock.Lock()
	term := o.term
	o.lock.Unlock()
	if term == 0 {
		http.Error(w, "another replica leads", http.StatusServiceUnavailable)
		return
	}
	r, err := readRequest(http.MaxBytesReader(w, in.Body, mostBytes))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if len(r.events) > 0 {
		ctx, cancel := context.WithTimeout(in.Context(), 2*ttl)
		defer cancel()
		select {
		case o.inbox <- r:
		case <-ctx.Done():
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return
		}
		select {
		case <-r.done:
		case <-ctx.Done(): // it may be durable, or not: the client asks again
			http.Error(w, "not known to be durable", http.StatusServiceUnavailable)
			return
		}
	}
	have, _ := strconv.ParseUint(in.URL.Query().Get("have"), 10, 64)
	o.answer(w, term, berth.NodeID(in.URL.Query().Get("node")), berth.OrderID(have))
}

func readRequest(body io.Reader) (*request, error) {
	r := &request{done: make(chan struct{})}
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, mostBytes)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		e, err := berth.DecodeEvent(lines.Bytes())
		if err != nil {
			return nil, err
		}
		if r.events = append(r.events, e); len(r.events) > mostEvents {
			return nil, fmt.Errorf("more than %d events at once", mostEvents)
		}
	}
	return r, lines.Err()
}

// answer waits a while for orders of a node.
func (o *orchestrator) answer(w io.Writer, term int64, node berth.NodeID, have berth.OrderID) {
	var list []berth.Bind
	for end := time.Now().Add(linger); node != "" && len(list) == 0 && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		o.lock.Lock()
		if o.term == term {
			for _, bind := range o.out[node] {
				if bind.ID > have {
					list = append(list, bind)
				}
			}
		}
		o.lock.Unlock()
	}
	out := json.NewEncoder(w)
	_ = out.Encode(message{Term: term})
	for _, bind := range list {
		if text, err := berth.EncodeOrder(bind); err == nil {
			_ = out.Encode(message{Order: text})
		}
	}
}

// ask sends events to replicas until one leads, and returns its term and the orders.
func ask(replicas []string, query string, events []berth.Event) (term int64, orders []berth.Bind, err error) {
	var body strings.Builder
	for _, e := range events {
		text, err := berth.EncodeEvent(e)
		if err != nil {
			return 0, nil, err
		}
		body.Write(append(text, '\n'))
	}
	for _, at := range replicas {
		if term, orders, err = askOne(at, query, body.String()); err == nil {
			return term, orders, nil
		}
	}
	return 0, nil, err
}

var httpClient = &http.Client{Timeout: 2500 * time.Millisecond}

func askOne(at, query, body string) (int64, []berth.Bind, error) {
	resp, err := httpClient.Post("http://"+at+"/exchange?"+query, "application/jsonl", strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return 0, nil, errors.New(resp.Status)
	}
	var term int64
	var orders []berth.Bind
	for in := json.NewDecoder(resp.Body); ; {
		var m message
		if err := in.Decode(&m); err == io.EOF {
			return term, orders, nil
		} else if err != nil {
			return 0, nil, err
		}
		if m.Order == nil {
			term = m.Term
			continue
		}
		order, err := berth.DecodeOrder(m.Order)
		if err != nil {
			return 0, nil, err
		}
		if bind, ok := order.(berth.Bind); ok {
			orders = append(orders, bind)
		}
	}
}
