package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
)

// A Durable is a core that has each step in a [Store] before anything follows from it. It is duty 7
// of an embedder, and with it the loop of an orchestrator is:
//
//	store, err := boltstore.Open(file)
//	...
//	d, err := journal.Open(ctx, store, journal.Options{Config: config, Lost: cleanUp})
//	...
//	tell(d.Apply, whatRuns()) // what is found of programs that went on, or ended
//	for {
//		orders, err := d.Schedule(ctx)
//		if err != nil {
//			return err // nothing that is not durable was let out
//		}
//		acknowledge() // what was applied before is durable
//		carryOut(orders)
//		var due <-chan time.Time
//		if wait, ok := d.Wait(); ok {
//			due = time.After(wait)
//		}
//		select {
//		case event := <-events:
//			if err := d.Apply(event); err != nil {
//				log.Print(err) // refused; the core is as it was
//			}
//		case <-due:
//		}
//	}
//
// Whatever instant the process dies at, the next one goes on: an event that was acknowledged is not
// lost, and an order that may have been carried out is given again, the same, until it is reported.
//
// A Durable starts no goroutine, and its methods are called from one at a time, as those of a core.
type Durable struct {
	replica *Replica
	store   Store
	options Options
	clock   *instants

	// durable is the head of the store, and records are those behind it, of so many bytes.
	durable Position
	records [][]byte
	waiting int
	// told: an event since the last pass. First: there was no pass yet.
	told, first bool
	// held are the orders of a pass that is not durable yet, and passed says that there is one.
	held   []berth.Order
	passed bool
	// full: there was no room. Tried is the head of the store at which a snapshot was to make some.
	full  bool
	tried Position
	// failed is why it is of no more use.
	failed error
}

// Options are what a Durable goes by. Zero fields mean their defaults.
type Options struct {
	// Config is that of the core at the first start. Afterwards the log has it, and Open refuses
	// another one, as [Restore] does. Its Gain and Scorer are given at each start.
	Config berth.Config
	// Clock is where instants come from; default [MachineClock].
	Clock Clock
	// Lost is called with what hardware took, once the events that say so are durable, and
	// before the pass that forgets it is. It forgets and stops what is left of the members (see
	// [berth.Loss]), and can be called again with the same after a restart. An error of it is
	// returned by Schedule, which can be called again. Nil: losses are somebody else's, as
	// where the embedder looks at Core().Lost() before each Schedule.
	Lost func([]berth.Loss) error
	// SnapshotRecords and SnapshotBytes are after how many records, or bytes of them, a snapshot
	// is saved; defaults 20,000 and 64 MiB. What a restart costs grows with the records, and
	// what a snapshot costs with the state. SnapshotBytes is also how much waits in memory for a
	// log without room.
	SnapshotRecords, SnapshotBytes int
}

// Open makes a Durable of what a store holds: it reads the newest snapshot and the records after
// it. An empty store gets a new core, and its snapshot. Errors are those of the store, of
// [Restore] and of [Replica.Follow]. The store remains the caller's to close.
func Open(ctx context.Context, store Store, options Options) (*Durable, error) {
	saved, err := store.Newest(ctx)
	if err != nil {
		return nil, err
	}
	var r *Replica
	if len(saved.Data) == 0 {
		r, err = begin(ctx, store, options.Config)
	} else {
		r, err = Restore(saved, options.Config)
	}
	if err != nil {
		return nil, err
	}
	return r.Lead(ctx, store, options)
}

// begin begins a log with the snapshot of a new core.
func begin(ctx context.Context, store Store, config berth.Config) (*Replica, error) {
	sched, err := core.New(config)
	if err != nil {
		return nil, err
	}
	r := &Replica{core: sched}
	if r.at.Sum, err = r.State(); err != nil {
		return nil, err
	}
	s, err := r.Snapshot()
	if err != nil {
		return nil, err
	}
	return r, store.Save(ctx, s)
}

// Lead has a Replica write: it catches up with the log and goes on from there. The Replica belongs
// to the Durable from then on. Where another writer owns the log, or writes, the first append is
// [ErrFenced].
func (r *Replica) Lead(ctx context.Context, store Store, options Options) (*Durable, error) {
	if err := r.CatchUp(ctx, store); err != nil {
		return nil, err
	}
	if options.Clock == nil {
		options.Clock = MachineClock()
	}
	if options.SnapshotRecords == 0 {
		options.SnapshotRecords = 20_000
	}
	if options.SnapshotBytes == 0 {
		options.SnapshotBytes = 64 << 20
	}
	return &Durable{
		replica: r, store: store, options: options, durable: r.at, first: true,
		clock: newInstants(options.Clock, r.core.Now()),
	}, nil
}

// Pretended is a Durable as a [berth.Scheduler] in pretended time, to be driven by a simulation:
// the clock of its Options, a ManualClock, is moved to the instant of each call. Where nothing is
// due Schedule has no pass, and returns no orders. Questions are answered by the core. A new
// Durable of the same store and clock takes its place as after a crash.
func (d *Durable) Pretended(clock *ManualClock) berth.Scheduler {
	return pretended{d.replica.core, d, clock}
}

type pretended struct {
	*core.Core
	durable *Durable
	clock   *ManualClock
}

func (p pretended) Apply(now berth.Time, e berth.Event) error {
	p.clock.MoveTo(now)
	return p.durable.Apply(e)
}

func (p pretended) Schedule(now berth.Time) ([]berth.Order, error) {
	p.clock.MoveTo(now)
	return p.durable.Schedule(context.Background())
}

// Core is the core, for questions. What it is told past the Durable stands in no log, and the next
// start refuses the log.
func (d *Durable) Core() *core.Core { return d.replica.core }

// Position is the end of the log as it is when all that was applied is durable.
func (d *Durable) Position() Position { return d.replica.at }

// Now is the instant for what is told now. It never goes back, and does not trust a wall clock that
// jumps: see [MaxJump].
func (d *Durable) Now() berth.Time { return max(d.clock.now(), d.replica.core.Now()) }

// Apply tells the core an event, now. The event is durable when the next Schedule has returned
// without an error, and is acknowledged then, not earlier.
//
// After a refusal of the core nothing has changed. Nor has it after [ErrFull]: the log has no room,
// and events of Options.SnapshotBytes wait for it; the event is told again when Schedule has found
// room. Any other error is the one after which the Durable is of no more use.
func (d *Durable) Apply(e berth.Event) error {
	switch {
	case d.failed != nil:
		return d.failed
	case d.full && d.waiting >= d.options.SnapshotBytes:
		return fmt.Errorf("%w: %d bytes wait for it", ErrFull, d.waiting)
	}
	now := d.Now()
	d.failed = errPanicked
	err := d.replica.core.Apply(now, e)
	d.failed = nil
	if err != nil {
		return err
	}
	d.replica.submittedAgain(e)
	body, err := eventBody(nil, now, e)
	if err != nil {
		return d.fail(err)
	}
	d.told = true
	d.note(body)
	return nil
}

// note puts a record behind the others.
func (d *Durable) note(body []byte) {
	r := d.replica
	record, at := r.at.appendLine(nil, body)
	d.records = append(d.records, record)
	d.waiting += len(record)
	r.at = at
	r.records++
	r.bytes += len(record)
}

// commit makes durable what was noted.
func (d *Durable) commit(ctx context.Context) error {
	if len(d.records) == 0 {
		d.full = false
		return nil
	}
	batch := Batch{After: d.durable, Head: d.replica.at, Records: d.records}
	err := d.store.Append(ctx, batch)
	if errors.Is(err, ErrFull) {
		switch some, failed := d.makeRoom(ctx); {
		case failed != nil:
			return d.fail(failed)
		case some:
			err = d.store.Append(ctx, batch)
		}
	}
	if d.full = errors.Is(err, ErrFull); d.full {
		return err
	}
	if err != nil {
		return d.fail(err)
	}
	d.durable, d.records, d.waiting = d.replica.at, nil, 0
	return nil
}

// makeRoom has the store drop its records by a snapshot of where it ends, and reports whether that
// is done. The core has gone on since, so another one is brought there by the log: what that costs
// is borne once for each head of the store. Orders of passes that are durable are handed on by now;
// those that a former process was given, and no report ends, may not be, and stand in the records
// alone.
func (d *Durable) makeRoom(ctx context.Context) (bool, error) {
	if d.tried == d.durable || d.first && len(d.replica.repeat) > 0 {
		return false, nil
	}
	d.tried = d.durable
	newest, err := d.store.Newest(ctx)
	if err != nil || newest.At == d.durable {
		return false, err
	}
	r, err := Restore(newest, d.replica.core.Config())
	if err == nil {
		err = r.CatchUp(ctx, d.store)
	}
	if err != nil {
		return false, err
	}
	s, err := r.Snapshot()
	if err == nil {
		err = d.store.Save(ctx, s)
	}
	if errors.Is(err, ErrFull) {
		return false, nil
	}
	if err == nil {
		d.replica.records, d.replica.bytes = len(d.records), d.waiting
	}
	return err == nil, err
}

// commitWhatHadNoRoom comes before anything is added to it.
func (d *Durable) commitWhatHadNoRoom(ctx context.Context) error {
	if !d.full {
		return nil
	}
	return d.commit(ctx)
}

// errPanicked: see [berth.BrokenInvariant]. It stands while the core is at work.
var errPanicked = errors.New("journal: the core has panicked, and is half done: open the store again, and load")

// fail is the end of it.
func (d *Durable) fail(err error) error {
	d.failed = err
	return err
}

// Schedule makes durable what was applied, with a pass, and returns the orders of the pass. They
// are let out only when all of it is durable. Where nothing was applied and nothing is due there is
// no pass, and nothing is written.
//
// The first call also gives again what a former process was given: all orders that are outstanding,
// in the order of their IDs with those of the pass, and each Drop, Withdraw and WarnIdle since the
// last snapshot, as nobody knows whether they were handed on; not the Drop of a job that was
// submitted again since, nor its warning. What was applied until then, such as reports of programs
// that have ended meanwhile, comes before: orders that it ends are not given again.
//
// Orders count as handed on when Schedule is called again. A snapshot is saved then, if one is due;
// one for which there is no room is put off.
//
// Where there is no room for the log, a snapshot of where it ends is saved, so that the store can
// drop the records before: that takes as long as a start, and once for each end that the log has.
// After [ErrFull] there is none all the same. The Durable is as it was, and the next call tries
// again: nothing that waits is lost, and no order is let out meanwhile. After any other error of
// the store the Durable is of no more use, and each call returns the same; open another store, and
// load.
func (d *Durable) Schedule(ctx context.Context) ([]berth.Order, error) {
	if d.failed != nil {
		return nil, d.failed
	}
	if d.passed { // and there was no room for it
		return d.letOut(ctx)
	}
	if err := d.commitWhatHadNoRoom(ctx); err != nil {
		return nil, err
	}
	if err := d.snapshotIfDue(ctx); err != nil {
		return nil, err
	}
	if !d.due() {
		return nil, nil
	}
	if err := d.handOverLost(ctx); err != nil {
		return nil, err
	}
	now := d.Now()
	d.failed = errPanicked
	orders, err := d.replica.core.Schedule(now)
	d.failed = nil
	if err != nil {
		return nil, d.fail(err)
	}
	digest, err := digestOf(orders)
	if err != nil {
		return nil, d.fail(err)
	}
	d.note(passBody(nil, now, len(orders), digest))
	d.held, d.passed, d.told = orders, true, false
	return d.letOut(ctx)
}

// due reports whether a pass has something to do.
func (d *Durable) due() bool {
	wake, ok := d.replica.core.NextWake()
	return d.told || d.first || ok && wake <= d.Now()
}

// handOverLost hands over what hardware took, when the events that say so are durable.
func (d *Durable) handOverLost(ctx context.Context) error {
	lost := d.replica.core.Lost()
	if len(lost) == 0 || d.options.Lost == nil {
		return nil
	}
	if err := d.commit(ctx); err != nil {
		return err
	}
	return d.options.Lost(lost)
}

// letOut returns the orders that are held, when they are durable.
func (d *Durable) letOut(ctx context.Context) ([]berth.Order, error) {
	if err := d.commit(ctx); err != nil {
		return nil, err
	}
	orders := d.held
	if d.first {
		orders = d.again(orders)
	}
	d.held, d.passed, d.first = nil, false, false
	return orders, nil
}

// again adds to the orders of the first pass those that a former process was given.
func (d *Durable) again(orders []berth.Order) []berth.Order {
	r := d.replica
	orders = append(append(orders, r.repeat...), r.core.Outstanding()...)
	r.repeat = nil
	byID := func(a, b berth.Order) int { return cmp.Compare(a.Header().ID, b.Header().ID) }
	slices.SortStableFunc(orders, byID)
	return slices.CompactFunc(orders, func(a, b berth.Order) bool { return byID(a, b) == 0 })
}

// Wait is how long to wait for an event until Schedule is called all the same: until the instant
// that the core names, and a minute at most, since a machine that was suspended meanwhile wakes at
// another time; a second where there was no room. It reports false if only an event can make a
// difference.
func (d *Durable) Wait() (time.Duration, bool) {
	switch {
	case d.full:
		return time.Second, true
	case d.told || d.first || d.passed || d.failed != nil:
		return 0, true
	}
	wake, ok := d.replica.core.NextWake()
	return min(max(0, wake.Sub(d.Now()).Std()), time.Minute), ok
}

func (d *Durable) snapshotIfDue(ctx context.Context) error {
	if r := d.replica; d.first || r.records < d.options.SnapshotRecords && r.bytes < d.options.SnapshotBytes {
		return nil
	}
	err := d.Snapshot(ctx)
	if errors.Is(err, ErrFull) && len(d.records) == 0 { // the log has room still
		d.full, d.replica.records, d.replica.bytes = false, 0, 0
		return nil
	}
	return err
}

// errEarly: what a former process was given, or a pass, is not let out.
var errEarly = errors.New("journal: a snapshot comes after the orders that Schedule has to return first")

// Snapshot saves a snapshot now, as before an upgrade: the next start reads it alone, and need not
// come to the orders that the release came to that wrote the records. The orders of the last
// Schedule have to be handed on; before the first one, and while one has no room, it is an error.
// What was applied since is made durable first. After
// [ErrFull] it can be called again, as Schedule. Cost: O(state).
func (d *Durable) Snapshot(ctx context.Context) error {
	switch {
	case d.failed != nil:
		return d.failed
	case d.first || d.passed:
		return errEarly
	}
	if err := d.commitWhatHadNoRoom(ctx); err != nil {
		return err
	}
	r := d.replica
	state, err := r.core.Snapshot()
	if err != nil {
		return d.fail(err)
	}
	d.note(stateBody(nil, sumOf(0, state)))
	if err := d.commit(ctx); err != nil {
		return err
	}
	s, err := snapshotOf(r.at, state)
	if err != nil {
		return d.fail(err)
	}
	err = d.store.Save(ctx, s)
	if d.full = errors.Is(err, ErrFull); d.full {
		return err
	}
	if err != nil {
		return d.fail(err)
	}
	r.records, r.bytes = 0, 0
	return nil
}
