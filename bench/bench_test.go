package bench_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/bench"
	"github.com/berth-sched/berth/bench/openb"
	"github.com/berth-sched/berth/bench/workload"
)

// A world is a fleet and what is asked for there: of each request so many of 1,000.
type world struct {
	nodes    []bench.NodeSpec
	requests []bench.Request
	of1000   []int
}

// pretend is a fleet of the size and the models of the openb trace, with a mix much like its: a
// tenth of the tasks without GPUs, half with a share, a third with a whole one.
func pretend() *world {
	w := &world{}
	for _, m := range []struct {
		count, cores, gpus int
		model              string
	}{{588, 96, 8, "G2"}, {404, 104, 2, "T4"}, {134, 20, 2, "P100"}, {47, 24, 4, "V100M16"}, {30, 80, 8, "V100M32"}, {10, 128, 1, "A10"}} {
		for range m.count {
			w.nodes = append(w.nodes, bench.NodeSpec{
				Name: fmt.Sprintf("%s-%d", m.model, len(w.nodes)), CPUMilli: int64(m.cores) * 1000, MemoryMiB: int64(m.cores) << 12,
				GPUs: m.gpus, Model: m.model,
			})
		}
	}
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(w.nodes), func(i, j int) { w.nodes[i], w.nodes[j] = w.nodes[j], w.nodes[i] })
	add := func(of1000, cpu, gpus, milli int, models string) {
		w.requests = append(w.requests, bench.Request{CPUMilli: int64(cpu), MemoryMiB: int64(cpu), GPUs: gpus, Milli: milli, Models: models})
		w.of1000 = append(w.of1000, of1000)
	}
	add(100, 12_500, 0, 0, "")
	for i, milli := range []int{810, 470, 460, 320, 650, 220, 170, 500, 110, 900} {
		add(90-10*i, 3000+1000*i, 1, milli, "")
	}
	for i := range 12 {
		add(20, 2000+1500*i, 1, 1000, "")
	}
	add(80, 6000, 1, 1000, "V100M16|V100M32")
	add(40, 15_000, 2, 1000, "")
	add(30, 30_000, 4, 1000, "")
	add(60, 80_000, 8, 1000, "")
	return w
}

// session makes one under a policy that knows the mix.
func (w *world) session(t testing.TB, p bench.Policy) *bench.Session {
	s, err := bench.NewSession(w.nodes, p)
	require.NoError(t, err)
	var mix bench.Mix
	for i, r := range w.requests {
		k, err := s.Kind(r)
		require.NoError(t, err)
		mix = append(mix, bench.KindCount{Kind: k, Count: int64(w.of1000[i])})
	}
	require.NoError(t, s.Know(mix))
	return s
}

// draw draws a kind; kinds are numbered as requests are.
func (w *world) draw(random *rand.Rand) bench.Kind {
	sum := 0
	for _, n := range w.of1000 {
		sum += n
	}
	at := random.IntN(sum)
	for k, n := range w.of1000 {
		if at -= n; at < 0 {
			return bench.Kind(k)
		}
	}
	return 0
}

// A task is one that has a place.
type task struct {
	bench.Kind
	bench.Place
}

// A change is one of a fleet that goes on: a task ends, another one asks, and the task that gets
// its place is the same whatever policy is asked.
type change struct {
	ends, starts *task
	asks         bench.Kind
}

// fill places tasks by first fit until so much of the GPUs is held or nothing fits a hundred times
// in a row, and lists changes from there on, after which the fleet is as it was.
func (w *world) fill(t testing.TB, percent int) (held []task, changes []change) {
	s, random := w.session(t, bench.FirstFit()), rand.New(rand.NewPCG(2, 2))
	used := func() int64 {
		left := int64(0)
		for n := range bench.Node(s.Fleet().Nodes()) {
			left += s.Fleet().GPULeft(n)
		}
		return 100 * (s.Fleet().Capacity() - left) / s.Fleet().Capacity()
	}
	for failures := 0; failures < 100 && used() < int64(percent); {
		k := w.draw(random)
		choice, ok, err := s.Place(k)
		require.NoError(t, err)
		if !ok {
			failures++
			continue
		}
		failures = 0
		held = append(held, task{k, choice.Place})
	}
	running := append([]task(nil), held...)
	for range 256 {
		c := change{asks: w.draw(random)}
		if len(running) > 0 {
			i := random.IntN(len(running))
			ends := running[i]
			require.NoError(t, s.Release(ends.Kind, ends.Place))
			running[i] = running[len(running)-1]
			running, c.ends = running[:len(running)-1], &ends
		}
		if choice, ok, err := s.Place(c.asks); ok && c.ends != nil {
			require.NoError(t, err)
			running = append(running, task{c.asks, choice.Place})
			starts := running[len(running)-1]
			c.starts = &starts
		} else if ok {
			require.NoError(t, s.Release(c.asks, choice.Place)) // an empty fleet stays empty
		}
		changes = append(changes, c)
	}
	for i := len(changes) - 1; i >= 0; i-- { // and back
		changes = append(changes, change{ends: changes[i].starts, starts: changes[i].ends, asks: changes[i].asks})
	}
	return held, changes
}

// apply makes a change.
func (c *change) apply(t testing.TB, s *bench.Session) {
	if c.ends != nil {
		require.NoError(t, s.Release(c.ends.Kind, c.ends.Place))
	}
	if c.starts != nil {
		require.NoError(t, s.Hold(c.starts.Kind, c.starts.Place))
	}
}

// published is the world of the openb trace, or nil where it is not beside the checkout.
func published(t testing.TB) *world {
	const data = "../../shared/data/traces/openb"
	if _, err := os.Stat(data); err != nil {
		return nil
	}
	trace, err := openb.Open(filepath.Join(data, workload.OpenBNodes), openb.PodFile(data, "default"))
	require.NoError(t, err)
	w, at := &world{nodes: trace.Nodes}, map[bench.Request]int{}
	for _, pod := range trace.Pods {
		i, known := at[pod.Request]
		if !known {
			i = len(w.requests)
			at[pod.Request] = i
			w.requests, w.of1000 = append(w.requests, pod.Request), append(w.of1000, 0)
		}
		w.of1000[i]++
	}
	return w
}

// A decision of each policy on the same states of a fleet of 1,213 nodes: empty, half full and
// nearly full. Between two decisions a task ends and another starts, the same for all. Only the
// decision is timed: finding the nodes on which the task fits, and choosing.
func BenchmarkDecision(b *testing.B) {
	worlds := []struct {
		name string
		*world
	}{{"openb-like", pretend()}, {"openb", published(b)}}
	for _, w := range worlds {
		if w.world == nil {
			b.Logf("%s is left out: the trace is not beside the checkout", w.name)
			continue
		}
		for _, percent := range []int{0, 50, 95} {
			held, changes := w.fill(b, percent)
			for _, policy := range bench.Policies() {
				b.Run(fmt.Sprintf("fleet=%s/held=%d/policy=%s", w.name, percent, policy.Name), func(b *testing.B) {
					s := w.session(b, policy.New(1))
					for i := range held {
						require.NoError(b, s.Hold(held[i].Kind, held[i].Place))
					}
					for i := range changes { // every policy has seen every kind
						changes[i].apply(b, s)
						_, _, err := s.Choose(changes[i].asks)
						require.NoError(b, err)
					}
					timed, i := time.Duration(0), 0
					b.ReportAllocs()
					for b.Loop() {
						c := &changes[i%len(changes)]
						i++
						c.apply(b, s)
						start := time.Now()
						_, _, err := s.Choose(c.asks)
						timed += time.Since(start)
						if err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(float64(timed.Nanoseconds())/float64(b.N), "ns/decision")
				})
			}
		}
	}
}

// A decision allocates nothing once its policy has seen the kinds.
func TestDecisionsDoNotAllocate(t *testing.T) {
	w := pretend()
	held, changes := w.fill(t, 50)
	for _, policy := range bench.Policies() {
		t.Run(policy.Name, func(t *testing.T) {
			s := w.session(t, policy.New(1))
			for i := range held {
				require.NoError(t, s.Hold(held[i].Kind, held[i].Place))
			}
			i := 0
			decide := func() {
				c := &changes[i%len(changes)]
				i++
				if c.ends != nil && s.Release(c.ends.Kind, c.ends.Place) != nil || c.starts != nil && s.Hold(c.starts.Kind, c.starts.Place) != nil {
					t.Error("the change cannot be made")
				}
				if _, _, err := s.Choose(c.asks); err != nil {
					t.Error(err)
				}
			}
			for range 2 * len(changes) {
				decide()
			}
			require.Zero(t, testing.AllocsPerRun(2*len(changes), decide))
		})
	}
}
