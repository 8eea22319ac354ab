package berth

import (
	"cmp"
	"slices"
)

// Off switches off what a field of a [Policy] is about. In JSON it is "off" for a span and -1 for a
// number.
const Off = -1

// DefaultPolicy returns the policy that the zero value means, with each default written out, to
// change a field of:
//
//	policy := berth.DefaultPolicy()
//	policy.ReserveAfter *= 2 // of what it is by default
//	policy.ReservedGangs = 0 // no reservations
//
// ZeroIsOff is set in it, so that 0 means none. Without that, a field set to 0 would be back at its
// default. Pointers would tell 0 from unset as well, but a policy could not be written as a literal
// then, nor compared. Fields that matter only beside another have their defaults too, such as
// Health.Quarantine.
func DefaultPolicy() Policy {
	p := Policy{Health: Health{Losses: 1}}.WithDefaults()
	p.Health.Losses = 0
	p.ZeroIsOff = true
	return p
}

// WithDefaults returns the limits with defaults for the fields that are zero: the limits that hold,
// for an operator to see or to compare.
func (l Limits) WithDefaults() Limits {
	setDefault(&l.Nodes, 65_536)
	setDefault(&l.Queues, 16_384)
	setDefault(&l.Replicas, 2_097_152)
	setDefault(&l.Members, 65_536)
	setDefault(&l.SurplusMembers, 1024)
	setDefault(&l.Groups, 64)
	setDefault(&l.Reservations, 1024)
	return l
}

// WithDefaults returns the policy as a core keeps it: with defaults for the fields that are zero,
// or Off for them where ZeroIsOff says so, and without ZeroIsOff. Policies that mean the same are
// equal then, so an orchestrator shows with it what a policy would mean, and tells a change of
// meaning from one of words.
func (p Policy) WithDefaults() Policy {
	(&filling{zeroIsOff: p.ZeroIsOff}).policy(&p)
	p.ZeroIsOff = false
	p.Preemption.Grace = slices.Clone(p.Preemption.Grace)
	p.Preemption.Queues = slices.Clone(p.Preemption.Queues)
	slices.SortFunc(p.Preemption.Queues, func(a, b QueuePreemption) int { return cmp.Compare(a.Queue, b.Queue) })
	p.Caps = slices.Clone(p.Caps)
	slices.SortFunc(p.Caps, func(a, b QueueCaps) int { return cmp.Compare(a.Queue, b.Queue) })
	p.Budgets = slices.Clone(p.Budgets)
	slices.SortFunc(p.Budgets, Budget.Compare)
	p.HotSpares = slices.Clone(p.HotSpares)
	for i := range p.HotSpares {
		setOff(&p.HotSpares[i].NodesMilli)
	}
	p.Geometry = slices.Clone(p.Geometry)
	for i := range p.Geometry {
		p.Geometry[i] = p.Geometry[i].WithDefaults()
	}
	return p
}

// WithDefaults returns the geometry with defaults for the fields that are zero. Of the zero
// Geometry it is what holds in a pool for which the policy has none.
func (g Geometry) WithDefaults() Geometry {
	setDefault(&g.Cost, 30*Second)
	setDefault(&g.Interval, 10*Minute)
	setDefault(&g.PerHour, 12)
	setDefault(&g.HoldLimit, Hour)
	g.Layout = slices.Clone(g.Layout)
	return g
}

// checkZeros refuses what is 0, where that is off and the field cannot be.
func (p *Policy) checkZeros() *Error {
	filled, f := *p, filling{zeroIsOff: p.ZeroIsOff}
	if f.policy(&filled); f.refused != "" {
		return refuse(ErrInvalid, f.refused, "is 0, and cannot be off; zeroIsOff leaves nothing to its default")
	}
	return nil
}

// A filling is how the zeros of a policy are filled in. It is the one list of its defaults.
type filling struct {
	zeroIsOff bool
	// refused is the first field that is 0 and cannot be off, where zeroIsOff.
	refused string
}

func (f *filling) policy(p *Policy) {
	fill(f, "bindTimeout", &p.BindTimeout, 2*Minute)
	fill(f, "releaseTimeout", &p.ReleaseTimeout, Minute)
	fill(f, "releaseAttempts", &p.ReleaseAttempts, 3)
	fill(f, "retryBackoff", &p.RetryBackoff, 5*Second)
	fill(f, "maxRetryBackoff", &p.MaxRetryBackoff, max(5*Minute, p.RetryBackoff))
	fill(f, "passBudget", &p.PassBudget, 10_000)
	fill(f, "reserveAfter", &p.ReserveAfter, 5*Minute)
	fillOrOff(f, &p.Stretch, 2)
	fillOrOff(f, &p.ReservedGangs, 1)
	fill(f, "reservationTimeout", &p.ReservationTimeout, 30*Minute)
	fill(f, "assumedRuntime", &p.AssumedRuntime, 24*Hour)
	fillOrOff(f, &p.RuntimeSamples, 32)
	fill(f, "backfillBudget", &p.BackfillBudget, 200)
	fill(f, "repartitionTimeout", &p.RepartitionTimeout, 5*Minute)
	setOff(&p.UsageHalfLife)
	setOff(&p.OverLimit.After)
	f.preemption(&p.Preemption)
	fillOrOff(f, &p.Lending.QuietMilli, 50)
	fillOrOff(f, &p.Lending.QuietFor, Minute)
	fillOrOff(f, &p.Idle.QuietMilli, 50)
	setOff(&p.Idle.QuietFor)
	fillOrOff(f, &p.Idle.Grace, 10*Minute)
	fill(f, "defragmentation.maxMoves", &p.Defragmentation.MaxMoves, 8)
	f.health(&p.Health)
}

func (f *filling) preemption(p *Preemption) {
	setOff(&p.MinRuntime)
	fillOrOff(f, &p.MaxMinRuntime, Day)
	fillOrOff(f, &p.MaxRatio, 16)
	fillOrOff(f, &p.GuaranteeWithin, Day)
	fill(f, "preemption.checkpointTimeout", &p.CheckpointTimeout, 5*Minute)
	fillOrOff(f, &p.Cooldown, 5*Minute)
	for _, rate := range []*RateLimit{&p.RateLimit, &p.QueueRateLimit} {
		if rate.Evictions == Off || f.zeroIsOff && rate.Evictions == 0 {
			*rate = RateLimit{}
		}
	}
	fillOrOff(f, &p.Gain.Interactive, Hour)
	fillOrOff(f, &p.Gain.LatencyCritical, Day)
	fillOrOff(f, &p.Gain.Turn, 10*Minute)
	fillOrOff(f, &p.Gain.WaitMilli, 1000)
	fillOrOff(f, &p.Gain.Queueing, 5*Minute)
}

// health drops, where zeroIsOff, what does not matter: DefaultPolicy has it for a policy that
// switches Losses or BurnIn on.
func (f *filling) health(h *Health) {
	setOff(&h.Losses)
	setOff(&h.BurnIn)
	switch {
	case h.Losses > 0:
		fill(f, "health.quarantine", &h.Quarantine, Hour)
	case f.zeroIsOff:
		h.Quarantine = 0
	}
	switch {
	case h.Losses > 0 || h.BurnIn > 0:
		fill(f, "health.within", &h.Within, Day)
	case f.zeroIsOff:
		h.Within = 0
	}
}

// fill has the default for a field that is 0 and cannot be off.
func fill[T ~int | ~int64](f *filling, name string, field *T, value T) {
	switch {
	case !f.zeroIsOff:
		setDefault(field, value)
	case *field == 0 && f.refused == "":
		f.refused = name
	}
}

// fillOrOff has the default for a field that is 0, or Off where that is what 0 means.
func fillOrOff[T ~int | ~int64](f *filling, field *T, value T) {
	if f.zeroIsOff {
		value = Off
	}
	setDefault(field, value)
}

func setDefault[T ~int | ~int64](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}
