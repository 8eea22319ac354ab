package admission

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/core/internal/spec"
	"github.com/berth-sched/berth/core/internal/values"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/limits"
	"github.com/berth-sched/berth/topology"
)

// checkJob refuses a job that makes no sense, or that asks for what this version
// does not honour.
func (ad *Admission) checkJob(j *berth.Job) *berth.Error {
	if err := refusal.Name(string(j.ID)); err != nil {
		return refusal.In(err, "id")
	}
	if err := refusal.Name(string(j.Queue)); err != nil {
		return refusal.In(err, "queue")
	}
	if err := refusal.Text(string(j.Tenant)); err != nil {
		return refusal.In(err, "tenant")
	}
	if err := refusal.Text(j.User); err != nil {
		return refusal.In(err, "user")
	}
	if err := refusal.Text(j.Program); err != nil {
		return refusal.In(err, "program")
	}
	if j.Class > berth.ClassLatencyCritical {
		return refusal.Of(berth.ErrInvalid, "class", fmt.Sprintf("%d is out of range", j.Class))
	}
	if err := checkTimes(j); err != nil {
		return err
	}
	if j.Service != nil {
		if err := ad.CheckReplicas(j.Service.Replicas); err != nil {
			return refusal.In(err, "service.replicas")
		}
		if s := j.Service.Surge; s < 0 || s > limits.MaxSurge {
			return refusal.Of(berth.ErrInvalid, "service.surge", fmt.Sprintf("%d is outside 0..%d", s, limits.MaxSurge))
		}
		if j.GangTimeout != 0 {
			return refusal.Of(berth.ErrUnsupported, "gangTimeout", "a service has none")
		}
		if j.MaxRuntime != 0 {
			return refusal.Of(berth.ErrUnsupported, "maxRuntime", "a service has none")
		}
		if len(j.MaxRequeues) > 0 {
			return refusal.Of(berth.ErrUnsupported, "maxRequeues", "a service has none")
		}
	}
	if err := checkGates(j); err != nil {
		return err
	}
	if err := ad.checkGangTopology(&j.Topology); err != nil {
		return refusal.In(err, "topology")
	}
	if err := ad.checkParts(&j.Topology); err != nil {
		return refusal.In(err, "topology")
	}
	if err := ad.checkGroups(j); err != nil {
		return err
	}
	if err := checkLending(j); err != nil {
		return err
	}
	if err := checkNonPreemptible(j); err != nil {
		return err
	}
	if err := checkRequeues(j.MaxRequeues); err != nil {
		return refusal.In(err, "maxRequeues")
	}
	if err := checkSameLabels(j); err != nil {
		return refusal.In(err, "sameLabels")
	}
	return ad.checkAlternatives(j)
}

// checkAlternatives refuses what a job may run as beside its own gang: where it would be refused by
// itself, and of jobs that have no alternatives.
func (ad *Admission) checkAlternatives(j *berth.Job) *berth.Error {
	switch {
	case j.Choose > berth.ChooseSoonest:
		return refusal.Of(berth.ErrInvalid, "choose", fmt.Sprintf("%d is out of range", j.Choose))
	case len(j.Alternatives) == 0 && j.Choose != berth.ChooseFirst:
		return refusal.Of(berth.ErrInvalid, "choose", "the job has no alternatives")
	case len(j.Alternatives) == 0:
		return nil
	case len(j.Alternatives) > limits.MaxAlternatives:
		return refusal.Of(berth.ErrLimit, "alternatives", fmt.Sprintf("%d alternatives; the most is %d", len(j.Alternatives), limits.MaxAlternatives))
	case j.Service != nil:
		return refusal.Of(berth.ErrUnsupported, "alternatives", "the replicas of a service are alike")
	}
	if err := checkOption(j); err != nil {
		return err
	}
	for i := range j.Alternatives {
		as := *j
		as.Groups, as.Topology, as.Alternatives, as.Choose = j.Alternatives[i].Groups, j.Alternatives[i].Topology, nil, 0
		err := ad.checkJob(&as)
		if err == nil {
			err = checkOption(&as)
		}
		if err != nil {
			return refusal.In(err, errtext.Index("alternatives", i))
		}
	}
	return nil
}

// checkOption refuses a gang that is no alternative to others.
func checkOption(j *berth.Job) *berth.Error {
	for i := range j.Groups {
		switch g := &j.Groups[i]; {
		case record.Least(g) != g.Members:
			return refusal.Of(berth.ErrUnsupported, errtext.Index("groups", i)+".minMembers", "an elastic gang has no alternatives")
		case g.Claim.Borrow != nil:
			return refusal.Of(berth.ErrUnsupported, errtext.Index("groups", i)+".claim.borrow", "a borrower has no alternatives")
		}
	}
	return nil
}

// checkNonPreemptible refuses a job that is never preempted and has something that others may take.
func checkNonPreemptible(j *berth.Job) *berth.Error {
	if !j.NonPreemptible {
		return nil
	}
	for i := range j.Groups {
		switch g := &j.Groups[i]; {
		case record.Least(g) != g.Members:
			return refusal.Of(berth.ErrUnsupported, "nonPreemptible", "an elastic gang has members that others may take")
		case g.Claim.Borrow != nil:
			return refusal.Of(berth.ErrUnsupported, "nonPreemptible", "a borrower gives back when it has to")
		}
	}
	return nil
}

// comesBackFor reports whether a cause is one for which a gang comes back to the queue.
func comesBackFor(cause berth.CauseCode) bool {
	switch cause {
	case berth.CauseBindFailed, berth.CauseBindExpired, berth.CauseHardwareLost, berth.CauseMemberFailed, berth.CausePreempted, berth.CauseReclaimed,
		berth.CauseDrained, berth.CauseMoved, berth.CauseGivenBack, berth.CauseOverLimit, berth.CauseBudget, berth.CauseRepartitionFailed:
		return true
	}
	return false
}

// checkRequeues refuses caps for no cause by which a gang comes back, or for one twice.
func checkRequeues(caps []berth.RequeueCap) *berth.Error {
	if len(caps) > limits.MaxRequeueCaps {
		return refusal.Of(berth.ErrLimit, "", fmt.Sprintf("%d causes; the most is %d", len(caps), limits.MaxRequeueCaps))
	}
	for i, c := range caps {
		at := errtext.Index("", i)
		switch {
		case !comesBackFor(c.Cause):
			return refusal.Of(berth.ErrInvalid, at+".cause", fmt.Sprintf("%q is none for which a gang comes back to the queue", errtext.Short(c.Cause)))
		case slices.ContainsFunc(caps[:i], func(other berth.RequeueCap) bool { return other.Cause == c.Cause }):
			return refusal.Of(berth.ErrDuplicate, at+".cause", fmt.Sprintf("%q has a cap already", c.Cause))
		case c.Requeues < 0 || c.Requeues > limits.MaxOrdinal:
			return refusal.Of(berth.ErrInvalid, at+".requeues", fmt.Sprintf("%d is outside 0..%d", c.Requeues, limits.MaxOrdinal))
		}
	}
	return nil
}

// checkTimes refuses spans of a job that are negative or too long, and a limit that leaves no time.
func checkTimes(j *berth.Job) *berth.Error {
	for _, f := range []struct {
		name  string
		value berth.Duration
	}{
		{"minRuntime", j.MinRuntime},
		{"maxRuntime", j.MaxRuntime},
		{"expectedRuntime", j.ExpectedRuntime},
		{"checkpoint.interval", j.Checkpoint.Interval},
		{"checkpoint.cost", j.Checkpoint.Cost},
		{"checkpoint.restartCost", j.Checkpoint.RestartCost},
		{"gangTimeout", j.GangTimeout},
	} {
		if err := refusal.Span(f.value); err != nil {
			return refusal.In(err, f.name)
		}
	}
	c := &j.Checkpoint
	switch limit := j.MaxRuntime; {
	case limit == 0:
	case limit < j.MinRuntime:
		return refusal.Of(berth.ErrInvalid, "maxRuntime", fmt.Sprintf("%v is below the minimum of %v", limit, j.MinRuntime))
	case c.Supported && limit <= c.Cost:
		return refusal.Of(berth.ErrInvalid, "maxRuntime", fmt.Sprintf("%v is no longer than a checkpoint takes, %v", limit, c.Cost))
	}
	return nil
}

// checkLending refuses a job that lends what it cannot, and a borrower that asks for more than idle
// GPUs of others.
func checkLending(j *berth.Job) *berth.Error {
	borrows := slices.IndexFunc(j.Groups, func(g berth.Group) bool { return g.Claim.Borrow != nil })
	if j.Lend != nil {
		if err := refusal.Span(j.Lend.Within); err != nil {
			return refusal.In(err, "lend.within")
		}
		if err := spec.LentMemory(j.Lend.MemoryMiB); err != nil {
			return refusal.In(err, "lend.memoryMiB")
		}
		switch {
		case borrows >= 0:
			return refusal.Of(berth.ErrInvalid, "lend", "a borrower has nothing to lend")
		case !slices.ContainsFunc(j.Groups, func(g berth.Group) bool { return g.Claim.GPUs > 0 }):
			return refusal.Of(berth.ErrInvalid, "lend", "no group claims whole GPUs")
		case j.Topology.Exclusive != "":
			return refusal.Of(berth.ErrInvalid, "lend", "the domains of the job take members of no other: see topology.exclusive")
		}
	}
	if borrows < 0 {
		return nil
	}
	switch {
	case j.Service != nil:
		return refusal.Of(berth.ErrUnsupported, "service", "a borrower is none")
	case j.Class != berth.ClassBatch:
		return refusal.Of(berth.ErrUnsupported, "class", "a borrower is of class batch")
	case j.MinRuntime != 0:
		return refusal.Of(berth.ErrUnsupported, "minRuntime", "a borrower gives back when it has to")
	case j.Topology.Exclusive != "":
		return refusal.Of(berth.ErrUnsupported, "topology.exclusive", "a borrower stands where others do")
	}
	for i := range j.Groups {
		g := &j.Groups[i]
		switch {
		case g.Claim.Borrow == nil && values.WantsDevice(&g.Claim):
			return refusal.Of(berth.ErrUnsupported, errtext.Index("groups", i)+".claim", "members of a borrower borrow, or need the host alone")
		case record.Least(g) != g.Members:
			return refusal.Of(berth.ErrUnsupported, errtext.Index("groups", i)+".minMembers", "a borrower cannot start short")
		}
	}
	return nil
}

// checkSameLabels refuses labels that cannot be one over a gang: too many, no names, named twice,
// or of a gang that claims no GPU.
func checkSameLabels(j *berth.Job) *berth.Error {
	if len(j.SameLabels) > limits.MaxSameLabels {
		return refusal.Of(berth.ErrLimit, "", fmt.Sprintf("%d labels; the most is %d", len(j.SameLabels), limits.MaxSameLabels))
	}
	for i, key := range j.SameLabels {
		if err := refusal.Name(key); err != nil {
			return refusal.In(err, errtext.Index("", i))
		}
		if slices.Contains(j.SameLabels[:i], key) {
			return refusal.Of(berth.ErrInvalid, errtext.Index("", i), fmt.Sprintf("%q is named twice", errtext.Short(key)))
		}
	}
	if len(j.SameLabels) > 0 && !slices.ContainsFunc(j.Groups, func(g berth.Group) bool { return values.WantsDevice(&g.Claim) }) {
		return refusal.Of(berth.ErrInvalid, "", "no group claims a GPU, and members of the host alone go anywhere")
	}
	return nil
}

// CheckReplicas refuses a number of replicas that is negative or beyond the limit of the core.
func (ad *Admission) CheckReplicas(n int) *berth.Error {
	if n < 0 {
		return refusal.Of(berth.ErrInvalid, "", fmt.Sprintf("is negative: %d", n))
	}
	if n > ad.state.Config.Limits.Replicas {
		return refusal.Of(berth.ErrLimit, "", fmt.Sprintf("%d exceeds the limit of %d, see Limits.Replicas", n, ad.state.Config.Limits.Replicas))
	}
	return nil
}

func (ad *Admission) checkGroups(j *berth.Job) *berth.Error {
	if len(j.Groups) == 0 {
		return refusal.Of(berth.ErrInvalid, "groups", "is empty")
	}
	if len(j.Groups) > ad.state.Config.Limits.Groups {
		return refusal.Of(berth.ErrLimit, "groups", fmt.Sprintf("%d groups exceed the limit of %d, see Limits.Groups", len(j.Groups), ad.state.Config.Limits.Groups))
	}
	members, least := 0, 0
	for i := range j.Groups {
		g := &j.Groups[i]
		if err := ad.checkGroup(j, g); err != nil {
			return refusal.In(err, errtext.Index("groups", i))
		}
		if slices.ContainsFunc(j.Groups[:i], func(h berth.Group) bool { return h.Name == g.Name }) {
			return refusal.Of(berth.ErrDuplicate, errtext.Index("groups", i)+".name", fmt.Sprintf("%q names a group of the job already", errtext.Short(g.Name)))
		}
		members, least = members+g.Members, least+record.Least(g)
		if most := ad.state.Config.Limits.Members; members > most {
			return refusal.Of(berth.ErrLimit, errtext.Index("groups", i)+".members", fmt.Sprintf("the gang exceeds the limit of %d members, see Limits.Members", most))
		}
	}
	if most := max(ad.state.Config.Limits.SurplusMembers, least); members-least > most {
		return refusal.Of(berth.ErrLimit, "groups", fmt.Sprintf("%d members above the minimum exceed the limit of %d, see Limits.SurplusMembers", members-least, most))
	}
	return nil
}

func (ad *Admission) checkGroup(j *berth.Job, g *berth.Group) *berth.Error {
	if err := refusal.Text(g.Name); err != nil {
		return refusal.In(err, "name")
	}
	if g.Name == "" && len(j.Groups) > 1 {
		return refusal.Of(berth.ErrInvalid, "name", "is empty, and the job has several groups")
	}
	if g.Members < 1 {
		return refusal.Of(berth.ErrInvalid, "members", fmt.Sprintf("%d is not positive", g.Members))
	}
	if g.Members > ad.state.Config.Limits.Members {
		return refusal.Of(berth.ErrLimit, "members", fmt.Sprintf("%d exceed the limit of %d members, see Limits.Members", g.Members, ad.state.Config.Limits.Members))
	}
	if g.MinMembers < 0 || g.MinMembers > g.Members {
		return refusal.Of(berth.ErrInvalid, "minMembers", fmt.Sprintf("%d is outside 0..%d, the group's members", g.MinMembers, g.Members))
	}
	if err := spec.CheckClaim(&g.Claim, j.Class, ad.state.Config.Resources); err != nil {
		return refusal.In(err, "claim")
	}
	if err := spec.CheckSelector(&g.Selector); err != nil {
		return refusal.In(err, "selector")
	}
	if err := ad.checkGroupTopology(j, g); err != nil {
		return refusal.In(err, "topology")
	}
	return checkPartedGroup(j, g)
}

// checkTopology checks what jobs and groups have in common.
func (ad *Admission) checkTopology(t *berth.Topology) *berth.Error {
	required, err := ad.backlog.CheckLevel(t.Required)
	if err != nil {
		return refusal.In(err, "required")
	}
	preferred, err := ad.backlog.CheckLevel(t.Preferred)
	if err != nil {
		return refusal.In(err, "preferred")
	}
	if t.Preferred != "" && preferred < required {
		return refusal.Of(berth.ErrInvalid, "preferred", fmt.Sprintf("%q is wider than the required %q", errtext.Short(t.Preferred), errtext.Short(t.Required)))
	}
	return nil
}

// checkGangTopology checks what is for the gang as a whole.
func (ad *Admission) checkGangTopology(t *berth.Topology) *berth.Error {
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"segments", len(t.Segments) > 0},
		{"balance", t.Balance != ""},
		{"spread", t.Spread != "" || t.MaxSkew != 0},
		{"railAligned", t.RailAligned},
	} {
		if f.set {
			return refusal.Of(berth.ErrInvalid, f.name, "is for groups, not for jobs")
		}
	}
	if _, err := ad.backlog.CheckLevel(t.Exclusive); err != nil {
		return refusal.In(err, "exclusive")
	}
	if t.Exclusive == limits.LevelFleet {
		return refusal.Of(berth.ErrInvalid, "exclusive", "the fleet is for all")
	}
	return ad.checkTopology(t)
}

// checkGroupTopology checks what is for one group, given its widest level.
func (ad *Admission) checkGroupTopology(j *berth.Job, g *berth.Group) *berth.Error {
	t := &g.Topology
	if err := ad.checkTopology(t); err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		set  bool
	}{{"exclusive", t.Exclusive != ""}, {"parts", len(t.Parts) > 0}, {"apart", t.Apart != ""}} {
		if f.set {
			return refusal.Of(berth.ErrInvalid, f.name, "is for jobs, not for groups")
		}
	}
	required := ad.state.Around(&j.Topology, g)
	if err := ad.checkSegments(g, required); err != nil {
		return err
	}
	if len(t.Segments) > 0 && t.Balance != "" {
		level, _ := ad.backlog.CheckLevel(t.Balance)
		if widest, _ := ad.backlog.CheckLevel(t.Segments[0].Level); level > widest {
			return refusal.Of(berth.ErrInvalid, "balance", fmt.Sprintf("%q is narrower than %q, in which segments stay", errtext.Short(t.Balance), errtext.Short(t.Segments[0].Level)))
		}
	}
	for _, f := range []struct{ name, level string }{{"balance", t.Balance}, {"spread", t.Spread}} {
		level, err := ad.backlog.CheckLevel(f.level)
		switch {
		case err != nil:
			return refusal.In(err, f.name)
		case f.level != "" && level <= required:
			return refusal.Of(berth.ErrInvalid, f.name, fmt.Sprintf("%q is not narrower than the required level", errtext.Short(f.level)))
		}
	}
	switch {
	case t.MaxSkew < 0 || t.MaxSkew > limits.MaxOrdinal:
		return refusal.Of(berth.ErrInvalid, "maxSkew", fmt.Sprintf("%d is outside 0..%d", t.MaxSkew, limits.MaxOrdinal))
	case t.MaxSkew != 0 && t.Spread == "":
		return refusal.Of(berth.ErrInvalid, "maxSkew", "needs spread")
	case t.Spread != "" && (len(t.Segments) > 0 || t.Balance != "" || t.RailAligned):
		return refusal.Of(berth.ErrInvalid, "spread", "excludes segments, balance and rail alignment")
	case t.Spread != "" && record.Least(g) != g.Members:
		return refusal.Of(berth.ErrUnsupported, "spread", "a group that is spread cannot start short")
	}
	return ad.checkRails(g)
}

func (ad *Admission) checkRails(g *berth.Group) *berth.Error {
	t := &g.Topology
	switch {
	case !t.RailAligned:
		return nil
	case ad.state.Config.Fabric.RailLevel == "":
		return refusal.Of(berth.ErrUnsupported, "railAligned", "the fleet has no rails: see Fabric.RailLevel")
	case g.Claim.GPUs == 0:
		return refusal.Of(berth.ErrInvalid, "railAligned", "needs whole GPUs")
	case len(t.Segments) > 0 || t.Balance != "":
		return refusal.Of(berth.ErrInvalid, "railAligned", "excludes segments and balance")
	case record.Least(g) != g.Members:
		return refusal.Of(berth.ErrUnsupported, "railAligned", "a group on aligned rails cannot start short")
	}
	return nil
}

func (ad *Admission) checkSegments(g *berth.Group, required topology.Level) *berth.Error {
	t := &g.Topology
	if len(t.Segments) > limits.MaxLevels {
		return refusal.Of(berth.ErrLimit, "segments", fmt.Sprintf("%d nested segments; the most is %d", len(t.Segments), limits.MaxLevels))
	}
	for i, s := range t.Segments {
		if err := ad.checkSegment(t.Segments, i, required); err != nil {
			return refusal.In(err, errtext.Index("segments", i))
		}
		if i == 0 && (g.Members%s.Size != 0 || g.MinMembers%s.Size != 0) {
			return refusal.Of(berth.ErrInvalid, "segments[0].size", fmt.Sprintf("%d members, or the minimum of %d, cannot be divided into segments of %d", g.Members, record.Least(g), s.Size))
		}
	}
	return nil
}

func (ad *Admission) checkSegment(list []berth.Segment, i int, required topology.Level) *berth.Error {
	s := list[i]
	level, err := ad.backlog.CheckLevel(s.Level)
	switch {
	case err != nil:
		return refusal.In(err, "level")
	case s.Level == "":
		return refusal.Of(berth.ErrInvalid, "level", "is empty")
	case s.Size < 1 || s.Size > ad.state.Config.Limits.Members:
		return refusal.Of(berth.ErrInvalid, "size", fmt.Sprintf("%d is outside 1..%d", s.Size, ad.state.Config.Limits.Members))
	case level < required:
		return refusal.Of(berth.ErrInvalid, "level", fmt.Sprintf("%q is wider than the required level", errtext.Short(s.Level)))
	case i == 0:
		return nil
	}
	outer, _ := ad.state.Fleet.Tree().Level(list[i-1].Level)
	switch {
	case list[i-1].Size%s.Size != 0:
		return refusal.Of(berth.ErrInvalid, "size", fmt.Sprintf("%d does not divide %d, the segment around it", s.Size, list[i-1].Size))
	case level < outer:
		return refusal.Of(berth.ErrInvalid, "level", fmt.Sprintf("%q is wider than %q, that of the segment around it", errtext.Short(s.Level), errtext.Short(list[i-1].Level)))
	}
	return nil
}

// NewJob checks a job and builds what the core keeps of it, without changing
// anything.
func (ad *Admission) NewJob(spec *berth.Job) (*record.Job, *berth.Error) {
	return ad.newJob(spec, ad.state.PatternOf)
}

func (ad *Admission) newJob(spec *berth.Job, patternOf func(*berth.Job) *record.Pattern) (*record.Job, *berth.Error) {
	if err := ad.checkJob(spec); err != nil {
		return nil, err
	}
	if known := ad.state.Jobs[spec.ID]; known != nil {
		return nil, refuseKnown(known, spec)
	}
	q, known := ad.state.Quota.Lookup(spec.Queue)
	if !known {
		return nil, refusal.Of(berth.ErrUnknown, "queue", fmt.Sprintf("there is no queue %q", errtext.Short(spec.Queue)))
	}
	if !ad.state.Quota.Leaf(q) {
		return nil, refusal.Of(berth.ErrInvalid, "queue", fmt.Sprintf("%q has queues below it; jobs go to those", errtext.Short(spec.Queue)))
	}
	j := record.NewJob(spec, patternOf(spec), q)
	j.Spec.Queue = ad.state.Quota.Name(q) // one string for all jobs of the queue
	if err := ad.state.CheckWidth(j); err != nil {
		return nil, err
	}
	j.Learned = ad.state.Learned(j)
	j.Later = ad.state.Later(j)
	return j, nil
}

// refuseKnown refuses a job whose ID is taken: by the same job, but for the replicas to which a
// service was scaled, or by another.
func refuseKnown(known *record.Job, spec *berth.Job) *berth.Error {
	is, told := known.Full(), *spec
	if told.Service != nil && is.Service != nil {
		service := *told.Service
		service.Replicas = is.Service.Replicas
		told.Service = &service
	}
	if values.SameJob(&is, &told) {
		return refusal.Of(berth.ErrRepeated, "id", fmt.Sprintf("job %q is known already, and is the same", errtext.Short(spec.ID)))
	}
	return refusal.Of(berth.ErrDuplicate, "id", fmt.Sprintf("job %q is known already, and is another", errtext.Short(spec.ID)))
}
