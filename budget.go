package berth

import (
	"cmp"
	"fmt"

	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/limits"
)

// A Budget is the GPU time that a queue and all below it may use between two instants: an
// allocation of 10,000 GPU-hours for a quarter, say. Once it is used up, no gang of these queues
// starts or grows that claims GPUs: it has no place in the order of service, gets no reservation,
// evicts nobody, and Explain says [ReasonBudget]. It waits with its age until the budget ends or is
// raised, or its gang timeout is over. A job of which one alternative claims GPUs waits as all of
// them. That holds for each gang that does not run, also after an eviction, a lost node or a drain:
// a gang of such a queue is moved by no defragmentation, and has no other place kept for it.
//
// What counts is what queues are charged, as in QueueTime: from each Bind until what it gave is
// free again, an instance by its part of the GPU, and nothing of a GPU that is borrowed over an
// idle holder. The core counts from the event on that tells the budget, at the earliest from From;
// what was used before, it does not know. It counts on while PolicyChanged tells a budget with the
// same Queue, From and Until, whatever the other fields. Another From or Until is another budget,
// which begins at nothing: list the next period beside the one that ends. A queue may have several;
// each counts by itself, and all have to have something left.
//
// A gang starts as long as anything is left, whatever its expected run time, which is a guess; so a
// budget may be overdrawn by what runs on, and Stop says that nothing does. Slurm (GrpTRESMins)
// does so too, unless AccountingStorageEnforce is "safe": then a job starts only if its time limit
// fits.
type Budget struct {
	// Queue that this is for; one that does not exist yet counts from when it does.
	Queue QueueID `json:"queue"`
	// GPUMilliHours is what may be used, in thousandths of a GPU-hour, at most 2^42; zero: nothing.
	GPUMilliHours int64 `json:"gpuMilliHours"`
	// From and Until bound the time in which it holds and use counts. Zero: from when it is told,
	// and without an end. From Until on the queue is free of it.
	From  Time `json:"from,omitempty"`
	Until Time `json:"until,omitempty"`
	// Stop: gangs that run are stopped once the budget is used up. Each that holds GPUs is asked
	// for a checkpoint if it writes any, has the grace of its class for that (see Preemption), is
	// stopped with [CauseBudget], and waits. If the budget is raised or ends meanwhile, the
	// requests are withdrawn ([Withdraw]). A gang with an order out is asked once that is over.
	// MinRuntime, cooldowns and rate limits protect none. Jobs with Job.NonPreemptible and
	// borrowers of a GPU are not stopped. False: gangs that run go on.
	Stop bool `json:"stop,omitempty"`
}

// Compare orders budgets by queue, then From, then Until. Those that are equal by it are one.
func (b Budget) Compare(other Budget) int {
	return cmp.Or(cmp.Compare(b.Queue, other.Queue), cmp.Compare(b.From, other.From), cmp.Compare(b.Until, other.Until))
}

// checkBudgets refuses a budget that comes twice, and what is no amount or no time.
func checkBudgets(list []Budget) *Error {
	if len(list) > limits.MaxQueuesOfPolicy {
		return refuse(ErrLimit, "", fmt.Sprintf("%d exceed %d", len(list), limits.MaxQueuesOfPolicy))
	}
	type period struct {
		queue       QueueID
		from, until Time
	}
	seen := make(map[period]bool, len(list))
	for i := range list {
		b := &list[i]
		if err := b.check(); err != nil {
			return err.in(errtext.Index("", i))
		}
		p := period{b.Queue, b.From, b.Until}
		if seen[p] {
			return refuse(ErrDuplicate, errtext.Index("", i), fmt.Sprintf("queue %q has a budget of the same from and until", errtext.Short(string(b.Queue))))
		}
		seen[p] = true
	}
	return nil
}

func (b *Budget) check() *Error {
	if err := checkName(string(b.Queue)); err != nil {
		return err.in("queue")
	}
	switch {
	case b.GPUMilliHours < 0 || b.GPUMilliHours > limits.MaxGPUMilliHours:
		return refuse(ErrInvalid, "gpuMilliHours", fmt.Sprintf("%d is outside 0..%d", b.GPUMilliHours, int64(limits.MaxGPUMilliHours)))
	case b.From < 0 || b.From > limits.MaxInstant:
		return refuse(ErrInvalid, "from", fmt.Sprintf("%d is outside 0..%d", b.From, int64(limits.MaxInstant)))
	case b.Until < 0 || b.Until > limits.MaxInstant:
		return refuse(ErrInvalid, "until", fmt.Sprintf("%d is outside 0..%d", b.Until, int64(limits.MaxInstant)))
	case b.Until != 0 && b.Until <= b.From:
		return refuse(ErrInvalid, "until", fmt.Sprintf("%d is not after from, %d", b.Until, b.From))
	}
	return nil
}
