package topo

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/machine"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/core"
)

// A fleet is a simulation of a fleet that stands still, in which members start and stop at once,
// and books about what is free there.
type fleet struct {
	name, about string
	config      berth.Config
	core        *core.Core
	sim         *sim.Simulation
	orders      []berth.Order // of the latest passes
	nodes       []berth.Node
	at          map[berth.NodeID]int
	free        []int // GPUs by node
	gpus        int   // of all nodes
	held        int
	perNode     int // GPUs of the largest nodes
}

func newFleet(name, about string, config berth.Config, nodes []berth.Node) (*fleet, error) {
	sched, err := machine.OneQueue(config)
	if err != nil {
		return nil, err
	}
	f := &fleet{name: name, about: about, config: config, core: sched, nodes: nodes, at: map[berth.NodeID]int{}}
	f.sim = sim.New(sched, sim.FromSlice(nil), sim.Options{Scheduled: func(_ berth.Time, orders []berth.Order) {
		f.orders = append(f.orders, orders...)
	}})
	for i := range nodes {
		n := &nodes[i]
		if err := f.tell(berth.NodeJoined{Node: *n}); err != nil {
			return nil, err
		}
		f.at[n.ID] = i
		f.free = append(f.free, len(n.GPUs))
		f.gpus += len(n.GPUs)
		f.perNode = max(f.perNode, len(n.GPUs))
	}
	return f, nil
}

func (f *fleet) tell(e berth.Event) error { return f.sim.Tell(sim.Arrival{Event: e}) }

// The mix that fills a fleet: GPUs, and how many of 100 jobs.
var (
	fillSizes = [...]int{1, 2, 4, 8, 16, 32, 64, 128}
	fillOf100 = [...]int{25, 15, 15, 25, 8, 6, 4, 2}
)

const (
	fillFirst  = 90 // percent
	fillAtLast = 70
)

// fill lets jobs run until 90 % of the GPUs are held, then ends some at random until it
// is 70 %. Jobs for which there is no place are left out.
func (f *fleet) fill(seed uint64) error {
	random := rand.New(rand.NewPCG(seed, uint64(f.gpus)))
	var running []*berth.Bind
	for number := 0; 100*f.held < fillFirst*f.gpus; number++ {
		job := f.gang(study.Pick(random, fillSizes[:], fillOf100[:]))
		job.ID = berth.JobID(fmt.Sprintf("fill-%06d", number))
		// Of several products one is asked for, so that all of them fill up.
		job.Groups[0].Selector.Products = []string{f.nodes[random.IntN(len(f.nodes))].GPUs[0].Product}
		if job.Groups[0].Claim.GPUs > f.largest(job.Groups[0].Selector.Products[0]) {
			continue
		}
		bind, err := f.place(job)
		if err != nil {
			return err
		}
		if bind == nil {
			if _, err := f.withdraw(job.ID); err != nil {
				return err
			}
			continue
		}
		f.book(bind, 1)
		running = append(running, bind)
	}
	for 100*f.held > fillAtLast*f.gpus {
		i := random.IntN(len(running))
		bind := running[i]
		running[i] = running[len(running)-1]
		running = running[:len(running)-1]
		if err := f.finish(bind); err != nil {
			return err
		}
		f.book(bind, -1)
	}
	return nil
}

// largest is the number of GPUs of the largest node of a product.
func (f *fleet) largest(product string) int {
	most := 0
	for i := range f.nodes {
		if f.nodes[i].GPUs[0].Product == product {
			most = max(most, len(f.nodes[i].GPUs))
		}
	}
	return most
}

// book notes what a placement holds, or gives back.
func (f *fleet) book(bind *berth.Bind, sign int) {
	for i := range bind.Members {
		m := &bind.Members[i]
		f.free[f.at[m.Node]] -= sign * m.GPUs.Len()
		f.held += sign * m.GPUs.Len()
	}
}

// gang is a job of so many GPUs, on whole nodes if it is that large. Where islands are
// larger than a node, its members come in segments that stay on one, as in nvl72.
func (f *fleet) gang(gpus int) berth.Job {
	members, each := 1, gpus
	if gpus > f.perNode {
		members, each = gpus/f.perNode, f.perNode
	}
	group := berth.Group{
		Members: members, Claim: berth.Claim{GPUs: each, CPUMilli: int64(each) * 8000, MemoryMiB: int64(each) * 64 << 10},
	}
	if level := f.config.Fabric.IslandLevel; level != "" && members > 1 {
		group.Topology.Segments = []berth.Segment{{Size: min(members, machine.SegmentTrays), Level: level}}
	}
	return berth.Job{ID: "measured", Queue: machine.Queue, Groups: []berth.Group{group}}
}

// place submits a job, which runs at once; nil if there is no place.
func (f *fleet) place(job berth.Job) (*berth.Bind, error) {
	f.orders = f.orders[:0]
	if err := f.tell(berth.JobSubmitted{Job: job}); err != nil {
		return nil, err
	}
	if err := f.sim.Run(f.sim.Now()); err != nil || len(f.orders) == 0 {
		return nil, err
	}
	bind, ok := f.orders[0].(berth.Bind)
	if !ok || len(f.orders) > 1 {
		return nil, fmt.Errorf("%d orders, the first a %s", len(f.orders), f.orders[0].Kind())
	}
	return &bind, nil
}

// finish ends a job that runs.
func (f *fleet) finish(bind *berth.Bind) error {
	return f.tell(berth.JobFinished{Job: bind.Job, Incarnation: bind.Incarnation})
}

// withdraw cancels a job that waits, and says why it did.
func (f *fleet) withdraw(id berth.JobID) (string, error) {
	e, err := f.core.Explain(id)
	if err != nil {
		return "", err
	}
	reason := "?"
	if e.Replicas[0].Reason != nil {
		reason = string(e.Replicas[0].Reason.Code)
	}
	return reason, f.tell(berth.JobCancelled{Job: id})
}

// An effect is what a placement does to the fleet.
type effect struct {
	level   string
	nodes   int
	spanned []int // domains by level
	// islandsBroken and widerBroken count the domains that were wholly free and are
	// now used in part.
	islandsBroken, widerBroken int
}

// effect looks at a placement that is not booked.
func (f *fleet) effect(bind *berth.Bind) effect {
	used := map[int]int{}
	for i := range bind.Members {
		used[f.at[bind.Members[i].Node]] += bind.Members[i].GPUs.Len()
	}
	e := effect{level: "fleet", nodes: len(used), spanned: make([]int, len(f.config.Levels))}
	island := len(f.config.Levels)
	for level := range len(f.config.Levels) + 1 {
		domains := f.usage(level, used)
		broken, spanned := 0, 0
		for _, d := range domains {
			if d.used > 0 {
				spanned++
			}
			if d.free == d.gpus && d.used > 0 && d.used < d.gpus {
				broken++
			}
		}
		if spanned == 1 {
			e.level = f.levelName(level)
		}
		if level < len(f.config.Levels) {
			e.spanned[level] = spanned
			if f.config.Levels[level] == f.config.Fabric.IslandLevel {
				island = level
			}
		}
		switch {
		case level < island:
			e.widerBroken += broken
		case level == island:
			e.islandsBroken = broken
		}
	}
	return e
}

func (f *fleet) levelName(level int) string {
	if level == len(f.config.Levels) {
		return "node"
	}
	return f.config.Levels[level]
}

// A domainUse is what a domain has, what was free, and what a placement uses.
type domainUse struct{ gpus, free, used int }

// usage sums by domain of a level, where the last level is that of the nodes.
func (f *fleet) usage(level int, used map[int]int) map[string]domainUse {
	domains := map[string]domainUse{}
	for i := range f.nodes {
		name := string(f.nodes[i].ID)
		if level < len(f.config.Levels) {
			name = strings.Join(f.nodes[i].Domains[:level+1], "/")
		}
		d := domains[name]
		d.gpus += len(f.nodes[i].GPUs)
		d.free += f.free[i]
		d.used += used[i]
		domains[name] = d
	}
	return domains
}

// describeFill tells what is free.
func (f *fleet) describeFill() string {
	text := fmt.Sprintf("%d of %d GPUs held (%.1f %%); wholly free:", f.held, f.gpus, 100*float64(f.held)/float64(f.gpus))
	for level := len(f.config.Levels); level >= 0; level-- {
		whole, all := 0, 0
		for _, d := range f.usage(level, nil) {
			all++
			if d.free == d.gpus {
				whole++
			}
		}
		text += fmt.Sprintf(" %s %d of %d", f.levelName(level), whole, all)
		if level > 0 {
			text += ","
		}
	}
	var jobs []string
	for i, gpus := range fillSizes {
		jobs = append(jobs, fmt.Sprintf("%d x %d", fillOf100[i], gpus))
	}
	return text + fmt.Sprintf("\n  filled to %d %% with jobs (of 100: %s GPUs), then ended at random down to %d %%", fillFirst, strings.Join(jobs, ", "), fillAtLast)
}
