package etcd_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/check"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/etcd"
	"github.com/berth-sched/berth/journal"
	"github.com/berth-sched/berth/quota"
)

var config = berth.Config{Levels: []string{"leaf"}}

// A stage is an instant in the cycle of a leader.
type stage int

const (
	never stage = iota
	// beforeAppend: events were told to the core, and none is durable.
	beforeAppend
	// afterAppend: the pass is durable, and no order was let out.
	afterAppend
	// whileCarryingOut: some of the orders of a pass were carried out.
	whileCarryingOut
	// beforeReport: all were, and none is reported.
	beforeReport
	stages
)

func (s stage) String() string {
	return [...]string{"never", "before append", "after append", "while carrying out", "before a report"}[s]
}

var errKilled = errors.New("killed")

// A world is what is outside of the members: clients that submit jobs, and agents that carry out
// orders. Members die, and the world goes on. It holds to what an agent has to do: orders of an
// earlier term are refused, and none is carried out twice.
type world struct {
	*testing.T
	lock sync.Mutex
	// wanted is how many jobs are to be submitted in all, and submitted what was told to be.
	wanted, submitted int
	acknowledged      map[berth.JobID]bool
	settled           int // of the first so many, all are acknowledged
	// carried are the orders that were carried out, and refused those of earlier terms.
	carried map[berth.OrderID]string
	refused int
	term    int64
	// holds has the member on each GPU, and runs the jobs that run, since a turn.
	holds    map[string]berth.MemberRef
	runs     map[berth.JobID]*run
	ended    map[berth.JobID]berth.Incarnation
	reports  []berth.OrderReported
	turns    int
	failures []error // of Schedule
	// at is the next stage at which the leader is killed, and killed then has its name.
	at     stage
	killed chan string
	// sleeper is the leader that falls asleep when it has orders, until awake is closed.
	sleeper string
	slept   chan struct{}
	awake   chan struct{}
}

// A run is a job that runs.
type run struct {
	bind  berth.Bind
	since int
}

func newWorld(t *testing.T) *world {
	return &world{
		T: t, acknowledged: map[berth.JobID]bool{}, carried: map[berth.OrderID]string{}, holds: map[string]berth.MemberRef{},
		runs: map[berth.JobID]*run{}, ended: map[berth.JobID]berth.Incarnation{}, killed: make(chan string, 1),
		slept: make(chan struct{}), awake: make(chan struct{}),
	}
}

// serve is the loop of an orchestrator.
func (w *world) serve(name string, kill func()) func(context.Context, *etcd.Leader) error {
	return func(ctx context.Context, l *etcd.Leader) error {
		for {
			if err := w.turn(ctx, l, name, kill); err != nil {
				return err
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Millisecond):
			}
		}
	}
}

// turn tells what there is, passes, and carries out.
func (w *world) turn(ctx context.Context, l *etcd.Leader, name string, kill func()) error {
	told := w.events()
	for _, e := range told {
		if err := l.Apply(e); err != nil && !errors.Is(err, berth.ErrDuplicate) && !errors.Is(err, berth.ErrStale) && !errors.Is(err, berth.ErrUnknown) {
			return fmt.Errorf("%s: %w", e.Kind(), err)
		}
	}
	if w.dies(beforeAppend, name, kill) {
		return errKilled
	}
	orders, err := l.Schedule(ctx)
	if err != nil {
		w.noteError(err)
	}
	if errors.Is(err, journal.ErrFull) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(orders) > 0 {
		w.asleep(name)
	}
	if w.dies(afterAppend, name, kill) {
		return errKilled
	}
	w.durable(told)
	for i, order := range orders {
		if i == len(orders)/2 && w.dies(whileCarryingOut, name, kill) {
			return errKilled
		}
		w.carryOut(order, l.Term)
	}
	if len(orders) > 0 && w.dies(beforeReport, name, kill) {
		return errKilled
	}
	return nil
}

func (w *world) noteError(err error) {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.failures = append(w.failures, err)
}

// failed reports whether Schedule failed so since the last question.
func (w *world) failed(as ...error) bool {
	w.lock.Lock()
	defer w.lock.Unlock()
	defer func() { w.failures = nil }()
	return slices.ContainsFunc(w.failures, func(err error) bool {
		return slices.ContainsFunc(as, func(kind error) bool { return errors.Is(err, kind) })
	})
}

func (w *world) count() int {
	w.lock.Lock()
	defer w.lock.Unlock()
	return len(w.carried)
}

// dies reports whether the leader dies here.
func (w *world) dies(here stage, name string, kill func()) bool {
	w.lock.Lock()
	defer w.lock.Unlock()
	if w.at != here {
		return false
	}
	w.at = never
	kill()
	w.killed <- name
	return true
}

// asleep is a leader that does nothing between its pass and the sending of the orders.
func (w *world) asleep(name string) {
	w.lock.Lock()
	sleeps := w.sleeper == name
	if sleeps {
		w.sleeper = ""
	}
	w.lock.Unlock()
	if sleeps {
		close(w.slept)
		<-w.awake
	}
}

// events are those to be told now: all of them again, until they are durable.
func (w *world) events() []berth.Event {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.turns++
	var list []berth.Event
	if w.turns == 1 || len(w.acknowledged) == 0 {
		for n := range 4 {
			list = append(list, berth.NodeJoined{Node: berth.Node{
				ID: berth.NodeID(fmt.Sprintf("n%d", n)), Domains: []string{"leaf1"},
				GPUs: slices.Repeat([]berth.GPU{{Product: "H100-80GB"}}, 8),
			}})
		}
		list = append(list, berth.QueueSet{Queue: quota.Queue{Name: "q"}})
	}
	for _, report := range w.reports {
		list = append(list, report)
	}
	for id, life := range w.ended {
		list = append(list, berth.JobFinished{Job: id, Incarnation: life})
	}
	for id, r := range w.runs {
		if w.turns > r.since+3 {
			w.end(id, r)
			list = append(list, berth.JobFinished{Job: id, Incarnation: r.bind.Incarnation})
		}
	}
	if w.submitted < w.wanted {
		w.submitted++
	}
	for w.acknowledged[jobID(w.settled)] {
		w.settled++
	}
	for n := w.settled; n < w.submitted; n++ {
		if id := jobID(n); !w.acknowledged[id] {
			list = append(list, berth.JobSubmitted{Job: berth.Job{
				ID: id, Queue: "q", Groups: []berth.Group{{Members: 1 + n%3, Claim: berth.WholeGPUs(1 << (n % 3))}},
			}})
		}
	}
	return list
}

func jobID(n int) berth.JobID { return berth.JobID(fmt.Sprintf("job%d", n)) }

// end has the members of a job end by themselves.
func (w *world) end(id berth.JobID, r *run) {
	for i := range r.bind.Members {
		w.free(&r.bind.Members[i])
	}
	delete(w.runs, id)
	w.ended[id] = r.bind.Incarnation
}

func (w *world) free(m *berth.MemberPlacement) {
	for _, gpu := range m.GPUs.Indexes() {
		delete(w.holds, fmt.Sprintf("%s/%d", m.Node, gpu))
	}
}

// durable notes that what was told cannot be lost any more.
func (w *world) durable(told []berth.Event) {
	w.lock.Lock()
	defer w.lock.Unlock()
	for _, e := range told {
		switch e := e.(type) {
		case berth.JobSubmitted:
			w.acknowledged[e.Job.ID] = true
		case berth.JobFinished:
			delete(w.ended, e.Job)
		case berth.OrderReported:
			w.reports = slices.DeleteFunc(w.reports, func(r berth.OrderReported) bool { return r.Order == e.Order })
		}
	}
}

// carryOut does an order, of a leader of a term.
func (w *world) carryOut(order berth.Order, term int64) {
	w.lock.Lock()
	defer w.lock.Unlock()
	if term < w.term {
		w.refused++
		return
	}
	w.term = term
	h := order.Header()
	text, err := berth.EncodeOrder(order)
	if err != nil {
		w.Error(err)
	}
	was, again := w.carried[h.ID]
	if again && was != string(text) {
		w.Errorf("order %d was %s, and is %s", h.ID, was, text)
	}
	w.carried[h.ID] = string(text)
	bind, ok := order.(berth.Bind)
	if !ok {
		w.Errorf("nothing here asks for a %s", order.Kind())
		return
	}
	report := berth.OrderReported{Order: h.ID, Outcome: berth.OutcomeDone}
	if again {
		if !slices.ContainsFunc(w.reports, func(r berth.OrderReported) bool { return r.Order == h.ID }) {
			w.reports = append(w.reports, report)
		}
		return
	}
	w.reports = append(w.reports, report)
	if _, doubled := w.runs[h.Job]; doubled {
		w.Errorf("job %s runs twice", h.Job)
	}
	w.runs[h.Job] = &run{bind, w.turns}
	for _, m := range bind.Members {
		for _, gpu := range m.GPUs.Indexes() {
			at := fmt.Sprintf("%s/%d", m.Node, gpu)
			if by, taken := w.holds[at]; taken {
				w.Errorf("%s is held by %v", at, by)
			}
			w.holds[at] = m.Ref()
		}
	}
}

// atRest reports whether all jobs were submitted and have ended, and the core knows it.
func (w *world) atRest() bool {
	w.lock.Lock()
	defer w.lock.Unlock()
	return w.submitted >= w.wanted && len(w.acknowledged) == w.submitted && len(w.runs) == 0 &&
		len(w.ended) == 0 && len(w.reports) == 0 && len(w.carried) >= w.wanted
}

// want has so many more jobs submitted.
func (w *world) want(jobs int) {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.wanted += jobs
}

// An auditor reads the log as it grows, and comes to the orders by a core of its own, and has the
// independent checker look at all of it.
type auditor struct {
	*testing.T
	source  *etcd.Source
	core    *core.Core
	checker *check.Checker
	number  uint64
	orders  map[berth.OrderID]string
	passes  int
}

func newAuditor(t *testing.T, source *etcd.Source) *auditor {
	t.Helper()
	c, err := core.New(config)
	require.NoError(t, err)
	return &auditor{T: t, source: source, core: c, checker: check.New(config), orders: map[berth.OrderID]string{}}
}

// catchUp looks at the records that came.
func (a *auditor) catchUp() {
	a.Helper()
	for record, err := range a.source.Records(a.Context(), a.number) {
		require.NoError(a, err)
		a.number++
		var line struct {
			Number uint64
			Now    berth.Time
			Event  json.RawMessage
			Pass   bool
			Orders int
		}
		require.NoError(a, json.Unmarshal(record, &line))
		require.Equal(a, a.number, line.Number)
		switch {
		case line.Event != nil:
			event, err := berth.DecodeEvent(line.Event)
			require.NoError(a, err)
			require.NoError(a, a.core.Apply(line.Now, event))
			require.NoError(a, a.checker.Applied(line.Now, event))
		case line.Pass:
			orders, err := a.core.Schedule(line.Now)
			require.NoError(a, err)
			require.Len(a, orders, line.Orders)
			require.NoError(a, a.checker.Scheduled(line.Now, orders))
			a.passes++
			for _, order := range orders {
				text, err := berth.EncodeOrder(order)
				require.NoError(a, err)
				a.orders[order.Header().ID] = string(text)
			}
		}
	}
}

// against requires that what agents were ordered is what the log has, and that nothing is lost.
func (a *auditor) against(w *world) {
	a.Helper()
	a.catchUp()
	w.lock.Lock()
	defer w.lock.Unlock()
	for id, text := range w.carried {
		require.Equal(a, a.orders[id], text, "an order that is in no log was let out")
	}
	require.Len(a, w.acknowledged, w.submitted)
	require.Len(a, w.carried, w.wanted, "each job was started once")
	require.NoError(a, a.checker.AgainstReport(a.core.Report()))
	require.NoError(a, a.checker.Quiescent(a.core.Now()))
	require.NoError(a, a.core.Check())
}
