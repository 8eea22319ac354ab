package day

import "github.com/berth-sched/berth"

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
func policies() []line {
	return []line{
		underPolicy("the default", berth.Policy{}),
		underPolicy("moves", moves(berth.Policy{})),
		underPolicy("no reservations", reserved(berth.Off)),
		underPolicy("2 reservations (default 1)", reserved(2)),
		underPolicy("4 reservations", reserved(4)),
		underPolicy("2 reservations, moves", moves(reserved(2))),
		underPolicy("hot spares, 1 %", spares(berth.Policy{})),
		underPolicy("hot spares, 1 %, moves", spares(moves(berth.Policy{}))),
		underPolicy("locality balanced", berth.Policy{Locality: berth.LocalityBalanced}),
		underPolicy("no preemption", berth.Policy{Preemption: berth.Preemption{Mode: berth.PreemptionOff}}),
	}
}
