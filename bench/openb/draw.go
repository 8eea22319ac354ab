package openb

import (
	"cmp"
	"fmt"
	"math/rand"
	"slices"

	"github.com/berth-sched/berth/bench"
)

// Inflation is what the tasks of the published experiment ask for, in percent of the fleet's GPUs.
const Inflation = 130

// A Draw is what one seed makes of a Trace.
type Draw struct {
	trace *Trace
	// nodes in the order of ties, under their names with a number before them.
	nodes []bench.NodeSpec
	// arrivals are places in Trace.Pods.
	arrivals []int
	seed     int64
}

// Draw draws an order of arrival and of ties. Tasks are appended until they ask for so many percent
// of the GPUs; a trace that asks for more by itself is played whole. Two draws of one seed are equal.
func (t *Trace) Draw(seed int64, percent int) *Draw {
	d := &Draw{trace: t, seed: seed, arrivals: make([]int, len(t.Pods))}
	random := rand.New(rand.NewSource(seed))
	random.Int()
	for i := range d.arrivals {
		d.arrivals[i] = i
	}
	random.Shuffle(len(d.arrivals), func(i, j int) {
		d.arrivals[i], d.arrivals[j] = d.arrivals[j], d.arrivals[i]
	})
	d.inflate(random, percent)
	for range 10 {
		random.Float64()
	}
	d.order(random)
	return d
}

// inflate appends copies of tasks. Without a task that asks for GPUs there is nothing to reach.
func (d *Draw) inflate(random *rand.Rand, percent int) {
	asked := int64(0)
	for i := range d.trace.Pods {
		asked += d.trace.Pods[i].Request.TotalMilli()
	}
	if asked == 0 {
		return
	}
	for most := d.trace.capacity() * int64(percent) / 100; ; {
		i := random.Intn(len(d.trace.Pods))
		r := &d.trace.Pods[i].Request
		if asked+int64(r.Milli) > most {
			return
		}
		asked += r.TotalMilli()
		d.arrivals = append(d.arrivals, i)
	}
}

// order puts the numbers of a permutation before the names of nodes, and sorts by that.
func (d *Draw) order(random *rand.Rand) {
	d.nodes = slices.Clone(d.trace.Nodes)
	for i, number := range random.Perm(len(d.nodes)) {
		d.nodes[i].Name = fmt.Sprintf("%04d-%s", number, d.nodes[i].Name)
	}
	slices.SortFunc(d.nodes, func(a, b bench.NodeSpec) int { return cmp.Compare(a.Name, b.Name) })
}
