package openb

import (
	"math"
	"slices"

	"github.com/berth-sched/berth/bench"
)

// Bound is a lower bound on what any policy leaves over of the tasks that arrive until so many
// percent of the GPUs have been asked for, in percent of the GPUs: also one that knows the future,
// moves tasks as it likes, and turns away those that it does not want.
//
// It is a relaxation. Of each kind so many tasks are placed on each type of node, in fractions; of
// nodes of one type, what is taken together is no more than they have together. That is so for CPU,
// memory and GPUs, and for GPUs also as seen through dual feasible functions (Fekete and Schepers,
// Mathematical Programming 91, 2001): a function u of a part of a GPU such that parts which
// together fit on one GPU never have more than 1 together. If u says that a share of 0.81 is a
// whole GPU and one below 0.19 is nothing, then it is seen that a GPU takes only one of 0.81, and
// what is left of it is of use to the small ones alone. Likewise for nodes, where tasks with more
// than half of its GPUs or its CPU count as the whole node.
//
// The relaxation is a linear programme. Any point of its dual is a bound, so nothing depends on how
// well the dual is minimised but how good the bound is. O(requests × types of nodes × functions)
// for each of 6,000 steps: some seconds for the published lists.
func (d *Draw) Bound(percent int) float64 {
	r := newRelaxation(d, d.arrivedBy(percent))
	all := float64(d.trace.capacity())
	return max(0, 100*(all-r.most())/all)
}

// arrivedBy lists the arrivals up to the last one of a percent.
func (d *Draw) arrivedBy(percent int) []int {
	all, asked, last := float64(d.trace.capacity()), int64(0), 0
	for i, pod := range d.arrivals {
		asked += d.trace.Pods[pod].Request.TotalMilli()
		if int(math.RoundToEven(100*float64(asked)/all)) <= percent {
			last = i + 1
		}
	}
	return d.arrivals[:last]
}

// A relaxation is the linear programme. A row is a way to look at nodes of a type, in which they
// have 1 each, and a task takes a part of that.
type relaxation struct {
	types   []nodeType
	demands []demand
	rows    int
}

type nodeType struct {
	spec  bench.NodeSpec // without its name
	count float64
}

// A demand is tasks of one request.
type demand struct {
	request bench.Request
	count   float64
	// takes has a row of what a task takes by type of node; nil where it never fits.
	takes [][]float64
}

func newRelaxation(d *Draw, arrivals []int) *relaxation {
	r := &relaxation{}
	for _, n := range d.nodes {
		n.Name = ""
		at := slices.IndexFunc(r.types, func(t nodeType) bool { return t.spec == n })
		if at < 0 {
			at = len(r.types)
			r.types = append(r.types, nodeType{spec: n})
		}
		r.types[at].count++
	}
	at := map[bench.Request]int{}
	for _, pod := range arrivals {
		request := d.trace.Pods[pod].Request
		if request.GPUs == 0 {
			continue // worth nothing here, so it is left out
		}
		i, known := at[request]
		if !known {
			i = len(r.demands)
			at[request] = i
			r.demands = append(r.demands, demand{request: request})
		}
		r.demands[i].count++
	}
	views := r.views()
	for i := range r.demands {
		for t := range r.types {
			r.demands[i].takes = append(r.demands[i].takes, r.takes(&r.demands[i].request, &r.types[t].spec, views))
		}
	}
	return r
}

// mostViews bounds the functions, some of which see little that others do not.
const mostViews = 24

// A view is a dual feasible function.
type view func(part float64) float64

// views are those through which GPUs are seen: for each size of a share the one that takes as
// nothing what is smaller, and as a whole GPU what leaves room for nothing else; and a few that
// round.
func (r *relaxation) views() []view {
	var cuts []int
	for i := range r.demands {
		if milli := r.demands[i].request.Milli; milli < bench.WholeGPU {
			cuts = append(cuts, min(milli, bench.WholeGPU-milli+1))
		}
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	list := []view{rounding(1), rounding(2), rounding(3), rounding(4)}
	for i, every := 0, 1+len(cuts)/mostViews; i < len(cuts); i += every {
		list = append(list, threshold(float64(cuts[i])/bench.WholeGPU))
	}
	return list
}

// threshold takes what is below a size, which is at most a half, as nothing, and what leaves less
// than the size as a whole: beside the latter there is room for the former alone, which count as
// nothing.
func threshold(size float64) view {
	const slack = 1e-9
	return func(part float64) float64 {
		switch {
		case part > 1-size+slack:
			return 1
		case part < size-slack:
			return 0
		}
		return part
	}
}

// rounding takes a part as so many of k as (k+1) times the part has when it is rounded down, or as
// it is if there is nothing to round: of more than a half, a third and so on there is no more than
// one, two and so on.
func rounding(k float64) view {
	const slack = 1e-9
	return func(part float64) float64 {
		scaled := (k + 1) * part
		if whole := math.Round(scaled); math.Abs(scaled-whole) < slack {
			return part
		}
		return math.Floor(scaled) / k
	}
}

// takes is what a task takes of a node in each row, nil if it does not fit there at all.
func (r *relaxation) takes(request *bench.Request, node *bench.NodeSpec, views []view) []float64 {
	if request.GPUs > node.GPUs || request.CPUMilli > node.CPUMilli || request.MemoryMiB > node.MemoryMiB || !request.Accepts(node.Model) {
		return nil
	}
	part := func(of, all int64) float64 {
		if all == 0 {
			return 0
		}
		return float64(of) / float64(all)
	}
	cpu, memory := part(request.CPUMilli, node.CPUMilli), part(request.MemoryMiB, node.MemoryMiB)
	gpus := part(int64(request.GPUs), int64(node.GPUs))
	alone := gpus // GPUs that nobody else is on
	if request.Share() {
		alone = 0
	}
	rows := []float64{
		cpu, memory, part(request.TotalMilli(), int64(node.GPUs)*bench.WholeGPU),
		rounding(1)(cpu), rounding(2)(cpu), rounding(1)(memory), rounding(1)(alone), rounding(2)(alone),
	}
	for _, u := range views {
		rows = append(rows, gpus*u(float64(request.Milli)/bench.WholeGPU))
	}
	r.rows = len(rows)
	return rows
}
