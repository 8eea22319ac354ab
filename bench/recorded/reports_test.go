package recorded

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/workload"
)

func file(name, text string) File {
	if text == "" {
		return File{}
	}
	return File{name, strings.NewReader(text)}
}

func read(jobs, nodes, shares string) (*Week, error) {
	return Read(Options{Jobs: file("jobs", jobs), Nodes: file("nodes", nodes), Shares: file("shares", shares), NodeGPUs: 8, ProcessorsPerGPU: 1})
}

// played are the jobs of a week, each in a line.
func played(t *testing.T, w *Week, err error) (lines []string) {
	t.Helper()
	require.NoError(t, err)
	for i := range w.Jobs {
		j := &w.Jobs[i]
		var groups []string
		for _, g := range j.Spec.Groups {
			groups = append(groups, strings.TrimSuffix(fmt.Sprintf("%dx%d %s", g.Members, g.Claim.GPUs, strings.Join(g.Selector.Products, "|")), " "))
		}
		lines = append(lines, fmt.Sprintf("%s at %v: %s, waits %v, for %v", j.Spec.ID, j.At.Sub(0), strings.Join(groups, " + "), j.Wait, j.Runtime))
	}
	return lines
}

// told are the reasons, with the first line and the number of each.
func told(w *Week) (lines []string) {
	for _, s := range w.Skipped {
		lines = append(lines, s.String())
	}
	return lines
}

const (
	whole = "JobID|Account|Partition|Submit|Eligible|Start|End|Elapsed|Suspended|Timelimit|State|ReqTRES|AllocTRES|NNodes\n"
	eight = "NodeName=n1 Gres=gpu:H100:8 Partitions=gpu\nNodeName=n2 Gres=gpu:H100:8 Partitions=gpu\n" +
		"NodeName=n3 Gres=gpu:H100:8 Partitions=gpu\nNodeName=n4 Gres=gpu:H100:8 Partitions=gpu\n"
)

// clock is an instant of the day of the accounts below.
func clock(at string) string {
	if strings.Contains(at, ":") {
		return "2026-03-02T" + at
	}
	return at
}

// account is a row of sacct; times are submitted, eligible, start, end, elapsed, suspended.
func account(id, times, state, requested, allocated, nodes string) string {
	f := strings.Fields(times)
	return strings.Join([]string{id, "bio", "gpu", clock(f[0]), clock(f[1]), clock(f[2]), clock(f[3]), f[4], f[5], "01:00:00", state, requested, allocated, nodes}, "|") + "\n"
}

const one = "cpu=1,gres/gpu=8,node=1"

// Each row of a report from the field, and relatives of it: what the jobs are, as Slurm 22.05 ran
// them.
func TestAccountsAsSlurmRanThem(t *testing.T) {
	for _, c := range []struct {
		name, rows string
		jobs, told []string
	}{
		{
			"a request for nodes is the least that will do",
			account("4", "01:00:00 01:00:00 01:00:00 01:00:20 00:00:20 00:00:00", "COMPLETED", "cpu=1,gres/gpu=16,node=1", "cpu=2,gres/gpu:h100=16,gres/gpu=16,node=2", "2"),
			[]string{"4 at 0s: 2x8, waits 0s, for 20s"},
			nil,
		},
		{
			"the nodes of an allocation, without a column of them",
			account("4", "01:00:00 01:00:00 01:00:00 01:00:20 00:00:20 00:00:00", "COMPLETED", "gres/gpu:h100=16,node=1", "gres/gpu=16,node=2", ""),
			[]string{"4 at 0s: 2x8 H100, waits 0s, for 20s"},
			nil,
		},
		{
			"instances that were given to a job that asked for any GPU",
			account("4", "01:00:00 01:00:00 01:00:00 01:00:20 00:00:20 00:00:00", "COMPLETED", "gres/gpu=1", "gres/gpu:h100_1g.10gb=1,gres/gpu=1", "1"),
			nil,
			[]string{"jobs:2: holds parts of GPUs"},
		},
		{
			"a job that was resized",
			account("55", "01:00:00 01:00:00 01:00:02 01:00:05 00:00:03 00:00:00", "RESIZING", "gres/gpu=32,node=4", "gres/gpu=32,node=4", "4") +
				account("55", "01:00:05 01:00:00 01:00:02 01:00:27 00:00:25 00:00:00", "RESIZING", "gres/gpu=32,node=2", "gres/gpu=16,node=2", "2") +
				account("55", "01:00:27 01:00:00 01:00:02 01:00:30 00:00:28 00:00:00", "COMPLETED", "gres/gpu=32,node=2", "gres/gpu=8,node=1", "1"),
			[]string{"55 at 0s: 4x8, waits 2s, for 3s", "55#2 at 5s: 2x8, waits 0s, for 22s", "55#3 at 27s: 1x8, waits 0s, for 3s"},
			nil,
		},
		{
			"runs of one job that are apart, and the last first",
			account("11", "01:10:00 01:12:01 01:12:10 01:12:40 00:00:30 00:00:00", "COMPLETED", one, one, "1") +
				account("12", "01:00:00 01:00:00 01:00:04 01:00:52 00:00:48 00:00:00", "PREEMPTED", one, one, "1") +
				account("11", "01:00:00 01:00:00 01:00:04 01:10:00 00:09:56 00:00:00", "PREEMPTED", one, one, "1"),
			[]string{"12 at 0s: 1x8, waits 4s, for 48s", "11 at 0s: 1x8, waits 4s, for 9m56s", "11#2 at 12m1s: 1x8, waits 9s, for 30s"},
			nil,
		},
		{
			"a run that comes back does not wait while it runs",
			account("11", "01:00:00 01:00:00 01:00:04 01:10:00 00:09:56 00:00:00", "PREEMPTED", one, one, "1") +
				account("11", "01:00:00 01:00:00 01:10:30 01:11:00 00:00:30 00:00:00", "COMPLETED", one, one, "1"),
			[]string{"11 at 0s: 1x8, waits 4s, for 9m56s", "11#2 at 10m0s: 1x8, waits 30s, for 30s"},
			nil,
		},
		{
			"two files put together",
			account("11", "01:00:00 01:00:00 01:00:04 Unknown 00:00:56 00:00:00", "RUNNING", one, one, "1") +
				account("12", "01:00:00 01:00:00 Unknown Unknown 00:00:00 00:00:00", "PENDING", one, "", "1") +
				account("11", "01:00:00 01:00:00 01:00:04 01:10:04 00:10:00 00:00:00", "COMPLETED", one, one, "1") +
				account("12", "01:00:00 01:00:00 01:00:10 01:00:20 00:00:10 00:00:00", "COMPLETED", one, one, "1") +
				account("12", "01:00:00 01:00:00 01:00:10 01:00:20 00:00:10 00:00:00", "COMPLETED", one, one, "1"),
			[]string{"11 at 0s: 1x8, waits 4s, for 10m0s", "12 at 0s: 1x8, waits 10s, for 10s"},
			[]string{"jobs:3: never ran", "jobs:4: tells a run that another row tells, too (2 times)"},
		},
		{
			"a wait begins when the job may start: dependency, --begin, throttle, hold after a requeue",
			account("22", "01:00:00 01:30:00 01:30:01 01:40:01 00:10:00 00:00:00", "COMPLETED", one, one, "1") +
				account("16_3", "01:00:00 Unknown 01:00:11 01:00:19 00:00:08 00:00:00", "COMPLETED", one, one, "1"),
			[]string{"16_3 at 0s: 1x8, waits 11s, for 8s", "22 at 30m0s: 1x8, waits 1s, for 10m0s"},
			nil,
		},
		{
			"a suspended job keeps its GPUs",
			account("56", "01:00:00 01:00:00 01:00:02 01:00:32 00:00:26 00:00:04", "COMPLETED", one, one, "1"),
			[]string{"56 at 0s: 1x8, waits 2s, for 30s"},
			nil,
		},
		{
			"a job that is suspended runs on",
			account("56", "01:00:00 01:00:00 01:00:02 Unknown 00:00:26 00:00:04", "SUSPENDED", one, one, "1") +
				account("57", "01:00:00 01:00:00 01:00:00 01:01:02 00:01:02 00:00:00", "COMPLETED", one, one, "1"),
			[]string{"56 at 0s: 1x8, waits 2s, for 1m0s", "57 at 0s: 1x8, waits 0s, for 1m2s"},
			[]string{"jobs:2: had not ended: played with the time until the latest instant of the file"},
		},
		{
			"parts of a heterogeneous job are one gang, in whichever order, as often as it ran",
			account("29+1", "01:00:00 01:00:00 01:00:02 01:00:12 00:00:10 00:00:00", "PREEMPTED", "gres/gpu:h100=1", "gres/gpu=1,node=1", "1") +
				account("30", "01:00:00 01:00:00 01:00:02 01:00:12 00:00:10 00:00:00", "COMPLETED", one, one, "1") +
				account("29+0", "01:00:00 01:00:00 01:00:02 01:00:14 00:00:12 00:00:00", "PREEMPTED", "gres/gpu=16,node=2", "gres/gpu=16,node=2", "2") +
				account("29+0", "01:00:14 01:02:15 01:02:15 01:02:20 00:00:05 00:00:00", "COMPLETED", "gres/gpu=16,node=2", "gres/gpu=16,node=2", "2") +
				account("29+1", "01:00:14 01:02:15 01:02:15 01:02:20 00:00:05 00:00:00", "COMPLETED", "gres/gpu:h100=1", "gres/gpu=1,node=1", "1"),
			[]string{
				"29 at 0s: 2x8 + 1x1 H100, waits 2s, for 12s", "30 at 0s: 1x8, waits 2s, for 10s",
				"29#2 at 2m15s: 2x8 + 1x1 H100, waits 0s, for 5s",
			},
			nil,
		},
		{
			"a part of the host alone",
			account("29+0", "01:00:00 01:00:00 01:00:02 01:00:12 00:00:10 00:00:00", "COMPLETED", "cpu=4,node=1", "cpu=4,node=1", "1") +
				account("29+1", "01:00:00 01:00:00 01:00:02 01:00:12 00:00:10 00:00:00", "COMPLETED", one, one, "1"),
			[]string{"29 at 0s: 1x8, waits 2s, for 10s"},
			[]string{"jobs:2: has a part that holds no GPU: played without"},
		},
		{
			"types and resources in any case",
			account("1", "01:00:00 01:00:00 01:00:02 01:00:12 00:00:10 00:00:00", "completed", "GRES/GPU:h100=8", "gres/gpu=8", "1"),
			[]string{"1 at 0s: 1x8 H100, waits 2s, for 10s"},
			nil,
		},
		{
			"a state that nobody knows",
			account("1", "01:00:00 01:00:00 01:00:02 01:00:12 00:00:10 00:00:00", "CONFUSED", one, one, "1"),
			[]string{"1 at 0s: 1x8, waits 2s, for 10s"},
			[]string{`jobs:2: the state "CONFUSED" is none of Slurm: the job counts by its times`},
		},
		{
			"a resource that nobody knows is told, and those of Slurm are not",
			account("1", "01:00:00 01:00:00 01:00:02 01:00:12 00:00:10 00:00:00", "COMPLETED", one, "billing=1,energy=5,fs/disk=3,license/a=1,gres/gpux=2,"+one, "1"),
			[]string{"1 at 0s: 1x8, waits 2s, for 10s"},
			[]string{`jobs:2: the resource "gres/gpux" is not read`},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, err := read(whole+c.rows, eight, "")
			require.Equal(t, c.jobs, played(t, w, err))
			require.Equal(t, c.told, told(w))
		})
	}
}

// Without a column, the reader says what that means: waits from Submit on, suspended time by the
// clock.
func TestAccountsWithoutColumns(t *testing.T) {
	w, err := read("JOBID|account|PARTITION|Submit|Start|End|Elapsed|Timelimit|State|ReqTRES|AllocTRES|NNodes|Comments\n"+
		"56|bio|GPU|2026-03-02T01:00:00|2026-03-02T01:00:02|2026-03-02T01:00:32|00:00:26|00:03:00|COMPLETED|gres/gpu=8|gres/gpu=8|1|x\n", eight, "")
	require.Equal(t, []string{"56 at 0s: 1x8, waits 2s, for 30s"}, played(t, w, err))
	require.Equal(t, []string{
		"jobs:1: there is no column Eligible: waits begin at Submit, with the time in which a job was not allowed to start",
		`jobs:1: column "Comments" is none of sacct`,
	}, told(w))
}

// What commands of Slurm and kubectl print that is not read is refused by name, with the command
// that gives what is.
func TestOtherCommandsAreRefusedByName(t *testing.T) {
	for text, name := range map[string]string{
		"JobId=11 JobName=train\n   UserId=ann(1000)\n":                                          "scontrol show job",
		"             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)\n": "squeue",
		"JOBID|PARTITION|NAME\n1|gpu|a\n":                                                        `"Submit"`,
		"PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\n":                                    "sinfo",
		`{"meta": {"plugins": {}}, "jobs": []}`:                                                  "--json",
		`{"jobs": [{"job_id": 1}], "meta": {}}`:                                                  "--json",
		"NodeName=n1 Gres=gpu:8\n":                                                               "nodes",
		"NAME      READY   STATUS    RESTARTS   AGE\n":                                           "kubectl",
	} {
		_, err := read(text, "", "")
		require.ErrorContains(t, err, name)
		require.ErrorContains(t, err, "sacct --allusers")
	}
	for text, name := range map[string]string{
		"ClusterName=c\nNodeName=n[1-4] CPUs=64 Gres=gpu:8\n": "scontrol show node",
		"NodeName=n[1-4] CPUs=64 Gres=gpu:8\n":                "slurm.conf",
		"NodeName=DEFAULT CPUs=64\n":                          "slurm.conf",
		"NodeName=n1 Name=gpu\nPartitionName=gpu Nodes=n1\n":  "slurm.conf",
		"NodeName=n[1-4] Name=gpu File=/dev/nvidia[0-7]\n":    "gres.conf",
		"Name=gpu Type=a100 File=/dev/nvidia0\n":              "scontrol show node",
		"PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\n": "scontrol show node",
		`{"nodes": []}`: "scontrol show node",
	} {
		_, err := read(whole, text, "")
		require.ErrorContains(t, err, name)
	}
}

// An account that is indented has a part of the share above it.
func TestSharesOfNestedAccounts(t *testing.T) {
	rows := whole
	for i, a := range []string{"phys", "bio", "cs", "science"} {
		rows += strings.Replace(account(fmt.Sprint(i), "01:00:00 01:00:00 01:00:02 01:00:12 00:00:10 00:00:00", "COMPLETED", one, one, "1"), "bio", a, 1)
	}
	const header = "Account|User|RawShares|NormShares|RawUsage|EffectvUsage|FairShare|\n"
	shares := func(t *testing.T, rows, shares string) string {
		w, err := read(rows, eight, shares)
		require.NoError(t, err)
		var list []string
		for _, s := range w.Shares {
			list = append(list, fmt.Sprintf("%s %.1f", s.Account, s.GPUs))
		}
		return strings.Join(list, ", ")
	}
	nested := header + "root|||0.000000|1000||0.500000|\n root|root|1|0.009901|0|0.000000|1.000000|\n" +
		" science||50|0.495050|500|0.500000||\n  phys||1|0.500000|250|0.500000||\n   phys|u1|parent|0.500000|250|0.500000|0.3|\n" +
		"  bio||1|0.500000|250|0.500000||\n   bio|u2|parent|0.500000|250|0.500000|0.3|\n cs||50|0.495050|500|0.500000||\n  cs|u3|1|1.000000|500|0.500000|0.2|\n"
	require.Equal(t, "bio 8.0, cs 16.0, phys 8.0, science 0.0", shares(t, rows, nested))
	own := strings.Replace(nested, "  phys||1", "  science|u0|2|0.5|1|0.5|0.5|\n  phys||1", 1)
	require.Equal(t, "bio 4.0, cs 16.0, phys 4.0, science 8.0", shares(t, rows, own), "an account keeps the part of its own users")
	require.Equal(t, "bio 8.0, cs 16.0, phys 8.0, science 0.0", shares(t, rows, strings.ToUpper(header)+nested[len(header):]))
	require.Equal(t, "PHYS 32.0", shares(t, whole+strings.Replace(account("1", "01:00:00 01:00:00 01:00:02 01:00:12 00:00:10 00:00:00", "COMPLETED", one, one, "1"), "bio", "PHYS", 1), nested), "the database is in lower case")

	for text, why := range map[string]string{
		strings.ReplaceAll(nested, "\n ", "\n"):             "not indented",
		strings.ReplaceAll(nested, "\n  ", "\n "):           "",
		nested + " cs||50|0.495050|500|0.500000||\n":        "has two",
		nested + "  gone|u9|1|0.495050|500|0.500000||\n":    "not above",
		"Cluster|Login|Used\n":                              "sshare --all --parsable",
		strings.Replace(nested, "RawShares", "RawShare", 1): "RawShares",
		strings.Replace(nested, "|User|", "|Account|", 1):   "two columns",
		strings.Replace(nested, "|User|", "|Users|", 1):     "has two",
		header + "root|||1|||0|\n":                          "no account with a share",
	} {
		_, err := read(rows, eight, text)
		if why == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, why)
	}
	w, err := read(rows, eight, strings.Replace(nested, "FairShare", "FairShares", 1))
	require.NoError(t, err)
	require.Contains(t, told(w), `shares:1: column "fairshares" is none of sshare`)
	w, err = read(rows, eight, "Account|Shares\nphys|1\nbio|1\n")
	require.NoError(t, err)
	require.Equal(t, []string{`shares: there is no account "cs": it has no share`, `shares: there is no account "science": it has no share`}, told(w))
	require.Equal(t, berth.QueueID("bio"), w.Shares[0].Account)
}

// A job has the priority of its QOS, by whichever case; what does not fit together is told.
func TestPrioritiesOfQOS(t *testing.T) {
	rows := strings.Replace(whole, "Account|", "Account|QOS|Priority|", 1)
	for i, qos := range []string{"normal", "Urgent", "", "lost"} {
		rows += strings.Replace(account(fmt.Sprint(i), "01:00:00 01:00:00 01:00:02 01:00:12 00:00:10 00:00:00", "COMPLETED", one, one, "1"), "|bio|", "|bio|"+qos+"|4294901759|", 1)
	}
	week := func(qos string) (*Week, error) {
		return Read(Options{Jobs: file("jobs", rows), Nodes: file("nodes", eight), QOS: file("qos", qos), NodeGPUs: 8, ProcessorsPerGPU: 1})
	}
	w, err := week("\ufeffName|Priority\nnormal|10\nurgent|1000\nscavenge|0\n")
	require.NoError(t, err)
	var list []int32
	for i := range w.Jobs {
		list = append(list, w.Jobs[i].Spec.Priority)
	}
	require.Equal(t, []int32{10, 1000, 0, 0}, list)
	const column = "jobs:1: the column Priority is not read: the time that jobs waited and the past use of accounts are in it, as they were"
	require.Equal(t, []string{column, "jobs:4: tells no QOS: has priority 0", `jobs:5: is of a QOS that qos does not have, "lost": has priority 0`}, told(w))
	w, err = week("")
	require.NoError(t, err)
	require.Equal(t, []string{column, "jobs:3: is of another QOS than the first: -qos says which comes first (3 times)"}, told(w))
	require.Zero(t, w.Jobs[1].Spec.Priority)
	for text, says := range map[string]string{
		"normal|10\n":                            "sacctmgr show qos",
		"Name|Priority\n":                        "there is no QOS",
		"Name|Priority\nnormal\n":                "qos:2: ",
		"Name|Priority\nnormal|-1\n":             `"-1"`,
		"Name|Priority\nnormal|4294967295\n":     `"4294967295"`,
		"Name|Priority\nnormal|1\nNormal|2\n":    "twice",
		"Name|Priority|\n|1|\n":                  "no name",
		"Name|" + strings.Repeat("x", 1<<16+100): "token too long",
	} {
		_, err := week(text)
		var typed *workload.TraceError
		require.ErrorAs(t, err, &typed, text)
		require.ErrorContains(t, err, says)
	}
}
