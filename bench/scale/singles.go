package scale

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// newSingles makes a core with so many nodes that are full of single-GPU jobs, which began in a
// random order: the worst case for a search that goes by it. They are of a queue that has
// borrowed all of it (lent) or owns it.
func newSingles(tb builder, nodes int, lent bool) *core.Core {
	tb.Helper()
	sched := newCore(tb, slices.Repeat([]int{gpusPerNode}, nodes))
	all := quota.Amounts{quota.GPUMilli: int64(nodes) * gpusPerNode * 1000}
	train, serve := quota.Queue{Name: "train", Guarantee: all}, quota.Queue{Name: "serve"}
	if lent {
		train.Guarantee, serve.Guarantee = nil, all
	}
	tell(tb, sched, berth.QueueSet{Queue: quota.Queue{Name: "running"}})
	tell(tb, sched, berth.QueueSet{Queue: train})
	tell(tb, sched, berth.QueueSet{Queue: serve})
	random := rand.New(rand.NewPCG(7, uint64(nodes)))
	_, err := sched.Schedule(berth.Time(4 * berth.Hour))
	must(tb, err)
	for i := range nodes * gpusPerNode {
		job := jobOf(fmt.Sprintf("train-%06d", i), "train", 1, 1)
		job.Checkpoint = berth.Checkpoint{
			Supported: true, Cost: berth.Duration(5_000 + random.Int64N(60_000)), RestartCost: berth.Duration(30_000 + random.Int64N(120_000)),
		}
		observe(tb, sched, job, berth.Time(random.Int64N(int64(berth.Hour))), nodeName(i/gpusPerNode), 1<<(i%gpusPerNode))
	}
	pass(tb, sched)
	return sched
}

// queueOf is the queue of what needs victims.
func queueOf(lent bool) string {
	if lent {
		return "serve"
	}
	return "train"
}

// burst submits a gang of a higher class that needs victims, and returns it.
func burst(tb builder, sched *core.Core, name string, lent bool, members, gpus int) berth.JobID {
	job := jobOf(name, queueOf(lent), members, gpus)
	job.Class = berth.ClassLatencyCritical
	tell(tb, sched, berth.JobSubmitted{Job: job})
	return job.ID
}

// evicting is, each time, the pass that finds the victims of another gang and asks them for
// checkpoints. Then the gang is cancelled, and they are told to go on.
func evicting(sched *core.Core, lent bool, members, gpus int) func(bench) {
	number := 0
	return func(b bench) {
		b.StopTimer()
		id := burst(b, sched, fmt.Sprintf("burst-%dx%d-%d", members, gpus, number), lent, members, gpus)
		number++
		b.StartTimer()
		victims := len(pass(b, sched))
		b.StopTimer()
		if victims != members*gpus {
			b.Fatal(victims, " victims for ", members, " x ", gpus, " GPUs")
		}
		tell(b, sched, berth.JobCancelled{Job: id})
		pass(b, sched)
		b.StartTimer()
	}
}

// bursts submits so many jobs of a higher class with distinct demands, of one node to four.
func bursts(tb builder, sched *core.Core, name string, lent bool, jobs int) (gpus int, ids []berth.JobID) {
	for i := range jobs {
		members, each := 1+i/8%4, 1+i%8
		job := jobOf(fmt.Sprintf("%s-%04d", name, i), queueOf(lent), members, each)
		job.Class = berth.ClassLatencyCritical
		job.Groups[0].Claim.CPUMilli += int64(i)
		tell(tb, sched, berth.JobSubmitted{Job: job})
		ids = append(ids, job.ID)
		gpus += members * each
	}
	return gpus, ids
}

// manyFit reports whether so many of bursts find victims for all on so many nodes.
func manyFit(jobs, nodes int) bool { return jobs*20 <= nodes*gpusPerNode }

// evictingMany is, each time, all passes until many gangs of distinct demands have their victims.
func evictingMany(sched *core.Core, lent bool, jobs int) func(bench) (passes int, longest time.Duration) {
	number := 0
	return func(b bench) (int, time.Duration) {
		b.StopTimer()
		gpus, ids := bursts(b, sched, fmt.Sprintf("bursts-%d-%d", jobs, number), lent, jobs)
		number++
		b.StartTimer()
		victims := 0
		passes, longest := passesTo(b, sched, func(orders []berth.Order) { victims += len(orders) })
		b.StopTimer()
		if victims != gpus {
			b.Fatal(victims, " victims for ", gpus, " GPUs of ", jobs, " jobs")
		}
		for _, id := range ids {
			tell(b, sched, berth.JobCancelled{Job: id})
		}
		pass(b, sched)
		b.StartTimer()
		return passes, longest
	}
}
