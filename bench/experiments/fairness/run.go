package fairness

import (
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/machine"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// A run is one week under one policy, and the books about it: what each team had,
// wanted and was entitled to, from the facts and orders alone.
type run struct {
	b      *experiment
	core   *core.Core
	tree   *quota.Tree // the same queues, without a past
	shares *quota.Shares
	leaves [len(teams)]quota.QueueIndex
	jobs   map[berth.JobID]*job
	// releases are those that are out.
	releases map[berth.OrderID]release
	broken   error // the first thing that makes no sense

	study.Clock // what is before From is not measured
	until       berth.Time
	// GPUs as of now. What a team wants is what it runs and what it waits for.
	has, wants, entitled, guarantees [len(teams)]int64
	// allocated is GPU-milliseconds since the beginning, as the ledger counts them.
	allocated [len(teams)]int64

	teams  [len(teams)]book
	ledger [len(teams)]berth.QueueTime // the core's, from the beginning
}

// A book is what is kept of a team in the week that counts.
type book struct {
	// GPU-milliseconds by slot. What it was due is its guarantee, as far as it wanted
	// that, and what it lacked is what it had less than that; off is |has - entitled|.
	had, entitled, wanted, off, due, lacked []int64
	waits                                   []berth.Duration
	// unstarted jobs wait at the end; their waits so far are among the waits.
	submitted, unstarted int
	// again counts the starts of jobs that had been started before.
	again int
}

type job struct {
	team      int
	gpus      int64 // that it asks for; held are those that it has
	held      int64
	submitted berth.Time
	started   bool
}

// A release takes GPUs from a job.
type release struct {
	job  *job
	gpus int64
}

// run plays the week of a seed.
func (b *experiment) run(policy berth.Policy, seed uint64) (*run, error) {
	r, err := b.newRun(policy)
	if err != nil {
		return nil, err
	}
	s := sim.New(r.core, sim.FromSlice(b.arrivals(seed)), sim.Options{Applied: r.applied, Scheduled: r.scheduled})
	if err := s.Run(r.until); err != nil {
		return nil, err
	}
	r.advance(r.core.Now())
	if err := r.audit(); err != nil {
		return nil, fmt.Errorf("seed %d: %w", seed, err)
	}
	r.advance(r.until)
	for _, id := range slices.Sorted(maps.Keys(r.jobs)) {
		if j := r.jobs[id]; !j.started && j.submitted >= r.From {
			r.teams[j.team].unstarted++
			r.started(j)
		}
	}
	return r, nil
}

func (b *experiment) newRun(policy berth.Policy) (*run, error) {
	r := &run{
		b: b, tree: quota.NewTree(), jobs: map[berth.JobID]*job{}, releases: map[berth.OrderID]release{},
		Clock: study.Clock{From: berth.Time(0).Add(warmUp)}, until: berth.Time(0).Add(warmUp + berth.Duration(b.Days)*berth.Day),
	}
	var err error
	if r.core, err = core.New(berth.Config{Policy: policy, Ledger: true}); err != nil {
		return nil, err
	}
	for i := range b.Nodes {
		if err := r.core.Apply(0, berth.NodeJoined{Node: machine.H100.Node(fmt.Sprintf("node-%04d", i))}); err != nil {
			return nil, err
		}
	}
	for _, q := range b.queues() {
		if err := r.core.Apply(0, berth.QueueSet{Queue: q}); err != nil {
			return nil, err
		}
		if _, err := r.tree.Set(q); err != nil {
			return nil, err
		}
	}
	if err := r.tree.SetCapacity(quota.GPUMilli, b.gpus()*1000); err != nil {
		return nil, err
	}
	if r.shares, err = quota.NewShares(r.tree, quota.GPUMilli, 1000); err != nil {
		return nil, err
	}
	slots := int(r.until.Sub(r.From) / study.Slot)
	for i, t := range teams {
		r.leaves[i], _ = r.tree.Lookup(berth.QueueID(t.name))
		r.guarantees[i] = b.guarantee(i)
		for _, series := range r.teams[i].series() {
			*series = make([]int64, slots)
		}
	}
	return r, nil
}

func (f *book) series() []*[]int64 {
	return []*[]int64{&f.had, &f.entitled, &f.wanted, &f.off, &f.due, &f.lacked}
}

// applied sees a fact.
func (r *run) applied(now berth.Time, e berth.Event, err error) {
	if err != nil {
		r.fault(fmt.Errorf("%s was refused: %w", e.Kind(), err))
		return
	}
	r.advance(now)
	switch e := e.(type) {
	case berth.JobSubmitted:
		r.submit(&e.Job)
	case berth.JobFinished:
		j := r.jobs[e.Job]
		r.hold(j, -j.held)
		r.want(j, -j.gpus)
		delete(r.jobs, e.Job)
	case berth.OrderReported:
		if out, ok := r.releases[e.Order]; ok && e.Outcome == berth.OutcomeDone {
			r.hold(out.job, -out.gpus)
			delete(r.releases, e.Order)
		}
	}
}

// scheduled sees the orders of a pass. What a Bind gives is held from then on, what a
// Release takes until that is reported. Orders that move no GPU do not matter here.
func (r *run) scheduled(now berth.Time, actions []berth.Order) {
	r.advance(now)
	for _, action := range actions {
		j := r.jobs[action.Header().Job]
		switch a := action.(type) {
		case berth.Bind:
			r.started(j)
			r.hold(j, gpusOf(a.Members))
		case berth.Release:
			r.releases[a.ID] = release{j, gpusOf(a.Members)}
		}
	}
}

func gpusOf(members []berth.MemberPlacement) int64 {
	sum := 0
	for i := range members {
		sum += members[i].GPUs.Len()
	}
	return int64(sum)
}

func (r *run) submit(spec *berth.Job) {
	group := &spec.Groups[0]
	j := &job{gpus: int64(group.Members * group.Claim.GPUs), submitted: r.Now}
	for teams[j.team].name != string(spec.Queue) {
		j.team++
	}
	r.jobs[spec.ID] = j
	if r.Now >= r.From {
		r.teams[j.team].submitted++
	}
	r.want(j, j.gpus)
}

// started notes how long a job waited for its first place, and that it has one again.
func (r *run) started(j *job) {
	f := &r.teams[j.team]
	switch {
	case j.started && r.Now >= r.From:
		f.again++
	case !j.started && j.submitted >= r.From:
		f.waits = append(f.waits, r.Now.Sub(j.submitted))
	}
	j.started = true
}

func (r *run) hold(j *job, gpus int64) {
	j.held += gpus
	r.has[j.team] += gpus
	sum := int64(0)
	for _, gpus := range r.has {
		sum += gpus
	}
	if r.has[j.team] < 0 || sum > r.b.gpus() {
		r.fault(fmt.Errorf("%s holds %d GPUs, and all %d of %d", teams[j.team].name, r.has[j.team], sum, r.b.gpus()))
	}
}

// want changes what a team wants, and so what everybody is entitled to.
func (r *run) want(j *job, gpus int64) {
	r.wants[j.team] += gpus
	if err := r.shares.SetDemand(r.leaves[j.team], r.wants[j.team]*1000); err != nil {
		r.fault(err)
	}
	for team, leaf := range r.leaves {
		r.entitled[team] = r.shares.Of(leaf) / 1000
	}
}

// advance books what stood until then.
func (r *run) advance(to berth.Time) {
	r.Advance(to, func(slot int, time berth.Duration) {
		span := int64(time)
		for team := range r.teams {
			r.allocated[team] += r.has[team] * span
			if slot < 0 {
				continue
			}
			f := &r.teams[team]
			f.had[slot] += r.has[team] * span
			f.entitled[slot] += r.entitled[team] * span
			f.wanted[slot] += r.wants[team] * span
			f.off[slot] += max(r.has[team]-r.entitled[team], r.entitled[team]-r.has[team]) * span
			due := min(r.guarantees[team], r.wants[team])
			f.due[slot] += due * span
			f.lacked[slot] += max(due-r.has[team], 0) * span
		}
	})
}

// audit compares the books with the core's ledger, to the millisecond.
func (r *run) audit() error {
	if r.broken != nil {
		return r.broken
	}
	_, queues := r.core.Ledger()
	for team, t := range teams {
		for _, q := range queues {
			if q.Queue == berth.QueueID(t.name) {
				r.ledger[team] = q
			}
		}
		if sum := r.ledger[team].Guaranteed + r.ledger[team].Borrowed; sum != r.allocated[team] {
			return fmt.Errorf("%s had %d GPU-milliseconds by the orders, and %d by the core's ledger", t.name, r.allocated[team], sum)
		}
	}
	return r.core.Check()
}

// fault keeps the first thing that makes no sense.
func (r *run) fault(err error) {
	if r.broken == nil {
		r.broken = err
	}
}
