package check_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/check"
)

// This file is the part of the zoo that is about GPUs that are held, idle and lent.

func lendsGPUs(j *berth.Job) { j.Lend = &berth.Lend{Within: berth.Minute, MemoryMiB: 400} }

func borrowsGPU(j *berth.Job) { j.Groups[0].Claim = berth.BorrowedGPU(500) }

// over places a member over GPU 0 of node n1.
func over() berth.MemberPlacement {
	p := on(0, "n1", 0)
	p.Borrowed, p.ShareMemoryMiB = true, 500
	return p
}

// active has the lender tell how busy it is, and so much time pass.
func (z *zoo) active(milli int, after berth.Duration) {
	z.now = max(z.now, 1)
	z.tell(berth.ActivityReported{Job: "a", Incarnation: 1, ActiveMilli: milli})
	z.now = z.now.Add(after)
}

// loan has a job lend its GPU, and another that runs over it.
func (z *zoo) loan(change ...func(*berth.Job)) {
	z.running("a", 1, lendsGPUs)
	z.active(50, berth.Minute)
	z.submit("b", 1, append([]func(*berth.Job){borrowsGPU}, change...)...)
	b := z.bind("b", over())
	z.pass(b)
	z.tell(berth.OrderReported{Order: b.ID, Outcome: berth.OutcomeDone})
}

// givesBack asks the borrower for a checkpoint, with so much time for it.
func (z *zoo) givesBack(within berth.Duration) berth.RequestCheckpoint {
	return berth.RequestCheckpoint{OrderHeader: z.order("b", within, berth.CauseGivenBack), Members: z.bound["b"]}
}

var loans = []animal{
	{check.PromiseLoans, "a GPU of a job that does not lend", func(z *zoo) error {
		z.running("a", 1)
		z.active(0, berth.Minute)
		z.submit("b", 1, borrowsGPU)
		return z.try(z.bind("b", over()))
	}},
	{check.PromiseLoans, "a lender that told nothing", func(z *zoo) error {
		z.running("a", 1, lendsGPUs)
		z.submit("b", 1, borrowsGPU)
		return z.try(z.bind("b", over()))
	}},
	{check.PromiseLoans, "a lender that is busy", func(z *zoo) error {
		z.running("a", 1, lendsGPUs)
		z.active(51, berth.Minute)
		z.submit("b", 1, borrowsGPU)
		return z.try(z.bind("b", over()))
	}},
	{check.PromiseLoans, "a lender that has just become quiet", func(z *zoo) error {
		z.running("a", 1, lendsGPUs)
		z.active(0, berth.Minute-1)
		z.submit("b", 1, borrowsGPU)
		return z.try(z.bind("b", over()))
	}},
	{check.PromiseLoans, "a lender of another tenant", func(z *zoo) error {
		z.running("a", 1, lendsGPUs)
		z.active(0, berth.Minute)
		z.submit("b", 1, borrowsGPU, func(j *berth.Job) { j.Tenant = "acme" })
		return z.try(z.bind("b", over()))
	}},
	{check.PromiseLoans, "more memory than the lender leaves", func(z *zoo) error {
		z.running("a", 1, lendsGPUs)
		z.active(0, berth.Minute)
		z.submit("b", 1, func(j *berth.Job) { j.Groups[0].Claim = berth.BorrowedGPU(601) })
		p := over()
		p.ShareMemoryMiB = 601
		return z.try(z.bind("b", p))
	}},
	{check.PromiseLoans, "a GPU that nobody holds", func(z *zoo) error {
		z.submit("b", 1, borrowsGPU)
		return z.try(z.bind("b", over()))
	}},
	{check.PromiseS1, "two borrowers of one GPU", func(z *zoo) error {
		z.loan()
		z.submit("c", 1, borrowsGPU)
		return z.try(z.bind("c", over()))
	}},
	{check.PromiseS1, "a GPU that a borrower has yet to give back", func(z *zoo) error {
		z.loan(writes)
		z.tell(berth.JobFinished{Job: "a", Incarnation: 1})
		z.pass(z.givesBack(30 * berth.Second))
		z.submit("c", 1)
		return z.try(z.bind("c", on(0, "n1", 0)))
	}},
	{check.PromiseLoans, "a lender that is busy again waits", func(z *zoo) error {
		z.loan()
		z.active(900, 0)
		return z.try()
	}},
	{check.PromiseDeadlines, "a borrower has more time than was promised", func(z *zoo) error {
		z.loan(writes)
		z.active(900, berth.Second)
		return z.try(z.givesBack(30 * berth.Second))
	}},
	{check.PromiseS6, "a borrower is stopped that could write a checkpoint", func(z *zoo) error {
		z.loan(writes)
		z.active(900, berth.Second)
		return z.try(z.release("b", berth.CauseGivenBack, over()))
	}},
	{check.PromiseLoans, "a borrower gives back, and its lender is quiet", func(z *zoo) error {
		z.loan()
		return z.try(z.release("b", berth.CauseGivenBack, over()))
	}},
	{check.PromiseLoans, "a lender is stopped as it lends", func(z *zoo) error {
		z.loan()
		z.active(900, 0)
		return z.try(z.release("a", berth.CauseGivenBack, on(0, "n1", 0)))
	}},
	{check.PromiseClaims, "a borrower is not told that its GPU is another's", func(z *zoo) error {
		z.running("a", 1, lendsGPUs)
		z.active(0, berth.Minute)
		z.submit("b", 1, borrowsGPU)
		p := over()
		p.Borrowed = false
		return z.try(z.bind("b", p))
	}},
	{check.PromiseEvents, "a borrower that is a service", func(z *zoo) error {
		return z.c.Applied(z.now, berth.JobSubmitted{Job: job("b", 1, borrowsGPU, func(j *berth.Job) { j.Service = &berth.Service{Replicas: 1} })})
	}},
}

// A GPU that is lent, and given back by way of a checkpoint within half of the span, is as it
// should be; so is one of a borrower that writes none.
func TestALoanThatIsGivenBackPasses(t *testing.T) {
	z := newZoo(t)
	z.loan(writes)
	z.active(900, berth.Second)
	r := z.givesBack(29 * berth.Second)
	z.pass(r)
	z.now = z.now.Add(29 * berth.Second)
	stop := z.release("b", berth.CauseGivenBack, over())
	z.pass(stop)
	z.tell(berth.OrderReported{Order: stop.ID, Outcome: berth.OutcomeDone})
	require.Equal(t, 1, z.c.States()[berth.ReplicaPending])

	z = newZoo(t)
	z.loan()
	z.active(900, 0)
	z.pass(z.release("b", berth.CauseGivenBack, over()))
}
