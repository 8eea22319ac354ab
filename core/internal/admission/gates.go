package admission

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/limits"
)

// checkGates refuses what no job can wait for before it has its place in the order of service.
func checkGates(j *berth.Job) *berth.Error {
	for _, f := range []struct {
		name string
		set  bool
	}{{"begin", j.Begin != 0}, {"after", len(j.After) > 0}, {"array", j.Array != nil}} {
		if f.set && j.Service != nil {
			return refusal.Of(berth.ErrUnsupported, f.name, "a service has none: submit it with no replicas, and scale it when it is to begin")
		}
	}
	if j.Begin < 0 || j.Begin > limits.MaxInstant {
		return refusal.Of(berth.ErrInvalid, "begin", fmt.Sprintf("%d is outside 0..%d", j.Begin, int64(limits.MaxInstant)))
	}
	if err := checkAfter(j.After); err != nil {
		return refusal.In(err, "after")
	}
	if a := j.Array; a != nil {
		if err := refusal.Name(a.Name); err != nil {
			return refusal.In(err, "array.name")
		}
		if a.Width < 1 || a.Width > limits.MaxOrdinal {
			return refusal.Of(berth.ErrInvalid, "array.width", fmt.Sprintf("%d is outside 1..%d", a.Width, limits.MaxOrdinal))
		}
	}
	return nil
}

// checkAfter refuses dependencies that are too many, name no job or name one twice.
func checkAfter(list []berth.Dependency) *berth.Error {
	if len(list) > limits.MaxDependencies {
		return refusal.Of(berth.ErrLimit, "", fmt.Sprintf("%d jobs; the most is %d", len(list), limits.MaxDependencies))
	}
	seen := map[berth.JobID]bool{}
	for i, d := range list {
		if err := refusal.Name(string(d.Job)); err != nil {
			return refusal.In(err, errtext.Index("", i)+".job")
		}
		if seen[d.Job] {
			return refusal.Of(berth.ErrInvalid, errtext.Index("", i)+".job", fmt.Sprintf("%q is named twice", errtext.Short(d.Job)))
		}
		if d.Kind > berth.DependencyAny {
			return refusal.Of(berth.ErrInvalid, errtext.Index("", i)+".kind", fmt.Sprintf("%d is out of range", d.Kind))
		}
		seen[d.Job] = true
	}
	return nil
}

// CheckGates refuses gates of a snapshot that have not to do with what their jobs ask for.
func (ad *Admission) CheckGates(list []record.SavedJob) *berth.Error {
	for i := range list {
		if j := ad.state.Jobs[list[i].Job.ID]; j.Gate != nil {
			if err := ad.checkGate(j); err != nil {
				return refusal.In(refusal.In(err, "gate"), errtext.Index("jobs", i))
			}
		}
	}
	return nil
}

// checkGate refuses a gate that has not to do with what its job asks for.
func (ad *Admission) checkGate(j *record.Job) *berth.Error {
	g, after := j.Gate, j.Spec.Gating().After
	next := 0
	for i, id := range g.Awaits {
		at := slices.IndexFunc(after[next:], func(d berth.Dependency) bool { return d.Job == id })
		if known := ad.state.Jobs[id]; at < 0 || known == nil || known.Spec.Service != nil || known == j {
			return refusal.Of(berth.ErrInvalid, errtext.Index("awaits", i), fmt.Sprintf("job %q is not one that it waits for, in that order, or is not known", errtext.Short(id)))
		}
		next += at + 1
	}
	switch {
	case g.Broken != "" && (!slices.Contains(after, berth.Dependency{Job: g.Broken}) || len(g.Awaits) > 0 || g.BrokenAt < 0 || g.BrokenAt > ad.state.Now):
		return refusal.Of(berth.ErrInvalid, "broken", "is none of those that have to complete, or not the last that is awaited, or ended later")
	case g.Broken == "" && g.BrokenAt != 0:
		return refusal.Of(berth.ErrInvalid, "brokenAt", "is set, and nothing is broken")
	case !g.Begun && j.Spec.Gating().Begin == 0:
		return refusal.Of(berth.ErrInvalid, "begun", "is false, and the job may begin at once")
	}
	return nil
}
