package core_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/quota"
)

// A harbour drives a core through simulated time with an executor that does at once what
// it is told. Jobs end when their run time is over.
type harbour struct {
	tb      testing.TB
	core    *core.Core
	runtime map[berth.JobID]berth.Duration
	ends    map[berth.JobID]berth.JobFinished
	endsAt  map[berth.JobID]berth.Time
	started map[berth.JobID]berth.Time
	binds   map[berth.JobID]berth.Bind
}

func newHarbour(tb testing.TB, config berth.Config) *harbour {
	tb.Helper()
	config.Policy.Preemption.Mode = berth.PreemptionOff // what runs ends by itself
	sched, err := core.New(config)
	require.NoError(tb, err)
	h := &harbour{
		tb: tb, core: sched, runtime: map[berth.JobID]berth.Duration{}, ends: map[berth.JobID]berth.JobFinished{},
		endsAt: map[berth.JobID]berth.Time{}, started: map[berth.JobID]berth.Time{}, binds: map[berth.JobID]berth.Bind{},
	}
	h.tell(berth.QueueSet{Queue: quota.Queue{Name: "q"}})
	return h
}

func (h *harbour) tell(events ...berth.Event) {
	h.tb.Helper()
	for _, e := range events {
		require.NoError(h.tb, h.core.Apply(h.core.Now(), e))
	}
}

// nodes adds nodes of eight GPUs: prefix-0 and so on, at a path.
func (h *harbour) nodes(prefix string, n int, path ...string) {
	h.tb.Helper()
	for i := range n {
		node := berth.Node{ID: berth.NodeID(fmt.Sprintf("%s-%02d", prefix, i)), Domains: path}
		for range 8 {
			node.GPUs = append(node.GPUs, berth.GPU{Product: "H100-80GB", Clique: string(node.ID)})
		}
		for rail := range 8 {
			node.NICs = append(node.NICs, berth.NIC{Name: fmt.Sprint("mlx5_", rail), Rail: berth.OrdinalOf(rail), MbitPerSecond: 400_000})
		}
		h.tell(berth.NodeJoined{Node: node})
	}
}

// job submits a job of one group that runs for a time; it states that time if it is
// positive, and runs for as long as the negative otherwise.
func (h *harbour) job(id string, members, gpus int, runtime berth.Duration, change ...func(*berth.Job)) berth.JobID {
	h.tb.Helper()
	job := berth.Job{
		ID: berth.JobID(id), Queue: "q", ExpectedRuntime: max(runtime, 0),
		Groups: []berth.Group{{Members: members, Claim: berth.Claim{GPUs: gpus}}},
	}
	for _, c := range change {
		c(&job)
	}
	h.runtime[job.ID] = max(runtime, -runtime)
	h.tell(berth.JobSubmitted{Job: job})
	return job.ID
}

// passes runs passes at an instant until nothing is left to do there.
func (h *harbour) passes(now berth.Time) {
	h.tb.Helper()
	for {
		orders, err := h.core.Schedule(now)
		require.NoError(h.tb, err)
		for _, order := range orders {
			head := order.Header()
			if bind, ok := order.(berth.Bind); ok {
				h.binds[head.Job], h.started[head.Job] = bind, now
				h.ends[head.Job] = berth.JobFinished{Job: head.Job, Incarnation: head.Incarnation}
				h.endsAt[head.Job] = now.Add(h.runtime[head.Job])
			}
			if _, ok := order.(berth.Drop); !ok {
				h.tell(berth.OrderReported{Order: head.ID, Outcome: berth.OutcomeDone})
			}
		}
		require.NoError(h.tb, h.core.Check())
		if at, more := h.core.NextWake(); !more || at > now {
			return
		}
	}
}

// minute lets one minute pass: what is over ends, then passes run.
func (h *harbour) minute() {
	h.tb.Helper()
	now := h.core.Now().Add(berth.Minute)
	for _, id := range slices.Sorted(maps.Keys(h.endsAt)) {
		if h.endsAt[id] <= now {
			require.NoError(h.tb, h.core.Apply(now, h.ends[id]))
			delete(h.endsAt, id)
		}
	}
	h.passes(now)
}

func (h *harbour) explain(id berth.JobID) berth.ReplicaExplanation {
	h.tb.Helper()
	e, err := h.core.Explain(id)
	require.NoError(h.tb, err)
	return e.Replicas[0]
}

// The first gang in policy order starts within ReserveAfter and the longest run time,
// however many small jobs keep coming that would fit first.
func TestL3_AGangDoesNotStarveUnderSmallJobs(t *testing.T) {
	drawn.Check(t, func(rt *rapid.T) {
		h := newHarbour(t, berth.Config{Levels: []string{"leaf"}, Policy: berth.Policy{ReserveAfter: 10 * berth.Minute}})
		h.nodes("a", 4, "a")
		h.nodes("b", 4, "b")
		longest := rapid.IntRange(5, 60).Draw(rt, "longest, minutes")
		submitted := 0
		fill := func() {
			for range rapid.IntRange(8, 16).Draw(rt, "arrivals") {
				runtime := berth.Duration(rapid.IntRange(1, longest).Draw(rt, "minutes")) * berth.Minute
				h.job(fmt.Sprintf("small-%05d", submitted), 1, rapid.SampledFrom([]int{1, 2, 4, 8}).Draw(rt, "gpus"), runtime)
				submitted++
			}
		}
		for range 10 {
			fill()
			h.minute()
		}
		// All of one leaf, half of the fleet.
		gang := h.job("gang", 4, 8, berth.Hour, func(j *berth.Job) {
			j.Topology.Required, j.Priority = "leaf", 1
		})
		bound := 10 + longest + 1 // and the minute in which a job ends
		for minute := 0; h.started[gang] == 0; minute++ {
			require.LessOrEqual(t, minute, bound, "the bound is ReserveAfter and the longest run time")
			fill()
			h.minute()
		}
	})
}

// A gang does not starve under jobs that tell nothing, and run for far longer than those that were
// learned from: once it has waited for as long as they are assumed to run, none of them is let in.
func TestL3_AGangDoesNotStarveWhereWhatWasLearnedIsWrong(t *testing.T) {
	const assumed = 4 * berth.Hour
	h := newHarbour(t, berth.Config{Policy: berth.Policy{ReserveAfter: berth.Minute, Stretch: berth.Off, AssumedRuntime: assumed}})
	h.nodes("n", 2)
	for i := range 4 {
		h.job(fmt.Sprint("short", i), 1, 1, -berth.Minute)
	}
	h.minute()
	h.minute()
	h.job("first", 1, 8, berth.Hour)
	h.minute()
	gang := h.job("gang", 2, 8, berth.Hour)
	minute := 0
	for ; h.started[gang] == 0; minute++ {
		require.Less(t, minute, 600, "the gang starves")
		if minute%10 == 0 {
			h.job(fmt.Sprintf("long%03d", minute), 1, 4, -180*berth.Minute)
		}
		h.minute()
	}
	require.Greater(t, minute, 240, "until then those are let in that are taken for short")
}

// Without reservations the same stream keeps the gang out: the test above can fail.
func TestL3_WithoutReservationsItStarves(t *testing.T) {
	h := newHarbour(t, berth.Config{Policy: berth.Policy{ReservedGangs: berth.Off, Stretch: berth.Off}})
	h.nodes("a", 2)
	for i := range 200 {
		h.job(fmt.Sprintf("small-%03d", i), 1, 4, 7*berth.Minute+berth.Duration(i%5)*berth.Minute)
	}
	h.minute()
	gang := h.job("gang", 2, 8, berth.Hour, func(j *berth.Job) { j.Priority = 1 })
	for range 60 {
		h.minute()
	}
	require.Zero(t, h.started[gang])
}

// What was placed on reserved nodes meanwhile leaves before the gang starts.
func TestBackfillLeavesInTime(t *testing.T) {
	h := newHarbour(t, berth.Config{Policy: berth.Policy{Stretch: berth.Off}})
	h.nodes("n", 2)
	h.job("runs", 1, 8, berth.Hour)
	h.minute()
	gang := h.job("gang", 2, 8, berth.Hour)
	for range 6 {
		h.minute()
	}
	require.NotNil(t, h.explain(gang).Reason.Reservation)
	short := h.job("short", 1, 8, 30*berth.Minute)
	long := h.job("long", 1, 8, 2*berth.Hour)
	silent := h.job("silent", 1, 8, 0)
	important := h.job("important", 1, 4, 3*berth.Hour, func(j *berth.Job) { j.Class = berth.ClassInteractive })
	h.minute()
	require.NotZero(t, h.started[important], "a job that ranks above the gang need not wait for it")
	require.Zero(t, h.started[short], "and took the node")
	require.Equal(t, berth.ReasonGPUs, h.explain(long).Reason.Code)
	h.tell(berth.JobCancelled{Job: important})
	for range 6 {
		h.minute()
	}
	require.NotZero(t, h.started[short])
	require.Zero(t, h.started[long]+h.started[silent])
	for range 50 {
		h.minute()
	}
	require.NotZero(t, h.started[gang])
	require.GreaterOrEqual(t, h.started[gang], h.started[short].Add(30*berth.Minute))
}

// A plan imagines ends on the fleet itself: nothing of it may stay.
func TestD4_ExplainLeavesNoTrace(t *testing.T) {
	h := newHarbour(t, berth.Config{Levels: []string{"leaf"}})
	h.nodes("a", 3, "a")
	h.nodes("b", 3, "b")
	for i := range 12 {
		h.job(fmt.Sprintf("half-%02d", i), 1, 4, berth.Duration(i+1)*10*berth.Minute)
	}
	share := func(j *berth.Job) { j.Groups[0].Claim = berth.Claim{Share: &berth.Share{GPUMilli: 300}} }
	h.minute()
	gang := h.job("gang", 3, 8, berth.Hour, func(j *berth.Job) { j.Topology.Required = "leaf" })
	h.job("part", 1, 0, berth.Hour, share)
	h.minute()
	before, err := h.core.Snapshot()
	require.NoError(t, err)
	reason := h.explain(gang).Reason
	require.Equal(t, berth.ReasonGPUs, reason.Code)
	require.Equal(t, berth.Time(0).Add(61*berth.Minute), reason.ExpectedStart.Earliest, "when the sixth of the halves ends")
	after, err := h.core.Snapshot()
	require.NoError(t, err)
	require.True(t, string(before) == string(after))
	require.NoError(t, h.core.Check())
}

// No job is placed on nodes that are reserved in advance that is expected to be there
// still when the reservation starts, but for the queue that it is for.
func TestAdvanceReservation(t *testing.T) {
	h := newHarbour(t, berth.Config{Levels: []string{"rack"}})
	h.tell(berth.QueueSet{Queue: quota.Queue{Name: "x"}})
	h.nodes("a", 1, "a")
	from := berth.Time(0).Add(berth.Hour)
	h.tell(berth.ReservationSet{Reservation: berth.Reservation{ID: "r", From: from, Until: from.Add(berth.Hour), Queue: "x", Domain: []string{"a"}}})
	long := h.job("long", 1, 8, 2*berth.Hour)
	h.minute()
	require.Equal(t, berth.ReasonReserved, h.explain(long).Reason.Code)
	require.Contains(t, h.explain(long).Reason.Remedy, "at most 59m0s")
	theirs := h.job("theirs", 1, 4, 5*berth.Hour, func(j *berth.Job) { j.Queue = "x" })
	short := h.job("short", 1, 4, 30*berth.Minute)
	h.minute()
	require.NotZero(t, h.started[theirs])
	require.NotZero(t, h.started[short])
	require.Len(t, h.core.Report().Reservations, 1)
	h.nodes("b", 1, "a") // joins the rack, and so the reservation
	h.minute()
	require.Zero(t, h.started[long])
	require.Len(t, h.core.Report().Reservations[0].Nodes, 2)
	for h.core.Now() < from.Add(berth.Hour) {
		h.minute()
	}
	require.Equal(t, from.Add(berth.Hour), h.started[long])
}

func TestAdvanceReservationByNumber(t *testing.T) {
	h := newHarbour(t, berth.Config{Levels: []string{"rack"}})
	h.nodes("a", 2, "a")
	h.nodes("b", 3, "b")
	h.job("busy", 1, 8, 10*berth.Hour)
	h.minute()
	busy := h.binds["busy"].Members[0].Node
	r := berth.Reservation{ID: "r", From: berth.Time(0).Add(berth.Hour), Until: berth.Time(0).Add(2 * berth.Hour), GPUs: 16, Required: "rack"}
	h.tell(berth.ReservationSet{Reservation: r})
	report := h.core.Report().Reservations[0]
	require.Len(t, report.Nodes, 2)
	require.NotContains(t, report.Nodes, busy, "those that are free soonest")
	r.GPUs = 32
	require.ErrorIs(t, h.core.Apply(h.core.Now(), berth.ReservationSet{Reservation: r}), berth.ErrConflict)
	require.Equal(t, report, h.core.Report().Reservations[0], "a refusal changes nothing")
	h.tell(berth.ReservationRemoved{Reservation: "r"})
	require.Empty(t, h.core.Report().Reservations)
	require.NoError(t, h.core.Check())
}

func TestExclusiveDomains(t *testing.T) {
	h := newHarbour(t, berth.Config{Levels: []string{"rack"}})
	h.nodes("a", 2, "a")
	h.nodes("b", 2, "b")
	first := h.job("first", 1, 1, 2*berth.Hour)
	h.minute()
	alone := h.job("alone", 1, 8, berth.Hour, func(j *berth.Job) { j.Topology.Exclusive = "rack" })
	h.minute()
	require.NotEqual(t, h.binds[first].Members[0].Node[0], h.binds[alone].Members[0].Node[0], "not into a rack that is in use")
	for i := range 3 {
		h.job(fmt.Sprint("more-", i), 1, 8, 2*berth.Hour)
	}
	h.minute()
	require.NotZero(t, h.started["more-0"])
	require.Zero(t, h.started["more-2"], "the other node of the rack stays empty")
	require.Equal(t, berth.ReasonReserved, h.explain("more-2").Reason.Code)
	for range 60 {
		h.minute()
	}
	require.NotZero(t, h.started["more-2"])
}

// Gangs for which no reservation can be planned stand before nobody: the passes go on behind them,
// two in each, and then rest.
func TestReservationsGoOnBehindHopelessGangs(t *testing.T) {
	for hopeless := range 8 {
		h := newHarbour(t, berth.Config{Policy: berth.Policy{ReservedGangs: 1, ReserveAfter: 10 * berth.Minute, Stretch: berth.Off}})
		h.nodes("n", 2)
		h.job("runs", 2, 8, berth.Hour)
		h.minute()
		for i := range hopeless {
			h.job(fmt.Sprint("hopeless", i), 3+i, 8, berth.Hour)
		}
		can := h.job("they-can", 2, 8, 2*berth.Hour)
		h.minute()
		require.Nil(t, h.explain(can).Reason.Reservation)
		passes := 0
		for at, due := h.core.NextWake(); due && at <= berth.Time(12*berth.Minute); at, due = h.core.NextWake() {
			orders, err := h.core.Schedule(at)
			require.NoError(t, err)
			require.Empty(t, orders)
			passes++
		}
		require.Equal(t, 1+hopeless/2, passes, "%d are hopeless", hopeless)
		require.NotNil(t, h.explain(can).Reason.Reservation, "behind %d", hopeless)
	}
}

// A gang whose plan is cut short is not hopeless: it is planned for again, and gets its reservation
// when the ends that it waits for are among those that a plan imagines.
func TestAPlanThatIsCutShortIsMadeAgain(t *testing.T) {
	for ends, at := range map[int]berth.Time{1: 61, 2: 11} {
		h := newHarbour(t, berth.Config{Policy: berth.Policy{ReservedGangs: 1, ReserveAfter: 10 * berth.Minute, Stretch: berth.Off}})
		core.LowerBounds(h.core, func(b *core.Bounds) { b.Ends = ends })
		h.nodes("n", 2)
		h.job("first", 1, 8, berth.Hour)
		h.job("second", 1, 8, 3*berth.Hour)
		h.minute()
		gang := h.job("gang", 2, 8, berth.Hour)
		for h.explain(gang).Reason.Reservation == nil {
			h.minute()
			require.Less(t, h.core.Now(), berth.Time(2*berth.Hour))
		}
		require.GreaterOrEqual(t, h.core.Now(), at*berth.Time(berth.Minute))
		require.LessOrEqual(t, h.core.Now(), 2*at*berth.Time(berth.Minute))
	}
}
