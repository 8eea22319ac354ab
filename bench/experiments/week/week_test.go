package week

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/flagline"
	"github.com/berth-sched/berth/internal/skipped"
)

// slurm are the files of a tiny week: two nodes of four GPUs and two accounts with half of them
// each.
func slurm() Options {
	o := Defaults()
	o.Jobs, o.Nodes = "testdata/jobs.txt", "testdata/nodes.txt"
	o.Topology, o.Shares = "testdata/topology.conf", "testdata/shares.txt"
	return o
}

// waitsOf plays files, and gives the waits of each job in minutes, by scheduler.
func waitsOf(t *testing.T, o Options) map[string]map[berth.JobID]float64 {
	b, err := load(o)
	require.NoError(t, err)
	runs, err := b.play(context.Background())
	require.NoError(t, err)
	waits := map[string]map[berth.JobID]float64{}
	for _, r := range runs {
		if r.guess > 0 {
			continue
		}
		waits[r.scheduler] = map[berth.JobID]float64{}
		for _, j := range r.Jobs {
			waits[r.scheduler][j.ID] = minutes(j.Wait())
		}
	}
	return waits
}

// TestTinyWeekByHand: 1 has four GPUs for an hour from 9:00 on; 2 comes at 9:01 and wants all eight
// for an hour, 3_1 at 9:02 four for half an hour and 3_2 at 9:03 four for an hour.
//
// FIFO: 2 blocks what comes after it until 11:00. EASY: 3_1 ends before 2 can start at 10:00, and
// goes first; 3_2 would not. berth: biology has nothing when 3_1 ends at 9:32, and physics its
// share: 3_2 goes first, and 2 starts when that ends, at 10:32.
func TestTinyWeekByHand(t *testing.T) {
	berths := map[berth.JobID]float64{"1": 0, "2": 91, "3_1": 0, "3_2": 29}
	require.Equal(t, map[string]map[berth.JobID]float64{
		"FIFO": {"1": 0, "2": 59, "3_1": 118, "3_2": 117},
		"EASY": {"1": 0, "2": 59, "3_1": 0, "3_2": 117},
		tame:   berths, own: berths, fourReserved: berths, nothingReserved: berths,
	}, waitsOf(t, slurm()))
}

// A share is guaranteed where a file states it. One that is made up from the jobs is a weight: a
// gang of eight GPUs of an account that has four would wait for all that others submit.
func TestOnlyStatedSharesAreGuaranteed(t *testing.T) {
	o := slurm()
	for _, stated := range []bool{true, false} {
		b, err := load(o)
		require.NoError(t, err)
		require.Len(t, b.Queues(), 2)
		for _, q := range b.Queues() {
			require.Equal(t, stated, q.Guarantee != nil, q.Name)
			require.Positive(t, q.Weight)
		}
		o.Shares = ""
	}
}

// Evictions are judged where jobs write checkpoints, and only shown where they would lose all.
func TestWhichIsJudged(t *testing.T) {
	o := slurm()
	for checkpoint, header := range map[time.Duration]string{0: tame, time.Minute: own} {
		o.Checkpoint = checkpoint
		var out bytes.Buffer
		require.NoError(t, Run(context.Background(), o, &out))
		require.Regexp(t, `(?m)^ +schedulers know +EASY +`+header+`$`, out.String())
		require.Contains(t, out.String(), "their mean wait under "+header+" is more than")
	}
}

// The mean by GPUs is longer than that of jobs where the large ones wait: EASY has the two of
// physics wait 0 and 59 minutes with 4 and 8 GPUs, and those of biology 0 and 117 with 4 each.
func TestMeanByGPUs(t *testing.T) {
	b, err := load(slurm())
	require.NoError(t, err)
	runs, err := b.play(context.Background())
	require.NoError(t, err)
	for _, r := range runs {
		if r.scheduler == "EASY" && r.guess == 0 {
			require.InDelta(t, (8*59.0+4*117)/20, b.meanByGPUs(r), 0.01)
			return
		}
	}
	t.Fatal("EASY was not played")
}

// The same jobs in the Standard Workload Format have one account, so that berth has nothing to
// share. It does as EASY does, but for the short job that has its turn before the long gang.
func TestTinyLog(t *testing.T) {
	o := Defaults()
	o.Jobs, o.NodeGPUs = "testdata/jobs.swf", 4
	waits := waitsOf(t, o)
	require.Equal(t, map[berth.JobID]float64{"swf-1": 0, "swf-2": 59, "swf-3": 118, "swf-4": 117}, waits["FIFO"])
	require.Equal(t, map[berth.JobID]float64{"swf-1": 0, "swf-2": 59, "swf-3": 0, "swf-4": 117}, waits["EASY"])
	require.Equal(t, map[berth.JobID]float64{"swf-1": 0, "swf-2": 91, "swf-3": 0, "swf-4": 29}, waits[own])
}

// A pod is a job, those of one PyTorchJob a gang, and one that runs on has the time until the
// latest instant of the dump.
func TestTinyDump(t *testing.T) {
	o := Defaults()
	o.Jobs = "testdata/pods.json"
	b, err := load(o)
	require.NoError(t, err)
	require.Len(t, b.Nodes, 2)
	var told []string
	for i := range b.Jobs {
		j := &b.Jobs[i]
		told = append(told, string(j.Spec.ID)+" "+j.At.Sub(0).String()+" "+j.Runtime.String()+" "+sizeOf(j))
	}
	require.Equal(t, []string{"physics/one 0s 1h0m0s 3-4", "physics/train-0 1m0s 1h0m0s 5-8", "biology/infer 2m0s 1h58m0s 2"}, told)
	require.Equal(t, skipped.List{
		{Reason: "holds no GPU", Count: 1, Line: 20},
		{Reason: "a node has no whole GPU", Count: 1, Line: 7},
		{Reason: "had not ended: played with the time until the latest instant of the file", Count: 1, Line: 17},
		{Reason: "had not started", Count: 1, Line: 21},
	}, anonymous(b.Skipped))
	require.Equal(t, map[berth.JobID]float64{"physics/one": 0, "physics/train-0": 59, "biology/infer": 118}, waitsOf(t, o)["FIFO"])
}

// anonymous is without names of files.
func anonymous(list skipped.List) skipped.List {
	list = slices.Clone(list)
	for i := range list {
		list[i].File = ""
	}
	return list
}

// A file has, of the jobs that came before it begins, those alone that ran long: they are played,
// and their waits count for nothing, nor does the time before the first end.
func TestWhatCameBeforeTheFile(t *testing.T) {
	row := func(id int, submit, start, end string) string {
		return fmt.Sprintf("%d|a|2024-03-04T%s:00|2024-03-04T%s:00|2024-03-04T%s:00|gres/gpu=4\n", id, submit, start, end)
	}
	o := Defaults()
	o.NodeGPUs = 4
	o.Jobs = write(t, "JobID|Account|Submit|Start|End|ReqTRES\n"+
		row(1, "01:00", "07:00", "13:00")+ // waited six hours for jobs that had ended when the file begins
		row(2, "12:00", "12:00", "12:30")+row(3, "12:30", "13:00", "14:00")+row(4, "12:40", "14:00", "15:00")+row(5, "13:30", "15:00", "16:00"))
	b, err := load(o)
	require.NoError(t, err)
	require.Equal(t, 2, b.Before)
	require.Equal(t, berth.Time(0).Add(11*berth.Hour+30*berth.Minute), b.From)
	require.Equal(t, []float64{30, 80, 90}, b.delays(nil, all))
	require.Equal(t, 15*berth.Minute, b.step())
	runs, err := b.play(context.Background())
	require.NoError(t, err)
	for _, r := range runs {
		require.Len(t, b.delays(r, all), 3, r.scheduler)
		require.Len(t, b.slots(r), 14, "12:30 to 16:00")
	}
	require.Contains(t, b.summary(runs).Title, "2 of 5 jobs were submitted before")
	held := b.heldAsItWas()
	require.InDelta(t, 8, held[45], 1e-9, "1 and 2 before 12:30")
	require.InDelta(t, 4, held[46], 1e-9, "1 alone from then on")

	o.Jobs = write(t, "JobID|Account|Submit|Start|End|ReqTRES\n"+row(1, "01:00", "07:00", "13:00")+row(2, "12:00", "12:00", "12:30")+row(3, "12:40", "13:00", "14:00"))
	b, err = load(o)
	require.NoError(t, err)
	require.Zero(t, b.Before, "more than half of the jobs would not count")
	require.Zero(t, b.From)
}

// EASY does what was done, and FIFO does not: it has 3_1 wait, which ran at once.
func TestHowFarTheReplayIsOff(t *testing.T) {
	o := slurm()
	o.Shares = ""
	b, err := load(o)
	require.NoError(t, err)
	runs, err := b.play(context.Background())
	require.NoError(t, err)
	rows := b.distance(runs).Rows
	require.Equal(t, []any{"FIFO", 73.5, 44.0, 29.5, 75.0, 0.0, 25.0}, rows[0][:7])
	require.InDelta(t, 100.0*(30*4+30*4)/(180*8), rows[0][7], 1e-9, "four GPUs, for half an hour too late and half an hour too early")
	require.Equal(t, []any{"EASY", 44.0, 44.0, 0.0, 100.0, 0.0, 0.0, 0.0}, rows[1])
}

// What cannot have run is not played, and counted with the line of the first.
func TestWhatCannotHaveRun(t *testing.T) {
	b, err := load(slurm())
	require.NoError(t, err)
	require.Len(t, b.Jobs, 4)
	require.Subset(t, anonymous(b.Skipped), skipped.List{
		{Reason: "ends before it starts", Count: 1, Line: 8},
		{Reason: "holds no GPU", Count: 1, Line: 10},
		{Reason: "cannot have run: more GPUs than the 8 of the fleet", Count: 1, Line: 9},
	})
}

// A job goes to the nodes of its partition, or to any where none is in it.
func TestPartitions(t *testing.T) {
	o := Defaults()
	o.Jobs = write(t, "JobID|Account|Partition|Submit|Elapsed|ReqTRES\n"+
		"1|a|big|2024-03-04T09:00:00|10:00:00|gres/gpu=1\n2|a|big|2024-03-04T09:00:00|10:00:00|gres/gpu=4\n"+
		"3|a|gone|2024-03-04T09:00:00|10:00:00|gres/gpu=1\n4|a|small|2024-03-04T09:00:00|10:00:00|gres/gpu=2\n")
	o.Nodes = write(t, "NodeName=a Gres=gpu:1 Partitions=small\nNodeName=b Gres=gpu:4 Partitions=big,other\n")
	b, err := load(o)
	require.NoError(t, err)
	require.Subset(t, anonymous(b.Skipped), skipped.List{
		{Reason: "is of a partition that no node with GPUs is in: any node will do", Count: 1, Line: 4},
		{Reason: "cannot have run: no nodes of the fleet are as it asks (GPUs a node, product, partition)", Count: 1, Line: 5},
	})
	for _, name := range []string{"EASY", own} {
		require.Equal(t, map[berth.JobID]float64{"1": 0, "2": 600, "3": 0}, waitsOf(t, o)[name], name)
	}
}

func TestTables(t *testing.T) {
	o := slurm()
	o.HTML = filepath.Join(t.TempDir(), "week.html")
	var out bytes.Buffer
	require.NoError(t, Run(context.Background(), o, &out))
	for _, line := range []string{
		`(?m)^ +all +4 +18\.0 +24\.0 +75\.0 +8$`,
		`(?m)^ +wait mean, min +44\.0 +73\.5 +44\.0 +30\.0 +30\.0$`,
		`(?m)^ +biology +2 +6\.00 +58 / 117 +118 / 118 +58 / 117 +14 / 29 +14 / 29$`,
		`(?m)^ +physics +2 +29\.5 +45\.5 +16\.0 +50\.0$`,
		`(?m)^ +the run time itself +44 / 117 +30 / 91$`,
		`(?m)^ +berth, no eviction: 1, the default +30\.0 +42\.2 +91\.0 +75\.0$`,
	} {
		require.Regexp(t, line, out.String())
	}
	require.Less(t, strings.Index(out.String(), "Demand against capacity"), strings.Index(out.String(), "The whole"))
	page, err := os.ReadFile(o.HTML)
	require.NoError(t, err)
	require.Contains(t, string(page), "Accounts that would be worse off")
}

// Evictions, and what they cost, are told: an account takes its share back from one that has all.
func TestPreemptions(t *testing.T) {
	o := Defaults()
	o.Jobs, o.NodeGPUs = write(t, "JobID|Account|Submit|Elapsed|ReqTRES\n"+
		"1|a|2024-03-04T09:00:00|10:00:00|gres/gpu=4,node=1\n2|a|2024-03-04T09:00:00|10:00:00|gres/gpu=4,node=1\n"+
		"3|b|2024-03-04T10:00:00|10:00:00|gres/gpu=4,node=1\n"), 4
	_, err := load(o)
	require.ErrorIs(t, err, flagline.ErrMisuse)
	require.ErrorContains(t, err, "does not tell when jobs started")
	o.GPUs, o.Shares = 8, write(t, "Account|Shares\na|1\nb|1\n")
	waits := waitsOf(t, o)
	require.InDelta(t, 540, waits[tame]["3"], 1)
	require.Less(t, waits[own]["3"], 1.0)
}

// A number of GPUs that makes no whole nodes is rounded up, and the report says so.
func TestWholeNodes(t *testing.T) {
	o := slurm()
	o.Nodes, o.Topology, o.GPUs = "", "", 30
	var out strings.Builder
	require.NoError(t, Run(context.Background(), o, &out))
	require.Contains(t, out.String(), "32 GPUs in 4 nodes, the 30 of -gpus in whole nodes of 8")
}

func write(t *testing.T, text string) string {
	name := filepath.Join(t.TempDir(), "file")
	require.NoError(t, writeFile(name, text))
	return name
}

func writeFile(name, text string) error { return os.WriteFile(name, []byte(text), 0o600) }

func TestErrors(t *testing.T) {
	for says, change := range map[string]func(*Options){
		"-jobs is missing":                           func(o *Options) { o.Jobs = "" },
		"-gpus: -1 is not between 0 and":             func(o *Options) { o.GPUs = -1 },
		"-node-gpus: 65 is not between 1 and 64":     func(o *Options) { o.NodeGPUs = 65 },
		"-checkpoint: 5m0s is not between":           func(o *Options) { o.Checkpoint = 5 * 60e9 },
		"says nothing of node \"gpu1\"":              func(o *Options) { o.Topology = write(t, "SwitchName=s Nodes=other") },
		"no such file":                               func(o *Options) { o.Jobs = "absent" },
		`:1: the file is empty`:                      func(o *Options) { o.Jobs = write(t, "") },
		`sacct without --parsable2`:                  func(o *Options) { o.Jobs = write(t, "JobID Account\n") },
		"-gpus and -nodes exclude each other":        func(o *Options) { o.GPUs = 8 },
		`there is no column "JobID or JobIDRaw"`:     func(o *Options) { o.Jobs = write(t, "a|b\n") },
		`:2:12: share: "few" is no number`:           func(o *Options) { o.Shares = write(t, "Account|RawShares\nphysics   |few\n") },
		`no header with "Account"`:                   func(o *Options) { o.Shares = write(t, "physics|1\n") },
		"account \"a\" has two":                      func(o *Options) { o.Shares = write(t, "Account|Shares\na|1\na|2\n") },
		"no account with a share":                    func(o *Options) { o.Shares = write(t, "Account|Shares\n") },
		`:1:6: not JSON: '1' where a colon is to be`: func(o *Options) { o.Jobs = write(t, `{"a" 1}`) },
		`there are no "items"`:                       func(o *Options) { o.Jobs = write(t, "{}") },
		`"items" is no list`:                         func(o *Options) { o.Jobs = write(t, `{"items": 3}`) },
		`:2: nvidia.com/gpu: "x" of Node "a"`: func(o *Options) {
			o.Jobs = write(t, "{\"items\": [\n{\"kind\":\"Node\",\"metadata\":{\"name\":\"a\"},\"status\":{\"capacity\":{\"nvidia.com/gpu\":\"x\"}}}]}")
		},
		"a year is the most": func(o *Options) {
			o.Jobs = write(t, "JobID|Account|Submit|Start|End|ReqTRES\n1|a|1990-01-01T00:00:00|1990-01-01T00:00:00|1990-01-01T01:00:00|gres/gpu=1\n2|a|2024-01-01T00:00:00|2024-01-01T00:00:00|2024-01-01T01:00:00|gres/gpu=1\n")
		},
	} {
		o := slurm()
		change(&o)
		require.ErrorContains(t, Run(context.Background(), o, io.Discard), says)
	}
}
