package worlds

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/berth-sched/berth"
)

// ask asks the core, between two events, what a fault on each GPU of a node takes down and how a
// drawn world differs, and holds the answers against the checker. It asks now and then, and
// whenever some members of a gang were told to be gone and no pass has decided about it yet. A
// question changes nothing: promise D4, which every eighth time is looked at here.
func (r *Run) ask(after berth.Event) {
	if r.rare() {
		return
	}
	if r.curious == nil {
		r.curious = rand.New(rand.NewPCG(uint64(len(r.Journal)), 34))
	}
	switch after.(type) {
	case berth.MemberFailed, berth.OrderReported, berth.NodeLost, berth.GPUFailed:
	default:
		if r.Rarely <= 1 && r.curious.IntN(16) > 0 {
			return
		}
	}
	sched := r.Sim.Core()
	var before []byte
	compare := r.curious.IntN(8) == 0 // two snapshots cost more than the questions
	if compare {
		var err error
		before, err = sched.Snapshot()
		r.verify(err)
	}
	for n := range sched.Nodes() {
		for gpu := range n.Node.GPUs {
			blast, err := sched.BlastRadius(n.Node.ID, gpu)
			r.verify(err)
			r.verify(r.Checker.BlastRadius(blast))
		}
	}
	world := r.drawWorld()
	r.verify(r.Checker.Diff(world, sched.Diff(world)))
	r.Cases["asked"]++
	if !compare {
		return
	}
	r.Cases["asked between two snapshots"]++
	_, err := sched.WhatIf(sched.Now())
	r.verify(err)
	now, err := sched.Snapshot()
	r.verify(err)
	if string(now) != string(before) {
		r.verify(fmt.Errorf("D4: questions changed the state"))
	}
}

// drawWorld draws what an orchestrator may see: most of what the core has, in its place, some of it
// elsewhere or in another life, or not at all, and some that the core has not.
func (r *Run) drawWorld() (w berth.World) {
	g := r.curious
	rarely := func() bool { return g.IntN(12) == 0 }
	for n := range r.Sim.Core().Nodes() {
		if !rarely() {
			w.Nodes = append(w.Nodes, berth.Node{ID: n.Node.ID})
		}
		for _, m := range n.Members {
			switch {
			case rarely():
				continue
			case rarely():
				m.Incarnation++
			case rarely():
				m.GPUs ^= 1
			case rarely():
				m.Node = "elsewhere"
			case rarely():
				m.Index += 7
			case rarely():
				w.Running = append(w.Running, m) // twice
			}
			w.Running = append(w.Running, m)
		}
	}
	if rarely() {
		w.Nodes = append(w.Nodes, berth.Node{ID: "unheard-of"}, berth.Node{ID: "unheard-of"})
		w.Running = append(w.Running, berth.ObservedMember{Job: "unheard-of", Incarnation: 1})
	}
	g.Shuffle(len(w.Running), func(i, j int) { w.Running[i], w.Running[j] = w.Running[j], w.Running[i] })
	slices.Reverse(w.Nodes)
	return w
}
