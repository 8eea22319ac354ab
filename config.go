package berth

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/internal/enum"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/limits"
	"github.com/berth-sched/berth/quota"
)

// A Config is what a core is made with. Only the policy changes later, by [PolicyChanged];
// everything else that changes comes as an event.
//
// The zero value is valid: a flat fleet with the default limits and policy. Preemption is on in
// it: a queue takes back what it is guaranteed, and within a queue the higher class or priority
// takes the place of the lower. Policy.Preemption.Mode says otherwise.
type Config struct {
	// Levels names the levels of the fleet's topology between the fleet itself
	// and its nodes, from the widest to the narrowest: "spine", "leaf". Every
	// node stands in one domain of each. "fleet" and "node" are taken.
	Levels []string `json:"levels,omitempty"`
	// Fabric is what the links of the fleet are like.
	Fabric Fabric `json:"fabric,omitzero"`
	// Resources are further things that nodes have and members need, by name: up to
	// [countable.MaxDeclared]. A snapshot and a journal have them, and they never change.
	Resources countable.Register `json:"resources,omitempty"`
	// Limits bound the core's memory.
	Limits Limits `json:"limits,omitzero"`
	// Policy is how the core decides.
	Policy Policy `json:"policy,omitzero"`
	// Ledger keeps account of GPU time, for chargeback: Core.Ledger of package core tells it.
	// It grows with the queues, classes, products and tenants that used GPUs, until
	// [LedgerSettled].
	Ledger bool `json:"ledger,omitempty"`
	// Gain replaces the function that says what a preemption gains; nil: the standard one. It
	// is no data, and so in no snapshot or journal: a core that has one is restored with the
	// same function: core.WithGain.
	Gain GainFunc `json:"-"`
	// Scorer ranks the places that members and gangs may go to; nil: what is asked for decides
	// (see Scorer). It is no data either: a snapshot has its name and its books, and
	// core.WithScorer brings it; a journal has its name, and journal.Replay is given it.
	Scorer Scorer `json:"-"`
}

// A Fabric says what the links of a fleet are like: which levels have a meaning
// beyond distance, and what the network between their domains carries.
type Fabric struct {
	// IslandLevel is the level at which domains are NVLink islands of several nodes,
	// such as the blocks of NVL72; empty: no island is larger than a node.
	IslandLevel string `json:"islandLevel,omitempty"`
	// RailLevel is the level inside which NIC i of every node is cabled to the same
	// leaf switch, so that traffic between equal GPU indexes crosses one switch; empty:
	// the fleet is not rail-optimised, and jobs cannot ask for alignment.
	RailLevel string `json:"railLevel,omitempty"`
	// Oversubscription has the levels that traffic leaves with less than what comes up from
	// below.
	Oversubscription []Oversubscription `json:"oversubscription,omitempty"`
}

// An Oversubscription is that of the uplinks above the domains of a level: those of a leaf
// with a ratio of 2:1 carry half of what its nodes can send.
type Oversubscription struct {
	Level string `json:"level"`
	// Ratio of downlink to uplink bandwidth, in thousandths: 1000 is none, 2000 is
	// 2:1.
	RatioMilli int64 `json:"ratioMilli"`
}

// Limits bound what the core holds. An event that would exceed one is refused
// with [ErrLimit]. Zero means the default.
type Limits struct {
	// Nodes in the fleet; default 65,536.
	Nodes int `json:"nodes,omitempty"`
	// Queues in the quota tree; default 16,384.
	Queues int `json:"queues,omitempty"`
	// Replicas, pending and placed, of all jobs together; default 2,097,152.
	Replicas int `json:"replicas,omitempty"`
	// Members of one replica; default 65,536.
	Members int `json:"members,omitempty"`
	// SurplusMembers of one replica, those above the minimums of its groups; default 1,024, and
	// always as many as the minimums themselves. A gang that is placed costs some 130 bytes for
	// each member, also for each that it lacks.
	SurplusMembers int `json:"surplusMembers,omitempty"`
	// Groups of one job; default 64.
	Groups int `json:"groups,omitempty"`
	// Reservations that were made in advance; default 1,024.
	Reservations int `json:"reservations,omitempty"`
}

// A Policy is how the core decides, as far as it can be chosen. Zero fields mean
// their defaults, so that preemption is on unless its Mode says otherwise. [DefaultPolicy] has the
// defaults written out, to change a field of.
//
// Default and off are written one way in all fields: 0 is the default, and [Off] is off. Where the
// default is off (UsageHalfLife, OverLimit.After, Idle.QuietFor, Health.Losses, Health.BurnIn,
// Preemption.MinRuntime) both are the same; so they are for a RateLimit and for
// HotSpares.NodesMilli. A mode has the word "off", and a list (HotSpares, Geometry) is off for a
// pool without an entry. A timeout, a budget or another field whose comment does not name Off
// cannot be off, and refuses it.
type Policy struct {
	// ZeroIsOff says that no field is left to its default: 0 is off, as Off is, and a field that
	// cannot be off refuses it. It does not reach into the entries of lists (Preemption.Grace,
	// HotSpares, Geometry), which are written one by one.
	ZeroIsOff bool `json:"zeroIsOff,omitempty"`
	// BindTimeout is how long a Bind may go unreported; default 2 minutes.
	BindTimeout Duration `json:"bindTimeout,omitempty"`
	// ReleaseTimeout is how long one attempt of a Release may go unreported;
	// default 1 minute.
	ReleaseTimeout Duration `json:"releaseTimeout,omitempty"`
	// ReleaseAttempts is how often a Release is given before its members are
	// presumed dead and their capacity free; default 3.
	ReleaseAttempts int `json:"releaseAttempts,omitempty"`
	// RetryBackoff is how long a replica waits after its first failed Bind, twice
	// as long after the second, and so on up to MaxRetryBackoff; defaults
	// 5 seconds and 5 minutes. A life whose members die within MaxRetryBackoff of
	// its start counts as a failed start, too; one that lasted longer backs off for
	// RetryBackoff. See [MemberFailed] for what is kept for the replica meanwhile.
	RetryBackoff    Duration `json:"retryBackoff,omitempty"`
	MaxRetryBackoff Duration `json:"maxRetryBackoff,omitempty"`
	// PassBudget bounds the placement attempts of one pass; the rest goes on in
	// the next. Default 10,000. A pass ends sooner where it has placed a few thousand
	// members.
	PassBudget int `json:"passBudget,omitempty"`

	// Locality is the dial between communication and packing.
	Locality Locality `json:"locality,omitzero"`

	// Stretch is the order in which jobs of a queue are served that are equal in class and
	// priority: as if each had been submitted later by so many times its expected run time, of
	// which AssumedRuntime counts at the most. So a short job passes a long one, and none waits
	// for jobs that come more than Stretch times AssumedRuntime after it; a service counts as
	// submitted when it is. Default 2; Off: in the
	// order of submission. It counts for jobs that are submitted from then on. See M. Bender, S.
	// Chakrabarti and S. Muthukrishnan, "Flow and Stretch Metrics for Scheduling Continuous Job
	// Streams", SODA 1998: where each job is due at its submission and a multiple of its run time,
	// the first that is due goes first.
	Stretch int `json:"stretch,omitempty"`

	// ReserveAfter is how long a gang waits at least, while others are started in its stead,
	// before it may get a reservation; default 5 minutes. A batch job of no priority that has not
	// run yet waits for its turn as well (see Stretch), but for no longer than half of
	// AssumedRuntime: until then short jobs are to pass it, and nodes that are set aside keep
	// them out.
	ReserveAfter Duration `json:"reserveAfter,omitempty"`
	// ReservedGangs is how many gangs of several nodes may have a reservation at a time,
	// and how many that fit on one: the first in the order in which queues are served.
	// Only what ranks above them delays those; all others are backfilled around them.
	// Default 1; Off: none.
	ReservedGangs int `json:"reservedGangs,omitempty"`
	// ReservationTimeout is how long after its expected start a reservation is kept
	// when the gang still cannot start, as when something runs for longer than it
	// said, and it is not put off meanwhile; default 30 minutes.
	ReservationTimeout Duration `json:"reservationTimeout,omitempty"`
	// AssumedRuntime is the expected run time of a job that states none, as long as none was
	// learned for its kind; default 24 hours.
	AssumedRuntime Duration `json:"assumedRuntime,omitempty"`
	// RuntimeSamples is how many jobs say how long the next one is expected to run: the latest
	// ones with its Program that finished and did not fail. Where fewer than four did, those of
	// as many GPUs say it, and else all jobs; instances of MIG count as no GPUs. A job that tells
	// a run time is expected to run for that times the middle ratio of run time to time told; one
	// that tells none, for the middle run time. So a job of minutes that tells a day by habit is
	// seen through, and one that tells the truth is believed. Every second job runs longer than
	// the middle one: reservations made in advance, and those of gangs that have waited for
	// AssumedRuntime, go by the time told, where that is longer. Jobs that are submitted from
	// then on count by it. Default 32, at most 128; Off: what a job tells is believed, and
	// AssumedRuntime where it tells nothing. The core remembers at most 4096 programs and numbers
	// of GPUs.
	RuntimeSamples int `json:"runtimeSamples,omitempty"`
	// BackfillBudget bounds how many waiting jobs one pass tries on reserved nodes;
	// default 200.
	BackfillBudget int `json:"backfillBudget,omitempty"`

	// UsageHalfLife is after how long what a queue used above its guarantee counts half. Such
	// a queue stands back: its weight counts less, down to a sixteenth, against queues that
	// used less, in the order in which queues are served. Default: Off, the past does not
	// count.
	UsageHalfLife Duration `json:"usageHalfLife,omitempty"`

	// Preemption says which running jobs may be evicted for which waiting ones. It is on by
	// default.
	Preemption Preemption `json:"preemption,omitzero"`
	// Defragmentation says whether running gangs are moved for one that waits.
	Defragmentation Defragmentation `json:"defragmentation,omitzero"`

	// Caps says how many jobs of a queue, and of each user in it, compete at a time; a queue that
	// has no entry, nor one above it, has no cap.
	Caps []QueueCaps `json:"caps,omitempty"`
	// Budgets says how much GPU time queues may use in all between two instants; a queue that has
	// no entry, nor one above it, may use any.
	Budgets []Budget `json:"budgets,omitempty"`

	// OverLimit says what becomes of jobs that run beyond a limit of their queue. By default they
	// run on.
	OverLimit OverLimit `json:"overLimit,omitzero"`

	// Lending says when GPUs that are held count as idle, so that jobs which may be lent are.
	Lending Lending `json:"lending,omitzero"`
	// Idle says when jobs hoard GPUs that they leave idle, and what becomes of them. It is off by
	// default.
	Idle IdlePolicy `json:"idle,omitzero"`

	// Health says how hardware that failed is trusted again.
	Health Health `json:"health,omitzero"`
	// HotSpares says how many nodes of each pool are kept for gangs that lose hardware; a pool
	// that has no entry keeps none.
	HotSpares []HotSpares `json:"hotSpares,omitempty"`

	// RepartitionTimeout is how long a Repartition may go unreported; default
	// 5 minutes.
	RepartitionTimeout Duration `json:"repartitionTimeout,omitempty"`
	// Geometry says how the GPUs of each pool may be divided; a pool that has no entry,
	// nor the entry for all others, is fixed.
	Geometry []Geometry `json:"geometry,omitempty"`
}

// A Locality says how far a gang without a required level may be scattered to keep
// whole domains whole. Requirements hold whatever the dial says.
type Locality uint8

const (
	// LocalityStrict: the lowest domain that holds the gang, always. Gangs run as fast as the
	// fleet lets them; whole domains are broken for it.
	LocalityStrict Locality = iota
	// LocalityBalanced: up to one level higher, where that breaks fewer whole domains.
	LocalityBalanced
	// LocalityLoose: as high as is allowed. The fleet packs best, gangs run slowest.
	LocalityLoose
)

const localityNames enum.Names = "Locality: strict|balanced|loose"

// String is the word for it, as in JSON.
func (l Locality) String() string { return enum.Text(localityNames, l) }

// MarshalText implements [encoding.TextMarshaler]. A value that is out of range is refused.
func (l Locality) MarshalText() ([]byte, error) { return enum.Marshal(localityNames, l, invalidText) }

// UnmarshalText implements [encoding.TextUnmarshaler]. An unknown word is refused with an
// *[Error].
func (l *Locality) UnmarshalText(b []byte) error {
	return enum.Unmarshal(localityNames, l, b, invalidText)
}

// Lending says when GPUs that are held count as idle. GPUs of jobs with a Job.Lend are lent then.
type Lending struct {
	// QuietMilli is the activity up to which a replica is quiet, as [ActivityReported] tells it: in
	// thousandths, below 1000. Default 50; Off: nothing is lent, and what is lent is given back. A
	// replica of which no report came in its present life is not quiet.
	QuietMilli int `json:"quietMilli,omitempty"`
	// QuietFor is how long a replica has to be quiet before its GPUs are lent; default one minute;
	// Off: they are lent at once.
	QuietFor Duration `json:"quietFor,omitempty"`
}

// An OverLimit says what becomes of what runs beyond a limit of its queue, or of one above it:
// quota.Queue.Limit, or the guarantee and quota.Queue.BorrowingLimit together, for GPUs, for those
// of a product or for the host. No start exceeds a limit; but one may be lowered below what is in
// use, and what runs already may be told. With the zero value that runs on.
type OverLimit struct {
	// Stop has the queue brought within its limit, by as little as is needed: first by the surplus
	// of elastic gangs; then by whole gangs. Those of queues that use more GPUs than their
	// guarantee go before others; then the lower class, the lower priority, those that hold no more
	// than is still too much, and the latest start. Each is asked for a checkpoint if it writes
	// any, has the grace of its class for that (see Preemption), is stopped with [CauseOverLimit],
	// and waits again. A limit that is raised meanwhile, or a job that ends, has requests withdrawn
	// that are not needed any more ([Withdraw]). MinRuntime, cooldowns and rate limits protect
	// none: a limit is an order, and no job gains by it. Not stopped are jobs with
	// Job.NonPreemptible, and borrowers of a GPU.
	Stop bool `json:"stop,omitempty"`
	// After is for how long a queue may be over a limit before that. Default: Off, not at all.
	After Duration `json:"after,omitempty"`
}

func (l *Lending) check() *Error {
	if l.QuietMilli < Off || l.QuietMilli >= 1000 {
		return refuse(ErrInvalid, "quietMilli", fmt.Sprintf("%d is outside -1..999", l.QuietMilli))
	}
	return checkSpan(unlessOff(l.QuietFor)).in("quietFor")
}

// Check refuses a configuration that makes no sense, by the path of the field. core.New asks it; an
// orchestrator that reads its configuration from a file can ask before it stops the old core.
func (c *Config) Check() error { return errorOf(c.check()) }

func (c *Config) check() *Error {
	for i, name := range c.Levels {
		if err := checkName(name); err != nil {
			return err.in(errtext.Index("levels", i))
		}
		if name == limits.LevelFleet || name == limits.LevelNode || slices.Contains(c.Levels[:i], name) {
			return refuse(ErrDuplicate, errtext.Index("levels", i), fmt.Sprintf("the level %q is taken", errtext.Short(name)))
		}
	}
	if len(c.Levels) > limits.MaxLevels {
		return refuse(ErrLimit, "levels", fmt.Sprintf("%d levels; the most is %d", len(c.Levels), limits.MaxLevels))
	}
	if err := c.Fabric.check(c.Levels); err != nil {
		return err.in("fabric")
	}
	if i, field, reason := c.Resources.Check(); i < 0 {
		return refuse(ErrLimit, "resources", reason)
	} else if reason != "" {
		return refuse(ErrInvalid, errtext.Path(errtext.Index("resources", i), field), reason)
	}
	if err := c.Limits.check(); err != nil {
		return err.in("limits")
	}
	if err := checkScorer(c.Scorer); err != nil {
		return err.in("scorer")
	}
	return c.Policy.check().in("policy")
}

// check refuses what the levels do not have.
func (f *Fabric) check(levels []string) *Error {
	for _, named := range []struct{ field, level string }{{"islandLevel", f.IslandLevel}, {"railLevel", f.RailLevel}} {
		if named.level != "" && !slices.Contains(levels, named.level) {
			return refuse(ErrUnknown, named.field, fmt.Sprintf("%q is not one of the levels", errtext.Short(named.level)))
		}
	}
	for i, t := range f.Oversubscription {
		switch {
		case !slices.Contains(levels, t.Level) && t.Level != limits.LevelNode:
			return refuse(ErrUnknown, errtext.Index("oversubscription", i)+".level", fmt.Sprintf("%q is not one of the levels", errtext.Short(t.Level)))
		case slices.ContainsFunc(f.Oversubscription[:i], func(u Oversubscription) bool { return u.Level == t.Level }):
			return refuse(ErrDuplicate, errtext.Index("oversubscription", i)+".level", fmt.Sprintf("%q has an oversubscription already", errtext.Short(t.Level)))
		case t.RatioMilli < 1000 || t.RatioMilli > 1_000_000:
			return refuse(ErrInvalid, errtext.Index("oversubscription", i)+".ratioMilli", fmt.Sprintf("%d is outside 1000..1000000", t.RatioMilli))
		}
	}
	return nil
}

func (l *Limits) check() *Error {
	for _, f := range []struct {
		name        string
		value, most int
	}{
		{"nodes", l.Nodes, 1 << 20},
		{"queues", l.Queues, 1 << 20},
		{"replicas", l.Replicas, 1 << 28},
		{"members", l.Members, 1 << 20},
		{"surplusMembers", l.SurplusMembers, 1 << 20},
		{"groups", l.Groups, 1 << 10},
		{"reservations", l.Reservations, 1 << 16},
	} {
		if f.value < 0 || f.value > f.most {
			return refuse(ErrInvalid, f.name, fmt.Sprintf("%d is outside 0..%d", f.value, f.most))
		}
	}
	return nil
}

// Check refuses a Policy that makes no sense, as [PolicyChanged] is refused: for the form or the
// webhook where operators change it.
func (p *Policy) Check() error { return errorOf(p.check()) }

func (p *Policy) check() *Error {
	if err := p.checkZeros(); err != nil {
		return err
	}
	if err := p.checkSpans(); err != nil {
		return err
	}
	if err := p.checkCounts(); err != nil {
		return err
	}
	if r := p.Preemption.MaxRatio; r < -1 || r > limits.MaxOrdinal {
		return refuse(ErrInvalid, "preemption.maxRatio", fmt.Sprintf("%d is outside -1..%d", r, limits.MaxOrdinal))
	}
	if int(p.Preemption.Mode) >= preemptionModeNames.Len() {
		return refuse(ErrInvalid, "preemption.mode", fmt.Sprintf("%d is out of range", p.Preemption.Mode))
	}
	if int(p.Defragmentation.Mode) >= defragmentationModeNames.Len() {
		return refuse(ErrInvalid, "defragmentation.mode", fmt.Sprintf("%d is out of range", p.Defragmentation.Mode))
	}
	if m := p.Defragmentation.MaxMoves; m < 0 || m > limits.MaxMovers {
		return refuse(ErrInvalid, "defragmentation.maxMoves", fmt.Sprintf("%d is outside 0..%d", m, limits.MaxMovers))
	}
	if err := p.Preemption.checkHysteresis(); err != nil {
		return err.in("preemption")
	}
	if err := p.Preemption.Gain.check(); err != nil {
		return err.in("preemption.gain")
	}
	if int(p.Locality) >= localityNames.Len() {
		return refuse(ErrInvalid, "locality", fmt.Sprintf("%d is out of range", p.Locality))
	}
	if p.MaxRetryBackoff != 0 && p.MaxRetryBackoff < p.RetryBackoff {
		return refuse(ErrInvalid, "maxRetryBackoff", "is shorter than retryBackoff")
	}
	if err := checkCaps(p.Caps); err != nil {
		return err.in("caps")
	}
	if err := checkBudgets(p.Budgets); err != nil {
		return err.in("budgets")
	}
	if err := p.Lending.check(); err != nil {
		return err.in("lending")
	}
	if err := p.Idle.check(); err != nil {
		return err.in("idle")
	}
	if err := p.Health.check(); err != nil {
		return err.in("health")
	}
	if err := checkHotSpares(p.HotSpares); err != nil {
		return err
	}
	return p.checkGeometry()
}

func (p *Policy) checkSpans() *Error {
	for _, f := range []struct {
		name  string
		value Duration
	}{
		{"bindTimeout", p.BindTimeout},
		{"releaseTimeout", p.ReleaseTimeout},
		{"retryBackoff", p.RetryBackoff},
		{"maxRetryBackoff", p.MaxRetryBackoff},
		{"reserveAfter", p.ReserveAfter},
		{"reservationTimeout", p.ReservationTimeout},
		{"assumedRuntime", p.AssumedRuntime},
		{"repartitionTimeout", p.RepartitionTimeout},
		{"usageHalfLife", unlessOff(p.UsageHalfLife)},
		{"preemption.minRuntime", unlessOff(p.Preemption.MinRuntime)},
		{"preemption.checkpointTimeout", p.Preemption.CheckpointTimeout},
		{"overLimit.after", unlessOff(p.OverLimit.After)},
	} {
		if err := checkSpan(f.value); err != nil {
			return err.in(f.name)
		}
	}
	if p.UsageHalfLife > quota.MaxHalfLife {
		return refuse(ErrLimit, "usageHalfLife", fmt.Sprintf("%v exceeds %v", p.UsageHalfLife, Duration(quota.MaxHalfLife)))
	}
	return nil
}

func (p *Policy) checkCounts() *Error {
	if p.ReleaseAttempts < 0 || p.ReleaseAttempts > limits.MaxOrdinal {
		return refuse(ErrInvalid, "releaseAttempts", fmt.Sprintf("%d is outside 0..%d", p.ReleaseAttempts, limits.MaxOrdinal))
	}
	for _, f := range []struct {
		name         string
		value, least int
	}{{"passBudget", p.PassBudget, 0}, {"reservedGangs", p.ReservedGangs, -1}, {"backfillBudget", p.BackfillBudget, 0}} {
		if f.value < f.least {
			return refuse(ErrInvalid, f.name, fmt.Sprintf("is negative: %d", f.value))
		}
	}
	if p.RuntimeSamples < Off || p.RuntimeSamples > limits.MaxRuntimeSamples {
		return refuse(ErrInvalid, "runtimeSamples", fmt.Sprintf("%d is outside -1..%d", p.RuntimeSamples, limits.MaxRuntimeSamples))
	}
	if p.Stretch < Off || p.Stretch > limits.MaxStretch {
		return refuse(ErrInvalid, "stretch", fmt.Sprintf("%d is outside -1..%d", p.Stretch, limits.MaxStretch))
	}
	if p.ReservedGangs > limits.MaxReservedGangs {
		return refuse(ErrLimit, "reservedGangs", fmt.Sprintf("%d exceed %d", p.ReservedGangs, limits.MaxReservedGangs))
	}
	return nil
}
