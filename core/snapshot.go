package core

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/catalogue"
	"github.com/berth-sched/berth/core/internal/effort"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/core/internal/values"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/limits"
	"github.com/berth-sched/berth/internal/strict"
)

// snapshotVersion is the version of the snapshot's format.
const snapshotVersion = 3

// How a snapshot is written and read is made of its type alone, and never changes. To make these
// takes several times as long as to write a small snapshot.
var (
	snapshotPen  = strict.PenOf[record.Snapshot](strict.Writings{})
	snapshotForm = strict.FormOf[record.Snapshot](strict.Sharing[[]berth.Group](strict.Readings{}))
)

// Snapshot returns the whole state as JSON, which [Restore] reads. Equal states give equal
// bytes. Cost: O(state).
func (c *Core) Snapshot() ([]byte, error) {
	s := c.save()
	// What most nodes and jobs take: a buffer that grows is copied some twenty times.
	b := make([]byte, 0, 4096+1000*len(s.Nodes)+400*len(s.Jobs))
	b, err := snapshotPen.Append(b, s)
	if err != nil {
		return nil, notWritten(err)
	}
	return b, nil
}

func notWritten(err error) *berth.Error {
	return &berth.Error{Event: "snapshot", Kind: berth.ErrInvalid, Reason: err.Error()}
}

// A Cut is the state of a core at an instant, as values that the core does not touch any more: it
// goes on, while the snapshot of then is written part by part. A Cut is for one goroutine at a
// time, which may be another than that of the core.
type Cut struct{ text *strict.Text[record.Snapshot] }

// Cut takes the state as it is now. Cost: O(state), less than half of what Snapshot takes; what has
// been cut stays in memory until all is written.
func (c *Core) Cut() *Cut { return &Cut{snapshotPen.Text(c.save())} }

// Next appends the next part of what Snapshot would have returned then to a buffer: at least so
// many bytes, unless it is the last part, and at most a node or a job more. It reports whether
// there is more. Cost: O(part).
func (t *Cut) Next(b []byte, size int) (_ []byte, more bool, err error) {
	b, more, err = t.text.Next(b, size)
	if err != nil {
		return b, false, notWritten(err)
	}
	return b, more, nil
}

// save is the state as values, in no memory that the core changes.
func (c *Core) save() *record.Snapshot {
	s := &record.Snapshot{
		Version: snapshotVersion, Config: values.CloneConfig(c.state.Config), OwnGain: c.state.Config.Gain != nil,
		Now: c.state.Now, LastOrder: c.state.LastOrder, Totals: *c.state.Totals,
		Nodes: c.state.SaveNodes(), Jobs: c.admission.SaveJobs(),
		Queues: c.books.SaveQueues(), UsePart: c.books.SaveUse(),
		Reservations: c.backlog.SaveReservations(),
		RatesPart:    c.life.SaveMeters(),
		Tables:       c.catalogue.SaveTables(), Pools: c.catalogue.SavePools(),
		Lost: c.losses.Save(), Fabric: c.upkeep.SaveFabric(), LostMembers: slices.Clone(c.books.Lost),
		Runtimes: c.state.Runtimes.Save(),
	}
	if lowered := c.state.Bounds; lowered != effort.Usual() {
		s.Bounds = &lowered
	}
	s.Scorer, s.ScorerBooks = c.scoring.Save()
	s.Demand = c.scoring.SaveDemand()
	c.saveAgenda(s)
	return s
}

// An Option gives [Restore] what no snapshot has.
type Option func(*beside)

// beside is what stands beside a snapshot.
type beside struct {
	gain   berth.GainFunc
	scorer berth.Scorer
}

// WithGain is for a core that was made with a Config.Gain: the restored one weighs with this
// function, which is to be the same. Nil: the core had none.
func WithGain(gain berth.GainFunc) Option { return func(b *beside) { b.gain = gain } }

// WithScorer is for a core that was made with a Config.Scorer: the restored one goes by this one,
// which has the same name, and gets the books of the snapshot. Nil: the core had none.
func WithScorer(scorer berth.Scorer) Option { return func(b *beside) { b.scorer = scorer } }

// Restore makes a core of a snapshot. It behaves as the core that gave the
// snapshot would have, for whatever comes. Any bytes that are no snapshot are
// refused with a [*berth.Error], and so is a snapshot of a core with a Config.Gain without
// [WithGain], or of one with a Config.Scorer without [WithScorer] or with another scorer: the field
// is "scorer". A text that comes to far more in memory than its length, as it has thousands of
// elements that say nothing, is refused with [berth.ErrLimit]. Cost: O(state), and no more memory
// than the events took that told the core of it, and 20 times the text.
func Restore(b []byte, options ...Option) (*Core, error) {
	var beside beside
	for _, option := range options {
		option(&beside)
	}
	s, err := readSnapshot(b, beside)
	if err != nil {
		return nil, err
	}
	return restore(s, nil)
}

// restore makes a core of what was saved, which it takes over, with tables that another has
// worked out.
func restore(s *record.Snapshot, tables map[string]*catalogue.Table) (*Core, error) {
	c, err := New(s.Config)
	if bad := (*berth.Error)(nil); errors.As(err, &bad) {
		bad = refusal.In(bad, "config")
		bad.Event = "snapshot"
		return nil, bad
	}
	c.catalogue.Lender, c.books.Restoring = tables, true
	if err := c.restore(s); err != nil {
		err.Event = "snapshot"
		return nil, err
	}
	c.catalogue.Lender, c.books.Restoring = nil, false
	return c, nil
}

// readSnapshot reads a snapshot, for a core with what stands beside it.
func readSnapshot(b []byte, beside beside) (*record.Snapshot, error) {
	s, err := readVersion(b)
	switch {
	case err != nil:
		return nil, err
	case s.OwnGain != (beside.gain != nil):
		return nil, &berth.Error{Event: "snapshot", Field: "ownGain", Kind: berth.ErrInvalid, Reason: fmt.Sprintf("is %v: a core is restored with the function for the gain that it had", s.OwnGain)}
	case s.Scorer != nameOf(beside.scorer):
		return nil, &berth.Error{
			Event: "snapshot", Field: "scorer", Kind: berth.ErrInvalid,
			Reason: fmt.Sprintf("is %q, not %q: a core is restored with the scorer that it had", errtext.Short(s.Scorer), errtext.Short(nameOf(beside.scorer))),
		}
	}
	s.Config.Gain, s.Config.Scorer = beside.gain, beside.scorer
	return s, nil
}

// readVersion reads a snapshot of any version that is known, as one of the present. The version
// comes first, so that a text is not read twice, at twice its cost in memory.
func readVersion(b []byte) (*record.Snapshot, error) {
	version := versionOf(b)
	switch version {
	case 2:
		return readSnapshotV2(b)
	case snapshotVersion, 0:
		s, err := refusal.Decode("snapshot", snapshotForm, b)
		if err != nil || s.Version == snapshotVersion {
			return s, err
		}
	}
	return nil, &berth.Error{Event: "snapshot", Field: "version", Kind: berth.ErrUnsupported, Reason: fmt.Sprintf("is %d, not %d", version, snapshotVersion)}
}

// nameOf is the name of a scorer; empty: there is none.
func nameOf(s berth.Scorer) string {
	if s == nil {
		return ""
	}
	return s.Name()
}

// versionOf is the version that a snapshot names, also one of another form; 0: it names none. It is
// written first.
func versionOf(b []byte) int {
	if rest, first := bytes.CutPrefix(b, []byte(`{"version":`)); first {
		digits, _, _ := bytes.Cut(rest[:min(len(rest), 10)], []byte(","))
		if version, err := strconv.Atoi(string(digits)); err == nil {
			return version
		}
	}
	var head struct {
		Version int `json:"version"`
	}
	if json.Unmarshal(b, &head) != nil {
		return 0
	}
	return head.Version
}

// restore has every part take back its own, in the order in which the parts need each other.
// What is due comes after all that wakes: restoring does.
func (c *Core) restore(s *record.Snapshot) *berth.Error {
	switch {
	case s.Now < 0 || s.Now > limits.MaxInstant:
		return refusal.Of(berth.ErrInvalid, "now", fmt.Sprintf("%d is outside 0..%d", s.Now, int64(limits.MaxInstant)))
	case s.LastOrder > 2*limits.MaxOrder:
		return refusal.Of(berth.ErrInvalid, "lastOrder", fmt.Sprintf("%d exceeds %d", s.LastOrder, uint64(2*limits.MaxOrder)))
	}
	c.state.Now, c.state.LastOrder = s.Now, s.LastOrder
	if s.Bounds != nil {
		if bad := s.Bounds.Bad(); bad != "" {
			return refusal.Of(berth.ErrInvalid, "bounds", bad)
		}
		c.state.Bounds = *s.Bounds
	}
	var noted []state.Noted
	for _, part := range [...]func() *berth.Error{
		func() *berth.Error { return c.scoring.RestoreBooks(s.ScorerBooks) },
		func() *berth.Error { return c.gpus.RestoreTables(s.Tables) },
		func() *berth.Error { return c.gpus.RestorePools(s.Pools) },
		func() *berth.Error { return refusal.In(c.upkeep.RestoreFabric(s.Fabric), "fabric") },
		func() *berth.Error { return c.restoreNodes(s.Nodes) },
		func() *berth.Error { return refusal.In(c.upkeep.CheckFabric(), "fabric") },
		func() *berth.Error { return c.gpus.RestoreGPUs(s.Nodes) },
		func() *berth.Error { return c.upkeep.RestoreTrust(s.Nodes) },
		func() *berth.Error { return c.restoreQueues(s.Queues) },
		func() *berth.Error { return c.books.RestoreBudgets(s.Budgets) },
		func() *berth.Error { return c.backlog.RestoreReservations(s.Reservations) },
		func() (err *berth.Error) { noted, err = c.admission.RestoreJobs(s.Jobs); return err },
		func() *berth.Error { return c.admission.CheckGates(s.Jobs) },
		func() *berth.Error { return c.life.RestoreGates(s.Jobs) },
		func() *berth.Error { return c.upkeep.RestoreSpareUse(s.Nodes) },
		func() *berth.Error { return c.life.RestoreLife(noted) },
		func() *berth.Error { return c.life.RestoreStandIns(noted) },
		func() *berth.Error { c.backlog.RestoreWaiting(s.Jobs); return nil },
		func() *berth.Error { return c.gpus.RestoreGPUHolds(noted) },
		func() *berth.Error { return c.backlog.RestoreGangReservations(noted) },
		func() *berth.Error { return c.life.RestoreVictims(noted) },
		func() *berth.Error { return c.backlog.RestorePlans(noted) },
		func() *berth.Error { return c.life.RestoreStrays(noted) },
		func() *berth.Error { return c.life.RestoreLending(noted) },
		func() *berth.Error { return c.life.RestoreIdle(noted) },
		func() *berth.Error { c.backlog.RestoreBlocked(s.Jobs); return nil },
		func() *berth.Error { return c.state.RestoreFreed(s.Nodes) },
		func() *berth.Error { return c.backlog.RestoreStalled(noted) },
		func() *berth.Error { return c.gpus.RestoreLooked(noted) },
		func() *berth.Error { return c.backlog.RestoreBids(noted) },
		func() *berth.Error { return c.restoreAgenda(s) },
		func() *berth.Error { return c.admission.RestoreSought(noted) },
		func() *berth.Error { return refusal.In(c.upkeep.RestoreLosses(s.Lost), "lost") },
		func() *berth.Error { return c.life.RestoreMeters(&s.RatesPart) },
		func() *berth.Error { return c.books.RestoreUse(&s.UsePart) },
		func() *berth.Error { return c.books.RestoreLost(s.LostMembers) },
		func() *berth.Error { return c.scoring.RestoreDemand(s.Demand) },
		func() *berth.Error { return refusal.In(c.state.Runtimes.Restore(s.Runtimes), "runtimes") },
	} {
		if err := part(); err != nil {
			return err
		}
	}
	*c.state.Totals = s.Totals
	return nil
}
