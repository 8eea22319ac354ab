package openb

import (
	"math"

	"github.com/berth-sched/berth/bench"
)

// Options say how a draw is played. The zero value is the published experiment.
type Options struct {
	// Learn has policies learn the mix from what has arrived, instead of being told that of the
	// whole trace.
	Learn bool
	// Placed, if not nil, is told of each arrival and its node, the empty name if it fits
	// nowhere.
	Placed func(pod, node string)
}

// A Run is what came of a draw under a policy.
type Run struct {
	// Arrived, Placed and Dropped are numbers of tasks.
	Arrived, Placed, Dropped int
	points                   []point
	capacity                 int64
}

// Percent is how much of the GPUs was asked for at last: At tells of it and of all below.
func (r *Run) Percent() int { return len(r.points) - 1 }

// A Point is how the fleet stood while so many percent of its GPUs had arrived: means over the
// arrivals meanwhile, rounded to hundredths of a percent, as the published figures of a seed are.
type Point struct {
	// Percent of the fleet's GPUs that had been asked for.
	Percent int
	// Allocated is the part of the GPUs that is given to tasks, in percent.
	Allocated float64
	// Fragmented is the part of the GPUs that is free and of no use to typical requests (see
	// bench.Fragmentation), in percent; FragmentedOfFree is it in percent of what is free.
	Fragmented, FragmentedOfFree float64
}

// Unallocated is the part of the GPUs that is left over, in percent.
func (p Point) Unallocated() float64 { return 100 - p.Allocated }

// A point is a Point in the making: sums.
type point struct {
	arrivals                    int
	allocated, fragmented, idle float64
}

// At returns the point of a percent. Where no arrival brought the load to just that, it is the
// nearest below with one.
func (r *Run) At(percent int) Point {
	at := min(percent, len(r.points)-1)
	for at > 0 && r.points[at].arrivals == 0 {
		at--
	}
	p := Point{Percent: percent}
	if at < 0 || r.points[at].arrivals == 0 {
		return p
	}
	sum, n := &r.points[at], float64(r.points[at].arrivals)
	p.Allocated, p.Fragmented, p.FragmentedOfFree = hundredths(sum.allocated/n), hundredths(sum.fragmented/n), hundredths(sum.idle/n)
	return p
}

// hundredths rounds to them.
func hundredths(x float64) float64 { return math.Round(100*x) / 100 }

// Play has the tasks of a draw arrive under a policy that has not been used before. An error is one of
// the policy, which chose what there is not; see bench.Session.Place.
func (d *Draw) Play(policy bench.Policy, o Options) (*Run, error) {
	p, err := d.newPlay(policy, o)
	if err != nil {
		return nil, err
	}
	for _, pod := range d.arrivals {
		if err := p.arrive(pod); err != nil {
			return nil, err
		}
	}
	return &p.run, nil
}

// A play is a draw on its way.
type play struct {
	draw    *Draw
	options Options
	session *bench.Session
	kinds   []bench.Kind // by place in Trace.Pods
	run     Run

	arrived, used int64 // milli
	measure       *bench.Fragmentation
	fragmented    []float64 // by node
	fragments     float64   // their sum

	seen []int64 // arrivals by kind
	next int     // how many arrivals there are to be before the mix is told again
}

func (d *Draw) newPlay(policy bench.Policy, o Options) (*play, error) {
	s, err := bench.NewSession(d.nodes, policy)
	if err != nil {
		return nil, err
	}
	p := &play{draw: d, options: o, session: s, kinds: make([]bench.Kind, len(d.trace.Pods))}
	for i := range d.trace.Pods {
		if p.kinds[i], err = s.Kind(d.trace.Pods[i].Request); err != nil {
			return nil, err
		}
	}
	whole := make(bench.Mix, s.Fleet().Kinds())
	for _, k := range p.kinds {
		whole[k].Kind = k
		whole[k].Count++
	}
	if !o.Learn {
		if err := s.Know(whole); err != nil {
			return nil, err
		}
	}
	p.seen = make([]int64, len(whole))
	p.run.capacity = s.Fleet().Capacity()
	p.measure = bench.NewFragmentation(s.Fleet(), whole)
	p.fragmented = make([]float64, s.Fleet().Nodes())
	for n := range p.fragmented {
		p.fragmented[n] = p.measure.Of(bench.Node(n))
		p.fragments += p.fragmented[n]
	}
	return p, nil
}

func (p *play) arrive(pod int) error {
	kind := p.kinds[pod]
	p.run.Arrived++
	p.arrived += p.draw.trace.Pods[pod].Request.TotalMilli()
	if err := p.learn(kind); err != nil {
		return err
	}
	choice, ok, err := p.session.Place(kind)
	if err != nil {
		return err
	}
	node := ""
	if ok {
		p.run.Placed++
		p.used += p.draw.trace.Pods[pod].Request.TotalMilli()
		p.recount(choice.Node)
		node = p.draw.nodes[choice.Node].Name
	} else {
		p.run.Dropped++
	}
	if p.options.Placed != nil {
		p.options.Placed(p.draw.trace.Pods[pod].Name, node)
	}
	p.note()
	return nil
}

// learn counts an arrival, and tells the policy the mix each time there are an eighth more.
func (p *play) learn(k bench.Kind) error {
	p.seen[k]++
	if !p.options.Learn || p.run.Arrived < p.next {
		return nil
	}
	p.next = p.run.Arrived + (p.run.Arrived+7)/8
	var mix bench.Mix
	for k, count := range p.seen {
		if count > 0 {
			mix = append(mix, bench.KindCount{Kind: bench.Kind(k), Count: count})
		}
	}
	return p.session.Know(mix)
}

func (p *play) recount(n bench.Node) {
	now := p.measure.Of(n)
	p.fragments += now - p.fragmented[n]
	p.fragmented[n] = now
}

// note adds how the fleet stands to the point of the load.
func (p *play) note() {
	all := float64(p.run.capacity)
	percent := int(math.RoundToEven(100 * float64(p.arrived) / all))
	for len(p.run.points) <= percent {
		p.run.points = append(p.run.points, point{})
	}
	at := &p.run.points[percent]
	at.arrivals++
	at.allocated += hundredths(100 * float64(p.used) / all)
	at.fragmented += 100 * p.fragments / all
	if free := p.run.capacity - p.used; free > 0 {
		at.idle += 100 * p.fragments / float64(free)
	}
}
