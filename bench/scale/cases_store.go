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

// throngOf is the throng of which most is asked.
func fullest(short bool) throngSize {
	if short {
		return throngSize{small, 25, shapes, 2500}
	}
	return throngSize{large, 1000, shapes, 100_000}
}

// storeCases are point 4.
func storeCases(short bool) []Case {
	size, lives := fullest(short), 20_000
	if short {
		lives = 1000
	}
	return []Case{
		{"snapshot/" + size.String(), func(t *Taker) { t.snapshots(size) }},
		{"submission/" + size.String(), func(t *Taker) { t.submissions(size) }},
		{"replay", func(t *Taker) { t.replay(lives) }},
	}
}

func (t *Taker) snapshots(size throngSize) {
	sched := newThrongOf(t, size)
	var text []byte
	s := t.repeat(func() time.Duration {
		var err error
		text, err = sched.Snapshot()
		must(t, err)
		return 0
	})
	t.addMedian(4, "Snapshot", size.String(), s, 500*time.Millisecond)
	t.add(Figure{Point: 4, What: "Snapshot, its size", Size: size.String(), Value: float64(len(text)), Unit: Bytes})
	sched = nil
	s = t.repeat(func() time.Duration {
		_, err := core.Restore(text)
		must(t, err)
		return 0
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

// replay is of a journal of whole lives, of which each is three events, a pass and an order, on a
// fleet of the small size.
func (t *Taker) replay(lives int) {
	text := journalOf(t, lives)
	var counts journal.Counts
	s := t.repeat(func() time.Duration {
		var err error
		counts, err = journal.Replay(bytes.NewReader(text))
		must(t, err)
		return 0
	})
	t.add(Figure{
		Point: 4, What: "replay of a journal, events", Size: fmt.Sprintf("gpus=%d/events=%d/passes=%d/orders=%d", small, counts.Events, counts.Passes, counts.Orders),
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

// inUse is what is held after a collection.
func inUse() float64 {
	runtime.GC()
	runtime.GC() // what has a finalizer is gone after the second
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}

func (t *Taker) memory(size throngSize) {
	nobody := size
	nobody.pending = 0
	before := inUse()
	sched := newThrongOf(t, nobody)
	fleet := inUse()
	for i := range size.pending {
		tell(t, sched, berth.JobSubmitted{Job: size.job(i)})
	}
	rest(t, sched)
	all := inUse()
	runtime.KeepAlive(sched)
	t.add(Figure{Point: 5, What: "memory of a GPU, with a job on each node", Size: nobody.String(), Value: (fleet - before) / float64(size.gpus), Unit: Bytes, Target: 400})
	t.add(Figure{Point: 5, What: "memory of a job that waits", Size: size.String(), Value: (all - fleet) / float64(size.pending), Unit: Bytes, Target: 800})
}

// churn tells by how much many lives, that leave nothing behind, make the core grow.
func (t *Taker) churn(lives int) {
	live := living(t, small, 1, gpusPerNode)
	some := func(n int) float64 {
		for range n {
			if !live() {
				t.Fatal("it does not fit")
			}
		}
		return inUse()
	}
	before := some(lives / 10)
	grown := some(lives) - before
	runtime.KeepAlive(live)
	t.add(Figure{Point: 5, What: "growth of the heap by lives", Size: fmt.Sprintf("gpus=%d/lives=%d", small, lives), Value: max(0, grown), Unit: Bytes, Target: 64 << 10})
}
