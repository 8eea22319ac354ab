package bench

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/drawn"
)

// check compares what the fleet keeps with what follows from its tasks.
func (f *Fleet) check() error {
	for n := range Node(f.Nodes()) {
		spec := f.Spec(n)
		cpu, memory, left := spec.CPUMilli, spec.MemoryMiB, slices.Repeat([]int16{WholeGPU}, spec.GPUs)
		for _, task := range f.Tasks(n) {
			r := f.Request(task.Kind)
			cpu, memory = cpu-r.CPUMilli, memory-r.MemoryMiB
			for _, g := range task.GPUs.Indexes() {
				left[g] -= int16(r.Milli)
			}
			if task.GPUs.Len() != r.GPUs || !f.Accepts(task.Kind, n) {
				return fmt.Errorf("node %d: task %+v of %+v", n, task, *r)
			}
		}
		total, most, whole := int64(0), int16(0), 0
		for _, milli := range left {
			total, most = total+int64(milli), max(most, milli)
			if milli == WholeGPU {
				whole++
			}
		}
		switch {
		case cpu != f.CPULeft(n) || memory != f.MemoryLeft(n) || !slices.Equal(left, f.Left(n)):
			return fmt.Errorf("node %d: left %d, %d, %v", n, f.CPULeft(n), f.MemoryLeft(n), f.Left(n))
		case cpu < 0 || memory < 0 || len(left) > 0 && slices.Min(left) < 0 || len(f.Tasks(n)) > MaxTasks:
			return fmt.Errorf("node %d has less than nothing left", n)
		case total != f.GPULeft(n) || most != f.most[n] || whole != f.Whole(n):
			return fmt.Errorf("node %d: sums %d, %d, %d", n, f.GPULeft(n), f.most[n], f.Whole(n))
		}
	}
	return nil
}

// drawNodes draws a small fleet with nodes of several kinds.
func drawNodes(t *rapid.T) []NodeSpec {
	nodes := make([]NodeSpec, rapid.IntRange(1, 7).Draw(t, "nodes"))
	for i := range nodes {
		nodes[i] = NodeSpec{
			Name: fmt.Sprintf("n%d", i), CPUMilli: 1000 * rapid.Int64Range(0, 16).Draw(t, "cpu"), MemoryMiB: 16,
			GPUs: rapid.SampledFrom([]int{0, 1, 2, 3, 8}).Draw(t, "gpus"), Model: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "model"),
		}
	}
	return nodes
}

// drawRequests draws a few, so that policies see one again.
func drawRequests(t *rapid.T) []Request {
	list := make([]Request, rapid.IntRange(1, 5).Draw(t, "requests"))
	for i := range list {
		list[i] = drawRequest(t)
	}
	return list
}

func drawRequest(t *rapid.T) Request {
	r := Request{
		CPUMilli: 500 * rapid.Int64Range(0, 8).Draw(t, "cpu"), MemoryMiB: rapid.Int64Range(0, 3).Draw(t, "memory"),
		GPUs: rapid.IntRange(0, 4).Draw(t, "gpus"), Models: rapid.SampledFrom([]string{"", "", "a", "b|a", "b|c"}).Draw(t, "models"),
	}
	if r.GPUs > 0 {
		r.Milli = WholeGPU
	}
	if r.GPUs == 1 {
		r.Milli = rapid.SampledFrom([]int{120, 500, 810, WholeGPU}).Draw(t, "milli")
	}
	return r
}

// Whatever a policy of ours is asked, it chooses what is there, no node has less than nothing
// left, and a task that fits nowhere by looking at all nodes is the only one that gets no place.
func TestPoliciesKeepTheBooks(t *testing.T) {
	for _, policy := range Policies() {
		t.Run(policy.Name, func(t *testing.T) {
			drawn.Check(t, func(t *rapid.T) {
				s, err := NewSession(drawNodes(t), policy.New(1))
				require.NoError(t, err)
				type placed struct {
					Kind
					Place
				}
				var running []placed
				mix, requests := Mix{}, drawRequests(t)
				for range rapid.IntRange(1, 40).Draw(t, "steps") {
					k, err := s.Kind(rapid.SampledFrom(requests).Draw(t, "request"))
					require.NoError(t, err)
					mix = append(mix, KindCount{k, 1})
					switch rapid.IntRange(0, 5).Draw(t, "step") {
					case 0:
						if len(running) > 0 {
							i := rapid.IntRange(0, len(running)-1).Draw(t, "gone")
							require.NoError(t, s.Release(running[i].Kind, running[i].Place))
							running = slices.Delete(running, i, i+1)
						}
					case 1:
						require.NoError(t, s.Know(mix))
					default:
						fits := false
						for n := range Node(s.Fleet().Nodes()) {
							fits = fits || s.Fleet().Fits(k, n)
						}
						choice, ok, err := s.Place(k)
						require.NoError(t, err)
						require.Equal(t, fits, ok)
						if ok {
							running = append(running, placed{k, choice.Place})
						}
					}
					require.NoError(t, s.Fleet().check())
				}
			})
		})
	}
}

// What a policy keeps between decisions makes no difference: a new one, which knows nothing but
// the fleet as it is, chooses the same.
func TestPoliciesForgetNothing(t *testing.T) {
	for _, policy := range Policies() {
		if policy.Name == "random" || policy.Name == "berth" {
			continue // the one keeps its next draw, the other prices of a while ago
		}
		t.Run(policy.Name, func(t *testing.T) {
			drawn.Check(t, func(t *rapid.T) {
				nodes := drawNodes(t)
				s, err := NewSession(nodes, policy.New(1))
				require.NoError(t, err)
				var mix Mix
				requests := drawRequests(t)
				for range rapid.IntRange(1, 25).Draw(t, "steps") {
					k, err := s.Kind(rapid.SampledFrom(requests).Draw(t, "request"))
					require.NoError(t, err)
					mix = append(mix, KindCount{k, 1})
					if rapid.Bool().Draw(t, "learn") {
						require.NoError(t, s.Know(mix))
					}
					fresh := twin(t, s, policy.New(1))
					want, fits, err := fresh.Choose(k)
					require.NoError(t, err)
					got, ok, err := s.Place(k)
					require.NoError(t, err)
					require.Equal(t, fits, ok)
					require.Equal(t, want, got)
				}
			})
		})
	}
}

// twin makes a session like another one under a policy that has seen nothing.
func twin(t require.TestingT, s *Session, p Policy) *Session {
	f := s.Fleet()
	fresh, err := NewSession(f.specs, p)
	require.NoError(t, err)
	for k := range Kind(f.Kinds()) {
		same, err := fresh.Kind(*f.Request(k))
		require.NoError(t, err)
		require.Equal(t, k, same)
	}
	if mix, _ := f.Mix(); mix != nil {
		require.NoError(t, fresh.Know(mix))
	}
	for n := range Node(f.Nodes()) {
		for _, task := range f.Tasks(n) {
			require.NoError(t, fresh.Hold(task.Kind, Place{n, task.GPUs}))
		}
	}
	return fresh
}

// Kinds beyond those that are kept are judged anew each time, and alike.
func TestManyKinds(t *testing.T) {
	nodes := []NodeSpec{{Name: "a", CPUMilli: 1 << 30, GPUs: 2}, {Name: "b", CPUMilli: 1 << 30, GPUs: 1}}
	s, err := NewSession(nodes, BestFit())
	require.NoError(t, err)
	for i := range int64(maxRows + 10) {
		k, err := s.Kind(Request{CPUMilli: i, GPUs: 1, Milli: 1})
		require.NoError(t, err)
		choice, ok, err := s.Choose(k)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, Place{Node: 1, GPUs: 1}, choice.Place)
	}
	require.Len(t, s.policy.(*byScore).scores.rows, maxRows)
}

// A policy that chooses what is not there is refused, and nothing has changed.
func TestBadPolicies(t *testing.T) {
	nodes := []NodeSpec{{Name: "a", CPUMilli: 1000, GPUs: 2, Model: "x"}, {Name: "b", CPUMilli: 1000, GPUs: 2, Model: "y"}}
	for name, place := range map[string]Place{
		"no such node":   {Node: 2, GPUs: berth.GPUSetOf(0)},
		"negative":       {Node: -1, GPUs: berth.GPUSetOf(0)},
		"too few GPUs":   {Node: 1},
		"too many":       {Node: 1, GPUs: berth.GPUSetOf(0, 1)},
		"no such GPU":    {Node: 1, GPUs: berth.GPUSetOf(2)},
		"a GPU in use":   {Node: 1, GPUs: berth.GPUSetOf(1)},
		"does not suit":  {Node: 0, GPUs: berth.GPUSetOf(0)},
		"any other GPU.": {Node: 1, GPUs: berth.GPUSetOf(63)},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := NewSession(nodes, stubborn{place})
			require.NoError(t, err)
			held, err := s.Kind(Request{GPUs: 1, Milli: 600})
			require.NoError(t, err)
			require.NoError(t, s.Hold(held, Place{1, berth.GPUSetOf(1)}))
			k, err := s.Kind(Request{GPUs: 1, Milli: 500, Models: "y"})
			require.NoError(t, err)
			_, ok, err := s.Place(k)
			require.False(t, ok)
			require.ErrorIs(t, err, ErrCapacity)
			require.ErrorContains(t, err, "bench.stubborn")
			require.NoError(t, s.Fleet().check())
			require.Len(t, s.Fleet().Tasks(1), 1)
		})
	}
}

// stubborn always chooses the same.
type stubborn struct{ place Place }

func (p stubborn) Choose(*Fleet, Kind, []Node) Choice { return Choice{Place: p.place} }

func TestRefusals(t *testing.T) {
	for reason, nodes := range map[string][]NodeSpec{
		"no name": {{}},
		"twice":   {{Name: "a"}, {Name: "a"}},
		"CPU":     {{Name: "a", CPUMilli: -1}},
		"MiB":     {{Name: "a", MemoryMiB: maxAmount + 1}},
		"GPUs":    {{Name: "a", GPUs: 65}},
	} {
		_, err := NewSession(nodes, FirstFit())
		require.ErrorIs(t, err, ErrInvalid)
		require.ErrorContains(t, err, reason)
	}
	s, err := NewSession([]NodeSpec{{Name: "a", GPUs: 1}}, FirstFit())
	require.NoError(t, err)
	for reason, r := range map[string]Request{
		"CPU": {CPUMilli: -1}, "MiB": {MemoryMiB: -1}, "65 GPUs": {GPUs: 65, Milli: 1000}, "of no GPU": {Milli: 1},
		"0 milli": {GPUs: 1}, "1001 milli": {GPUs: 1, Milli: 1001}, "a part": {GPUs: 2, Milli: 500},
	} {
		_, err := s.Kind(r)
		require.ErrorIs(t, err, ErrInvalid)
		require.ErrorContains(t, err, reason)
	}
	require.Zero(t, s.Fleet().Kinds())
	_, _, err = s.Place(0)
	require.ErrorIs(t, err, ErrUnknown)
	require.ErrorIs(t, s.Hold(-1, Place{}), ErrUnknown)
	require.ErrorIs(t, s.Release(0, Place{}), ErrUnknown)
	require.ErrorIs(t, s.Know(Mix{{Kind: 0, Count: 1}}), ErrUnknown)

	k, err := s.Kind(Request{GPUs: 1, Milli: 1000})
	require.NoError(t, err)
	require.ErrorIs(t, s.Know(Mix{{Kind: k, Count: -1}}), ErrInvalid)
	require.ErrorIs(t, s.Release(k, Place{0, 1}), ErrNotHeld)
	require.ErrorIs(t, s.Release(k, Place{7, 1}), ErrNotHeld)
	require.NoError(t, s.Hold(k, Place{0, 1}))
	require.ErrorIs(t, s.Hold(k, Place{0, 1}), ErrCapacity)
	_, ok, err := s.Place(k)
	require.NoError(t, err)
	require.False(t, ok)

	_, err = Find("best")
	require.ErrorIs(t, err, ErrUnknown)
	require.ErrorContains(t, err, "best-fit")
}

// A node takes no more than MaxTasks, whichever policy decides.
func TestMaxTasks(t *testing.T) {
	for _, policy := range Policies() {
		s, err := NewSession([]NodeSpec{{Name: "a", GPUs: 2}, {Name: "b", GPUs: 2}}, policy.New(1))
		require.NoError(t, err)
		k, err := s.Kind(Request{GPUs: 1, Milli: 1})
		require.NoError(t, err)
		for range 2 * MaxTasks {
			_, ok, err := s.Place(k)
			require.NoError(t, err, policy.Name)
			require.True(t, ok, policy.Name)
		}
		_, ok, err := s.Place(k)
		require.NoError(t, err)
		require.False(t, ok)
	}
}
