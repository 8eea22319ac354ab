package berth

import (
	"github.com/berth-sched/berth/internal/enum"
)

// Moves says whether gangs that run are moved, so that one that waits finds in one piece
// what is free in pieces. It is for gangs that are blocked by fragmentation alone: enough is
// free for them and within their quota, but nowhere such that they fit. A move is asked for,
// and carried out, as a preemption is; but who is moved has its new place kept for it, and
// goes on there. Latency-critical gangs are never moved.
//
// Moves have to pay: the wait that they save the one that waits, times its GPUs, has to
// exceed what they cost, in GPU-milliseconds (package preempt: the checkpoint or the work
// since the last one, and the restart). The wait is as long as a reservation would expect it
// to be, or Policy.AssumedRuntime where none could be expected.
type Moves struct {
	Mode MovesMode `json:"mode,omitzero"`
	// Most is how many gangs are moved for one at the most; default 8.
	Most int `json:"most,omitempty"`
}

// A MovesMode says whether moves are made.
type MovesMode uint8

const (
	// MovesProposed: Explain and WhatItTakes name them, none is ordered.
	MovesProposed MovesMode = iota
	// MovesOrdered: they are made.
	MovesOrdered
	// MovesOff: nobody looks for any.
	MovesOff
)

const movesModeNames enum.Names = "propose|on|off"

// ParseMovesMode is the inverse of MovesMode.String.
func ParseMovesMode(s string) (MovesMode, error) {
	return parseEnum[MovesMode]("mode", movesModeNames, s)
}

func (m MovesMode) String() string { return enum.Text(movesModeNames, m, "MovesMode(%d)") }

func (m MovesMode) MarshalText() ([]byte, error) { return marshalEnum("mode", movesModeNames, m) }

func (m *MovesMode) UnmarshalText(b []byte) error { return unmarshalEnum(m, ParseMovesMode, b) }
