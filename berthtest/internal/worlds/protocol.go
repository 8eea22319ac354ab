package worlds

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/check"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/quota"
)

// Hectic draws a world in which many are evicted: elastic training on a full fleet, and
// bursts of inference that come, take the place of some of it, and are gone again; passes
// that are half a minute apart, so that much happens between them.
func (g *Generator) Hectic() (berth.Config, sim.Options, []sim.Arrival) {
	config := berth.Config{Ledger: true, Policy: berth.Policy{
		ReservedGangs: -1, ReleaseTimeout: one(g, 0, 20*berth.Second), ReleaseAttempts: 2,
		Preemption: berth.Preemption{CheckpointTimeout: 40 * berth.Second},
	}}
	within := func(at berth.Time, d berth.Duration) berth.Time { return at.Add(berth.Duration(g.Int64N(int64(d)))) }
	g.at(0, berth.QueueSet{Queue: quota.Queue{Name: "q"}})
	nodes := 2 + g.IntN(2)
	for i := range nodes {
		n := berth.Node{ID: berth.NodeID(fmt.Sprintf("n%d", i)), CPUMilli: 64_000, MemoryMiB: 64_000}
		for range 4 {
			n.GPUs = append(n.GPUs, berth.GPU{Product: "H100", MemoryMiB: 81_920})
		}
		g.at(0, berth.NodeJoined{Node: n})
	}
	submit := func(at berth.Time, j berth.Job, runtime berth.Duration) {
		j.Queue = "q"
		g.list = append(g.list, sim.Arrival{At: at, Event: berth.JobSubmitted{Job: j}, Runtime: runtime})
	}
	for i := range 6 * nodes {
		j := berth.Job{ID: berth.JobID(fmt.Sprintf("train%d", i)), GangTimeout: one(g, 0, 0, 3*berth.Minute)}
		j.Groups = []berth.Group{{Members: one(g, 1, 3, 4), MinMembers: 1, Claim: berth.Claim{GPUs: one(g, 1, 1, 2)}}}
		if g.Chance(50) {
			j.Groups[0].MinMembers = max(1, j.Groups[0].Members-1)
		}
		j.Checkpoint = berth.Checkpoint{Supported: g.Chance(90), Cost: berth.Duration(g.Int64N(int64(50 * berth.Second)))}
		at := within(0, hecticSpan)
		if g.Chance(20) {
			j.Service = &berth.Service{Replicas: 1 + g.IntN(3)}
			for range 6 {
				g.at(within(0, hecticSpan), berth.JobScaled{Job: j.ID, Replicas: g.IntN(4)})
			}
		}
		submit(at, j, one(g, 0, berth.Duration(1+g.Int64N(int64(6*berth.Minute)))))
	}
	for i := range 6 * nodes {
		j := berth.Job{ID: berth.JobID(fmt.Sprintf("burst%d", i)), Class: berth.ClassLatencyCritical}
		j.Groups = []berth.Group{{Members: one(g, 1, 2, 4), Claim: berth.Claim{GPUs: one(g, 1, 2)}}}
		submit(within(0, hecticSpan), j, berth.Duration(1+g.Int64N(int64(2*berth.Minute))))
	}
	g.sort()
	return config, sim.Options{
		StartDelay: berth.Second, StopDelay: one(g, berth.Second, 20*berth.Second, 40*berth.Second),
		PassInterval: one(g, 20*berth.Second, 45*berth.Second), Seed: g.Uint64(),
		Faults: sim.Faults{
			BindFail: 0.02, ReleaseFail: 0.25, ReleasePartial: 0.15, CheckpointFail: 0.3, WithdrawLate: 0.3,
			ReportLost: 0.15, ReportLate: 0.1, ReportDouble: 0.1, ReportOld: 0.1, MemberDie: 0.05,
			Restore: 0.25, Until: berth.Time(hecticSpan),
		},
	}, g.list
}

// hecticSpan is for how long there is trouble.
const hecticSpan = 20 * berth.Minute

// A Tormentor is a workload that makes trouble for victims, where it hurts:
// every few seconds something happens to one of them that its phase has an arrow for.
type Tormentor struct {
	*Generator
	Run  *Run
	next berth.Time // when to look again
}

// Next gives the arrivals of the generator, and the trouble between them.
func (t *Tormentor) Next() (sim.Arrival, bool) {
	if now := t.Run.now(); now >= t.next && now < berth.Time(hecticSpan) {
		t.next = now.Add(4 * berth.Second)
		t.at(t.next, berth.LedgerSettled{}) // to look again then
		t.torment(now, t.Run.Checker.Victims())
		t.sort()
	}
	if len(t.list) == 0 {
		return sim.Arrival{}, false
	}
	first := t.list[0]
	t.list = t.list[1:]
	return first, true
}

// torment has something happen to a victim, or to its beneficiary: mostly to
// those in phases that end with the next pass, now and then to others.
func (t *Tormentor) torment(now berth.Time, courses []check.Victim) {
	rare := slices.DeleteFunc(slices.Clone(courses), func(c check.Victim) bool {
		return slices.Contains([]string{"requested", "evicting", "released"}, c.Phase)
	})
	switch {
	case len(rare) > 0 && t.Chance(50):
		courses = rare
	case len(courses) == 0 || !t.Chance(15):
		return
	}
	c := one(t.Generator, courses...)
	fail := func(p berth.MemberPlacement) {
		for _, gpu := range p.GPUs.Indexes() {
			t.at(now, berth.GPUFailed{Node: p.Node, GPU: gpu, Reason: "Xid 79"})
			t.at(now.Add(berth.Duration(1+t.Int64N(int64(berth.Minute)))), berth.GPURepaired{Node: p.Node, GPU: gpu})
		}
	}
	switch kind := t.IntN(10); {
	case kind < 3 && len(c.Held) > 0:
		fail(one(t.Generator, c.Held...))
	case kind < 5 && len(c.Held) > 1:
		for _, p := range c.Held[1:] {
			fail(p)
		}
	case kind == 5:
		for _, p := range c.Held {
			fail(p)
		}
	case kind == 6:
		t.at(now, berth.JobFinished{Job: c.Replica.Job, Incarnation: c.Incarnation})
	case kind == 7:
		t.at(now, berth.JobCancelled{Job: c.Replica.Job})
	case kind < 10 && c.Beneficiary != berth.ReplicaRef{}:
		t.at(now, berth.JobCancelled{Job: c.Beneficiary.Job})
	}
}

// now is the instant that a run has reached.
func (r *Run) now() berth.Time {
	if r.Sim == nil {
		return 0
	}
	return r.Sim.Now()
}
