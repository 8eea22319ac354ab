package cases

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/mig"
)

// Jobs of KAI become gangs:
//
//   - pods of one sub-group with the same request are one group. Its Min is how many of
//     them are among the first minAvailable pods: those that run first, then those of higher
//     priority, then in the order of the file.
//   - a group cannot do without any of its members. Pods that are all optional, and
//     sub-groups beyond minSubGroup, are companions: jobs of their own, which the replay,
//     as the orchestrator, submits while the job that they go with runs.
//   - the constraint of the job is its Topology, that of a sub-group the Topology of its
//     group. A sub-group of several groups can have one only if their pods are alike and
//     all needed: then they are one group.
//   - a fraction is a share by MPS, and all jobs are of one tenant.
//   - a pod with several instances is as many members on one node.
//   - a gang that the scenario starts below its minimum is stopped first and waits, as
//     there is no such gang here.

// A kaiGang is a job of the core: a job of the scenario, or a companion of one.
type kaiGang struct {
	job berth.Job
	of  int // index of the scenario's job
	// companion of the gang before it that is none.
	companion bool
	parts     []kaiPart
}

// A kaiPart tells which pods the members of a group are: per of them in a row are one.
type kaiPart struct {
	tasks []int
	per   int
	needs int // how many of the tasks are among the minimum
	need  kaiNeed
}

// A kaiNeed is what pods of one group have in common.
type kaiNeed struct {
	gpus     float64
	profile  string
	per      int
	affinity string
}

func (t *kaiTask) need() (kaiNeed, *Error) {
	n := kaiNeed{gpus: t.GPUs, per: 1, affinity: strings.Join(t.NodeAffinity, "|")}
	for profile, count := range t.MIG {
		switch {
		case count == 0:
		case n.profile != "" || t.GPUs > 0:
			return n, outOfModel("tasks.mig", "a pod with devices of several kinds")
		default:
			n.profile, n.per = profile, count
		}
	}
	if t.GPUs > 1 && t.GPUs != math.Trunc(t.GPUs) {
		return n, outOfModel("tasks.gpus", fmt.Sprintf("%v is neither whole GPUs nor a part of one", t.GPUs))
	}
	return n, nil
}

// claim translates a need; firm pods count against the quota.
func (n *kaiNeed) claim(firm bool) (berth.Claim, *Error) {
	claim := berth.Claim{MemoryMiB: 1}
	counts := milli(n.gpus)
	switch {
	case n.profile != "":
		name, err := mig.ParseProfileName(strings.TrimPrefix(n.profile, migPrefix))
		if err != nil {
			return claim, outOfModel("tasks.mig", err.Error())
		}
		claim.MIG, counts = name.String(), 1000
	case n.gpus >= 1:
		if n.gpus > berth.MaxGPUs {
			return claim, outOfModel("tasks.gpus", fmt.Sprintf("%v are more than a node may have", n.gpus))
		}
		claim.GPUs = int(n.gpus)
	case n.gpus > 0:
		claim.Share = &berth.Share{Mode: berth.ShareMPS, GPUMilli: int(max(1, min(counts, 999)))}
	}
	if firm {
		claim.CPUMilli = counts
	}
	return claim, nil
}

// gangs translates a job: the gang itself, then its companions.
func (c *kaiCase) gangs(i int) ([]kaiGang, *Error) {
	b := gangBuilder{c: c, of: i, job: &c.Jobs[i]}
	root := kaiSubgroup{MinAvailable: b.job.MinAvailable}
	if b.job.Subgroups != nil {
		root = *b.job.Subgroups
	}
	constraint := b.job.Constraint
	if constraint == nil {
		constraint, root.Constraint = root.Constraint, nil
	}
	if err := b.add(&root, constraint); err != nil {
		err.Field = fmt.Sprintf("jobs[%d] %s", i, err.Field)
		return nil, err
	}
	return b.list, nil
}

type gangBuilder struct {
	c    *kaiCase
	of   int
	job  *kaiJob
	list []kaiGang
}

// add makes a gang of a sub-group, and then its companions.
func (b *gangBuilder) add(root *kaiSubgroup, constraint *kaiConstraint) *Error {
	at := len(b.list)
	id := b.job.Name
	if at > 0 {
		id = fmt.Sprintf("%s companion %d", id, at)
	}
	g := kaiGang{of: b.of, companion: at > 0, job: berth.Job{
		ID: berth.JobID(id), Queue: b.c.queueName(b.c.queue(b.job.Queue)),
		Tenant: "all", Priority: b.job.Priority,
	}}
	if !b.job.Preemptible {
		g.job.Class, g.job.MinRuntime = berth.ClassLatencyCritical, forLong
	}
	var err *Error
	if g.job.Topology, err = b.topology(constraint); err != nil {
		return err
	}
	b.list = append(b.list, g)
	spare, optional, err := b.fill(&g, root)
	if err != nil {
		return err
	}
	b.list[at] = g
	if len(g.parts) == 0 {
		return outOfModel("minAvailable", "no pod is needed")
	}
	for _, p := range spare { // pods that are all optional come one by one
		for _, task := range p.tasks {
			p.tasks, p.needs = []int{task}, 1
			extra := kaiGang{of: b.of, companion: true, job: g.job}
			extra.job.ID = berth.JobID(fmt.Sprintf("%s companion %d", b.job.Name, len(b.list)))
			extra.job.Groups = nil
			if err := b.group(&extra, p, nil); err != nil {
				return err
			}
			b.list = append(b.list, extra)
		}
	}
	for _, s := range optional {
		child := *s
		var own *kaiConstraint
		own, child.Constraint = s.Constraint, nil
		if err := b.add(&child, own); err != nil {
			return err
		}
	}
	return nil
}

// fill adds the groups of a sub-group to a gang and returns what is optional.
func (b *gangBuilder) fill(g *kaiGang, s *kaiSubgroup) (spare []kaiPart, optional []*kaiSubgroup, err *Error) {
	if merged, ok := b.merge(s); ok {
		s = merged
	}
	if len(s.Children) == 0 {
		spare, err = b.leaf(g, s)
		return spare, nil, err
	}
	if s.Constraint != nil {
		return nil, nil, outOfModel(s.Name, "a constraint on several groups below the job")
	}
	needed, optional := b.split(s)
	for _, child := range needed {
		more, others, err := b.fill(g, child)
		if err != nil {
			return nil, nil, err
		}
		spare, optional = append(spare, more...), append(optional, others...)
	}
	return spare, optional, nil
}

// split divides the children of a sub-group into the first that are needed, those with
// pods that run before the others, and the rest.
func (b *gangBuilder) split(s *kaiSubgroup) (needed, optional []*kaiSubgroup) {
	for i := range s.Children {
		needed = append(needed, &s.Children[i])
	}
	if s.MinSubGroup == nil || *s.MinSubGroup >= len(needed) || *s.MinSubGroup < 1 {
		return needed, nil
	}
	slices.SortStableFunc(needed, func(x, y *kaiSubgroup) int { return cmp.Compare(b.runs(y), b.runs(x)) })
	return needed[:*s.MinSubGroup:*s.MinSubGroup], needed[*s.MinSubGroup:]
}

// runs counts the pods that run in a sub-group.
func (b *gangBuilder) runs(s *kaiSubgroup) int {
	n := 0
	for _, t := range b.tasks(s) {
		if b.job.Tasks[t].running() {
			n++
		}
	}
	for i := range s.Children {
		n += b.runs(&s.Children[i])
	}
	return n
}

// tasks lists the pods of a leaf, those that count for its minimum first.
func (b *gangBuilder) tasks(s *kaiSubgroup) []int {
	if len(s.Children) > 0 {
		return nil
	}
	var list []int
	for i := range b.job.Tasks {
		if b.job.Subgroups == nil || slices.Contains(strings.Split(s.Name, "\x00"), b.job.Tasks[i].Subgroup) {
			list = append(list, i)
		}
	}
	slices.SortStableFunc(list, func(x, y int) int {
		s, t := &b.job.Tasks[x], &b.job.Tasks[y]
		if s.running() != t.running() {
			if s.running() {
				return -1
			}
			return 1
		}
		return cmp.Compare(t.Priority, s.Priority)
	})
	return list
}

// merge makes one leaf of a constrained sub-group whose pods are alike and all needed.
func (b *gangBuilder) merge(s *kaiSubgroup) (*kaiSubgroup, bool) {
	if s.Constraint == nil || len(s.Children) == 0 {
		return nil, false
	}
	var names []string
	var first *kaiNeed
	total := 0
	var all func(s *kaiSubgroup) bool
	all = func(s *kaiSubgroup) bool {
		if len(s.Children) > 0 {
			if s.MinSubGroup != nil && *s.MinSubGroup < len(s.Children) {
				return false
			}
			for i := range s.Children {
				if s.Children[i].Constraint != nil || !all(&s.Children[i]) {
					return false
				}
			}
			return true
		}
		tasks := b.tasks(s)
		if s.MinAvailable != nil && *s.MinAvailable < len(tasks) {
			return false
		}
		for _, t := range tasks {
			need, err := b.job.Tasks[t].need()
			if err != nil || first != nil && *first != need {
				return false
			}
			first = &need
		}
		total += len(tasks)
		names = append(names, s.Name)
		return true
	}
	if !all(s) {
		return nil, false
	}
	return &kaiSubgroup{Name: strings.Join(names, "\x00"), Constraint: s.Constraint, MinAvailable: &total}, true
}

// leaf adds the groups of a leaf and returns the parts that are all optional.
func (b *gangBuilder) leaf(g *kaiGang, s *kaiSubgroup) (spare []kaiPart, err *Error) {
	tasks := b.tasks(s)
	least := len(tasks)
	if s.MinAvailable != nil {
		least = *s.MinAvailable
	}
	if least > len(tasks) {
		return nil, outOfModel(s.Name, fmt.Sprintf("has %d pods of at least %d", len(tasks), least))
	}
	var parts []kaiPart
	for k, t := range tasks {
		need, err := b.job.Tasks[t].need()
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(parts, func(p kaiPart) bool { return p.need == need })
		if at < 0 {
			at = len(parts)
			parts = append(parts, kaiPart{need: need, per: need.per})
		}
		parts[at].tasks = append(parts[at].tasks, t)
		if k < least {
			parts[at].needs++
		}
	}
	if s.Constraint != nil && len(parts) > 1 {
		return nil, outOfModel(s.Name, "a constraint on several groups below the job")
	}
	for _, p := range parts {
		if p.needs == 0 {
			spare = append(spare, p)
		} else if err := b.group(g, p, s.Constraint); err != nil {
			return nil, err
		}
	}
	return spare, nil
}

// group adds a group to a gang.
func (b *gangBuilder) group(g *kaiGang, p kaiPart, constraint *kaiConstraint) *Error {
	claim, err := p.need.claim(!b.job.Preemptible)
	if err != nil {
		return err
	}
	topology, err := b.topology(constraint)
	if err != nil {
		return err
	}
	if p.per > 1 {
		topology.Segments = []berth.Segment{{Size: p.per, Level: nodeWord}}
	}
	group := berth.Group{
		Name: fmt.Sprintf("g%d", len(g.job.Groups)), Members: len(p.tasks) * p.per, MinMembers: p.needs * p.per,
		Claim: claim, Topology: topology,
	}
	if p.need.affinity != "" {
		group.Selector.Labels = map[string]string{"affinity " + p.need.affinity: "yes"}
	}
	g.job.Groups = append(g.job.Groups, group)
	g.parts = append(g.parts, p)
	return nil
}

// topology translates a constraint.
func (b *gangBuilder) topology(constraint *kaiConstraint) (berth.Topology, *Error) {
	var out berth.Topology
	if constraint == nil {
		return out, nil
	}
	at := slices.IndexFunc(b.c.Topologies, func(t kaiTopology) bool { return t.Name == constraint.Topology })
	if at < 0 {
		return out, malformed("constraint.topology", fmt.Sprintf("there is no topology %q", constraint.Topology))
	}
	for _, key := range []string{constraint.Required, constraint.Preferred} {
		if key != "" && !slices.Contains(b.c.Topologies[at].Levels, key) {
			return out, malformed("constraint", fmt.Sprintf("%q is no level of %q", key, constraint.Topology))
		}
	}
	out.Required, out.Preferred = level(constraint.Required), level(constraint.Preferred)
	return out, nil
}
