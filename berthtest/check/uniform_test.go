package check_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/check"
)

// This file is the part of the zoo that is about the product of a group, and the labels of a gang.

// older has a node join with two GPUs of another product.
func (z *zoo) older() {
	gpu := berth.GPU{Product: "A100", MemoryMiB: 1000}
	z.tell(berth.NodeJoined{Node: berth.Node{ID: "n4", Domains: []string{"y"}, GPUs: []berth.GPU{gpu, gpu}, CPUMilli: 1000, MemoryMiB: 1000}})
}

// labelled has the nodes carry a driver each, in order; "": none.
func (z *zoo) labelled(drivers ...string) {
	for i, driver := range drivers {
		gpu := berth.GPU{Product: "H100", MemoryMiB: 1000}
		n := berth.Node{ID: berth.NodeID([]string{"n1", "n2", "n3"}[i]), Domains: []string{[]string{"x", "x", "y"}[i]}, GPUs: []berth.GPU{gpu, gpu}, CPUMilli: 1000, MemoryMiB: 1000}
		if driver != "" {
			n.Labels = map[string]string{"driver": driver}
		}
		z.tell(berth.NodeUpdated{Node: n})
	}
}

// ofDriver has a gang stay with one driver.
func ofDriver(j *berth.Job) { j.SameLabels = []string{"driver"} }

// elastic has a gang start with one member.
func elastic(j *berth.Job) { j.Groups[0].MinMembers = 1 }

// grown has the second member of a gang placed, after the first one runs.
func (z *zoo) grown(first, second berth.MemberPlacement, change ...func(*berth.Job)) error {
	z.submit("a", 2, append(change, elastic)...)
	b := z.bind("a", first)
	z.pass(b)
	z.tell(berth.OrderReported{Order: b.ID, Outcome: berth.OutcomeDone})
	grow := z.bind("a", second)
	grow.Cause.Code = berth.CauseGrows
	return z.try(grow)
}

var uniform = []animal{
	{check.PromiseS8, "a group has GPUs of two products", func(z *zoo) error {
		z.older()
		z.submit("a", 2)
		return z.try(z.bind("a", on(0, "n1", 0), on(1, "n4", 0)))
	}},
	{check.PromiseS8, "a member that comes later has another product", func(z *zoo) error {
		z.older()
		return z.grown(on(0, "n1", 0), on(1, "n4", 0))
	}},
	{check.PromiseS8, "a gang stands on two drivers", func(z *zoo) error {
		z.labelled("550", "570", "550")
		z.submit("a", 2, ofDriver)
		return z.try(z.bind("a", on(0, "n1", 0), on(1, "n2", 0)))
	}},
	{check.PromiseS8, "a gang stands on a node without the label", func(z *zoo) error {
		z.labelled("550", "", "550")
		z.submit("a", 1, ofDriver)
		return z.try(z.bind("a", on(0, "n2", 0)))
	}},
	{check.PromiseS8, "a member that comes later has another driver", func(z *zoo) error {
		z.labelled("550", "570", "550")
		return z.grown(on(0, "n1", 0), on(1, "n2", 0), ofDriver)
	}},
	{check.PromiseL1, "a gang waits though one product holds it", func(z *zoo) error {
		z.older()
		z.submit("a", 2, func(j *berth.Job) { j.Groups[0].Claim.GPUs = 2 })
		z.pass()
		return z.c.Quiescent(z.now)
	}},
}

// TestUniformIsWhatIsAskedFor: products are mixed where a group asks for it, groups may differ, the
// host goes anywhere, and the world is believed.
func TestUniformIsWhatIsAskedFor(t *testing.T) {
	for name, right := range map[string]func(*zoo) error{
		"mixed": func(z *zoo) error {
			z.older()
			z.submit("a", 2, func(j *berth.Job) { j.Groups[0].MixProducts = true })
			return z.try(z.bind("a", on(0, "n1", 0), on(1, "n4", 0)))
		},
		"groups differ, and the host stands on a third node": func(z *zoo) error {
			z.older()
			z.labelled("550", "550", "")
			z.submit("a", 2, ofDriver, func(j *berth.Job) {
				j.Groups[0].Name = "workers"
				j.Groups = append(j.Groups, berth.Group{Name: "launcher", Members: 1, Claim: berth.Claim{CPUMilli: 1}})
			})
			b := z.bind("a", on(0, "n1", 0), on(1, "n2", 0), on(0, "n4"))
			b.Members[0].Group, b.Members[1].Group, b.Members[2].Group = "workers", "workers", "launcher"
			return z.try(b)
		},
		"one driver": func(z *zoo) error {
			z.labelled("550", "570", "550")
			return z.grown(on(0, "n1", 0), on(1, "n3", 0), ofDriver)
		},
		"an observed gang grows by one of its two drivers": func(z *zoo) error {
			z.labelled("550", "570", "570")
			z.tell(berth.JobObserved{
				Job:     job("a", 3, ofDriver, elastic),
				Running: []berth.ObservedReplica{{Incarnation: 1, Members: []berth.MemberPlacement{on(0, "n1", 0), on(1, "n2", 0)}}},
			})
			grow := z.bind("a", on(2, "n3", 0))
			grow.Cause.Code = berth.CauseGrows
			return z.try(grow)
		},
	} {
		t.Run(name, func(t *testing.T) { require.NoError(t, right(newZoo(t))) })
	}
}
