package bench

import (
	"cmp"
	"slices"
)

// typicalPercent of the tasks make typical requests.
const typicalPercent = 95

// A Fragmentation measures how much of what is free on a node is of no use to typical requests, as
// in Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation
// Gradient Descent" (USENIX ATC 2023). For each of these requests
//
//   - all that the GPUs have left is fragmented if the request does not fit: the model does not
//     suit, too few GPUs have enough left, or too little CPU is;
//   - all of it, too, if the request is for the host alone;
//   - else what those GPUs have left that have too little left for it;
//
// and the fragmentation is the mean over the requests, weighted by how often they are made.
//
// Typical are the requests that are made most often and together make up 95 % of the
// tasks; requests that differ in memory alone count as one, and memory is not looked at, as in the
// published program.
type Fragmentation struct {
	fleet   *Fleet
	typical []typical
	// sizes are what typical requests ask of a GPU, each once; rooms are, while a node is measured,
	// what its GPUs have for them.
	sizes []int16
	rooms []sizeRoom
}

// A typical is a typical request and the part of the tasks that make it.
type typical struct {
	cpu  int64
	gpus int
	size int // into sizes
	part float64
	kind Kind // one of those with this request; they differ in memory alone
}

// A sizeRoom is how many GPUs have enough left for a size, and what the others have left in all.
type sizeRoom struct{ roomy, small int }

// The classes in which what is fragmented is summed up. That they are summed one by one and then
// together, in this order, matters to the last bit, and so to the rounding of a score.
const (
	lackBoth  = iota // too few GPUs with enough left, and too little CPU
	lackGPU          // too few GPUs with enough left, or what is too small on the others
	lackCPU          // too little CPU
	hostOnly         // the request needs no GPU
	hostShort        // it needs none, and there is too little CPU
	unsuited         // the model does not suit
	losses
)

// NewFragmentation takes the typical requests from a mix of a fleet's kinds.
func NewFragmentation(f *Fleet, mix Mix) *Fragmentation {
	type counted struct {
		KindCount
		request Request
	}
	var list []counted
	total := int64(0)
	at := map[Request]int{}
	for _, c := range mix {
		r := *f.Request(c.Kind)
		r.MemoryMiB = 0
		i, known := at[r]
		if !known {
			i = len(list)
			at[r] = i
			list = append(list, counted{KindCount{Kind: c.Kind}, r})
		}
		list[i].Count += c.Count
		total += c.Count
	}
	// The most frequent first; of equals the larger.
	slices.SortFunc(list, func(a, b counted) int {
		return cmp.Or(
			cmp.Compare(b.Count, a.Count), cmp.Compare(b.request.CPUMilli, a.request.CPUMilli),
			cmp.Compare(b.request.Milli, a.request.Milli), cmp.Compare(b.request.GPUs, a.request.GPUs),
			cmp.Compare(b.request.Models, a.request.Models),
		)
	})
	m := &Fragmentation{fleet: f}
	covered := int64(0)
	for _, c := range list {
		if 100*covered >= typicalPercent*total {
			break
		}
		covered += c.Count
		m.typical = append(m.typical, typical{
			cpu: c.request.CPUMilli, gpus: c.request.GPUs, size: m.sizeOf(int16(c.request.Milli)),
			part: float64(c.Count) / float64(total), kind: c.Kind,
		})
	}
	for i := range m.typical { // in two steps, as published: it matters to the last bit
		m.typical[i].part /= float64(covered) / float64(total)
	}
	m.rooms = make([]sizeRoom, len(m.sizes))
	return m
}

// sizeOf is the place of a size in sizes.
func (m *Fragmentation) sizeOf(milli int16) int {
	at := slices.Index(m.sizes, milli)
	if at < 0 {
		at = len(m.sizes)
		m.sizes = append(m.sizes, milli)
	}
	return at
}

// Of is the fragmentation of a node, in thousandths of a GPU. O(typical requests + their sizes ×
// GPUs).
func (m *Fragmentation) Of(n Node) float64 {
	return m.with(n, m.fleet.CPULeft(n), m.fleet.Left(n))
}

// with is Of for a node of which other amounts were left.
func (m *Fragmentation) with(n Node, cpu int64, left []int16) float64 {
	all := 0
	for _, milli := range left {
		all += int(milli)
	}
	for i, size := range m.sizes {
		var r sizeRoom
		for _, milli := range left {
			if milli >= size {
				r.roomy++
			} else {
				r.small += int(milli)
			}
		}
		m.rooms[i] = r
	}
	var sums [losses]float64
	for i := range m.typical {
		t := &m.typical[i]
		class, milli := t.lost(cpu, m.rooms[t.size], all, m.fleet.Accepts(t.kind, n))
		sums[class] += float64(t.part * float64(milli))
	}
	sum := 0.0
	for _, part := range sums {
		sum += part
	}
	return sum
}

// lost is how much of what is left is of no use to a request, and of which class that is.
func (t *typical) lost(cpu int64, r sizeRoom, all int, suits bool) (class, milli int) {
	switch {
	case !suits:
		return unsuited, all
	case t.gpus == 0 && cpu >= t.cpu:
		return hostOnly, all
	case t.gpus == 0:
		return hostShort, all
	case r.roomy < t.gpus && cpu < t.cpu:
		return lackBoth, all
	case r.roomy < t.gpus:
		return lackGPU, all
	case cpu < t.cpu:
		return lackCPU, all
	}
	return lackGPU, r.small
}
