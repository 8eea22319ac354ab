package fairness

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/machine"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/bench/study/studytest"
)

// small is a fleet that shows the effect in a day, without large jobs and reservations.
func small() Options {
	o := Defaults()
	o.Nodes, o.Days, o.Seeds, o.Largest, o.Reserved = 8, 1, 20, 8, -1
	return o
}

func TestOptions(t *testing.T) {
	studytest.Refuses(t, Run, Defaults(),
		func(o *Options) { o.Nodes = 7 },
		func(o *Options) { o.Days = 0 },
		func(o *Options) { o.Seeds = 1 },
		func(o *Options) { o.HalfLife = time.Second },
		func(o *Options) { o.Largest = 65 },
		func(o *Options) { o.Reserved = -2 },
	)
}

// A small fleet for a day: the night's tenant is put back beyond the noise, which the
// error tells, and the same seeds give the same tables, on however many processors.
func TestFairness(t *testing.T) {
	o := small()
	o.HTML = filepath.Join(t.TempDir(), "fairness.html")
	out, err := studytest.Tell(Run, o)
	require.NoError(t, err)
	for _, text := range []string{"no half-life", "half-life 24h", "Jain", "wait p99", "changes the share of sweeps by -"} {
		require.Contains(t, out, text)
	}
	studytest.Repeats(t, Run, o, out)
	html, err := os.ReadFile(o.HTML)
	require.NoError(t, err)
	require.Equal(t, len(teams)*2, strings.Count(string(html), "<svg"))
	o.HTML = filepath.Join(o.HTML, "no")
	_, err = studytest.Tell(Run, o)
	require.ErrorContains(t, err, o.HTML)
}

// Nobody is entitled to more than it wants, nor all to more than there is; where there is enough,
// all are entitled to what they want.
func TestEntitlements(t *testing.T) {
	b := smallWeek(t)
	runs, err := b.Play(context.Background())
	require.NoError(t, err)
	gpus := b.gpus() * int64(study.Slot)
	for p, name := range b.names {
		r := runs[p][0]
		for slot := range r.teams[0].had {
			had, entitled, wanted := int64(0), int64(0), int64(0)
			for team := range r.teams {
				f := &r.teams[team]
				require.LessOrEqual(t, f.entitled[slot], f.wanted[slot], name)
				had, entitled, wanted = had+f.had[slot], entitled+f.entitled[slot], wanted+f.wanted[slot]
			}
			require.LessOrEqual(t, had, gpus, name)
			require.LessOrEqual(t, entitled, gpus, name)
			if wanted <= gpus {
				require.InDelta(t, wanted, entitled, float64(study.Slot), name)
			}
		}
	}
}

// smallWeek is one of two days on eight nodes.
func smallWeek(t *testing.T) *experiment {
	o := small()
	o.Days, o.Seeds, o.Seed, o.HalfLife = 2, 2, 0, 36*time.Hour
	b := newExperiment(o)
	require.Equal(t, "half-life 36h", b.names[withPast])
	return b
}

// The verdict names what is wrong.
func TestFairnessVerdict(t *testing.T) {
	b := smallWeek(t)
	p := study.Output{}.To(io.Discard)
	runs, err := b.Play(context.Background())
	require.NoError(t, err)
	runs[withPast] = runs[withoutPast]
	require.Contains(t, strings.Join(b.Verdict(p, runs), "; "), "the past does not put sweeps back in the morning: 0.00")

	for _, r := range runs[withoutPast] {
		r.teams[1].lacked = r.teams[1].due
		for team := range r.teams {
			clear(r.teams[team].entitled)
		}
	}
	wrong := b.Verdict(p, runs)
	require.Contains(t, wrong, "no half-life: speech is short of 100 % of its guarantee while it wants it")
	require.Contains(t, wrong, "half-life 36h: in the morning only 0 % of the fleet is wanted")
}

// The books of a few orders, worked out by hand. The guarantees are 3, 7 and 10 of 64.
func TestFairBooks(t *testing.T) {
	b := smallWeek(t)
	r, err := b.newRun(berth.Policy{})
	require.NoError(t, err)
	require.Equal(t, [...]int64{3, 7, 10}, r.guarantees)
	require.InDelta(t, 64, b.evenPart(0)+b.evenPart(1)+b.evenPart(2), 1e-9)

	const minute = berth.Time(berth.Minute)
	monday := berth.Time(berth.Day)
	submit := func(at berth.Time, id berth.JobID, team string, gpus int) {
		r.applied(at, berth.JobSubmitted{Job: berth.Job{ID: id, Queue: berth.QueueID(team), Groups: []berth.Group{machine.Gang(gpus)}}}, nil)
	}
	members := func(nodes int) []berth.MemberPlacement {
		list := make([]berth.MemberPlacement, nodes)
		for i := range list {
			list[i].GPUs = 1<<machine.NodeGPUs - 1
		}
		return list
	}
	// Sweeps has 56 GPUs from the day before, and vision wants 16 from Monday on.
	submit(monday-10*minute, "a", "sweeps", 56)
	r.scheduled(monday-10*minute, []berth.Order{berth.Bind{OrderHeader: berth.OrderHeader{ID: 1, Job: "a"}, Members: members(7)}})
	submit(monday, "b", "vision", 16)
	require.Equal(t, [...]int64{16, 0, 48}, r.entitled, "3 and 10 guaranteed and the other 51 by 1 to 3 are 15.75 and 48.25")

	// At 00:10 sweeps is to give 16 back, which it has done at 00:20; then vision runs.
	r.scheduled(monday+10*minute, []berth.Order{berth.Release{OrderHeader: berth.OrderHeader{ID: 2, Job: "a"}, Members: members(2)}})
	r.applied(monday+20*minute, berth.OrderReported{Order: 2, Outcome: berth.OutcomeDone}, nil)
	r.scheduled(monday+20*minute, []berth.Order{berth.Bind{OrderHeader: berth.OrderHeader{ID: 3, Job: "b"}, Members: members(2)}})
	r.applied(monday+30*minute, berth.JobFinished{Job: "b"}, nil)
	r.advance(monday + 45*minute)
	require.NoError(t, r.broken)

	gpuMinutes := func(list []int64) []int64 {
		for i := range list {
			list[i] /= int64(berth.Minute)
		}
		return list[:4]
	}
	vision, sweeps := &r.teams[0], &r.teams[night]
	require.Equal(t, []int64{0, 16 * 10, 0, 0}, gpuMinutes(vision.had))
	require.Equal(t, []int64{16 * 15, 16 * 15, 0, 0}, gpuMinutes(vision.wanted))
	require.Equal(t, []int64{3 * 15, 3 * 5, 0, 0}, gpuMinutes(vision.lacked))
	require.Equal(t, []int64{56 * 15, 56*5 + 40*10, 40 * 15, 0}, gpuMinutes(sweeps.had))
	require.Equal(t, int64(56*30+40*25), r.allocated[night]/int64(berth.Minute))
	require.Equal(t, []berth.Duration{20 * berth.Minute}, vision.waits)
	require.Empty(t, sweeps.waits, "the day before does not count")

	require.ErrorContains(t, r.audit(), "by the core's ledger", "the core was told nothing of this")
	submit(monday+45*minute, "c", "speech", 64)
	r.scheduled(monday+45*minute, []berth.Order{berth.Bind{OrderHeader: berth.OrderHeader{ID: 4, Job: "c"}, Members: members(8)}})
	require.ErrorContains(t, r.audit(), "all 104 of 64")
}

func TestSpanName(t *testing.T) {
	for d, name := range map[time.Duration]string{
		24 * time.Hour: "24h", 90 * time.Minute: "1h30m", 20 * time.Minute: "20m", 90 * time.Second: "1m30s", 10 * time.Hour: "10h",
	} {
		require.Equal(t, name, spanName(d))
	}
}

// Mornings are those of Monday to Friday, of any number of weeks.
func TestMornings(t *testing.T) {
	r := &run{b: &experiment{Options: Options{Days: 9}}}
	series := make([]int64, 9*slotsPerDay)
	for slot := range series {
		series[slot] = int64(slot / slotsPerDay * 100)
		if hour := slot % slotsPerDay / 4; hour >= 9 && hour < 12 {
			series[slot]++
		}
	}
	total, slots := r.morning(series)
	require.Equal(t, 7*12, slots)
	require.InDelta(t, 12*(7+100*(0+1+2+3+4+7+8)), total, 0)
}
