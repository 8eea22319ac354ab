package core_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/quota"
)

// A trio is three cores that are told the same: one as it is, one of which every replica is a
// record at once, and one that is restored from a snapshot after each step.
type trio struct {
	*rapid.T
	lazy, eager, restored *core.Core
	now                   berth.Time
	last                  []berth.Order
}

func fourGPUs() []berth.GPU {
	return slices.Repeat([]berth.GPU{{Product: "H100", MemoryMiB: 81559}}, 4)
}

func newTrio(t *rapid.T, config berth.Config) *trio {
	three := &trio{T: t}
	for _, c := range []**core.Core{&three.lazy, &three.eager, &three.restored} {
		var err error
		*c, err = core.New(config)
		require.NoError(t, err)
	}
	return three
}

func (three *trio) agree() {
	core.RevealAll(three.eager)
	for _, c := range []*core.Core{three.lazy, three.eager, three.restored} {
		require.NoError(three, c.Check())
	}
	want, err := three.lazy.Snapshot()
	require.NoError(three, err)
	for _, c := range []*core.Core{three.eager, three.restored} {
		got, err := c.Snapshot()
		require.NoError(three, err)
		if string(want) != string(got) {
			at := 0
			for want[at] == got[at] {
				at++
			}
			three.Fatalf("eager %v, from byte %d on: %s\ninstead of %s", c == three.eager, at, got[max(0, at-400):min(len(got), at+300)], want[max(0, at-100):min(len(want), at+300)])
		}
		require.Equal(three, three.lazy.Report(), c.Report())
	}
	three.restored, err = core.Restore(want)
	require.NoError(three, err)
}

func (three *trio) tell(e berth.Event) {
	err := three.lazy.Apply(three.now, e)
	require.Equal(three, err, three.eager.Apply(three.now, e))
	require.Equal(three, err, three.restored.Apply(three.now, e))
	three.agree()
}

func (three *trio) pass() {
	var err error
	three.last, err = three.lazy.Schedule(three.now)
	require.NoError(three, err)
	for _, c := range []*core.Core{three.eager, three.restored} {
		orders, err := c.Schedule(three.now)
		require.NoError(three, err)
		require.Equal(three, three.last, orders)
	}
	three.agree()
}

func (three *trio) explain(id berth.JobID) {
	want, err := three.lazy.Explain(id)
	for _, c := range []*core.Core{three.eager, three.restored} {
		got, again := c.Explain(id)
		require.Equal(three, err, again)
		require.Equal(three, want, got)
	}
}

// Whether replicas that wait are a number or records decides nothing, and no snapshot, report or
// explanation tells.
func TestReplicasThatAreANumberDecideAsRecordsDo(t *testing.T) {
	t.Parallel()
	drawn.Check(t, func(t *rapid.T) {
		number := func(what string, least, most int) int { return rapid.IntRange(least, most).Draw(t, what) }
		three := newTrio(t, berth.Config{Policy: berth.Policy{
			ReserveAfter: berth.Duration(number("reserve", 1, 3)) * berth.Second, ReservedGangs: number("gangs", 1, 6),
			BackfillBudget: number("budget", 1, 8), PassBudget: number("attempts", 2, 40),
		}})
		for _, name := range []string{"a", "b"} {
			three.tell(berth.QueueSet{Queue: quota.Queue{Name: berth.QueueID(name), Guarantee: gpuMilli(4), Limit: gpuMilli(int64(number("limit", 4, 24)))}})
		}
		for i := range number("nodes", 1, 3) {
			three.tell(berth.NodeJoined{Node: berth.Node{ID: berth.NodeID(fmt.Sprintf("first%d", i)), GPUs: fourGPUs()}})
		}
		jobs := 0
		for step := range number("steps", 5, 60) {
			three.now += berth.Time(number("wait", 0, 2500))
			id := berth.JobID(fmt.Sprintf("job-%d", rapid.IntRange(0, max(0, jobs-1)).Draw(t, "which")))
			switch number("what", 0, 11) {
			case 0:
				three.tell(berth.NodeJoined{Node: berth.Node{ID: berth.NodeID(fmt.Sprintf("n%d", step)), GPUs: fourGPUs()}})
			case 1, 2, 3, 4:
				j := berth.Job{
					ID: berth.JobID(fmt.Sprintf("job-%d", jobs)), Queue: []berth.QueueID{"a", "b"}[number("queue", 0, 1)], Priority: int32(number("priority", 0, 2)),
					Groups: []berth.Group{{Members: number("members", 1, 3), Claim: berth.Claim{GPUs: number("gpus", 1, 4)}}},
				}
				if number("service", 0, 1) > 0 {
					j.Service = &berth.Service{Replicas: number("replicas", 0, 40)}
				}
				if number("runtime", 0, 1) > 0 {
					j.ExpectedRuntime = berth.Duration(number("seconds", 1, 9)) * berth.Second
				}
				jobs++
				three.tell(berth.JobSubmitted{Job: j})
			case 5, 6:
				three.tell(berth.JobScaled{Job: id, Replicas: number("scale", 0, 50)})
			case 7:
				three.tell(berth.JobCancelled{Job: id})
			case 8:
				three.explain(id)
			case 9:
				three.tell(berth.CheckpointWritten{Job: id, Replica: number("replica", 0, 45), Incarnation: berth.Incarnation(number("life", 0, 2))})
			default:
				for _, o := range slices.Clone(three.last) {
					outcome := []berth.Outcome{berth.OutcomeDone, berth.OutcomeDone, berth.OutcomeFailed}[number("outcome", 0, 2)]
					three.tell(berth.OrderReported{Order: o.Header().ID, Outcome: outcome})
				}
			}
			if number("pass", 0, 1) > 0 {
				three.pass()
			}
		}
	})
}

// A small event costs little, however many replicas it asks for: what there is of them is what
// was looked at.
func TestMillionsOfReplicasThatWaitAreANumber(t *testing.T) {
	d := shared(t, berth.Config{}, func(_, _ *quota.Queue) {})
	before := core.Records(d.Core)
	d.tell(berth.JobSubmitted{Job: berth.Job{ID: "many", Queue: "a", Service: &berth.Service{Replicas: 2_000_000}, Groups: []berth.Group{{Members: 1, Claim: berth.Claim{GPUs: 1}}}}})
	require.Equal(t, before+1, core.Records(d.Core))
	orders := d.pass()
	require.Len(t, orders, 8)
	require.Equal(t, before+9, core.Records(d.Core))
	b, err := d.Snapshot()
	require.NoError(t, err)
	require.Less(t, len(b), 20_000)
	d.tell(berth.JobScaled{Job: "many", Replicas: 1_000_000})
	d.tell(berth.JobScaled{Job: "many", Replicas: 2_000_000})
	require.Equal(t, 2_000_000-8, d.Report().Replicas.Pending)
	d.tell(berth.JobCancelled{Job: "many"})
	require.Equal(t, before+8, core.Records(d.Core))
}

// An answer is no larger for a million replicas that wait: those that are alike are said once, with
// how many there are, whether they are a number or records by now.
func TestAnswersSayOnceWhatIsAlike(t *testing.T) {
	const many = 1_000_000
	d := shared(t, berth.Config{Policy: berth.Policy{Stretch: berth.Off}}, func(_, _ *quota.Queue) {})
	large := berth.Job{ID: "s", Queue: "a", Service: &berth.Service{Replicas: many}, Groups: []berth.Group{{Members: 1, Claim: berth.Claim{GPUs: 64}}}}
	d.tell(berth.JobSubmitted{Job: large})
	d.pass()
	require.LessOrEqual(t, testing.AllocsPerRun(1, func() {
		_, _ = d.Explain("s")
		_, _ = d.Job("s")
	}), 1000.0)
	e, err := d.Explain("s")
	require.NoError(t, err)
	require.Len(t, e.Replicas, 1)
	require.Equal(t, [3]int{0, many - 1, 1}, [3]int{e.Replicas[0].Replica, e.Replicas[0].Alike, e.Replicas[0].Position})
	require.NotEmpty(t, e.Replicas[0].Reason.Code)
	s, _ := d.Job("s")
	require.Equal(t, []berth.ReplicaStatus{{Alike: many - 1, Since: d.now}}, s.Replicas)

	// Those that came later stand apart, and so does another's place between them.
	d.now += 5
	between := gangJob("between", 1, 64)
	between.Queue = "a"
	d.tell(berth.JobSubmitted{Job: between})
	d.tell(berth.JobScaled{Job: "s", Replicas: many + 3})
	e, err = d.Explain("s")
	require.NoError(t, err)
	require.Len(t, e.Replicas, 2)
	require.Equal(t, [3]int{many, 2, many + 2}, [3]int{e.Replicas[1].Replica, e.Replicas[1].Alike, e.Replicas[1].Position})
	s, _ = d.Job("s")
	require.Equal(t, berth.ReplicaStatus{Replica: many, Alike: 2, Since: d.now}, s.Replicas[1])
	d.tell(berth.JobScaled{Job: "s", Replicas: 3})
	core.RevealAll(d.Core)
	e, _ = d.Explain("s")
	require.Len(t, e.Replicas, 1)
	require.Equal(t, 2, e.Replicas[0].Alike, "records are joined as well")
}
