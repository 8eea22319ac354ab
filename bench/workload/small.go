package workload

import "github.com/berth-sched/berth"

// addNotebooks draws interactive work in office hours. Six in ten take a time
// slice of a quarter GPU beside those of their organisation, the others a whole
// one. People stay for two hours in the median, ten at the most, and give up when
// they had to wait for two.
func (d *day) addNotebooks() {
	r := d.source(partNotebooks)
	for i := range d.arriving(1.8) {
		t := d.anyTeam(r)
		runtime := r.minutes(120, 0.7, 600)
		claim := berth.Claim{GPUs: 1, CPUMilli: 8000, MemoryMiB: 64 << 10}
		if r.pick(6, 4) == 0 {
			claim = berth.Claim{
				Share:    &berth.Share{Mode: berth.ShareTimeSlice, GPUMilli: 250, MemoryMiB: 18 << 10},
				CPUMilli: 4000, MemoryMiB: 32 << 10,
			}
		}
		d.submit(r.arrival(d.span, office), berth.JobSubmitted{Job: berth.Job{
			ID: berth.JobID(number("nb-", i, 4)), Queue: t.queue, Tenant: t.org, Class: berth.ClassInteractive,
			Groups:          []berth.Group{{Members: 1, Claim: claim}},
			ExpectedRuntime: r.estimate(runtime), GangTimeout: 2 * berth.Hour,
		}}, runtime)
	}
}

// addBatch draws small jobs: evaluations, fine-tuning, sweeps. Half take a single
// GPU; the largest take two nodes. They run for 25 minutes in the median and
// twelve hours at the most. One in thirty is cancelled by its owner.
func (d *day) addBatch() {
	r := d.source(partBatch)
	for i := range d.arriving(6) {
		t := d.anyTeam(r)
		runtime := r.minutes(25, 1.2, 720)
		gpus, members := [...]int{1, 2, 4, 8, 8}[r.pick(50, 18, 16, 12, 4)], 1
		job := berth.Job{
			ID: berth.JobID(number("batch-", i, 5)), Queue: t.queue, Tenant: t.org,
			Priority: int32(r.IntN(5)) * 10, ExpectedRuntime: r.estimate(runtime),
		}
		if gpus == 8 && r.pick(1, 3) == 0 {
			members, job.Topology = 2, berth.Topology{Preferred: levelLeaf}
		}
		job.Groups = []berth.Group{{Members: members, Claim: berth.Claim{
			GPUs: gpus, NVLink: gpus > 1, CPUMilli: int64(gpus) * 9000, MemoryMiB: int64(gpus) * (128 << 10),
		}}}
		at := r.arrival(d.span, func(t berth.Time) float64 { return 0.4 + 0.6*office(t) })
		d.submit(at, berth.JobSubmitted{Job: job}, runtime)
		if r.IntN(30) == 0 {
			// Before it can have ended, so that the job is still known.
			d.tell(at.Add(1+berth.Duration(r.Int64N(int64(runtime)))), berth.JobCancelled{Job: job.ID})
		}
	}
}

// addHostJobs draws work that needs no GPU, such as tokenising, and that fills what
// the claims for GPUs leave of the hosts.
func (d *day) addHostJobs() {
	r := d.source(partHost)
	for i := range d.arriving(0.8) {
		t := d.anyTeam(r)
		runtime := r.minutes(40, 1, 480)
		d.submit(r.arrival(d.span, func(berth.Time) float64 { return 1 }), berth.JobSubmitted{Job: berth.Job{
			ID: berth.JobID(number("host-", i, 4)), Queue: t.queue, Tenant: t.org,
			Groups: []berth.Group{{Members: 1 + r.pick(8, 1, 1), Claim: berth.Claim{
				CPUMilli: int64(4+4*r.pick(2, 1)) * 1000, MemoryMiB: 64 << 10,
			}}},
			ExpectedRuntime: r.estimate(runtime),
		}}, runtime)
	}
}
