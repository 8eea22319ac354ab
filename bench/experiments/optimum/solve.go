package optimum

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/berth-sched/berth/bench/study"
)

// unit is a GPU; shares are parts of it.
const unit = 1000

// A kind of tasks: GPUs, or a share of one in thousandths, host cores, and how often it comes.
type kind struct{ gpus, share, cores, weight int }

// milli is what a task takes of GPUs.
func (k kind) milli() float64 {
	if k.share > 0 {
		return float64(k.share)
	}
	return float64(k.gpus * unit)
}

// mostGPUs is how many a node has at the most.
const mostGPUs = 4

// A node is what it has left: of each GPU in thousandths, in ascending order, where those that it
// has not are full; and of the host.
type node struct {
	left  [mostGPUs]int16
	cores int16
}

func newNode(gpus, cores int) node {
	n := node{cores: int16(cores)}
	for g := range gpus {
		n.left[mostGPUs-1-g] = unit
	}
	return n
}

// with lists what a node may come to with a task more.
func (n node) with(k kind) (list []node) {
	if n.cores -= int16(k.cores); n.cores < 0 {
		return nil
	}
	if k.share == 0 {
		for g := range k.gpus {
			if n.left[mostGPUs-1-g] < unit {
				return nil
			}
			n.left[mostGPUs-1-g] = 0
		}
		slices.Sort(n.left[:])
		return []node{n}
	}
	for g, left := range n.left {
		if int(left) >= k.share && (g == 0 || n.left[g-1] != left) {
			next := n
			next.left[g] -= int16(k.share)
			slices.Sort(next.left[:])
			list = append(list, next)
		}
	}
	return list
}

// mostNodes is how many a fleet has at the most.
const mostNodes = 3

// A state is what the nodes have left, in order: which node it is does not matter.
type state [mostNodes]node

func (n node) compare(other node) int {
	if c := slices.Compare(n.left[:], other.left[:]); c != 0 {
		return c
	}
	return int(n.cores) - int(other.cores)
}

func (s state) with(k kind) (list []state) {
	for i, n := range s {
		if i > 0 && s[i-1] == n {
			continue
		}
		for _, next := range n.with(k) {
			after := s
			after[i] = next
			slices.SortFunc(after[:], node.compare)
			list = append(list, after)
		}
	}
	return list
}

// A fleet is nodes and what is asked of them.
type fleet struct {
	name  string
	nodes []struct{ gpus, cores int }
	kinds []kind
}

func (f *fleet) begin() (s state) {
	for i, n := range f.nodes {
		s[i] = newNode(n.gpus, n.cores)
	}
	slices.SortFunc(s[:], node.compare)
	return s
}

func (f *fleet) weights() (list []int) {
	for _, k := range f.kinds {
		list = append(list, k.weight)
	}
	return list
}

// arrivals are as many as ask for 130 % of the GPUs on average.
func (f *fleet) arrivals() int {
	gpus, asked, weight := 0, 0.0, 0
	for _, n := range f.nodes {
		gpus += n.gpus
	}
	for _, k := range f.kinds {
		asked += float64(k.weight) * k.milli()
		weight += k.weight
	}
	return int(math.Ceil(1.3 * float64(gpus*unit*weight) / asked))
}

func (f *fleet) draw(random *rand.Rand) []int {
	list := make([]int, f.arrivals())
	for i := range list {
		list[i] = study.PickIndex(random, f.weights())
	}
	return list
}

// A solution has what the best policy will still place from each state on, by how many tasks are
// to come: Bellman's equation, by depth. It looks at the states that can be reached alone.
type solution struct {
	fleet   *fleet
	refuses bool // it may turn away what has a place
	weight  float64
	values  map[coming]float64
}

// A coming is a state before so many arrivals.
type coming struct {
	state state
	tasks int
}

func (f *fleet) solve(refuses bool) *solution {
	s := &solution{fleet: f, refuses: refuses, values: map[coming]float64{}}
	for _, k := range f.kinds {
		s.weight += float64(k.weight)
	}
	s.value(coming{f.begin(), f.arrivals()})
	return s
}

func (s *solution) expected() float64 { return s.value(coming{s.fleet.begin(), s.fleet.arrivals()}) }

func (s *solution) value(at coming) float64 {
	if at.tasks == 0 {
		return 0
	}
	if v, known := s.values[at]; known {
		return v
	}
	sum := 0.0
	for _, k := range s.fleet.kinds {
		v, _ := s.best(at, k)
		sum += float64(k.weight) * v
	}
	s.values[at] = sum / s.weight
	return s.values[at]
}

// best is the best that can be done with a task, and the state that it leaves.
func (s *solution) best(at coming, k kind) (value float64, next state) {
	value, next = math.Inf(-1), at.state
	list := at.state.with(k)
	if s.refuses || len(list) == 0 {
		value = s.value(coming{at.state, at.tasks - 1})
	}
	for _, after := range list {
		if v := k.milli() + s.value(coming{after, at.tasks - 1}); v > value {
			value, next = v, after
		}
	}
	return value, next
}

// play is what the best policy places of arrivals.
func (s *solution) play(kinds []int) (milli float64) {
	at := s.fleet.begin()
	for i, k := range kinds {
		_, next := s.best(coming{at, len(kinds) - i}, s.fleet.kinds[k])
		if next != at {
			milli += s.fleet.kinds[k].milli()
		}
		at = next
	}
	return milli
}
