package week

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/workload"
)

// What sacct writes without --allocations, and a week of trouble leaves behind: steps, tasks of
// arrays and parts of a heterogeneous job, a task that is pending, GPUs with a type in the request
// or in the allocation alone, limits that are none, jobs that were cancelled before and after they
// started, ends that are not known, empty lines, and the "|" at each end of --parsable.
const realWeek = `JobID|JobName|Account|Partition|Submit|Start|End|Elapsed|Timelimit|State|ReqTRES|AllocTRES|NNodes|

100|train|physics|gpu|2024-03-04T09:00:00|2024-03-04T09:00:10|2024-03-04T10:00:10|01:00:00|1-00:00:00|COMPLETED|billing=8,cpu=8,gres/gpu:h100=4,mem=32G,node=1|billing=8,cpu=8,energy=1391,gres/gpu:h100=4,gres/gpu=4,mem=32G,node=1|1|
100.batch|batch|physics||2024-03-04T09:00:10|2024-03-04T09:00:10|2024-03-04T10:00:10|01:00:00||COMPLETED||cpu=8,gres/gpu:h100=4,mem=32G,node=1|1|
100.extern|extern|physics||2024-03-04T09:00:10|2024-03-04T09:00:10|2024-03-04T10:00:10|01:00:00||COMPLETED||cpu=8,gres/gpu=4,node=1|1|
100.0|python|physics||2024-03-04T09:00:10|2024-03-04T09:00:10|2024-03-04T10:00:10|01:00:00||COMPLETED||gres/gpu=4|1|
   
101_7|sweep|physics|gpu|2024-03-04T09:01:00|2024-03-04T09:01:10|2024-03-04T09:31:10|30:00|UNLIMITED|FAILED|cpu=8,gres/gpu=1,node=1|cpu=8,gres/gpu:h100=1,gres/gpu=1,node=1|1|
101_[8-20%2]|sweep|physics|gpu|2024-03-04T09:01:00|Unknown|Unknown|00:00:00|UNLIMITED|PENDING|cpu=8,gres/gpu=1,node=1||1|
102+0|het|physics|gpu|2024-03-04T09:02:00|2024-03-04T09:02:00|2024-03-04T09:12:00|00:10:00|Partition_Limit|OUT_OF_MEMORY||cpu=8,gres/gpu:h100=2,gres/gpu=2,node=1|1|
103|gone|physics|gpu|2024-03-04T09:03:00|None|2024-03-04T09:04:00|00:00:00|01:00:00|CANCELLED by 1000|gres/gpu=8,node=1||1|
104|stopped|physics|gpu|2024-03-04T09:03:00|2024-03-04T09:05:00|2024-03-04T09:06:00|00:01:00|01:00:00|CANCELLED by 1000|gres/gpu=1,node=1|gres/gpu=1,node=1|1|
105|runs|physics|gpu|2024-03-04T09:03:00|2024-03-04T09:50:00|Unknown|00:10:10|01:00:00|RUNNING|gres/gpu=1,node=1|gres/gpu=1,node=1|1|
106|cpu|physics|gpu|2024-03-04T09:03:00|2024-03-04T09:05:00|2024-03-04T09:06:00|00:01:00|01:00:00|TIMEOUT|cpu=4,node=1|cpu=4,node=1|1|
`

func TestARealWeek(t *testing.T) {
	o := Defaults()
	o.Jobs = write(t, realWeek)
	b, err := load(o)
	require.NoError(t, err)
	told := map[berth.JobID]string{}
	for i := range b.Jobs {
		j := &b.Jobs[i]
		told[j.Spec.ID] = sizeOf(j) + " GPUs for " + j.Runtime.String() + " after " + j.Wait.String()
	}
	require.Equal(t, map[berth.JobID]string{
		"100": "3-4 GPUs for 1h0m0s after 10s", "101_7": "1 GPUs for 30m0s after 10s", "102": "2 GPUs for 10m0s after 0s",
		"104": "1 GPUs for 1m0s after 2m0s", "105": "1 GPUs for 10m10s after 47m0s",
	}, told)
	var out bytes.Buffer
	require.NoError(t, Run(context.Background(), o, &out))
	for _, line := range []string{
		`(?m)^ +a step of a job +3 +\S+ +4$`, `(?m)^ +never ran +2 +\S+ +9$`, `(?m)^ +holds no GPU +1 +\S+ +14$`,
	} {
		require.Regexp(t, line, out.String())
	}
}

// A log with comments in its midst, empty lines, and -1 for what is not known.
func TestALogWithHoles(t *testing.T) {
	o := Defaults()
	o.GPUs, o.NodeGPUs = 16, 8
	o.Jobs = write(t, "; Version: 2.2\n; MaxProcs: 64\n\n1 0 0 3600 4 -1 -1 4 7200 -1 1 1 1 -1 1 -1 -1 -1\n2 60 -1 -1 -1 -1 -1 8 7200 -1 5 1 1 -1 1 -1 -1 -1\n"+
		"; amid\n3 120 0 1800 4 -1 -1 -1 -1 -1 1 2 -1 -1 -1 -1 -1 -1\n4 -1 10 3600 4 -1 -1 4 7200 -1 1 2 1 -1 1 -1 -1 -1\n5 181.5 10 3600.25 4 12.5 -1 4 7200 -1 0 2 1 -1 1 -1 -1 -1\n")
	b, err := load(o)
	require.NoError(t, err)
	var ids []berth.JobID
	for i := range b.Jobs {
		ids = append(ids, b.Jobs[i].Spec.ID)
	}
	require.Equal(t, []berth.JobID{"swf-1", "swf-3", "swf-5"}, ids)
	require.Len(t, b.Skipped, 2)
	require.Equal(t, "its submission is not known", b.Skipped[1].Reason)
	require.Equal(t, 8, b.Skipped[1].Line)
}

// topology.yaml is read as topology.conf is, and compressed files as plain ones.
func TestTopologies(t *testing.T) {
	o := slurm()
	o.Topology = t.TempDir() + "/topology.yaml"
	write := func(text string) { require.NoError(t, writeFile(o.Topology, text)) }
	write("---\n- topology: t\n  cluster_default: true\n  tree:\n    switches:\n      - switch: root\n        children: s[1-2]\n      - switch: s1\n        nodes: gpu1\n      - switch: s2\n        nodes: gpu2\n")
	b, err := load(o)
	require.NoError(t, err)
	require.Equal(t, []string{"root", "s1"}, b.Nodes[0].Domains)
	write("- topology: t\n  ring: {}\n")
	_, err = load(o)
	require.ErrorContains(t, err, "topology.yaml:")
}

// A gang is in one of two trees of switches that nothing joins, and a gang that is too large for
// both cannot have run: Slurm never starts it.
func TestSwitchesApart(t *testing.T) {
	o := Defaults()
	o.Nodes = write(t, "NodeName=a1 Gres=gpu:4 Partitions=p\nNodeName=a2 Gres=gpu:4 Partitions=p\nNodeName=b1 Gres=gpu:4 Partitions=p\nNodeName=b2 Gres=gpu:4 Partitions=p\n")
	o.Topology = write(t, "SwitchName=s0 Nodes=a[1-2]\nSwitchName=s1 Nodes=b[1-2]\n")
	o.Jobs = write(t, "JobID|Account|Submit|Elapsed|ReqTRES|NNodes\n"+
		"1|a|2024-03-04T09:00:00|10:00:00|gres/gpu=4,node=1|1\n2|a|2024-03-04T09:01:00|10:00:00|gres/gpu=8,node=2|2\n"+
		"3|a|2024-03-04T09:02:00|10:00:00|gres/gpu=8,node=2|2\n4|a|2024-03-04T09:03:00|01:00:00|gres/gpu=12,node=3|3\n")
	b, err := load(o)
	require.NoError(t, err)
	rows := slices.DeleteFunc(slices.Clone(b.Skipped), func(s workload.Skip) bool { return s.Line == 1 })
	require.Len(t, rows, 1)
	require.Equal(t, 5, rows[0].Line)
	require.Contains(t, rows[0].Reason, "cannot have run")
	require.Equal(t, []string{"", "leaf", "leaf"}, []string{b.Jobs[0].Spec.Topology.Required, b.Jobs[1].Spec.Topology.Required, b.Jobs[2].Spec.Topology.Required})
	require.InDelta(t, 598, waitsOf(t, o)[own]["3"], 0.01)
}
