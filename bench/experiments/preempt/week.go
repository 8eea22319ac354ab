package preempt

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/machine"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/quota"
)

// This file draws the week: what is trained, and what is served. It depends on the seed
// alone, not on what becomes of it under a policy, so that policies are compared on the
// same week.

// warmUp is before the week that counts: the fleet fills, and gangs that started
// together drift apart.
const warmUp = berth.Day

// What the executor takes. A victim of any policy is stopped in stopTakes, and
// every replica comes up in startTakes, its weights read from the node's disk.
const (
	startTakes = 30 * berth.Second
	stopTakes  = 10 * berth.Second
)

// What training costs beside training. Checkpoints are written without a stop, every hour
// unless -interval says otherwise. By Young's rule ("A first order approximation to the
// optimum checkpoint interval", 1974) and 6.5 failures in a thousand node-days, as Kokolis
// et al. found ("Revisiting Reliability in Large-Scale Machine Learning Research
// Clusters", HPCA 2025), 83 minutes are best for a gang of 512 GPUs that stands still for
// a minute to write one, and hours for small gangs; Hu et al. ("Characterization of Large
// Language Model Development in the Datacenter", NSDI 2024) write one every half an hour.
//
// On request a gang stands still until its checkpoint is written: some 14 bytes a
// parameter, sharded over the nodes, at some GB/s each. A restart reads it back, builds
// communicators and warms up, which takes the longer the larger the gang is. An elastic
// gang that grows, or shrinks in order, loses no work, but all of it stands still while it
// regroups, for 5 seconds unless -regroup says otherwise: a step or two, where replica
// groups come and go as in torchft, which trained through a failure every 15 seconds
// ("Fault Tolerant Llama", PyTorch blog, 2025). Where it takes a minute, a node of a large
// gang is dearer than a small gang of its own.
const (
	small      = 64 // GPUs of a gang up to which it is small
	writeSmall = 30 * berth.Second
	writeLarge = 60 * berth.Second
	warmSmall  = 2 * berth.Minute // until it is productive again
	warmLarge  = 5 * berth.Minute
)

// Sizes of gangs. Most jobs are small and most of the GPU time belongs to large gangs, as
// in all published traces (Philly, Helios, Acme): with these run times about half of it to
// gangs of 256 GPUs and more. Priorities have nothing to do with size.
var (
	sizes      = [...]int{8, 16, 32, 64, 128, 256, 512}
	of100      = [...]int{35, 20, 15, 14, 9, 5, 2}
	priorities = 5 // priorities, drawn evenly
)

// Run times: two thirds of them within the factor of the median.
const (
	runSmall  = 8 * berth.Hour // small gangs
	runLarge  = 24 * berth.Hour
	runFactor = 2.2
	runLeast  = berth.Hour
	runMost   = 5 * berth.Day
)

// Queues. "serving" has every other service, and nothing else; "products" has the others,
// and trains. So half of the replicas that find no place take back what "products" has
// borrowed, and the others take the place of work in their own queue. "serving" is
// guaranteed what its busiest hour takes. There is always training that waits. In percent
// of the fleet and, where it is work, of its time.
const (
	serving    = "serving"
	products   = "products"
	guaranteed = 24 // to "serving"
	own        = 40 // guaranteed to "products"
	asks       = 92 // over time
	standing   = 32 // besides, at the beginning
)

// Inference, in percent of the fleet: what always runs, what comes and goes with the sun,
// and crowds, of which a day sees three on average. Replicas of the second kind live for 68
// minutes in the median, the figure of the GPU instances in the trace that goes with Yang
// et al. ("GPU-Disaggregated Serving for Deep Learning Recommendation Models at Scale",
// NSDI 2025), whose quartiles are 16 minutes and 8.5 hours.
const (
	always      = 8.0
	sun         = 12.0 // at noon
	crowdLeast  = 3.0
	crowdMost   = 10.0
	crowdsDaily = 3.0

	life       = 68 * berth.Minute
	lifeFactor = 2.5
	lifeLeast  = 5 * berth.Minute
	lifeMost   = 8 * berth.Hour

	crowdRise  = 3 * berth.Minute // all of a crowd has come by then
	crowdLeave = 20 * berth.Minute
	crowdStay  = 90 * berth.Minute // the last has left by then
)

// Replicas of 1, 2, 4 and 8 GPUs.
var (
	replicaSizes  = [...]int{1, 2, 4, 8}
	replicasOf100 = [...]int{40, 30, 15, 15}
)

// An arrival is a job of the week: a gang with work to do or, until it is not wanted
// any more, a replica.
type arrival struct {
	at   berth.Time
	job  berth.Job
	work berth.Duration // of a gang that has all its members
	// priority of a gang, by which the policies stop first whose priority is lowest.
	priority int
	ends     berth.Time // of a replica
}

// queues describes the quota tree.
func (b *experiment) queues() []quota.Queue {
	part := func(percent int64) quota.Amounts {
		return quota.Amounts{quota.GPUMilli: b.gpus() * 1000 * percent / 100}
	}
	return []quota.Queue{
		{Name: serving, Guarantee: part(guaranteed)},
		{Name: products, Guarantee: part(own)},
	}
}

// arrivals draws a week and the day before it; rigid: the same gangs, and none of them is elastic.
func (b *experiment) arrivals(seed uint64, rigid bool) []arrival {
	span := warmUp + berth.Duration(b.Days)*berth.Day
	var list []arrival
	random := rand.New(rand.NewPCG(seed, 0))
	list = append(list, b.training(random, "standing", standing, 0)...)
	list = append(list, b.training(random, "gang", asks, span)...)
	list = append(list, b.inference(rand.New(rand.NewPCG(seed, 1)), span)...)
	for i := range list {
		if rigid {
			list[i].job.Groups[0].MinMembers = 0
		}
	}
	slices.SortStableFunc(list, func(x, y arrival) int { return cmp.Compare(x.at, y.at) })
	return list
}

// training draws gangs whose GPU time is so many percent of the fleet's, handed
// in evenly over a span.
func (b *experiment) training(random *rand.Rand, kind string, percent int, span berth.Duration) []arrival {
	var list []arrival
	over := warmUp + berth.Duration(b.Days)*berth.Day
	for budget := float64(percent) / 100 * float64(b.gpus()) * float64(over); budget > 0; {
		a := b.gang(random, fmt.Sprintf("%s-%04d", kind, len(list)), study.Pick(random, sizes[:], of100[:]))
		a.at = berth.Time(random.Float64()*float64(span/berth.Second)) * berth.Time(berth.Second)
		for i := range a.job.Groups {
			g := &a.job.Groups[i]
			budget -= float64(g.Members*g.Claim.GPUs) * float64(a.work)
		}
		list = append(list, a)
	}
	return list
}

// gang draws a gang: a member of 8 GPUs on each node.
func (b *experiment) gang(random *rand.Rand, id string, gpus int) arrival {
	gpus = min(gpus, int(b.gpus())/8/machine.NodeGPUs*machine.NodeGPUs)
	median, write, warm := runSmall, writeSmall, warmSmall
	if gpus > small {
		median, write, warm = runLarge, writeLarge, warmLarge
	}
	work := study.LogNormal(random, median, runFactor, runLeast, runMost) / berth.Second * berth.Second
	job := berth.Job{
		ID: berth.JobID(id), Queue: products,
		ExpectedRuntime: work + work/4,
		Checkpoint:      berth.Checkpoint{Supported: true, Interval: berth.DurationOf(b.Interval), Cost: write, RestartCost: warm},
		Groups:          []berth.Group{machine.Gang(gpus)},
	}
	if elastic := random.IntN(100) < b.Elastic; elastic && job.Groups[0].Members >= 4 {
		job.Groups[0].MinMembers = job.Groups[0].Members / 2
	}
	return arrival{job: job, work: work, priority: random.IntN(priorities)}
}

// inference draws the replicas.
func (b *experiment) inference(random *rand.Rand, span berth.Duration) []arrival {
	var list []arrival
	replica := func(at, ends berth.Time, kind string) int {
		gpus := study.Pick(random, replicaSizes[:], replicasOf100[:])
		queue := [...]berth.QueueID{serving, products}[len(list)%2]
		list = append(list, arrival{at: at, ends: ends, job: berth.Job{
			ID: berth.JobID(fmt.Sprintf("%s-%05d", kind, len(list))), Queue: queue, Class: berth.ClassLatencyCritical,
			Groups: []berth.Group{{Members: 1, Claim: berth.Claim{GPUs: gpus}}},
		}})
		return gpus
	}
	for held := 0.0; held < b.part(always); {
		held += float64(replica(0, berth.Time(0).Add(span+berth.Day), "base"))
	}
	held := pool{}
	for at := berth.Time(0); at < berth.Time(0).Add(span); at = at.Add(30 * berth.Second) {
		for held.at(at) < b.part(sun)*sunlight(at) {
			life := study.LogNormal(random, life, lifeFactor, lifeLeast, lifeMost) / berth.Second * berth.Second
			held.add(at.Add(life), replica(at, at.Add(life), "day"))
		}
	}
	for at := berth.Time(0); ; {
		at = at.Add(berth.Duration(random.ExpFloat64()*float64(berth.Day)/crowdsDaily/float64(berth.Second)) * berth.Second)
		if at >= berth.Time(0).Add(span) {
			return list
		}
		crowd := b.part(crowdLeast + (crowdMost-crowdLeast)*random.Float64())
		for held := 0.0; held < crowd; {
			comes := at.Add(berth.Duration(random.Int64N(int64(crowdRise/berth.Second))) * berth.Second)
			stays := crowdLeave + berth.Duration(random.Int64N(int64((crowdStay-crowdLeave)/berth.Second)))*berth.Second
			held += float64(replica(comes, comes.Add(stays), "crowd"))
		}
	}
}

// part is so many percent of the fleet, in GPUs.
func (b *experiment) part(percent float64) float64 { return percent / 100 * float64(b.gpus()) }

// sunlight is 0 at midnight and 1 at noon.
func sunlight(at berth.Time) float64 {
	return (1 - math.Cos(2*math.Pi*float64(at)/float64(berth.Day))) / 2
}

// A pool is the GPUs of replicas that end.
type pool struct {
	ends []berth.Time
	gpus []int
	sum  float64
}

// at drops what has ended by an instant, and tells what is left.
func (p *pool) at(now berth.Time) float64 {
	for i := 0; i < len(p.ends); {
		if p.ends[i] > now {
			i++
			continue
		}
		last := len(p.ends) - 1
		p.sum -= float64(p.gpus[i])
		p.ends[i], p.gpus[i] = p.ends[last], p.gpus[last]
		p.ends, p.gpus = p.ends[:last], p.gpus[:last]
	}
	return p.sum
}

func (p *pool) add(ends berth.Time, gpus int) {
	p.ends, p.gpus, p.sum = append(p.ends, ends), append(p.gpus, gpus), p.sum+float64(gpus)
}
