package worlds

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
)

// Lending is one of the worlds of other tests, in which most jobs with whole GPUs lend them and
// tell how busy they are, and two in five of the jobs borrow.
func (g *Generator) Lending() (berth.Config, sim.Options, []sim.Arrival) {
	config, options, list := one(g, (*Generator).World, (*Generator).Contended, (*Generator).Moving, (*Generator).Drained, (*Generator).Failing, (*Generator).Swapping)(g)
	config.Policy.Lending = g.idleness()
	g.list = nil
	for i := range list {
		switch e := list[i].Event.(type) {
		case berth.PolicyChanged:
			e.Policy.Lending = g.idleness()
			list[i].Event = e
		case berth.JobSubmitted:
			e.Job.Groups = slices.Clone(e.Job.Groups)
			g.lendsOrBorrows(&e.Job, list[i].At)
			list[i].Event = e
		case berth.JobObserved:
			e.Job.Lend = g.lend()
			g.tellsActivity(e.Job.ID, 7, list[i].At)
			list[i].Event = e
		}
	}
	g.list = append(list, g.list...)
	g.sort()
	return config, options, g.list
}

// idleness draws when GPUs count as idle.
func (g *Generator) idleness() berth.Lending {
	return berth.Lending{QuietMilli: one(g, 0, 0, 100, 100, 300, berth.Off), QuietFor: one(g, 0, berth.Off, berth.Off, berth.Second, 10*berth.Second)}
}

func (g *Generator) lend() *berth.Lend {
	return &berth.Lend{Within: one(g, 0, berth.Second, 10*berth.Second, berth.Minute, 5*berth.Minute), MemoryMiB: one[int64](g, 1, 1000, 20_000, 60_000)}
}

// lendsOrBorrows makes a lender of a job with whole GPUs, or a borrower, or leaves it as it is.
func (g *Generator) lendsOrBorrows(j *berth.Job, at berth.Time) {
	if g.Chance(40) {
		g.borrows(j)
		return
	}
	whole := slices.ContainsFunc(j.Groups, func(o berth.Group) bool { return o.Claim.GPUs > 0 })
	if whole && g.Chance(80) { // refused where it has domains for itself
		j.Lend = g.lend()
		for range 3 {
			g.tellsActivity(j.ID, 1, at)
		}
	}
}

// borrows makes a borrower of a job. Some of what is left of it is refused.
func (g *Generator) borrows(j *berth.Job) {
	j.Class, j.Service, j.MinRuntime = berth.ClassBatch, nil, 0
	if g.Chance(95) {
		j.Topology.Exclusive = ""
	}
	for i := range j.Groups {
		o := &j.Groups[i]
		host := berth.HostOnly(o.Claim.CPUMilli/4, o.Claim.MemoryMiB/4)
		if o.Claim = host; i == 0 || g.Chance(70) {
			o.Claim = berth.BorrowedGPU(one[int64](g, 1, 1000, 10_000, 50_000)).WithHost(host.CPUMilli, host.MemoryMiB)
		}
		o.Members, o.MinMembers = min(o.Members, 2), 0
		o.Topology = berth.Topology{Required: o.Topology.Required, Preferred: o.Topology.Preferred}
		if o.Claim.Borrow == nil && o.Claim.CPUMilli+o.Claim.MemoryMiB == 0 {
			o.Claim.CPUMilli = 1
		}
	}
}

// tellsActivity has a job tell now and then how busy a replica is, in one of its first lives.
func (g *Generator) tellsActivity(id berth.JobID, life berth.Incarnation, from berth.Time) {
	replica := g.IntN(3)
	for t := from; t < from.Add(40*berth.Minute); t = t.Add(berth.Duration(g.Int64N(int64(4 * berth.Minute)))) {
		g.at(t, berth.ActivityReported{Job: id, Replica: replica * g.IntN(2), Incarnation: life + berth.Incarnation(g.IntN(3)/2), ActiveMilli: one(g, 0, 0, 0, 60, 200, 900)})
		if g.Chance(10) {
			life++
		}
	}
}
