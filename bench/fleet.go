package bench

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/berth-sched/berth"
)

// A Node is a node of a fleet: its place in the list that the fleet was made from, which is
// the order in which ties are broken.
type Node int32

// A NodeSpec describes a node.
type NodeSpec struct {
	Name                string
	CPUMilli, MemoryMiB int64
	// GPUs is how many there are, all of one Model. Without GPUs the model means nothing.
	GPUs  int
	Model string
}

// SpecOf describes a node of a core.
func SpecOf(n *berth.Node) NodeSpec {
	s := NodeSpec{Name: string(n.ID), CPUMilli: n.CPUMilli, MemoryMiB: n.MemoryMiB, GPUs: len(n.GPUs)}
	if s.GPUs > 0 {
		s.Model = n.GPUs[0].Product
	}
	return s
}

// A Place is where a task is: a node, and its GPUs there. Without GPUs it needs the host alone.
type Place struct {
	Node Node
	GPUs berth.GPUSet
}

// A Task is a task on a node: its kind and its GPUs there.
type Task struct {
	Kind Kind
	GPUs berth.GPUSet
}

// A Fleet is what is free and what runs on every node. Policies read it; the Session that it
// belongs to changes it. Slices that methods return are the fleet's own: they are not to be
// changed, and are good until the next change.
//
// Invariants, which check verifies:
//  1. What is left of CPU, memory and each GPU is what the node has, less what its tasks ask for,
//     and is not negative.
//  2. total, most and whole of a node are the sum and the largest of what its GPUs have left, and
//     how many of them have all left.
//  3. The version of a node changes when anything else of it does, and with nothing else.
type Fleet struct {
	specs []NodeSpec
	// What is left, by node.
	cpu, memory []int64
	total       []int32 // milli, of all GPUs
	most        []int16 // milli, of the GPU with the most
	whole       []uint8 // GPUs with all left
	version     []uint32
	tasks       [][]Task // what runs there, in the order in which it came
	// milli is what each GPU has left; those of node n are at first[n] to first[n+1].
	milli []int16
	first []int32

	model    []int16 // by node, into models; noModel without GPUs
	models   []string
	requests []Request
	accepts  [][]bool // by kind and model; nil: any
	kinds    map[Request]Kind
	mix      Mix
	mixes    uint32 // how many mixes there were
	capacity int64
}

// noModel is the model of a node without GPUs.
const noModel = -1

func newFleet(nodes []NodeSpec) (*Fleet, error) {
	f := &Fleet{specs: slices.Clone(nodes), kinds: map[Request]Kind{}, first: []int32{0}}
	names := make(map[string]bool, len(nodes))
	for i := range nodes {
		s := &nodes[i]
		if reason := s.check(names); reason != "" {
			return nil, &Error{Subject: fmt.Sprintf("node %q", s.Name), Reason: reason, Kind: ErrInvalid}
		}
		names[s.Name] = true
		f.cpu = append(f.cpu, s.CPUMilli)
		f.memory = append(f.memory, s.MemoryMiB)
		f.total = append(f.total, int32(s.GPUs)*WholeGPU)
		f.most = append(f.most, int16(min(s.GPUs, 1)*WholeGPU))
		f.whole = append(f.whole, uint8(s.GPUs))
		f.milli = append(f.milli, slices.Repeat([]int16{WholeGPU}, s.GPUs)...)
		f.first = append(f.first, int32(len(f.milli)))
		f.model = append(f.model, f.modelOf(s))
		f.capacity += int64(s.GPUs) * WholeGPU
	}
	f.version = make([]uint32, len(nodes))
	f.tasks = make([][]Task, len(nodes))
	return f, nil
}

func (s *NodeSpec) check(taken map[string]bool) string {
	switch {
	case s.Name == "":
		return "has no name"
	case taken[s.Name]:
		return "is there twice"
	}
	return checkAmounts(s.CPUMilli, s.MemoryMiB, s.GPUs)
}

func (f *Fleet) modelOf(s *NodeSpec) int16 {
	if s.GPUs == 0 {
		return noModel
	}
	m := slices.Index(f.models, s.Model)
	if m < 0 {
		m = len(f.models)
		f.models = append(f.models, s.Model)
	}
	return int16(m)
}

// Nodes is how many there are.
func (f *Fleet) Nodes() int { return len(f.specs) }

// Spec describes a node as it is without tasks.
func (f *Fleet) Spec(n Node) *NodeSpec { return &f.specs[n] }

// CPULeft is what a node has left of its CPU, in thousandths of a core.
func (f *Fleet) CPULeft(n Node) int64 { return f.cpu[n] }

// MemoryLeft is what a node has left of its memory, in MiB.
func (f *Fleet) MemoryLeft(n Node) int64 { return f.memory[n] }

// Left lists what each GPU of a node has left, in thousandths.
func (f *Fleet) Left(n Node) []int16 { return f.milli[f.first[n]:f.first[n+1]] }

// GPULeft is what all GPUs of a node have left, in thousandths.
func (f *Fleet) GPULeft(n Node) int64 { return int64(f.total[n]) }

// Whole is how many GPUs of a node are wholly free.
func (f *Fleet) Whole(n Node) int { return int(f.whole[n]) }

// Tasks lists the tasks on a node in the order in which they came.
func (f *Fleet) Tasks(n Node) []Task { return f.tasks[n] }

// Version is a number that is another one whenever something on the node has changed.
func (f *Fleet) Version(n Node) uint32 { return f.version[n] }

// Models lists the models of GPU in the fleet, in the order of the first node with each, and
// Model is the place of a node's in it: -1 without GPUs.
func (f *Fleet) Models() []string { return f.models }

// Model is the place of the model of a node in Models, -1 for a node without GPUs.
func (f *Fleet) Model(n Node) int { return int(f.model[n]) }

// Kinds is how many kinds are known.
func (f *Fleet) Kinds() int { return len(f.requests) }

// Request is what a kind stands for.
func (f *Fleet) Request(k Kind) *Request { return &f.requests[k] }

// Accepts reports whether the GPUs of a node, or its having none, suit a kind.
func (f *Fleet) Accepts(k Kind, n Node) bool {
	ok := f.accepts[k]
	if ok == nil {
		return true
	}
	return f.model[n] != noModel && ok[f.model[n]]
}

// Mix says how often each kind is asked for, as far as is known; nil: nothing is known. Mixes
// counts how many mixes there were, so that a policy notices another one.
func (f *Fleet) Mix() (mix Mix, mixes uint32) { return f.mix, f.mixes }

// Capacity is all that the GPUs of the fleet have, in thousandths.
func (f *Fleet) Capacity() int64 { return f.capacity }

// Fits reports whether a task of a kind fits on a node now. O(1).
func (f *Fleet) Fits(k Kind, n Node) bool {
	r := &f.requests[k]
	return f.roomy(r, n) && f.Accepts(k, n)
}

// roomy is Fits without the model.
func (f *Fleet) roomy(r *Request, n Node) bool {
	if r.Milli < WholeGPU {
		if int(f.most[n]) < r.Milli {
			return false
		}
	} else if int(f.whole[n]) < r.GPUs {
		return false
	}
	return f.cpu[n] >= r.CPUMilli && f.memory[n] >= r.MemoryMiB && len(f.tasks[n]) < MaxTasks
}

// appendFits appends the nodes on which a kind fits, in order. O(nodes).
func (f *Fleet) appendFits(into []Node, k Kind) []Node {
	r := &f.requests[k]
	for n := range Node(len(f.specs)) {
		if f.roomy(r, n) && f.Accepts(k, n) {
			into = append(into, n)
		}
	}
	return into
}

// kind finds the kind of a request, which is new if it was not asked for before.
func (f *Fleet) kind(r Request) (Kind, error) {
	if k, ok := f.kinds[r]; ok {
		return k, nil
	}
	if reason := r.check(); reason != "" {
		return 0, &Error{Subject: "request", Reason: reason, Kind: ErrInvalid}
	}
	var ok []bool
	if r.Models != "" {
		ok = make([]bool, len(f.models))
		for m, name := range f.models {
			ok[m] = r.Accepts(name)
		}
	}
	k := Kind(len(f.requests))
	f.requests = append(f.requests, r)
	f.accepts = append(f.accepts, ok)
	f.kinds[r] = k
	return k, nil
}

// refusal returns why a task of a kind cannot have a place, or nothing.
func (f *Fleet) refusal(k Kind, p Place) string {
	r := &f.requests[k]
	switch {
	case p.Node < 0 || int(p.Node) >= len(f.specs):
		return fmt.Sprintf("there is no node %d", p.Node)
	case !f.Fits(k, p.Node):
		return fmt.Sprintf("the task does not fit on node %s", f.specs[p.Node].Name)
	case p.GPUs.Len() != r.GPUs:
		return fmt.Sprintf("GPUs %v of node %s are not %d", p.GPUs, f.specs[p.Node].Name, r.GPUs)
	}
	left := f.Left(p.Node)
	for rest := uint64(p.GPUs); rest != 0; rest &= rest - 1 {
		g := bits.TrailingZeros64(rest)
		if g >= len(left) || int(left[g]) < r.Milli {
			return fmt.Sprintf("GPU %d of node %s has no %d milli left", g, f.specs[p.Node].Name, r.Milli)
		}
	}
	return ""
}

// hold gives a place, for which there is no refusal, to a task.
func (f *Fleet) hold(k Kind, p Place) {
	f.tasks[p.Node] = append(f.tasks[p.Node], Task{k, p.GPUs})
	f.add(k, p, -1)
}

// release takes the place of a task back. It returns false, and does nothing, if there is no such
// task.
func (f *Fleet) release(k Kind, p Place) bool {
	if p.Node < 0 || int(p.Node) >= len(f.specs) {
		return false
	}
	at := slices.Index(f.tasks[p.Node], Task{k, p.GPUs})
	if at < 0 {
		return false
	}
	f.tasks[p.Node] = slices.Delete(f.tasks[p.Node], at, at+1)
	f.add(k, p, 1)
	return true
}

// add gives what a request asks for back to a node, or takes it with sign -1.
func (f *Fleet) add(k Kind, p Place, sign int64) {
	r, n := &f.requests[k], p.Node
	f.cpu[n] += sign * r.CPUMilli
	f.memory[n] += sign * r.MemoryMiB
	left := f.Left(n)
	for rest := uint64(p.GPUs); rest != 0; rest &= rest - 1 {
		left[bits.TrailingZeros64(rest)] += int16(sign) * int16(r.Milli)
	}
	f.sum(n)
}

// sum counts what the GPUs of a node have left, which has changed.
func (f *Fleet) sum(n Node) {
	f.total[n], f.most[n], f.whole[n] = 0, 0, 0
	for _, milli := range f.Left(n) {
		f.total[n] += int32(milli)
		f.most[n] = max(f.most[n], milli)
		if milli == WholeGPU {
			f.whole[n]++
		}
	}
	f.version[n]++
}
