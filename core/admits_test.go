package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/quota"
)

// Each kind of window admits those that the table says, and nobody else: seen with gangs that
// differ in one thing each from a gang that nobody lets in.
func TestEachKindAdmitsWhomTheTableSays(t *testing.T) {
	const start, late = berth.Time(1_000), berth.Time(2_000)
	c, err := New(berth.Config{})
	require.NoError(t, err)
	for name, gpus := range map[string]int64{"mine": 16, "rich": 16, "poor": 0, "team": 0} {
		set := berth.QueueSet{Queue: quota.Queue{Name: name, Guarantee: quota.Amounts{quota.GPU: gpus * 1000}}}
		require.NoError(t, c.Apply(0, set))
	}
	submit := func(id berth.JobID, queue berth.QueueID, priority int32, class berth.Class, members int) *replica {
		job := berth.Job{ID: id, Queue: queue, Priority: priority, Class: class, Groups: []berth.Group{{Replicas: members, Claim: berth.Claim{GPUs: 1}}}}
		require.NoError(t, c.Apply(0, berth.JobSubmitted{Job: job}))
		return c.jobs[id].replicas[0]
	}
	holder, borrower := submit("holder", "mine", 5, berth.Batch, 2), submit("borrower", "poor", 5, berth.Batch, 2)
	require.True(t, c.owed(holder))
	require.False(t, c.owed(borrower))
	low := submit("low", "mine", 1, berth.Batch, 2)
	struck := submit("struck", "mine", 1, berth.Batch, 2)
	struck.retry.Struck = true
	visitors := []struct {
		name string
		rep  *replica
		of   *replica // the gang of the window, if that is for one
		end  berth.Time
	}{
		{"low", low, holder, late},
		{"itself", holder, holder, late},
		{"in time", low, holder, start},
		{"queue", submit("queue", "team", 1, berth.Batch, 2), holder, late},
		{"low cost", submit("cheap", "mine", 1, berth.Batch, 1), holder, late},
		{"struck", struck, holder, late},
		{"rank", submit("rank", "mine", 9, berth.Batch, 2), holder, late},
		{"class", submit("class", "rich", 1, berth.LatencyCritical, 2), holder, late},
		{"claim", submit("claim", "rich", 1, berth.Batch, 2), borrower, late},
	}
	team, _ := c.quota.Lookup("team")
	for kind, admitted := range map[reservationKind][]string{
		kindEnded:     nil,
		kindPending:   {"itself", "in time", "rank", "class", "claim"},
		kindRoom:      {"itself", "in time", "rank", "claim"},
		kindResume:    {"itself", "in time"},
		kindRest:      {"itself", "in time", "rank", "class", "claim"},
		kindMove:      {"itself", "in time"},
		kindRemnant:   {"itself", "in time"},
		kindExclusive: {"itself"},
		kindAdvance:   {"in time", "queue"},
		kindBurnIn:    {"low cost"},
		kindSpares:    {"struck"},
	} {
		var list []string
		for _, v := range visitors {
			w := &window{kind: kind, spanPart: spanPart{start, never}, queue: quota.None}
			if w.isForGang() {
				w.rep = v.of
			}
			if w.isAdvance() {
				w.queue = team
			}
			if c.admits(w, v.rep, v.end) {
				list = append(list, v.name)
			}
		}
		require.Equal(t, admitted, list, "kind %d", kind)
	}
}

// A place that is kept for a gang goes with it: it is of another kind when the gang waits there.
func TestAPlaceThatIsKeptArrivesWithItsGang(t *testing.T) {
	for kind := kindEnded; kind <= kindSpares; kind++ {
		r, then := kind.rule(), kind.arrived().rule()
		require.NotEqual(t, forMoving, then.holder, "kind %d arrives where nobody waits", kind)
		if r.holder != forMoving {
			require.Equal(t, kind, kind.arrived())
			continue
		}
		require.Equal(t, forWaiting, then.holder)
		require.Equal(t, r.planned, then.planned, "what was planned is so after it")
		require.Equal(t, kind.cause(), kind.arrived().cause())
	}
}
