package core_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

func gpuShare(thousandths int64) quota.Thousandths {
	return quota.Thousandths{quota.GPUMilli: thousandths}
}

// Half of the fleet is guaranteed to a queue that uses eight GPUs. For an hour all of them are
// covered. Then half of the fleet is cordoned, and four of them are borrowed from that instant on,
// though no pass has been run; and a core that is restored between says the same.
func TestTheLedgerSplitsByTheGuaranteeOfTheMoment(t *testing.T) {
	d := shared(t, berth.Config{Ledger: true}, func(a, b *quota.Queue) { a.Guarantee, a.GuaranteeShare, b.Guarantee = nil, gpuShare(500), nil })
	d.node("m", 8, berth.GPUModeWhole)
	d.of("a", "j", 8)
	for _, o := range d.pass() {
		d.report(o, berth.OutcomeDone)
	}
	again := func(c *core.Core) *core.Core {
		saved, err := c.Snapshot()
		require.NoError(t, err)
		twin, err := core.Restore(saved)
		require.NoError(t, err)
		resaved, err := twin.Snapshot()
		require.NoError(t, err)
		require.Equal(t, string(saved), string(resaved))
		return twin
	}
	twin := again(d.Core)
	for _, c := range []*core.Core{d.Core, twin} {
		at := d.now.Add(berth.Hour)
		require.NoError(t, c.Apply(at, berth.NodeCordoned{Node: "m"}))
		require.EqualValues(t, 4000, c.Report().Queues[0].GuaranteedMilli)
		c = again(c)
		_, err := c.Schedule(at.Add(berth.Hour))
		require.NoError(t, err)
		_, queues := c.Ledger()
		require.Equal(t, berth.QueueID("a"), queues[0].Queue)
		hours := func(ms int64) int64 { return ms / int64(berth.Hour) }
		require.EqualValues(t, 8+4, hours(queues[0].Guaranteed))
		require.EqualValues(t, 4, hours(queues[0].Borrowed))
	}
}

// What might be asked of a fleet without a node is what its queues would have then.
func TestWhatIfANodeGoes(t *testing.T) {
	d := shared(t, berth.Config{}, func(a, b *quota.Queue) { a.Guarantee, b.Guarantee, a.LimitShare = nil, nil, gpuShare(500) })
	d.node("m", 8, berth.GPUModeWhole)
	d.of("a", "j", 8)
	orders, err := d.WhatIf(d.now, berth.NodeLost{Node: "n"})
	require.NoError(t, err)
	require.Empty(t, orders, "half of eight is four")
	require.Len(t, d.pass(), 1)
	status, _ := d.Queue("a")
	require.Equal(t, quota.Amounts{quota.GPUMilli: 8000}, status.Limit)
	require.Equal(t, quota.Amounts{quota.GPUMilli: 16_000}, status.Of)
}
