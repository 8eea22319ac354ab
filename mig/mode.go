package mig

import "github.com/berth-sched/berth/internal/enum"

// A PartitionMode is how an AMD Instinct GPU is partitioned: compute mode and memory mode
// together. It names a profile where the parts of a GPU have no names of their
// own, because all of them are alike and the mode tells how many there are.
//
// The compute modes SPX, DPX, QPX and CPX make one, two, four and eight partitions
// of the GPU's accelerator dies; the memory modes NPS1, NPS2 and NPS4 make one,
// two and four domains of its memory.
type PartitionMode uint8

const (
	// PartitionModeNone: a profile that is named otherwise, as those of NVIDIA are.
	PartitionModeNone PartitionMode = iota
	PartitionModeSPXNPS1
	PartitionModeDPXNPS1
	PartitionModeDPXNPS2
	PartitionModeQPXNPS1
	PartitionModeQPXNPS4
	PartitionModeCPXNPS1
	PartitionModeCPXNPS4

	modes = iota
)

const modeNames enum.Names = "PartitionMode: |spx_nps1|dpx_nps1|dpx_nps2|qpx_nps1|qpx_nps4|cpx_nps1|cpx_nps4"

// String returns the mode as AMD's device plugin for Kubernetes names it, such as
// "cpx_nps4"; it is empty for PartitionModeNone.
func (m PartitionMode) String() string { return enum.Text(modeNames, m) }

func (m PartitionMode) MarshalText() ([]byte, error) { return enum.Marshal(modeNames, m, invalidText) }

func (m *PartitionMode) UnmarshalText(b []byte) error {
	return enum.Unmarshal(modeNames, m, b, invalidText)
}

// parseMode reads what String writes for a mode other than PartitionModeNone.
func parseMode(text string) (PartitionMode, bool) {
	m, ok := enum.Parse[PartitionMode](modeNames, text)
	return m, ok && m != PartitionModeNone
}
