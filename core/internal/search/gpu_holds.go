package search

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/gpus"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/values"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/topology"
)

// holdGPUFor keeps a GPU for a wish, if that pays now.
func (se *Search) holdGPUFor(w *wish) bool {
	if w.Rep.GPUHold != nil || len(se.backlog.GPUHolds) >= se.state.Config.Policy.ReservedGangs {
		return false
	}
	if w.Rep.Look.Get().HoldAt > se.state.Now {
		w.later(w.Rep.Look.Get().HoldAt)
		return false
	}
	best, ready := gpus.Offer{}, false
	se.eachHold(w, func(o gpus.Offer, from, clear berth.Time, late bool) {
		switch {
		case from <= se.state.Now:
			if !ready || o.Compare(best) < 0 {
				best, ready = o, true
			}
		case !late: // else the end recedes as fast as it is waited for
			w.later(from)
		}
	})
	if ready {
		se.gpus.HoldGPU(&record.GPUHold{Rep: w.Rep, Node: best.Node, GPUHoldPart: record.GPUHoldPart{GPU: best.GPU, Until: se.state.Now.Add(best.Node.Geometry.HoldLimit)}})
	}
	return ready
}

// eachHold calls a function for the GPUs that could be kept for a wish: with the cost of what
// stands idle meanwhile, from when that pays, and when the GPU is expected to be clear. late: it
// should be already.
func (se *Search) eachHold(w *wish, use func(o gpus.Offer, from, clear berth.Time, late bool)) {
	se.nodesLooked += len(se.state.Nodes)
	for _, n := range se.state.Nodes {
		if n == nil || len(n.Members) == 0 || !n.Pliable() || n.Geometry.HoldLimit < 0 || n.Closed() {
			continue
		}
		g := &w.request.Groups[0]
		if !se.gpus.Qualifies(n, g) {
			continue
		}
		pool := se.gpus.PoolChangeable(n)
		var alike uint64 // GPUs of which the same is known as of the last one
		var clear berth.Time
		var idle int64
		var late, ok bool
		untouched := !n.Altered && se.state.Fleet.Sound(n.Index)
		for gpu := range n.GPUs {
			if untouched && alike>>gpu&1 == 1 {
				continue // as good as the one before, and behind it
			}
			if !untouched && se.gpus.Untouchable(n, gpu) {
				continue
			}
			if alike>>gpu&1 == 0 {
				clear, idle, late, ok = se.gpus.ClearAt(n, gpu, &g.Claim)
				if alike = 0; len(n.Members) == 1 { // on all of its GPUs
					alike = n.Members[0].Rep.Members[n.Members[0].Index].Hold.GPUs
				}
			}
			if !ok {
				continue
			}
			cost := idle * int64(clear.Sub(se.state.Now))
			use(gpus.Offer{Node: n, GPU: gpu, Cost: cost}, max(se.holdPaysAt(w, n, clear, idle), pool, gpus.Rested(n, gpu)), clear, late)
		}
	}
}

// holdPaysAt is when a GPU may be kept for a wish, whatever the rates allow: when it is
// clear within the limit from then, and when what the member has waited comes to what
// stands idle until the GPU is clear, and the change. The one rises and the other
// falls as time goes by.
func (se *Search) holdPaysAt(w *wish, n *record.Node, clear berth.Time, idle int64) berth.Time {
	// At t: milli x (t - since) = idle x (clear - t) + cost x 1000
	since := w.Rep.PendingSince
	each := w.milli + idle
	wait := (idle*int64(clear.Sub(since)) + int64(n.Geometry.Cost)*1000 + each - 1) / each
	return max(since.Add(berth.Duration(wait)), clear.Add(-n.Geometry.HoldLimit))
}

// TendGPUHolds starts the members whose GPUs are clear, and gives up what took too long.
func (se *Search) TendGPUHolds() {
	if len(se.backlog.GPUHolds) == 0 {
		return
	}
	list := slices.Clone(se.backlog.GPUHolds)
	slices.SortFunc(list, func(d, e *record.GPUHold) int { return record.CompareEntries(d.Rep.Entries[0], e.Rep.Entries[0]) })
	for _, d := range list {
		if d.Rep.GPUHold == d && (d.Node.Freed || d.RetryAt != 0 && d.RetryAt <= se.state.Now) {
			se.tryHeldGPU(d)
		}
		if d.Rep.GPUHold == d && d.Until <= se.state.Now {
			d.Rep.Look.Note().HoldAt = se.state.Now.Add(d.Node.Geometry.Interval)
			se.backlog.EndGPUHold(d)
		}
	}
}

// tryHeldGPU places a member on the GPU that is kept for it, if it fits by now.
func (se *Search) tryHeldGPU(d *record.GPUHold) {
	e, n := d.Rep.Entries[0], d.Node
	s := e.Bucket.Shape
	d.RetryAt = 0
	se.state.Compile(s)
	request, ok := se.affordable(e.Bucket)
	if !ok || !se.gpus.Qualifies(n, &request.Groups[0]) {
		return
	}
	n.GPUs[d.GPU].Note().GPUHold = nil
	se.books.SettleGPU(n, d.GPU)
	w := se.wishOf(e, request)
	only := *request
	only.Groups = slices.Clone(request.Groups)
	match := only.Groups[0].Match
	only.Groups[0].Match = func(i topology.NodeIndex) bool { return i == n.Index && (match == nil || match(i)) }
	w.request = &only
	o, changes := se.offer(&w, n, d.GPU, &only.Groups[0].Claim)
	var staged []gpus.Offer
	if at := se.gpus.Changeable(n, d.GPU); changes && at > se.state.Now {
		d.RetryAt = at
	} else if changes {
		se.stage(&o)
		staged = []gpus.Offer{o}
	}
	outcome := se.tryStaged(&w)
	se.unstageRest(staged)
	if outcome != Fits { // placed, it has given the hold up
		n.GPUs[d.GPU].Note().GPUHold = d
		se.books.SettleGPU(n, d.GPU)
	}
}

func (se *Search) wishOf(e *record.Entry, request *gang.Request) wish {
	s := e.Bucket.Shape
	w := wish{Entry: e, request: request, soonest: agenda.Never}
	for i := range s.Minimum.Groups {
		if values.WantsDevice(&s.Spec.Groups[i].Claim) {
			w.members += s.Minimum.Groups[i].Members
		}
	}
	w.many = w.members
	if w.members == 1 {
		for _, b := range s.Buckets {
			w.many += b.Waiting()
		}
		w.many--
	}
	if w.members > 0 {
		w.milli = s.Least.GPUMilli / int64(w.members)
	}
	return w
}

// unstageRest puts back those offers of a list that the search did not use.
func (se *Search) unstageRest(staged []gpus.Offer) {
	for i := range staged {
		if n, gpu := staged[i].Node, staged[i].GPU; n.GPUs[gpu].Get().Staged != nil {
			se.gpus.Unstage(n, gpu)
		} else {
			se.state.Freed(n) // for what else was made there
		}
	}
}
