package grid

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/life"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/quota"
)

const gpusPerNode = 8

// leafNodes and spineLeaves are the topology of a fleet with leaves.
const leafNodes, spineLeaves = 16, 8

// teams share a fleet, in the tenths that they submit, and that they are guaranteed if anything is.
var teams = [...]int{4, 3, 2, 1}

// draw makes the workload of a cell: so many jobs, the same for each seed.
//
// Submissions come as a Poisson process, three times as often at three in the afternoon as at
// night, and half as often at weekends. A fifth are sweeps of 4 to 16 jobs that ask for the same.
// Sizes are powers of two from a GPU to half of the fleet, each half as often as the size below, on
// larger fleets up to 0.7 times. Run times are lognormal around half an hour for a GPU, longer with
// the size, and one job in six fails in its first minutes. The span is what gives the load.
func draw(c cell, jobs int, seed uint64) *life.Workload {
	d := drawing{cell: c, random: rand.New(rand.NewPCG(seed, 17)), gpus: c.number(fleet) * gpusPerNode}
	w := &life.Workload{Nodes: d.nodes(), Queues: d.queues()}
	for len(d.list) < jobs {
		d.submission()
	}
	d.list = d.list[:jobs]
	var work float64
	for i := range d.list {
		work += float64(d.list[i].gpus) * float64(d.list[i].runs)
	}
	d.spread(work / float64(d.gpus) * 100 / float64(c.number(load)))
	for i := range d.list {
		w.Jobs = append(w.Jobs, d.list[i].arrival(i, c))
	}
	return w
}

type drawing struct {
	cell   cell
	random *rand.Rand
	gpus   int
	list   []job
	groups int // submissions
}

// A job that was drawn. Of those of one submission the group is the same.
type job struct {
	group, gpus, team int
	at                berth.Time
	runs              berth.Duration
	// told is its run time as it was told; zero: it was not.
	told  berth.Duration
	saves bool
	level string
}

func (d *drawing) nodes() []berth.Node {
	list := make([]berth.Node, d.cell.number(fleet))
	for i := range list {
		list[i] = berth.Node{ID: berth.NodeID(fmt.Sprintf("n%03d", i)), CPUMilli: 1000, MemoryMiB: 1000, GPUs: berth.EqualGPUs(gpusPerNode, berth.GPU{Product: "H100", MemoryMiB: 81_920})}
		if d.leaves() {
			leaf := i / leafNodes
			list[i].Domains = []string{fmt.Sprintf("s%d", leaf/spineLeaves), fmt.Sprintf("l%02d", leaf)}
		}
	}
	return list
}

func (d *drawing) leaves() bool { return d.cell.is(topology) == "leaves" }

// levels of the fleet of a cell.
func levels(c cell) []string {
	if c.is(topology) == "leaves" {
		return []string{"spine", "leaf"}
	}
	return nil
}

func (d *drawing) queues() []quota.Queue {
	if d.cell.is(shares) == "one queue" {
		return []quota.Queue{{Name: team(0)}}
	}
	var list []quota.Queue
	for i, tenths := range teams {
		q := quota.Queue{Name: team(i)}
		if d.cell.is(shares) == "guaranteed" {
			q.Guarantee = quota.Amounts{quota.GPUMilli: int64(d.gpus) * 1000 * int64(tenths) / 10}
		}
		list = append(list, q)
	}
	return list
}

func team(i int) berth.QueueID { return berth.QueueID(fmt.Sprintf("team-%d", i)) }

// submission draws one, which is a job or a sweep.
func (d *drawing) submission() {
	r := d.random
	sizes := int(math.Log2(float64(d.gpus/2))) + 1
	exponent := 0
	for exponent < sizes-1 && r.Float64() < d.larger() {
		exponent++
	}
	j := job{group: d.groups, gpus: 1 << exponent, saves: d.saves(), level: d.level(1 << exponent)}
	d.groups++
	if d.cell.is(shares) != "one queue" {
		j.team = study.PickIndex(r, teams[:])
	}
	count := 1
	if r.IntN(5) == 0 {
		count = 4 + r.IntN(13)
	}
	median := berth.Duration(30+15*exponent) * berth.Minute
	for range count {
		runs := study.LogNormal(r, median, 3.5, 30*berth.Second, 3*berth.Day)
		j.told = d.tells(runs)
		if j.runs = runs; r.IntN(6) == 0 {
			j.runs = min(runs, study.LogNormal(r, 2*berth.Minute, 2, 10*berth.Second, 20*berth.Minute))
		}
		if d.cell.is(known) == "exact" {
			j.told = j.runs
		}
		d.list = append(d.list, j)
	}
}

// larger is how likely a size is the next larger one instead: on 500 nodes more likely than on 8,
// as some thousand jobs of a few GPUs leave them empty.
func (d *drawing) larger() float64 {
	return 0.5 + 0.2*math.Log(float64(d.gpus)/64)/math.Log(62.5)
}

func (d *drawing) saves() bool {
	switch d.cell.is(checkpoints) {
	case "all":
		return true
	case "half":
		return d.random.IntN(2) == 0
	}
	return false
}

// level is where a gang of several nodes prefers to be: in a leaf, if one is large enough.
func (d *drawing) level(gpus int) string {
	if d.leaves() && gpus > gpusPerNode && gpus <= leafNodes*gpusPerNode {
		return "leaf"
	}
	return ""
}

// tells is what is told of a run time, if the job does not fail.
func (d *drawing) tells(runs berth.Duration) berth.Duration {
	habit := berth.Day
	switch d.cell.is(known) {
	case "none":
		return 0
	case "limits":
		return berth.Duration(float64(runs) * (1 + 4*d.random.Float64()))
	case "72 h":
		habit = 3 * berth.Day
	}
	for habit < runs {
		habit *= 3
	}
	return habit
}

// spread gives the submissions their instants, within a span in milliseconds: those of a Poisson
// process of so many within it, thinned by hour and day.
func (d *drawing) spread(span float64) {
	instants := make([]berth.Time, 0, d.groups)
	for len(instants) < d.groups {
		at := berth.Time(d.random.Float64() * span)
		if d.random.Float64() < busy(at) {
			instants = append(instants, at)
		}
	}
	slices.Sort(instants)
	for i := range d.list {
		d.list[i].at = instants[d.list[i].group]
	}
	slices.SortStableFunc(d.list, func(a, b job) int { return cmp.Compare(a.at, b.at) })
}

// busy is how often something is submitted at an instant, of the busiest.
func busy(at berth.Time) float64 {
	day := float64(at.Sub(0)) / float64(berth.Day)
	rate := (2 + math.Cos(2*math.Pi*(day-15.0/24))) / 3
	if int(day)%7 >= 5 {
		rate /= 2
	}
	return rate
}

func (j *job) arrival(number int, c cell) sim.Arrival {
	each := min(j.gpus, gpusPerNode)
	spec := berth.Job{
		ID: berth.JobID(fmt.Sprintf("j%05d", number)), Queue: team(j.team), Class: berth.ClassBatch, ExpectedRuntime: j.told,
		Groups: []berth.Group{{Members: j.gpus / each, Claim: berth.Claim{GPUs: each}, Topology: berth.Topology{Preferred: j.level}}},
	}
	if j.saves {
		spec.Checkpoint = berth.Checkpoint{Supported: true, Cost: berth.Minute, RestartCost: berth.Minute}
	}
	return sim.Arrival{At: j.at, Runtime: j.runs, Event: berth.JobSubmitted{Job: spec}}
}
