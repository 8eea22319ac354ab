package check_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/check"
	"github.com/berth-sched/berth/quota"
)

// This file is the part of the zoo that is about what queues may have by shares, in a fleet of
// three nodes with two GPUs each.

func guaranteedShare(thousandths int64) func(*quota.Queue) {
	return func(q *quota.Queue) { q.GuaranteeShare = quota.Thousandths{quota.GPUMilli: thousandths} }
}

func limitedShare(thousandths int64) func(*quota.Queue) {
	return func(q *quota.Queue) { q.LimitShare = quota.Thousandths{quota.GPUMilli: thousandths} }
}

// saying is a report of the idle fleet in which queue "s" is guaranteed so much, and limited.
func (z *zoo) saying(guaranteed int64, limit *int64) error {
	r := z.report(0)
	r.Queues = append(r.Queues, berth.QueueReport{Queue: "s", GuaranteedMilli: guaranteed, LimitMilli: limit})
	return z.against(r)
}

// accepts tells of a queue that the core should have refused.
func (z *zoo) accepts(name, parent string, change func(*quota.Queue)) error {
	q := quota.Queue{Name: berth.QueueID(name), Parent: berth.QueueID(parent)}
	change(&q)
	return z.c.Applied(z.now, berth.QueueSet{Queue: q})
}

var byShares = []animal{
	{check.PromiseS3, "a guarantee is not rounded down to whole GPUs", func(z *zoo) error {
		z.queue("s", "", guaranteedShare(250))
		return z.saying(1500, nil)
	}},
	{check.PromiseS3, "a guarantee does not follow a GPU that fails", func(z *zoo) error {
		z.queue("s", "", guaranteedShare(500))
		require.NoError(z.t, z.saying(3000, nil))
		z.tell(berth.GPUFailed{Node: "n1"})
		return z.againstCordoned(berth.QueueReport{Queue: "s", GuaranteedMilli: 3000}, 0, 1)
	}},
	{check.PromiseS3, "a guarantee does not follow a cordon", func(z *zoo) error {
		z.queue("s", "", guaranteedShare(500))
		z.tell(berth.NodeCordoned{Node: "n1"})
		return z.againstCordoned(berth.QueueReport{Queue: "s", GuaranteedMilli: 3000}, 1, 0)
	}},
	{check.PromiseS3, "a limit does not follow a cordon", func(z *zoo) error {
		z.queue("s", "", limitedShare(500))
		z.tell(berth.NodeCordoned{Node: "n1"})
		return z.againstCordoned(berth.QueueReport{Queue: "s", LimitMilli: amount(3000)}, 1, 0)
	}},
	{check.PromiseLimits, "a job is started beyond a limit that fell with the fleet", func(z *zoo) error {
		z.queue("s", "", limitedShare(334))
		z.tell(berth.NodeLost{Node: "n3"})
		z.submit("a", 2, in("s"))
		return z.try(z.bind("a", on(0, "n1", 0), on(1, "n1", 1)))
	}},
	{check.PromiseS6, "a job is stopped because of a limit that fell with the fleet", func(z *zoo) error {
		z.queue("s", "", limitedShare(334))
		z.keepsLimits(0)
		z.running("a", 2, in("s"))
		z.tell(berth.NodeLost{Node: "n3"})
		return z.try(z.stops("a"))
	}},
	{check.PromiseEvents, "shares come to more than all", func(z *zoo) error {
		z.queue("s", "", guaranteedShare(500))
		return z.accepts("t", "", both(guaranteedShare(501), limitedShare(500)))
	}},
	{check.PromiseEvents, "shares come to more than the guarantee above", func(z *zoo) error {
		z.queue("s", "", guaranteedShare(500))
		z.queue("t", "s", guaranteedShare(600))
		return z.accepts("u", "s", guaranteedShare(401))
	}},
	{check.PromiseEvents, "an amount is guaranteed of a share", func(z *zoo) error {
		z.queue("s", "", guaranteedShare(1000))
		return z.accepts("t", "s", promised(1))
	}},
	{check.PromiseEvents, "an amount limits a share", func(z *zoo) error {
		return z.accepts("s", "", both(guaranteedShare(500), limited(3)))
	}},
}

// againstCordoned gives a report of the idle fleet in which so many nodes are cordoned, and so many
// GPUs of another have failed.
func (z *zoo) againstCordoned(q berth.QueueReport, cordoned, failed int) error {
	r := z.report(0)
	out := int64(2000*cordoned + 1000*failed)
	r.Nodes.Cordoned = cordoned
	r.GPUs = berth.GPUCount{AllMilli: 6000, FreeMilli: 6000 - out, OutOfServiceMilli: out}
	r.Products[0].GPUCount = r.GPUs
	r.NodesByFreeGPUs = []int{0, failed, 3 - cordoned - failed}
	r.Queues = append(r.Queues, q)
	return z.against(r)
}

// What is right about shares passes: what is told as a share counts as what it comes to.
func TestSharesThatAreRightPass(t *testing.T) {
	z := newZoo(t)
	z.queue("s", "", both(guaranteedShare(500), limitedShare(667)))
	require.NoError(t, z.saying(3000, amount(4000)))
	z.tell(berth.NodeCordoned{Node: "n1"})
	require.NoError(t, z.againstCordoned(berth.QueueReport{Queue: "s", GuaranteedMilli: 2000, LimitMilli: amount(2000)}, 1, 0))
	z.tell(berth.NodeUncordoned{Node: "n1"})
	z.tell(berth.GPUFailed{Node: "n1"})
	require.NoError(t, z.againstCordoned(berth.QueueReport{Queue: "s", GuaranteedMilli: 2000, LimitMilli: amount(3000)}, 0, 1))
	z.queue("t", "s", guaranteedShare(999))
	require.Equal(t, 0, z.c.Cases()["a guarantee fell below usage"])
	require.Equal(t, 2, z.c.Cases()["a guarantee follows a fleet that shrank"])
	require.Equal(t, 1, z.c.Cases()["a guarantee follows a fleet that grew"])
}
