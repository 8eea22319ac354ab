package answer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
	"github.com/berth-sched/berth/quota"
)

// machine is a fleet of two racks with two nodes of 8 GPUs each, n1 and n2, n3 and n4, and two
// queues.
func machine(t roomtest.TB, change ...func(*berth.Config)) *roomtest.Machine {
	config := berth.Config{Levels: []string{"rack"}}
	for _, c := range change {
		c(&config)
	}
	m := roomtest.New(t, config)
	m.Nodes(2, 8, "r1")
	m.Nodes(2, 8, "r2")
	m.Queue("a", 16)
	m.Queue("b", 16)
	return m
}

func job(id berth.JobID, members, gpus int) berth.Job { return roomtest.Job(id, "a", members, gpus) }

// claiming is a job of members with a claim.
func claiming(id berth.JobID, members int, claim berth.Claim) berth.Job {
	j := job(id, members, 0)
	j.Groups[0].Claim = claim
	if claim.Share != nil {
		j.Class = berth.ClassInteractive
	}
	return j
}

// place runs the stages that place what is ready, so that it is known what does not fit.
func place(m *roomtest.Machine) {
	m.Pass(m.Search.Wake, m.Agenda.BeginPlacing, m.Search.Place)
}

// explain is what is said of the first replica of a job, which no look at it changes.
func explain(t roomtest.TB, m *roomtest.Machine, id berth.JobID) berth.ReplicaExplanation {
	before, agenda := m.Admission.SaveJobs(), *m.Agenda
	e, err := m.Answers.Explain(id)
	require.NoError(t, err)
	require.Equal(t, before, m.Admission.SaveJobs())
	require.Equal(t, agenda, *m.Agenda)
	require.NoError(t, m.Check())
	again, _ := m.Answers.Explain(id)
	require.Equal(t, e, again, "and none forgets")
	return e.Replicas[0]
}

// Invariant 2.
func TestAReasonSaysWhatIsInTheWay(t *testing.T) {
	for name, c := range map[string]struct {
		play func(m *roomtest.Machine)
		spec berth.Job
		code berth.ReasonCode
		text string
	}{
		"nothing": {func(*roomtest.Machine) {}, job("waits", 1, 8), berth.ReasonTurn, "nothing is known to be in the way"},
		"a limit": {
			func(m *roomtest.Machine) {
				m.SetQueue(quota.Queue{Name: "a", Limit: quota.GPUs(4)})
				m.Run(job("runs", 1, 2), "n1")
			}, job("waits", 1, 8), berth.ReasonQuota, "queue a uses 2 GPUs of its limit of 4 GPUs; the job asks for 8 GPUs",
		},
		"a borrowing limit": {
			func(m *roomtest.Machine) {
				m.SetQueue(quota.Queue{Name: "a", Guarantee: quota.GPUs(4), BorrowingLimit: quota.GPUs(2)})
			}, job("waits", 1, 8), berth.ReasonQuota, "queue a uses 0 GPUs of the 6 GPUs that it is guaranteed or may borrow; the job asks for 8 GPUs",
		},
		"a lending limit": {
			func(m *roomtest.Machine) {
				m.SetQueue(quota.Queue{Name: "b", Guarantee: quota.GPUs(16), LendingLimit: quota.GPUs(0)})
				m.Run(job("runs", 2, 8), "n1", "n2")
			}, job("waits", 1, 8), berth.ReasonQuota, "of 32 GPUs, 16 GPUs are used and 16 GPUs are guaranteed to queues that do not lend them, 16 GPUs of these to queue b; the job asks for 8 GPUs",
		},
		"no node": {func(*roomtest.Machine) {}, inPool(job("waits", 1, 8)), berth.ReasonNoNodes, "no schedulable node qualifies for the gang (8 GPUs)"},
		"its size": {
			func(*roomtest.Machine) {}, job("waits", 5, 8), berth.ReasonTooLarge,
			"the gang (8 GPUs each) needs 5 members, and 4 would fit if the fleet were idle",
		},
		"GPUs": {
			func(m *roomtest.Machine) { m.Run(job("runs", 3, 8), "n1", "n2", "n3") }, job("waits", 4, 8), berth.ReasonGPUs,
			"1 of 4 members of the gang (8 GPUs each) fits now",
		},
		"the host": {
			func(m *roomtest.Machine) {
				for _, n := range []string{"n1", "n2", "n3", "n4"} {
					spec := job(berth.JobID("on-"+n), 1, 1)
					spec.Groups[0].Claim.CPUMilli = 90_000
					m.Run(spec, n)
				}
			}, claiming("waits", 1, berth.Claim{GPUs: 1, CPUMilli: 20_000}), berth.ReasonHost, "the gang (1 GPU, 20 CPUs) does not fit now: host CPU is short",
		},
		"shares": {
			func(m *roomtest.Machine) { m.Run(job("runs", 4, 8), "n1", "n2", "n3", "n4") },
			claiming("waits", 1, berth.SharedGPU(berth.ShareMPS, 500)), berth.ReasonShares, "the gang (0.5 of a GPU) does not fit now",
		},
		"one rack": {
			func(m *roomtest.Machine) { m.Run(job("runs", 2, 8), "n1", "n3") }, inRack(job("waits", 2, 8)), berth.ReasonFragmented,
			"2 of 2 members of the gang (8 GPUs each) fit now, but only 1 of them in one rack that is large enough (r1)",
		},
		"no rack is as large": {
			func(*roomtest.Machine) {}, inRack(job("waits", 3, 8)), berth.ReasonTooLarge,
			"the gang (8 GPUs each) needs 3 members in one rack, and 2 would fit in r1 if the fleet were idle",
		},
		"a rack of its own": {
			func(m *roomtest.Machine) { m.Run(job("runs", 2, 1), "n1", "n3") }, alone(job("waits", 1, 8)), berth.ReasonFragmented,
			"the gang needs a rack of its own, and none with a node that qualifies for the gang (8 GPUs) is idle",
		},
		"what is set aside": {
			func(m *roomtest.Machine) {
				for _, n := range []string{"n1", "n2", "n3", "n4"} {
					m.Reserve(m.Wait(job(berth.JobID("for-"+n), 1, 8)), m.State.Now.Add(berth.Hour), n)
				}
			}, job("waits", 1, 8), berth.ReasonReserved, "enough is free, but set aside: 1 node for job for-n1, which is expected to start in 1h0m0s",
		},
		"how GPUs are divided": {
			func(*roomtest.Machine) {}, claiming("waits", 1, berth.MIGInstance("1g.10gb")), berth.ReasonTooLarge,
			"the gang (one 1g.10gb instance) needs 1 member, and none would fit if the fleet were idle",
		},
		"groups together": {
			func(m *roomtest.Machine) { m.Run(job("runs", 3, 8), "n1", "n2", "n3") }, berth.Job{ID: "waits", Queue: "a", Groups: []berth.Group{
				{Name: "x", Members: 1, Claim: berth.WholeGPUs(5)}, {Name: "y", Members: 1, Claim: berth.WholeGPUs(4)},
			}}, berth.ReasonFragmented, "not together with the other groups",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := machine(t)
			c.play(m)
			rep := m.Wait(c.spec)
			switch c.code {
			case berth.ReasonTurn:
			case berth.ReasonReserved: // those for which it is would start first
				m.Backlog.Block(rep.Entries[0].Bucket.Shape)
			default:
				place(m)
			}
			e := explain(t, m, "waits")
			require.NotNil(t, e.Reason)
			require.Contains(t, e.Reason.Text, c.text)
			require.Equal(t, c.code, e.Reason.Code)
			require.NotEmpty(t, e.Reason.Remedy)
			require.Equal(t, berth.ReplicaPending, e.State)
		})
	}
}

func inPool(j berth.Job) berth.Job {
	j.Groups[0].Selector.Pools = []string{"other"}
	return j
}

func inRack(j berth.Job) berth.Job {
	j.Topology.Required = "rack"
	return j
}

func alone(j berth.Job) berth.Job {
	j.Topology.Exclusive = "rack"
	return j
}

func TestAnUnknownJobIsRefused(t *testing.T) {
	m := machine(t)
	_, err := m.Answers.Explain("none")
	require.ErrorIs(t, err, berth.ErrUnknown)
	_, known := m.Answers.Job("none")
	require.False(t, known)
	_, known = m.Answers.Node("none")
	require.False(t, known)
	_, known = m.Answers.Queue("none")
	require.False(t, known)
	_, err = m.Answers.BlastRadius("n1", 8)
	require.ErrorIs(t, err, berth.ErrInvalid)
}

// What a quarantine keeps away is said beside what is short.
func TestAReasonNamesNodesInQuarantine(t *testing.T) {
	m := machine(t, func(c *berth.Config) {
		c.Policy.Health = berth.Health{Losses: 1, Within: 24 * berth.Hour, Quarantine: berth.Hour}
	})
	m.Run(job("runs", 4, 8), "n1", "n2", "n3", "n4")
	m.State.NoteLoss("n5")
	m.Join(roomtest.Node("n5", 8, "r1"))
	m.State.Config.Policy.Health.BurnIn = berth.Hour
	m.Upkeep.BeginBurnIn(m.NodeNamed("n1"), m.State.Now) // watched as well, and no reason
	m.Wait(job("waits", 1, 8))
	place(m)
	require.Contains(t, explain(t, m, "waits").Reason.Remedy, "or the end of quarantine of 1 node, the first in 1h0m0s")
}

func TestABackoffIsExplained(t *testing.T) {
	m := machine(t)
	rep := m.Run(job("gang", 1, 8), "n1")
	m.Life.MembersDied(rep, []int{0}, berth.FaultJob, berth.Cause{Code: berth.CauseMemberFailed})
	reason := explain(t, m, "gang").Reason
	require.Equal(t, berth.ReasonBackoff, reason.Code)
	require.Equal(t, rep.Retry.Get().ReadyAt, reason.Until)
	require.Contains(t, m.Answers.StartPlan(rep).Text, "it failed, and backs off for another")
}

// What waits stands in a line, and replicas that wait alike are explained as one.
func TestReplicasThatWaitAlikeAreExplainedTogether(t *testing.T) {
	m := machine(t)
	m.Run(job("runs", 4, 8), "n1", "n2", "n3", "n4")
	m.Wait(job("first", 1, 8))
	m.Later(1)
	service := job("service", 1, 8)
	service.Service = &berth.Service{Replicas: 4}
	m.Wait(service)
	m.Later(1)
	m.Wait(job("last", 1, 8))
	place(m)
	e, err := m.Answers.Explain("service")
	require.NoError(t, err)
	require.Len(t, e.Replicas, 1)
	require.Equal(t, 3, e.Replicas[0].Alike)
	require.Equal(t, 1, e.Replicas[0].Position, "a service has its turn at once, a job later")
	require.Equal(t, 6, explain(t, m, "last").Position)
	require.Equal(t, berth.QueueID("a"), e.Positions[len(e.Positions)-1].Queue)
	require.EqualValues(t, 32_000, e.Positions[len(e.Positions)-1].UsedMilli)
	s, _ := m.Answers.Job("service")
	require.Len(t, s.Replicas, 1)
	require.Equal(t, 3, s.Replicas[0].Alike)
}

func TestWhatRunsIsExplained(t *testing.T) {
	m := machine(t)
	spec := job("gang", 2, 8)
	spec.ExpectedRuntime = berth.Hour
	rep := m.Run(spec, "n2", "n1")
	m.Later(berth.Minute)
	e := explain(t, m, "gang")
	require.Equal(t, berth.ReplicaRunning, e.State)
	require.Equal(t, rep.Started, e.Since)
	require.Equal(t, rep.Started.Add(berth.Hour), e.ExpectedEnd)
	require.Equal(t, berth.NodeID("n2"), e.Members[0].Node)
	require.Nil(t, e.Reason)
	require.Equal(t, "it does not wait: it is running", m.Answers.StartPlan(rep).Text)
}

// Invariant 3: what preemption could do, and why it does not.

// full is a fleet of two nodes that another queue's gangs fill, with a gang that waits. Cost does
// not count.
func full(t roomtest.TB, spec func(*berth.Job), change ...func(*berth.Policy)) (*roomtest.Machine, *record.Replica) {
	m := roomtest.AtAnyCost(t, 2, change...)
	m.Queue("a", 8)
	m.Queue("b", 0)
	for _, n := range []string{"n1", "n2"} {
		j := roomtest.Job(berth.JobID("on-"+n), "b", 1, 4)
		j.Checkpoint = berth.Checkpoint{Supported: true, Cost: berth.Minute}
		if spec != nil {
			spec(&j)
		}
		m.Run(j, n)
	}
	rep := m.Wait(job("waits", 1, 4))
	place(m)
	return m, rep
}

func TestPotentialVictimsAreThoseThatTheNextPassTakes(t *testing.T) {
	m, rep := full(t, nil)
	reason := explain(t, m, "waits").Reason
	require.Len(t, reason.PotentialVictims, 1)
	require.Equal(t, "the next pass that looks for victims may preempt these", reason.Preemption)
	piece := record.Piece{Rep: m.State.Jobs[reason.PotentialVictims[0].Job].Replicas.At(0)}
	require.Equal(t, m.State.Now.Add(m.State.GoneIn(piece)), reason.ExpectedStart.Earliest)
	plan := m.Answers.StartPlan(rep)
	require.Equal(t, "preempting 1 running replica would start it", plan.Text)
	require.Equal(t, reason.PotentialVictims, plan.Victims)
	require.Equal(t, plan.Victims[0].Cost, plan.Cost)
	require.NoError(t, m.Check())

	m.Pass(m.Evict.Preempt)
	victim := m.State.Jobs[plan.Victims[0].Job].Replicas.At(0)
	require.Same(t, rep, victim.Beneficiary)
	e := explain(t, m, plan.Victims[0].Job)
	require.Equal(t, rep.Ref(), e.Beneficiary)
	reason = explain(t, m, "waits").Reason
	require.Equal(t, "preemption is under way: 1 victim yet to stop", reason.Preemption)
	require.Equal(t, victim.Order.Header().Deadline, reason.Victims[0].Deadline)
	require.Equal(t, berth.JobID("waits"), reason.Reservation.Job)
	require.Positive(t, reason.ExpectedStart.Earliest)
	require.Equal(t, reason.Preemption, m.Answers.StartPlan(rep).Text)
	m.Wait(job("other", 1, 4))
	place(m)
	require.Len(t, explain(t, m, "other").Reason.PotentialVictims, 1, "beside what is planned")
}

func TestAReasonSaysWhyNothingIsPreempted(t *testing.T) {
	for text, c := range map[string]struct {
		spec   func(*berth.Job)
		change func(*berth.Policy)
		more   func(*roomtest.Machine)
	}{
		"the policy forbids preemption": {change: func(p *berth.Policy) { p.Preemption.Mode = berth.PreemptionOff }},
		"the policy forbids preemption within a queue": {
			spec:   func(j *berth.Job) { j.Queue, j.Priority = "a", -1 },
			change: func(p *berth.Policy) { p.Preemption.Mode = berth.PreemptionReclaim },
		},
		"the first minimum run time or cooldown ends in 1h0m0s": {spec: func(j *berth.Job) { j.MinRuntime = berth.Hour }},
		"preemption does not pay": {
			spec: func(j *berth.Job) { j.Checkpoint.Cost = 1000 * berth.Hour },
			change: func(p *berth.Policy) {
				p.Preemption.Gain = berth.GainPolicy{}
				p.Preemption.MaxRatio = 0
			},
			more: func(m *roomtest.Machine) { m.SetQueue(quota.Queue{Name: "a"}) },
		},
		"by its guarantee of 8 GPUs": {more: func(m *roomtest.Machine) { m.SetQueue(quota.Queue{Name: "b", Guarantee: quota.GPUs(8)}) }},
	} {
		t.Run(text, func(t *testing.T) {
			var change []func(*berth.Policy)
			if c.change != nil {
				change = append(change, c.change)
			}
			m, _ := full(t, c.spec, change...)
			if c.more != nil {
				c.more(m)
			}
			require.Contains(t, explain(t, m, "waits").Reason.Preemption, text)
		})
	}
}

// A gang of two members has half of each of two nodes: one of the gangs moves to the other.
func TestMovesThatWouldStartAGangAreNamed(t *testing.T) {
	m := roomtest.AtAnyCost(t, 2, func(p *berth.Policy) {
		p.Defragmentation.Mode, p.Preemption.Mode = berth.DefragmentationPropose, berth.PreemptionOff
	})
	m.Queue("a", 0)
	for _, n := range []string{"n1", "n2"} {
		half := job(berth.JobID("on-"+n), 2, 1)
		half.Checkpoint = berth.Checkpoint{Supported: true, Cost: berth.Minute}
		m.Run(half, n, n)
	}
	rep := m.Wait(job("waits", 1, 4))
	place(m)
	plan := m.Answers.StartPlan(rep)
	require.Equal(t, "moving 1 running replica would start it", plan.Text)
	require.Equal(t, []berth.Move{{Job: "on-n1", Queue: "a", GPUMilli: 2000, From: []berth.NodeID{"n1"}, To: []berth.NodeID{"n2"}}}, plan.Moves)
	require.Equal(t, plan.Moves, explain(t, m, "waits").Reason.Moves)
	fits := m.Wait(job("fits", 1, 2))
	require.True(t, m.Answers.StartPlan(fits).Fits)
}
