package berth

import (
	"github.com/berth-sched/berth/mig"
)

// A BlastRadius says what goes when something goes wrong on a GPU: of the members that run there,
// and of those that are being started or stopped. A member that was reported dead, or not to have
// started, is not among them, also while it keeps its place until the next pass.
type BlastRadius struct {
	Node NodeID `json:"node"`
	GPU  int    `json:"gpu"`
	// Mode the GPU is in or, while a [Repartition] is out, is to be in. Where nobody knows, since
	// one was not reported, it is the one or the other.
	Mode GPUMode `json:"mode"`
	// Device is what a fatal fault of the GPU itself takes down, such as an Xid that
	// needs a reset: whatever its mode, everything on it.
	Device []AffectedReplica `json:"device,omitempty"`
	// Processes says, for every replica on the GPU, what a fatal fault of one of its
	// processes takes down.
	Processes []ProcessFault `json:"processes,omitempty"`
}

// A ProcessFault is what a fatal fault of a process takes down, such as an illegal memory
// access. MIG contains it in the instance, and time-slicing in the process; under MPS all
// clients on the GPU get the fault, since they share a server (NVIDIA, Multi-Process
// Service, "Error containment").
type ProcessFault struct {
	Job     JobID `json:"job"`
	Replica int   `json:"replica,omitempty"`
	// Instance in which it is contained; zero: none.
	Instance mig.Placement     `json:"instance,omitzero"`
	Affected []AffectedReplica `json:"affected"`
}

// An AffectedReplica is a replica that loses members.
type AffectedReplica struct {
	Job     JobID `json:"job"`
	Replica int   `json:"replica,omitempty"`
	// Members that it loses.
	Members int `json:"members"`
	// Down: fewer than its minimum run then, or are being started, so that all of it goes.
	Down bool `json:"down"`
}

// A SharedBlastRadius names the jobs that share GPUs with a replica.
type SharedBlastRadius struct {
	// Process: a fatal fault of a process of either hits both.
	Process []JobID `json:"process,omitempty"`
	// Device: a fatal fault of a GPU hits both.
	Device []JobID `json:"device"`
}

// A WorstBlastRadius is the GPU of which a fatal fault takes down the most jobs.
type WorstBlastRadius struct {
	Node NodeID `json:"node"`
	GPU  int    `json:"gpu"`
	// Jobs that go, or shrink, and JobsDown how many of them go.
	Jobs     int `json:"jobs"`
	JobsDown int `json:"jobsDown"`
}
