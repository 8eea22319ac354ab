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
}

// Draw draws an order of arrival and of ties. Tasks are appended, or taken away, until they ask for
// so many percent of the GPUs. Two draws of one seed are equal.
func (t *Trace) Draw(seed int64, percent int) *Draw {
	d := &Draw{trace: t, arrivals: make([]int, len(t.Pods))}
	random := rand.New(rand.NewSource(seed))
	random.Int()
	for i := range d.arrivals {
		d.arrivals[i] = i
	}
	random.Shuffle(len(d.arrivals), func(i, j int) {
		d.arrivals[i], d.arrivals[j] = d.arrivals[j], d.arrivals[i]
	})
	d.tune(random, percent)
	for range 10 {
		random.Float64()
	}
	d.order(random)
	return d
}

// tune takes tasks away while they ask for too much, or else appends copies of others until the
// next would. Without a task that asks for GPUs there is nothing to reach.
func (d *Draw) tune(random *rand.Rand, percent int) {
	pods, most := d.trace.Pods, d.trace.capacity()*int64(percent)/100
	asked := int64(0)
	for i := range pods {
		asked += pods[i].Request.TotalMilli()
	}
	if asked > most {
		for asked > most {
			at := random.Intn(len(d.arrivals))
			asked -= pods[d.arrivals[at]].Request.TotalMilli()
			d.arrivals = slices.Delete(d.arrivals, at, at+1)
		}
		return
	}
	for asked > 0 {
		i := random.Intn(len(pods))
		if asked+int64(pods[i].Request.Milli) > most {
			return
		}
		asked += pods[i].Request.TotalMilli()
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
