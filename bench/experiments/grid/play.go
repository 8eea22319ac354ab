package grid

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/baseline"
	"github.com/berth-sched/berth/bench/life"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/berthtest/sim"
)

// A line is a scheduler that plays each cell.
type line struct {
	study.Line
	// knows run times exactly, whatever the cell tells.
	knows bool
}

func underPolicy(name string, p berth.Policy) line { return line{Line: study.Core(name, p)} }

func rival(name string, p baseline.Policy) line { return line{Line: study.Rival(name, p)} }

// mark is the line against which all are held.
const mark = "EASY"

// lines are the core as it comes first, then the rivals.
func lines() []line {
	exact := rival("EASY, exact", baseline.EASY{})
	exact.knows = true
	return []line{
		underPolicy("berth", berth.Policy{}), rival(mark, baseline.EASY{}), exact, rival("FIFO", baseline.FIFO{}), rival("greedy", baseline.Greedy{}),
	}
}

// knobs are policies of the core between which a default is chosen.
func knobs() []line {
	off := berth.Preemption{Mode: berth.PreemptionOff}
	return []line{
		underPolicy("in the order of submission", berth.Policy{Stretch: berth.Off}),
		underPolicy("run times are believed as told", berth.Policy{RuntimeSamples: berth.Off}),
		underPolicy("no reservations", berth.Policy{ReservedGangs: berth.Off}),
		underPolicy("4 reservations", berth.Policy{ReservedGangs: 4}),
		underPolicy("unsaved work is stopped", berth.Policy{Preemption: berth.Preemption{StopUnsaved: true}}),
		underPolicy("and guarantees are taken back at once", berth.Policy{Preemption: berth.Preemption{StopUnsaved: true, GuaranteeWithin: berth.Off}}),
		underPolicy("no preemption", berth.Policy{Preemption: off}),
	}
}

// figures of a run.
type figures struct {
	// delay is the mean of the delays of the jobs by their GPUs, in minutes, slowdown the mean of
	// the bounded slowdowns.
	delay, slowdown float64
	// large is the 99th percentile of the waits of the jobs of an eighth of the fleet and more, and
	// longest the longest wait of all, in minutes.
	large, longest float64
	// useful is what brought something of the GPU time until the last submission, and lost what
	// brought nothing of the demand, in percent.
	useful, lost float64
	// told and learned are the jobs that ran for half to twice as long as they told, or as the core
	// expected, in percent; of a rival they are not known.
	told, learned float64
}

// play plays a workload on a line.
func (l *line) play(c cell, w *life.Workload) (figures, error) {
	s, err := l.Make(berth.Config{Levels: levels(c)})
	if err != nil {
		return figures{}, err
	}
	if l.knows {
		w = exactly(w)
	}
	seen := life.Foresee(s)
	book, _, err := life.Play(seen, w, life.Options{})
	if err != nil {
		return figures{}, fmt.Errorf("%s, %s: %w", c.name(), l.Name, err)
	}
	f := figuresOf(book, w.Jobs[len(w.Jobs)-1].At)
	f.told, f.learned = seen.Shares()
	return f, nil
}

// exactly is a workload in which each job tells its run time.
func exactly(w *life.Workload) *life.Workload {
	told := *w
	told.Jobs = slices.Clone(w.Jobs)
	for i, a := range told.Jobs {
		e := a.Event.(berth.JobSubmitted)
		e.Job.ExpectedRuntime = a.Runtime
		told.Jobs[i] = sim.Arrival{At: a.At, Event: e, Runtime: a.Runtime}
	}
	return &told
}

func figuresOf(b *life.Book, until berth.Time) (f figures) {
	var gpus, work, slowdowns float64
	var large []float64
	for _, j := range b.Jobs {
		wait := float64(j.Wait()) / float64(berth.Minute)
		f.delay += float64(j.GPUs) * float64(j.Delay()) / float64(berth.Minute)
		gpus += float64(j.GPUs)
		work += float64(j.GPUs) * float64(j.Runtime) / float64(berth.Hour)
		slowdowns += j.Slowdown()
		f.longest = max(f.longest, wait)
		if j.GPUs >= b.GPUs/8 {
			large = append(large, wait)
		}
	}
	lost := life.LostGPUHours(b.Jobs)
	f.delay, f.slowdown = f.delay/gpus, slowdowns/float64(len(b.Jobs))
	if len(large) > 0 {
		f.large = study.Quantile(large, 0.99)
	}
	f.lost = 100 * lost / work
	held, slots := 0.0, min(len(b.Slots), int(until.Sub(0)/b.Step)+1)
	for _, s := range b.Slots[:slots] {
		held += s.Held
	}
	f.useful = 100 * held / float64(slots*b.GPUs) / (1 + f.lost/100)
	return f
}
