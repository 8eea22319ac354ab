package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/check"
	"github.com/berth-sched/berth/internal/drawn"
)

func TestGoodputUsage(t *testing.T) {
	for _, args := range [][]string{
		{"-nodes", "31"},
		{"-beside", "3"},
		{"-days", "0"},
		{"-seeds", "1"},
		{"-spares", "0"},
		{"-spares", "30"},
		{"-interruptions", "-1"},
		{"-interruptions", "NaN"},
	} {
		status, out, _ := call(append([]string{"goodput"}, args...)...)
		require.Equal(t, 2, status, args)
		require.Empty(t, out, args)
	}
	status, _, help := call("goodput", "-h")
	require.Zero(t, status)
	require.Contains(t, help, "does not")
	require.Contains(t, help, "-interruptions")
}

// smallGoodput is a gang of 32 nodes that meets as much in a day as a large one in weeks.
func smallGoodput(t *testing.T) *goodput {
	g := &goodput{nodes: 32, beside: 8, sparesMil: 30, days: 1, perRun: 2000, seeds: 2, seed: 1}
	require.NoError(t, g.configure(nil))
	return g
}

// What is published adds up, and as much is drawn, besides relapses.
func TestGoodputFaults(t *testing.T) {
	published := 0
	for i := range goodputCauses {
		c := &goodputCauses[i]
		published += c.count
		if c.xid != 0 {
			require.Equal(t, berth.XidCondemns, berth.LookupXid(c.xid).Effect, c.name)
		}
	}
	require.Equal(t, 419, published)
	g := &goodput{nodes: 2048, beside: 64, days: 54, perRun: 419}
	hit, processes, announced, harmless := 0.0, 0, 0, 0
	const seeds = 100
	for seed := range seeds {
		last := berth.Time(0)
		for _, f := range g.faults(uint64(seed)) {
			require.LessOrEqual(t, last, f.at)
			last = f.at
			switch {
			case f.harmless:
				harmless++
			case goodputCauses[f.cause].what == aProcess:
				processes++
			case f.node < g.nodes: // as if the gang were there
				hit++
			}
			if f.warning > 0 && !f.harmless {
				announced++
			}
			for step, r := range f.repairs {
				require.Equal(t, step+1 < len(f.repairs), r.relapse > 0, "a relapse has a repair of its own")
			}
		}
	}
	require.InDelta(t, 419, (hit+float64(processes))/seeds, 4)
	require.InDelta(t, 63, float64(processes)/seeds, 1e-9)
	require.InDelta(t, 0.25, float64(harmless)/float64(announced), 0.02)
}

// A stretch of training by simulating it, a step of half a second at a time.
func slowStretch(span berth.Duration) stretch {
	const tick = 500 * berth.Millisecond
	var s stretch
	var copies []berth.Duration // when they were complete
	sinceCopy := berth.Duration(0)
	for at := berth.Duration(0); at < span; at += tick {
		if sinceCopy == checkpointEvery {
			s.paused += tick
			copies = append(copies, at+tick)
			sinceCopy = 0
			continue
		}
		s.steps += tick
		sinceCopy += tick
	}
	for _, at := range copies {
		if at+checkpointSafe <= span {
			s.safe += checkpointEvery
		}
	}
	return s
}

func TestGoodputStretch(t *testing.T) {
	require.Equal(t, stretch{}, stretchOf(0))
	require.Equal(t, stretch{steps: 120_000, paused: 500}, stretchOf(120_500))
	require.Equal(t, stretch{steps: 149_500, paused: 500}, stretchOf(150_000))
	require.Equal(t, stretch{steps: 150_000, safe: 120_000, paused: 500}, stretchOf(150_500))
	drawn.Check(t, func(t *rapid.T) {
		span := berth.Duration(rapid.IntRange(0, 4000).Draw(t, "ticks")) * 500
		require.Equal(t, slowStretch(span), stretchOf(span))
	})
}

// The books of a course made by hand: a node fails, and the background gives one back; then
// a process dies; then the run ends.
func TestGoodputBooks(t *testing.T) {
	g := smallGoodput(t)
	r, err := g.newRun(&g.lines[goodputYield], 1, goodputWatch{})
	require.NoError(t, err)
	const start = gangStarts + gangWarms
	const cycle = checkpointEvery + checkpointPause
	first := berth.Time(start + 10*cycle + 15*berth.Second) // the tenth copy is not safe yet
	second := berth.Time(6*berth.Hour + 700*berth.Second)   // see below
	node := r.gang.firstNode(t, r)
	require.NoError(t, r.play([]goodputFault{
		{at: first, cause: causeNamed(t, "faulty GPU"), node: node, gpu: 3, repairs: []goodputRepair{{takes: berth.Hour}}},
		{at: second, cause: causeNamed(t, "software bug")},
	}))
	b := &r.gang.training
	require.Equal(t, 2, r.count.interruptions)
	require.Equal(t, 40*berth.Second, b.detection)
	require.Equal(t, 3, r.gang.places.starts)
	// Started thrice and stopped twice.
	require.Equal(t, 3*start+2*gangStops, b.restart)
	// A job of the background writes a checkpoint and stops; a member that failed waits for the
	// backoff.
	require.Equal(t, smallWrites+smallStops+5*berth.Second, b.waiting)
	resumed := first.Add(20*berth.Second + gangStops + smallWrites + smallStops + start)
	before := stretchOf(second.Sub(resumed))
	again := second.Add(20*berth.Second + gangStops + 5*berth.Second + start)
	last := stretchOf(r.until.Sub(again))
	require.Equal(t, 9*checkpointEvery+before.safe+last.steps, b.useful)
	require.Equal(t, checkpointEvery+15*berth.Second+before.steps-before.safe, b.rework)
	require.Equal(t, 10*checkpointPause+before.paused+last.paused, b.writing)
	require.Equal(t, berth.Day, b.booked())
	require.Zero(t, r.count.drains)
}

// firstNode runs the first pass, to know where the gang is.
func (t *goodputGang) firstNode(test *testing.T, r *goodputRun) int {
	r.settle()
	require.NoError(test, r.broken)
	return t.at[0]
}

func causeNamed(t *testing.T, name string) int {
	for i := range goodputCauses {
		if goodputCauses[i].name == name {
			return i
		}
	}
	t.Fatalf("no cause %q", name)
	return 0
}

// Every line, watched by the independent checker.
func TestGoodputChecked(t *testing.T) {
	g := smallGoodput(t)
	g.perRun = 1000
	for l := range g.lines {
		line := &g.lines[l]
		checker := check.New(g.config(line))
		steps := 0
		seen := func(r *goodputRun, err error) {
			if err = errors.Join(err, checker.Against(r.core.Report()), checker.Outstanding(r.core.Outstanding())); err != nil {
				r.fault(err)
			}
			if steps++; steps%50 == 0 {
				if err := r.core.Check(); err != nil {
					r.fault(err)
				}
			}
		}
		r, err := g.run(line, 1, goodputWatch{
			applied: func(r *goodputRun, e berth.Event, err error) {
				if err != nil {
					err = checker.Rejected(r.now, e, err)
				} else {
					err = checker.Applied(r.now, e)
				}
				seen(r, err)
			},
			scheduled: func(r *goodputRun, actions []berth.Action) { seen(r, checker.Scheduled(r.now, actions)) },
		})
		require.NoError(t, err, line.name)
		require.Positive(t, r.count.interruptions, line.name)
		require.Positive(t, r.small.done, line.name)
	}
}

// What the program prints, and that it is the same every time.
func TestGoodput(t *testing.T) {
	args := []string{"goodput", "-nodes", "32", "-beside", "8", "-days", "2", "-seeds", "2", "-spares", "30", "-interruptions", "100"}
	_, out, err := call(args...)
	require.Empty(t, err)
	for _, text := range []string{"faulty GPU", "effective %", "What each mechanism contributes"} {
		require.Contains(t, out, text)
	}
	page := filepath.Join(t.TempDir(), "goodput.html")
	_, again, _ := call(append(args, "-html", page)...)
	require.Equal(t, out, again)
	html, readErr := os.ReadFile(page)
	require.NoError(t, readErr)
	g := smallGoodput(t)
	require.Equal(t, len(g.lines), strings.Count(string(html), "<svg"))

	_, out, _ = call(append(args, "-csv")...)
	records, readErr := csv.NewReader(strings.NewReader(out)).ReadAll()
	require.NoError(t, readErr)
	require.Len(t, records, 1+len(g.lines)*(len(goodputTimes)+len(goodputOthers)))
	for first := 1; first < len(records); first += len(goodputTimes) + len(goodputOthers) {
		total := 0.0
		for _, record := range records[first:][:len(goodputTimes)] {
			share := 0.0
			_, err := fmt.Sscan(record[3], &share)
			require.NoError(t, err)
			total += share
		}
		require.InDelta(t, 100, total, 1e-9, records[first][1])
	}
}

// The verdict names the line that falls short.
func TestGoodputVerdict(t *testing.T) {
	g := smallGoodput(t)
	s := newSession("goodput", &strings.Builder{}, &strings.Builder{})
	runs := make([][]*goodputRun, len(g.lines))
	for l := range runs {
		for range 2 {
			runs[l] = append(runs[l], &goodputRun{until: 1000, gang: goodputGang{training: training{useful: 971}}})
		}
	}
	g.lines[goodputYield].spared = true
	require.NoError(t, g.verdict(s, runs))
	runs[goodputYield][0].gang.useful = 950
	require.ErrorContains(t, g.verdict(s, runs), "yield: 96.05")
}

// Two leaves of 32 hold four pipelines. A node elsewhere in the place of one of theirs splits a
// pipeline, and a second one of the same leaf no other.
func TestGoodputPlaces(t *testing.T) {
	var p goodputPlaces
	at := make([]int, 64)
	for i := range at {
		at[i] = i
	}
	p.note(0, at)
	require.Zero(t, p.split)
	at[5] = 2 * leafNodes // in the same pod
	p.note(1000, at)
	require.Equal(t, 1, p.split)
	at[6] = podNodes
	p.note(3000, at)
	require.Equal(t, 1, p.split, "of the same pipeline, if ranks are dealt out well")
	at[5], at[6] = 6, 5
	p.note(4000, at)
	require.Zero(t, p.split)
	at[5], at[6] = 5, 6
	p.note(4000, at)
	p.until(9000)
	require.Equal(t, 3000*berth.Millisecond, p.time)
	require.Equal(t, []int{2, 2, 2}, []int{p.sameLeaf, p.samePod, p.otherPod})
	require.Equal(t, 6, p.moved())
}
