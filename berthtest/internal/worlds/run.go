package worlds

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/check"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/core"
)

// A Run is one simulation with the checker at every step.
type Run struct {
	Checker  *check.Checker
	Sim      *sim.Simulation
	Journal  []string
	Cases    map[string]int
	passes   int
	late     int // passes after the faults have stopped
	restores int
	looked   int // how often its state was looked at
	// Thorough has all indexes looked at in each step.
	Thorough bool
	// Rarely, if more than 1, is how many steps go by between two looks at the state, and at
	// answers: on a large fleet, each takes as long as a thousand decisions.
	Rarely int
	// Evicted counts how often replicas were evicted, evictedLate after faults have stopped.
	Evicted, evictedLate map[berth.ReplicaRef]int
	// Pairs counts how often the first was evicted for the second when nothing came any more,
	// so that nobody's share changed.
	Pairs map[[2]berth.ReplicaRef]int
	// live are the jobs that were accepted, gone or not.
	live []berth.JobID
	// Log is what was told, for tests that tell it again.
	Log []Step
	// curious draws what is asked; the world is drawn without it.
	curious *rand.Rand
	Err     error
}

// A Step is one call of the core and its answer.
type Step struct {
	Now     berth.Time
	Event   berth.Event // nil: a pass
	Refused error
	Actions []berth.Order
}

// NewRun makes a run of a world of the swarm.
func NewRun(seed uint64) *Run { return NewRunWith(seed, nil) }

// NewRunWith makes a run whose options are changed after they were drawn.
func NewRunWith(seed uint64, change func(*sim.Options)) *Run {
	config, options, list := NewGenerator(seed).World()
	return RunOf(config, options, list, change)
}

// RunOf makes a run of a world, whose options may be changed when the run watches it.
func RunOf(config berth.Config, options sim.Options, workload []sim.Arrival, changes ...func(*sim.Options)) *Run {
	return RunWith(config, options, func(*Run) sim.Workload { return sim.FromSlice(workload) }, changes...)
}

// RunWith is RunOf with a workload that may look at the run.
func RunWith(config berth.Config, options sim.Options, workload func(*Run) sim.Workload, changes ...func(*sim.Options)) *Run {
	sched, err := core.New(config)
	if err != nil {
		panic(err)
	}
	return RunOn(config, sched, options, workload, changes...)
}

// RunOn is RunWith on a core that is there already. The checker gets the configuration as it was
// told, in which what is left out is zero.
func RunOn(config berth.Config, sched *core.Core, options sim.Options, workload func(*Run) sim.Workload, changes ...func(*sim.Options)) *Run {
	r := &Run{Checker: check.New(config), Cases: map[string]int{}, Evicted: map[berth.ReplicaRef]int{}, evictedLate: map[berth.ReplicaRef]int{}, Pairs: map[[2]berth.ReplicaRef]int{}}
	options.Applied, options.Scheduled, options.Restored = r.applied, r.scheduled, r.restored
	for _, change := range changes {
		if change != nil {
			change(&options)
		}
	}
	r.Sim = sim.New(sched, workload(r), options)
	return r
}

func (r *Run) applied(now berth.Time, e berth.Event, refused error) {
	r.Log = append(r.Log, Step{Now: now, Event: e, Refused: refused})
	line, _ := berth.EncodeEvent(e)
	if refused != nil {
		r.note("%d refused %s: %v", now, line, refused)
		r.verify(r.Checker.Rejected(now, e, refused))
		return
	}
	r.note("%d %s", now, line)
	switch e := e.(type) {
	case berth.JobSubmitted:
		r.live = append(r.live, e.Job.ID)
	case berth.JobObserved:
		r.live = append(r.live, e.Job.ID)
	}
	r.verify(r.Checker.Applied(now, e))
	r.state()
	r.ask(e)
}

func (r *Run) scheduled(now berth.Time, actions []berth.Order) {
	r.Log = append(r.Log, Step{Now: now, Actions: actions})
	r.passes++
	if now >= Faults {
		r.late++
	}
	r.note("%d pass", now)
	for _, a := range actions {
		line, _ := berth.EncodeOrder(a)
		r.note("  %s", line)
		r.noteEviction(a)
	}
	r.verify(r.Checker.Scheduled(now, actions))
	r.state()
	r.ask(nil)
	wake, due := r.Sim.Core().NextWake()
	if r.verify(r.Checker.Wakes(wake, due)); !due || wake > now {
		r.verify(r.Checker.Served())
	}
	if r.passes%(8*max(1, r.Rarely)) == 0 {
		r.explain()
	}
}

// explain asks about every job: promise E1, a job that waits has a reason, and what would
// help.
func (r *Run) explain() {
	sched := r.Sim.Core()
	for _, id := range r.live {
		e, err := sched.Explain(id)
		if err != nil {
			continue // it is gone
		}
		r.verify(r.Checker.Explained(&e))
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
				r.Cases["explained "+string(rep.Reason.Code)]++
			}
		}
	}
}

// plausible reports whether the instants of an expected start are in order, and the first of
// them, but of a reservation, is not over.
func plausible(now berth.Time, r *berth.Reason) bool {
	f := r.ExpectedStart
	return f.IsZero() || f.Earliest <= f.Middle && f.Middle <= f.Late && (f.Earliest >= now || r.Reservation != nil)
}

func (r *Run) restored(now berth.Time) {
	r.note("%d restored", now)
	r.Checker.Restored()
	for state, n := range r.Checker.States() {
		if n > 0 {
			r.Cases["restored with "+state.String()]++
		}
	}
	for _, a := range r.Sim.Core().Outstanding() {
		if a.Kind() == "repartition" {
			r.Cases["restored with a repartition"]++
		}
	}
	r.countVictims(r.Sim.Core())
	r.untrusted(r.Sim.Core())
	for _, s := range r.Sim.Core().Report().Reservations {
		switch {
		case s.Moving:
			r.Cases["restored with a place that is kept"]++
		case s.ID == "":
			r.Cases["restored with a reservation of a gang"]++
		default:
			r.Cases["restored with an advance reservation"]++
		}
	}
	r.state()
	if r.restores++; r.restores%4 == 0 {
		r.explain()
	}
}

// indexesEvery is how many steps go by between two looks at all indexes of a core. An index that
// is wrong stays so, and the indexes of all steps would take a third of the time of a drawn
// world: more worlds find more. A thorough run looks in each step.
const indexesEvery = 4

// state holds the core's own view of its state against the checker's.
func (r *Run) state() {
	sched := r.Sim.Core()
	r.looked++
	r.verify(r.Checker.AgainstReport(sched.Report())) // it learns of reservations there
	if r.rare() {
		return
	}
	if r.looked%indexesEvery == 0 || r.Thorough {
		r.verify(sched.Check())
	}
	r.verify(r.Checker.Outstanding(sched.Outstanding()))
	r.verify(r.Checker.Lost(sched.Lost()))
	r.verify(r.Checker.AgainstLedger(sched.Ledger()))
}

// rare reports whether this step is none of those in which a run looks that looks rarely.
func (r *Run) rare() bool { return r.Rarely > 1 && r.looked%r.Rarely != 0 }

// verify keeps the first violation, and where the journal stood.
func (r *Run) verify(err error) {
	if r.Err == nil && err != nil {
		r.Err = err
		r.note("VIOLATION %v", err)
	}
}

func (r *Run) note(format string, args ...any) {
	if r.Err == nil {
		r.Journal = append(r.Journal, fmt.Sprintf(format, args...))
	}
}

func (r *Run) Tail() string { return strings.Join(r.Journal[max(0, len(r.Journal)-60):], "\n") }

// All runs a world to its end: an hour and a half with arrivals and faults, then as
// long as it takes until nothing happens any more. That may be long, in few passes: where
// nobody ends, each gang that waits has a reservation once, and each is expected to come
// true twice as late as the one before. Passes are counted from when the faults have stopped: a
// storm of faults may need as many as it likes.
func (r *Run) All() error {
	for r.Err == nil {
		at, any := r.Sim.Next()
		if !any {
			break
		}
		if err := r.Sim.Run(at); err != nil && r.Err == nil {
			return err
		}
		if r.late > 20_000 {
			return fmt.Errorf("L1: %d passes after the faults, and no end", r.late)
		}
	}
	if r.Err != nil {
		return r.Err
	}
	return r.rest()
}

// rest asserts that the fleet has settled: nothing is under way, another pass
// changes nothing, and what waits does not fit.
func (r *Run) rest() error {
	sched := r.Sim.Core()
	now := sched.Now()
	r.Cases["drained"] += int(sched.Report().Totals.GPUHolds)
	if err := cmp.Or(sched.Check(), r.Checker.Quiescent(now)); err != nil {
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

// Leave has everything go: jobs are cancelled and released, nodes lost, queues
// removed.
func (r *Run) Leave() {
	sched := r.Sim.Core()
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
				r.verify(r.Checker.Applied(now, berth.QueueRemoved{Queue: q.Queue}))
			}
		}
	}
}

// jobs and nodes are those of which the run has heard, gone or not.
func (r *Run) jobs() (ids []berth.JobID) {
	for _, s := range r.Log {
		switch e := s.Event.(type) {
		case berth.JobSubmitted:
			ids = append(ids, e.Job.ID)
		case berth.JobObserved:
			ids = append(ids, e.Job.ID)
		}
	}
	return ids
}

func (r *Run) nodes() (ids []berth.NodeID) {
	for _, s := range r.Log {
		if e, ok := s.Event.(berth.NodeJoined); ok {
			ids = append(ids, e.Node.ID)
		}
	}
	return ids
}
