package world

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/script"
	"github.com/berth-sched/berth/journal"
)

// A day on two nodes, with all that the executor knows: starts, ends, a checkpoint on request, an
// eviction, a lost node that comes back.
const busy = `config levels=leaf
node n1..n2 at=l0
queue research guarantee=gpu:8
queue product guarantee=gpu:8
job train queue=research members=2 gpus=8 runtime=2h checkpoint=1m
run 30m
job chat queue=product gpus=8 runtime=1h
run 30m
lose n1 because fire
run 10m
node n1 at=l0
run 5h
`

func played(t *testing.T, text string) *World {
	t.Helper()
	w, err := New(text)
	require.NoError(t, err)
	for !w.Done() {
		require.NoError(t, w.Step())
	}
	for _, step := range w.log {
		require.Empty(t, step.Failed, step.Did)
	}
	return w
}

// Every story of the script tests can be opened, and prints what it prints there.
func TestStoriesPlayAsTheScriptsDo(t *testing.T) {
	names, err := filepath.Glob("../../../berthtest/script/testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		want, err := os.ReadFile(name)
		require.NoError(t, err)
		var lines []string
		for line := range strings.Lines(string(want)) {
			if strings.TrimSpace(line) != "" {
				lines = append(lines, line)
			}
		}
		require.Equal(t, strings.Join(lines, ""), played(t, string(want)).Transcript(), name)
	}
}

// What was played is a plain script, which prints the same when it is run and checked there.
func TestTranscriptIsAScript(t *testing.T) {
	w := played(t, busy)
	out, err := script.Run([]byte(w.Transcript()))
	require.NoError(t, err, string(out))
	require.Equal(t, w.Transcript(), string(out))
	tally := w.annals.tally
	require.Equal(t, 2, tally.Submitted)
	require.Equal(t, 2, tally.Finished, w.Transcript())
	require.Equal(t, 1, tally.Evicted)
	require.Equal(t, 0, len(w.session.Core().JobIDs()))
}

// Whatever way a step is reached, the core stands there as it did the first time.
func TestSeekComesBackToTheSameBytes(t *testing.T) {
	w, err := New(busy)
	require.NoError(t, err)
	var states [][]byte
	for {
		b, err := w.session.Core().Snapshot()
		require.NoError(t, err)
		states = append(states, b)
		if w.Done() {
			break
		}
		require.NoError(t, w.Step())
	}
	log := append([]Step(nil), w.log...)
	require.Greater(t, len(log), 2*firstEvery, "or nothing is saved on the way")
	tally := w.annals.tally
	r := rand.New(rand.NewPCG(1, 1))
	for range 60 {
		step := r.IntN(len(states))
		require.NoError(t, w.Seek(step))
		b, err := w.session.Core().Snapshot()
		require.NoError(t, err)
		require.Equal(t, string(states[step]), string(b))
		require.NoError(t, w.Seek(min(step+r.IntN(5), len(log))))
	}
	require.NoError(t, w.Seek(len(log)))
	require.Equal(t, log, w.log)
	require.Equal(t, tally, w.annals.tally)
}

// A line that is put in between ends the run there, and a scenario that was changed so plays the
// same from its text.
func TestAppendInTheMiddle(t *testing.T) {
	w, err := New(busy)
	require.NoError(t, err)
	lab := Lab{worlds: map[string]*World{"main": w}}
	status, err := lab.do(&Request{Do: "run", World: "main", Steps: 1000, Until: berth.Time(45 * berth.Minute)})
	require.NoError(t, err)
	require.True(t, status.(Status).Reached)
	require.NoError(t, w.Append(berth.Time(46*berth.Minute), "job late queue=product gpus=1 runtime=5m", false))
	require.Equal(t, berth.Time(46*berth.Minute), w.session.Now())
	require.NotContains(t, w.Text(), "lose n1")
	before := w.Text()
	require.ErrorContains(t, w.Append(w.session.Now(), "job nonsense qeue=product", true), "qeue")
	require.ErrorContains(t, w.Append(w.session.Now(), "run soon", true), "soon")
	require.Equal(t, before, w.Text())
	require.NoError(t, w.Append(w.session.Now(), "run 3h", true))
	for !w.Done() {
		require.NoError(t, w.Step())
	}
	require.Equal(t, 3, w.annals.tally.Finished)
	require.Equal(t, w.Transcript(), played(t, w.Text()).Transcript())
}

// What was to come comes all the same, if it is kept.
func TestAppendAndGoOn(t *testing.T) {
	w := played(t, busy)
	require.NoError(t, w.Seek(w.StepAt(berth.Time(45*berth.Minute))))
	require.NoError(t, w.Append(berth.Time(45*berth.Minute), "job late queue=product gpus=1 runtime=5m", true))
	require.Contains(t, w.Text(), "run 15m0s\njob late queue=product gpus=1 runtime=5m\nrun 15m0s\nlose n1")
	require.ErrorContains(t, w.Append(w.session.Now(), "job nonsense qeue=product", true), "qeue")
	for !w.Done() {
		require.NoError(t, w.Step())
	}
	require.Equal(t, 3, w.annals.tally.Finished)
	require.Equal(t, berth.Time(6*berth.Hour+10*berth.Minute), w.session.Now())
	require.Equal(t, w.Transcript(), played(t, w.Text()).Transcript())
}

// The journal replays to the same orders.
func TestJournalReplays(t *testing.T) {
	lab := Lab{worlds: map[string]*World{"main": played(t, busy)}}
	var recorded Recorded
	for !recorded.Reached {
		require.NoError(t, json.Unmarshal(lab.Answer([]byte(`{"do":"journal","world":"main","steps":7}`)), &recorded))
	}
	require.NotEmpty(t, recorded.Journal)
	counts, err := journal.Replay(strings.NewReader(recorded.Journal))
	require.NoError(t, err)
	require.Positive(t, counts.Orders)
}

// What is lent is drawn in two layers, and counted: a service falls idle, a job runs over it, and
// goes when it is busy again, also where another policy drives the same events.
func TestLoans(t *testing.T) {
	const text = `node n1 gpus=2 gpu-memory=80GiB
queue q
service web queue=q gpus=1 lend=8GiB lend-within=2m
job plain queue=q gpus=1
job night queue=q borrow=40GiB runtime=2h checkpoint=30s
run 2m
activity web 20
run 58m
activity web 900
run 10s
`
	w, err := New(text)
	require.NoError(t, err)
	parts := func(at berth.Duration) []Part {
		t.Helper()
		for !w.Done() {
			if next, _ := w.NextAt(); next > berth.Time(at) {
				break
			}
			require.NoError(t, w.Step())
		}
		require.Empty(t, w.last().Failed)
		return w.Picture().Nodes[0].GPUs[0].Parts
	}
	web := Part{Job: "web", Member: "[0]", Phase: "running"}
	require.Equal(t, []Part{web}, parts(2*berth.Minute+10*berth.Second), "not quiet for long enough")
	web.Idle = true
	require.Equal(t, []Part{web}, slices.DeleteFunc(parts(30*berth.Minute), func(p Part) bool { return p.Job == "night" }))
	night := Part{Job: "night", Member: "[0]", Phase: "running", Borrowed: true}
	require.ElementsMatch(t, []Part{web, night}, parts(30*berth.Minute))
	require.Equal(t, Sample{All: 2000, Held: 2000, Told: 1000, Active: 20, Lent: 1000}, w.last().Sample)
	web.Idle, night.GivesBack = false, true
	require.ElementsMatch(t, []Part{web, night}, parts(berth.Hour+berth.Minute))
	driven, err := Driven(text, "quiet-for=10m", 90*berth.Minute)
	require.NoError(t, err)
	w, err = New(driven)
	require.NoError(t, err)
	require.Equal(t, []Part{web}, parts(90*berth.Minute))
	tally := w.Picture().Tally
	require.Equal(t, 1, tally.GivenBack)
	require.InDelta(t, 48*int64(berth.Minute), tally.LentMS, float64(berth.Minute))
}

// Two policies meet the same events, also those of a scenario that reports its orders by number.
func TestDrivenTwice(t *testing.T) {
	const text = `config defragmentation=off
node n1..n2
queue q
job a queue=q gpus=4 runtime=10h checkpoint=1m restart=2m
job b queue=q gpus=4 runtime=1h
job c queue=q gpus=4 runtime=10h checkpoint=1m restart=2m
pass
report all done
advance 2h
finish b
job whole queue=q gpus=8 runtime=1h
pass
expect whole pending
`
	moved := map[string]int{}
	for _, policy := range []string{"defragmentation=on", "defragmentation=off"} {
		driven, err := Driven(text, policy, 3*berth.Hour)
		require.NoError(t, err)
		moved[policy] = played(t, driven).annals.tally.Moved
	}
	require.Equal(t, map[string]int{"defragmentation=on": 1, "defragmentation=off": 0}, moved)
}

// A topology file becomes a fleet to play on.
func TestFleetOfATopologyFile(t *testing.T) {
	text, err := FromFiles([]File{{"topology.conf", "SwitchName=leaf1 Nodes=n[1-2]\nSwitchName=leaf2 Nodes=n[3-4]\nSwitchName=spine1 Switches=leaf[1-2]\n"}})
	require.NoError(t, err)
	w := played(t, text)
	nodes := w.Picture().Nodes
	require.Len(t, nodes, 4)
	require.Equal(t, []string{"spine1", "leaf2"}, nodes[3].Domains)
	_, err = FromFiles([]File{{"topology.yaml", "- topology: a\n"}})
	require.Error(t, err)
	_, err = FromFiles([]File{{"topology.conf", "SwitchName=a Nodes=n[1-9999]\n"}})
	require.ErrorContains(t, err, "at most")
}

// The files of a week become a scenario, told apart by what they hold, in which every job runs that
// can; what is not played is told in its head.
func TestOwnWeek(t *testing.T) {
	read := func(name string) File {
		text, err := os.ReadFile("../../../bench/experiments/week/testdata/" + name)
		require.NoError(t, err)
		return File{name, string(text)}
	}
	text, err := FromFiles([]File{read("jobs.txt"), read("nodes.txt"), read("topology.conf"), read("shares.txt")})
	require.NoError(t, err)
	require.Contains(t, text, "# The week of jobs.txt: 4 jobs on 8 GPUs in 2 nodes, as nodes.txt has it. They ask for 75 %")
	require.Contains(t, text, "jobs.txt:8: ends before it starts")
	require.Contains(t, text, "queue physics weight=4000 guarantee=gpu:4\n")
	require.Contains(t, text, "node gpu1 gpus=4 product=a100 pool=gpu at=leaf1\n")
	w := played(t, text)
	require.Equal(t, 4, w.annals.tally.Finished)
	for _, step := range w.log {
		require.NotContains(t, step.Printed, "refused,", step.Did)
	}
	for name, jobs := range map[string]int{"jobs.swf": 4, "pods.json": 3} {
		text, err := FromFiles([]File{read(name)})
		require.NoError(t, err)
		require.Equal(t, jobs, played(t, text).annals.tally.Finished, text)
	}
	scenario := File{"mine.txt", "node n1\n"}
	text, err = FromFiles([]File{scenario})
	require.NoError(t, err)
	require.Equal(t, scenario.Text, text)
	for says, files := range map[string][]File{
		"one of each":            {read("jobs.txt"), read("jobs.swf")},
		"mine.txt is not of":     {read("jobs.txt"), scenario},
		"no jobs among":          {read("nodes.txt")},
		"jobs.txt:2:9: Submit: ": {{"jobs.txt", "JobID|Account|Submit|Elapsed|ReqTRES\n12|phys|noon|00:10:00|gres/gpu=1\n"}},
		"holds no GPU":           {{"jobs.txt", "JobID|Account|Submit|Elapsed|ReqTRES\n12|phys|2024-03-04T09:00:00|00:10:00|cpu=1\n"}},
	} {
		_, err := FromFiles(files)
		require.ErrorContains(t, err, says)
	}
	// Names that a script cannot say are changed, and stay apart.
	text, err = FromFiles([]File{{"w", "JobID|Account|Submit|Start|End|ReqTRES\na b|a b|2024-03-04T09:00:00|2024-03-04T09:00:00|2024-03-04T10:00:00|gres/gpu=1\n" +
		"ab|ab|2024-03-04T09:00:00|2024-03-04T09:00:00|2024-03-04T10:00:00|gres/gpu=1\n"}})
	require.NoError(t, err)
	require.Equal(t, 2, played(t, text).annals.tally.Finished, text)
}

// No request makes the lab panic.
func TestBadRequests(t *testing.T) {
	var lab Lab
	for _, request := range []string{
		``, `{}`, `[]`, `{"do":"picture"}`, `{"do":"load","world":"main","text":"run 1y"}`,
		`{"do":"load","world":"main","text":"node n1\nqueue q\njob a queue=q gpus=8\npass\nexpect a running\nnode n2"}`,
		`{"do":"run","world":"main","steps":100,"until":1000}`, `{"do":"seek","world":"main","to":-1,"steps":9}`,
		`{"do":"device","world":"main","node":"n1","gpu":8}`, `{"do":"explain","world":"main","job":"b"}`,
		`{"do":"append","world":"main","text":"a\nb"}`, `{"do":"drive","text":"run -1s"}`,
	} {
		require.True(t, json.Valid(lab.Answer([]byte(request))), request)
	}
	var status Status
	require.NoError(t, json.Unmarshal(lab.Answer([]byte(`{"do":"run","world":"main","steps":100,"until":1000}`)), &status))
	require.Contains(t, status.Failed, "binding")
	require.True(t, status.Done)
}

// Every preset plays to its end, no event of it is refused, and what its title tells comes to pass.
func TestPresetsPlay(t *testing.T) {
	tells := map[string]func(Tally) bool{
		"1-two-teams":                   func(t Tally) bool { return t.Evicted > 0 && t.Interrupted > 0 },
		"2-a-gang-that-does-not-starve": func(t Tally) bool { return t.Finished == t.Submitted },
		"3-moves-join-free-pieces":      func(t Tally) bool { return t.Moved == 2 },
		"5-hot-spares":                  func(t Tally) bool { return t.Interrupted == 2 },
	}
	names, err := filepath.Glob("../presets/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		w := played(t, string(text))
		for _, step := range w.log {
			require.NotContains(t, step.Printed, "refused,", step.Did)
		}
		if told := tells[strings.TrimSuffix(filepath.Base(name), ".txt")]; told != nil {
			require.True(t, told(w.annals.tally), "%s: %+v", name, w.annals.tally)
		}
		t.Logf("%s: %d steps, %+v", name, len(w.log), w.annals.tally)
	}
}
