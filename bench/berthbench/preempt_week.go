package main

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/quota"
)

// This file draws the week: what is trained, and what is served. It depends on the seed
// alone, not on what becomes of it under a policy, so that policies are compared on the
// same week.

// yieldWarmUp is before the week that counts: the fleet fills, and gangs that started
// together drift apart.
const yieldWarmUp = berth.Day

// What the executor takes. Whoever has to yield by any policy is stopped in yieldStop, and
// every replica comes up in yieldStart, its weights read from the node's disk.
const (
	yieldStart = 30 * berth.Second
	yieldStop  = 10 * berth.Second
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
	yieldSmall      = 64 // GPUs of a gang up to which it is small
	yieldWriteSmall = 30 * berth.Second
	yieldWriteLarge = 60 * berth.Second
	yieldWarmSmall  = 2 * berth.Minute // until it is productive again
	yieldWarmLarge  = 5 * berth.Minute
)

// Sizes of gangs. Most jobs are small and most of the GPU time belongs to large gangs, as
// in all published traces (Philly, Helios, Acme): with these run times about half of it to
// gangs of 256 GPUs and more. Priorities have nothing to do with size.
var (
	yieldSizes  = [...]int{8, 16, 32, 64, 128, 256, 512}
	yieldOf100  = [...]int{35, 20, 15, 14, 9, 5, 2}
	yieldLevels = 5 // priorities, drawn evenly
)

// Run times: two thirds of them within the factor of the median.
const (
	yieldRunSmall  = 8 * berth.Hour // small gangs
	yieldRunLarge  = 24 * berth.Hour
	yieldRunFactor = 2.2
	yieldRunLeast  = berth.Hour
	yieldRunMost   = 5 * berth.Day
)

// Queues. "serving" has every other service, and nothing else; "products" has the others,
// and trains. So half of the replicas that find no place take back what "products" has
// borrowed, and the others take the place of work in their own queue. "serving" is
// guaranteed what its busiest hour takes. There is always training that waits. In percent
// of the fleet and, where it is work, of its time.
const (
	yieldServing    = "serving"
	yieldProducts   = "products"
	yieldGuaranteed = 24 // to "serving"
	yieldOwn        = 40 // guaranteed to "products"
	yieldAsks       = 92 // over time
	yieldStanding   = 32 // besides, at the beginning
)

// Inference, in percent of the fleet: what always runs, what comes and goes with the sun,
// and crowds, of which a day sees three on average. Replicas of the second kind live for 68
// minutes in the median, the figure of the GPU instances in the trace that goes with Yang
// et al. ("GPU-Disaggregated Serving for Deep Learning Recommendation Models at Scale",
// NSDI 2025), whose quartiles are 16 minutes and 8.5 hours.
const (
	yieldAlways      = 8.0
	yieldSun         = 12.0 // at noon
	yieldCrowdLeast  = 3.0
	yieldCrowdMost   = 10.0
	yieldCrowdsDaily = 3.0

	yieldLife       = 68 * berth.Minute
	yieldLifeFactor = 2.5
	yieldLifeLeast  = 5 * berth.Minute
	yieldLifeMost   = 8 * berth.Hour

	yieldCrowdRise  = 3 * berth.Minute // all of a crowd has come by then
	yieldCrowdLeave = 20 * berth.Minute
	yieldCrowdStay  = 90 * berth.Minute // the last has left by then
)

// Replicas of 1, 2, 4 and 8 GPUs.
var (
	yieldReplicas      = [...]int{1, 2, 4, 8}
	yieldReplicasOf100 = [...]int{40, 30, 15, 15}
)

// A yieldArrival is a job of the week: a gang with work to do or, until it is not wanted
// any more, a replica.
type yieldArrival struct {
	at   berth.Time
	job  berth.Job
	work berth.Duration // of a gang that has all its members
	// priority of a gang, by which the policies stop first whose priority is lowest.
	priority int
	ends     berth.Time // of a replica
}

// queues describes the quota tree.
func (b *yieldBench) queues() []quota.Queue {
	part := func(percent int64) quota.Amounts {
		return quota.Amounts{quota.GPU: b.gpus() * 1000 * percent / 100}
	}
	return []quota.Queue{
		{Name: yieldServing, Guarantee: part(yieldGuaranteed)},
		{Name: yieldProducts, Guarantee: part(yieldOwn)},
	}
}

// arrivals draws a week and the day before it.
func (b *yieldBench) arrivals(seed uint64) []yieldArrival {
	span := yieldWarmUp + berth.Duration(b.days)*berth.Day
	var list []yieldArrival
	random := rand.New(rand.NewPCG(seed, 0))
	list = append(list, b.training(random, "standing", yieldStanding, 0)...)
	list = append(list, b.training(random, "gang", yieldAsks, span)...)
	list = append(list, b.inference(rand.New(rand.NewPCG(seed, 1)), span)...)
	slices.SortStableFunc(list, func(x, y yieldArrival) int { return cmp.Compare(x.at, y.at) })
	return list
}

// training draws gangs whose GPU time is so many percent of the fleet's, handed
// in evenly over a span.
func (b *yieldBench) training(random *rand.Rand, kind string, percent int, span berth.Duration) []yieldArrival {
	var list []yieldArrival
	over := yieldWarmUp + berth.Duration(b.days)*berth.Day
	for budget := float64(percent) / 100 * float64(b.gpus()) * float64(over); budget > 0; {
		a := b.gang(random, fmt.Sprintf("%s-%04d", kind, len(list)), pick(random, yieldSizes[:], yieldOf100[:]))
		a.at = berth.Time(random.Float64()*float64(span/berth.Second)) * berth.Time(berth.Second)
		for i := range a.job.Groups {
			g := &a.job.Groups[i]
			budget -= float64(g.Replicas*g.Claim.GPUs) * float64(a.work)
		}
		list = append(list, a)
	}
	return list
}

// gang draws a gang: a member of 8 GPUs on each node.
func (b *yieldBench) gang(random *rand.Rand, id string, gpus int) yieldArrival {
	gpus = min(gpus, int(b.gpus())/8/fairNodeGPUs*fairNodeGPUs)
	median, write, warm := yieldRunSmall, yieldWriteSmall, yieldWarmSmall
	if gpus > yieldSmall {
		median, write, warm = yieldRunLarge, yieldWriteLarge, yieldWarmLarge
	}
	work := logNormal(random, median, yieldRunFactor, yieldRunLeast, yieldRunMost) / berth.Second * berth.Second
	job := berth.Job{
		ID: berth.JobID(id), Queue: yieldProducts,
		ExpectedRuntime: work + work/4,
		Checkpoint:      berth.Checkpoint{Supported: true, Interval: berth.Span(b.interval), Cost: write, RestartCost: warm},
		Groups:          []berth.Group{fairGroup(gpus)},
	}
	if elastic := random.IntN(100) < b.elastic; elastic && job.Groups[0].Replicas >= 4 {
		job.Groups[0].Min = job.Groups[0].Replicas / 2
	}
	return yieldArrival{job: job, work: work, priority: random.IntN(yieldLevels)}
}

// inference draws the replicas.
func (b *yieldBench) inference(random *rand.Rand, span berth.Duration) []yieldArrival {
	var list []yieldArrival
	replica := func(at, ends berth.Time, kind string) int {
		gpus := pick(random, yieldReplicas[:], yieldReplicasOf100[:])
		queue := [...]berth.QueueID{yieldServing, yieldProducts}[len(list)%2]
		list = append(list, yieldArrival{at: at, ends: ends, job: berth.Job{
			ID: berth.JobID(fmt.Sprintf("%s-%05d", kind, len(list))), Queue: queue, Class: berth.LatencyCritical,
			Groups: []berth.Group{{Replicas: 1, Claim: berth.Claim{GPUs: gpus}}},
		}})
		return gpus
	}
	for held := 0.0; held < b.part(yieldAlways); {
		held += float64(replica(0, berth.Time(0).Add(span+berth.Day), "base"))
	}
	held := yieldPool{}
	for at := berth.Time(0); at < berth.Time(0).Add(span); at = at.Add(30 * berth.Second) {
		for held.at(at) < b.part(yieldSun)*yieldSunlight(at) {
			life := logNormal(random, yieldLife, yieldLifeFactor, yieldLifeLeast, yieldLifeMost) / berth.Second * berth.Second
			held.add(at.Add(life), replica(at, at.Add(life), "day"))
		}
	}
	for at := berth.Time(0); ; {
		at = at.Add(berth.Duration(random.ExpFloat64()*float64(berth.Day)/yieldCrowdsDaily/float64(berth.Second)) * berth.Second)
		if at >= berth.Time(0).Add(span) {
			return list
		}
		crowd := b.part(yieldCrowdLeast + (yieldCrowdMost-yieldCrowdLeast)*random.Float64())
		for held := 0.0; held < crowd; {
			comes := at.Add(berth.Duration(random.Int64N(int64(yieldCrowdRise/berth.Second))) * berth.Second)
			stays := yieldCrowdLeave + berth.Duration(random.Int64N(int64((yieldCrowdStay-yieldCrowdLeave)/berth.Second)))*berth.Second
			held += float64(replica(comes, comes.Add(stays), "crowd"))
		}
	}
}

// part is so many percent of the fleet, in GPUs.
func (b *yieldBench) part(percent float64) float64 { return percent / 100 * float64(b.gpus()) }

// yieldSunlight is 0 at midnight and 1 at noon.
func yieldSunlight(at berth.Time) float64 {
	return (1 - math.Cos(2*math.Pi*float64(at)/float64(berth.Day))) / 2
}

// A yieldPool is the GPUs of replicas that end.
type yieldPool struct {
	ends []berth.Time
	gpus []int
	sum  float64
}

// at drops what has ended by an instant, and tells what is left.
func (p *yieldPool) at(now berth.Time) float64 {
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

func (p *yieldPool) add(ends berth.Time, gpus int) {
	p.ends, p.gpus, p.sum = append(p.ends, ends), append(p.gpus, gpus), p.sum+float64(gpus)
}
