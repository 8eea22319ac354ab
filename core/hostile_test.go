package core_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/internal/hostile"
	"github.com/berth-sched/berth/quota"
)

// What Restore allocates is bounded by the length of the snapshot, whatever list or map in it has
// however short elements, in each version. A snapshot that comes to more is refused.
func TestHostileSnapshotsCostLittle(t *testing.T) {
	for _, version := range []string{"2", "3"} {
		for _, text := range hostile.Texts(reflect.TypeFor[record.Snapshot](), 50_000) {
			input := strings.Replace(text.JSON, `"version":0`, `"version":`+version, 1)
			hostile.Bounded(t, version+text.Path, input, 1<<20, func(input string) {
				_, err := core.Restore([]byte(input))
				if err != nil {
					require.ErrorAs(t, err, new(*berth.Error))
				}
			})
		}
	}
}

// What is restored costs what it cost to be told, and 20 times the text: a name of three letters
// is a queue with its accounts, so no multiple of the text alone bounds it. (Of tables of MIG there
// are few.)
func TestRestoreCostsWhatTheEventsCost(t *testing.T) {
	const many = 500
	for _, test := range []struct {
		name  string
		event func(name string, i int) berth.Event
	}{
		{"queues", func(name string, _ int) berth.Event {
			return berth.QueueSet{Queue: quota.Queue{Name: berth.QueueID(name)}}
		}},
		{"hosts", func(name string, _ int) berth.Event {
			return berth.NodeJoined{Node: berth.Node{ID: berth.NodeID(name)}}
		}},
		{"jobs of as many shapes", func(name string, i int) berth.Event {
			claim := berth.Claim{CPUMilli: int64(i + 1)}
			return berth.JobSubmitted{Job: berth.Job{ID: berth.JobID(name), Queue: "queue", Groups: []berth.Group{{Members: 1, Claim: claim}}}}
		}},
	} {
		sched, err := core.New(berth.Config{})
		require.NoError(t, err)
		require.NoError(t, sched.Apply(0, berth.QueueSet{Queue: quota.Queue{Name: "queue"}}))
		told := hostile.Cost(func() {
			for i := range many {
				require.NoError(t, sched.Apply(0, test.event(fmt.Sprintf("%04d", i), i)))
			}
		})
		snapshot, err := sched.Snapshot()
		require.NoError(t, err)
		restored := hostile.Cost(func() {
			_, err := core.Restore(snapshot)
			require.NoError(t, err)
		})
		t.Logf("%s: told for %d bytes each, restored for %d, of a text of %d", test.name, told/many, restored/many, len(snapshot)/many)
		require.Less(t, restored, told+hostile.Times*len(snapshot), test.name)
	}
}
