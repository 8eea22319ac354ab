package sim_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/internal/worlds"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/quota"
)

// A pass is a fixpoint: what a core leaves undone it leaves until an event that matters, or until
// an instant that it names. So whenever it wants no pass for a while, a pass at once or halfway
// brings nothing, also if the core is told what it knows already: a queue as it is, which has it
// look at everything anew. A while is longer than it may take to look for victims again.
func TestAPassIsAFixpoint(t *testing.T) {
	t.Parallel()
	for _, g := range []struct {
		name string
		draw worlds.Drawing
		few  int
	}{{"world", (*worlds.Generator).World, 4}, {"contended", (*worlds.Generator).Contended, 1}, {"failing", (*worlds.Generator).Failing, 1}, {"moving", (*worlds.Generator).Moving, 1}} {
		for seed := range drawn.Seeds(g.few) {
			config, options, list := g.draw(worlds.NewGenerator(seed))
			options.Faults.Restore = 0 // each copy below is one
			run := worlds.RunOf(config, options, list)
			must(t, run, seed)
			sched, err := core.New(config)
			require.NoError(t, err)
			var queue *quota.Queue
			for i := range run.Log {
				tell(t, sched, &run.Log[i])
				switch e := run.Log[i].Event.(type) {
				case berth.QueueSet:
					if run.Log[i].Refused == nil && (queue == nil || queue.Name == e.Queue.Name) {
						queue = &e.Queue
					}
				case berth.QueueRemoved:
					if run.Log[i].Refused == nil && queue != nil && queue.Name == e.Queue {
						queue = nil
					}
				}
				if (i+1)%max(1, len(run.Log)/4) == 0 && queue != nil {
					staysAtRest(t, fmt.Sprintf("%s %d, step %d", g.name, seed, i), sched, *queue)
				}
			}
		}
	}
}

// staysAtRest lets a copy of a core go on by itself for two days.
func staysAtRest(t *testing.T, where string, sched *core.Core, queue quota.Queue) {
	t.Helper()
	quiet := copyOf(t, sched)
	end := quiet.Now().Add(2 * berth.Day)
	at := quiet.Now()
	for range 200 {
		rest(t, quiet, at)
		next, due := quiet.NextWake()
		if !due || next > end {
			next = end
		}
		if next > at.Add(10*berth.Minute) {
			for _, instant := range []berth.Time{at, at + (next-at)/2} {
				for _, event := range []berth.Event{nil, berth.QueueSet{Queue: queue}} {
					told := copyOf(t, quiet)
					if event != nil {
						require.NoError(t, told.Apply(instant, event))
					}
					require.Empty(t, rest(t, told, instant), "%s, at %v: %v", where, instant, event)
					require.Equal(t, setAside(quiet), setAside(told), "%s, at %v: %v", where, instant, event)
				}
			}
		}
		if next == end {
			return
		}
		at = next
	}
}

// setAside lists the reservations. Jobs that overstay in them are a matter of the clock.
func setAside(sched *core.Core) []berth.ReservationReport {
	list := sched.Report().Reservations
	for i := range list {
		list[i].Conflicts = nil
	}
	return list
}

func copyOf(t *testing.T, sched *core.Core) *core.Core {
	t.Helper()
	snapshot, err := sched.Snapshot()
	require.NoError(t, err)
	c, err := core.Restore(snapshot)
	require.NoError(t, err)
	return c
}

// rest runs passes at an instant until nothing is due, and carries out the orders; it returns them.
func rest(t *testing.T, sched *core.Core, at berth.Time) string {
	t.Helper()
	orders := ""
	for range 50 {
		list, err := sched.Schedule(at)
		require.NoError(t, err)
		orders += encode(t, list)
		for _, a := range list {
			switch a.(type) {
			case berth.Drop, berth.Withdraw, berth.WarnIdle:
			default:
				err := sched.Apply(at, berth.OrderReported{Order: a.Header().ID, Outcome: berth.OutcomeDone})
				if err != nil {
					require.ErrorIs(t, err, berth.ErrStale)
				}
			}
		}
		if next, due := sched.NextWake(); !due || next > at {
			break
		}
	}
	return orders
}
