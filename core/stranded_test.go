package core_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/quota"
)

// What the report calls stranded is what a look at every shape and every node finds, whatever
// requests differ in: GPUs, shares, the host, labels, products, exclusive domains.
func TestStrandedAsItsSlowTwin(t *testing.T) {
	some, all := 0, 0
	drawn.Check(t, func(rt *rapid.T) {
		sched, err := core.New(berth.Config{Levels: []string{"rack"}})
		require.NoError(t, err)
		tell := func(e berth.Event) { require.NoError(t, sched.Apply(0, e)) }
		tell(berth.QueueSet{Queue: quota.Queue{Name: "q"}})
		zones := []string{"", "a", "b"}
		for i := range 8 {
			n := berth.Node{ID: berth.NodeID(fmt.Sprint("n", i)), Domains: []string{fmt.Sprint("r", i/2)}, CPUMilli: 64_000, MemoryMiB: 1 << 20}
			if zone := rapid.SampledFrom(zones).Draw(rt, "zone"); zone != "" {
				n.Labels = map[string]string{"zone": zone, "disk": rapid.SampledFrom([]string{"fast", "slow"}).Draw(rt, "disk")}
			}
			product := rapid.SampledFrom([]string{"H100-80GB", "A100-80GB"}).Draw(rt, "product")
			for range 4 {
				n.GPUs = append(n.GPUs, berth.GPU{Product: product, MemoryMiB: 80 << 10, Mode: berth.GPUModeWhole})
			}
			tell(berth.NodeJoined{Node: n})
		}
		for i := range rapid.IntRange(0, 30).Draw(rt, "jobs") {
			claim := berth.Claim{CPUMilli: rapid.Int64Range(1, 40).Draw(rt, "cpu") * 1000, MemoryMiB: rapid.Int64Range(0, 8).Draw(rt, "memory") << 16}
			switch rapid.IntRange(0, 9).Draw(rt, "claim") {
			case 0: // of the host alone
			case 1, 2:
				claim.Share = &berth.Share{GPUMilli: 100 * rapid.IntRange(1, 9).Draw(rt, "share"), MemoryMiB: rapid.SampledFrom([]int64{0, 20 << 10, 60 << 10}).Draw(rt, "of its memory"), Mode: berth.ShareTimeSlice}
			default:
				claim.GPUs = rapid.IntRange(1, 4).Draw(rt, "gpus")
			}
			g := berth.Group{Members: rapid.IntRange(1, 3).Draw(rt, "members"), Claim: claim}
			if zone := rapid.SampledFrom(zones).Draw(rt, "in zone"); zone != "" {
				g.Selector.Labels = map[string]string{"zone": zone}
				if rapid.Bool().Draw(rt, "fast") {
					g.Selector.Labels["disk"] = "fast"
				}
			}
			j := berth.Job{ID: berth.JobID(fmt.Sprint("j", i)), Queue: "q", Tenant: rapid.SampledFrom([]berth.TenantID{"s", "t"}).Draw(rt, "tenant"), Class: berth.ClassInteractive, Groups: []berth.Group{g}}
			j.Topology.Exclusive = rapid.SampledFrom([]string{"", "", "", "", "rack", "node"}).Draw(rt, "exclusive")
			tell(berth.JobSubmitted{Job: j})
			if rapid.Bool().Draw(rt, "pass") {
				_, err := sched.Schedule(0)
				require.NoError(t, err)
			}
		}
		_, err = sched.Schedule(0)
		require.NoError(t, err)
		require.NoError(t, sched.Check())
		gpus := sched.Report().GPUs
		require.Equal(rt, core.StrandedSlowly(sched), gpus.StrandedMilli)
		if gpus.StrandedMilli > 0 {
			some++
		}
		if gpus.StrandedMilli < gpus.FreeMilli {
			all++
		}
	})
	if drawn.Many() {
		require.NotZero(t, some, "something is stranded")
		require.NotZero(t, all, "something is not")
	}
}

// Report looks for a few requests on each node, however many that differ wait.
func TestReportLooksForTheEasiestRequests(t *testing.T) {
	for _, shapes := range []int{100, 1000} {
		d := fleetOf(t, "n1")
		for i := range shapes {
			require.NoError(t, d.Apply(0, one("q", berth.JobID(fmt.Sprint("j", i)), 1+i%8, func(j *berth.Job) {
				j.Groups[0].Claim.CPUMilli = int64(1000 * (1 + i%8)) // a larger member needs more of all
				j.Groups[0].Claim.MemoryMiB = int64(1000*(1+i%8) + i)
				j.Groups[0].Members = 2 + i
			})))
		}
		require.Equal(t, 1, core.Needs(d.Core), "%d shapes", shapes)
		for i := range shapes { // as many, on nodes with a label
			require.NoError(t, d.Apply(0, one("q", berth.JobID(fmt.Sprint("l", i)), 1, func(j *berth.Job) {
				j.Groups[0].Members, j.Groups[0].Selector.Labels = 2+i, map[string]string{"zone": fmt.Sprint(i % 4)}
			})))
		}
		require.Equal(t, 5, core.Needs(d.Core), "one for all nodes, and one for each zone")
	}
}
