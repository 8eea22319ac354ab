package workload

import (
	"slices"

	"github.com/berth-sched/berth"
)

// models are the GPUs of published traces whose model is public, with nominal memory.
var models = map[string]berth.GPU{
	"P100":           {MemoryMiB: 16 << 10, ComputeCapability: berth.ComputeCapability{Major: 6}},
	"T4":             {MemoryMiB: 16 << 10, ComputeCapability: berth.ComputeCapability{Major: 7, Minor: 5}},
	"V100M16":        {MemoryMiB: 16 << 10, ComputeCapability: berth.ComputeCapability{Major: 7}},
	"V100M32":        {MemoryMiB: 32 << 10, ComputeCapability: berth.ComputeCapability{Major: 7}},
	"A10":            {MemoryMiB: 24 << 10, ComputeCapability: berth.ComputeCapability{Major: 8, Minor: 6}},
	"A100-SXM4-80GB": {MemoryMiB: 80 << 10, ComputeCapability: berth.ComputeCapability{Major: 8}},
	"A800-SXM4-80GB": {MemoryMiB: 80 << 10, ComputeCapability: berth.ComputeCapability{Major: 8}},
	"H800":           {MemoryMiB: 80 << 10, ComputeCapability: berth.ComputeCapability{Major: 9}},
}

// gpusOf are so many GPUs of a model. One that is not public has no memory and no
// compute capability, that is, both are unknown.
func gpusOf(model string, count int) []berth.GPU {
	gpu := models[model]
	gpu.Product = model
	if count < 1 {
		return nil
	}
	return slices.Repeat([]berth.GPU{gpu}, count)
}
