package check

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/mig"
)

// A Checker is the world as events and orders make it. Make one with New.
type Checker struct {
	levels []string
	// rails is the level inside which rails are cabled alike; empty: there are none.
	rails    string
	declared countable.Register
	policy   berth.Policy
	now      berth.Time
	last     berth.OrderID

	nodes map[berth.NodeID]*node
	// fabric is what FabricReported told of domains, in no order.
	fabric []berth.FabricReport
	queues map[berth.QueueID]*queue
	tops   []*queue // those below no other
	jobs   map[berth.JobID]*job
	// books keeps account of GPU time; nil: none is kept.
	books *books

	// orders that are out, by ID.
	orders map[berth.OrderID]*replica
	// changes of GPUs that are out, by ID; and when those of each pool were ordered, in
	// the last hour.
	changes map[berth.OrderID]*change
	recent  map[string][]berth.Time
	// formerly has the IDs of all changes that were ever ordered.
	formerly map[berth.OrderID]bool
	// tables by which GPUs divide, by name: those that were told, and others as needed.
	tables map[string]*mig.Product
	// besides remembers what can exist beside instances, by table.
	besides map[*mig.Product]*beside
	// due replicas must get an order from the next pass: those to repair, and
	// those with members to stop.
	due set
	// waiting replicas back off; limited ones are pending and have a gang timeout; timed ones run,
	// and may not for ever.
	waiting, limited, timed set
	// touched replicas changed since the last pass.
	touched set

	// booked has the reservations that were made in advance. alone has the replicas
	// that have domains for themselves.
	booked map[berth.ReservationID]*reservation
	alone  set
	// clearing: some of them clear their nodes.
	clearing bool
	reserved
	evictions
	moving
	calm
	// ownGain: the core has a function of its own that says what is worth it. ownPolicy: it
	// is no core, and has a policy of its own.
	ownGain, ownPolicy bool
	spared
	loans
	idles
	// gone has the nodes that were lost.
	gone    map[berth.NodeID]*memory
	lengths lengths
	// losses are what hardware took since the last pass, without the causes.
	losses []berth.Loss
	// enlarged: the pass has started a gang that may have got more than its minimum since.
	// outranked are the gangs that it has started before one that ranks above them.
	enlarged  bool
	outranked []outranked

	budgets []*budget

	// brought are the gangs that the pass has told to go because of a limit.
	brought []*replica

	cases map[string]int
}

// New makes a checker for a core that is made with the same configuration.
func New(config berth.Config) *Checker {
	c := &Checker{
		levels:   slices.Clone(config.Levels),
		rails:    config.Fabric.RailLevel,
		declared: slices.Clone(config.Resources),
		policy:   inForce(config.Policy),
		nodes:    map[berth.NodeID]*node{},
		queues:   map[berth.QueueID]*queue{},
		jobs:     map[berth.JobID]*job{},
		orders:   map[berth.OrderID]*replica{},
		changes:  map[berth.OrderID]*change{},
		recent:   map[string][]berth.Time{},

		formerly:  map[berth.OrderID]bool{},
		tables:    map[string]*mig.Product{},
		besides:   map[*mig.Product]*beside{},
		due:       set{},
		waiting:   set{},
		limited:   set{},
		timed:     set{},
		touched:   set{},
		booked:    map[berth.ReservationID]*reservation{},
		alone:     set{},
		evictions: newEvictions(),
		ownGain:   config.Gain != nil,
		spared:    newSpared(),
		loans:     loans{borrowers: set{}},
		idles:     newIdles(),
		gone:      map[berth.NodeID]*memory{},
		lengths:   newLengths(),
		cases:     map[string]int{},
	}
	if config.Ledger {
		c.books = newBooks()
	}
	c.tellBudgets()
	return c
}

// NewForAnyPolicy makes a checker for a scheduler with a policy of its own. The order of jobs, the
// choice of victims and the reservations are then for that policy to say, and are not asserted.
// All else is: nothing is held twice, gangs are whole, limits and topology are kept, unsound
// hardware gets nothing, a victim is asked for a checkpoint first and its orders name the
// beneficiary, and nothing else is stopped without a cause.
func NewForAnyPolicy(config berth.Config) *Checker {
	c := New(config)
	c.ownPolicy = true
	return c
}

// inForce fills in the defaults that the comments of berth.Policy state.
func inForce(p berth.Policy) berth.Policy {
	if p.ZeroIsOff {
		w := &p.Preemption.Gain
		for _, count := range []*int{&p.ReservedGangs, &p.RuntimeSamples, &p.Stretch, &p.Preemption.MaxRatio, &w.WaitMilli} {
			*count = cmp.Or(*count, berth.Off)
		}
		for _, span := range []*berth.Duration{&p.Preemption.Cooldown, &p.Preemption.GuaranteeWithin, &p.Preemption.MaxMinRuntime, &w.Interactive, &w.LatencyCritical, &w.Turn, &w.Queueing} {
			*span = cmp.Or(*span, berth.Off)
		}
	}
	p.BindTimeout = cmp.Or(p.BindTimeout, 2*berth.Minute)
	p.ReleaseTimeout = cmp.Or(p.ReleaseTimeout, berth.Minute)
	p.ReleaseAttempts = cmp.Or(p.ReleaseAttempts, 3)
	p.RetryBackoff = cmp.Or(p.RetryBackoff, 5*berth.Second)
	p.MaxRetryBackoff = cmp.Or(p.MaxRetryBackoff, max(5*berth.Minute, p.RetryBackoff))
	p.ReserveAfter = cmp.Or(p.ReserveAfter, 5*berth.Minute)
	p.ReservedGangs = max(0, cmp.Or(p.ReservedGangs, 1))
	p.ReservationTimeout = cmp.Or(p.ReservationTimeout, 30*berth.Minute)
	p.AssumedRuntime = cmp.Or(p.AssumedRuntime, 24*berth.Hour)
	p.Stretch = cmp.Or(p.Stretch, 2)
	p.RuntimeSamples = max(0, cmp.Or(p.RuntimeSamples, 32))
	p.RepartitionTimeout = cmp.Or(p.RepartitionTimeout, 5*berth.Minute)
	p.Preemption.CheckpointTimeout = cmp.Or(p.Preemption.CheckpointTimeout, 5*berth.Minute)
	p.Preemption.MaxRatio = cmp.Or(p.Preemption.MaxRatio, 16)
	p.Preemption.GuaranteeWithin = max(0, cmp.Or(p.Preemption.GuaranteeWithin, 24*berth.Hour))
	p.Preemption = inForceHysteresis(p.Preemption)
	p.UsageHalfLife, p.Preemption.MinRuntime = max(0, p.UsageHalfLife), max(0, p.Preemption.MinRuntime)
	if p.ZeroIsOff {
		p.Lending.QuietMilli, p.Lending.QuietFor = cmp.Or(p.Lending.QuietMilli, berth.Off), cmp.Or(p.Lending.QuietFor, berth.Off)
		p.Idle.QuietMilli, p.Idle.Grace = cmp.Or(p.Idle.QuietMilli, berth.Off), cmp.Or(p.Idle.Grace, berth.Off)
	}
	p.Idle.QuietMilli, p.Idle.QuietFor, p.Idle.Grace = cmp.Or(p.Idle.QuietMilli, 50), max(0, p.Idle.QuietFor), cmp.Or(p.Idle.Grace, 10*berth.Minute)
	p.Lending.QuietMilli = cmp.Or(p.Lending.QuietMilli, 50)
	p.Lending.QuietFor = cmp.Or(p.Lending.QuietFor, berth.Minute)
	p.Health.Losses, p.Health.BurnIn = max(0, p.Health.Losses), max(0, p.Health.BurnIn)
	p.Health.Within = cmp.Or(p.Health.Within, berth.Day)
	p.Health.Quarantine = cmp.Or(p.Health.Quarantine, berth.Hour)
	return p
}

// Scheduled takes the orders of a pass. Give it every pass, also one without
// orders: time passes with it.
func (c *Checker) Scheduled(now berth.Time, actions []berth.Order) error {
	if err := c.advance(now); err != nil {
		return err
	}
	c.begin()
	c.beginEvictions()
	c.brought = nil
	clear(c.lodgers)
	c.enlarged, c.losses, c.outranked = false, nil, nil
	c.beginIdle()
	c.noteBudgets()
	c.expire()
	c.noteOverLimit()
	c.noteLoans()
	c.endVainStarts()
	for _, a := range actions {
		if err := c.ordered(a); err != nil {
			return err
		}
		c.noteLoans()
	}
	c.openGates()
	if err := c.afterPass(); err != nil {
		return err
	}
	if err := c.inRankOrder(actions); err != nil {
		return err
	}
	if err := c.keepsWhatRuns(); err != nil {
		return err
	}
	return c.followsProtocol()
}

// advance: clock readings never go back.
func (c *Checker) advance(now berth.Time) error {
	if now < c.now {
		return broken(PromiseClock, "%d was accepted after %d", now, c.now)
	}
	c.spend(now)
	c.now = now
	return nil
}

// Cases counts the situations that the run went through, by what they are, as in
// "nodeLost while binding".
func (c *Checker) Cases() map[string]int { return c.cases }

func (c *Checker) saw(what string) { c.cases[what]++ }

// replicas are those of all jobs, in no order.
func (c *Checker) replicas() iter.Seq[*replica] {
	return func(yield func(*replica) bool) {
		for _, j := range c.jobs {
			for _, rep := range j.replicas {
				if !yield(rep) {
					return
				}
			}
		}
	}
}

// States counts the replicas by state.
func (c *Checker) States() map[berth.ReplicaState]int {
	counts := map[berth.ReplicaState]int{}
	for rep := range c.replicas() {
		counts[rep.state]++
	}
	return counts
}

// A set is a set of replicas.
type set map[*replica]struct{}

func (s set) add(rep *replica)      { s[rep] = struct{}{} }
func (s set) remove(rep *replica)   { delete(s, rep) }
func (s set) has(rep *replica) bool { _, ok := s[rep]; return ok }

// sorted lists a set in order.
func (s set) sorted() []*replica { return inOrder(maps.Keys(s)) }

// inOrder lists replicas by job and number, so that the first violation is the same in every run.
func inOrder(replicas iter.Seq[*replica]) []*replica { return slices.SortedFunc(replicas, byName) }

func byName(a, b *replica) int {
	return cmp.Or(cmp.Compare(a.job.spec.ID, b.job.spec.ID), cmp.Compare(a.number, b.number))
}
