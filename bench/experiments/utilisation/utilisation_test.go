package utilisation

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/study/studytest"
	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/berthtest/check"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/mig"
)

// told is a day of pods with 10 GiB, given what each does in thousandths.
func told(active ...[]int16) *workload.ServiceDay {
	d := &workload.ServiceDay{Step: workload.GenAIStep, Execution: []berth.Duration{10 * berth.Second, 20 * berth.Second}}
	for i, list := range active {
		d.Samples = max(d.Samples, len(list))
		d.Pods = append(d.Pods, workload.ServicePod{ID: string(rune('a' + i)), Active: list, MemoryMiB: 10 << 10})
	}
	return d
}

func made(t *testing.T, told *workload.ServiceDay) *day {
	d, err := newDay(told)
	require.NoError(t, err)
	return d
}

// drawn is a small day, and a switch of 30 s in it.
func drawn(t *testing.T) (*day, setting) {
	return made(t, draw(1, 12, 150)), setting{change: 30 * berth.Second, roomMiB: 48 << 10, borrowerMiB: 32 << 10}
}

// A short gap goes on as the sample before it, and a long one makes two pods.
func TestDay(t *testing.T) {
	list := []int16{-1, 0, 0, 500, -1, 250, 0}
	for range longestGap + 1 {
		list = append(list, -1)
	}
	service := told(append(list, 1), []int16{1})
	service.Pods[0].Requests = []workload.ServiceRequest{{Sample: 4, Count: 1}, {Sample: 18, Count: 2}}
	d := made(t, service)
	require.Len(t, d.pods, 3)
	b, a, again := d.pods[0], d.pods[1], d.pods[2]
	require.Equal(t, "b", b.id)
	require.Equal(t, pod{"a", 10 << 10, 1, 7, []int16{0, 0, 500, 500, 250, 0}, []stretch{{1, 3, false}, {3, 6, true}, {6, 7, false}}, service.Pods[0].Requests[:1]}, *a)
	require.Equal(t, pod{"a-18", 10 << 10, 18, 19, []int16{1}, []stretch{{18, 19, true}}, service.Pods[0].Requests[1:]}, *again)
	require.Equal(t, []int{1, 7, 1}, []int{d.gpus, d.told, d.filled})
	worked, held := d.worked()
	require.Equal(t, 8*d.step, held)
	require.Equal(t, (500+500+250+1+1)*d.step/1000, worked)
	edge := append(append([]int16{1}, slices.Repeat([]int16{-1}, longestGap)...), 1)
	require.Len(t, made(t, told(edge)).pods, 1)
	_, err := newDay(&workload.ServiceDay{})
	require.Error(t, err)
}

// An idle stretch brings its length less the switch: with hindsight all of it, by a rule what is
// left after the wait. A loan that goes on at the end of the day has paid half of it.
func TestLoansByHand(t *testing.T) {
	d := made(t, told([]int16{0, 0, 0, 9, 0, 500, 500, 0, 0}))
	s := setting{roomMiB: 10 << 10}
	for _, c := range []struct {
		change, bound, atOnce, minute berth.Duration
		longer                        int
	}{
		// Stretches of 171, 57 and, at the end, 114 s; after a minute 111, none and 54 s are
		// left.
		{30, (171 - 30) + (57 - 30) + (114 - 15), (171 - 30) + (57 - 30) + (114 - 15), (111 - 30) + (54 - 15), 3},
		{60, (171 - 60) + (114 - 30), (171 - 60) + (57 - 60) + (114 - 30), (111 - 60) + (54 - 30), 2},
		{120, (171 - 120) + (114 - 60), (171 - 120) + (-60) + (114 - 60), (111 - 120) + 0, 2},
	} {
		s.change = c.change * berth.Second
		bound, atOnce, minute := d.bound(s), d.lend(s, after(0)), d.lend(s, after(berth.Minute))
		require.Equal(t, c.bound*berth.Second, bound.used, "%d", c.change)
		require.Equal(t, c.longer, bound.loans)
		require.Equal(t, c.atOnce*berth.Second, atOnce.used, "%d", c.change)
		require.Equal(t, []int{3, 2, 2}, []int{atOnce.loans, atOnce.givenBack, atOnce.inTime})
		require.Equal(t, c.minute*berth.Second, minute.used, "%d", c.change)
		require.Equal(t, 2, minute.loans)
		require.InDelta(t, 100*(float64(c.bound)+57*1.009)/(9*57), bound.useful(d), 1e-9)
	}
	back := s.change / 2
	require.Equal(t, []delay{{d.at(3), d.at(3).Add(back)}, {d.at(5), d.at(5).Add(back)}}, d.lend(s, after(0)).delays[d.pods[0]])
	s.sampled = true
	require.Equal(t, []delay{{d.at(3), d.at(4).Add(back)}}, d.lend(s, after(0)).delays[d.pods[0]], "one sample was too short")
	s.roomMiB--
	require.Zero(t, d.bound(s).loans, "no room for a borrower")
	require.Zero(t, d.lend(s, after(0)).loans)
}

// A loan without a checkpoint is lost, but for what it cost.
func TestLostLoan(t *testing.T) {
	b := &book{}
	b.lent(100, 10, 5, 90)
	require.Equal(t, []berth.Duration{-5, 90, 15}, []berth.Duration{b.used, b.lost, b.switching})
}

// A rule is told of the last idle stretches, in order.
func TestRulesRemember(t *testing.T) {
	var list []int16
	var want []berth.Duration
	for n := range remembered + 5 {
		list = append(append(list, make([]int16, n+1)...), 1)
		want = append(want, berth.Duration(n+1)*workload.GenAIStep)
	}
	var last []berth.Duration
	made(t, told(list)).lend(setting{}, func(past []berth.Duration) berth.Duration {
		last = slices.Clone(past)
		return 0
	})
	require.Equal(t, want[4:len(want)-1], last)
}

func TestLearnedRules(t *testing.T) {
	const s, m = berth.Second, berth.Minute
	rule := middle(30*s, m)
	require.Equal(t, m, rule([]berth.Duration{200 * s, 200 * s}), "too few to know")
	require.Zero(t, rule([]berth.Duration{57 * s, 120 * s, 500 * s}))
	require.Equal(t, m, rule([]berth.Duration{500 * s, 119 * s, 57 * s}))

	rule = paid(30*s, 2*m, m)
	require.Equal(t, m, rule([]berth.Duration{200 * s, 200 * s}))
	require.Zero(t, rule([]berth.Duration{600 * s, 600 * s, 57 * s}))
	require.Equal(t, 57*s, rule([]berth.Duration{57 * s, 57 * s, 57 * s, 57 * s, 600 * s, 600 * s}), "four give-backs less")
	require.Equal(t, 114*s, rule([]berth.Duration{57 * s, 57 * s, 114 * s}), "none of them was worth it")
}

// The parts of the GPU time add up to all of it, and no rule beats the bound.
func TestSumsBalance(t *testing.T) {
	d, s := drawn(t)
	for _, s.change = range []berth.Duration{5 * berth.Second, 30 * berth.Second, 2 * berth.Minute} {
		for _, s.roomMiB = range []int64{24 << 10, 48 << 10} {
			for _, wait := range []berth.Duration{0, berth.Minute, 10 * berth.Minute} {
				sum := berth.Duration(0)
				parts := d.parts(s, wait)
				for _, p := range parts {
					sum += p.time
				}
				require.Equal(t, d.total(d.gpus), sum)
				require.LessOrEqual(t, parts[1].time, d.bound(s).used)
			}
		}
	}
}

// The first request of a busy stretch waits for the GPU, and others until it is there; a stretch
// without a request counts as one.
func TestRequests(t *testing.T) {
	service := told([]int16{0, 0, 100, 100, 100, 0, 0, 100, 0, 0, 0})
	service.Pods[0].Requests = []workload.ServiceRequest{{Sample: 2, Count: 3, Queued: 7}, {Sample: 3, Count: 1}, {Sample: 5, Count: 1}, {Sample: 10, Count: 1}}
	d := made(t, service)
	p := d.pods[0]
	a := &addition{delays: map[*pod][]delay{p: {{d.at(2), d.at(3) + 5}, {d.at(7), d.at(7) + 9}}}}
	require.Equal(t, []request{
		{1, 7, d.step + 5, 1},
		{2, 7, d.step + 5, 1}, // of the same sample
		{1, 0, 5, 1},
		{1, 0, 0, 1},
		{1, 0, 0, 1}, // of no stretch
		{1, 0, 9, 1}, // of the stretch without one
	}, d.requests(a))
}

// The p99 is that of all sums of what is added and an execution time, each as likely as another.
func TestP99(t *testing.T) {
	service := draw(3, 4, 60)
	d := made(t, service)
	s := setting{change: 10 * berth.Minute, roomMiB: 48 << 10}
	a := &d.lend(s, after(0)).addition
	a.slow = func(_ *pod, sample int) float64 { return 1 + float64(sample%3)/4 }
	for _, part := range []float64{1, 0.5} {
		var all []float64
		requests := d.requests(a)
		for _, r := range requests {
			for range r.count {
				for _, e := range service.Execution {
					all = append(all, float64(r.queued)+part*float64(r.waits)+r.slow*float64(e))
				}
			}
		}
		slices.Sort(all)
		require.InDelta(t, all[(99*len(all)+99)/100-1], d.p99(requests, part), 2)
	}
}

// Pods that share a GPU slow each other down, and those with an instance have its SMs.
func TestSpace(t *testing.T) {
	service := told([]int16{200, 0, 0}, []int16{100, 100, -1}, []int16{-1, -1, 300}, []int16{1, 1, 1})
	service.Pods[3].MemoryMiB = 70 << 10
	d := made(t, service)
	packed := d.arrange(func() room { return &byMemory{productMiB, productMiB} })
	require.Equal(t, []int{2, 6}, []int{packed.gpus, int(packed.held / d.step)})
	byID := map[string]*pod{}
	for _, p := range d.pods {
		byID[p.id] = p
	}
	slow := packed.slowed(d)
	require.InDelta(t, 1.1, slow(byID["a"], 0), 1e-9)
	require.InDelta(t, 1.2, slow(byID["b"], 0), 1e-9)
	require.InDelta(t, 1.3, slow(byID["a"], 2), 1e-9)
	require.InDelta(t, 1, slow(byID["d"], 0), 1e-9, "it is alone")

	known, ok := mig.Lookup(product)
	require.True(t, ok)
	lattice, err := mig.NewLattice(known)
	require.NoError(t, err)
	divide := func() room { return &divided{lattice: lattice, places: map[*pod]mig.Placement{}} }
	require.Equal(t, 2, d.arrange(divide).gpus, "one is a whole GPU")
	profile, ok := known.Profile(mig.ProfileName{ComputeSlices: 1, MemoryGB: 20})
	require.True(t, ok)
	require.InDelta(t, float64(known.GPUSMs)/float64(profile.SMs), instances(lattice)(byID["a"], 0), 1e-9, "10 GiB are more than a 1g.10gb has")
	require.InDelta(t, 1, instances(lattice)(byID["d"], 0), 0.01, "all of the SMs")
	service.Pods[0].MemoryMiB = productMiB + 1
	require.Equal(t, 3, made(t, service).arrange(divide).gpus, "one is not divided")
}

// The core without lending uses the GPUs that no pod has, as the books without it do.
func TestCoreWithoutLending(t *testing.T) {
	d, s := drawn(t)
	b, err := d.play(s, never)
	require.NoError(t, err)
	require.Zero(t, b.loans)
	require.InDelta(t, d.background(s.change).useful(d), b.useful(d), 0.2)
	require.InDelta(t, 100, percent(b.allocated, d.total(d.gpus)), 0.2)
}

// The core lends and gives back as its rule says, and each GPU within its span; the checker finds
// nothing wrong with it.
func TestCoreLends(t *testing.T) {
	d, s := drawn(t)
	s.checker = func(c berth.Config) sim.Checker { return check.New(c) }
	for _, wait := range []struct{ told, rule berth.Duration }{{berth.Minute, berth.Minute}, {berth.Off, 0}, {3 * berth.Minute, 3 * berth.Minute}} {
		b, err := d.play(s, wait.told)
		require.NoError(t, err)
		alone := d.lend(s, after(wait.rule))
		require.Greater(t, b.loans, 50)
		require.InDelta(t, alone.loans, b.loans, 2)
		require.InDelta(t, alone.useful(d), b.useful(d), 0.3)
		require.Equal(t, b.givenBack, b.inTime)
		require.InDelta(t, alone.givenBack, b.givenBack, 2)
		require.Zero(t, b.lost)
		require.LessOrEqual(t, b.used, d.bound(s).used)
		require.Equal(t, s.change/2, b.podWait, "a batch job writes a checkpoint and leaves")
		require.InDelta(t, d.p99(d.requests(&alone.addition), 1), d.p99(d.requests(&b.addition), 1), 500)
		require.InDelta(t, 100, percent(b.allocated, d.total(d.gpus)), 0.2)
	}
	s.roomMiB, s.borrowerMiB = 20<<10, 60<<10
	b, err := d.play(s, berth.Minute)
	require.NoError(t, err)
	require.Equal(t, d.lend(s, after(berth.Minute)).loans, b.loans, "where there is room alone")
	s.roomMiB, s.borrowerMiB, s.unasked = 48<<10, 32<<10, berth.Minute
	b, err = d.play(s, berth.Minute)
	require.NoError(t, err)
	require.Positive(t, b.lost)
	require.Less(t, b.lost, berth.Duration(b.loans)*berth.Minute)
	require.Equal(t, d.p99(d.requests(&addition{}), 1), d.p99(d.requests(&b.addition), 1), "borrowers leave at once")
}

func few() Options {
	o := Defaults()
	o.Pods, o.Hours, o.Switches = 8, 2, []int{30, 60}
	return o
}

func TestUtilisation(t *testing.T) {
	o := few()
	o.HTML = filepath.Join(t.TempDir(), "page.html")
	out, err := studytest.Tell(Run, o)
	require.NoError(t, err)
	for _, text := range []string{
		"A drawn day, as there is no -dir.", "Assumed", "Sharing space alone", "A switch of 30 s, on 8 GPUs", "A switch of 60 s", "hindsight: the bound",
		"berth, lent after a minute", "What bounds it", "With a switch of 30 s berth comes to",
	} {
		require.Contains(t, out, text)
	}
	page, err := os.ReadFile(o.HTML)
	require.NoError(t, err)
	require.Contains(t, string(page), "Useful use against the p99")
	studytest.Repeats(t, Run, o, out)

	o.JSON, o.HTML = true, ""
	out, _ = studytest.Tell(Run, o)
	tables := studytest.Tables(t, out)
	require.Len(t, tables, 1+2+2)
	require.Len(t, tables[1].Rows, len(lines()))
}

func TestOptions(t *testing.T) {
	studytest.Refuses(t, Run, few(),
		func(o *Options) { o.Pods = 0 },
		func(o *Options) { o.Hours = 0 },
		func(o *Options) { o.Switches = nil },
		func(o *Options) { o.Switches = []int{0} },
		func(o *Options) { o.BorrowerMiB = productMiB },
	)
	o := few()
	o.Dir = t.TempDir()
	_, err := studytest.Tell(Run, o)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, workload.GenAIDuty)
}

// On the published day hindsight comes to 74, 71, 67 and 61 percent of useful use, and the core
// to 63.8 at a switch of 30 s.
func TestPublished(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "..", "shared", "data", "traces", "alibaba-v2026-genai")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the trace is not beside this checkout: ", err)
	}
	service, err := workload.GenAI(dir)
	require.NoError(t, err)
	d := made(t, service)
	b := &experiment{Options: Defaults()}
	for seconds, most := range map[int]float64{5: 74.1, 30: 70.7, 60: 66.6, 120: 61.2} {
		require.InDelta(t, most, d.bound(b.setting(seconds)).useful(d), 0.1, "%d s", seconds)
	}
	s := b.setting(30)
	s.unasked = 0
	lent, err := d.play(s, berth.Minute)
	require.NoError(t, err)
	require.InDelta(t, 63.8, lent.useful(d), 0.1)
	require.Equal(t, lent.givenBack, lent.inTime)
}
