package report

import (
	"math/bits"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/enum"
)

// A Category is a kind of job that the report tells apart.
type Category uint8

// The categories, in the order in which they are reported. A gang is a job of
// GangGPUs or more that is no service.
const (
	Inference Category = iota
	InferenceShare
	Notebook
	NotebookShare
	Batch
	BatchShare
	Gang64
	Gang128
	Gang256
	Gang512
	HostOnly
	categories
)

// GangGPUs is how many GPUs make a job a gang.
const GangGPUs = 64

const categoryNames enum.Names = "Category: inference|inference, share|interactive|interactive, share|batch|batch, share|" +
	"gang, 64 GPUs|gang, 128 GPUs|gang, 256 GPUs|gang, 512 GPUs|host only"

func (c Category) String() string { return enum.Text(categoryNames, c) }

// CategoryOf sorts a job into its category: by the GPUs it claims, and by its
// class. Gangs between two sizes belong to the lower one, those above 512 GPUs to
// the last.
func CategoryOf(j *berth.Job) Category {
	gpus, shares := 0, false
	for i := range j.Groups {
		gpus += j.Groups[i].Members * j.Groups[i].Claim.GPUs
		cl := &j.Groups[i].Claim
		shares = shares || cl.Share != nil || cl.MIG != "" || cl.MinInstance != nil
	}
	switch {
	case gpus == 0 && !shares:
		return HostOnly
	case gpus >= GangGPUs && j.Service == nil:
		return min(Gang64+Category(bits.Len(uint(gpus/GangGPUs))-1), Gang512)
	}
	whole := map[berth.Class]Category{berth.ClassLatencyCritical: Inference, berth.ClassInteractive: Notebook, berth.ClassBatch: Batch}[j.Class]
	if gpus == 0 {
		return whole + 1
	}
	return whole
}
