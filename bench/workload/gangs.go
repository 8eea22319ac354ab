package workload

import "github.com/berth-sched/berth"

// gangSizes are the GPUs of gangs, and how often each is asked for.
var (
	gangGPUs    = [...]int{64, 128, 256, 512}
	gangWeights = [...]int{45, 30, 17, 8}
)

// addGangs draws gangs whose GPU hours are half of what the fleet has in the span.
// A third stands there from the start, as it would have been left by the day
// before; the others come twice as often in office hours. Run times have a median of
// three hours, and are cut at 16.
func (d *day) addGangs() {
	r := d.source(partGangs)
	budget := 0.5 * d.load * float64(d.gpus) * float64(d.span)
	standing := int(0.33 * d.load * float64(d.gpus)) // GPUs that run at midnight
	for i := 0; budget > 0; i++ {
		gpus := gangGPUs[r.pick(gangWeights[:]...)]
		if gpus > d.gpus/4 {
			gpus = 64 // a small fleet has no use for them
		}
		runtime := r.minutes(180, 0.8, 960)
		at := r.arrival(d.span, func(t berth.Time) float64 { return 0.5 + 0.5*office(t) })
		if standing > 0 {
			standing -= gpus
			at = berth.Time(r.Int64N(900)) * berth.Time(berth.Second)
		}
		budget -= float64(gpus) * float64(runtime)
		d.submit(at, berth.JobSubmitted{Job: d.gang(r, i, gpus, runtime)}, runtime)
	}
}

// gang draws a training job: a driver, and workers with a node each.
func (d *day) gang(r draw, i, gpus int, runtime berth.Duration) berth.Job {
	t := r.one(d.teams.training)
	nodes := gpus / gpusPerNode
	workers := berth.Group{
		Name: "worker", Members: nodes,
		Claim: berth.Claim{GPUs: gpusPerNode, NVLink: true, CPUMilli: 80_000, MemoryMiB: 1536 << 10},
	}
	job := berth.Job{
		ID: berth.JobID(number("gang-", i, 3)), Queue: t.queue, Tenant: t.org,
		Priority: int32(r.IntN(5)) * 10, ExpectedRuntime: r.estimate(runtime),
		Checkpoint: berth.Checkpoint{
			Supported: true, Interval: 30 * berth.Minute, Cost: 2 * berth.Minute, RestartCost: 5 * berth.Minute,
		},
		Topology: berth.Topology{Preferred: levelLeaf},
	}
	switch {
	case nodes > nodesPerLeaf:
		// More than a leaf has: stages of a pipeline keep to a leaf each.
		job.Topology = berth.Topology{Required: levelSpine}
		workers.Topology = berth.Topology{Segments: []berth.Segment{{Size: 4, Level: levelLeaf}}}
	case nodes == nodesPerLeaf:
		job.Topology = berth.Topology{Preferred: levelSpine}
	case nodes <= nodesPerLeaf/4 && r.pick(1, 3) == 0:
		job.Topology = berth.Topology{Required: levelLeaf}
	case r.pick(1, 3) == 0:
		// Elastic: three quarters will do for a start.
		workers.MinMembers = nodes * 3 / 4
	}
	driver := berth.Group{Name: "driver", Members: 1, Claim: berth.Claim{CPUMilli: 8000, MemoryMiB: 32 << 10}}
	job.Groups = []berth.Group{driver, workers}
	return job
}
