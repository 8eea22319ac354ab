package scale

import (
	"bytes"
	"fmt"
	"runtime"
	"time"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/journal"
)

// fullest is the throng of which most is asked.
func fullest(short bool) throngSize {
	if short {
		return throngSize{small, 25, shapes, 2500}
	}
	return throngSize{large, 1000, shapes, 100_000}
}

// storeCases are point 4.
func storeCases(short bool) []Case {
	size, lives := fullest(short), 64*300
	if short {
		lives = 64 * 15
	}
	return []Case{
		{"snapshot/" + size.String(), func(t *Taker) { t.snapshots(size) }},
		{"submission/" + size.String(), func(t *Taker) { t.submissions(size) }},
		{"replay/1", func(t *Taker) { t.replay(lives, 1) }},
		{"replay/64", func(t *Taker) { t.replay(lives, 64) }},
	}
}

func (t *Taker) snapshots(size throngSize) {
	sched := newThrongOf(t, size)
	var text []byte
	s := t.repeatWhole(func() {
		var err error
		text, err = sched.Snapshot()
		must(t, err)
	})
	t.addMedian(4, "Snapshot", size.String(), s, 500*time.Millisecond)
	t.add(Figure{Point: 4, What: "Snapshot, its size", Size: size.String(), Value: float64(len(text)), Unit: Bytes})
	sched = nil
	s = t.repeatWhole(func() {
		_, err := core.Restore(text)
		must(t, err)
	})
	t.addMedian(4, "Restore", size.String(), s, 500*time.Millisecond)
}

// submissions go to a throng for which nothing waits at first.
func (t *Taker) submissions(size throngSize) {
	empty := size
	empty.pending = 0
	sched := newThrongOf(t, empty)
	jobs := make([]berth.Job, size.pending)
	for i := range jobs {
		jobs[i] = size.job(i)
	}
	const some = 500
	s := t.repeatTimes(len(jobs)/some, func() time.Duration {
		for _, j := range jobs[:some] {
			tell(t, sched, berth.JobSubmitted{Job: j})
		}
		jobs = jobs[some:]
		return 0
	})
	t.addMedian(4, "submission", size.String(), s.per(some), 5*time.Microsecond)
}

// replay is of a journal of whole lives, each of three events and an order, so many between two
// passes.
func (t *Taker) replay(lives, each int) {
	text, counts := logOfLives(t, small, lives, each)
	s := t.repeatWhole(func() {
		_, err := journal.Replay(bytes.NewReader(text))
		must(t, err)
	})
	t.add(Figure{
		Point: 4, What: "replay of a journal, events", Size: fmt.Sprintf("gpus=%d/lives=%d/to a pass=%d", small, lives, each),
		Value: float64(counts.Events) / s.median.Seconds(), Unit: PerSecond, Target: 200_000,
	})
}

// memoryCases are point 5.
func memoryCases(short bool) []Case {
	size, lives := fullest(short), 1_000_000
	if short {
		lives = 10_000
	}
	return []Case{
		{"memory/" + size.String(), func(t *Taker) { t.memory(size) }},
		{"churn", func(t *Taker) { t.churn(lives) }},
	}
}

// heap is what is in use after a collection, in bytes.
func heap() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what has a finalizer is gone after the second
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// keeping is what a core keeps of each GPU of a full fleet, and of each job that waits, in bytes.
func keeping(tb builder, size throngSize) (perGPU, perJob float64) {
	nobody := size
	nobody.pending = 0
	empty := heap()
	sched := newThrongOf(tb, nobody)
	full := heap()
	size.wait(tb, sched)
	waits := heap()
	runtime.KeepAlive(sched)
	return (full - empty) / float64(size.gpus), (waits - full) / float64(size.pending)
}

func (t *Taker) memory(size throngSize) {
	perGPU, perJob := keeping(t, size)
	t.add(Figure{Point: 5, What: "memory of a GPU, with a job on each node", Size: size.String(), Value: perGPU, Unit: Bytes, Target: 400})
	t.add(Figure{Point: 5, What: "memory of a job that waits", Size: size.String(), Value: perJob, Unit: Bytes, Target: 800})
}

// churn tells by how much many lives, that leave nothing behind, make the core grow.
func (t *Taker) churn(lives int) {
	live := living(t, small, 1, gpusPerNode)
	some := func(n int) float64 {
		for range n {
			live.must(t)
		}
		return heap()
	}
	before := some(lives / 10)
	grown := some(lives) - before
	runtime.KeepAlive(live)
	t.add(Figure{Point: 5, What: "growth of the heap by lives", Size: fmt.Sprintf("gpus=%d/lives=%d", small, lives), Value: max(0, grown), Unit: Bytes, Target: 64 << 10})
}
