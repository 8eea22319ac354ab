package workload_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/internal/skipped"
)

const sacctHeader = "JobID|Submit|Elapsed|Timelimit|State|Account|Partition|ReqTRES|AllocTRES\n"

var readSacct readTrace = workload.ReadSacct

// sacctLine is a line of a job that ran for an hour, with what it asked for and was given.
func sacctLine(id, requested, allocated string) string {
	return id + "|2024-03-01T09:30:00|01:00:00|02:00:00|COMPLETED|physics|gpu|" + requested + "|" + allocated + "\n"
}

func TestSacctJobs(t *testing.T) {
	text := sacctHeader +
		"12|2024-03-01T09:30:00|1-02:03:04|2-00:00:00|COMPLETED|physics|gpu|billing=64,cpu=64,gres/gpu:a100=16,gres/gpu=16,mem=512G,node=2|\n" +
		"12.batch|2024-03-01T09:30:00|1-02:03:04||COMPLETED|physics|||\n" +
		"12.0|2024-03-01T09:30:00|1-02:03:04||COMPLETED|physics|||\n" +
		"13_4|2024-03-01T09:00:00|00:10:00|UNLIMITED|CANCELLED by 1000|physics|cpu|cpu=3,mem=1000M,node=2|cpu=4,mem=1000M,node=2\n" +
		"14|2024-03-01T09:40:00|00:00:00|01:00:00|CANCELLED by 1000|biology|gpu|cpu=1|\n" +
		"15_[1-9%2]|2024-03-01T09:40:00|00:00:00|01:00:00|PENDING|biology|gpu|cpu=1,gres/gpu=1|\n" +
		"16|2024-03-01T09:50:00|00:00:00|Partition_Limit|COMPLETED|biology|gpu|gres/gpu=1|gres/gpu=1,gres/gpu:v100=1\n" +
		"17|2024-03-01T10:00:00|03:00:00|00:30:00|RUNNING|biology|gpu||gres/gpu=1,gres/gpu:v100=1\n" +
		"18|2024-03-01T10:10:00|03:00:00|00:30:00|FAILED|biology|gpu|billing=1|billing=1\n"
	jobs := readSacct.jobs(t, text, workload.Options{Nodes: []berth.Node{{ID: "a", Pool: "gpu"}}})
	require.Len(t, jobs, 4)

	array := jobOf(t, jobs[0])
	require.Equal(t, berth.JobID("13_4"), array.ID, "it was submitted first")
	require.Zero(t, jobs[0].At)
	require.Equal(t, 10*berth.Minute, jobs[0].Runtime)
	require.Zero(t, array.ExpectedRuntime, "no limit, so nothing is known")
	require.Equal(t, []berth.Group{{
		Members: 2, Claim: berth.Claim{CPUMilli: 2000, MemoryMiB: 500},
	}}, array.Groups, "no node is in a pool called cpu")

	gang := jobOf(t, jobs[1])
	require.Equal(t, berth.Time(0).Add(30*berth.Minute), jobs[1].At)
	require.Equal(t, 26*berth.Hour+3*berth.Minute+4*berth.Second, jobs[1].Runtime)
	require.Equal(t, 48*berth.Hour, gang.ExpectedRuntime)
	require.Equal(t, berth.QueueID("physics"), gang.Queue)
	require.Equal(t, berth.TenantID("physics"), gang.Tenant)
	require.Equal(t, []berth.Group{{
		Members:  2,
		Claim:    berth.Claim{GPUs: 8, CPUMilli: 32_000, MemoryMiB: 256 << 10},
		Selector: berth.Selector{Products: []string{"a100"}, Pools: []string{"gpu"}},
	}}, gang.Groups)

	short := jobOf(t, jobs[2])
	require.Equal(t, berth.Millisecond, jobs[2].Runtime, "less than a second, and zero means no end")
	require.Empty(t, short.Groups[0].Selector.Products, "it was given a V100, and had asked for any")
	require.Equal(t, 1, short.Groups[0].Claim.GPUs)

	running := jobOf(t, jobs[3])
	require.Zero(t, jobs[3].Runtime, "it had not ended")
	require.Equal(t, 30*berth.Minute, running.ExpectedRuntime)
	require.Equal(t, 1, running.Groups[0].Claim.GPUs, "from what it was given")
	require.Empty(t, running.Groups[0].Selector.Products, "it need not have asked for the V100")
}

// Run times are learned of what a user runs under a name, or of one size; of nothing where no user
// is told, and of the size where a name cannot be a key.
func TestSacctNamesPrograms(t *testing.T) {
	row := func(user, name string) string {
		return "12|" + user + "|" + name + "|physics|2024-03-01T09:30:00|00:10:00|gres/gpu=4\n"
	}
	for want, text := range map[string]string{
		"u1/train":  row("u1", "train"),
		"u1/4 GPUs": row("u1", ""),
		"u2/4 GPUs": row("u2", strings.Repeat("long", 1<<10)),
		"":          row("", "train"),
	} {
		jobs := readSacct.jobs(t, "JobID|User|JobName|Account|Submit|Elapsed|ReqTRES\n"+text, workload.Options{})
		require.Len(t, jobs, 1)
		require.Equal(t, want, jobOf(t, jobs[0]).Program)
	}
}

func TestSacctSaysWhatItSkipped(t *testing.T) {
	trace, err := workload.ReadSacct("log", bytes.NewReader(zipped(t, sacctHeader+
		sacctLine("1", "gres/gpu=1", "")+sacctLine("1.batch", "", "")+sacctLine("1.extern", "", "")+
		"2|2024-03-01T09:40:00|00:00:00||CANCELLED|a|gpu|cpu=1|\n"+sacctLine("3", "", "")+
		sacctLine("4", "gres/gpu:a100=2,gres/gpu:a100_1g.10gb=1", "")+sacctLine("5", "", "gres/gpu:1g.10gb=1,gres/gpu:2g.20gb=1")+
		sacctLine("6", "cpu=1", "gres/gpu:1g.10gb=1,gres/gpu:a100=1"))), workload.Options{})
	_, err = drain(t, trace, err)
	require.NoError(t, err)
	require.Equal(t, skipped.List{
		{Reason: "a step of a job", Count: 2, Line: 3},
		{Reason: "never ran", Count: 1, Line: 5},
		{Reason: "asks for nothing", Count: 1, Line: 6},
		{Reason: "asks for MIG instances and other GPUs at once", Count: 3, Line: 7},
	}, ofRows(trace.Skipped()))
}

// TestSacctClaims: what a job asks for, and the groups that become of it.
func TestSacctClaims(t *testing.T) {
	for _, c := range []struct {
		name, requested, allocated string
		groups                     []berth.Group
	}{
		{"a request without GPUs that were given", "cpu=4,node=1", "cpu=4,node=1,gres/gpu=2", []berth.Group{
			{Members: 1, Claim: berth.Claim{GPUs: 2, CPUMilli: 4000}},
		}},
		{"typed GPUs alone", "gres/gpu:h100=4", "", []berth.Group{
			{Members: 1, Claim: berth.Claim{GPUs: 4}, Selector: berth.Selector{Products: []string{"h100"}}},
		}},
		{"two types", "gres/gpu:h100=4,gres/gpu:a100=4,node=2", "", []berth.Group{
			{Members: 2, Claim: berth.Claim{GPUs: 4}, Selector: berth.Selector{Products: []string{"h100", "a100"}}},
		}},
		{"unevenly divided", "gres/gpu=7,node=2", "", []berth.Group{
			{Name: "worker", Members: 1, Claim: berth.Claim{GPUs: 4}},
			{Name: "rest", Members: 1, Claim: berth.Claim{GPUs: 3}},
		}},
		{"more nodes than GPUs", "gres/gpu=1,node=3,cpu=3", "", []berth.Group{
			{Members: 1, Claim: berth.Claim{GPUs: 1, CPUMilli: 3000}},
		}},
		{"instances", "gres/gpu:a100_1g.10gb=3,mem=6G", "", []berth.Group{
			{Members: 3, Claim: berth.Claim{MIG: "1g.10gb", MemoryMiB: 2048}},
		}},
		{"no instances", "cpu=4", "cpu=4,gres/gpu:a100_1g.10gb=0", []berth.Group{
			{Members: 1, Claim: berth.Claim{CPUMilli: 4000}},
		}},
		{"no instances beside GPUs", "gres/gpu:a100=2,gres/gpu:a100_1g.10gb=0", "", []berth.Group{
			{Members: 1, Claim: berth.Claim{GPUs: 2}, Selector: berth.Selector{Products: []string{"a100"}}},
		}},
		{"memory without a unit", "mem=512", "", []berth.Group{{Members: 1, Claim: berth.Claim{MemoryMiB: 512}}}},
		{"a fraction of memory", "mem=1.50T", "", []berth.Group{{Members: 1, Claim: berth.Claim{MemoryMiB: 3 << 19}}}},
		{"little memory", "mem=1K", "", []berth.Group{{Members: 1, Claim: berth.Claim{MemoryMiB: 1}}}},
		{"a petabyte", "mem=1P", "", []berth.Group{{Members: 1, Claim: berth.Claim{MemoryMiB: 1 << 30}}}},
		{"what no core knows of", "cpu=1,energy=99,fs/disk=5,gres/shard=4,license/x=1", "", []berth.Group{
			{Members: 1, Claim: berth.Claim{CPUMilli: 1000}},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			jobs := readSacct.jobs(t, sacctHeader+sacctLine("1", c.requested, c.allocated), workload.Options{})
			require.Len(t, jobs, 1)
			require.Equal(t, c.groups, jobOf(t, jobs[0]).Groups)
		})
	}
}

// TestSacctColumns: any order, the raw columns in place of the others, a trailing sign
// as --parsable writes it, ends of lines of another system.
func TestSacctColumns(t *testing.T) {
	for _, end := range []string{"\n", "|\n", "\r\n", "|\r\n\r\n"} {
		jobs := readSacct.jobs(t, "AllocTRES|ElapsedRaw|JobName|TimelimitRaw|Partition|Submit|JobIDRaw"+end+
			"gres/gpu=2|90|say \"hello\"|60|short|2024-03-01T09:30:00|7"+end, workload.Options{})
		require.Len(t, jobs, 1)
		job := jobOf(t, jobs[0])
		require.Equal(t, berth.JobID("7"), job.ID)
		require.Equal(t, berth.QueueID("short"), job.Queue, "there is no account")
		require.Equal(t, 90*berth.Second, jobs[0].Runtime)
		require.Equal(t, berth.Hour, job.ExpectedRuntime)
		require.Equal(t, 2, job.Groups[0].Claim.GPUs)
	}
}

func TestSacctErrors(t *testing.T) {
	good := sacctLine("1", "cpu=1", "")
	requireRefusals(t, workload.ReadSacct, []refusal{
		{"nothing", "", 1, 0, "", workload.ErrHeader, "is empty"},
		{"no header", "12|2024-03-01T09:30:00\n", 1, 0, "", workload.ErrHeader, `no column "JobID or JobIDRaw"`},
		{"no resources", "JobID|Submit|Elapsed|Account\n", 1, 0, "", workload.ErrHeader, `"ReqTRES or AllocTRES"`},
		{"a sign in a name", sacctHeader + good + "2|a|b\n", 3, 0, "", workload.ErrRow, "has 3 columns instead of 9"},
		{"a line cut off", sacctHeader + good + "2\n", 3, 0, "", workload.ErrRow, "has 1 column instead of 9"},
		{"not an instant", sacctHeader + "1|yesterday|01:00:00|||a||cpu=1|\n", 2, 3, "Submit", workload.ErrValue, `"yesterday" is no instant`},
		{"not a span", sacctHeader + "1|2024-03-01T09:30:00|an hour|||a||cpu=1|\n", 2, 23, "Elapsed", workload.ErrValue, "[D-][HH:]MM:SS"},
		{"half an hour", sacctHeader + "1|2024-03-01T09:30:00|0.5:00:00|||a||cpu=1|\n", 2, 23, "Elapsed", workload.ErrValue, "[D-][HH:]MM:SS"},
		{"not a limit", sacctHeader + "1|2024-03-01T09:30:00|01:00:00|soon||a||cpu=1|\n", 2, 32, "Timelimit", workload.ErrValue, `"soon"`},
		{"no account", sacctHeader + "1|2024-03-01T09:30:00|01:00:00||||gpu|cpu=1|\n", 2, 34, "Account", workload.ErrValue, "is no name"},
		{"no account in the second row", sacctHeader + good + "2|2024-03-01T09:30:00|01:00:00||||gpu|cpu=1|\n", 3, 34, "Account", workload.ErrValue, "is no name"},
		{"no amount", sacctHeader + sacctLine("1", "cpu", ""), 2, 63, "ReqTRES", workload.ErrValue, `"cpu" is not of the form`},
		{"a part of a GPU", sacctHeader + sacctLine("1", "gres/gpu=0.5", ""), 2, 63, "ReqTRES", workload.ErrValue, `"gres/gpu=0.5"`},
		{"a negative amount", sacctHeader + sacctLine("1", "", "node=-1"), 2, 64, "AllocTRES", workload.ErrValue, `"node=-1"`},
		{"memory of another kind", sacctHeader + sacctLine("1", "mem=4Q", ""), 2, 63, "ReqTRES", workload.ErrValue, `"mem=4Q"`},
		{"memory without an amount", sacctHeader + sacctLine("1", "mem=", ""), 2, 63, "ReqTRES", workload.ErrValue, `"mem="`},
		{"too much memory", sacctHeader + sacctLine("1", "mem=4097P", ""), 2, 63, "ReqTRES", workload.ErrValue, "memory of 0 to"},
		{"too many GPUs of a node", sacctHeader + sacctLine("1", "gres/gpu=65,node=1", ""), 2, 63, "ReqTRES", workload.ErrValue, "65 GPUs are more than 1 nodes can have"},
		{"too many GPUs", sacctHeader + sacctLine("1", "gres/gpu:a=65536,gres/gpu:b=1", ""), 2, 63, "ReqTRES", workload.ErrValue, "65537 GPUs are more"},
		{"no run time", "JobID|Submit|Start|Account|ReqTRES\n", 1, 0, "", workload.ErrHeader, `"Elapsed or ElapsedRaw or Start and End"`},
		{"no instant of a start", sacctTimes + "1|2024-03-01T09:30:00|soon|2024-03-01T09:30:00|a|gres/gpu=1|\n", 2, 23, "Start", workload.ErrValue, `"soon" is no instant`},
	})
}

// sacctTimes is a header without run times.
const sacctTimes = "JobID|Submit|Start|End|Account|ReqTRES|NNodes\n"

// TestSacctTolerates: what accounts of real clusters hold, too.
func TestSacctTolerates(t *testing.T) {
	trace, err := workload.ReadSacct("f", strings.NewReader(sacctTimes+
		"1|2024-03-01T09:30:00|2024-03-01T09:40:00|2024-03-01T10:40:00|a|gres/gpu=16|2\n"+
		"1|2024-03-01T10:40:00|2024-03-01T10:50:00|2024-03-01T10:50:30|a|gres/gpu=16|2\n"+
		"2|2024-03-01T09:31:00|2024-03-01T09:40:00|Unknown|a|gres/gpu=1|\n"+
		"3_[1-9]|2024-03-01T09:31:00|Unknown|Unknown|a|gres/gpu=1|1\n"+
		"4|Unknown|2024-03-01T09:40:00|2024-03-01T10:40:00|a|gres/gpu=1|1\n"+
		"5|2024-03-01T09:31:00|2024-03-01T11:40:00|2024-03-01T10:40:00|a|gres/gpu=1|1\n"), workload.Options{})
	require.NoError(t, err)
	var told []string
	for a, more := trace.Next(); more; a, more = trace.Next() {
		if e, is := a.Event.(berth.JobSubmitted); is {
			told = append(told, fmt.Sprintf("%s at %v for %v on %d", e.Job.ID, a.At.Sub(0), a.Runtime, e.Job.Groups[0].Members))
		}
	}
	require.NoError(t, trace.Err())
	require.Equal(t, []string{"1 at 0s for 1h0m0s on 2", "2 at 1m0s for 0s on 1", "1#2 at 1h10m0s for 30s on 2"}, told)
	require.Equal(t, skipped.List{
		{Reason: "never ran", Count: 1, Line: 5},
		{Reason: "its submission is not known", Count: 1, Line: 6},
		{Reason: "ends before it starts", Count: 1, Line: 7},
	}, ofRows(trace.Skipped()))
}

func FuzzSacct(f *testing.F) {
	f.Add([]byte(sacctHeader + sacctLine("1", "billing=64,cpu=64,gres/gpu:a100=16,gres/gpu=16,mem=512G,node=2", "") + sacctLine("1.batch", "", "")))
	f.Add([]byte(sacctHeader + "2_[1-3]|2024-03-01T09:30:00|00:00:00|UNLIMITED|PENDING|a|b|gres/gpu:1g.10gb=2|cpu=1\n"))
	f.Add([]byte("AllocTRES|ElapsedRaw|TimelimitRaw|Partition|Submit|JobIDRaw|\nmem=1.5T|90|60|short|2024-03-01T09:30:00|7|\n"))
	f.Add([]byte(sacctTimes + "1|2024-03-01T09:30:00|2024-03-01T09:40:00|Unknown|a|gres/gpu=16|2\n"))
	f.Fuzz(func(t *testing.T, text []byte) { requireTellable(t, workload.ReadSacct, text) })
}
