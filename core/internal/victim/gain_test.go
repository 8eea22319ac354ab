package victim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
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
// any cost.
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

func TestAGuaranteeIsReclaimedAtAnyCost(t *testing.T) {
	m := machine(t, 1, weighing)
	m.Queue("owner", 4)
	m.Queue("borrows", 0)
	m.Run(saves(job("runs", "borrows", 1, 4), berth.Hour), "n1")
	victims, s := reclaim(m, m.Wait(job("o", "owner", 1, 4)))
	require.Equal(t, []string{"runs"}, victims)
	require.Nil(t, s.Weighing)
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
