package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/examples/livenode/internal/own"
	"github.com/berth-sched/berth/journal"
	"github.com/berth-sched/berth/journal/boltstore"
	"github.com/berth-sched/berth/nvmlsrc"
)

// An orchestrator is the loop around the scheduling core, with one machine as its fleet.
//
// Everything in it belongs to the goroutine of run. Any other goroutine with something to
// say (a client, a program that ended, a timer, the driver) posts a function, which that
// goroutine calls. So there is no lock, and the core is told things one after another, as
// it wants.
//
// One round of the loop is: call what was posted, run a pass, put both on disk, answer
// the clients, and carry out the orders. The sequence of these is duty 7 of an embedder:
// nothing happens in the world, and nobody is told that something is accepted,
// before it is on disk. A journal.Durable sees to it, with a file as its store.
type orchestrator struct {
	durable *journal.Durable
	core    *core.Core // of durable, for questions
	store   *boltstore.Store
	records *records
	machine *machine
	folder  string
	log     io.Writer

	// What was learnt of the machine last: what it has, what was measured, why GPUs are
	// out of service, what is suspicious, and the jobs that stand for processes of others.
	inventory nvmlsrc.Inventory
	health    []nvmlsrc.Health
	failures  map[int]string
	findings  []string
	others    []berth.JobID

	inbox chan func()
	// ending is done when nothing that is posted is called any more. What goes on in the
	// background ends then, and is waited for.
	ending     context.Context
	end        context.CancelFunc
	background sync.WaitGroup

	// lives are the jobs that have a program, lost those with programs that should be gone and
	// are not yet, and former the process groups of late.
	lives  map[berth.JobID]*life
	lost   []*life
	former []int
	// waiting are Binds that cannot be carried out yet. Dividing are the orders about GPUs
	// that are under way, and divisions counts these.
	waiting   []berth.Bind
	dividing  map[berth.OrderID]bool
	divisions int

	// changed: the core was told something since the last pass.
	changed bool
	// answers are to be called when what was told is on disk.
	answers []func()
	// decisions are the latest, the oldest first.
	decisions []Decision
	// tookUp: the first pass is done.
	tookUp bool
	// failed is why nothing may be done any more.
	failed error
}

// A Decision is something that the core ordered, or that the world told it.
type Decision struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

// keptDecisions is how many decisions are kept for people to look at. The journal has all.
const keptDecisions = 200

// newOrchestrator opens the folder of a machine and finds what runs there. A clock that is nil is
// the machine's.
func newOrchestrator(folder string, m *machine, policy berth.Policy, clock journal.Clock, log io.Writer) (*orchestrator, error) {
	if err := own.MakeFolder(folder); err != nil {
		return nil, err
	}
	s, err := boltstore.Open(logFile(folder))
	if err != nil {
		return nil, err
	}
	d, err := journal.Open(context.Background(), s, journal.Options{
		Config: berth.Config{Policy: policy, Ledger: true}, Clock: clock,
	})
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	o := &orchestrator{
		durable: d, core: d.Core(), store: s, machine: m, folder: folder, log: log,
		inbox: make(chan func(), 64),
		lives: map[berth.JobID]*life{}, dividing: map[berth.OrderID]bool{},
		failures: map[int]string{}, changed: true,
	}
	o.ending, o.end = context.WithCancel(context.Background())
	if o.records, err = readRecords(filepath.Join(folder, "jobs")); err == nil {
		err = o.takeUp(policy)
	}
	if err != nil {
		o.close()
		return nil, errors.Join(err, s.Close())
	}
	return o, nil
}

// logFile is the log of the core in a state folder.
func logFile(folder string) string { return filepath.Join(folder, "core.db") }

// close ends what goes on in the background.
func (o *orchestrator) close() {
	o.end()
	o.background.Wait()
}

// run is the loop. It returns when the context is done, and leaves what runs running; or
// with an error, if what is decided cannot be kept.
func (o *orchestrator) run(ctx context.Context) error {
	defer o.close()
	for {
		if err := o.pass(); err != nil {
			return errors.Join(err, o.store.Close())
		}
		timer := o.untilDue()
		select {
		case <-ctx.Done():
			return errors.Join(o.lastSnapshot(), o.store.Close())
		case f := <-o.inbox:
			f()
			o.drain()
		case <-timer:
			o.changed = true // the time has
		}
	}
}

// lastSnapshot has the next start begin with a snapshot, so that another release may decide
// otherwise. Where there is no room for one, the log does.
func (o *orchestrator) lastSnapshot() error {
	if err := o.durable.Snapshot(context.Background()); !errors.Is(err, journal.ErrFull) {
		return err
	}
	return nil
}

// drain calls what else was posted, so that one pass does for all of it.
func (o *orchestrator) drain() {
	for range cap(o.inbox) {
		select {
		case f := <-o.inbox:
			f()
		default:
			return
		}
	}
}

// untilDue is when the core has something to do even if nobody tells it anything.
func (o *orchestrator) untilDue() <-chan time.Time {
	wait, ok := o.durable.Wait()
	if !ok {
		return nil
	}
	return time.After(wait)
}

// now is the time that the core is told, which does not follow a clock that jumps.
func (o *orchestrator) now() berth.Time { return o.durable.Now() }

// pass runs a pass, if something changed, and carries out its orders.
func (o *orchestrator) pass() error {
	for o.changed && o.failed == nil {
		o.changed = false
		orders, err := o.durable.Schedule(context.Background())
		if err != nil {
			return fmt.Errorf("no order is carried out that the log does not have: %w", err)
		}
		for _, answer := range o.answers {
			answer()
		}
		o.answers = nil
		o.killLost()
		o.carryOut(orders)
		if !o.tookUp {
			o.tookUp = true
			o.endUnknown()
		}
		o.resign()
	}
	return o.failed
}

// tell tells the core an event. One that comes too late to matter is no error.
func (o *orchestrator) tell(event berth.Event) error {
	err := o.durable.Apply(event)
	switch {
	case err == nil:
		o.changed = true
	case errors.Is(err, berth.ErrStale):
		return nil
	}
	return err
}

// must tells the core an event about which there is no doubt. A refusal says that livenode
// and the core disagree about the world; that is worth a line, and no reason to stop.
func (o *orchestrator) must(event berth.Event) {
	if err := o.tell(event); err != nil {
		o.note("refused: %v", err)
	}
}

// report tells how an order ended.
func (o *orchestrator) report(order berth.OrderID, outcome berth.Outcome, reason string) {
	o.must(berth.OrderReported{Order: order, Outcome: outcome, Reason: reason})
}

// fail ends the loop: what has to be kept cannot be kept.
func (o *orchestrator) fail(err error) {
	if err != nil && o.failed == nil {
		o.failed, o.changed = err, true
	}
}

// note writes a line about something that happened.
func (o *orchestrator) note(format string, of ...any) {
	d := Decision{At: time.Now(), Text: fmt.Sprintf(format, of...)}
	o.decisions = append(o.decisions[max(0, len(o.decisions)-keptDecisions+1):], d)
	fmt.Fprintf(o.log, "%s %s\n", d.At.Format("15:04:05.000"), d.Text)
}

// post has the loop call a function, unless it has ended.
func (o *orchestrator) post(f func()) {
	select {
	case o.inbox <- f:
	case <-o.ending.Done():
	}
}

// errEnding: the loop has ended.
var errEnding = errors.New("livenode is ending")

// ask has the loop call a function, and returns when what it told the core is on disk.
func (o *orchestrator) ask(ctx context.Context, f func() error) error {
	answer := make(chan error, 1)
	o.post(func() {
		if err := f(); err != nil || !o.changed {
			answer <- err
			return
		}
		o.answers = append(o.answers, func() { answer <- nil })
	})
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-o.ending.Done():
		return errEnding
	}
}

// carryOut carries out orders.
func (o *orchestrator) carryOut(orders []berth.Order) {
	for _, order := range orders {
		o.note("%s", describe(order))
		switch a := order.(type) {
		case berth.Bind:
			o.bind(a)
		case berth.Release:
			o.release(a)
		case berth.RequestCheckpoint:
			o.requestCheckpoint(a)
		case berth.Withdraw:
			o.withdraw(a)
		case berth.Repartition:
			o.repartition(a)
		case berth.Drop:
			o.drop(a)
		}
	}
}
