package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/quota"
)

// Each kind of reservation admits those that the table says, and nobody else: seen with gangs that
// differ in one thing each from a gang that nobody lets in.
func TestEachKindAdmitsWhatTheTableSays(t *testing.T) {
	const start, late = berth.Time(1_000), berth.Time(2_000)
	c, err := New(berth.Config{})
	require.NoError(t, err)
	for name, gpus := range map[string]int64{"mine": 16, "rich": 16, "poor": 0, "team": 0} {
		set := berth.QueueSet{Queue: quota.Queue{Name: berth.QueueID(name), Guarantee: quota.Amounts{quota.GPUMilli: gpus * 1000}}}
		require.NoError(t, c.Apply(0, set))
	}
	submit := func(id berth.JobID, queue berth.QueueID, priority int32, class berth.Class, members int) *record.Replica {
		job := berth.Job{ID: id, Queue: queue, Priority: priority, Class: class, Groups: []berth.Group{{Members: members, Claim: berth.Claim{GPUs: 1}}}}
		require.NoError(t, c.Apply(0, berth.JobSubmitted{Job: job}))
		return c.state.Jobs[id].Replicas.At(0)
	}
	holder, borrower := submit("holder", "mine", 5, berth.ClassBatch, 2), submit("borrower", "poor", 5, berth.ClassBatch, 2)
	require.True(t, c.backlog.WithinGuarantee(holder))
	require.False(t, c.backlog.WithinGuarantee(borrower))
	low := submit("low", "mine", 1, berth.ClassBatch, 2)
	struck := submit("struck", "mine", 1, berth.ClassBatch, 2)
	struck.Retry.Note().LostHardware = true
	visitors := []struct {
		name string
		rep  *record.Replica
		of   *record.Replica // the gang of the reservation, if that is for one
		end  berth.Time
	}{
		{"low", low, holder, late},
		{"itself", holder, holder, late},
		{"in time", low, holder, start},
		{"queue", submit("queue", "team", 1, berth.ClassBatch, 2), holder, late},
		{"low cost", submit("cheap", "mine", 1, berth.ClassBatch, 1), holder, late},
		{"struck", struck, holder, late},
		{"rank", submit("rank", "mine", 9, berth.ClassBatch, 2), holder, late},
		{"class", submit("class", "rich", 1, berth.ClassLatencyCritical, 2), holder, late},
		{"claim", submit("claim", "rich", 1, berth.ClassBatch, 2), borrower, late},
	}
	team, _ := c.state.Quota.Lookup("team")
	for kind, admitted := range map[record.ReservationKind][]string{
		record.KindEnded:         nil,
		record.KindPending:       {"itself", "in time", "rank", "class", "claim"},
		record.KindPreemption:    {"itself", "in time", "rank", "claim"},
		record.KindResume:        {"itself", "in time"},
		record.KindPartialResume: {"itself", "in time", "rank", "class", "claim"},
		record.KindMove:          {"itself", "in time"},
		record.KindPartialMove:   {"itself", "in time"},
		record.KindExclusive:     {"itself"},
		record.KindAdvance:       {"in time", "queue"},
		record.KindBurnIn:        {"low cost"},
		record.KindSpares:        {"struck"},
	} {
		var list []string
		for _, v := range visitors {
			res := &record.Reservation{Kind: kind, SpanPart: record.SpanPart{From: start, Until: agenda.Never}, Queue: quota.NoQueue}
			if res.IsForGang() {
				res.Rep, res.Plan = v.of, &record.Plan{Charges: []quota.Charge{{GPUMilli: 64_000}}} // nobody asks for more
			}
			if res.IsAdvance() {
				res.Queue, res.Advance = team, &berth.Reservation{From: start}
			}
			if c.backlog.Admits(res, v.rep, v.end) {
				list = append(list, v.name)
			}
		}
		require.Equal(t, admitted, list, "kind %d", kind)
	}
}
