package bench

import (
	"cmp"
	"slices"
)

// A Move is a task that went from one place to another.
type Move struct {
	Kind     Kind
	From, To Place
}

// A Mover places tasks for which there is room only after others have moved: a scheduler that
// migrates, within bounds. Where tasks go is always the policy's choice; the Mover chooses which
// ones move.
//
// For a task that fits nowhere it looks at each node that could hold it empty, and takes tasks off
// it, one at a time, as few as will do: the one without which the least is missing, and of equals
// the one with the least of a GPU and then of CPU. What is missing is what has to be vacated of the
// GPUs with the most left, and CPU and memory, each as a part of what the node has. Nodes are tried
// in the order of how many tasks have to move, how much of GPUs these have, and the order of the
// fleet, the first 32 of them: if all that are taken off find another place beside the new task,
// that is it. Otherwise all stay where they are. It is a heuristic: that it finds nothing does not
// mean that there is nothing.
//
// O(nodes × tasks of a node × GPUs of a node × moves) for a task, and nothing for one of a kind
// that found nothing since the fleet last changed.
type Mover struct {
	session *Session
	changes int
	failed  []failure // by kind
	elsewhere
	left    []int16
	sorted  []int16
	options []eviction
	done    []Move
}

// A failure says that a kind found no room with so many moves when the fleet had changed so often.
type failure struct {
	changes, moves int
}

// An eviction is tasks to be taken off a node.
type eviction struct {
	node  Node
	tasks []Task
	milli int64
}

// tried is how many nodes are tried for a task.
const tried = 32

// NewMover makes a Mover for a session. Changes of the fleet that go by another way are to be told
// with Changed.
func NewMover(s *Session) *Mover { return &Mover{session: s} }

// Changed tells that the session has placed or released tasks.
func (m *Mover) Changed() {
	m.changes++
	m.elsewhere.forget(true)
}

// Place is Session.Place, and has at most so many tasks move if the task fits nowhere. The moves
// are told in the order in which they were made, and are good until the next call.
func (m *Mover) Place(k Kind, most int) (choice Choice, moves []Move, ok bool, err error) {
	choice, ok, err = m.session.Place(k)
	if ok {
		m.changes++
		m.elsewhere.forget(false)
	}
	if ok || err != nil || most <= 0 {
		return choice, nil, ok, err
	}
	for len(m.failed) <= int(k) {
		m.failed = append(m.failed, failure{changes: -1})
	}
	if f := m.failed[k]; f.changes == m.changes && f.moves >= most {
		return choice, nil, false, nil
	}
	m.propose(k, most)
	for i := range m.options {
		choice, ok, err = m.try(k, &m.options[i])
		if ok {
			m.Changed()
			return choice, m.done, true, nil
		}
		if err != nil {
			return choice, nil, false, err
		}
	}
	m.failed[k] = failure{m.changes, most}
	return choice, nil, false, nil
}

// propose lists evictions, the best first.
func (m *Mover) propose(k Kind, most int) {
	f := m.session.fleet
	m.options = m.options[:0]
	r := f.Request(k)
	for n := range Node(f.Nodes()) {
		spec := f.Spec(n)
		if spec.GPUs < r.GPUs || spec.CPUMilli < r.CPUMilli || spec.MemoryMiB < r.MemoryMiB || !f.Accepts(k, n) {
			continue
		}
		if e, ok := m.evict(k, n, most); ok {
			m.options = append(m.options, e)
		}
	}
	slices.SortFunc(m.options, func(a, b eviction) int {
		return cmp.Or(cmp.Compare(len(a.tasks), len(b.tasks)), cmp.Compare(a.milli, b.milli), cmp.Compare(a.node, b.node))
	})
	m.options = m.options[:min(len(m.options), tried)]
}

// evict finds tasks of a node without which a task fits there, each of which fits elsewhere.
func (m *Mover) evict(k Kind, n Node, most int) (eviction, bool) {
	f := m.session.fleet
	r, e := f.Request(k), eviction{node: n}
	m.left = append(m.left[:0], f.Left(n)...)
	cpu, memory := f.CPULeft(n), f.MemoryLeft(n)
	var gone [MaxTasks]bool
	for len(e.tasks) < most {
		tasks := f.Tasks(n)
		best, least := -1, m.missing(r, n, cpu, memory)
		for i, task := range tasks {
			if gone[i] || !m.elsewhere.fits(f, task.Kind, n) {
				continue
			}
			o := f.Request(task.Kind)
			m.vacate(task, int16(o.Milli))
			lacks := m.missing(r, n, cpu+o.CPUMilli, memory+o.MemoryMiB)
			m.vacate(task, -int16(o.Milli))
			if lacks < least || lacks == least && best >= 0 && smaller(o, f.Request(tasks[best].Kind)) {
				best, least = i, lacks
			}
		}
		if best < 0 {
			return e, false // nothing helps
		}
		o := f.Request(tasks[best].Kind)
		gone[best] = true
		m.vacate(tasks[best], int16(o.Milli))
		cpu, memory = cpu+o.CPUMilli, memory+o.MemoryMiB
		e.tasks, e.milli = append(e.tasks, tasks[best]), e.milli+o.TotalMilli()
		if least == 0 && len(tasks)-len(e.tasks) < MaxTasks {
			return e, true
		}
	}
	return e, false
}

// vacate gives what a task has of the GPUs back, or takes it.
func (m *Mover) vacate(task Task, milli int16) {
	for _, g := range task.GPUs.Indexes() {
		m.left[g] += milli
	}
}

func smaller(a, b *Request) bool {
	return cmp.Or(cmp.Compare(a.TotalMilli(), b.TotalMilli()), cmp.Compare(a.CPUMilli, b.CPUMilli)) < 0
}

// missing is how much a node lacks for a request, in millionths of the node.
func (m *Mover) missing(r *Request, n Node, cpu, memory int64) int64 {
	const whole = 1_000_000
	spec := m.session.fleet.Spec(n)
	sum := int64(0)
	if lacks := r.CPUMilli - cpu; lacks > 0 {
		sum += max(1, whole*lacks/spec.CPUMilli)
	}
	if lacks := r.MemoryMiB - memory; lacks > 0 {
		sum += max(1, whole*lacks/spec.MemoryMiB)
	}
	if r.GPUs == 0 {
		return sum
	}
	m.sorted = append(m.sorted[:0], m.left...)
	slices.Sort(m.sorted)
	for _, left := range m.sorted[len(m.sorted)-r.GPUs:] {
		if lacks := int64(r.Milli) - int64(left); lacks > 0 {
			sum += max(1, whole*lacks/WholeGPU/int64(spec.GPUs))
		}
	}
	return sum
}

// try takes tasks off a node, places the new one there, and them elsewhere; or changes nothing.
func (m *Mover) try(k Kind, e *eviction) (Choice, bool, error) {
	s := m.session
	m.done = m.done[:0]
	for _, task := range e.tasks {
		must(s.Release(task.Kind, Place{e.node, task.GPUs}))
	}
	choice, ok, err := s.chooseFrom(k, []Node{e.node})
	if ok {
		s.hold(k, choice.Place)
		for _, task := range e.tasks {
			to, found, failure := s.Place(task.Kind)
			if !found {
				ok, err = false, failure
				break
			}
			m.done = append(m.done, Move{task.Kind, Place{e.node, task.GPUs}, to.Place})
		}
		if ok {
			return choice, true, nil
		}
		must(s.Release(k, choice.Place))
	}
	for _, move := range m.done {
		must(s.Release(move.Kind, move.To))
	}
	for _, task := range e.tasks {
		s.hold(task.Kind, Place{e.node, task.GPUs})
	}
	return Choice{}, false, err
}

// elsewhere remembers on which nodes kinds fit, as far as that matters: on none, on one alone, or
// more.
type elsewhere struct {
	known []Node // by kind
}

const (
	several Node = -1 - iota
	nowhere
	notKnown
)

// forget is for when the fleet has changed. What fits nowhere still does if nothing has become
// free.
func (e *elsewhere) forget(freed bool) {
	for k := range e.known {
		if freed || e.known[k] != nowhere {
			e.known[k] = notKnown
		}
	}
}

// fits reports whether a kind fits on a node other than this one.
func (e *elsewhere) fits(f *Fleet, k Kind, n Node) bool {
	for len(e.known) <= int(k) {
		e.known = append(e.known, notKnown)
	}
	if e.known[k] == notKnown {
		e.known[k] = nowhere
		for o := range Node(f.Nodes()) {
			if !f.Fits(k, o) {
				continue
			}
			if e.known[k] != nowhere {
				e.known[k] = several
				break
			}
			e.known[k] = o
		}
	}
	return e.known[k] != nowhere && e.known[k] != n
}
