package sim_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// BenchmarkDay runs a day of 500 nodes of 8 GPUs with 10,000 jobs: one in five
// hundred a gang of 32 nodes, the others of 1 to 8 GPUs, for two hours on average.
func BenchmarkDay(b *testing.B) {
	b.ReportAllocs()
	orders, events := 0, 0
	for b.Loop() {
		orders, events = 0, 0
		sched, err := core.New(berth.Config{Levels: []string{"leaf"}})
		if err != nil {
			b.Fatal(err)
		}
		s := sim.New(sched, sim.FromSlice(day()), sim.Options{
			StartDelay: 10 * berth.Second, StopDelay: 5 * berth.Second, PassInterval: berth.Second,
			Applied:   func(berth.Time, berth.Event, error) { events++ },
			Scheduled: func(_ berth.Time, actions []berth.Order) { orders += len(actions) },
		})
		if err := s.Run(berth.Time(berth.Day)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(events), "events/op")
	b.ReportMetric(float64(orders), "orders/op")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*(events+orders)), "ns/step")
}

func day() []sim.Arrival {
	random := rand.New(rand.NewPCG(1, 2))
	var list []sim.Arrival
	gpus := make([]berth.GPU, 8)
	for i := range gpus {
		gpus[i] = berth.GPU{Product: "H100", MemoryMiB: 81_920}
	}
	for i := range 500 {
		list = append(list, sim.Arrival{Event: berth.NodeJoined{Node: berth.Node{
			ID: berth.NodeID(fmt.Sprintf("n%03d", i)), Domains: []string{fmt.Sprintf("leaf%02d", i/32)}, GPUs: gpus,
		}}})
	}
	for i := range 20 {
		list = append(list, sim.Arrival{Event: berth.QueueSet{Queue: quota.Queue{Name: berth.QueueID(fmt.Sprintf("q%02d", i))}}})
	}
	for i := range 10_000 {
		g := berth.Group{Members: 1, Claim: berth.Claim{GPUs: 1 << random.IntN(4)}}
		if i%500 == 0 {
			g = berth.Group{Members: 32, Claim: berth.Claim{GPUs: 8}, Topology: berth.Topology{Preferred: "leaf"}}
		}
		list = append(list, sim.Arrival{
			At:      berth.Time(random.Int64N(int64(berth.Day))),
			Runtime: berth.Duration(1 + random.Int64N(int64(4*berth.Hour))),
			Event: berth.JobSubmitted{Job: berth.Job{
				ID: berth.JobID(fmt.Sprintf("j%05d", i)), Queue: berth.QueueID(fmt.Sprintf("q%02d", random.IntN(20))), Groups: []berth.Group{g},
			}},
		})
	}
	slices.SortStableFunc(list, func(a, b sim.Arrival) int { return cmp.Compare(a.At, b.At) })
	return list
}
