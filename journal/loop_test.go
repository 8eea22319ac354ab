package journal_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/journal"
	"github.com/berth-sched/berth/journal/storetest"
	"github.com/berth-sched/berth/quota"
)

// A gatedStore lets appends through one by one.
type gatedStore struct {
	journal.Store
	// asked gets the number of records of an append that begins, and answer says what becomes of
	// it: nil, it is done.
	asked  chan int
	answer chan error
}

func (s *gatedStore) Append(ctx context.Context, b journal.Batch) error {
	s.asked <- len(b.Records)
	if err := <-s.answer; err != nil {
		return err
	}
	return s.Store.Append(ctx, b)
}

// A looped is a loop over a gated store, that runs.
type looped struct {
	*testing.T
	*journal.Loop
	log     storetest.Log
	store   *gatedStore
	orders  chan []berth.Order
	stop    context.CancelFunc
	stopped chan error
}

func newLooped(t *testing.T) *looped {
	t.Helper()
	l := &looped{T: t, log: storetest.NewFileLog(1), orders: make(chan []berth.Order, 100), stopped: make(chan error, 1)}
	inner, err := l.log.Open()
	require.NoError(t, err)
	l.store = &gatedStore{Store: inner, asked: make(chan int), answer: make(chan error)}
	d, err := journal.Open(t.Context(), l.store, journal.Options{Config: berth.Config{}})
	require.NoError(t, err)
	l.Loop = journal.NewLoop(d, func(orders []berth.Order) error {
		l.orders <- orders
		return nil
	})
	ctx, stop := context.WithCancel(t.Context())
	l.stop = stop
	go func() { l.stopped <- l.Loop.Run(ctx) }()
	l.append(nil) // its first pass
	return l
}

// append answers the next append, and returns how many records it has.
func (l *looped) append(err error) int {
	records := <-l.store.asked
	l.store.answer <- err
	return records
}

// tells tells events in a goroutine of its own, and returns where the answer will be.
func (l *looped) tells(events ...berth.Event) <-chan string {
	answer := make(chan string, 1)
	go func() {
		told, err := l.Tell(l.Context(), events...)
		switch {
		case errors.Is(err, journal.ErrStopped):
			answer <- "stopped"
		case errors.Is(err, journal.ErrFull):
			answer <- "full"
		case err != nil:
			answer <- fmt.Sprint(told, " told, then ", err)
		default:
			answer <- fmt.Sprint(told, " told")
		}
	}()
	return answer
}

func queueNamed(i int) berth.Event {
	return berth.QueueSet{Queue: quota.Queue{Name: berth.QueueID(fmt.Sprint("q", i))}}
}

// Nothing is acknowledged before it is durable, and what comes meanwhile is written together.
func TestALoopAcknowledgesWhatIsDurable(t *testing.T) {
	l := newLooped(t)
	first := l.tells(queueNamed(0))
	<-l.store.asked
	var answers []<-chan string
	for i := range 16 {
		answers = append(answers, l.tells(queueNamed(1+i)))
	}
	require.Empty(t, first, "an event is acknowledged while it is being written")
	l.store.answer <- nil
	require.Equal(t, "1 told", <-first)
	written := 0
	for written < 16 { // callers come as their goroutines do, so in one write or a few
		written += l.append(nil) - 1 // but for the pass
	}
	for _, answer := range answers {
		require.Equal(t, "1 told", <-answer)
	}
	store, err := l.log.Open()
	require.NoError(t, err)
	d, err := journal.Open(t.Context(), store, journal.Options{})
	require.NoError(t, err)
	require.Len(t, d.Core().Report().Queues, 17)
}

// Of several events those before one that is refused are told, and the orders that follow from them
// are handed on when they are durable.
func TestALoopTellsUpToARefusal(t *testing.T) {
	l := newLooped(t)
	job := berth.JobSubmitted{Job: berth.Job{ID: "a", Queue: "q0", Groups: []berth.Group{{Members: 1, Claim: berth.WholeGPUs(1)}}}}
	node := berth.NodeJoined{Node: berth.Node{ID: "n1", GPUs: []berth.GPU{{Product: "H100"}}}}
	answer := l.tells(queueNamed(0), node, job, job, queueNamed(1))
	<-l.store.asked
	require.Empty(t, l.orders, "orders are let out while they are being written")
	l.store.answer <- nil
	require.Contains(t, <-answer, "3 told, then berth: jobSubmitted: job.id")
	require.Len(t, <-l.orders, 1)
	var queues int
	require.NoError(t, l.Look(t.Context(), func(c *core.Core) { queues = len(c.Report().Queues) }))
	require.Equal(t, 1, queues)
}

// A store without room ends nothing: the caller waits, and what it told is durable later.
func TestALoopWaitsForRoom(t *testing.T) {
	l := newLooped(t)
	answer := l.tells(queueNamed(0))
	l.append(journal.ErrFull)
	l.append(journal.ErrFull) // it has looked for room by a snapshot, or tries again
	require.Empty(t, answer)
	l.append(nil)
	require.Equal(t, "1 told", <-answer)
}

// A loop that has stopped says so to all, and a failure of the store ends it.
func TestALoopStops(t *testing.T) {
	l := newLooped(t)
	l.stop()
	require.ErrorIs(t, <-l.stopped, context.Canceled)
	require.Equal(t, "stopped", <-l.tells(queueNamed(0)))
	require.ErrorIs(t, l.Look(t.Context(), func(*core.Core) { t.Error("looked") }), journal.ErrStopped)

	l = newLooped(t)
	answer := l.tells(queueNamed(0))
	l.append(journal.ErrUncertain)
	require.ErrorIs(t, <-l.stopped, journal.ErrUncertain)
	require.Equal(t, "stopped", <-answer)

	l = newLooped(t)
	ctx, cancel := context.WithCancel(t.Context())
	var waits sync.WaitGroup
	waits.Go(func() {
		_, err := l.Tell(ctx, queueNamed(0))
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, "not known")
	})
	<-l.store.asked
	cancel()
	waits.Wait()
	l.store.answer <- nil
}

// A caller that gives up gets back what it has lent: its function runs no more, and no event of it
// is read.
func TestALoopIsDoneWithWhatACallerLent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLooped(t)
		ctx, cancel := context.WithCancel(t.Context())
		back, goOn := make(chan error, 1), make(chan struct{})
		go func() { back <- l.Look(ctx, func(*core.Core) { <-goOn }) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		require.Empty(t, back, "Look returns while its function runs")
		close(goOn)
		<-back
		l.stop()
		<-l.stopped
	})
}
