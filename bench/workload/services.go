package workload

import (
	"math"

	"github.com/berth-sched/berth"
)

// scaleEvery is how often an autoscaler looks at a service.
const scaleEvery = 20 * berth.Minute

// addServices draws inference services until they add up, at the peak, to half of
// the fleet. Each starts within the first ten minutes and then follows the sun.
func (d *day) addServices() {
	r := d.source(partServices)
	budget := int(0.5 * float64(d.gpus) * 1000 * d.load)
	for i := 0; budget > 0; i++ {
		claim, milli := serviceClaim(r)
		// Replicas at the peak: a median of 4, and a tenth of the services above 12.
		peak := min(max(int(math.Round(r.logNormal(4, 0.9))), 1), 64, max(budget/milli, 1))
		budget -= peak * milli
		d.addService(r, i, claim, peak)
	}
}

// serviceClaim draws what one replica needs: a small model on a share of a GPU, up
// to a large one over a whole node.
func serviceClaim(r draw) (c berth.Claim, milli int) {
	share := func(milli int) berth.Claim {
		return berth.Claim{Share: &berth.Share{Mode: berth.ShareMPS, GPUMilli: milli}, CPUMilli: 4000, MemoryMiB: 32 << 10}
	}
	whole := func(n int) berth.Claim {
		return berth.Claim{GPUs: n, NVLink: n > 1, CPUMilli: int64(n) * 8000, MemoryMiB: int64(n) * (96 << 10)}
	}
	switch r.pick(20, 20, 45, 10, 4, 1) {
	case 0:
		return share(250), 250
	case 1:
		return share(500), 500
	case 2:
		return whole(1), 1000
	case 3:
		return whole(2), 2000
	case 4:
		return whole(4), 4000
	default:
		return whole(8), 8000
	}
}

func (d *day) addService(r draw, i int, claim berth.Claim, peak int) {
	t := r.one(d.teams.serving)
	// Not all users live in one time zone, and no curve is smooth.
	shift := berth.Duration(r.NormFloat64() * float64(berth.Hour))
	size := func(at berth.Time) int {
		share := (0.45 + 0.55*sun(at.Add(shift+berth.Day))) * (0.95 + 0.1*r.Float64())
		return max(int(math.Round(float64(peak)*min(share, 1))), 1)
	}
	at := berth.Time(r.Int64N(600)) * berth.Time(berth.Second)
	job := berth.Job{
		ID: berth.JobID(number("svc-", i, 4)), Queue: t.queue, Tenant: t.org,
		Class: berth.ClassLatencyCritical, Priority: int32(r.IntN(3)) * 10,
		Groups:  []berth.Group{{Members: 1, Claim: claim}},
		Service: &berth.Service{Replicas: size(at)},
	}
	d.tell(at, berth.JobSubmitted{Job: job})
	last := job.Service.Replicas
	for at = at.Add(scaleEvery); at <= berth.Time(0).Add(d.span); at = at.Add(scaleEvery) {
		if n := size(at); n != last {
			d.tell(at, berth.JobScaled{Job: job.ID, Replicas: n})
			last = n
		}
	}
}
