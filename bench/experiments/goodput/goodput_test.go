package goodput

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/bench/study/studytest"
	"github.com/berth-sched/berth/berthtest/check"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/drawn"
)

func TestOptions(t *testing.T) {
	studytest.Refuses(t, Run, Defaults(),
		func(o *Options) { o.Nodes = 31 },
		func(o *Options) { o.Beside = 3 },
		func(o *Options) { o.Days = 0 },
		func(o *Options) { o.Seeds = 1 },
		func(o *Options) { o.SparesMilli = 0 },
		func(o *Options) { o.SparesMilli = 30 },
		func(o *Options) { o.Interruptions = -1 },
		func(o *Options) { o.Interruptions = math.NaN() },
	)
}

// smallOptions are a gang of 32 nodes that meets as much in a day as a large one in weeks.
func smallOptions() Options {
	o := Defaults()
	o.Nodes, o.Beside, o.SparesMilli, o.Days, o.Interruptions, o.Seeds = 32, 8, 30, 1, 2000, 2
	return o
}

func smallExperiment(t *testing.T, o Options) *experiment {
	g, err := newExperiment(o)
	require.NoError(t, err)
	return g
}

// What is published adds up, and as much is drawn, besides relapses.
func TestGoodputFaults(t *testing.T) {
	published := 0
	for i := range causes {
		c := &causes[i]
		published += c.count
		if c.xid != 0 {
			require.Equal(t, berth.XidCondemns, berth.LookupXid(c.xid).Effect, c.name)
		}
	}
	require.Equal(t, 419, published)
	g := smallExperiment(t, Defaults())
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
			case causes[f.cause].what == aProcess:
				processes++
			case f.node < g.Nodes: // as if the gang were there
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
	g := smallExperiment(t, smallOptions())
	r, err := g.newRun(&g.lines[linePreempt], 1, nil)
	require.NoError(t, err)
	const start = gangStarts + gangWarms
	const cycle = checkpointEvery + checkpointPause
	first := berth.Time(start + 10*cycle + 15*berth.Second) // the tenth copy is not safe yet
	second := berth.Time(6*berth.Hour + 700*berth.Second)   // see below
	node := r.gang.firstNode(t, r)
	require.NoError(t, r.play([]fault{
		{at: first, cause: causeNamed(t, "faulty GPU"), node: node, gpu: 3, repairs: []repair{{takes: berth.Hour}}},
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
func (t *gang) firstNode(test *testing.T, r *run) int {
	require.NoError(test, r.sim.Run(0))
	return t.at[0]
}

func causeNamed(t *testing.T, name string) int {
	for i := range causes {
		if causes[i].name == name {
			return i
		}
	}
	t.Fatalf("no cause %q", name)
	return 0
}

// A watched core is compared with the checker's world after every call.
type watched struct {
	*check.Checker
	core  *core.Core
	steps int
}

func (w *watched) Applied(now berth.Time, e berth.Event) error {
	return w.compare(w.Checker.Applied(now, e))
}

func (w *watched) Scheduled(now berth.Time, actions []berth.Order) error {
	return w.compare(w.Checker.Scheduled(now, actions))
}

func (w *watched) compare(err error) error {
	if w.core == nil { // it is still being made
		return err
	}
	if err = errors.Join(err, w.AgainstReport(w.core.Report()), w.Outstanding(w.core.Outstanding())); err != nil {
		return err
	}
	if w.steps++; w.steps%50 == 0 {
		return w.core.Check()
	}
	return nil
}

// Every line, watched by the independent checker.
func TestGoodputChecked(t *testing.T) {
	g := smallExperiment(t, smallOptions())
	g.Interruptions = 1000
	for l := range g.lines {
		line := &g.lines[l]
		w := &watched{Checker: check.New(g.config(line))}
		r, err := g.newRun(line, 1, w)
		require.NoError(t, err)
		w.core = r.core
		err = r.play(g.faults(1))
		require.NoError(t, err, line.name)
		require.Positive(t, r.count.interruptions, line.name)
		require.Positive(t, r.small.done, line.name)
		require.Equal(t, line.drain, len(r.averted) > 0, line.name)
	}
}

// What the program prints, and that it is the same every time.
func TestGoodput(t *testing.T) {
	o := smallOptions()
	o.Days, o.Interruptions = 2, 100
	o.HTML = filepath.Join(t.TempDir(), "goodput.html")
	out, err := studytest.Tell(Run, o)
	require.NoError(t, err)
	for _, text := range []string{"faulty GPU", "effective %", "What each mechanism contributes"} {
		require.Contains(t, out, text)
	}
	studytest.Repeats(t, Run, o, out)
	html, err := os.ReadFile(o.HTML)
	require.NoError(t, err)
	g := smallExperiment(t, o)
	require.Equal(t, 1, strings.Count(string(html), "<svg"))
	require.Equal(t, len(g.lines), strings.Count(string(html), ", detection: "), "a bar for each line")

	o.HTML, o.Format = "", study.CSV
	out, _ = studytest.Tell(Run, o)
	records := studytest.Records(t, out)
	require.Len(t, records, 1+len(g.lines)*(len(times)+len(others)))
	for first := 1; first < len(records); first += len(times) + len(others) {
		total := 0.0
		for _, record := range records[first:][:len(times)] {
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
	g := smallExperiment(t, smallOptions())
	p := study.Output{}.To(io.Discard)
	runs := make([][]*run, len(g.lines))
	for l := range runs {
		for range 2 {
			runs[l] = append(runs[l], &run{until: 1000, gang: gang{training: training{useful: 971}}})
		}
	}
	g.lines[linePreempt].spared = true
	require.NoError(t, g.Verdict(p, runs))
	runs[linePreempt][0].gang.useful = 950
	require.ErrorContains(t, g.Verdict(p, runs), "preempt: 96.05")
}

// Two leaves of 32 hold four pipelines. A node elsewhere in the place of one of theirs splits a
// pipeline, and a second one of the same leaf no other.
func TestGoodputPlaces(t *testing.T) {
	var p places
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
