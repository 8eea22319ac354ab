package philly

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/flagline"
	"github.com/berth-sched/berth/bench/life"
	"github.com/berth-sched/berth/bench/report"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// The nodes of the fleet: so many GPUs, and so many nodes in a rack.
var nodeKinds = []struct {
	name       string
	gpus, rack int
}{{"eight", 8, 8}, {"two", 2, 20}}

// rack is the level between the fleet and its nodes.
const rack = "rack"

// A fleet is how many nodes of each number of GPUs there are.
type fleet map[int]int

// newFleet has three quarters of the GPUs in nodes of eight, and the others in nodes of two.
func newFleet(gpus int) fleet {
	eight := gpus * 3 / 4 / 8
	return fleet{8: eight, 2: (gpus - 8*eight) / 2}
}

func (f fleet) gpus() (sum int) {
	for gpus, nodes := range f {
		sum += gpus * nodes
	}
	return sum
}

// nodes describes them, rack by rack.
func (f fleet) nodes() []berth.Node {
	var list []berth.Node
	for _, n := range nodeKinds {
		for i := range f[n.gpus] {
			list = append(list, berth.Node{
				ID:      berth.NodeID(fmt.Sprintf("%s-%04d", n.name, i)),
				Domains: []string{fmt.Sprintf("%s-rack-%03d", n.name, i/n.rack)},
				GPUs:    slices.Repeat([]berth.GPU{{Product: "P100", MemoryMiB: 16_384}}, n.gpus),
			})
		}
	}
	return list
}

// checkpointTakes is what all jobs can do.
const checkpointTakes, restartTakes = berth.Minute, berth.Minute

// load reads the trace, and divides the fleet by it.
func (b *experiment) load() error {
	b.fleet = newFleet(b.GPUs)
	jobs, err := b.read()
	if err != nil {
		return err
	}
	if len(jobs) == 0 {
		return flagline.Misused("no job of the trace was submitted in those days")
	}
	b.length = jobs[len(jobs)-1].At.Sub(0)
	if b.shares = life.Divide(b.fleet, jobs); b.shares == nil {
		return flagline.Misused("-gpus: %d are too few for the largest jobs of all virtual clusters side by side", b.GPUs)
	}
	b.whole = &life.Workload{Nodes: b.fleet.nodes(), Queues: queues(b.shares), Jobs: jobs}
	own := map[berth.QueueID][]sim.Arrival{}
	for _, a := range jobs {
		queue := a.Event.(berth.JobSubmitted).Job.Queue
		own[queue] = append(own[queue], a)
	}
	for i := range b.shares {
		share := &b.shares[i]
		b.private = append(b.private, &life.Workload{
			Nodes: fleet(share.Nodes).nodes(), Queues: queues(b.shares[i : i+1]), Jobs: own[share.Queue],
		})
	}
	return nil
}

// read lists the jobs of the days that count, from the first of these on.
func (b *experiment) read() (jobs []sim.Arrival, err error) {
	open := workload.Philly
	if strings.HasSuffix(strings.TrimSuffix(b.File, ".gz"), ".swf") {
		open = workload.SWF
	}
	trace, err := open(b.File, workload.Options{GPUsPerNode: 8, ProcessorsPerGPU: b.Processors, Change: func(j *berth.Job) {
		j.Checkpoint = berth.Checkpoint{Supported: true, Cost: checkpointTakes, RestartCost: restartTakes}
		if len(j.Groups) > 1 || j.Groups[0].Members > 1 {
			j.Topology.Preferred = rack
		}
	}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, trace.Close()) }()
	from := berth.Time(0).Add(berth.Duration(b.From) * berth.Day)
	for a, more := trace.Next(); more; a, more = trace.Next() {
		if _, is := a.Event.(berth.JobSubmitted); !is || a.At < from {
			continue
		}
		if b.Days > 0 && a.At >= from.Add(berth.Duration(b.Days)*berth.Day) {
			break
		}
		a.At -= from
		jobs = append(jobs, a)
	}
	return jobs, trace.Err()
}

// queues are the virtual clusters of some shares, with these as guarantees and weights.
func queues(shares []life.Share) []quota.Queue {
	var list []quota.Queue
	for i := range shares {
		gpus := int64(shares[i].GPUs())
		list = append(list, quota.Queue{Name: shares[i].Queue, Weight: max(gpus, 1), Guarantee: quota.Amounts{quota.GPUMilli: gpus * 1000}})
	}
	return list
}

// A lifePart is the book of one simulation.
type lifePart struct {
	book  *life.Book
	speed sim.Speed
}

func (b *experiment) playPart(p *policy, w *life.Workload, bar *report.Progress) (lifePart, error) {
	scheduler, err := p.make(b.sharesOf(w))
	if err != nil {
		return lifePart{}, err
	}
	if p.untold {
		w = untold(w)
	}
	moved, end := bar.Follow(), berth.Time(0).Add(b.length)
	options := life.Options{Progress: func(now berth.Time) { moved(min(now, end)) }}
	if b.Check {
		options.Checker = p.checker(config())
	}
	book, speed, err := life.Play(scheduler, w, options)
	if err != nil {
		return lifePart{}, fmt.Errorf("%s: %w", p.name, err)
	}
	moved(end)
	return lifePart{book, speed}, nil
}

// sharesOf lists the shares of the queues of a workload.
func (b *experiment) sharesOf(w *life.Workload) []life.Share {
	return slices.DeleteFunc(slices.Clone(b.shares), func(s life.Share) bool {
		return !slices.ContainsFunc(w.Queues, func(q quota.Queue) bool { return q.Name == s.Queue })
	})
}

// untold is a workload of which no job tells its run time.
func untold(of *life.Workload) *life.Workload {
	w := *of
	w.Jobs = slices.Clone(w.Jobs)
	for i := range w.Jobs {
		e := w.Jobs[i].Event.(berth.JobSubmitted)
		e.Job.ExpectedRuntime = 0
		w.Jobs[i].Event = e
	}
	return &w
}

// foreseen plays the trace under the core as if no job told its run time, and counts how many run
// for about as long as is assumed, or as the core learns.
func (b *experiment) foreseen() (*study.Table, error) {
	scheduler, err := core.New(berth.Config{Levels: []string{rack}, Policy: berth.Policy{ReservedGangs: berth.Off, Preemption: berth.Preemption{Mode: berth.PreemptionOff}}})
	if err != nil {
		return nil, err
	}
	seen := life.Foresee(scheduler)
	if _, _, err := life.Play(seen, untold(b.whole), life.Options{}); err != nil {
		return nil, err
	}
	t := study.NewTable("Jobs that run for half to twice as long as expected if no job tells its run time, %", "as assumed", "as learned")
	assumed, learned := seen.Shares()
	t.Add(assumed, learned)
	return t, nil
}
