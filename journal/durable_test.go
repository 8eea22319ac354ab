package journal_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/journal"
	"github.com/berth-sched/berth/journal/storetest"
	"github.com/berth-sched/berth/preempt"
	"github.com/berth-sched/berth/quota"
)

// A host is a machine with a store and clocks that the test sets.
type host struct {
	*testing.T
	log     storetest.Log
	store   journal.Store
	options journal.Options
	clock   journal.ManualClock
	*journal.Durable
}

func newHost(t *testing.T) *host {
	t.Helper()
	h := &host{T: t, log: storetest.NewFileLog(1)}
	h.clock.SetWall(1_000_000)
	h.options.Config = berth.Config{Levels: []string{"leaf"}}
	h.options.Clock = &h.clock
	h.open()
	return h
}

func (h *host) open() {
	h.Helper()
	require.NoError(h, h.tryOpen())
}

func (h *host) tryOpen() (err error) {
	if h.store, err = h.log.Open(); err != nil {
		return err
	}
	h.Durable, err = journal.Open(h.Context(), h.store, h.options)
	return err
}

// sleep has time go by on both clocks.
func (h *host) sleep(d time.Duration) { h.clock.Advance(berth.DurationOf(d)) }

// wallJumps sets the clock on the wall alone.
func (h *host) wallJumps(by time.Duration) {
	wall, _ := h.clock.Read()
	h.clock.SetWall(wall.Add(berth.DurationOf(by)))
}

func (h *host) tell(events ...berth.Event) {
	h.Helper()
	for _, e := range events {
		require.NoError(h, h.Apply(e))
	}
}

func (h *host) schedule() []berth.Order {
	h.Helper()
	orders, err := h.Schedule(h.Context())
	require.NoError(h, err)
	return orders
}

func (h *host) state() string {
	h.Helper()
	text, err := h.Core().Snapshot()
	require.NoError(h, err)
	return string(text)
}

func nodeOf(id berth.NodeID, gpus int) berth.Event {
	return berth.NodeJoined{Node: berth.Node{
		ID: id, Domains: []string{"leaf1"}, GPUs: slices.Repeat([]berth.GPU{{Product: "H100-80GB", MemoryMiB: 81559}}, gpus),
	}}
}

func jobOf(id berth.JobID) berth.Event {
	return berth.JobSubmitted{Job: berth.Job{ID: id, Queue: "q", Groups: []berth.Group{{Members: 1, Claim: berth.WholeGPUs(1)}}}}
}

func queueOf(name berth.QueueID) berth.Event { return berth.QueueSet{Queue: quota.Queue{Name: name}} }

func ids(orders []berth.Order) (list []berth.OrderID) {
	for _, order := range orders {
		list = append(list, order.Header().ID)
	}
	return list
}

func TestADurableGoesOnWhereItWas(t *testing.T) {
	h := newHost(t)
	h.tell(nodeOf("n", 2), queueOf("q"), jobOf("a"))
	h.sleep(time.Second)
	first := h.schedule()
	require.Len(t, first, 1)
	h.tell(jobOf("b"))
	second := h.schedule()
	require.Len(t, second, 1)
	require.Empty(t, h.schedule(), "nothing is told, and nothing is due")
	at, state := h.Position(), h.state()
	h.tell(jobOf("not durable"))

	h.open()
	require.Equal(t, at, h.Position())
	require.Equal(t, state, h.state())
	wait, ok := h.Wait()
	require.True(t, ok)
	require.Zero(t, wait, "what is outstanding is given again at once")
	h.tell(berth.OrderReported{Order: first[0].Header().ID, Outcome: berth.OutcomeDone}, jobOf("c"))
	require.Equal(t, ids(second), ids(h.schedule()), "the reported one is not given again, and c has no GPU")
	require.Empty(t, h.schedule())
	wait, ok = h.Wait()
	require.True(t, ok)
	require.LessOrEqual(t, wait, time.Minute)
}

// TestDropsAreHandedOnAgain: a Drop has no report, so a process that dies before the next snapshot
// is given it again; not when the job was submitted again since.
func TestDropsAreHandedOnAgain(t *testing.T) {
	kinds := func(orders []berth.Order) (list []string) {
		for _, order := range orders {
			list = append(list, order.Kind()+" "+string(order.Header().Job))
		}
		return list
	}
	h := newHost(t)
	expiring := func(id berth.JobID) berth.Event {
		e := jobOf(id).(berth.JobSubmitted)
		e.Job.GangTimeout = berth.Minute
		return e
	}
	h.tell(queueOf("q"), expiring("a"), expiring("b"))
	h.schedule()
	h.sleep(2 * time.Minute)
	require.Equal(t, []string{"drop a", "drop b"}, kinds(h.schedule()))
	h.open()
	require.Equal(t, []string{"drop a", "drop b"}, kinds(h.schedule()), "whether they were handed on is not known")
	h.open()
	h.tell(jobOf("b"))
	require.Equal(t, []string{"drop a"}, kinds(h.schedule()))
	require.NoError(t, h.Snapshot(t.Context()), "they are handed on")
	h.open()
	require.Empty(t, h.schedule())

	h.tell(expiring("c"))
	h.schedule()
	h.sleep(2 * time.Minute)
	require.Equal(t, []string{"drop c"}, kinds(h.schedule()))
	h.tell(expiring("c"))
	h.schedule()
	h.tell(berth.JobCancelled{Job: "c"})
	h.schedule()
	h.open()
	require.Empty(t, h.schedule(), "the Drop is about a former job of that name")
}

func TestLossesAreHandedOverBeforeTheyAreForgotten(t *testing.T) {
	h := newHost(t)
	var lost []berth.Loss
	var durable journal.Position
	failing := errors.New("the node does not answer")
	h.options.Lost = func(l []berth.Loss) error {
		var err error
		durable, err = h.store.Head(t.Context())
		require.NoError(t, err)
		lost = l
		return failing
	}
	h.open()
	h.tell(nodeOf("n", 1), queueOf("q"), jobOf("a"))
	bind := h.schedule()
	h.tell(berth.OrderReported{Order: bind[0].Header().ID, Outcome: berth.OutcomeDone})
	h.schedule()
	h.tell(berth.NodeLost{Node: "n", Reason: "power"})
	at := h.Position()
	_, err := h.Schedule(t.Context())
	require.ErrorIs(t, err, failing)
	require.Len(t, lost, 1)
	require.Equal(t, at, durable, "the event is durable before anybody acts on it")

	h.open() // before the pass, so the loss is not forgotten
	lost, failing = nil, nil
	h.schedule()
	require.Len(t, lost, 1)
	lost = nil
	h.open()
	h.schedule()
	require.Empty(t, lost)
}

// TestNoOrderIsLetOutThatIsNotDurable fills the disk.
func TestNoOrderIsLetOutThatIsNotDurable(t *testing.T) {
	h := newHost(t)
	h.tell(nodeOf("n", 3), queueOf("q"))
	h.schedule()
	h.tell(jobOf("a"))
	h.log.Fail(h.store, storetest.FaultFull, 1)
	for range 3 {
		_, err := h.Schedule(t.Context())
		require.ErrorIs(t, err, journal.ErrFull)
		wait, ok := h.Wait()
		require.True(t, ok)
		require.Equal(t, time.Second, wait)
		require.Error(t, h.Snapshot(t.Context()))
	}
	h.tell(jobOf("b"))
	h.log.Mend(h.store)
	require.Equal(t, []berth.OrderID{1}, ids(h.schedule()), "the orders of the pass that had no room")
	require.Equal(t, []berth.OrderID{2}, ids(h.schedule()), "and what came after")
	state := h.state()
	h.open()
	require.Equal(t, state, h.state())

	h.schedule()
	h.tell(jobOf("c"))
	h.log.Fail(h.store, storetest.FaultAnswer, 1)
	_, err := h.Schedule(t.Context())
	require.ErrorIs(t, err, journal.ErrUncertain)
	require.ErrorIs(t, h.Apply(jobOf("d")), journal.ErrUncertain, "it is of no more use")
	_, err = h.Schedule(t.Context())
	require.ErrorIs(t, err, journal.ErrUncertain)
	require.ErrorIs(t, h.Snapshot(t.Context()), journal.ErrUncertain)
	h.open()
	require.Equal(t, []berth.OrderID{1, 2, 3}, ids(h.schedule()))
}

// TestAFullDiskDoesNotFillTheMemory: what waits for room has an end, and is none the less durable
// when there is room.
func TestAFullDiskDoesNotFillTheMemory(t *testing.T) {
	h := newHost(t)
	h.options.SnapshotBytes = 2000
	h.open()
	h.tell(queueOf("q"))
	h.schedule()
	h.log.Fail(h.store, storetest.FaultFull, 1)
	at := h.Position()
	for range 10 {
		require.ErrorIs(t, h.Snapshot(t.Context()), journal.ErrFull)
	}
	require.LessOrEqual(t, h.Position().Number, at.Number+1, "a snapshot that is tried again adds nothing")
	taken := 0
	for ; taken < 100; taken++ {
		if err := h.Apply(jobOf(berth.JobID(fmt.Sprintf("job%d", taken)))); err != nil {
			require.ErrorIs(t, err, journal.ErrFull)
			break
		}
		_, err := h.Schedule(t.Context())
		require.ErrorIs(t, err, journal.ErrFull)
	}
	require.Greater(t, taken, 5)
	require.Less(t, taken, 100)
	state := h.state()
	require.ErrorIs(t, h.Apply(queueOf("late")), journal.ErrFull)
	require.Equal(t, state, h.state(), "what has no room changes nothing")
	h.log.Mend(h.store)
	h.schedule()
	h.tell(queueOf("late"))
	h.schedule()
	state = h.state()
	h.open()
	require.Equal(t, state, h.state())
	require.Len(t, h.Core().JobIDs(), taken)
}

// A rationed store has room for so many bytes of records behind its newest snapshot.
type rationed struct {
	journal.Store
	most, since, saves int
}

func (s *rationed) Append(ctx context.Context, b journal.Batch) error {
	size := 0
	for _, record := range b.Records {
		size += len(record)
	}
	if s.since+size > s.most {
		return journal.ErrFull
	}
	s.since += size
	return s.Store.Append(ctx, b)
}

func (s *rationed) Save(ctx context.Context, n journal.Snapshot) error {
	s.since = 0
	s.saves++
	return s.Store.Save(ctx, n)
}

// TestASnapshotMakesRoomForTheLog: what waits for room has it then, and what is durable is there
// whenever the process dies. What a former process was given, and no report ends, has to be handed
// on before, as it stands in the records alone.
func TestASnapshotMakesRoomForTheLog(t *testing.T) {
	h := newHost(t)
	h.log = storetest.NewFileLog(2)
	h.options.Config.Scorer = byName("mine") // which is in no snapshot
	var store *rationed
	open := func() {
		h.open()
		store = &rationed{Store: h.store, most: 1200}
		var err error
		h.Durable, err = journal.Open(t.Context(), store, h.options)
		require.NoError(t, err)
	}
	open()
	h.tell(nodeOf("n", 8), queueOf("q"))
	for i := range 60 {
		h.tell(jobOf(berth.JobID(fmt.Sprintf("job%d", i))))
		require.Len(t, h.schedule(), min(1, max(0, 8-i)))
		if i%7 == 6 {
			state, saves := h.state(), store.saves
			open()
			require.Equal(t, state, h.state())
			require.Len(t, h.schedule(), 8-max(0, 7-i), "those that nobody has reported")
			require.Positive(t, saves)
		}
	}

	timed := jobOf("timed").(berth.JobSubmitted)
	timed.Job.GangTimeout = berth.Minute
	h.tell(timed)
	h.schedule()
	h.sleep(2 * time.Minute)
	dropped := func(orders []berth.Order) bool {
		return slices.ContainsFunc(orders, func(o berth.Order) bool { return o.Kind() == "drop" })
	}
	require.True(t, dropped(h.schedule()))
	open()
	store.most = 0
	h.tell(jobOf("late"))
	for range 2 {
		_, err := h.Schedule(t.Context())
		require.ErrorIs(t, err, journal.ErrFull)
		require.Zero(t, store.saves)
	}
	open()
	require.True(t, dropped(h.schedule()), "it is not lost by that")
	store.most = 0
	h.tell(jobOf("late"))
	for range 3 {
		_, err := h.Schedule(t.Context())
		require.ErrorIs(t, err, journal.ErrFull)
		require.Equal(t, 1, store.saves, "one that made no room is not saved again")
	}
	store.most = 1200
	h.schedule()
	require.Contains(t, h.Core().JobIDs(), berth.JobID("late"))
}

func TestSnapshotsComeAtIntervals(t *testing.T) {
	for name, set := range map[string]func(*journal.Options){
		"records": func(o *journal.Options) { o.SnapshotRecords = 10 },
		"bytes":   func(o *journal.Options) { o.SnapshotBytes = 2000 },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			set(&h.options)
			h.open()
			h.tell(nodeOf("n", 8), queueOf("q"))
			for i := range 8 {
				h.tell(jobOf(berth.JobID("job" + string(rune('a'+i)))))
				h.schedule()
			}
			newest, err := h.store.Newest(t.Context())
			require.NoError(t, err)
			require.GreaterOrEqual(t, newest.At.Number, uint64(9))
			state := h.state()
			h.open()
			require.Equal(t, state, h.state())
		})
	}
}

// TestASnapshotThatHasNoRoomIsPutOff: the log goes on as long as it has room.
func TestASnapshotThatHasNoRoomIsPutOff(t *testing.T) {
	h := newHost(t)
	h.store = &noSnapshots{h.store}
	var err error
	h.options.SnapshotRecords = 2
	h.Durable, err = journal.Open(t.Context(), h.store, h.options)
	require.NoError(t, err)
	h.tell(nodeOf("n", 8), queueOf("q"))
	h.schedule()
	h.tell(jobOf("a"))
	require.Len(t, h.schedule(), 1)
}

type noSnapshots struct{ journal.Store }

func (noSnapshots) Save(context.Context, journal.Snapshot) error { return journal.ErrFull }

// TestTheLogGrowsByAnIntervalForEachSnapshotThatFails, whether the next writer is started anew or
// has followed the one that the snapshot took with it; and one that is saved ends that.
func TestTheLogGrowsByAnIntervalForEachSnapshotThatFails(t *testing.T) {
	const interval, failures = 10, 5
	for name, standsBy := range map[string]bool{"started anew": false, "has followed": true} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			h.options.SnapshotRecords = interval
			h.open()
			standby, err := journal.Restore(mustNewest(t, h.store), h.options.Config)
			require.NoError(t, err)
			fails := failures
			h.store = &deadlySnapshots{h.store, &fails}
			h.Durable, err = journal.Open(t.Context(), h.store, h.options)
			require.NoError(t, err)
			h.tell(nodeOf("n", 8), queueOf("q"))
			var died []uint64 // at which records
			for n := 0; len(died) < failures || mustNewest(t, h.store).At.Number == 0; n++ {
				h.tell(queueOf(berth.QueueID(fmt.Sprintf("q%d", n))))
				_, err := h.Schedule(t.Context())
				if err == nil {
					continue
				}
				require.ErrorIs(t, err, journal.ErrUncertain)
				died = append(died, h.Position().Number)
				store, err := h.log.Open()
				require.NoError(t, err)
				h.store = &deadlySnapshots{store, &fails}
				if standsBy {
					require.NoError(t, standby.CatchUp(t.Context(), store))
					h.Durable, err = standby.Lead(t.Context(), h.store, h.options)
					require.NoError(t, err)
					standby, err = journal.Restore(mustNewest(t, store), h.options.Config)
				} else {
					h.Durable, err = journal.Open(t.Context(), h.store, h.options)
				}
				require.NoError(t, err)
			}
			before := uint64(0)
			for _, at := range died {
				require.LessOrEqual(t, at-before, uint64(interval+4), "the records of a turn, and of the snapshot, come on top")
				require.GreaterOrEqual(t, at-before, uint64(interval), "the next writer does something else first")
				before = at
			}
			require.LessOrEqual(t, mustNewest(t, h.store).At.Number, uint64((failures+1)*(interval+4)))
		})
	}
}

// deadlySnapshots are those with which the writer dies, so many times.
type deadlySnapshots struct {
	journal.Store
	left *int
}

func (s *deadlySnapshots) Save(ctx context.Context, n journal.Snapshot) error {
	if *s.left > 0 {
		*s.left--
		return journal.ErrUncertain
	}
	return s.Store.Save(ctx, n)
}

// TestAnEmptyStoreIsOneWithoutData, whether it says so with nil or with no bytes.
func TestAnEmptyStoreIsOneWithoutData(t *testing.T) {
	h := newHost(t)
	empty, err := storetest.NewFileLog(2).Open()
	require.NoError(t, err)
	_, err = journal.Open(t.Context(), &tampered{Store: empty, newest: func(s *journal.Snapshot) { s.Data = []byte{} }}, h.options)
	require.NoError(t, err)
}

// TestAnotherConfigIsRefused: all but the policy, which events change.
func TestAnotherConfigIsRefused(t *testing.T) {
	h := newHost(t)
	h.schedule()
	for field, c := range map[string]berth.Config{
		"config.levels":    {Levels: []string{"rack"}},
		"config.ledger":    {Levels: []string{"leaf"}, Ledger: true},
		"config.limits":    {Levels: []string{"leaf"}, Limits: berth.Limits{Nodes: 7}},
		"config.fabric":    {Levels: []string{"leaf"}, Fabric: berth.Fabric{IslandLevel: "leaf"}},
		"snapshot.scorer":  {Levels: []string{"leaf"}, Scorer: byName("spread")},
		"snapshot.ownGain": {Levels: []string{"leaf"}, Gain: func(preempt.Beneficiary) preempt.GPUMilliseconds { return 1 }},
	} {
		h.options.Config = c
		err := h.tryOpen()
		require.ErrorIs(t, err, journal.ErrConfigDiffers, field)
		var e *journal.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, field, e.Field)
	}
	h.options.Config = berth.Config{Levels: []string{"leaf"}, Policy: berth.Policy{PassBudget: 7}, Limits: berth.Limits{Nodes: 65_536}}
	h.open()
	require.Equal(t, 10_000, h.Core().Config().Policy.PassBudget, "that of the log")
	h.options.Config = berth.Config{Levels: []string{"leaf"}, Limits: berth.Limits{Nodes: -1}}
	require.Error(t, h.tryOpen())
}

// byName is a scorer that scores nothing.
type byName string

func (s byName) Name() string                    { return string(s) }
func (byName) Score(*berth.Group, []berth.Place) {}

func TestAScorerAndAGainAreGivenAtEachStart(t *testing.T) {
	h := newHost(t)
	h.log = storetest.NewFileLog(2)
	h.options.Config.Scorer = byName("spread")
	h.options.Config.Gain = func(preempt.Beneficiary) preempt.GPUMilliseconds { return 1 }
	h.open()
	h.tell(nodeOf("n", 2), queueOf("q"), jobOf("a"))
	h.schedule()
	h.open()
	require.Len(t, h.schedule(), 1)
	h.options.Config.Scorer = byName("pack")
	require.ErrorIs(t, h.tryOpen(), journal.ErrConfigDiffers)
	h.options.Config.Scorer, h.options.Config.Gain = byName("spread"), nil
	require.ErrorIs(t, h.tryOpen(), journal.ErrConfigDiffers)
}

// explosive is a scorer that panics when it is lit.
type explosive struct{ lit *bool }

func (explosive) Name() string { return "explosive" }

func (s explosive) Score(*berth.Group, []berth.Place) {
	if *s.lit {
		panic("a defect")
	}
}

// TestACoreThatPanickedIsNotUsedAgain, as it is half done: another core, made of the log, would
// come to other orders.
func TestACoreThatPanickedIsNotUsedAgain(t *testing.T) {
	h := newHost(t)
	lit := true
	h.log = storetest.NewFileLog(2)
	h.options.Config.Scorer = explosive{&lit}
	h.open()
	h.tell(nodeOf("n", 2), nodeOf("m", 2), queueOf("q"), jobOf("a"))
	require.Panics(t, func() { _, _ = h.Schedule(t.Context()) })
	at := h.Position()
	_, err := h.Schedule(t.Context())
	require.Error(t, err)
	require.Equal(t, err, h.Apply(queueOf("r")))
	require.Equal(t, err, h.Snapshot(t.Context()))
	require.Equal(t, at, h.Position())
	lit = false
	h.open()
	h.tell(nodeOf("n", 2), nodeOf("m", 2), queueOf("q"), jobOf("a"))
	require.Len(t, h.schedule(), 1)
}

// tampered is a log as a store might hand it out that is none.
type tampered struct {
	journal.Store
	records func([][]byte) [][]byte
	newest  func(*journal.Snapshot)
}

func (s *tampered) Records(ctx context.Context, after uint64) iter.Seq2[[]byte, error] {
	var list [][]byte
	for record, err := range s.Store.Records(ctx, after) {
		if err != nil {
			panic(err)
		}
		list = append(list, bytes.Clone(record))
	}
	if s.records != nil {
		list = s.records(list)
	}
	return func(yield func([]byte, error) bool) {
		for _, record := range list {
			if !yield(record, nil) {
				return
			}
		}
	}
}

func (s *tampered) Newest(ctx context.Context) (journal.Snapshot, error) {
	newest, err := s.Store.Newest(ctx)
	newest.Data = bytes.Clone(newest.Data)
	if s.newest != nil {
		s.newest(&newest)
	}
	return newest, err
}

// TestADamagedLogIsRefused: what is dropped, doubled, moved or changed is named by its number, and
// a snapshot of another log, or of another position, by itself.
func TestADamagedLogIsRefused(t *testing.T) {
	h := newHost(t)
	h.tell(nodeOf("n", 2), queueOf("q"), jobOf("a"))
	h.schedule()
	h.tell(jobOf("b"))
	h.schedule()
	other := newHost(t)
	other.log = storetest.NewFileLog(3)
	other.options.Config.Ledger = true
	other.open()
	other.tell(nodeOf("n", 2))
	other.schedule()
	foreign, err := other.store.Newest(t.Context())
	require.NoError(t, err)
	const records = 6
	for _, c := range []struct {
		name   string
		store  tampered
		record uint64
		kind   error
	}{
		{"the first dropped", tampered{records: func(r [][]byte) [][]byte { return r[1:] }}, 1, journal.ErrDamaged},
		{"one dropped", tampered{records: func(r [][]byte) [][]byte { return slices.Delete(r, 2, 3) }}, 3, journal.ErrDamaged},
		{"the last dropped", tampered{records: func(r [][]byte) [][]byte { return r[:records-1] }}, records, journal.ErrDamaged},
		{"all dropped", tampered{records: func([][]byte) [][]byte { return nil }}, 1, journal.ErrDamaged},
		{"one doubled", tampered{records: func(r [][]byte) [][]byte { return slices.Insert(r, 2, r[1]) }}, 3, journal.ErrDamaged},
		{"the last doubled", tampered{records: func(r [][]byte) [][]byte { return append(r, r[records-1]) }}, records + 1, journal.ErrDamaged},
		{"two swapped", tampered{records: func(r [][]byte) [][]byte { r[1], r[2] = r[2], r[1]; return r }}, 2, journal.ErrDamaged},
		{"one changed", tampered{records: func(r [][]byte) [][]byte { r[3][len(r[3])-4] ^= 1; return r }}, 4, journal.ErrDamaged},
		{"one cut", tampered{records: func(r [][]byte) [][]byte { r[3] = r[3][:len(r[3])/2]; return r }}, 4, journal.ErrDamaged},
		{"one empty", tampered{records: func(r [][]byte) [][]byte { r[3] = nil; return r }}, 4, journal.ErrMalformed},
		{"zeros at the end", tampered{records: func(r [][]byte) [][]byte { return append(r, make([]byte, 512)) }}, records + 1, journal.ErrMalformed},
		{"a snapshot of another log", tampered{newest: func(s *journal.Snapshot) { *s = foreign }}, 0, journal.ErrConfigDiffers},
		{"a snapshot that is changed", tampered{newest: func(s *journal.Snapshot) { s.Data[len(s.Data)-9] ^= 1 }}, 0, journal.ErrDamaged},
		{"a snapshot that is cut", tampered{newest: func(s *journal.Snapshot) { s.Data = s.Data[:len(s.Data)/2] }}, 0, journal.ErrDamaged},
		{"a snapshot under another position", tampered{newest: func(s *journal.Snapshot) { s.At.Number++ }}, 0, journal.ErrDamaged},
		{"a snapshot of another version", tampered{newest: func(s *journal.Snapshot) { s.Data = bytes.Replace(s.Data, []byte(`"log":2`), []byte(`"log":3`), 1) }}, 0, journal.ErrVersion},
		{"a snapshot that is none", tampered{newest: func(s *journal.Snapshot) { s.Data = []byte("x") }}, 0, journal.ErrDamaged},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.store.Store = h.store
			_, err := journal.Open(t.Context(), &c.store, h.options)
			require.ErrorIs(t, err, c.kind)
			var e *journal.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, c.record, e.Record, err)
		})
	}
	require.NoError(t, h.tryOpen())
}

// TestASnapshotAndTheLogOfAnother are of the same configuration, and began alike.
func TestASnapshotAndTheLogOfAnother(t *testing.T) {
	h, other := newHost(t), newHost(t)
	other.log = storetest.NewFileLog(3)
	other.open()
	h.tell(nodeOf("n", 2))
	other.tell(nodeOf("m", 2))
	for _, one := range []*host{h, other} {
		one.schedule()
		require.NoError(t, one.Snapshot(t.Context()))
		require.EqualValues(t, 3, one.Position().Number)
	}
	foreign, err := other.store.Newest(t.Context())
	require.NoError(t, err)
	s := &tampered{Store: h.store, newest: func(s *journal.Snapshot) { *s = foreign }}
	_, err = journal.Open(t.Context(), s, h.options)
	require.ErrorIs(t, err, journal.ErrDamaged, "also where no record follows")
	h.tell(queueOf("q"))
	h.schedule()
	_, err = journal.Open(t.Context(), s, h.options)
	require.ErrorIs(t, err, journal.ErrDamaged)
	require.ErrorContains(t, err, "record 4: sum")
}

// TestAReplicaFollows, and comes to what the writer comes to; it takes over where that ends.
func TestAReplicaFollows(t *testing.T) {
	h := newHost(t)
	newest, err := h.store.Newest(t.Context())
	require.NoError(t, err)
	replica, err := journal.Restore(newest, h.options.Config)
	require.NoError(t, err)
	h.tell(nodeOf("n", 4), queueOf("q"))
	for i := range 3 {
		h.tell(jobOf(berth.JobID("job" + string(rune('a'+i)))))
		h.schedule()
		require.NoError(t, replica.CatchUp(t.Context(), h.store))
		require.Equal(t, h.Position(), replica.Position())
		state, err := replica.Core().Snapshot()
		require.NoError(t, err)
		require.Equal(t, h.state(), string(state))
		mine, err := replica.Snapshot()
		require.NoError(t, err)
		again, err := journal.Restore(mine, h.options.Config)
		require.NoError(t, err)
		require.Equal(t, replica.Position(), again.Position())
	}
	h.tell(jobOf("late"))
	h.schedule()
	h.schedule()
	store, err := h.log.Open()
	require.NoError(t, err)
	led, err := replica.Lead(t.Context(), store, h.options)
	require.NoError(t, err)
	orders, err := led.Schedule(t.Context())
	require.NoError(t, err)
	require.Equal(t, []berth.OrderID{1, 2, 3, 4}, ids(orders))
	h.tell(jobOf("later still"))
	_, err = h.Schedule(t.Context())
	require.ErrorIs(t, err, journal.ErrFenced, "the former writer gives no order")

	require.NoError(t, led.Snapshot(t.Context()))
	stale, err := journal.Restore(newest, h.options.Config)
	require.NoError(t, err)
	require.ErrorIs(t, stale.CatchUp(t.Context(), store), journal.ErrCompacted)
}

// TestARecordThatComesWhileTheHeadIsAsked does not disturb a Replica that stands at the head.
func TestARecordThatComesWhileTheHeadIsAsked(t *testing.T) {
	h := newHost(t)
	replica, err := journal.Restore(mustNewest(t, h.store), h.options.Config)
	require.NoError(t, err)
	for _, node := range []berth.NodeID{"m", "n"} {
		late := &growing{h.store, func() { h.tell(nodeOf(node, 4)); h.schedule() }}
		require.NoError(t, replica.CatchUp(t.Context(), late))
		require.Equal(t, h.Position(), replica.Position())
	}
}

// growing is a log that grows right after somebody has asked for its head.
type growing struct {
	journal.Source
	grow func()
}

func (s *growing) Head(ctx context.Context) (journal.Position, error) {
	head, err := s.Source.Head(ctx)
	s.grow()
	return head, err
}

// TestAReplicaThatComesToSomethingElse stops at the record where it shows.
func TestAReplicaThatComesToSomethingElse(t *testing.T) {
	h := newHost(t)
	h.tell(nodeOf("n", 4), queueOf("q"), jobOf("a"))
	h.schedule()
	require.NoError(t, h.Snapshot(t.Context()))
	other := newHost(t)
	replica, err := journal.Restore(mustNewest(t, other.store), h.options.Config)
	require.NoError(t, err)
	at := replica.Position()
	follow := func(body string) *journal.Error {
		t.Helper()
		err := replica.Follow([]byte(journal.SealBehind(at, body)))
		var e *journal.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, at.Number+1, e.Record)
		return e
	}
	require.ErrorIs(t, follow(`{"state":"0000000000000001"}`), journal.ErrStateDiffers)
	require.ErrorIs(t, follow(`{"now":1,"pass":true,"orders":1,"digest":"0000000000000000"}`), journal.ErrOrdersDiffer)
	require.ErrorIs(t, follow(`{"now":1,"event":{"nodeLost":{"node":"x"}}}`), journal.ErrRefused)
	require.ErrorIs(t, follow(`{"order":{"drop":{}}}`), journal.ErrMalformed)
	require.ErrorIs(t, follow(`{"now":-1,"pass":true,"orders":0,"digest":"0000000000000000"}`), journal.ErrRefused)
}

func mustNewest(t *testing.T, s journal.Store) journal.Snapshot {
	t.Helper()
	newest, err := s.Newest(t.Context())
	require.NoError(t, err)
	return newest
}

func TestSumsAreText(t *testing.T) {
	p := journal.Position{Number: 7, Sum: 0x0c8a5d1b9e60f2a4}
	text, err := json.Marshal(p)
	require.NoError(t, err)
	require.Equal(t, `{"number":7,"sum":"0c8a5d1b9e60f2a4"}`, string(text))
	require.Equal(t, "7 (0c8a5d1b9e60f2a4)", p.String())
	var again journal.Position
	require.NoError(t, json.Unmarshal(text, &again))
	require.Equal(t, p, again)
	for _, bad := range []string{`""`, `"0"`, `"0C8A5D1B9E60F2A4"`, `"+c8a5d1b9e60f2a4"`, `"00c8a5d1b9e60f2a4"`} {
		require.Error(t, json.Unmarshal([]byte(bad), new(journal.Sum)), bad)
	}
}
