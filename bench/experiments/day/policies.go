package day

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/study"
)

// Policy is the one that examples/fleet plays the day with: of those below, the best.
func Policy() berth.Policy { return moves(berth.Policy{}) }

func moves(p berth.Policy) berth.Policy {
	p.Defragmentation.Mode = berth.DefragmentationOn
	return p
}

func spares(p berth.Policy) berth.Policy {
	p.HotSpares = []berth.HotSpares{{Pool: "h100", NodesMilli: 10}}
	return p
}

func reserved(n int) berth.Policy { return berth.Policy{ReservedGangs: n} }

// policies are those that are compared, the default first.
func policies() []study.Line {
	return []study.Line{
		study.Core("the default", berth.Policy{}),
		study.Core("moves", moves(berth.Policy{})),
		study.Core("no reservations", reserved(berth.Off)),
		study.Core("2 reservations (default 1)", reserved(2)),
		study.Core("4 reservations", reserved(4)),
		study.Core("2 reservations, moves", moves(reserved(2))),
		study.Core("hot spares, 1 %", spares(berth.Policy{})),
		study.Core("hot spares, 1 %, moves", spares(moves(berth.Policy{}))),
		study.Core("locality balanced", berth.Policy{Locality: berth.LocalityBalanced}),
		study.Core("no preemption", berth.Policy{Preemption: berth.Preemption{Mode: berth.PreemptionOff}}),
	}
}
