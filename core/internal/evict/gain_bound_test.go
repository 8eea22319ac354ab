package evict_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/evict"
	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/preempt"
)

// Invariant 5: nearly all bids of a fleet with many queues are in vain by what they could gain at
// the most. No search is made for them before that may be worth it.
func TestABidThatCannotPayIsNotMade(t *testing.T) {
	m := machine(t, 1, weighing)
	m.Queue("a", 0)
	m.Queue("borrows", 0)
	m.Run(dear(job("b1", "borrows", 1, 2), 30*berth.Minute), "n1")
	m.Run(dear(job("b2", "borrows", 1, 2), 30*berth.Minute), "n1")
	m.Wait(job("o", "a", 1, 2))
	require.Empty(t, pass(m))
	places, weighed, gathered := m.Victims.Work()
	require.Zero(t, places+weighed+gathered)
	require.Equal(t, m.State.Now.Add(20*berth.Minute+1), m.Evict.NextBid(), "10 minutes are for its turn")
	m.Later(20 * berth.Minute)
	require.Empty(t, pass(m))
	m.Later(1)
	require.Len(t, pass(m), 1)
}

// The gain is that of the class of its gang, so a queue is not passed over for its batch jobs
// alone.
func TestTheBoundOfAQueueIsThatOfItsHighestClass(t *testing.T) {
	m := machine(t, 1, weighing)
	m.Queue("a", 0)
	m.Queue("borrows", 0)
	m.Run(dear(job("b1", "borrows", 1, 2), 30*berth.Minute), "n1")
	m.Run(dear(job("b2", "borrows", 1, 2), 30*berth.Minute), "n1")
	m.Wait(job("batch", "a", 1, 1))
	urgent := job("urgent", "a", 1, 2)
	urgent.Class = berth.ClassInteractive
	rep := m.Wait(urgent)
	require.Len(t, pass(m), 1)
	require.NotNil(t, rep.Reserved, "it gains an hour of a GPU")
}

// The bound of a gain is never below the gain: a search that finds victims that pay is never
// passed over, whatever runs and however long the gang has waited.
func TestABidThatPaysIsMade(t *testing.T) {
	paid, passed := 0, 0
	drawn.Check(t, func(t *rapid.T) {
		m := machine(t, 3, weighing, withoutMoves)
		guarantees := rapid.SliceOfN(rapid.Int64Range(0, 4), 3, 3).Draw(t, "guarantees")
		for i, g := range guarantees {
			m.Queue(berth.QueueID(fmt.Sprintf("q%d", i)), g)
		}
		queue := func() berth.QueueID { return berth.QueueID(fmt.Sprintf("q%d", rapid.IntRange(0, 2).Draw(t, "queue"))) }
		class := func(j berth.Job) berth.Job {
			j.Class = berth.Class(rapid.IntRange(0, 1).Draw(t, "class"))
			return j
		}
		minutes := func(name string, most int) berth.Duration {
			return berth.Duration(rapid.IntRange(0, most).Draw(t, name)) * berth.Minute
		}
		for n := 1; n <= 3; n++ {
			for left := 4; left > 0; {
				gpus := rapid.IntRange(1, left).Draw(t, "GPUs")
				left -= gpus
				runs := job(berth.JobID(fmt.Sprintf("n%d-%d", n, left)), queue(), 1, gpus)
				if rapid.Bool().Draw(t, "saves itself") {
					runs.Checkpoint = berth.Checkpoint{Interval: berth.Hour}
				} else {
					runs = dear(runs, minutes("cost", 90))
				}
				m.RunSince(m.State.Now.Add(-minutes("ran", 120)), class(runs), fmt.Sprintf("n%d", n))
			}
		}
		rep := m.Wait(class(job("waits", queue(), 1, rapid.IntRange(1, 4).Draw(t, "GPUs"))))
		m.Later(minutes("waited", 90))
		m.Pass(m.Search.Wake, m.Agenda.BeginPlacing, m.Search.Place)
		m.Books.TellDemands()
		trials := m.State.Bounds.VictimSearches
		_, _, pays := m.Evict.Seek(rep.Entries[0], evict.Seeking{Mode: berth.PreemptionOn, Chooser: new(preempt.Chooser)}, &trials)
		next := m.Evict.NextBid()
		switch {
		case pays:
			paid++
			require.LessOrEqual(t, next, m.State.Now)
		case next > m.State.Now:
			passed++
		}
		m.Pass(m.Evict.Preempt)
		require.Equal(t, pays, rep.Reserved != nil)
	})
	t.Logf("%d bids paid, %d were passed over", paid, passed)
	if drawn.Many() {
		require.Positive(t, paid)
		require.Positive(t, passed)
	}
}
