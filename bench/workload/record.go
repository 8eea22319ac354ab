package workload

import (
	"fmt"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
)

// maxJobGPUs bounds the GPUs of one job. The largest of the published traces has 2,048.
const maxJobGPUs = 1 << 16

// A record is a job as a row tells of it. A trace that has to be put in order keeps
// every row as one, so it is small: some 350 bytes with its texts.
type record struct {
	at berth.Time
	// line of the file, to order jobs of one instant.
	line int
	id   string
	// queue and tenant are interned, and so are products: those that will do, parted
	// by "|", or empty for any.
	queue, tenant, products string
	// qos is that of a Ran, interned.
	qos string
	// program is interned: what is known of what the job runs; empty: nothing.
	program string
	// pool is interned, and so is profile: the pools that will do, parted by "|", and the MIG
	// profile of the instances that gpus then counts.
	pool, profile string
	class         berth.Class
	// runtime, or zero: without end. expected is what was said about it before.
	runtime, expected berth.Duration
	// patience is how long the job is worth starting; zero: for ever.
	patience berth.Duration
	// gpus of the whole job, or milli thousandths of one GPU.
	gpus, milli int
	// members that the GPUs are divided among; zero: as few as can hold them.
	members int
	// cpuMilli and memoryMiB of each member.
	cpuMilli, memoryMiB int64
	// partition and wait are those of a Ran, and soFar is how long a job had held what it held that
	// had not ended.
	partition   string
	wait, soFar berth.Duration
	// submitted, started and ended as the row has it, or unset; resized: it ended as its size
	// changed.
	submitted, started, ended berth.Time
	resized                   bool
	// more are other parts of the job, beside each other.
	more []*record
}

// Unknown is a wait of which a file does not tell.
const Unknown berth.Duration = -1

const unset berth.Time = -1

// A Ran is what a file tells of a job besides what Next gives.
type Ran struct {
	// Line of the file; of several rows, the first.
	Line int
	// Partition as the file names it; several are parted by commas.
	Partition string
	// QOS of Slurm, as the file names it; empty: it does not.
	QOS string
	// Wait from the arrival to the first start; Unknown where the file does not tell.
	Wait berth.Duration
	// SoFar is how long a job without a run time had run; zero: not known.
	SoFar berth.Duration
}

// join adds a part of the same job: it ends with the last of them.
func (r *record) join(part *record) {
	r.more = append(r.more, part)
	r.line = min(r.line, part.line)
	r.at = min(r.at, part.at)
	r.soFar = max(r.soFar, part.soFar, r.runtime, part.runtime)
	if r.runtime > 0 && part.runtime > 0 {
		r.runtime = r.soFar
	} else {
		r.runtime = 0
	}
}

// before orders records by time, and those of one instant as they stand in the file.
func (r *record) before(other *record) bool {
	return r.at < other.at || r.at == other.at && r.line < other.line
}

// arrival makes a job of a record, on nodes of so many GPUs.
func (r *record) arrival(gpusPerNode int) sim.Arrival {
	job := berth.Job{
		ID: berth.JobID(r.id), Queue: berth.QueueID(r.queue), Tenant: berth.TenantID(r.tenant),
		Class: r.class, ExpectedRuntime: r.expected, Program: r.program, GangTimeout: r.patience,
		Groups: r.groups(gpusPerNode),
	}
	return sim.Arrival{At: r.at, Event: berth.JobSubmitted{Job: job}, Runtime: r.runtime}
}

// groups are those of all parts of a job.
func (r *record) groups(gpusPerNode int) []berth.Group {
	list := r.divided(gpusPerNode)
	if len(r.more) == 0 {
		return list
	}
	for _, part := range r.more {
		list = append(list, part.divided(gpusPerNode)...)
	}
	for i := range list {
		list[i].Name = fmt.Sprintf("part-%d", i)
	}
	return list
}

// divided divides the GPUs of a part among its members: evenly where that comes out, else
// all members are as large as a node allows, and a group of one has the rest.
func (r *record) divided(gpusPerNode int) []berth.Group {
	members, each, rest := r.members, 0, 0
	if members == 0 {
		members = max(1, (r.gpus+gpusPerNode-1)/gpusPerNode)
	}
	if r.gpus%members == 0 {
		each = r.gpus / members
	} else {
		each = (r.gpus + members - 1) / members
		if r.members == 0 {
			each = gpusPerNode
		}
		members, rest = r.gpus/each, r.gpus%each
	}
	group := berth.Group{Members: members, Claim: berth.Claim{GPUs: each, CPUMilli: r.cpuMilli, MemoryMiB: r.memoryMiB}}
	switch {
	case r.milli > 0:
		group.Claim.Share = &berth.Share{Mode: berth.ShareMPS, GPUMilli: r.milli}
	case r.profile != "":
		group.Claim.GPUs, group.Claim.MIG = 0, r.profile
	}
	if r.products != "" {
		group.Selector.Products = strings.Split(r.products, "|")
	}
	if r.pool != "" {
		group.Selector.Pools = strings.Split(r.pool, "|")
	}
	if rest == 0 {
		return []berth.Group{group}
	}
	last := group
	last.Members, last.Claim.GPUs = 1, rest
	group.Name, last.Name = "worker", "rest"
	return []berth.Group{group, last}
}
