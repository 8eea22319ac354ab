package baseline

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
)

// Cells gives every queue a virtual private cluster: so many cells, each a whole node of a
// certain size, as in HiveD (Zhao et al., "HiveD: Sharing a GPU Cluster for Deep Learning with
// Guarantees", OSDI 2020). Make it with NewCells.
//
// In a pass the queues place their jobs into their cells, each in the order of submission and
// until one finds no place there: a guaranteed job. A cell is bound to a node when it is first
// used, and given back when it is empty; while it is bound nobody else is guaranteed anything on
// that node. Then, in the order of submission, a job that still waits may run on what is idle, in
// whichever cell: an opportunistic job. It is evicted as soon as a guaranteed one wants its
// GPUs. So no first job of a queue waits while the queue has cells for it, but for the time
// in which opportunistic jobs leave.
//
// Departures: HiveD divides cells further, each by levels of its own, and lets users say what is
// opportunistic; here cells are nodes, Buddy divides them where it is the Fit, and a gang of
// several members may use all cells of its queue, wherever their nodes stand. An opportunistic
// job becomes a guaranteed one where it stands, when its queue has cells for that and no job that
// was submitted earlier waits.
type Cells struct {
	// cells[queue] are how many nodes of each size it has, the smallest first.
	cells map[berth.QueueID][]cells
	queue map[berth.QueueID]*virtual
	names []berth.QueueID
	// bound is the queue that has a node; nil: none. held are the places, in this pass, of
	// guaranteed jobs for which others have to leave.
	bound []*virtual
	held  []Placement
	// plans are the places for which others were told to leave, by the job that waits for them: it
	// keeps to its place, or others would leave in vain.
	plans map[*Job]Placement
}

// cells are a number of nodes of so many GPUs.
type cells struct{ gpus, nodes int }

// A virtual is the private cluster of a queue.
type virtual struct{ left []cells }

// Marks of jobs.
const (
	opportunistic = iota
	guaranteed
)

// NewCells makes the policy. Shares say how many nodes of each number of GPUs every queue
// has; a queue that is not there has none. In all they must be no more than the fleet has.
func NewCells(shares map[berth.QueueID]map[int]int) *Cells {
	c := &Cells{cells: map[berth.QueueID][]cells{}, queue: map[berth.QueueID]*virtual{}, plans: map[*Job]Placement{}}
	for queue, share := range shares {
		for gpus, nodes := range share {
			c.cells[queue] = append(c.cells[queue], cells{gpus, nodes})
		}
		slices.SortFunc(c.cells[queue], func(a, b cells) int { return cmp.Compare(a.gpus, b.gpus) })
		c.queue[queue] = &virtual{}
		c.names = append(c.names, queue)
	}
	slices.Sort(c.names)
	return c
}

// Pass implements Policy.
func (c *Cells) Pass(p *Pass) {
	waiting := p.Waiting()
	c.bind(p, waiting)
	c.promote(p, waiting)
	opportunists := slices.DeleteFunc(p.Running(), func(j *Job) bool { return j.Mark == guaranteed })
	blocked := map[berth.QueueID]bool{}
	for _, j := range waiting {
		at := c.plans[j]
		if at == nil && !blocked[j.Spec.Queue] {
			at = c.place(p, j)
		}
		if at == nil {
			blocked[j.Spec.Queue] = true
			continue
		}
		c.take(p, j, at, opportunists)
	}
	for _, j := range p.Waiting() {
		if c.plans[j] != nil {
			continue // others leave for it
		}
		if at := p.Place(j); at != nil {
			j.Mark = opportunistic
			p.Start(j, at)
		}
	}
}

// bind finds out which nodes are bound, from the jobs that run there or are to, and which cells are
// left.
func (c *Cells) bind(p *Pass, waiting []*Job) {
	c.bound, c.held = make([]*virtual, p.Nodes()), nil
	for _, name := range c.names {
		c.queue[name].left = slices.Clone(c.cells[name])
	}
	for _, j := range p.s.holding {
		if v := c.queue[j.Spec.Queue]; v != nil && j.Mark == guaranteed {
			c.use(p, v, j.At)
		}
	}
	plans := map[*Job]Placement{}
	for _, j := range waiting {
		if at := c.plans[j]; at != nil {
			plans[j] = at
			c.held = append(c.held, at)
			c.use(p, c.queue[j.Spec.Queue], at)
		}
	}
	c.plans = plans // of jobs that are gone, none is left
}

// promote makes opportunistic jobs guaranteed ones, where they stand, if their queue has cells for
// that: those that were submitted before all that wait in it.
func (c *Cells) promote(p *Pass, waiting []*Job) {
	first := map[berth.QueueID]int{}
	for _, j := range waiting {
		if first[j.Spec.Queue] == 0 {
			first[j.Spec.Queue] = j.order
		}
	}
	running := p.Running()
	slices.SortFunc(running, func(a, b *Job) int { return cmp.Compare(a.order, b.order) })
	for _, j := range running {
		v, before := c.queue[j.Spec.Queue], first[j.Spec.Queue]
		if j.Mark == guaranteed || v == nil || before > 0 && j.order > before || !c.covers(p, v, j.At) {
			continue
		}
		if !slices.ContainsFunc(c.held, j.At.Overlaps) {
			j.Mark = guaranteed
			c.use(p, v, j.At)
		}
	}
}

// covers reports whether a private cluster has cells for a placement where it is.
func (c *Cells) covers(p *Pass, v *virtual, at Placement) bool {
	needed := map[int]int{}
	seen := map[int]bool{}
	for _, spot := range at {
		if owner := c.bound[spot.Node]; owner == v || seen[spot.Node] {
			continue
		} else if owner != nil {
			return false
		}
		seen[spot.Node] = true
		size := p.All(spot.Node).Len()
		if needed[size]++; needed[size] > v.of(size).nodes {
			return false
		}
	}
	return true
}

// use binds the nodes of a placement that are not bound yet.
func (c *Cells) use(p *Pass, v *virtual, at Placement) {
	for _, spot := range at {
		if c.bound[spot.Node] == v {
			continue
		}
		c.bound[spot.Node] = v
		v.of(p.All(spot.Node).Len()).nodes--
	}
}

// of is the entry for nodes of so many GPUs, or one that counts for nothing.
func (v *virtual) of(gpus int) *cells {
	if i := slices.IndexFunc(v.left, func(c cells) bool { return c.gpus == gpus }); i >= 0 {
		return &v.left[i]
	}
	return &cells{}
}

// place finds a place for a job in the cells of its queue: on nodes that are bound to it, what
// nobody guaranteed holds there, and on as many others as it has cells left, the idlest ones.
func (c *Cells) place(p *Pass, j *Job) Placement {
	v := c.queue[j.Spec.Queue]
	if v == nil {
		return nil
	}
	space := make(Space, p.Nodes())
	for n := range space {
		if c.bound[n] == v {
			space[n] = p.All(n)
		}
	}
	for _, left := range v.left {
		for _, n := range c.idlest(p, left) {
			space[n] = p.All(n)
		}
	}
	for _, holder := range p.s.holding {
		if holder.Mark == guaranteed {
			space.Take(holder.At)
		}
	}
	for _, at := range c.held {
		space.Take(at)
	}
	idle := slices.Clone(space)
	for n := range idle {
		idle[n] &= p.Free[n]
	}
	if at := p.PlaceIn(j, idle); at != nil {
		return at // nobody has to leave
	}
	return p.PlaceIn(j, space)
}

// idlest are nodes of a size that are bound to nobody, as many as there are cells, those first
// of which the most is free, or will be when the jobs on their way out have left.
func (c *Cells) idlest(p *Pass, left cells) []int {
	soon := slices.Clone(p.Free)
	for _, j := range p.s.leaving {
		soon.Add(j.At)
	}
	var list []int
	for n, v := range c.bound {
		if v == nil && p.All(n).Len() == left.gpus && !p.s.fleet.nodes[n].cordoned {
			list = append(list, n)
		}
	}
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(soon[b].Len(), soon[a].Len()) })
	return list[:min(max(left.nodes, 0), len(list))]
}

// take starts a job on a place in its cells, or has the jobs that are there leave.
func (c *Cells) take(p *Pass, j *Job, at Placement, opportunists []*Job) {
	c.use(p, c.queue[j.Spec.Queue], at)
	if p.Free.has(at) {
		delete(c.plans, j)
		j.Mark = guaranteed
		p.Start(j, at)
		return
	}
	for _, victim := range opportunists {
		if victim.At.Overlaps(at) {
			p.Preempt(victim, j)
		}
	}
	p.Hold(at)
	if c.plans[j] == nil {
		c.held, c.plans[j] = append(c.held, at), at
	}
}
