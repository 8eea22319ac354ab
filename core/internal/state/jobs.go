package state

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/catalogue"
	"github.com/berth-sched/berth/core/internal/invariant"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/spec"
)

// Expect makes room for so many jobs, where none is known yet.
func (st *State) Expect(jobs int) { st.Jobs = make(map[berth.JobID]*record.Job, jobs) }

// Admit makes a new job known.
func (st *State) Admit(j *record.Job) {
	st.Jobs[j.Spec.ID] = j
	own := j.Pattern.Option(0)
	if own.Users == 0 {
		st.Patterns[own.Key] = own
		for at := range own.Many() {
			st.giveShape(j, own.Option(at))
		}
	}
	own.Users++
	for at := range own.Many() {
		own.Option(at).Shape.Users++
	}
	st.Totals.JobsAdmitted++
	st.countInSlots(j, 1)
}

// giveShape gives a pattern the shape of the gang of a job, the first that has it: the one that the
// pattern had, unless another has come in its place.
func (st *State) giveShape(j *record.Job, p *record.Pattern) {
	had := p.Shape
	if had == nil {
		p.Shape = st.shapeAs(j, p)
	} else if p.Shape = st.Shapes[had.Key]; p.Shape == nil {
		p.Shape = had
		st.enterShape(had)
	}
}

// shapeAs is the shape of the gang of a job that is of a pattern.
func (st *State) shapeAs(j *record.Job, p *record.Pattern) *record.Shape {
	as := j.Spec
	as.Asked = &p.Asked
	return st.gangShape(&as)
}

// PatternOf is the pattern of a job, by which some job is known, or a new one.
func (st *State) PatternOf(j *berth.Job) *record.Pattern {
	asked := spec.AskedBy(j)
	st.writePattern(j, asked)
	if p := st.Patterns[string(st.key)]; p != nil {
		return p
	}
	for _, p := range st.forgotten {
		if p != nil && p.Key == string(st.key) {
			return p
		}
	}
	return record.NewPattern(string(st.key), asked.Clone())
}

// Patterns finds those of jobs that share the memory of their groups, as many of a snapshot do: by
// where that is, and what else makes a pattern. It is for as long as none of them changes.
type Patterns map[sharedGroups]*record.Pattern

type sharedGroups struct {
	at   *berth.Group
	rest string
}

// mostShared bounds the patterns that are found by the memory of their groups.
const mostShared = 1024

// PatternLike is PatternOf for one of many jobs.
func (st *State) PatternLike(j *berth.Job, known Patterns) *record.Pattern {
	key := sharedGroups{&j.Groups[0], st.restOfPattern(j)}
	if p := known[key]; p != nil {
		return p
	}
	p := st.PatternOf(j)
	if len(known) < mostShared {
		known[key] = p
	}
	return p
}

// restOfPattern is what else makes the pattern of a job beside its groups; empty: nothing does.
func (st *State) restOfPattern(j *berth.Job) string {
	rest := spec.AskedBy(j)
	if rest.Groups = nil; rest.Simple() && !sharesGPUs(j) {
		return ""
	}
	st.writePattern(j, rest)
	return string(st.key)
}

func sharesGPUs(j *berth.Job) bool {
	shared := func(g berth.Group) bool { return g.Claim.Share != nil || g.Claim.Borrow != nil }
	return slices.ContainsFunc(j.Groups, shared) ||
		slices.ContainsFunc(j.Alternatives, func(a berth.Alternative) bool { return slices.ContainsFunc(a.Groups, shared) })
}

// writePattern writes the key of the pattern of a job, as if it asked for what is given.
func (st *State) writePattern(j *berth.Job, asked spec.Asked) {
	st.asked = record.PatternSpec{Asked: asked}
	if sharesGPUs(j) {
		st.asked.TrustDomain = catalogue.TrustDomainOf(j.Tenant, j.Queue)
	}
	var err error
	st.key, err = patternPen.Append(st.key[:0], &st.asked)
	invariant.Must(err) // a checked job has its JSON
}

// NewReplicaAt makes a pending replica with a number that no other has. Its incarnations begin
// above those of the replicas of the job that are forgotten.
func (st *State) NewReplicaAt(j *record.Job, number int) *record.Replica {
	return st.addReplica(j, record.LifePart{Number: number, Created: st.Now, Incarnation: j.Former})
}

func (st *State) addReplica(j *record.Job, life record.LifePart) *record.Replica {
	rep := &record.Replica{Job: j, LifePart: life}
	j.Replicas.Add(life.Number, rep)
	j.Live++
	st.Replicas++
	return rep
}

// NewBatch makes so many replicas that are no more than a number as yet, like the one before them.
func (st *State) NewBatch(head *record.Replica, many int) {
	j, next := head.Job, head.Number+1
	t := &record.Batch{Job: j, Next: next, End: next + many, Created: head.Created, Incarnation: head.Incarnation}
	at, _ := slices.BinarySearchFunc(j.Batches(), next, func(t *record.Batch, next int) int { return cmp.Compare(t.Next, next) })
	j.SetBatches(slices.Insert(j.Batches(), at, t))
	j.Live += int32(many)
	st.Replicas += many
}

// Reveal makes the first replica of a batch a record.
func (st *State) Reveal(t *record.Batch) *record.Replica {
	rep := st.addReplica(t.Job, t.Life(t.Next))
	st.forgetIn(t, 1)
	t.Next++
	st.dropEmpty(t)
	return rep
}

// CutBatch forgets the replicas of a batch from a number on.
func (st *State) CutBatch(t *record.Batch, from int) {
	st.forgetIn(t, t.End-from)
	t.End = from
	st.dropEmpty(t)
}

// SplitBatch leaves so many replicas in a batch, and returns the others.
func (st *State) SplitBatch(t *record.Batch, many int) *record.Batch {
	rest := *t
	t.End = t.Next + many
	rest.Next = t.End
	at := slices.Index(t.Job.Batches(), t)
	t.Job.SetBatches(slices.Insert(t.Job.Batches(), at+1, &rest))
	return &rest
}

// forgetIn counts replicas of a batch no longer.
func (st *State) forgetIn(t *record.Batch, many int) {
	t.Job.Live -= int32(many)
	st.Replicas -= many
}

// dropEmpty forgets a batch that has nobody left.
func (st *State) dropEmpty(t *record.Batch) {
	if t.Len() == 0 {
		t.Job.SetBatches(slices.DeleteFunc(t.Job.Batches(), func(u *record.Batch) bool { return u == t }))
	}
}

// RemoveReplica undoes NewReplicaAt.
func (st *State) RemoveReplica(rep *record.Replica) {
	j := rep.Job
	j.Replicas.Remove(rep.Number)
	j.Live--
	st.Replicas--
	st.Lending.Delete(rep)
}

// Dismiss forgets a job without replicas.
func (st *State) Dismiss(j *record.Job) {
	delete(st.Jobs, j.Spec.ID)
	st.countInSlots(j, -1)
	own := j.Pattern.Option(0)
	if own.Users--; own.Users == 0 {
		delete(st.Patterns, own.Key)
		if !slices.Contains(st.forgotten[:], own) {
			st.forgotten[st.forgets] = own
			st.forgets = (st.forgets + 1) % len(st.forgotten)
		}
	}
}

// RemoveShape forgets a shape that nobody has any more.
func (st *State) RemoveShape(s *record.Shape) { delete(st.Shapes, s.Key) }
