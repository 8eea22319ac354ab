package mig

import "strconv"

// A Mode is how an AMD Instinct GPU is partitioned: compute mode and memory mode
// together. It names a profile where the parts of a GPU have no names of their
// own, because all of them are alike and the mode tells how many there are.
//
// The compute modes SPX, DPX, QPX and CPX make one, two, four and eight partitions
// of the GPU's accelerator dies; the memory modes NPS1, NPS2 and NPS4 make one,
// two and four domains of its memory.
type Mode uint8

const (
	// NoMode: a profile that is named otherwise, as those of NVIDIA are.
	NoMode Mode = iota
	SPXNPS1
	DPXNPS1
	DPXNPS2
	QPXNPS1
	QPXNPS4
	CPXNPS1
	CPXNPS4

	modes = iota
)

// String returns the mode as AMD's device plugin for Kubernetes names it, such as
// "cpx_nps4"; it is empty for NoMode.
func (m Mode) String() string {
	switch m {
	case NoMode:
		return ""
	case SPXNPS1:
		return "spx_nps1"
	case DPXNPS1:
		return "dpx_nps1"
	case DPXNPS2:
		return "dpx_nps2"
	case QPXNPS1:
		return "qpx_nps1"
	case QPXNPS4:
		return "qpx_nps4"
	case CPXNPS1:
		return "cpx_nps1"
	case CPXNPS4:
		return "cpx_nps4"
	default:
		return "mode_" + strconv.Itoa(int(m))
	}
}

// parseMode reads what String writes for a mode other than NoMode.
func parseMode(text string) (Mode, bool) {
	for m := NoMode + 1; m < modes; m++ {
		if text == m.String() {
			return m, true
		}
	}
	return NoMode, false
}
