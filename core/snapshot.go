package core

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/limits"
	"github.com/berth-sched/berth/quota"
)

// snapshotVersion is the version of the snapshot's format.
const snapshotVersion = 1

// A snapshot holds the facts and the promises, and nothing that follows from
// them: indexes are built anew by Restore. Everything in it is ordered by name,
// so that equal states have equal bytes.
//
// Every part of the core saves and restores its own, here and in the records of nodes and
// replicas: see the files saved_*.go.
type snapshot struct {
	Version    int            `json:"version"`
	Config     berth.Config   `json:"config"`
	Now        berth.Time     `json:"now"`
	LastAction berth.ActionID `json:"lastAction"`
	Totals     berth.Totals   `json:"totals"`
	Nodes      []savedNode    `json:"nodes"`
	Queues     []quota.Queue  `json:"queues"`
	Jobs       []savedJob     `json:"jobs"`
	// QuotaFreed, and Freed of a node: the next pass looks at what it could help.
	QuotaFreed bool `json:"quotaFreed,omitempty"`

	usePart

	Tables []savedTable `json:"tables,omitempty"`
	Pools  []savedPool  `json:"pools,omitempty"`
	// When to look again at what is in demand, and for GPUs to change.
	NextRank    berth.Time `json:"nextRank"`
	NextReshape berth.Time `json:"nextReshape"`

	Reservations []savedReservation `json:"reservations,omitempty"`
	// When and whether to look for gangs to reserve for, and for work to backfill.
	NextReserve berth.Time `json:"nextReserve"`
	NextPreempt berth.Time `json:"nextPreempt"`
	// When to look for another place for those who have to leave theirs; nil: when something
	// changes.
	NextMove    *berth.Time `json:"nextMove,omitempty"`
	Homeless    bool        `json:"homeless,omitempty"`
	BackfillDue bool        `json:"backfillDue,omitempty"`

	ratesPart
	// OwnGain: it has a function of its own that says what a beneficiary gains.
	OwnGain  bool `json:"ownGain,omitempty"`
	Lessened bool `json:"lessened,omitempty"`

	// Nodes that were lost, in order of name, and whether to look for spares.
	Lost      []lossRecord `json:"lost,omitempty"`
	SparesDue bool         `json:"sparesDue,omitempty"`
}

// Snapshot returns the whole state as JSON. Cost: O(state).
func (c *Core) Snapshot() ([]byte, error) {
	s := snapshot{
		Version: snapshotVersion, Config: c.config, OwnGain: c.config.Gain != nil,
		Now: c.now, LastAction: c.lastAction, Totals: *c.totals,
		Nodes: c.saveNodes(), Jobs: c.saveJobs(),
		Queues: c.saveQueues(), usePart: c.saveUse(),
		Reservations: c.saveReservations(),
		ratesPart:    c.saveMeters(),
		Tables:       c.saveTables(), Pools: c.savePools(),
		Lost: c.lost.save(),
	}
	c.saveAgenda(&s)
	b, err := json.Marshal(&s)
	if err != nil {
		return nil, &berth.Error{Event: "snapshot", Kind: berth.ErrInvalid, Reason: err.Error()}
	}
	return b, nil
}

// Restore makes a core of a snapshot. It behaves as the core that gave the
// snapshot would have, for whatever comes. Any bytes that are no snapshot are
// refused with an *Error. Cost: O(state).
func Restore(b []byte) (*Core, error) { return restore(b, nil, nil) }

// RestoreWith is Restore for a core with a Config.Gain of its own, which no snapshot has: it
// is to be the same function.
func RestoreWith(b []byte, gain berth.Gain) (*Core, error) { return restore(b, gain, nil) }

// restore is Restore with what can be taken over from a core that has it.
func restore(b []byte, gain berth.Gain, tables map[string]*table) (*Core, error) {
	s, err := readSnapshot(b, gain)
	if err != nil {
		return nil, err
	}
	c, err := New(s.Config)
	if err != nil {
		return nil, err
	}
	c.lender, c.restoring = tables, true
	if err := c.restore(s); err != nil {
		err.Event = "snapshot"
		return nil, err
	}
	c.lender, c.restoring = nil, false
	return c, nil
}

// readSnapshot reads a snapshot of this version, for a core with this function for the gain.
func readSnapshot(b []byte, gain berth.Gain) (*snapshot, error) {
	s := &snapshot{}
	var e *berth.Error
	switch err := refusal.Decode("snapshot", b, s); {
	case errors.As(err, &e):
		e.Field = withoutParts(e.Field)
		return nil, e
	case s.Version != snapshotVersion:
		return nil, &berth.Error{Event: "snapshot", Field: "version", Kind: berth.ErrUnsupported, Reason: fmt.Sprintf("is %d, not %d", s.Version, snapshotVersion)}
	case s.OwnGain != (gain != nil):
		return nil, &berth.Error{Event: "snapshot", Field: "ownGain", Kind: berth.ErrInvalid, Reason: fmt.Sprintf("is %v: a core is restored with the function for the gain that it had", s.OwnGain)}
	}
	s.Config.Gain = gain
	return s, nil
}

// withoutParts drops from the path of a field the names of the parts that it is in: encoding/json
// names what is embedded, and a snapshot does not.
func withoutParts(path string) string {
	isPart := func(name string) bool { return strings.HasSuffix(name, "Part") }
	return strings.Join(slices.DeleteFunc(strings.Split(path, "."), isPart), ".")
}

// restore has every part take back its own, in the order in which the parts need each other.
// What is due comes after all that wakes: restoring does.
func (c *Core) restore(s *snapshot) *berth.Error {
	if s.Now < 0 || s.LastAction > limits.MaxActions {
		return refusal.Of(berth.ErrInvalid, "now", "is before the epoch, or lastAction is out of range")
	}
	c.now, c.lastAction = s.Now, s.LastAction
	for _, part := range [...]func() *berth.Error{
		func() *berth.Error { return c.restoreTables(s.Tables) },
		func() *berth.Error { return c.restorePools(s.Pools) },
		func() *berth.Error { return c.restoreNodes(s.Nodes) },
		func() *berth.Error { return c.restoreGPUs(s.Nodes) },
		func() *berth.Error { return c.restoreTrust(s.Nodes) },
		func() *berth.Error { return c.restoreQueues(s.Queues) },
		func() *berth.Error { return c.restoreReservations(s.Reservations) },
		func() *berth.Error { return c.restoreJobs(s.Jobs) },
		func() *berth.Error { return c.restoreLife(s.Jobs) },
		func() *berth.Error { return c.restoreWaiting(s.Jobs) },
		func() *berth.Error { return c.restoreDrains(s.Jobs) },
		func() *berth.Error { return c.restoreWindows(s.Jobs) },
		func() *berth.Error { return c.restoreYields(s.Jobs) },
		func() *berth.Error { return c.restoreRooms(s.Jobs) },
		func() *berth.Error { return c.restoreStrays(s.Jobs) },
		func() *berth.Error { return c.restoreBlocked(s.Jobs) },
		func() *berth.Error { return c.restoreFreed(s.Nodes) },
		func() *berth.Error { return c.restoreStalled(s.Jobs) },
		func() *berth.Error { return c.restoreLooked(s.Jobs) },
		func() *berth.Error { return c.restoreBids(s.Jobs) },
		func() *berth.Error { return c.restoreAgenda(s) },
		func() *berth.Error { return refusal.In(c.restoreLosses(s.Lost), "lost") },
		func() *berth.Error { return c.restoreMeters(&s.ratesPart) },
		func() *berth.Error { return c.restoreUse(&s.usePart) },
	} {
		if err := part(); err != nil {
			return err
		}
	}
	*c.totals = s.Totals
	return nil
}

// eachSaved calls a function for every replica that was restored, and its saved form.
func (c *Core) eachSaved(jobs []savedJob, restore func(*replica, *savedReplica) *berth.Error) *berth.Error {
	for i := range jobs {
		j := c.jobs[jobs[i].Job.ID]
		for k := range jobs[i].Replicas {
			s := &jobs[i].Replicas[k]
			if err := restore(j.replicas[s.Number], s); err != nil {
				return refusal.In(refusal.In(err, errtext.Index("replicas", k)), errtext.Index("jobs", i))
			}
		}
	}
	return nil
}
