package sim_test

import (
	"cmp"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/check"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/drawn"
)

// TestSwarm runs tiny worlds with random faults under the checker, some with hardware that is
// swapped; then the faults stop, and each must come to rest. Many worlds, as CI draws them, must
// together have gone through everything that mattersCases lists, and through each report of a Bind.
// One that failed is replayed by its seed:
//
//	BERTH_SEED=1234 go test -run TestSwarm ./berthtest/sim
func TestSwarm(t *testing.T) {
	t.Parallel()
	// In 211 a Bind is reported done after a part of its hardware was lost, in 155 and 184 a GPU is
	// not divided under a gang that runs, and that is released.
	swarm(t, drawn.SeedsAnd(24, 155, 184, 211), (*generator).swapping, append(reportsOfBinds(), mattersCases...)...)
}

// reportsOfBinds are the cases in which a Bind is reported, as the checker names them.
func reportsOfBinds() (cases []string) {
	for _, outcome := range []string{"done", "partial", "failed"} {
		cases = append(cases, "bind "+outcome+": binding to repairing", "bind "+outcome+": binding to pending", "bind "+outcome+": running to running")
	}
	return append(cases, "bind done: binding to running", "bind partial: binding to running")
}

// swarm runs the worlds that a generator draws of seeds; if they are many, each of the cases must
// have come up in one of them.
func swarm(t *testing.T, seeds iter.Seq[uint64], draw drawing, cases ...string) {
	t.Helper()
	seen := map[string]int{}
	for seed := range seeds {
		r := runOf(draw(newGenerator(seed)))
		r.must(t, seed)
		for _, counts := range []map[string]int{r.checker.Cases(), r.cases} {
			for name, n := range counts {
				seen[name] += n
			}
		}
	}
	t.Logf("%v", seen)
	covers(t, seen, cases...)
}

// covers requires of many worlds that each of the cases came up.
func covers(t *testing.T, seen map[string]int, cases ...string) {
	t.Helper()
	if !drawn.Many() {
		return
	}
	for _, name := range cases {
		if seen[name] == 0 {
			t.Errorf("no run went through %q", name)
		}
	}
}

// mattersCases are the situations without which a swarm has tested too little.
var mattersCases = []string{
	"bind expired", "growth expired", "presumed dead", "release expired", "release failed", "release partial",
	"bind of a pending gang", "bind of a repairing gang", "bind of a running gang", "repair given up",
	"nodeLost while binding", "nodeLost while running", "nodeLost while releasing",
	"gpuFailed while binding", "gpuFailed while running", "gpuFailed while releasing",
	"memberFailed while binding", "memberFailed while running",
	"asked what a fault takes down where a member died", "asked what is out where a member died",
	"hardware lost under a member that had died", "a member was seen that had died",
	"finished while running",
	"cancelled while pending", "cancelled while binding", "cancelled while running", "cancelled while releasing",
	"scaled up", "scaled down while pending", "scaled down while binding", "scaled down while running",
	"release because hardware-lost", "release because member-failed", "release because bind-expired",
	"release because bind-failed", "release because cancelled", "release because scaled-down",
	"a run time was learned", "expected to run as others did",
	"gang reserved", "reservation of a gang timed out", "reservation of a gang ended with a node",
	"placed on its reservation", "passed the reservation of a gang by rank", "backfilled onto the reservation of a gang",
	"advance reservation made", "advance reservation changed", "advance reservation removed",
	"advance reservation ended by itself", "backfilled before an advance reservation", "placed on nodes reserved for its queue",
	"kept out by an advance reservation", "kept out by the reservation of a gang", "kept out by an exclusive gang",
	"exclusive gang placed", "nested segments placed", "rails aligned", "spread placed",
	"restored with a reservation of a gang", "restored with an advance reservation",
	"explained turn", "explained backoff", "explained quota", "explained no-nodes", "explained too-large",
	"explained gpus", "explained shares", "explained host", "explained reserved", "explained fragmented",
	"dropped", "observed", "share placed", "segments placed", "required level kept",
	"one product of several", "labels of one value",
	"stale report", "stale incarnation", "limit lowered below usage",
	"borrowed", "borrowing limit lowered below usage", "guarantee raised", "guarantee lowered",
	"lending limit raised", "lending limit lowered", "priority of a queue changed",
	"what is owed came before what would be borrowed", "the queue of higher priority came first",
	"there is room, and what holds back is the limit", "there is room, and what holds back is the borrowing limit",
	"there is room, and what holds back is the capacity that is not lent",
	"activity reported", "ledger settled", "checkpoint told", "worth what is lost",
	"nodeUpdated while in use", "nodeUpdated to less than is held",
	"restored with pending", "restored with binding", "restored with running", "restored with repairing",
	"restored with releasing",

	"instance placed", "fraction placed", "two tenants on one GPU", "as many shares as may be",
	"repartition because mode", "repartition because geometry", "repartition because layout",
	"mode ordered: whole to mps", "mode ordered: mps to whole", "mode ordered: time-slice to whole", "mode ordered: whole to time-slice",
	"mode ordered: whole to mig", "mode ordered: mig to whole", "mode ordered: mig to mps", "mode ordered: mps to mig",
	"repartition beside instances in use", "bind after a repartition from earlier",
	"repartition done", "repartition failed", "repartition expired", "repartition expired, and done", "repartition failed under a runner",
	"repartition failed while binding", "repartition failed while releasing", "repartition failed while running",
	"release because repartition-failed", "stale report of a repartition",
	"gpuFailed while a repartition is out", "nodeLost while a repartition is out", "restored with a repartition",
	"gpuPartitioned", "gpuPartitioned refused", "gpuPartitioned after nobody knew", "table told", "table refused",
	"geometry changed to fixed", "geometry changed to adaptive", "geometry changed to per-claim",
	"at rest in the pool's layout", "an instance observed",
	"explained instances", "explained geometry", "drained",

	// What is rarer about victims is for TestYieldingUnderFaults.
	"preempted", "reclaimed", "a replica of a service is evicted", "checkpoint requested", "stopped without a checkpoint",
	"release because preempted", "release because reclaimed", "started where room was made",
	"request done", "request failed", "request expired", "request withdrawn",
	"stale report of a request that was withdrawn", "finished while asked", "nodeLost while asked",
	"room made for one that was cancelled", "restored with a request for a checkpoint",
	"restored with a victim being stopped", "restored with a victim being stopped in vain",
	"what is taken back leaves the guarantees", "what is taken back is for a queue within its share",
	"room is enough", "none of the victims could be spared",
}

// A run is one simulation with the checker at every step.
type run struct {
	checker *check.Checker
	sim     *sim.Simulation
	journal []string
	cases   map[string]int
	passes  int
	late    int // passes after the faults have stopped
	// restores counts them.
	restores int
	looked   int // how often its state was looked at
	// evicted counts how often replicas were evicted, evictedLate after faults have stopped.
	evicted, evictedLate map[berth.ReplicaRef]int
	// pairs counts how often the first was evicted for the second when nothing came any more,
	// so that nobody's share changed.
	pairs map[[2]berth.ReplicaRef]int
	// live are the jobs that were accepted, gone or not.
	live []berth.JobID
	// log is what was told, for tests that tell it again.
	log []step
	// curious draws what is asked; the world is drawn without it.
	curious *rand.Rand
	err     error
}

// A step is one call of the core and its answer.
type step struct {
	now     berth.Time
	event   berth.Event // nil: a pass
	refused error
	actions []berth.Order
}

func newRun(seed uint64) *run { return newRunWith(seed, nil) }

// newRunWith makes a run whose options are changed after they were drawn.
func newRunWith(seed uint64, change func(*sim.Options)) *run {
	config, options, list := newGenerator(seed).world()
	return runOf(config, options, list, change)
}

// runOf makes a run of a world, whose options may be changed when the run watches it.
func runOf(config berth.Config, options sim.Options, workload []sim.Arrival, changes ...func(*sim.Options)) *run {
	return runWith(config, options, func(*run) sim.Workload { return sim.FromSlice(workload) }, changes...)
}

// runWith is runOf with a workload that may look at the run.
func runWith(config berth.Config, options sim.Options, workload func(*run) sim.Workload, changes ...func(*sim.Options)) *run {
	sched, err := core.New(config)
	if err != nil {
		panic(err)
	}
	return runOn(config, sched, options, workload, changes...)
}

// runOn is runWith on a core that is there already. The checker gets the configuration as it was
// told, in which what is left out is zero.
func runOn(config berth.Config, sched *core.Core, options sim.Options, workload func(*run) sim.Workload, changes ...func(*sim.Options)) *run {
	r := &run{checker: check.New(config), cases: map[string]int{}, evicted: map[berth.ReplicaRef]int{}, evictedLate: map[berth.ReplicaRef]int{}, pairs: map[[2]berth.ReplicaRef]int{}}
	options.Applied, options.Scheduled, options.Restored = r.applied, r.scheduled, r.restored
	for _, change := range changes {
		if change != nil {
			change(&options)
		}
	}
	r.sim = sim.New(sched, workload(r), options)
	return r
}

func (r *run) applied(now berth.Time, e berth.Event, refused error) {
	r.log = append(r.log, step{now: now, event: e, refused: refused})
	line, _ := berth.EncodeEvent(e)
	if refused != nil {
		r.note("%d refused %s: %v", now, line, refused)
		r.verify(r.checker.Rejected(now, e, refused))
		return
	}
	r.note("%d %s", now, line)
	switch e := e.(type) {
	case berth.JobSubmitted:
		r.live = append(r.live, e.Job.ID)
	case berth.JobObserved:
		r.live = append(r.live, e.Job.ID)
	}
	r.verify(r.checker.Applied(now, e))
	r.state()
	r.ask(e)
}

func (r *run) scheduled(now berth.Time, actions []berth.Order) {
	r.log = append(r.log, step{now: now, actions: actions})
	r.passes++
	if now >= faults {
		r.late++
	}
	r.note("%d pass", now)
	for _, a := range actions {
		line, _ := berth.EncodeOrder(a)
		r.note("  %s", line)
		r.noteEviction(a)
	}
	r.verify(r.checker.Scheduled(now, actions))
	r.state()
	r.ask(nil)
	wake, due := r.sim.Core().NextWake()
	if r.verify(r.checker.Wakes(wake, due)); !due || wake > now {
		r.verify(r.checker.Served())
	}
	if r.passes%8 == 0 {
		r.explain()
	}
}

// explain asks about every job: promise E1, a job that waits has a reason, and what would
// help.
func (r *run) explain() {
	sched := r.sim.Core()
	for _, id := range r.live {
		e, err := sched.Explain(id)
		if err != nil {
			continue // it is gone
		}
		r.verify(r.checker.Explained(&e))
		for i := range e.Replicas {
			rep := &e.Replicas[i]
			switch {
			case rep.Reason == nil && rep.State == berth.ReplicaPending:
				r.verify(fmt.Errorf("E1: %s/%d is pending, for no reason", id, rep.Replica))
			case rep.Reason == nil:
			case rep.Reason.Code == "" || rep.Reason.Text == "" || rep.Reason.Remedy == "":
				r.verify(fmt.Errorf("E1: %s/%d waits, and its reason is %+v", id, rep.Replica, *rep.Reason))
			case !plausible(sched.Now(), rep.Reason):
				r.verify(fmt.Errorf("E1: %s/%d is expected to start at %v, and it is %v", id, rep.Replica, rep.Reason.ExpectedStart, sched.Now()))
			default:
				r.cases["explained "+string(rep.Reason.Code)]++
			}
		}
	}
}

// plausible reports whether the instants of an expected start are in order, and the first of them,
// but of a reservation, is not over.
func plausible(now berth.Time, r *berth.Reason) bool {
	f := r.ExpectedStart
	return f.IsZero() || f.Earliest <= f.Middle && f.Middle <= f.Late && (f.Earliest >= now || r.Reservation != nil)
}

func (r *run) restored(now berth.Time) {
	r.note("%d restored", now)
	r.checker.Restored()
	for state, n := range r.checker.States() {
		if n > 0 {
			r.cases["restored with "+state.String()]++
		}
	}
	for _, a := range r.sim.Core().Outstanding() {
		if a.Kind() == "repartition" {
			r.cases["restored with a repartition"]++
		}
	}
	r.countVictims(r.sim.Core())
	r.untrusted(r.sim.Core())
	for _, s := range r.sim.Core().Report().Reservations {
		switch {
		case s.Moving:
			r.cases["restored with a place that is kept"]++
		case s.ID == "":
			r.cases["restored with a reservation of a gang"]++
		default:
			r.cases["restored with an advance reservation"]++
		}
	}
	r.state()
	if r.restores++; r.restores%4 == 0 {
		r.explain()
	}
}

// indexesEvery is how many steps go by between two looks at all indexes of a core. An index that is
// wrong stays so, and the indexes of all steps would take a third of the time of a drawn world:
// more worlds find more. A world that BERTH_SEED names is looked at in each step.
const indexesEvery = 4

// state holds the core's own view of its state against the checker's.
func (r *run) state() {
	sched := r.sim.Core()
	if r.looked++; r.looked%indexesEvery == 0 || drawn.Named() {
		r.verify(sched.Check())
	}
	r.verify(r.checker.AgainstReport(sched.Report()))
	r.verify(r.checker.Outstanding(sched.Outstanding()))
	r.verify(r.checker.Lost(sched.Lost()))
	r.verify(r.checker.AgainstLedger(sched.Ledger()))
}

// verify keeps the first violation, and where the journal stood.
func (r *run) verify(err error) {
	if r.err == nil && err != nil {
		r.err = err
		r.note("VIOLATION %v", err)
	}
}

func (r *run) note(format string, args ...any) {
	if r.err == nil {
		r.journal = append(r.journal, fmt.Sprintf(format, args...))
	}
}

func (r *run) tail() string { return strings.Join(r.journal[max(0, len(r.journal)-60):], "\n") }

// all runs a world to its end: an hour and a half with arrivals and faults, then as
// long as it takes until nothing happens any more. That may be long, in few passes: where
// nobody ends, each gang that waits has a reservation once, and each is expected to come
// true twice as late as the one before. Passes are counted from when the faults have stopped: a
// storm of faults may need as many as it likes.
func (r *run) all() error {
	for r.err == nil {
		at, any := r.sim.Next()
		if !any {
			break
		}
		if err := r.sim.Run(at); err != nil && r.err == nil {
			return err
		}
		if r.late > 20_000 {
			return fmt.Errorf("L1: %d passes after the faults, and no end", r.late)
		}
	}
	if r.err != nil {
		return r.err
	}
	return r.rest()
}

// must runs a world to its end, and ends the test where a promise is broken.
func (r *run) must(t *testing.T, seed uint64) {
	t.Helper()
	if err := r.all(); err != nil {
		t.Fatalf("seed %d: %v\n\nthe journal's end:\n%s", seed, err, r.tail())
	}
}

// rest asserts that the fleet has settled: nothing is under way, another pass
// changes nothing, and what waits does not fit.
func (r *run) rest() error {
	sched := r.sim.Core()
	now := sched.Now()
	r.cases["drained"] += int(sched.Report().Totals.GPUHolds)
	if err := cmp.Or(sched.Check(), r.checker.Quiescent(now)); err != nil {
		return err
	}
	if err := r.fewEvictions(); err != nil {
		return err
	}
	before, err := sched.Snapshot()
	if err != nil {
		return err
	}
	actions, err := sched.Schedule(now)
	if err != nil || len(actions) > 0 {
		return fmt.Errorf("L1: an idle pass gave %d orders: %v", len(actions), err)
	}
	after, err := sched.Snapshot()
	if err != nil || string(before) != string(after) {
		return fmt.Errorf("L1: an idle pass changed the state: %v", err)
	}
	return nil
}

// leave has everything go: jobs are cancelled and released, nodes lost, queues
// removed.
func (r *run) leave() {
	sched := r.sim.Core()
	now := sched.Now() + 1
	tell := func(e berth.Event) { r.applied(now, e, sched.Apply(now, e)) }
	for _, id := range r.jobs() {
		tell(berth.JobCancelled{Job: id})
	}
	actions, err := sched.Schedule(now)
	r.verify(err)
	r.scheduled(now, actions)
	for _, a := range actions {
		tell(berth.OrderReported{Order: a.Header().ID, Outcome: berth.OutcomeDone})
	}
	for _, n := range r.nodes() {
		tell(berth.NodeLost{Node: n})
	}
	queues := sched.Report().Queues
	for range 3 { // children first; what has some is refused at first
		for _, q := range queues {
			if sched.Apply(now, berth.QueueRemoved{Queue: q.Queue}) == nil {
				r.verify(r.checker.Applied(now, berth.QueueRemoved{Queue: q.Queue}))
			}
		}
	}
}

// jobs and nodes are those of which the run has heard, gone or not.
func (r *run) jobs() (ids []berth.JobID) {
	for _, s := range r.log {
		switch e := s.event.(type) {
		case berth.JobSubmitted:
			ids = append(ids, e.Job.ID)
		case berth.JobObserved:
			ids = append(ids, e.Job.ID)
		}
	}
	return ids
}

func (r *run) nodes() (ids []berth.NodeID) {
	for _, s := range r.log {
		if e, ok := s.event.(berth.NodeJoined); ok {
			ids = append(ids, e.Node.ID)
		}
	}
	return ids
}
