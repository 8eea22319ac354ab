package cases

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
)

// A kaiWorld is a scenario while it is replayed.
type kaiWorld struct {
	*world
	c     *kaiCase
	gangs []kaiGang
	// submitted are the companions that the core knows of.
	submitted map[berth.JobID]bool
}

// world translates the scenario into facts and tells them to a core.
func (c *kaiCase) world() (*kaiWorld, *Error) {
	w := &kaiWorld{c: c, submitted: map[berth.JobID]bool{}}
	for i := range c.Jobs {
		gangs, err := c.gangs(i)
		if err != nil {
			return nil, err
		}
		w.gangs = append(w.gangs, gangs...)
	}
	used := &occupancy{
		c: c, taken: map[gpuOf]bool{}, shared: map[gpuOf]int64{}, groups: map[string]int{}, at: map[podOf]berth.GPUSet{},
		instances: map[gpuOf]bool{},
	}
	observed := w.observed()
	if err := used.place(observed); err != nil {
		return nil, err
	}
	if err := w.build(used); err != nil {
		return nil, err
	}
	return w, w.tell(observed, used)
}

// observed are the gangs of which enough runs.
func (w *kaiWorld) observed() []*kaiGang {
	var list []*kaiGang
	for i := range w.gangs {
		g := &w.gangs[i]
		if g.companion && len(list) == 0 { // goes with a gang that does not run
			continue
		}
		enough := true
		for k := range g.parts {
			runs := 0
			for _, t := range g.parts[k].tasks {
				if w.c.Jobs[g.of].Tasks[t].running() {
					runs++
				}
			}
			enough = enough && runs >= g.parts[k].needs
		}
		if enough && (!g.companion || list[len(list)-1].of == g.of) {
			list = append(list, g)
		}
	}
	return list
}

// build makes the core with the fleet and the queues.
func (w *kaiWorld) build(used *occupancy) *Error {
	levels, wrong := w.c.levels()
	if wrong != nil {
		return wrong
	}
	// KAI reserves nothing for gangs that wait, compares no run times, and consolidates.
	config := berth.Config{Levels: levels, Policy: berth.Policy{
		ReservedGangs: -1, Preemption: atOnce(), Defragmentation: berth.Defragmentation{Mode: berth.DefragmentationOn},
	}}
	sched, err := core.New(config)
	if err != nil {
		return refused("topologies", err)
	}
	w.world = newWorld(sched)
	w.before = w.companions
	table, wrong := w.c.table()
	if wrong != nil {
		return wrong
	}
	if table != nil {
		if err := sched.Apply(0, berth.MIGTableSet{Table: *table}); err != nil {
			return refused("nodes.mig", err)
		}
	}
	for i := range w.c.Nodes {
		node, wrong := w.c.nodeOf(i, levels, table, used)
		if wrong != nil {
			return wrong
		}
		if err := sched.Apply(0, berth.NodeJoined{Node: node}); err != nil {
			return refused(fmt.Sprintf("nodes[%d]", i), err)
		}
	}
	queues := w.c.quotas()
	for i := range queues {
		if err := sched.Apply(0, berth.QueueSet{Queue: queues[i]}); err != nil {
			return refused(fmt.Sprintf("queues[%d]", i), err)
		}
	}
	return nil
}

// refused is what the core does not take.
func refused(field string, err error) *Error {
	return outOfModel(field, "the core refuses it: "+err.Error())
}

// tell tells of the jobs, in the order of their age.
func (w *kaiWorld) tell(observed []*kaiGang, used *occupancy) *Error {
	order := make([]*kaiGang, len(w.gangs))
	for i := range w.gangs {
		order[i] = &w.gangs[i]
	}
	created := func(g *kaiGang) int { return w.c.Jobs[g.of].Created }
	slices.SortStableFunc(order, func(a, b *kaiGang) int { return cmp.Compare(created(a), created(b)) })
	for _, g := range order {
		w.now = berth.Time(created(g)-created(order[0])+1) * berth.Time(berth.Minute)
		var event berth.Event
		switch {
		case slices.Contains(observed, g):
			members := used.members(g)
			w.observe(g.job.ID, members)
			w.submitted[g.job.ID] = true
			event = berth.JobObserved{Job: g.job, Running: []berth.ObservedReplica{{Incarnation: 1, Started: w.now, Members: members}}}
		case g.companion:
			continue
		default:
			event = berth.JobSubmitted{Job: g.job}
		}
		if err := w.core.Apply(w.now, event); err != nil {
			return refused(fmt.Sprintf("jobs[%d]", g.of), err)
		}
	}
	return nil
}

// companions submits those of gangs that run, and takes back those of gangs that do not.
func (w *kaiWorld) companions() error {
	base := false
	for i := range w.gangs {
		g := &w.gangs[i]
		if !g.companion {
			base = len(w.running[g.job.ID]) > 0
			continue
		}
		var err error
		switch {
		case base && !w.submitted[g.job.ID]:
			err = w.core.Apply(w.now, berth.JobSubmitted{Job: g.job})
		case !base && w.submitted[g.job.ID]:
			err = w.core.Apply(w.now, berth.JobCancelled{Job: g.job.ID})
		}
		if err != nil {
			return err
		}
		w.submitted[g.job.ID] = base
	}
	return nil
}
