package check_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/check"
)

// This file is the part of the zoo that is about the parts of a gang.

// inParts gives a job two groups, with so many members of one GPU each, of these parts.
func inParts(apart string, members [2]int, of [2]string, list ...berth.Part) func(*berth.Job) {
	return func(j *berth.Job) {
		j.Topology.Parts, j.Topology.Apart = list, apart
		j.Groups = []berth.Group{
			{Name: "p", Part: of[0], Members: members[0], Claim: berth.WholeGPUs(1)},
			{Name: "d", Part: of[1], Members: members[1], Claim: berth.WholeGPUs(1)},
		}
	}
}

// of is where a member of a group is.
func of(group string, at berth.MemberPlacement) berth.MemberPlacement {
	at.Group = group
	return at
}

var parted = []animal{
	{check.PromiseS8, "two groups of a part stand on two leaves", func(z *zoo) error {
		z.submit("a", 1, inParts("", [2]int{1, 1}, [2]string{"x", "x"}, berth.Part{Name: "x", Required: "leaf"}))
		return z.try(z.bind("a", of("p", on(0, "n1", 0)), of("d", on(0, "n3", 0))))
	}},
	{check.PromiseS8, "two parts that are to be apart stand on one leaf", func(z *zoo) error {
		z.submit("a", 1, inParts("leaf", [2]int{1, 1}, [2]string{"x", "y"}, berth.Part{Name: "x"}, berth.Part{Name: "y"}))
		return z.try(z.bind("a", of("p", on(0, "n1", 0)), of("d", on(0, "n2", 0))))
	}},
	{check.PromiseS8, "a part that is to be apart stands on two leaves", func(z *zoo) error {
		z.submit("a", 1, inParts("leaf", [2]int{1, 1}, [2]string{"x", "x"}, berth.Part{Name: "x"}))
		return z.try(z.bind("a", of("p", on(0, "n1", 0)), of("d", on(0, "n3", 0))))
	}},
	{check.PromiseS8, "copies are mixed up", func(z *zoo) error {
		z.submit("a", 1, inParts("", [2]int{2, 2}, [2]string{"x", "x"}, berth.Part{Name: "x", Required: "leaf", Copies: 2}))
		return z.try(z.bind("a", of("p", on(0, "n1", 0)), of("p", on(1, "n3", 0)), of("d", on(0, "n3", 1)), of("d", on(1, "n2", 0))))
	}},
	{check.PromiseS8, "two copies that are to be apart stand on one leaf", func(z *zoo) error {
		z.submit("a", 1, inParts("leaf", [2]int{2, 2}, [2]string{"x", "x"}, berth.Part{Name: "x", Copies: 2}))
		return z.try(z.bind("a", of("p", on(0, "n1", 0)), of("p", on(1, "n2", 0)), of("d", on(0, "n1", 1)), of("d", on(1, "n2", 1))))
	}},
	{check.PromiseS8, "a group of a copy leaves its node", func(z *zoo) error {
		z.submit("a", 1, inParts("", [2]int{2, 4}, [2]string{"", "x"}, berth.Part{Name: "x", Required: "leaf", Copies: 2}), func(j *berth.Job) {
			j.Groups[1].Topology.Required = "node"
			j.Groups = j.Groups[1:]
		})
		return z.try(z.bind("a", of("d", on(0, "n1", 0)), of("d", on(1, "n2", 0)), of("d", on(2, "n3", 0)), of("d", on(3, "n3", 1))))
	}},
	{check.PromiseS8, "a member of a part is repaired on another leaf", func(z *zoo) error {
		z.submit("a", 1, inParts("", [2]int{1, 1}, [2]string{"x", "x"}, berth.Part{Name: "x", Required: "leaf"}))
		z.pass(z.bind("a", of("p", on(0, "n1", 0)), of("d", on(0, "n1", 1))))
		z.tell(berth.OrderReported{Order: 1, Outcome: berth.OutcomePartial, Members: []berth.MemberRef{{Group: "d"}}})
		repair := z.bind("a", of("d", on(0, "n3", 0)))
		repair.Cause.Code = berth.CauseRepair
		return z.try(repair)
	}},
}

// Nothing is caught that is right about parts.
func TestPartsThatAreRightPass(t *testing.T) {
	z := newZoo(t)
	z.submit("a", 1, inParts("leaf", [2]int{2, 2}, [2]string{"x", "x"}, berth.Part{Name: "x", Required: "leaf", Copies: 2}))
	require.NoError(t, z.try(z.bind("a", of("p", on(0, "n1", 0)), of("p", on(1, "n3", 0)), of("d", on(0, "n2", 0)), of("d", on(1, "n3", 1)))))
}
