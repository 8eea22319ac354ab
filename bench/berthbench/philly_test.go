package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/life"
)

// excerpt writes a trace of a seed in the shape of Philly's: many jobs of one GPU, some gangs, run
// times over five orders of magnitude, four virtual clusters of which one is a crowd.
func excerpt(t *testing.T, seed uint64, jobs int) string {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 8))
	var b strings.Builder
	b.WriteString("timestamp,duration,num_gpus,gpu_time,cluster\n")
	begin := time.Date(2017, 10, 2, 0, 0, 0, 0, time.UTC)
	for range jobs {
		cluster := pick(random, []string{"crowd", "vision", "speech", "idle"}, []int{60, 20, 15, 5})
		gpus := pick(random, []int{1, 2, 4, 8, 16, 32}, []int{70, 8, 8, 9, 4, 1})
		runtime := logNormal(random, 20*berth.Minute, 6, berth.Second, 2*berth.Day) / berth.Second
		at := begin.Add(time.Duration(random.Int64N(int64(48 * time.Hour))))
		fmt.Fprintf(&b, "%s,%d,%d,%d,%s\n", at.Format(time.DateTime), runtime, gpus, int64(runtime)*int64(gpus), cluster)
	}
	file := filepath.Join(t.TempDir(), "jobs.csv")
	require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o600))
	return file
}

// Every policy plays a small trace to its end under the checker, shared and in private; programs
// can read what comes of it, and there is a page.
func TestPhilly(t *testing.T) {
	file, page := excerpt(t, 1, 900), filepath.Join(t.TempDir(), "page.html")
	status, out, errors := call("philly", "-file", file, "-gpus", "200", "-check", "-html", page)
	require.Zero(t, status, errors)
	for _, text := range []string{
		"900 jobs", "200 GPUs: 18 nodes of 8 and 28 of 2", "Virtual clusters under cells", "simulated days and",
		"Under berth no virtual cluster waits longer than its private share would have had it wait.",
	} {
		require.Contains(t, out, text)
	}
	drawn, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Equal(t, 3+len(phillySizes)+1, strings.Count(string(drawn), "<svg"))

	status, out, errors = call("philly", "-file", file, "-gpus", "200", "-policies", "fifo,EASY", "-csv")
	require.Zero(t, status, errors)
	reader := csv.NewReader(strings.NewReader(out))
	reader.FieldsPerRecord = -1
	records, err := reader.ReadAll()
	require.NoError(t, err)
	require.Equal(t, []string{"figure", "FIFO", "EASY"}, records[0][1:])
}

// What the flags leave of the trace, and how the fleet is divided.
func TestPhillyTraceOnAFleet(t *testing.T) {
	b := loaded(t, excerpt(t, 2, 400), func(b *philly) { b.from, b.days = 1, 1 })
	all := loaded(t, excerpt(t, 2, 400), func(*philly) {})
	require.Less(t, len(b.whole.Jobs), len(all.whole.Jobs))
	require.Less(t, b.length, berth.Day)
	nodes, jobs := 0, 0
	for i := range all.private {
		nodes += len(all.private[i].Nodes)
		jobs += len(all.private[i].Jobs)
	}
	require.Equal(t, len(all.whole.Nodes), nodes, "every node is in one share")
	require.Equal(t, len(all.whole.Jobs), jobs)

	halved := loaded(t, excerpt(t, 2, 400), func(b *philly) { b.compress = 2 })
	require.InDelta(t, float64(all.length)/2, float64(halved.length), 2)

	var out, err bytes.Buffer
	few := &philly{file: excerpt(t, 2, 400), gpus: 32}
	require.ErrorContains(t, few.load(newSession("philly", &out, &err)), "too few for the largest jobs")
}

func loaded(t *testing.T, file string, change func(*philly)) *philly {
	t.Helper()
	b := &philly{file: file, gpus: 200, compress: 1}
	change(b)
	var out, err bytes.Buffer
	require.NoError(t, b.load(newSession("philly", &out, &err)))
	return b
}

// A virtual cluster that is worse off is named, with by how much.
func TestPhillyVerdict(t *testing.T) {
	minute := func(n int) berth.Time { return berth.Time(0).Add(berth.Duration(n) * berth.Minute) }
	jobs := func(ends ...int) *phillyRun {
		r := &phillyRun{policy: &phillyPolicy{name: phillyOwn}}
		for _, end := range ends {
			r.jobs = append(r.jobs, &life.Job{Queue: "v", GPUs: 1, Runtime: 10 * berth.Minute, Ended: minute(end)})
		}
		return r
	}
	b := &philly{tolerance: 5 * time.Minute, policies: []phillyPolicy{{name: phillyOwn}}, shares: []life.Share{{Queue: "v"}}}
	var out, err bytes.Buffer
	s := newSession("philly", &out, &err)
	require.NoError(t, b.verdict(s, [][]*phillyRun{{jobs(10, 20), jobs(12, 20)}}))
	require.NoError(t, b.verdict(s, [][]*phillyRun{{jobs(14, 24), jobs(10, 20)}}), "within the tolerance")
	require.ErrorContains(t, b.verdict(s, [][]*phillyRun{{jobs(16, 26), jobs(10, 20)}}),
		"berth: v is delayed by 11.0 min on average and 16.0 min at the 99th percentile, in private by 5.0 and 10.0")
	require.ErrorContains(t, b.verdict(s, [][]*phillyRun{{jobs(10, 10, 10, 10, 30), jobs(10, 10, 10, 10, 10)}}), "at the 99th percentile")
}

// The index is 100 if all have what they are entitled to, whatever that is.
func TestPhillyFairness(t *testing.T) {
	b := loaded(t, excerpt(t, 3, 200), func(*philly) {})
	slots := func(held ...float64) *phillyRun {
		r := &phillyRun{gpus: b.fleet.gpus()}
		for range 24 {
			s := life.Slot{}
			for _, h := range held {
				s.Queues = append(s.Queues, life.QueueSlot{Held: h, Wanted: 10})
			}
			r.slots = append(r.slots, s)
		}
		return r
	}
	require.InDelta(t, 100, b.fairness(slots(10, 10, 10, 10)), 1e-9)
	require.InDelta(t, 25, b.fairness(slots(10, 0, 0, 0)), 1e-9)
}
