package core

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/effort"
	"github.com/berth-sched/berth/core/internal/evict"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/core/internal/victim"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/preempt"
)

// AgendaOf is the agenda of a core, to be compared.
func AgendaOf(c *Core) any { return *c.agenda }

// UnsetEntries names the entries of an agenda that say nothing: flags and counts that are zero,
// instants that never come. Those of a pass in progress are none between passes.
func UnsetEntries(c *Core) []string {
	var unset []string
	v := reflect.ValueOf(*c.agenda)
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		f := v.Field(i)
		inPass := slices.Contains([]string{"Placing", "TriedReserved", "taken"}, name)
		if !inPass && (f.IsZero() || f.Kind() == reflect.Int64 && f.Int() == int64(agenda.Never)) {
			unset = append(unset, name)
		}
	}
	return unset
}

// Bounds bound the work of a pass.
type Bounds = effort.Bounds

// LowerBounds has the passes of a core bounded otherwise.
func LowerBounds(c *Core, lower func(*Bounds)) { lower(&c.state.Bounds) }

// LeaveTakers has a core think that its last pass left some over that come before a gang with a
// reservation.
func LeaveTakers(c *Core) { c.agenda.LeaveTakers() }

// VictimWork is how many places victim searches have looked at so far, how many of these they have
// weighed, and how many candidates they have gathered there.
func VictimWork(c *Core) (places, weighed, candidates int) { return c.victims.Work() }

// NodesRestood counts the nodes that victim searches have looked at so far because something
// changed on them.
func NodesRestood(c *Core) int { return c.victims.NodesRebuilt() }

// NodesToClear are the nodes with what could be moved off them for a job that waits, in order: one
// by one, and by a look at all of them.
func NodesToClear(c *Core, job berth.JobID) (fast, slow []string) {
	told := func(list []evict.NodeToClear) (text []string) {
		for i := range list {
			text = append(text, fmt.Sprint(list[i].Spec.ID, " ", list[i].Cost, " ", list[i].Milli, " ", len(list[i].Movers)))
		}
		return text
	}
	for rep := range c.state.Jobs[job].Replicas.All() {
		one, all := c.evict.NodesToClear(rep.Entries[0])
		return told(one), told(all)
	}
	return nil, nil
}

// MovesFit reports for more and more gangs that could be moved for a job that waits whether it and
// they may fit, as a count tells, and whether they do.
func MovesFit(c *Core, job berth.JobID, tell func(may, do bool)) {
	for rep := range c.state.Jobs[job].Replicas.All() {
		c.evict.MovesFit(rep.Entries[0], tell)
	}
}

// NodesCleared is how often the cost to clear a node was worked out so far.
func NodesCleared(c *Core) int { return c.evict.Cleared }

// SpotsAtFirst has victim searches find so many spots at first, or all of them: less than 0.
func SpotsAtFirst(c *Core, most int) { c.victims.SpotsAtFirst(most) }

// Buckets is how many buckets of queues were looked at so far, and how many bidders, to find out
// what is due.
func Buckets(c *Core) int { return c.backlog.Due.Looked }

// Turns is how many entries were put in order so far to find those that get a reservation.
func Turns(c *Core) int { return c.books.Turns }

// DoubtReplies has each bid search all the same that is in vain as an earlier search tells, and
// reports whether the answers are equal.
func DoubtReplies(c *Core, tell func(job berth.JobID, equal bool)) {
	c.evict.Replied = func(e *record.Entry, t *victim.Search) {
		trials := c.state.Bounds.VictimSearches
		u, _, ok := c.evict.Seek(e, evict.Seeking{Mode: c.state.Config.Policy.Preemption.Mode, Chooser: new(preempt.Chooser)}, &trials)
		later := c.state.Now.Add(berth.Minute)
		tell(e.Rep.Job.Spec.ID, !ok && !u.Cut && u.RipeAt(later) == t.RipeAt(later))
	}
}

// BreakInvariant has a core find out that its books are wrong: it frees what nobody holds.
func BreakInvariant(c *Core) { c.books.Release(gang.Hold{Node: 7}) }

// Needs counts the requests that Report looks for on nodes.
func Needs(c *Core) int { return c.answer.Needs() }

// StrandedSlowly is what is free on the nodes of a core on which no member that waits fits: as
// Report has it, shape by shape and node by node.
func StrandedSlowly(c *Core) (milli int64) {
	var waiting []*record.Shape
	for _, key := range slices.Sorted(maps.Keys(c.state.Shapes)) {
		if s := c.state.Shapes[key]; len(s.Buckets) > 0 {
			c.state.Compile(s)
			waiting = append(waiting, s)
		}
	}
	serves := func(n *record.Node, s *record.Shape) bool {
		return slices.ContainsFunc(s.Minimum.Groups, func(g gang.Group) bool {
			return (g.Claim.GPUs > 0 || g.Claim.Share.GPUMilli > 0 || len(g.Claim.Instances) > 0) && c.backlog.Fits(n, &g)
		})
	}
	for _, n := range c.state.Nodes {
		if n == nil || len(waiting) == 0 || n.Closed() || slices.ContainsFunc(waiting, func(s *record.Shape) bool { return serves(n, s) }) {
			continue
		}
		for g := range n.Spec.GPUs {
			left, _ := c.state.Fleet.ShareLeft(n.Index, g)
			if !n.GPUs[g].Get().Unknown() && n.Spec.GPUs[g].Mode != berth.GPUModeMIG && !n.Spec.GPUs[g].Failed {
				milli += int64(left)
			}
		}
	}
	return milli
}

// Twin is what what-ifs are asked of.
func Twin(c *Core) (*Core, error) { return c.twin() }

// NotAsRead names a part of what a core saves that is not as it would be read from a snapshot: that
// has something that no text has, or another form.
func NotAsRead(c *Core) string {
	saved := c.save()
	text, err := snapshotPen.Append(nil, saved)
	if err != nil {
		return err.Error()
	}
	read, err := snapshotForm.Unmarshal(text)
	if err != nil {
		return err.Error()
	}
	read.Config.Gain, read.Config.Scorer = saved.Config.Gain, saved.Config.Scorer
	return differs("", reflect.ValueOf(*saved), reflect.ValueOf(*read))
}

// differs names the first part of a value that is another than of the other value; empty: there is
// none. What is empty is nothing.
func differs(path string, a, b reflect.Value) string {
	switch a.Kind() {
	case reflect.Func, reflect.Interface:
		return ""
	case reflect.Pointer:
		if a.IsNil() != b.IsNil() {
			return path
		}
		if a.IsNil() {
			return ""
		}
		return differs(path, a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			if found := differs(path+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i)); found != "" {
				return found
			}
		}
		return ""
	case reflect.Slice:
		if a.Len() != b.Len() {
			return path
		}
		for i := range a.Len() {
			if found := differs(path+"["+strconv.Itoa(i)+"]", a.Index(i), b.Index(i)); found != "" {
				return found
			}
		}
		return ""
	case reflect.Map:
		if a.Len() != b.Len() {
			return path
		}
		for _, key := range a.MapKeys() {
			if !b.MapIndex(key).IsValid() {
				return path
			}
			if found := differs(path+"["+key.String()+"]", a.MapIndex(key), b.MapIndex(key)); found != "" {
				return found
			}
		}
		return ""
	}
	if !a.Equal(b) {
		return path
	}
	return ""
}

// Overdue is what should have ended already in the order in which it is expected to end: as plans
// find it, and by a look at all that is expected to end.
func Overdue(c *Core) (fast, slow []state.Parting) {
	matters := func(rep *record.Replica) bool { return rep.Job.Spec.Priority == 0 }
	for before := c.state.Now + 1; ; {
		list, rest := c.state.Overdue(before, matters)
		if len(list) == 0 {
			break
		}
		fast, before = append(fast, list...), rest
	}
	c.state.Endings.Ascend(func(e state.Ending) bool {
		if e.At <= c.state.Now && matters(e.Rep) && !c.state.Leaving.Has(e.Rep) {
			slow = append(slow, c.state.Partings(e.Rep)...)
		}
		return true
	})
	slices.SortFunc(slow, state.Parting.Compare)
	return fast, slow
}
