package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/etcd/internal/certs"
	"github.com/berth-sched/berth/journal"
)

// The bounds: of one request, and of the events that a certificate tells in a second. A request
// counts as one event for each eventBytes that it has, or may have where it does not say. More than
// that has to wait, and is refused where it would wait longer than mostWait.
const (
	mostBytes, mostEvents = 1 << 20, 1000
	perSecond             = 1000
	eventBytes            = 2 << 10
	mostWait              = time.Second
)

// linger is how long an agent is kept waiting for orders.
const linger = 300 * time.Millisecond

// A message is one line between an agent and the leader. The first line of an answer has the
// term, each further one an order.
type message struct {
	Term  int64           `json:"term,omitempty"`
	Order json.RawMessage `json:"order,omitempty"`
}

// A peer is the one that asks, by its certificate. What it says of itself counts for nothing.
type peer struct{ role, name string }

// The roles.
const (
	roleNode   = "node"   // the agent of the node of that name
	roleClient = "client" // submits jobs, and looks
)

// A request is what an agent or a client tells, and waits for.
type request struct {
	peer   peer
	events []berth.Event
	done   chan error // has nil when all of it is durable
}

// A limiter bounds what each peer sends. Only certificates that were given out get this far, so
// there are as many limits as peers.
type limiter struct {
	lock  sync.Mutex
	peers map[peer]*rate.Limiter
}

// wait has a peer wait until it may tell n more events. Nothing is read from it meanwhile.
func (l *limiter) wait(ctx context.Context, p peer, n int) error {
	l.lock.Lock()
	of := l.peers[p]
	if of == nil {
		of = rate.NewLimiter(perSecond, mostEvents)
		l.peers[p] = of
	}
	l.lock.Unlock()
	r := of.ReserveN(time.Now(), n)
	wait := r.Delay()
	if !r.OK() || wait > mostWait {
		r.Cancel()
		return fmt.Errorf("%s %s tells more than %d events a second", p.role, p.name, perSecond)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(wait):
		return nil
	}
}

// exchange takes lines with events from an agent or a client, and answers when they are durable,
// with orders for the node above the ID that the agent names.
func (d *replica) exchange(w http.ResponseWriter, in *http.Request) {
	role, name, err := certs.Name(in.TLS)
	if err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	from := peer{role, name}
	pool := in.URL.Query().Get("pool")
	if role == roleNode {
		pool = poolOf(name)
	}
	o := d.desks[pool]
	if o == nil {
		http.Error(w, fmt.Sprintf("there is no pool %q", pool), http.StatusNotFound)
		return
	}
	o.lock.Lock()
	term := o.term
	o.lock.Unlock()
	if term == 0 {
		http.Error(w, "another replica leads", http.StatusServiceUnavailable)
		return
	}
	r, ok := d.read(w, in, from)
	if !ok {
		return
	}
	if status, err := d.tell(in.Context(), o, r); err != nil {
		http.Error(w, err.Error(), status)
		return
	}
	have, _ := strconv.ParseUint(in.URL.Query().Get("have"), 10, 64)
	o.answer(w, term, from, berth.OrderID(have))
}

// read reads a request within its bounds, or answers why it does not.
func (d *replica) read(w http.ResponseWriter, in *http.Request, from peer) (*request, bool) {
	size := in.ContentLength
	if size < 0 || size > mostBytes {
		size = mostBytes
	}
	if err := d.limits.wait(in.Context(), from, 1+int(size/eventBytes)); err != nil {
		http.Error(w, err.Error(), http.StatusTooManyRequests)
		return nil, false
	}
	r, err := readRequest(from, http.MaxBytesReader(w, in.Body, mostBytes))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large), errors.Is(err, errMany):
		http.Error(w, fmt.Sprintf("a request has %d bytes and %d events at most", mostBytes, mostEvents), http.StatusRequestEntityTooLarge)
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
	default:
		return r, true
	}
	return nil, false
}

// submit takes jobs of a client, and answers when they are durable: they are accepted, whether
// anybody leads their pools at the moment or not.
func (d *replica) submit(w http.ResponseWriter, in *http.Request) {
	role, name, err := certs.Name(in.TLS)
	if err != nil || role != roleClient {
		http.Error(w, "for clients", http.StatusForbidden)
		return
	}
	r, ok := d.read(w, in, peer{role, name})
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(in.Context(), 2*ttl)
	defer cancel()
	if err := d.limits.wait(ctx, r.peer, len(r.events)); err != nil {
		http.Error(w, err.Error(), http.StatusTooManyRequests)
		return
	}
	for _, e := range r.events {
		job, ok := e.(berth.JobSubmitted)
		if !ok {
			http.Error(w, "jobs alone are submitted, and no "+e.Kind(), http.StatusBadRequest)
			return
		}
		if err := d.router.Submit(ctx, job.Job, homes(job.Job.ID)...); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
	}
	_ = json.NewEncoder(w).Encode(message{})
}

// clientsOnly lets no agent look.
func clientsOnly(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		role, _, err := certs.Name(in.TLS)
		if err != nil || role != roleClient {
			http.Error(w, "for clients", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, in)
	})
}

// tell hands a request to the loop, and waits until it is durable.
func (d *replica) tell(ctx context.Context, o *orchestrator, r *request) (status int, err error) {
	if len(r.events) == 0 {
		return http.StatusOK, nil
	}
	if err := d.limits.wait(ctx, r.peer, len(r.events)); err != nil {
		return http.StatusTooManyRequests, err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*ttl)
	defer cancel()
	select {
	case o.inbox <- r:
	case <-ctx.Done():
		return http.StatusServiceUnavailable, errors.New("busy")
	}
	select {
	case err := <-r.done:
		if errors.Is(err, journal.ErrFull) {
			return http.StatusServiceUnavailable, err
		}
		return http.StatusForbidden, err
	case <-ctx.Done(): // it may be durable, or not: the client asks again
		return http.StatusServiceUnavailable, errors.New("not known to be durable")
	}
}

var errMany = errors.New("too many events")

func readRequest(from peer, body io.Reader) (*request, error) {
	r := &request{peer: from, done: make(chan error, 1)}
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, mostBytes+1)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		if len(r.events) == mostEvents {
			return nil, errMany
		}
		e, err := berth.DecodeEvent(lines.Bytes())
		if err != nil {
			return nil, err
		}
		r.events = append(r.events, e)
	}
	return r, lines.Err()
}

// allowed looks at a whole request before any of it is told: an agent speaks for its own node, and
// a client for queues, and for jobs at another door.
func (o *orchestrator) allowed(c *core.Core, r *request) error {
	for _, e := range r.events {
		may := false
		switch e := e.(type) {
		case berth.QueueSet:
			may = r.peer.role == roleClient
		case berth.NodeJoined:
			may = r.peer.role == roleNode && string(e.Node.ID) == r.peer.name
		case berth.OrderReported:
			may = r.peer.role == roleNode && o.ownOrder(berth.NodeID(r.peer.name), e.Order)
		case berth.JobFinished:
			may = r.peer.role == roleNode && ownJob(c, berth.NodeID(r.peer.name), e)
		}
		if !may {
			return fmt.Errorf("%s %s may not tell this %s", r.peer.role, r.peer.name, e.Kind())
		}
	}
	return nil
}

// ownOrder reports whether an order is not out to another node. One that is out to none is over,
// and the core refuses a report of it.
func (o *orchestrator) ownOrder(node berth.NodeID, id berth.OrderID) bool {
	o.lock.Lock()
	defer o.lock.Unlock()
	for at, list := range o.out {
		if at != node && slices.ContainsFunc(list, func(b berth.Bind) bool { return b.ID == id }) {
			return false
		}
	}
	return true
}

// ownJob reports whether a job that is said to have finished has a member on the node. What is over
// already is nobody's: apply leaves it out.
func ownJob(c *core.Core, node berth.NodeID, e berth.JobFinished) bool {
	is, known := current(c, e)
	if !known {
		return true
	}
	for _, members := range [][]berth.MemberPlacement{is.Starting, is.Running, is.Stopping} {
		if slices.ContainsFunc(members, func(m berth.MemberPlacement) bool { return m.Node == node }) {
			return true
		}
	}
	return false
}

// current is the replica of a job that is said to have finished, if the core knows it in that life.
func current(c *core.Core, e berth.JobFinished) (is berth.ReplicaStatus, known bool) {
	job, known := c.Job(e.Job)
	if !known || len(job.Replicas) == 0 || job.Replicas[0].Incarnation != e.Incarnation {
		return berth.ReplicaStatus{}, false
	}
	return job.Replicas[0], true
}

// answer waits a while for orders of a node.
func (o *orchestrator) answer(w io.Writer, term int64, to peer, have berth.OrderID) {
	var list []berth.Bind
	for end := time.Now().Add(linger); to.role == roleNode && len(list) == 0 && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		o.lock.Lock()
		if o.term == term {
			for _, bind := range o.out[berth.NodeID(to.name)] {
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
