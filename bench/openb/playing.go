package openb

import (
	"math"

	"github.com/berth-sched/berth/bench"
)

// Play has the tasks of a draw arrive under a policy that has not been used before. An error is one
// of the policy, which chose what there is not; see bench.Session.Place.
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

	capacity, arrived, used int64 // milli

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
	p.capacity = s.Fleet().Capacity()
	return p, nil
}

// arrive is the arrival of a task.
func (p *play) arrive(pod int) error {
	p.run.Arrived++
	p.arrived += p.draw.trace.Pods[pod].Request.TotalMilli()
	if err := p.learn(p.kinds[pod]); err != nil {
		return err
	}
	if err := p.place(pod); err != nil {
		return err
	}
	p.note()
	return nil
}

// place finds a place for a task, if there is one.
func (p *play) place(pod int) error {
	choice, ok, err := p.session.Place(p.kinds[pod])
	if err != nil {
		return err
	}
	node := ""
	if ok {
		p.run.Placed++
		p.used += p.draw.trace.Pods[pod].Request.TotalMilli()
		node = p.draw.nodes[choice.Node].Name
	}
	if p.options.Placed != nil {
		p.options.Placed(p.draw.trace.Pods[pod].Name, node)
	}
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

// note adds how the fleet stands to the point of the load.
func (p *play) note() {
	all := float64(p.capacity)
	percent := int(math.RoundToEven(100 * float64(p.arrived) / all))
	for len(p.run.points) <= percent {
		p.run.points = append(p.run.points, point{})
	}
	at := &p.run.points[percent]
	at.arrivals++
	at.allocated += hundredths(100 * float64(p.used) / all)
}
