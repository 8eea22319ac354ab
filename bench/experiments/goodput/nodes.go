package goodput

import (
	"slices"

	"github.com/berth-sched/berth"
)

// A node is a node as it truly is.
type node struct {
	spec berth.Node
	// fault that the node has; nil: it is sound. The step is that of the fault's repairs.
	fault *fault
	step  int
	// known: the core was told, and the node is being repaired. gone: it was told that the
	// node is lost, not a GPU of it.
	known, gone bool
	// warned of a fault that is to come, for which the node is being drained.
	warned *fault
	job    *small // of the background that holds it
}

// expect has a fault come, and its warning before it.
func (r *run) expect(f *fault) {
	if f.warning > 0 && r.line.drain {
		r.at(max(f.at.Add(-f.warning), 0), func() { r.warn(f) })
	}
	if !f.harmless {
		r.at(f.at, func() { r.fail(f, 0) })
	}
}

// fail has a fault show. A node that has a fault already has no other, and processes fail
// while they run.
func (r *run) fail(f *fault, step int) {
	cause := &causes[f.cause]
	if cause.what == aProcess {
		if r.gang.phase == trains || r.gang.phase == saves {
			life := r.gang.incarnation
			r.gang.hang(r)
			r.after(cause.noticed, func() { r.gang.processFailed(r, life, cause.name) })
		}
		return
	}
	n := &r.nodes[f.node]
	if n.fault != nil || step == 0 && r.averted[f] {
		return
	}
	n.fault, n.step = f, step
	if r.gang.uses(f.node) && r.gang.active() {
		if r.gang.hang(r); n.warned != nil {
			r.count.late++
		}
	}
	if n.job != nil {
		n.job.hang(r)
	}
	r.after(cause.noticed, func() { r.notice(f) })
}

// notice tells of a fault.
func (r *run) notice(f *fault) {
	n := &r.nodes[f.node]
	cause := &causes[f.cause]
	n.gone = cause.what != aGPU
	switch {
	case n.gone:
		r.tell(berth.NodeLost{Node: n.spec.ID, Reason: cause.name})
	case cause.xid != 0:
		r.tell(berth.XidReported{Node: n.spec.ID, GPU: f.gpu, Xid: cause.xid, Reason: cause.name})
	default:
		r.tell(berth.GPUFailed{Node: n.spec.ID, GPU: f.gpu, Reason: cause.name})
	}
	r.gang.lose(r, f.node)
	if n.job != nil {
		n.job.lose(r)
	}
	r.repair(n)
}

// repair begins the repair of a node that the core does not use any more.
func (r *run) repair(n *node) {
	n.known, n.warned = true, nil
	r.after(n.fault.repairs[n.step].takes, func() { r.comesBack(n) })
}

// comesBack is the end of a repair, and perhaps not of the trouble.
func (r *run) comesBack(n *node) {
	f, step := n.fault, n.step
	n.fault, n.known = nil, false
	if n.gone {
		r.tell(berth.NodeJoined{Node: n.spec})
	} else {
		r.tell(berth.GPURepaired{Node: n.spec.ID, GPU: f.gpu})
	}
	if relapse := f.repairs[step].relapse; relapse > 0 {
		r.after(relapse, func() { r.fail(f, step+1) })
	}
}

// drainWithin is how long a drain may take.
const drainWithin = 15 * berth.Minute

// warn has a node drained that tells of its end.
func (r *run) warn(f *fault) {
	n := &r.nodes[f.node]
	if n.fault != nil || n.warned != nil {
		return
	}
	n.warned = f
	r.warned = append(r.warned, f.node)
	r.tell(berth.NodeDraining{Node: n.spec.ID, Deadline: r.sim.Now().Add(drainWithin), Reason: causes[f.cause].name + " announces itself"})
}

// takeOut takes out of the fleet what has been drained, for its repair, before it fails.
func (r *run) takeOut() {
	r.warned = slices.DeleteFunc(r.warned, func(node int) bool {
		n := &r.nodes[node]
		if n.warned == nil || n.fault != nil {
			return n.warned == nil
		}
		if n.job != nil || r.gang.uses(node) {
			return false
		}
		f := n.warned
		r.averted[f] = true
		n.fault, n.step, n.gone = f, 0, true
		r.tell(berth.NodeLost{Node: n.spec.ID, Reason: "taken out: " + causes[f.cause].name + " announces itself"})
		r.repair(n)
		return true
	})
}
