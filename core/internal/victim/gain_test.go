package victim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
	"github.com/berth-sched/berth/core/internal/victim"
	"github.com/berth-sched/berth/preempt"
)

// weighing has the standard function: 10 minutes of a GPU for a turn, and as much as the wait for
// the wait.
func weighing(p *berth.Policy) { p.Preemption.Gain = berth.GainPolicy{Queueing: berth.Off} }

func saves(j berth.Job, cost berth.Duration) berth.Job {
	j.Checkpoint = berth.Checkpoint{Supported: true, Cost: cost}
	return j
}

// Invariant 5: gain and cost decide when, and never which. What is reclaimed for a guarantee is at
// any cost, once the beneficiary has waited for long enough.
func TestAPreemptionWaitsUntilItPays(t *testing.T) {
	m := machine(t, 1, weighing)
	m.Queue("a", 0)
	m.Run(saves(job("runs", "a", 1, 4), 30*berth.Minute), "n1")
	m.Later(berth.Hour)
	rep := m.Wait(roomtest.WithPriority(job("urgent", "a", 1, 4), 1))
	victims, s := own(m, rep)
	require.Equal(t, []string{"runs"}, victims)
	require.NotNil(t, s.Weighing)
	require.Equal(t, preempt.GPUMilliseconds(4*10*berth.Minute), s.Weighing.Gain)
	require.Equal(t, preempt.GPUMilliseconds(4*30*berth.Minute), s.Weighing.Cost)
	from := m.State.Now.Add(20*berth.Minute + 1)
	require.Equal(t, from, s.Weighing.From, "when the wait is worth what is left of the cost, to the millisecond")
	require.False(t, s.Unsteady, "there is no other that could pay sooner")
	require.Equal(t, from, s.RipeAt(m.State.Now))
	m.Later(20*berth.Minute + 1)
	_, s = own(m, rep)
	require.Nil(t, s.Weighing)
}

func TestAGuaranteeIsReclaimedAtAnyCostInTheEnd(t *testing.T) {
	m := machine(t, 1, weighing, func(p *berth.Policy) { p.Preemption.GuaranteeWithin = 2 * berth.Hour })
	m.Queue("owner", 4)
	m.Queue("borrows", 0)
	m.Run(saves(job("runs", "borrows", 1, 4), 3*berth.Hour), "n1")
	rep := m.Wait(job("o", "owner", 1, 4))
	victims, s := reclaim(m, rep)
	require.Equal(t, []string{"runs"}, victims)
	from := m.State.Now.Add(2 * berth.Hour)
	require.Equal(t, from, s.Weighing.From, "an hour before its wait is worth the cost")
	require.Equal(t, from, s.RipeAt(m.State.Now))
	m.Later(2*berth.Hour - 1)
	_, s = reclaim(m, rep)
	require.NotNil(t, s.Weighing)
	m.Later(1)
	victims, s = reclaim(m, rep)
	require.Equal(t, []string{"runs"}, victims)
	require.Nil(t, s.Weighing)
}

// All that a job has done is lost that writes no checkpoints. For another queue it is stopped only
// by a higher class, and for a guarantee in the end, unless the policy says otherwise.
func TestWorkThatIsNotSavedGivesWayToFewOthers(t *testing.T) {
	wait := func(m *roomtest.Machine, queue berth.QueueID, class berth.Class) *record.Replica {
		spec := job("asks", queue, 1, 4)
		spec.Class = class
		return m.Wait(spec)
	}
	for _, c := range []struct {
		name   string
		policy func(*berth.Policy)
		spec   func(*berth.Job)
		queue  berth.QueueID
		class  berth.Class
		after  berth.Duration
		takes  bool
	}{
		{"a share", nil, nil, "fair", berth.ClassBatch, 0, false},
		{"a share, however long it waits", nil, nil, "fair", berth.ClassBatch, 30 * berth.Day, false},
		{"a guarantee", nil, nil, "owner", berth.ClassBatch, 0, false},
		{"a guarantee, a day later", nil, nil, "owner", berth.ClassBatch, berth.Day, true},
		{"a share, for a higher class", nil, nil, "fair", berth.ClassInteractive, 0, true},
		{"a share, by policy", func(p *berth.Policy) { p.Preemption.StopUnsaved = true }, nil, "fair", berth.ClassBatch, 0, true},
		{"a guarantee, by policy", func(p *berth.Policy) { p.Preemption.StopUnsaved = true }, nil, "owner", berth.ClassBatch, 0, true},
		{"it saves on request", nil, func(j *berth.Job) { j.Checkpoint.Supported = true }, "fair", berth.ClassBatch, 0, true},
		{"it saves at times", nil, func(j *berth.Job) { j.Checkpoint.Interval = berth.Hour }, "fair", berth.ClassBatch, 0, true},
		{"it is of the queue", nil, nil, "a", berth.ClassInteractive, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, candidates := range []int{1, 100} { // by the index, and by a look at all
				m := machine(t, 2, weighing, func(p *berth.Policy) {
					if c.policy != nil {
						c.policy(p)
					}
				})
				m.State.Bounds.Candidates = candidates
				m.Queue("a", 0)
				m.Queue("owner", 4)
				m.Queue("fair", 0)
				spec := job("runs", "a", 1, 4)
				if c.spec != nil {
					c.spec(&spec)
				}
				m.Run(spec, "n1")
				spec.ID = "runs, too"
				m.Run(spec, "n2")
				rep := wait(m, c.queue, c.class)
				m.Later(c.after)
				look := reclaim
				if c.queue == "a" {
					look = own
				}
				victims, _ := look(m, rep)
				require.Equal(t, c.takes, victims != nil, candidates)
			}
		})
	}
}

// Work that no checkpoint saves grows as the wait does, until the next checkpoint that is expected.
func TestAPreemptionIsExpectedToPayAfterACheckpoint(t *testing.T) {
	m := machine(t, 1, weighing)
	m.Queue("a", 0)
	spec := job("runs", "a", 1, 4)
	spec.Checkpoint.Interval = berth.Hour
	m.Run(spec, "n1")
	m.Later(30 * berth.Minute)
	_, s := own(m, m.Wait(roomtest.WithPriority(job("urgent", "a", 1, 4), 1)))
	require.NotNil(t, s.Weighing)
	require.Equal(t, roomtest.Start.Add(berth.Hour), s.Weighing.From)
	require.False(t, s.Unsteady)
}

func TestAPreemptionMayNeverPay(t *testing.T) {
	m := machine(t, 1, weighing)
	m.Queue("a", 0)
	m.Run(job("runs", "a", 1, 4), "n1")
	m.Later(30 * berth.Minute)
	rep := m.Wait(roomtest.WithPriority(job("urgent", "a", 1, 4), 1))
	_, s := own(m, rep)
	require.NotNil(t, s.Weighing)
	require.Zero(t, s.Weighing.From, "what is lost grows as fast as the wait")
	require.Zero(t, s.RipeAt(m.State.Now))
}

// Others than those chosen may pay sooner, so a bid is made again after an eighth of its wait,
// unless it has waited for longer than any span of the contract.
func TestABidIsMadeAgainWhereOthersMayPaySooner(t *testing.T) {
	m := machine(t, 2, weighing)
	m.Queue("a", 0)
	m.Run(saves(job("steady", "a", 1, 4), berth.Hour), "n1")
	spec := job("saves-itself", "a", 1, 4)
	spec.Checkpoint.Interval = 10 * berth.Hour
	m.Run(spec, "n2")
	m.Later(5 * berth.Hour)
	rep := m.Wait(roomtest.WithPriority(job("urgent", "a", 1, 4), 1))
	m.Later(8 * berth.Minute)
	victims, s := own(m, rep)
	require.Equal(t, []string{"steady"}, victims)
	require.True(t, s.Unsteady)
	require.Equal(t, m.State.Now.Add(berth.Minute), s.RipeAt(m.State.Now))
	require.Equal(t, m.State.Now.Add(2*berth.Minute), s.RipeAt(m.State.Now.Add(2*berth.Minute)), "not before it may bid at all")
}

func TestWhereNoOtherLosesLessByThenABidWaitsUntilItPays(t *testing.T) {
	m := machine(t, 2, weighing)
	m.Queue("a", 0)
	m.Run(saves(job("cheap", "a", 1, 4), berth.Hour), "n1")
	m.Run(saves(job("dear", "a", 1, 4), 2*berth.Hour), "n2")
	victims, s := own(m, m.Wait(roomtest.WithPriority(job("urgent", "a", 1, 4), 1)))
	require.Equal(t, []string{"cheap"}, victims)
	require.NotNil(t, s.Weighing)
	require.False(t, s.Unsteady)
}

func TestTheGainOfTheEmbedderTakesThePlaceOfTheStandardOne(t *testing.T) {
	var asked []preempt.Beneficiary
	config := berth.Config{Gain: func(b preempt.Beneficiary) preempt.GPUMilliseconds {
		asked = append(asked, b)
		return 1
	}}
	m := roomtest.New(t, config)
	m.Nodes(1, 4)
	m.Queue("a", 0)
	m.Run(saves(job("runs", "a", 1, 4), berth.Hour), "n1")
	m.Later(berth.Minute)
	_, s := own(m, m.Wait(roomtest.WithPriority(job("urgent", "a", 1, 4), 7)))
	require.Equal(t, preempt.GPUMilliseconds(1), s.Weighing.Gain)
	require.NotEmpty(t, asked)
	require.Equal(t, int32(7), asked[0].Priority)
	require.Equal(t, int64(4000), asked[0].GPUMilli)
}

// The least that it costs to take from those with more than their share never exceeds what a choice
// costs.
func TestTheLeastThatIsLentCostsNoMoreThanAnyChoice(t *testing.T) {
	m := machine(t, 3, weighing)
	m.Queue("owner", 4)
	m.Queue("borrows", 0)
	m.Run(saves(job("dear", "borrows", 1, 4), berth.Hour), "n1")
	m.Run(saves(job("cheap", "borrows", 1, 4), berth.Minute), "n2")
	m.Run(job("none", "owner", 1, 4), "n3")
	m.Wait(job("waits", "owner", 1, 4))
	m.Books.TellDemands()
	least := m.Victims.LeastLent(m.Books.AllShares())
	require.Equal(t, preempt.GPUMilliseconds(4*berth.Minute), least.At(m.State.Now))
}

func TestAVictimIsExpectedToWaitForAsLongAsTheBeneficiaryRuns(t *testing.T) {
	m := machine(t, 1, func(p *berth.Policy) { p.Preemption.Gain = berth.GainPolicy{Queueing: 5 * berth.Minute} })
	m.Queue("a", 0)
	short := job("short", "a", 1, 1)
	short.ExpectedRuntime = berth.Minute
	require.Equal(t, berth.Minute, m.Victims.QueueingFor(m.Wait(short)))
	require.Equal(t, 5*berth.Minute, m.Victims.QueueingFor(m.Wait(job("long", "a", 1, 1))), "at most as long as the policy counts")
}

func TestAScaleHasTheGainOfThePolicy(t *testing.T) {
	scale := victim.ScaleOf(&berth.GainPolicy{Interactive: 1, LatencyCritical: berth.Off, Turn: 3, WaitMilli: 4})
	require.Equal(t, preempt.Scale{ClassGain: []int64{0, 1, 0}, TurnGain: 3, WaitMilli: 4}, scale)
}
