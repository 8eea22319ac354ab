package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/errtext"
)

// A Replica is a core that stands where a log stands: it is made of a snapshot, and follows the
// records after it one by one. It takes no events of its own and gives no orders; [Replica.Lead]
// makes of it what does. So a standby follows for days, and a process that starts for a moment.
//
// A record is refused with an [*Error] that has its number. The kind is [ErrDamaged], where it does
// not follow on the one before or is not as it was written; [ErrMalformed], where it is no record;
// [ErrRefused], where the core refuses the event; [ErrOrdersDiffer] and [ErrStateDiffers], where
// the core does not come to what the writer of the log came to, as one of another release may.
// The Replica then stands somewhere in the middle, and is of no use.
type Replica struct {
	core *core.Core
	at   Position
	in   Reader // what a record is decoded with
	// repeat has what no report ends, Drops, Withdraws and warnings, of passes since the last State
	// record.
	repeat []berth.Order
	// records, and their bytes, since the snapshot.
	records, bytes int
}

// Position is where the Replica stands.
func (r *Replica) Position() Position { return r.at }

// Core is the core as it stands there. It is for questions: an event or a pass that it is told
// stands in no log.
func (r *Replica) Core() *core.Core { return r.core }

// Follow does what a record says, which is not kept. Cost: that of the event, or the pass.
func (r *Replica) Follow(record []byte) error {
	r.in.at, r.in.record = r.at, r.at.Number+1
	r.in.buffer = append(r.in.buffer[:0], record...) // a store's bytes are for reading
	e, err := r.in.readLine(r.in.buffer)
	if err != nil {
		return err
	}
	switch {
	case e.Event != nil:
		if err = r.core.Apply(e.Now, e.Event); err == nil {
			r.submittedAgain(e.Event)
		}
	case e.Pass:
		err = r.pass(&e)
	case e.State != nil:
		err = r.compare(*e.State)
	default:
		err = r.in.malformed("order", "is in files alone", nil)
	}
	if err != nil {
		return r.refuse(err)
	}
	r.at = e.Position
	r.records++
	r.bytes += len(record)
	return nil
}

// submittedAgain forgets that the former job of a name was dropped, or warned: its owner has
// another one now.
func (r *Replica) submittedAgain(e berth.Event) {
	var id berth.JobID
	switch e := e.(type) {
	case berth.JobSubmitted:
		id = e.Job.ID
	case berth.JobObserved:
		id = e.Job.ID
	default:
		return
	}
	r.repeat = slices.DeleteFunc(r.repeat, func(order berth.Order) bool {
		_, withdraw := order.(berth.Withdraw)
		return !withdraw && order.Header().Job == id
	})
}

// refuse is the error about the record that is next.
func (r *Replica) refuse(err error) error {
	if own, ok := err.(*Error); ok {
		own.Record = r.at.Number + 1
		return own
	}
	e := &Error{Record: r.at.Number + 1, Kind: ErrRefused, Reason: "the core refuses what it accepted", Err: err}
	return e.explain(err)
}

// pass runs the pass of a record, and compares the orders.
func (r *Replica) pass(e *Entry) error {
	orders, err := r.core.Schedule(e.Now)
	if err != nil {
		return err
	}
	digest, err := digestOf(orders)
	if err != nil {
		return err
	}
	if len(orders) != e.Orders || digest != e.Digest {
		return &Error{
			Kind: ErrOrdersDiffer, Field: "digest",
			Reason: fmt.Sprintf("the core gives %d orders with sum %v, and gave %d with %v", len(orders), digest, e.Orders, e.Digest),
		}
	}
	for _, order := range orders {
		switch order.(type) {
		case berth.Drop, berth.Withdraw, berth.WarnIdle:
			r.repeat = append(r.repeat, order)
		}
	}
	return nil
}

// compare holds the state against that of a record.
func (r *Replica) compare(was Sum) error {
	is, err := r.State()
	if err != nil {
		return err
	}
	if is != was {
		return &Error{Kind: ErrStateDiffers, Field: "state", Reason: fmt.Sprintf("the state has sum %v, and had %v", is, was)}
	}
	r.repeat = nil
	// A snapshot is saved with it, or was to be: where the writer died in between, or had no room,
	// the next one is due an interval later, as for a writer that had no room and goes on. So the
	// log is longer by an interval for each snapshot that failed. To try at once instead would have
	// each writer that such a snapshot kills do nothing else before it dies.
	r.records, r.bytes = 0, 0
	return nil
}

// CatchUp follows records from where the Replica stands to where the log ends, or further if it
// grows meanwhile. An error of the source is returned as it is; [ErrCompacted] asks for another
// Replica, of the newest snapshot. A log that ends before its head is ErrDamaged.
func (r *Replica) CatchUp(ctx context.Context, from Source) error {
	head, err := from.Head(ctx)
	if err != nil {
		return err
	}
	behind := r.at == head // what follows behind the head has the sum of the head in its own
	for record, err := range from.Records(ctx, r.at.Number) {
		if err != nil {
			return err
		}
		if err := r.Follow(record); err != nil {
			return err
		}
		behind = behind || r.at == head
	}
	if r.at != head && !behind {
		bad := damaged("", fmt.Sprintf("the log ends at %v, and its head is at %v", r.at, head))
		bad.Record = r.at.Number + 1
		return bad
	}
	return nil
}

// State is the sum of the state. Replicas at equal positions have equal ones, and State records
// hold them to that. Cost: O(state).
func (r *Replica) State() (Sum, error) {
	state, err := r.core.Snapshot()
	return sumOf(0, state), err
}

// A snapshot begins with a line of its own:
//
//	{"log":2,"at":{"number":7,"sum":"0c8a5d1b9e60f2a4"},"state":"5d1b9e60f2a40c8a"}
//
// and then has what the core's Snapshot gives.
type snapshotHead struct {
	Version int      `json:"log"`
	At      Position `json:"at"`
	State   Sum      `json:"state"`
}

// Snapshot is what a [Store] saves and [Restore] reads: the position, and the state there. Equal
// positions and states give equal bytes. Cost: O(state).
func (r *Replica) Snapshot() (Snapshot, error) {
	state, err := r.core.Snapshot()
	if err != nil {
		return Snapshot{}, err
	}
	return snapshotOf(r.at, state)
}

func snapshotOf(at Position, state []byte) (Snapshot, error) {
	head, err := json.Marshal(snapshotHead{Version: version, At: at, State: sumOf(0, state)})
	return Snapshot{At: at, Data: append(append(head, '\n'), state...)}, err
}

// Restore makes a Replica of a snapshot. Config is what a core would be made with. Its Gain and
// Scorer are in no snapshot and are taken from here; all else but the Policy has to be equal: the
// policy is that of the log, which [berth.PolicyChanged] changes. The error is an [*Error] of the
// kind [ErrConfigDiffers], [ErrVersion], [ErrDamaged] or [ErrRefused]. Cost: O(state).
func Restore(s Snapshot, config berth.Config) (*Replica, error) {
	var head snapshotHead
	line, state, _ := bytes.Cut(s.Data, []byte{'\n'})
	switch err := json.Unmarshal(line, &head); {
	case err != nil:
		return nil, &Error{Field: "snapshot", Kind: ErrDamaged, Reason: "does not begin with its position", Err: err}
	case head.Version != version:
		return nil, &Error{Field: "snapshot.log", Kind: ErrVersion, Reason: fmt.Sprintf("is %d, not %d", head.Version, version)}
	case head.At != s.At:
		return nil, &Error{Field: "snapshot.at", Kind: ErrDamaged, Reason: fmt.Sprintf("is %v, and it was saved as that of %v", head.At, s.At)}
	case head.State != sumOf(0, state):
		return nil, &Error{Field: "snapshot.state", Kind: ErrDamaged, Reason: "is not as it was written"}
	}
	sched, err := core.Restore(state, core.WithGain(config.Gain), core.WithScorer(config.Scorer))
	if err != nil {
		return nil, refusedSnapshot(err)
	}
	if err := sameConfig(config, sched.Config()); err != nil {
		return nil, err
	}
	return &Replica{core: sched, at: s.At}, nil
}

// refusedSnapshot is what the core says of a snapshot that is as it was written.
func refusedSnapshot(err error) error {
	e := &Error{Kind: ErrRefused, Err: err}
	e.explain(err)
	switch e.Field {
	case "version":
		e.Kind = ErrVersion
	case "scorer", "ownGain":
		e.Kind = ErrConfigDiffers
	}
	e.Field = errtext.Path("snapshot", e.Field)
	return e
}

// sameConfig compares what of a configuration cannot change.
func sameConfig(want, have berth.Config) error {
	want.Limits = want.Limits.WithDefaults()
	for _, field := range []struct {
		name       string
		want, have any
	}{
		{"levels", want.Levels, have.Levels},
		{"fabric", want.Fabric, have.Fabric},
		{"limits", want.Limits, have.Limits},
		{"ledger", want.Ledger, have.Ledger},
	} {
		given, err := json.Marshal(field.want)
		if err != nil {
			return err
		}
		kept, err := json.Marshal(field.have)
		if err != nil {
			return err
		}
		if !bytes.Equal(given, kept) && len(given)+len(kept) > len("null[]") {
			return &Error{
				Field: "config." + field.name, Kind: ErrConfigDiffers,
				Reason: fmt.Sprintf("is %s, and that of the log is %s", errtext.Short(string(given)), errtext.Short(string(kept))),
			}
		}
	}
	return nil
}
