package search

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/gpus"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/values"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/quota"
)

// offers lists what GPUs could become for a wish now, the cheapest first.
func (se *Search) offers(w *wish) []gpus.Offer {
	list := se.listed[:0]
	inVain := func(pool berth.Time) bool { return pool > se.state.Now && pool >= w.soonest }
	se.eachOffer(w, inVain, func(o gpus.Offer, from berth.Time) {
		if from > se.state.Now {
			w.later(from)
		} else {
			list = append(list, o)
		}
	})
	slices.SortFunc(list, gpus.Offer.Compare)
	se.listed = list
	return list
}

// eachOffer calls a function for what GPUs could become for a wish, and from when the rates
// allow it; stage finds the layouts. It passes over the nodes of pools that may not be changed
// before an instant with which nothing is gained.
func (se *Search) eachOffer(w *wish, inVain func(pool berth.Time) bool, use func(o gpus.Offer, from berth.Time)) {
	se.nodesLooked += len(se.state.Nodes)
	for _, n := range se.state.Nodes {
		if n == nil || se.state.Fleet.Taken(n.Index) || !n.Pliable() || n.Closed() {
			continue
		}
		pool := se.gpus.PoolChangeable(n)
		if inVain(pool) {
			continue
		}
		for i := range w.request.Groups {
			g := &w.request.Groups[i]
			if !values.WantsDevice(&w.Bucket.Shape.Spec.Groups[i].Claim) || !se.gpus.Qualifies(n, g) {
				continue
			}
			if se.allAlike(n) {
				if o, ok := se.offer(w, n, 0, &g.Claim); ok {
					o.Alike = len(n.Spec.GPUs) - 1
					use(o, pool)
				}
				break
			}
			for gpu := range n.Spec.GPUs {
				if se.gpus.Untouchable(n, gpu) {
					continue
				}
				if o, ok := se.offer(w, n, gpu, &g.Claim); ok {
					use(o, max(pool, gpus.Rested(n, gpu)))
				}
			}
			break
		}
	}
}

// allAlike reports whether all GPUs of a node are free and whole, and none was ever changed.
func (se *Search) allAlike(n *record.Node) bool {
	return !n.Altered && len(n.Members) == 0 && !n.HasBase() && se.state.Fleet.Idle(n.Index)
}

// offer is what a GPU could become for members with a claim, and what that costs; become has the
// layout. The claim is for an instance, a whole GPU or a share.
func (se *Search) offer(w *wish, n *record.Node, gpu int, claim *gang.Claim) (gpus.Offer, bool) {
	o := gpus.Offer{Node: n, GPU: gpu, Serves: 1}
	now := n.Partitioning(gpu)
	_, exist, held := se.state.Fleet.Partitioning(n.Index, gpu)
	cost := int64(n.Geometry.Cost)
	switch {
	case n.Geometry.Kind == berth.GeometryFixed, now.Mode != berth.GPUModeMIG && n.Holds(gpu):
		return o, false
	case len(claim.Instances) == 0:
		o.Cost = cost * 1000
		if now.Mode != berth.GPUModeMIG || held != 0 {
			return o, false
		}
	case n.Geometry.Kind == berth.GeometryPerClaim:
		p, ok := gpus.ProfileOn(n, claim, func(p int) bool { return n.Table.Lattice.Fits(0, p) })
		if now.Mode == berth.GPUModeMIG || !ok {
			return o, false
		}
		o.To.Mode, o.Cost, o.Serves = berth.GPUModeMIG, cost*1000, n.Table.Lattice.Free(0, p)
	default:
		touched, ok := se.layoutFor(w, n, exist, held, claim, &o)
		if !ok {
			return o, false
		}
		if o.Cost = cost * touched; now.Mode != berth.GPUModeMIG {
			o.Cost = cost * 1000
		}
	}
	if n.HasBase() && n.AtBase(gpu) {
		o.Cost *= 2 // there and back
	}
	return o, true
}

// layoutFor plans the layout with instances for as many members as wait, and can be had,
// with the least destroyed. It returns the thousandths of the GPU that are touched
// for them.
func (se *Search) layoutFor(w *wish, n *record.Node, exist, held mig.State, claim *gang.Claim, o *gpus.Offer) (touched int64, ok bool) {
	l := n.Table.Lattice
	p, ok := gpus.ProfileOn(n, claim, func(p int) bool { return l.Fits(held, p) })
	if !ok {
		return 0, false
	}
	o.Serves = min(w.many, l.Free(held, p))
	plan := n.Table.Plan(exist, held, p, o.Serves)
	o.Profile, o.Planned, o.To.Mode = p, plan.To, berth.GPUModeMIG
	return plan.Touched, plan.Steps > 0
}

// stage has the core look at a GPU as it could be by an offer.
func (se *Search) stage(o *gpus.Offer) {
	if o.Planned != 0 {
		l := o.Node.Table.Lattice
		o.To.Instances = l.Layout(o.Node.Table.Filled(o.Planned, o.Profile))
	}
	se.gpus.Stage(o.Node, o.GPU, o.To)
}

// InPieces reports whether as much is free as the first of an entry's bucket asks for, on
// nodes that it may use, and within its quota, so that it is for the pieces alone that it
// waits. Where GPUs are shared, what is free of those counts too, wherever it is.
func (se *Search) InPieces(e *record.Entry) bool {
	s := e.Bucket.Shape
	se.state.Compile(s)
	switch {
	case e.Bucket.QuotaSlot >= 0 || s.Spec.Topology.Exclusive != "":
		return false
	case se.backlog.FreeFor(s) >= s.GPUs && s.GPUs > 0:
		return true
	}
	total, known := se.state.Quota.Capacity(quota.GPUMilli)
	return known && len(se.catalogue.Owners.ByKey) > 0 && total-se.state.Quota.Used(quota.RootQueue, quota.GPUMilli) >= s.Least.GPUMilli
}

// later notes an instant at which looking again may pay.
func (w *wish) later(at berth.Time) { w.soonest = min(w.soonest, at) }
