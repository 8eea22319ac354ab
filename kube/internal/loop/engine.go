// Package loop runs a core for a cluster: what is seen of the cluster becomes events, orders are
// carried out, and what comes of them is told the core again.
//
// An [Engine] is the part without watches and clocks: one goroutine owns it, and hands it objects.
// [Run] is the loop around it.
package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/journal"
	"github.com/berth-sched/berth/kube/carry"
	"github.com/berth-sched/berth/kube/translate"
)

// Spans that say how long to wait for what others do.
const (
	// podsWithin is how long a Bind waits for pods that a controller makes anew.
	podsWithin = 15 * berth.Second
	// shortFor is for how long a gang may have too few pods before it is withdrawn.
	shortFor = 30 * berth.Second
	// sweepEvery is how often the engine looks for what others left.
	sweepEvery = 5 * berth.Second
	// explainEvery is how often at most the condition of one PodGroup is written.
	explainEvery = 10 * berth.Second
)

// Options of an Engine.
type Options struct {
	Cluster *translate.Cluster
	Carrier *carry.Carrier
	// Now is the clock of the core: see the manual of package berth. It never goes back.
	Now func() berth.Time
	// Go runs a function beside the engine and then hands what it returns to the goroutine that
	// owns the engine, which calls it. In a test it may do both at once.
	Go func(func() func())
	// Log gets what is refused and what fails; nil: the default.
	Log *slog.Logger
	// Said is told of each decision that owners should see; nil: nobody.
	Said func(object translate.Object, uid string, warning bool, reason, text string)
	// Passed is told of each pass; nil: nobody.
	Passed func(of *core.Core, orders []berth.Order, took time.Duration)
	// Journal gets all that the core is told and orders, to be replayed; nil: nobody.
	Journal *journal.Writer
	// Explained is how many conditions are written a second at most; 0: none.
	Explained int
}

// An Engine owns a core.
type Engine struct {
	o    Options
	core *core.Core

	orders map[berth.OrderID]*order
	// lines are the works of each job, to be done one after another; the first is being done.
	lines    map[berth.JobID][]func()
	undoing  map[translate.Key]bool
	finished map[berth.JobID]bool // of former processes
	short    map[berth.JobID]berth.Time
	swept    berth.Time
	changed  bool // something was told since the last pass

	explained map[berth.JobID]explained
	nextWrite berth.Time
}

// An order that is out.
type order struct {
	berth.Order
	since berth.Time
	seats []translate.Seat
	// begun: it is being carried out. carried: that is over, and what comes of it is awaited.
	begun, carried bool
	result         carry.Result
	cancel         context.CancelFunc
}

// New makes an engine with a core of which nothing was told yet.
func New(o Options) (*Engine, error) {
	c, err := core.New(o.Cluster.Config())
	if err != nil {
		return nil, err
	}
	o.Log = cmp.Or(o.Log, slog.Default())
	return &Engine{
		o: o, core: c, orders: map[berth.OrderID]*order{}, lines: map[berth.JobID][]func(){},
		undoing: map[translate.Key]bool{}, finished: map[berth.JobID]bool{}, short: map[berth.JobID]berth.Time{},
		explained: map[berth.JobID]explained{},
	}, nil
}

// Core is for questions.
func (e *Engine) Core() *core.Core { return e.core }

// Upsert tells what an object is like now, and Delete that it is gone. Synced says that all that
// was there at first was told.
func (e *Engine) Upsert(o metav1.Object) { e.tell(e.o.Cluster.Upsert(o)) }

// Delete tells that an object is gone.
func (e *Engine) Delete(o metav1.Object) { e.tell(e.o.Cluster.Delete(o)) }

// Synced says that all objects that were there at first were told.
func (e *Engine) Synced() { e.tell(e.o.Cluster.Synced()) }

// tell tells the core events.
func (e *Engine) tell(events []berth.Event) {
	for _, event := range events {
		e.apply(event)
	}
}

func (e *Engine) apply(event berth.Event) {
	now := e.o.Now()
	if o, is := event.(berth.JobObserved); is {
		for i := range o.Running {
			o.Running[i].Started = min(o.Running[i].Started, now)
		}
	}
	e.changed = true
	err := e.core.Apply(now, event)
	if e.o.Journal != nil {
		e.o.Journal.Applied(now, event, err)
	}
	switch {
	case err == nil:
	case errors.Is(err, berth.ErrStale):
		e.o.Log.Debug("stale", "event", event.Kind(), "error", err)
	default:
		e.o.Log.Warn("refused", "event", event.Kind(), "error", err)
		e.o.Cluster.Refused(event, err)
	}
}

// Turn does all that is due: it reports what came of orders, runs a pass, and begins to carry out
// what it orders. It returns how long to wait for news until the next turn.
func (e *Engine) Turn() (time.Duration, error) {
	e.sweep()
	for range 16 { // reports make passes due, and passes reports
		e.report()
		now := e.o.Now()
		if wake, is := e.core.NextWake(); !e.changed && (!is || wake > now) {
			break
		}
		e.changed = false
		began := time.Now()
		orders, err := e.core.Schedule(now)
		if err != nil {
			return 0, err
		}
		if j := e.o.Journal; j != nil {
			j.Scheduled(now, orders)
			if err := j.Flush(); err != nil {
				return 0, err
			}
		}
		for _, o := range orders {
			e.begin(o, now)
		}
		if e.o.Passed != nil {
			e.o.Passed(e.core, orders, time.Since(began))
		}
	}
	e.explain()
	wait := sweepEvery
	if wake, is := e.core.NextWake(); is {
		wait = max(0, min(wait, wake.Sub(e.o.Now())))
	}
	if e.changed {
		wait = 0
	}
	return wait.Std(), nil
}

// Idle reports whether nothing is being carried out.
func (e *Engine) Idle() bool { return len(e.lines) == 0 && len(e.orders) == 0 }

// begin takes an order.
func (e *Engine) begin(o berth.Order, now berth.Time) {
	h := o.Header()
	entry := &order{Order: o, since: now, cancel: func() {}}
	e.o.Log.Info("order", "kind", o.Kind(), "id", h.ID, "job", h.Job, "cause", h.Cause.Code)
	switch o := o.(type) {
	case berth.Bind:
		e.orders[h.ID] = entry
		e.say(h.Job, false, "Placed", fmt.Sprintf("%d members are being started (%s)", len(o.Members), h.Cause.Code))
		e.bind(entry)
	case berth.Release:
		for id, other := range e.orders { // each by itself
			if other.Header().Job == h.Job {
				other.cancel()
				delete(e.orders, id)
			}
		}
		e.orders[h.ID] = entry
		e.say(h.Job, true, "Released", fmt.Sprintf("%d members are being stopped: %s", len(o.Members), cause(h.Cause)))
		e.release(entry, o)
	case berth.RequestCheckpoint:
		e.orders[h.ID] = entry
		entry.seats = e.o.Cluster.Seats(h.Job, refs(o.Members))
		request := carry.Request{Order: h.ID, Deadline: h.Deadline.Std()}
		e.say(h.Job, true, "CheckpointRequested", fmt.Sprintf("a checkpoint is to be written by %s: %s", h.Deadline.Std().Format(time.RFC3339), cause(h.Cause)))
		e.work(h.Job, entry, func(ctx context.Context) carry.Result { return e.o.Carrier.Request(ctx, entry.seats, &request) })
	case berth.Withdraw:
		if asked := e.orders[o.Request]; asked != nil {
			delete(e.orders, o.Request)
			asked.cancel()
			entry.seats = asked.seats
			e.say(h.Job, false, "CheckpointWithdrawn", "the gang keeps its place")
			e.work(h.Job, entry, func(ctx context.Context) carry.Result { return e.o.Carrier.Request(ctx, entry.seats, nil) })
		}
	case berth.Repartition: // the driver makes instances as claims are prepared
		e.o.Cluster.Repartitioned(&o)
		e.done(h.ID, berth.OutcomeDone, nil, "")
	case berth.WarnIdle:
		e.say(h.Job, true, "Idle", cause(h.Cause))
	case berth.Drop:
		e.say(h.Job, true, "Dropped", cause(h.Cause))
		e.o.Cluster.Dropped(h.Job)
	}
}

func cause(c berth.Cause) string {
	text := string(c.Code)
	if c.Detail != "" {
		text += ": " + c.Detail
	}
	if c.Beneficiary.Job != "" {
		text += ", for " + c.Beneficiary.String()
	}
	return text
}

func refs(members []berth.MemberPlacement) []berth.MemberRef {
	all := make([]berth.MemberRef, len(members))
	for i := range members {
		all[i] = members[i].Ref()
	}
	return all
}

func (e *Engine) say(job berth.JobID, warning bool, reason, text string) {
	if object, uid, is := e.o.Cluster.Object(job); is && e.o.Said != nil {
		e.o.Said(object, string(uid), warning, reason, text)
	}
}

// work does something for a job beside the engine, after what was begun for it before.
func (e *Engine) work(job berth.JobID, entry *order, do func(ctx context.Context) carry.Result) {
	deadline := 10 * time.Minute
	if at := entry.Header().Deadline; at != 0 {
		deadline = at.Sub(e.o.Now()).Std()
	}
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	entry.cancel, entry.begun = cancel, true
	e.line(job, func() carry.Result { defer cancel(); return do(ctx) }, func(r carry.Result) {
		entry.result, entry.carried = r, true
		if r.Err != nil {
			e.o.Log.Warn("carried out in part", "order", entry.Kind(), "id", entry.Header().ID, "job", job, "error", r.Err)
		}
	})
}

// line does works of a job one after another.
func (e *Engine) line(job berth.JobID, do func() carry.Result, then func(carry.Result)) {
	run := func() {
		e.o.Go(func() func() {
			r := do()
			return func() {
				for _, o := range r.Written {
					e.tell(e.o.Cluster.Refresh(o))
				}
				then(r)
				rest := e.lines[job][1:]
				if len(rest) == 0 {
					delete(e.lines, job)
					return
				}
				e.lines[job] = rest
				rest[0]()
			}
		})
	}
	e.lines[job] = append(e.lines[job], run)
	if len(e.lines[job]) == 1 {
		run()
	}
}

// bind begins a Bind if its pods are there.
func (e *Engine) bind(entry *order) {
	b := entry.Order.(berth.Bind)
	plan, err := e.o.Cluster.Plan(&b)
	if err != nil {
		if e.o.Now().Sub(entry.since) >= podsWithin {
			e.done(b.ID, berth.OutcomeFailed, nil, err.Error())
		}
		return
	}
	entry.seats = plan.Seats
	e.tell(e.o.Cluster.Start(&b, &plan))
	e.work(b.Job, entry, func(ctx context.Context) carry.Result { return e.o.Carrier.Bind(ctx, &plan) })
}

// release begins a Release. What this program did not start it does not stop.
func (e *Engine) release(entry *order, r berth.Release) {
	if object, _, is := e.o.Cluster.Object(r.Job); is && object.Kind == "ResourceClaim" {
		e.done(r.ID, berth.OutcomeFailed, nil, "it is a claim of others")
		return
	}
	entry.seats = e.o.Cluster.Seats(r.Job, refs(r.Members))
	e.work(r.Job, entry, func(ctx context.Context) carry.Result { return e.o.Carrier.Release(ctx, entry.seats) })
}

// report reports what came of orders, as the cluster shows it.
func (e *Engine) report() {
	for _, id := range slices.Sorted(maps.Keys(e.orders)) {
		entry := e.orders[id]
		if entry == nil {
			continue // it ended with one before
		}
		switch o := entry.Order.(type) {
		case berth.Bind:
			e.bound(entry, o)
		case berth.Release:
			e.released(entry, o)
		case berth.RequestCheckpoint:
			e.answered(entry, o)
		}
	}
}

func (e *Engine) bound(entry *order, b berth.Bind) {
	switch r := &entry.result; {
	case !entry.begun:
		e.bind(entry)
	case !entry.carried:
	case r.Err != nil && r.Undone:
		e.tell(e.o.Cluster.Ended(b.Job, refs(b.Members)))
		e.done(b.ID, berth.OutcomeFailed, nil, r.Err.Error())
	case r.Err != nil && len(r.Failed) == 0: // a Release follows
	default:
		for i := range entry.seats {
			s := &entry.seats[i]
			failed := slices.Contains(r.Failed, s.Member)
			if state := e.o.Cluster.StateOf(s); !failed && !state.Bound && !state.Gone {
				return
			}
		}
		if len(r.Failed) > 0 {
			e.tell(e.o.Cluster.Ended(b.Job, r.Failed))
			e.done(b.ID, berth.OutcomePartial, r.Failed, r.Err.Error())
			return
		}
		e.done(b.ID, berth.OutcomeDone, nil, "")
	}
}

func (e *Engine) released(entry *order, r berth.Release) {
	if !entry.carried {
		return
	}
	for i := range entry.seats {
		if s := e.o.Cluster.StateOf(&entry.seats[i]); s.Held || !s.Gone && !s.Gated {
			if entry.result.Err != nil { // try again, for as long as the order is out
				entry.carried = false
				e.release(entry, r)
			}
			return
		}
	}
	e.tell(e.o.Cluster.Ended(r.Job, refs(r.Members)))
	e.done(r.ID, berth.OutcomeDone, nil, "")
}

func (e *Engine) answered(entry *order, o berth.RequestCheckpoint) {
	for i := range entry.seats {
		answered, written := carry.Answered(e.o.Cluster.StateOf(&entry.seats[i]).Answer, o.ID)
		switch {
		case !answered:
			return
		case !written:
			e.done(o.ID, berth.OutcomeFailed, nil, fmt.Sprintf("the pod %v says so", entry.seats[i].Pod))
			return
		}
	}
	if entry.carried {
		e.done(o.ID, berth.OutcomeDone, nil, "")
	}
}

// done reports an order.
func (e *Engine) done(id berth.OrderID, outcome berth.Outcome, members []berth.MemberRef, reason string) {
	delete(e.orders, id)
	if len(reason) > 1000 {
		reason = reason[:1000]
	}
	e.apply(berth.OrderReported{Order: id, Outcome: outcome, Members: members, Reason: strings.ToValidUTF8(reason, "")})
}

// sweep looks for what former processes left, and for gangs that have lost their pods.
func (e *Engine) sweep() {
	now := e.o.Now()
	if e.swept != 0 && now.Sub(e.swept) < sweepEvery {
		return
	}
	e.swept = now
	for _, l := range e.o.Cluster.Leftovers() {
		e.undo(l)
	}
	for _, plan := range e.o.Cluster.Unfinished() {
		if !e.finished[plan.Job] {
			e.finished[plan.Job] = true
			e.line(plan.Job, func() carry.Result { return e.o.Carrier.Bind(context.Background(), &plan) }, func(r carry.Result) {
				delete(e.finished, plan.Job)
				if r.Err != nil {
					e.o.Log.Warn("not finished", "job", plan.Job, "error", r.Err)
				}
			})
		}
	}
	short := e.o.Cluster.Short()
	for id := range e.short { // each by itself
		if !slices.Contains(short, id) {
			delete(e.short, id)
		}
	}
	for _, id := range short {
		if since, is := e.short[id]; !is {
			e.short[id] = now
		} else if now.Sub(since) >= shortFor {
			delete(e.short, id)
			e.tell(e.o.Cluster.Withdraw(id))
		}
	}
}

func (e *Engine) undo(l translate.Leftover) {
	if slices.ContainsFunc(l.Claims, func(key translate.Key) bool { return e.undoing[key] }) {
		return
	}
	for _, key := range l.Claims {
		e.undoing[key] = true
	}
	e.line(berth.JobID("undo "+l.Source.String()), func() carry.Result { return e.o.Carrier.Undo(context.Background(), l.Claims) }, func(r carry.Result) {
		for _, key := range l.Claims {
			delete(e.undoing, key)
		}
		if r.Err != nil {
			e.o.Log.Warn("not undone", "object", l.Source.String(), "error", r.Err)
		}
	})
}

// explained is what was written of a job last.
type explained struct {
	at, written berth.Time
	text        string
}

// explain writes to PodGroups where they stand: those first of which it was written the longest
// time ago, and no more than the rate allows.
func (e *Engine) explain() {
	now := e.o.Now()
	if e.o.Explained == 0 || now < e.nextWrite {
		return
	}
	ids := e.core.JobIDs()
	for id := range e.explained { // each by itself
		if _, is := slices.BinarySearch(ids, id); !is {
			delete(e.explained, id)
		}
	}
	slices.SortStableFunc(ids, func(a, b berth.JobID) int { return cmp.Compare(e.explained[a].at, e.explained[b].at) })
	for _, id := range ids[:min(len(ids), e.o.Explained)] {
		object, uid, is := e.o.Cluster.Object(id)
		was := e.explained[id]
		e.explained[id] = explained{now, was.written, was.text}
		if !is || object.Kind != "PodGroup" || was.written != 0 && now.Sub(was.written) < explainEvery {
			continue
		}
		condition, ok := e.condition(id)
		e.explained[id] = explained{now, now, condition.Message}
		if ok && condition.Message != was.text {
			e.line(berth.JobID("explain "+string(id)), func() carry.Result {
				ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
				defer cancel()
				return e.o.Carrier.Explain(ctx, object.Key, uid, condition)
			}, func(carry.Result) {})
		}
	}
	e.nextWrite = now.Add(berth.Second)
}

// condition says where a gang stands.
func (e *Engine) condition(id berth.JobID) (metav1.Condition, bool) {
	c := metav1.Condition{Type: carry.ConditionType, Status: metav1.ConditionFalse}
	x, err := e.core.Explain(id)
	if err != nil || len(x.Replicas) == 0 {
		return c, false
	}
	switch r := &x.Replicas[0]; {
	case r.Reason != nil:
		c.Reason = camel(string(r.Reason.Code))
		c.Message = r.Reason.String() + ". What helps: " + r.Reason.Remedy
		if at := r.Reason.ExpectedStart.Middle; at != 0 {
			c.Message += ". Expected to start: " + at.Std().Format(time.RFC3339)
		}
	case r.State == berth.ReplicaRunning:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, "Running", fmt.Sprintf("%d members are placed", len(r.Members))
	default:
		c.Reason, c.Message = camel(r.State.String()), "it is being placed, or stopped"
	}
	if len(c.Message) > 4000 {
		c.Message = strings.ToValidUTF8(c.Message[:4000], "")
	}
	return c, true
}

// camel makes a reason of the API of a code.
func camel(code string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(code, "-") {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}
