package sim_test

import (
	"maps"
	"slices"

	"github.com/berth-sched/berth"
)

// This file says what happens, in an event or in a pass, to orders.

// outAs is the state of an order of a kind that is out; "": that is not out any more.
func outAs(kind string) string {
	switch kind {
	case "":
		return "over"
	case "requestCheckpoint":
		return "request out"
	}
	return kind + " out"
}

// outstanding lists the orders that are out.
func (v *view) outstanding() map[berth.OrderID]string {
	out := map[berth.OrderID]string{}
	for _, g := range v.gangs {
		if order, kind := g.out(); kind != "" {
			out[order.ID] = kind
		}
	}
	for _, n := range v.Nodes {
		for i := range n.GPUs {
			if o := n.GPUs[i].Order; o != nil {
				out[o.ID] = "repartition"
			}
		}
	}
	return out
}

func (o *observer) followOrders(t *turn) error {
	if t.refused != nil {
		return o.refusedOrder(t)
	}
	before, after := t.before.outstanding(), t.after.outstanding()
	for _, id := range slices.Sorted(maps.Keys(before)) {
		if err := o.order.follow(id, outAs(before[id]), outAs(after[id]), t.toldOrder(t.orders[id])...); err != nil {
			return err
		}
	}
	for _, a := range t.actions {
		id := a.Header().ID
		signals := []signal{{a.Kind(), must}}
		if t.withdraws(id) {
			signals = append(signals, signal{"withdraw", must})
		}
		if err := o.order.follow(id, "-", outAs(after[id]), signals...); err != nil {
			return err
		}
	}
	return nil
}

// refusedOrder looks at reports that are refused for what their order is in.
func (o *observer) refusedOrder(t *turn) error {
	e, ok := t.event.(berth.OrderReported)
	if !ok || e.Outcome > berth.OutcomePartial {
		return nil
	}
	from := "-"
	if out := t.before.outstanding(); t.orders[e.Order] != nil {
		from = outAs(out[e.Order])
	}
	whole := from == "request out" || from == "repartition out" // they have no parts
	if kind := refusalOf(t.refused); kind != "invalid" || whole && e.Outcome == berth.OutcomePartial {
		return o.order.refused(e.Order, from, e.Outcome.String(), kind)
	}
	return nil
}

// withdraws reports whether a pass takes a request for a checkpoint back.
func (t *turn) withdraws(id berth.OrderID) bool {
	return slices.ContainsFunc(t.actions, func(a berth.Order) bool {
		w, ok := a.(berth.Withdraw)
		return ok && w.Request == id
	})
}

// toldOrder is what an event or a pass is to an order that is out.
func (t *turn) toldOrder(a berth.Order) []signal {
	h := a.Header()
	ref := berth.ReplicaRef{Job: h.Job, Replica: h.Replica}
	r, changes := a.(berth.Repartition)
	switch e := t.event.(type) {
	case nil:
		return t.passedOrder(a)
	case berth.OrderReported:
		if e.Order == h.ID {
			return []signal{{e.Outcome.String(), must}}
		}
	case berth.JobCancelled, berth.JobFinished, berth.JobScaled:
		if !changes && len(t.toldReplica(ref)) > 0 {
			return []signal{{"ended", must}}
		}
	}
	at, loses := t.lost()
	switch {
	case changes && loses && at.node == r.Node && (at.gpu < 0 || at.gpu == r.GPU):
		return []signal{{"GPU lost", must}}
	case changes:
		return nil
	}
	for _, s := range t.toldReplica(ref) {
		switch s.event {
		case "hardware lost", "memberFailed", "repartition failed":
			return []signal{{"members lost", must}}
		}
	}
	return nil
}

func (t *turn) passedOrder(a berth.Order) []signal {
	h := a.Header()
	if h.Deadline <= t.now {
		return []signal{{"deadline", must}}
	}
	if t.withdraws(h.ID) {
		return []signal{{"withdraw", must}}
	}
	if g := t.before.gangs[berth.ReplicaRef{Job: h.Job, Replica: h.Replica}]; a.Kind() != "repartition" && g != nil {
		for _, at := range t.overdue() {
			if g.on(at.node, at.gpu) {
				return []signal{{"members lost", may}}
			}
		}
	}
	return nil
}
