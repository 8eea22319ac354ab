package state

import (
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/gang"
)

// CheckShapes compiles every shape that is up to date anew, and compares. It checks that shapes are
// known by their keys for as long as a job asks for them.
func (st *State) CheckShapes() error {
	users := map[*record.Shape]int{}
	for _, id := range slices.Sorted(maps.Keys(st.Jobs)) {
		j := st.Jobs[id]
		for at := range j.Pattern.Many() {
			users[j.Pattern.Option(at).Shape]++
		}
		for rep := range j.Replicas.All() {
			for _, e := range rep.Entries {
				if s := e.Bucket.Shape; e.Grows || s != j.Pattern.Option(e.Part()).Shape {
					users[s]++
				}
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(st.Shapes)) {
		s := st.Shapes[key]
		if s.Key != key || string(st.ShapeKey(&s.Spec)) != key || s.Users != users[s] || s.Users == 0 {
			return fmt.Errorf("shape %s has %d users, counted %d, or is known by another key", key, users[s], s.Users)
		}
		if err := st.checkShape(s); err != nil {
			return fmt.Errorf("shape %s: %w", key, err)
		}
	}
	return Agree(Tally{"shapes", len(st.Shapes), len(users)})
}

// checkShape makes a shape anew of its spec, and compiles it.
func (st *State) checkShape(s *record.Shape) error {
	fresh := st.newShape(s.Key, s.Spec)
	if s.LooksAround != fresh.LooksAround || s.GPUs != fresh.GPUs || !slices.Equal(s.Levels, fresh.Levels) {
		return fmt.Errorf("is said to look around: %t, to start with %d GPUs, and to have the levels %v", s.LooksAround, s.GPUs, s.Levels)
	}
	if s.Version != st.Classes.Version {
		return nil // the next look at it compiles it
	}
	st.Compile(fresh)
	switch {
	case !s.Charge.Equal(fresh.Charge) || !s.Least.Equal(fresh.Least):
		return fmt.Errorf("is charged %+v, of which %+v at the least; it should be %+v and %+v", s.Charge, s.Least, fresh.Charge, fresh.Least)
	case s.Spans != fresh.Spans || !s.Ease.Equal(fresh.Ease):
		return fmt.Errorf("spans nodes: %t, with the ease %+v; it should be %t and %+v", s.Spans, s.Ease, fresh.Spans, fresh.Ease)
	case !sameRequest(&s.Request, &fresh.Request):
		return fmt.Errorf("asks for %+v, and should for %+v", s.Request, fresh.Request)
	case !sameRequest(&s.Minimum, &fresh.Minimum):
		return fmt.Errorf("asks for %+v at the least, and should for %+v", s.Minimum, fresh.Minimum)
	}
	return nil
}

// sameRequest compares requests that were compiled of one spec, but for what their functions say:
// those look at the nodes as they are.
func sameRequest(r, o *gang.Request) bool {
	return r.Within == o.Within && r.Required == o.Required && r.Preferred == o.Preferred && r.Locality == o.Locality &&
		r.Apart == o.Apart && slices.Equal(r.Parts, o.Parts) && (r.Variant == nil) == (o.Variant == nil) && slices.EqualFunc(r.Groups, o.Groups, sameGroup)
}

func sameGroup(g, o gang.Group) bool {
	return g.Members == o.Members && g.MinMembers == o.MinMembers && g.Part == o.Part &&
		g.Claim.GPUs == o.Claim.GPUs && g.Claim.Share == o.Claim.Share && g.Claim.Host == o.Claim.Host && g.Claim.Declared.Equal(o.Claim.Declared) && slices.Equal(g.Claim.Instances, o.Claim.Instances) &&
		slices.Equal(g.Classes, o.Classes) && slices.Equal(g.Kinds, o.Kinds) && slices.Equal(g.Tiers, o.Tiers) && (g.Match == nil) == (o.Match == nil) && g.Tag == o.Tag &&
		g.Required == o.Required && g.Preferred == o.Preferred && slices.Equal(g.Segments, o.Segments) &&
		g.Balance == o.Balance && g.Spread == o.Spread && g.MaxSkew == o.MaxSkew && g.RailLevel == o.RailLevel
}
