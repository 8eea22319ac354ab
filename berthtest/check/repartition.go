package check

import (
	"maps"
	"reflect"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/mig"
)

// This file is about Repartitions: what may be ordered, and what becomes of it.

// A change is a Repartition that is out.
type change struct {
	berth.Repartition
	node *node
	// fresh: it was given in the pass that goes on. bound: the Bind that it is for came.
	fresh, bound bool
	// switches: the GPU was in another mode before it.
	switches bool
}

// after is what exists when a change is done.
func (ch *change) after(before []mig.Placement) []mig.Placement {
	kept := slices.DeleteFunc(slices.Clone(before), func(p mig.Placement) bool { return slices.Contains(ch.Destroy, p) })
	return append(kept, ch.Create...)
}

// needs reports whether a member stands on what a change is to bring about.
func (ch *change) needs(m *member) bool {
	return ch.switches || slices.Contains(ch.Create, m.at.Instance)
}

// repartition takes an order about a GPU.
func (c *Checker) repartition(r berth.Repartition) error {
	if err := c.dueBy(r.OrderHeader, c.policy.RepartitionTimeout); err != nil {
		return err
	}
	c.beginRepair(r)
	n := c.nodes[r.Node]
	if n == nil || r.GPU < 0 || r.GPU >= len(n.gpus) {
		return broken(PromiseOrders, "order %d is about GPU %d of node %s, which is not in the fleet", r.ID, r.GPU, r.Node)
	}
	g := &n.gpus[r.GPU]
	switch {
	case g.change != nil:
		return broken(PromiseS5, "order %d is about GPU %d of node %s, about which order %d is out", r.ID, r.GPU, r.Node, g.change.ID)
	case n.failed.Has(r.GPU):
		return broken(PromiseSelectors, "order %d is about GPU %d of node %s, which has failed", r.ID, r.GPU, r.Node)
	case g.unknown:
		return broken(PromiseS5, "order %d is about GPU %d of node %s, of which nobody knows how it is", r.ID, r.GPU, r.Node)
	}
	for _, check := range []func(berth.Repartition, *node) error{c.stepsValid, c.geared, c.notTooOften, c.hasBeneficiary} {
		if err := check(r, n); err != nil {
			return err
		}
	}
	c.saw("repartition because " + string(r.Cause.Code))
	if r.Mode != g.mode {
		c.saw("mode ordered: " + g.mode.String() + " to " + r.Mode.String())
	}
	if len(g.seats) > 0 {
		c.saw("repartition beside instances in use")
	}
	g.change = &change{Repartition: r, node: n, fresh: true, switches: r.Mode != g.mode}
	c.changes[r.ID], c.formerly[r.ID] = g.change, true
	return nil
}

// beginRepair: a repair begins with the first order that it takes, so that the members for which it
// is hold nothing any more, on whatever GPU they died.
func (c *Checker) beginRepair(r berth.Repartition) {
	if rep := c.find(gangKey{r.Job, r.Replica}); rep != nil && rep.state == berth.ReplicaRepairing {
		c.freeAll(rep, broke, lost)
	}
}

// stepsValid: no instance in use is touched, every layout on the way is a valid one, and
// a GPU changes its mode only when nobody holds any of it.
func (c *Checker) stepsValid(r berth.Repartition, n *node) error {
	g, t := &n.gpus[r.GPU], c.table(n)
	layout := slices.Clone(g.instances)
	for _, p := range r.Destroy {
		k := slices.Index(layout, p)
		if k < 0 {
			return broken(PromiseS5, "order %d destroys %s of GPU %d of node %s, which has %v", r.ID, p, r.GPU, r.Node, layout)
		}
		for _, m := range g.seats {
			if m.at.Instance == p {
				return broken(PromiseS5, "order %d destroys %s of GPU %d of node %s, which %s holds", r.ID, p, r.GPU, r.Node, m)
			}
		}
		layout = slices.Delete(layout, k, k+1)
	}
	if r.Mode != g.mode {
		if held := g.holders(); len(held) > 0 {
			return broken(PromiseS5, "order %d makes GPU %d of node %s %s under %s", r.ID, r.GPU, r.Node, r.Mode, held[0])
		}
		if len(layout) > 0 {
			return broken(PromiseS5, "order %d makes GPU %d of node %s %s, which has %v", r.ID, r.GPU, r.Node, r.Mode, layout)
		}
	}
	switch {
	case r.Mode == g.mode && len(r.Destroy)+len(r.Create) == 0:
		return broken(PromiseOrders, "order %d changes nothing about GPU %d of node %s", r.ID, r.GPU, r.Node)
	case r.Mode == berth.GPUModeMIG && t == nil:
		return broken(PromiseS5, "order %d divides GPU %d of node %s, which does not divide", r.ID, r.GPU, r.Node)
	case r.Mode != berth.GPUModeMIG && len(r.Create) > 0:
		return broken(PromiseS5, "order %d creates instances on GPU %d of node %s, which is to be %s", r.ID, r.GPU, r.Node, r.Mode)
	}
	for _, p := range r.Create {
		if layout = append(layout, p); conflict(t, layout) != "" {
			return broken(PromiseS5, "order %d creates %s on GPU %d of node %s: %s", r.ID, p, r.GPU, r.Node, conflict(t, layout))
		}
	}
	return nil
}

// geared: only what the geometry of the pool allows changes.
func (c *Checker) geared(r berth.Repartition, n *node) error {
	kind, divides := c.geometry(n).Kind, r.Mode == berth.GPUModeMIG || n.gpus[r.GPU].mode == berth.GPUModeMIG
	switch {
	case kind == berth.GeometryFixed && divides:
		return broken(PromiseGeometry, "order %d divides GPU %d of node %s anew, in a pool that is fixed", r.ID, r.GPU, r.Node)
	case kind != berth.GeometryAdaptive && len(r.Destroy)+len(r.Create) > 0:
		return broken(PromiseGeometry, "order %d is about instances of GPU %d of node %s, in a pool that is %s", r.ID, r.GPU, r.Node, kind)
	}
	return nil
}

// notTooOften: changes from, to and within GPUModeMIG are no more than the pool's geometry
// allows.
func (c *Checker) notTooOften(r berth.Repartition, n *node) error {
	g, limits := &n.gpus[r.GPU], c.geometry(n)
	if g.mode != berth.GPUModeMIG && r.Mode != berth.GPUModeMIG {
		return nil
	}
	if g.touched && c.now < g.touchedAt.Add(limits.Interval) {
		return broken(PromiseGeometry, "order %d is about GPU %d of node %s, as one at %d was; the interval is %s", r.ID, r.GPU, r.Node, g.touchedAt, limits.Interval)
	}
	recent := slices.DeleteFunc(c.recent[n.spec.Pool], func(at berth.Time) bool { return at.Add(berth.Hour) <= c.now })
	if len(recent) >= limits.PerHour {
		return broken(PromiseGeometry, "order %d is the %dth repartition of pool %q within an hour; %d may be", r.ID, len(recent)+1, n.spec.Pool, limits.PerHour)
	}
	c.recent[n.spec.Pool] = append(recent, c.now)
	g.touched, g.touchedAt = true, c.now
	return nil
}

// hasBeneficiary: a Repartition is for a gang whose Bind follows in the same pass, or for
// nobody: then it brings an idle GPU back to the layout of its pool.
func (c *Checker) hasBeneficiary(r berth.Repartition, n *node) error {
	g, geometry := &n.gpus[r.GPU], c.geometry(n)
	if r.Job == "" {
		profiles := mig.Layout((&change{Repartition: r}).after(g.instances)).Profiles()
		want := slices.SortedFunc(slices.Values(geometry.Layout), mig.ProfileName.Compare)
		switch {
		case r.Cause.Code != berth.CauseLayout || r.Replica != 0 || r.Incarnation != 0:
			return broken(PromiseCauses, "order %d is for nobody, because of %q", r.ID, r.Cause.Code)
		case len(g.holders()) > 0:
			return broken(PromiseGeometry, "order %d brings GPU %d of node %s to its layout under %s", r.ID, r.GPU, r.Node, g.holders()[0])
		case geometry.Kind != berth.GeometryAdaptive || len(want) == 0 || r.Mode != berth.GPUModeMIG || !slices.Equal(profiles, want):
			return broken(PromiseGeometry, "order %d is for nobody and leaves GPU %d of node %s with %v; its pool's layout is %v", r.ID, r.GPU, r.Node, profiles, want)
		}
		return nil
	}
	right := berth.CauseMode
	if r.Mode == berth.GPUModeMIG || g.mode == berth.GPUModeMIG {
		right = berth.CauseGeometry
	}
	if r.Cause.Code != right {
		return broken(PromiseCauses, "order %d makes GPU %d of node %s %s, which is %s, because of %q", r.ID, r.GPU, r.Node, r.Mode, g.mode, r.Cause.Code)
	}
	if j := c.jobs[r.Job]; c.find(gangKey{r.Job, r.Replica}) == nil && (j == nil || !j.surges()) { // else its Bind makes it
		return broken(PromiseOrders, "order %d is for %s/%d, which does not exist", r.ID, r.Job, r.Replica)
	}
	return nil
}

// bindAfter: a Bind lists the Repartitions that are out about GPUs of its members, and
// no others; and its deadline leaves time for them.
func (c *Checker) bindAfter(rep *replica, b berth.Bind) error {
	need := map[berth.OrderID]bool{}
	for i := range b.Members {
		p := &b.Members[i]
		for _, k := range p.GPUs.Indexes() {
			ch := c.nodes[p.Node].gpus[k].change
			if ch == nil {
				continue
			}
			need[ch.ID] = true
			if ch.fresh && ch.Job == b.Job && ch.Replica == b.Replica {
				ch.bound = true
				if ch.Incarnation != b.Incarnation {
					return broken(PromiseIncarnations, "order %d is for incarnation %d of %s, and order %d binds incarnation %d", ch.ID, ch.Incarnation, rep, b.ID, b.Incarnation)
				}
			}
			if !ch.fresh {
				c.saw("bind after a repartition from earlier")
			}
		}
	}
	if listed := slices.Sorted(slices.Values(b.After)); !slices.Equal(listed, slices.Sorted(maps.Keys(need))) {
		return broken(PromiseOrders, "order %d binds %s after %v; the repartitions that are out there are %v", b.ID, rep, b.After, slices.Sorted(maps.Keys(need)))
	}
	return nil
}

// allBound: no Repartition is given for a gang that is not bound in the same pass.
func (c *Checker) allBound() error {
	for _, id := range slices.Sorted(maps.Keys(c.changes)) {
		ch := c.changes[id]
		if ch.fresh && ch.Job != "" && !ch.bound {
			return broken(PromiseOrders, "order %d is for %s/%d, of which the pass binds nobody there", id, ch.Job, ch.Replica)
		}
		ch.fresh = false
	}
	return nil
}

// endChange ends a change: it came about, or it did not.
func (c *Checker) endChange(ch *change, done bool) {
	g := &ch.node.gpus[ch.GPU]
	if done {
		g.mode, g.instances = ch.Mode, ch.after(g.instances)
	}
	g.change = nil
	delete(c.changes, ch.ID)
}

// repartitionReported: what runs on what was ordered proves that it came about.
func (c *Checker) repartitionReported(ch *change, e berth.OrderReported) error {
	if e.Outcome != berth.OutcomeDone && e.Outcome != berth.OutcomeFailed || len(e.Members) > 0 {
		return broken(PromiseEvents, "a report of order %d, a repartition, was accepted as %s with %d members", ch.ID, e.Outcome, len(e.Members))
	}
	if e.Outcome == berth.OutcomeDone {
		c.saw("repartition done")
		c.endChange(ch, true)
		return nil
	}
	if m := ch.runner(); m != nil {
		return broken(PromiseEvents, "order %d was accepted as failed, and %s runs on what it was to bring about", ch.ID, m)
	}
	c.saw("repartition failed")
	c.fail(ch)
	return nil
}

// runner finds a member that runs, or ran and is being stopped, on what a change is to
// bring about.
func (ch *change) runner() *member {
	for _, m := range ch.node.gpus[ch.GPU].holders() {
		if m.ran && ch.needs(m) {
			return m
		}
	}
	return nil
}

// fail: members that stand on what did not come about hold nothing any more.
func (c *Checker) fail(ch *change) {
	hit := slices.DeleteFunc(ch.node.gpus[ch.GPU].holders(), func(m *member) bool { return !ch.needs(m) })
	for _, m := range hit {
		m.rep.avoid(m)
	}
	c.endChange(ch, false)
	c.lose("repartition failed", hit, berth.CauseRepartitionFailed)
}

// expireChange: a change that nobody reported came about if somebody runs on it; else
// nobody knows. Members that may be coming up on it hold what they hold.
func (c *Checker) expireChange(ch *change) {
	if ch.runner() != nil {
		c.saw("repartition expired, and done")
		c.endChange(ch, true)
		return
	}
	c.saw("repartition expired")
	c.outdated() // what was reserved there may be no more, and be reserved anew in the same pass
	g := &ch.node.gpus[ch.GPU]
	needed := slices.ContainsFunc(g.holders(), ch.needs)
	c.endChange(ch, needed)
	if g.unknown = true; needed {
		c.saw("repartition expired under members that may be coming up")
		g.overdue = ch
	}
}

// proves: a member that runs on what a change was to bring about says that it was carried out,
// though nobody reported it in time.
func (c *Checker) proves(m *member) {
	for _, i := range m.at.GPUs.Indexes() {
		if g := &m.node.gpus[i]; g.overdue != nil && g.overdue.needs(m) {
			c.saw("overdue repartition proven")
			c.outdated()
			g.unknown, g.overdue = false, nil
		}
	}
}

// gpuPartitioned takes the world's word for how a GPU is.
func (c *Checker) gpuPartitioned(e berth.GPUPartitioned) error {
	n, err := c.known(e.Node)
	if err != nil {
		return err
	}
	if why := c.unpartitionable(n, e); why != "" {
		return broken(PromiseEvents, "GPU %d of node %s was accepted as %s with %v: %s", e.GPU, e.Node, e.Mode, e.Instances, why)
	}
	c.saw("gpuPartitioned")
	if n.gpus[e.GPU].unknown {
		c.saw("gpuPartitioned after nobody knew")
	}
	n.gpus[e.GPU].tell(e.Mode, e.Instances, c.geometry(n).Kind)
	return nil
}

// unpartitionable says why a GPU cannot be as somebody tells, or returns "".
func (c *Checker) unpartitionable(n *node, e berth.GPUPartitioned) string {
	if e.GPU < 0 || e.GPU >= len(n.gpus) {
		return "there is no such GPU"
	}
	if e.Mode == berth.GPUModeUnset {
		return "its mode is not said"
	}
	g := &n.gpus[e.GPU]
	if why := c.undividable(n, e.Mode, e.Instances); why != "" {
		return why
	}
	if g.change != nil {
		return "an order about it is out"
	}
	for _, m := range g.holders() {
		mode, _ := modeOf(m.claim())
		gone := mode == berth.GPUModeMIG && c.geometry(n).Kind != berth.GeometryPerClaim && !slices.Contains(e.Instances, m.at.Instance)
		if mode != e.Mode || gone {
			return m.String() + " holds something else"
		}
	}
	return ""
}

// undividable says why a GPU of a node cannot be in a mode with such instances.
func (c *Checker) undividable(n *node, mode berth.GPUMode, instances []mig.Placement) string {
	switch {
	case mode > berth.GPUModeTimeSlice:
		return "there is no such mode"
	case mode == berth.GPUModeMIG:
		return conflict(c.table(n), instances)
	case len(instances) > 0:
		return "it has instances and is not in MIG mode"
	}
	return ""
}

// tableSet takes a table; one that nodes go by stays as it is.
func (c *Checker) tableSet(e berth.MIGTableSet) error {
	for _, id := range slices.Sorted(maps.Keys(c.nodes)) {
		n := c.nodes[id]
		if t := c.table(n); t != nil && t.Name == e.Table.Name && !sameTable(t, &e.Table) {
			return broken(PromiseEvents, "the table %s was changed, by which node %s goes", e.Table.Name, id)
		}
	}
	c.saw("table told")
	table := e.Table
	c.tables[table.Name] = &table
	return nil
}

// sameTable reports whether two tables divide alike.
func sameTable(a, b *mig.Product) bool {
	if units(a.ComputeSlices, a.SMs, a.Engines) != units(b.ComputeSlices, b.SMs, b.Engines) || a.MemorySlices != b.MemorySlices || len(a.Profiles) != len(b.Profiles) {
		return false
	}
	for i := range a.Profiles {
		p, q := a.Profiles[i], b.Profiles[i]
		p.Evidence, q.Evidence = mig.Evidence{}, mig.Evidence{}
		if !reflect.DeepEqual(p, q) {
			return false
		}
	}
	return true
}
