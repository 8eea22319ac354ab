package sim

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/unordered"
	"github.com/berth-sched/berth/mig"
)

// An executor is the pretend one: what it was ordered and what runs because of it.
type executor struct {
	jobs map[berth.JobID]*job
	// placed lists the gangs that have members, for faults to choose from.
	placed []*gang
	// changes of GPUs that were ordered, and are not known to be over.
	changes map[berth.OrderID]*change
	// stopped is told of every gang that is over, or has less than its minimum.
	stopped func(*gang)
}

// A job is what the executor has to know of one.
type job struct {
	spec    *berth.Job
	groups  []berth.Group // of the alternative as which it was started last
	offsets []int         // flat index of each group's first member; one more: the total
	runtime berth.Duration
	// written is how much of the run time is in its last checkpoint, with Options.Resume; of those
	// written unasked since the gang stopped.
	written   berth.Duration
	gangs     []*gang // by replica; nil where nothing was ordered
	cancelled bool
}

// A gang is one life of a replica.
type gang struct {
	job         *job
	number      int
	incarnation berth.Incarnation
	// order is the latest about it, previous the one before.
	order, previous berth.OrderID
	// where each member runs, by flat index; empty: it does not.
	where  []site
	counts []int // running members of each group
	slot   int   // position in executor.placed, or -1
	// clock: its end is set; since when its minimum runs, since when it makes progress, and from
	// how much. halted: its minimum runs no longer.
	clock, halted bool
	began, since  berth.Time
	base          berth.Duration
	// over: nothing that was ordered matters any more, as its job has finished, or otherwise.
	over, finished bool
}

// A site is where a member runs, or is being started.
type site struct {
	node     berth.NodeID
	gpus     berth.GPUSet
	instance mig.Placement
	running  bool
	// confirmed: the core was told that it runs.
	confirmed bool
}

func newJob(spec *berth.Job, runtime berth.Duration) *job {
	j := &job{spec: spec, runtime: runtime}
	j.become(0)
	return j
}

// groupsAs are the groups of one of its alternatives, from 1; 0: its own; nil: it has none of that
// number.
func (j *job) groupsAs(alternative int) []berth.Group {
	switch {
	case alternative == 0:
		return j.spec.Groups
	case alternative < 0 || alternative > len(j.spec.Alternatives):
		return nil
	}
	return j.spec.Alternatives[alternative-1].Groups
}

// become notes as what a job is started.
func (j *job) become(alternative int) {
	j.groups, j.offsets = j.groupsAs(alternative), nil
	total := 0
	for i := range j.groups {
		j.offsets = append(j.offsets, total)
		total += j.groups[i].Members
	}
	j.offsets = append(j.offsets, total)
}

// group finds a group by its name.
func (j *job) group(name string) int {
	return slices.IndexFunc(j.groups, func(g berth.Group) bool { return g.Name == name })
}

// flat is the flat index of a member.
func (j *job) flat(p *berth.MemberPlacement) int { return j.offsets[j.group(p.Group)] + p.Index }

// groupOf is the group of the member with a flat index.
func (j *job) groupOf(flat int) int {
	group := 0
	for flat >= j.offsets[group+1] {
		group++
	}
	return group
}

// gang returns the gang of a life of a replica; a former life of it is over.
func (s *Simulation) gang(h berth.OrderHeader) *gang {
	j := s.executor.jobs[h.Job]
	if j == nil {
		return nil
	}
	for h.Replica >= len(j.gangs) {
		j.gangs = append(j.gangs, nil)
	}
	g := j.gangs[h.Replica]
	if g == nil || g.incarnation != h.Incarnation {
		s.executor.end(g)
		g = &gang{
			job: j, number: h.Replica, incarnation: h.Incarnation, slot: -1,
			where: make([]site, j.offsets[len(j.offsets)-1]), counts: make([]int, len(j.groups)),
		}
		j.gangs[h.Replica] = g
	}
	return g
}

// end forgets what runs of a gang.
func (x *executor) end(g *gang) {
	if g == nil || g.over {
		return
	}
	x.stopped(g)
	g.over = true
	g.job.gangs[g.number] = nil
	if g.slot >= 0 {
		x.placed = unordered.Remove(x.placed, g.slot, func(g *gang, at int) { g.slot = at })
		g.slot = -1
	}
	if g.job.cancelled {
		x.endCancelled(g.job)
	}
}

// endCancelled forgets a cancelled job of which nothing runs.
func (x *executor) endCancelled(j *job) {
	if !slices.ContainsFunc(j.gangs, func(g *gang) bool { return g != nil }) {
		delete(x.jobs, j.spec.ID)
	}
}

// endJob forgets a job and whatever runs of it.
func (x *executor) endJob(id berth.JobID) {
	if j := x.jobs[id]; j != nil {
		for _, g := range j.gangs {
			x.end(g)
		}
		delete(x.jobs, id)
	}
}

// start notes that a member is being started, or runs.
func (x *executor) start(g *gang, p *berth.MemberPlacement, running bool) {
	flat := g.job.flat(p)
	g.where[flat] = site{p.Node, p.GPUs, p.Instance, running, running}
	if running {
		g.counts[g.job.groupOf(flat)]++
	}
	if g.slot < 0 {
		g.slot = len(x.placed)
		x.placed = append(x.placed, g)
	}
}

// stop notes that the member with a flat index does not run.
func (g *gang) stop(flat int) {
	at := &g.where[flat]
	if at.running {
		g.counts[g.job.groupOf(flat)]--
	}
	*at = site{}
}

// enough reports whether the minimum of every group runs.
func (g *gang) enough() bool {
	for i, n := range g.counts {
		least := g.job.groups[i].MinMembers
		if least == 0 {
			least = g.job.groups[i].Members
		}
		if n < least {
			return false
		}
	}
	return true
}

// idle reports whether no member runs or is being started.
func (g *gang) idle() bool {
	return !slices.ContainsFunc(g.where, func(at site) bool { return at.node != "" })
}

// carryOut takes an order: it is executed after a while.
func (s *Simulation) carryOut(a berth.Order) {
	h := a.Header()
	delay := s.options.StopDelay
	switch a := a.(type) {
	case berth.WarnIdle:
		return
	case berth.Drop:
		s.executor.endJob(h.Job)
		return
	case berth.Repartition:
		s.change(a)
		return
	case berth.RequestCheckpoint:
		s.ask(a)
		return
	case berth.Withdraw:
		s.withdraw(a)
		return
	case berth.Release:
		if j := s.executor.jobs[h.Job]; j != nil && (h.Cause.Code == berth.CauseMaxRuntime || h.Cause.Code == berth.CauseIdle) {
			j.cancelled = true // it does not come back
		}
	case berth.Bind:
		delay = s.options.StartDelay
		if j := s.executor.jobs[h.Job]; j != nil {
			j.become(a.Alternative)
		}
		if g := s.gang(h); g != nil {
			for i := range a.Members {
				s.executor.start(g, &a.Members[i], false)
			}
		}
	}
	if g := s.gang(h); g != nil {
		g.previous, g.order = g.order, h.ID
		s.queue.push(occurrence{at: s.now.Add(delay), what: executed, action: a, gang: g})
	} else if _, stops := a.(berth.Release); stops {
		s.reportGone(h, s.now.Add(delay)) // its job ended before the order came
	}
}

// reportGone reports at an instant that what was to be stopped does not run.
func (s *Simulation) reportGone(h berth.OrderHeader, at berth.Time) {
	s.queue.push(occurrence{at: at, what: told, event: berth.OrderReported{Order: h.ID, Outcome: berth.OutcomeDone}})
}

// execute is the end of an order: what was ordered happens, and is reported. An
// order that was overtaken or is overdue is left alone: whatever it asked for, the
// core has given it up.
func (s *Simulation) execute(a berth.Order, g *gang) error {
	h := a.Header()
	if r, ok := a.(berth.Repartition); ok {
		return s.executeChange(r)
	}
	if _, stops := a.(berth.Release); stops && g.finished && g.order == h.ID {
		s.reportGone(h, s.now)
	}
	if g.over || g.order != h.ID || h.Deadline <= s.now {
		return nil
	}
	switch a := a.(type) {
	case berth.Bind:
		if at := s.executor.waitsFor(&a); at > s.now {
			s.queue.push(occurrence{at: at, what: executed, action: a, gang: g})
			return nil
		}
		return s.report(g, h, s.ended(h, s.startAll(g, &a), len(a.Members)))
	case berth.Release:
		return s.report(g, h, s.ended(h, s.stopAll(g, &a), len(a.Members)))
	case berth.RequestCheckpoint:
		return s.written(a, g)
	}
	return nil
}

// startAll starts the members of a Bind, and returns those that fail to start.
func (s *Simulation) startAll(g *gang, b *berth.Bind) []berth.MemberRef {
	failed := s.failing("Bind", b.Members, s.options.Faults.BindFail, s.options.Faults.BindPartial)
	for i := range b.Members {
		p := &b.Members[i]
		flat := g.job.flat(p)
		at := &g.where[flat]
		for _, id := range b.After {
			if ch := s.executor.changes[id]; ch != nil && !ch.done && ch.needs(at) {
				g.stop(flat)
			}
		}
		switch {
		case slices.Contains(failed, p.Ref()):
			g.stop(flat)
		case at.node == "": // its node was lost, or it died while it was starting
			failed = append(failed, p.Ref())
		default:
			at.running = true
			g.counts[g.job.groupOf(flat)]++
		}
	}
	return failed
}

// stopAll stops the members of a Release, and returns those that do not stop.
func (s *Simulation) stopAll(g *gang, r *berth.Release) []berth.MemberRef {
	failed := s.failing("Release", r.Members, s.options.Faults.ReleaseFail, s.options.Faults.ReleasePartial)
	for i := range r.Members {
		if p := &r.Members[i]; !slices.Contains(failed, p.Ref()) {
			g.stop(g.job.flat(p))
		}
	}
	return failed
}

// failing draws which members of an order, a Bind or a Release, fail: all, some or, mostly, none.
func (s *Simulation) failing(order string, members []berth.MemberPlacement, all, some float64) []berth.MemberRef {
	every, part := s.fault(order+"Fail", all), s.fault(order+"Partial", some)
	if !every && !part {
		return nil
	}
	var failed []berth.MemberRef
	for i := range members {
		if every || s.random.IntN(3) == 0 {
			failed = append(failed, members[i].Ref())
		}
	}
	if len(failed) == 0 {
		failed = append(failed, members[s.random.IntN(len(members))].Ref())
	}
	return failed
}

// ended says how an order about so many members ended. If those that failed are all of
// them, Failed says the same as Partial.
func (s *Simulation) ended(h berth.OrderHeader, failed []berth.MemberRef, members int) berth.OrderReported {
	e := berth.OrderReported{Order: h.ID, Outcome: berth.OutcomeDone}
	switch {
	case len(failed) == members && s.random.IntN(2) == 0:
		e.Outcome, e.Reason = berth.OutcomeFailed, "none did as ordered"
	case len(failed) > 0:
		e.Outcome, e.Members, e.Reason = berth.OutcomePartial, failed, "some did not do as ordered"
	}
	return e
}

// report tells how an order ended, or fails to.
func (s *Simulation) report(g *gang, h berth.OrderHeader, e berth.OrderReported) error {
	switch f := &s.options.Faults; {
	case s.fault("ReportLost", f.ReportLost):
		s.lastAttempt(g, h)
		return nil
	case s.fault("ReportLate", f.ReportLate):
		wait := s.around(h.Deadline.Sub(s.now))
		s.queue.push(occurrence{at: s.now.Add(wait), what: told, event: e, gang: g})
		return nil
	case s.fault("ReportDouble", f.ReportDouble):
		again := s.now.Add(s.around(10 * berth.Second))
		s.queue.push(occurrence{at: again, what: told, event: e, gang: g})
	case s.fault("ReportOld", f.ReportOld):
		s.queue.push(occurrence{at: s.now, what: told, event: s.outdated(g)})
	}
	return s.tellOf(e, g)
}

// outdated is a report about something that is over.
func (s *Simulation) outdated(g *gang) berth.Event {
	job, life := g.job.spec.ID, g.incarnation-1
	switch draw := s.random.IntN(3); {
	case draw == 0 && g.previous > 0:
		return berth.OrderReported{Order: g.previous, Outcome: berth.OutcomeDone}
	case draw == 1 && life > 0 && g.job.spec.Service == nil:
		return berth.JobFinished{Job: job, Incarnation: life}
	case life > 0:
		first := berth.MemberRef{Group: g.job.groups[0].Name}
		return berth.MemberFailed{Job: job, Replica: g.number, Incarnation: life, Members: []berth.MemberRef{first}}
	}
	return berth.OrderReported{Order: g.order, Outcome: berth.OutcomeDone}
}

// tellOf tells an event about a gang, and does what follows from it.
func (s *Simulation) tellOf(e berth.Event, g *gang) error {
	accepted, err := s.apply(e)
	if err != nil || !accepted || g == nil || g.over {
		return err
	}
	if r, ok := e.(berth.OrderReported); ok {
		g.confirm(r.Order)
	}
	switch {
	case g.idle():
		s.executor.end(g)
	case !g.clock && g.enough():
		s.run(g)
	}
	return nil
}

// run sets the end of a gang that has its minimum, if its job has one: what is left of the
// run time, after the restart from a checkpoint.
func (s *Simulation) run(g *gang) {
	j := g.job
	if j.runtime == 0 || j.spec.Service != nil {
		return
	}
	g.clock, g.began, g.since, g.base = true, s.now, s.now, j.written
	if j.written > 0 {
		g.since = g.since.Add(j.spec.Checkpoint.RestartCost)
	}
	s.queue.push(occurrence{at: g.since.Add(j.runtime - j.written), what: finished, gang: g})
}

// confirm notes that the core knows what runs, if the report was about the latest order.
func (g *gang) confirm(id berth.OrderID) {
	for flat := range g.where {
		if g.order == id {
			g.where[flat].confirmed = g.where[flat].running
		}
	}
}

// lastAttempt ends a gang of which the core hears nothing any more after its last
// attempt to stop it.
func (s *Simulation) lastAttempt(g *gang, h berth.OrderHeader) {
	if g.order == h.ID && g.idle() && g.job.cancelled {
		s.executor.end(g)
	}
}

// finish ends a job by itself.
func (s *Simulation) finish(g *gang) error {
	if g.over || !g.enough() {
		return nil
	}
	accepted, err := s.apply(berth.JobFinished{Job: g.job.spec.ID, Incarnation: g.incarnation})
	if accepted {
		g.finished = true
		s.executor.endJob(g.job.spec.ID)
	}
	return err
}

// happen makes one occurrence happen.
func (s *Simulation) happen(o *occurrence) error {
	switch o.what {
	case executed:
		return s.execute(o.action, o.gang)
	case finished:
		return s.finish(o.gang)
	case overdue:
		s.changeOverdue(o.action.(berth.Repartition))
		return nil
	case looked:
		return s.look(o.node, o.gpu)
	case called:
		return o.do()
	default:
		if o.gang != nil {
			return s.tellOf(o.event, o.gang)
		}
		return s.arrive(Arrival{At: s.now, Event: o.event})
	}
}
