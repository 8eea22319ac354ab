package preempt

import "github.com/berth-sched/berth"

// A book is what is kept of a week: from orders and from the true progress of gangs,
// not from what the core thinks of either. GPU time is in GPU-milliseconds.
type book struct {
	// held is what gangs hold, and the sum of the columns.
	held int64
	// columns of GPU time: of gangs that were evicted before, and of others.
	again, first [stopping + 1]int64
	// redone is work that was done and lost.
	redone int64

	// level is what is now, in GPUs, and over is the GPU time of that in the week, until now.
	level, over [levelCount]int64
	now         berth.Time

	waits    []berth.Duration // of replicas, until they ran or were not wanted any more
	admitted int64            // GPUs of those replicas
	missed   int              // replicas that never ran
	dropped  int              // replicas that were evicted
	finished int              // gangs

	evicted, shrunk int // gangs that were evicted, wholly and in part
	forTraining     int // of both, those that were evicted for other gangs
	stopped         int64
	worst           hit
}

// A hit is one gang that is evicted: GPUs that stop, for how many.
type hit struct{ gpus, asked int }

// What is counted over time.
const (
	replicating = iota // held by replicas
	atWork             // in gangs that make progress
	levelCount
)

// column adds to what gangs do in a phase.
func (b *book) column(phase phase, again bool, gpuTime int64) {
	if again {
		b.again[phase] += gpuTime
	} else {
		b.first[phase] += gpuTime
	}
}

// sum of a column.
func (b *book) sum(phase phase) int64 { return b.first[phase] + b.again[phase] }

// lost is the GPU time that was in vain because gangs were evicted: work done again,
// checkpoints that were asked for, stops, and what starts and regrouping took after that.
func (b *book) lost() int64 {
	return b.redone + b.sum(writing) + b.sum(stopping) + b.again[regrouped] + b.again[starting]
}

// useful is the GPU time of work that was not lost.
func (b *book) useful() int64 { return b.sum(working) - b.redone }

// noteEviction notes that a gang is evicted with so many GPUs, and its beneficiary.
func (r *run) noteEviction(j *job, gpus int, asker *job) {
	if r.counted(r.sim.Now()) == 0 {
		return
	}
	b := &r.book
	if gpus == j.in(running, coming)*j.each {
		b.evicted++
	} else {
		b.shrunk++
	}
	if asker == nil {
		return
	}
	if asker.gang != nil {
		b.forTraining++
	}
	b.stopped += int64(gpus)
	if hit := (hit{gpus, asker.gpus()}); hit.gpus > b.worst.gpus || hit.gpus == b.worst.gpus && hit.asked < b.worst.asked {
		b.worst = hit
	}
}

// change books what stood until now, and changes a level.
func (r *run) change(level int, by int64) {
	r.advance()
	r.book.level[level] += by
}

// advance books what stood until now.
func (r *run) advance() {
	b, now := &r.book, r.sim.Now()
	span := max(now.Sub(max(b.now, r.from)), 0)
	for i, level := range b.level {
		b.over[i] += level * int64(span)
	}
	b.now = now
}
