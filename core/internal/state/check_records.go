package state

import (
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/catalogue"
	"github.com/berth-sched/berth/core/internal/record"
)

// CheckNodes checks that nodes are where their names and indexes say, and of the class, and
// with the links, that they are described with.
func (st *State) CheckNodes() error {
	named, classes := 0, map[int]int{}
	err := st.EachNode(func(n *record.Node) error {
		named++
		classes[n.Class]++
		entry, full, geometry := st.Classes.List[n.Class], n.Spec.Full(), GeometryOf(&st.Config.Policy, n.Spec.Pool)
		switch {
		case st.Nodes[n.Index] != n || st.NodeByID[n.Spec.ID] != n || n.Freed != slices.Contains(st.FreedNodes, n):
			return fmt.Errorf("its index or its name leads elsewhere, or it is wrongly in freedNodes")
		case entry.Key != n.Key() || !slices.Equal(entry.Reservations, n.Reservations) || int(st.Fleet.Tree().NodeClass(n.Index)) != n.Class:
			return fmt.Errorf("is in the wrong class")
		case n.Table != entry.Table || (n.Table == nil) != (n.Spec.MIGTable == "") || n.Table != nil && n.Table != st.catalogue.Tables[n.Spec.MIGTable]:
			return fmt.Errorf("has the wrong table")
		case n.Product != st.Quota.Product(n.Spec.Product) || !SameGeometry(&n.Geometry, &geometry) || !n.GeometryInStep():
			return fmt.Errorf("has the index of another product, or the geometry of another pool")
		case n.Planned != 0:
			return fmt.Errorf("%d members are planned there", n.Planned)
		case (n.Graph == nil) != (n.Spec.Links == nil) || n.Graph != nil && st.catalogue.Graphs.ByKey[catalogue.GraphKey(&full)] != n.Graph:
			return fmt.Errorf("has the wrong links")
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := st.Classes.Check(classes); err != nil {
		return err
	}
	return Agree(Tally{"nodes by name", len(st.NodeByID), named})
}

// CheckJobs checks jobs and their replicas against each other.
func (st *State) CheckJobs() error {
	replicas, users, counted := 0, map[*record.Pattern]int{}, 0
	for _, id := range slices.Sorted(maps.Keys(st.Jobs)) {
		j := st.Jobs[id]
		live := 0
		for rep := range j.Replicas.All() {
			if rep.Job != j || j.Replicas.At(rep.Number) != rep {
				return fmt.Errorf("job %s: replica %d is elsewhere", id, rep.Number)
			}
			live++
		}
		end := 0
		for _, t := range j.Batches() {
			if t.Job != j || t.Next < end || t.End <= t.Next || j.Replicas.First(t.Next, t.End) < t.End {
				return fmt.Errorf("job %s: the batch %d..%d is empty, out of order, or has records", id, t.Next, t.End-1)
			}
			live += t.Len()
			end = t.End
		}
		if live != int(j.Live) || live == 0 && j.Spec.Service == nil {
			return fmt.Errorf("job %s: %d replicas live, counted %d", id, live, j.Live)
		}
		if st.Shapes[j.Shape().Key] != j.Shape() || j.Shape().Users < 1 {
			return fmt.Errorf("job %s: its shape is not known", id)
		}
		if j.Spec.Asked != &j.Pattern.Asked {
			return fmt.Errorf("job %s: it is not of its pattern", id)
		}
		own := j.Pattern.Option(0)
		if users[own]++; users[own] == 1 {
			counted += own.Users
			if err := st.checkPattern(j); err != nil {
				return fmt.Errorf("job %s: %w", id, err)
			}
		}
		replicas += live
	}
	return Agree(Tally{"replicas", st.Replicas, replicas}, Tally{"patterns", len(st.Patterns), len(users)}, Tally{"jobs by pattern", counted, len(st.Jobs)})
}

// checkPattern makes the pattern of a job anew.
func (st *State) checkPattern(j *record.Job) error {
	full := j.Full()
	if own := j.Pattern.Option(0); st.Patterns[own.Key] != own || st.PatternOf(&full) != own {
		return fmt.Errorf("its pattern is not known")
	}
	for at := range j.Pattern.Many() {
		p := j.Pattern.Option(at)
		if p.At != at || p.Option(0) != j.Pattern.Option(0) || st.shapeAs(j, p) != p.Shape {
			return fmt.Errorf("option %d of it stands elsewhere, or has another shape", at)
		}
		if err := p.InStep(); err != nil {
			return err
		}
	}
	return nil
}

// CheckMembers checks members against the state of their replica, and the lists of their nodes.
func (st *State) CheckMembers() error {
	members, listed := 0, 0
	for _, n := range st.Nodes {
		if n != nil {
			listed += len(n.Members)
		}
	}
	if err := st.EachReplica(func(rep *record.Replica) error {
		if rep.State == berth.ReplicaPending && rep.Members != nil {
			return fmt.Errorf("it is pending, and keeps the places of members")
		}
		for flat := range rep.Members {
			m := &rep.Members[flat]
			if !m.State.Holds() {
				continue
			}
			members++
			if m.Slot >= len(m.Node.Members) || m.Node.Members[m.Slot] != (record.MemberAt{Rep: rep, Index: flat}) {
				return fmt.Errorf("member %d is not in its node's list", flat)
			}
		}
		if err := rep.Consistent(); err != nil {
			return err
		}
		return nil
	}); err != nil {
		return err
	}
	return Agree(Tally{"members on nodes", listed, members})
}

// CheckEndings checks the ends that are expected.
func (st *State) CheckEndings() error {
	endings := 0
	if err := st.EachReplica(func(rep *record.Replica) error {
		if rep.EndsAt != 0 {
			endings++
		}
		switch {
		case rep.EndsAt != 0 && !st.Endings.Has(Ending{At: rep.EndsAt, Rep: rep}):
			return fmt.Errorf("its end is not in the index")
		case rep.EndsAt == 0 && rep.Holds() && rep.Job.Spec.Service == nil:
			return fmt.Errorf("it holds something and is never expected to end")
		case rep.State == berth.ReplicaPending && (rep.EndsAt != 0 || rep.Exclusive != nil):
			return fmt.Errorf("it is pending, and is expected to end or has domains for itself")
		}
		return nil
	}); err != nil {
		return err
	}
	return Agree(Tally{"expected ends", st.Endings.Len(), endings})
}
