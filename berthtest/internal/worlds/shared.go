package worlds

import (
	"cmp"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/quota"
)

// Shared is another world, in which many queues state shares, and nodes are lost and come back, are
// cordoned and drained.
func (g *Generator) Shared() (berth.Config, sim.Options, []sim.Arrival) {
	draw := one(g, (*Generator).World, (*Generator).Contended, (*Generator).Contended, (*Generator).Drained, (*Generator).Moving, (*Generator).Firm, (*Generator).Lowered)
	config, options, list := draw(g)
	config.Ledger = g.Chance(70)
	f := &options.Faults
	f.NodeLost, f.GPUFail, f.Outage = 0.1*g.Float64(), 0.05*g.Float64(), one(g, 20*berth.Second, berth.Minute, 5*berth.Minute)
	end, nodes, s := list[len(list)-1].At, []berth.NodeID(nil), sharing{g, map[berth.QueueID]quota.Queue{}, map[berth.QueueID]int{}}
	for i := range list {
		switch e := list[i].Event.(type) {
		case berth.NodeJoined:
			nodes = append(nodes, e.Node.ID)
		case berth.QueueSet:
			list[i].Event = berth.QueueSet{Queue: s.queue(e.Queue)}
		}
	}
	at := func() berth.Time { return berth.Time(g.Int64N(int64(end) + 1)) }
	for range 4 + g.IntN(8) {
		if len(s.told) > 0 {
			q := s.told[one(g, slices.Sorted(maps.Keys(s.told))...)]
			list = append(list, sim.Arrival{At: at(), Event: berth.QueueSet{Queue: s.queue(g.queue(q.Name, q.Parent, 4))}})
		}
	}
	for range g.IntN(6) {
		if len(nodes) > 0 {
			id, from := one(g, nodes...), at()
			list = append(list, sim.Arrival{At: from, Event: berth.NodeCordoned{Node: id}}, sim.Arrival{At: from.Add(one(g, berth.Second, berth.Minute, 5*berth.Minute)), Event: berth.NodeUncordoned{Node: id}})
		}
	}
	slices.SortStableFunc(list, func(a, b sim.Arrival) int { return cmp.Compare(a.At, b.At) })
	return config, options, list
}

// sharing makes shares of what queues are told to have. Below a top queue all is stated as amounts,
// as shares, or as shares of the amounts of the top queue.
type sharing struct {
	*Generator
	told map[berth.QueueID]quota.Queue
	mode map[berth.QueueID]int
}

func (s *sharing) queue(q quota.Queue) quota.Queue {
	top := q.Name
	for at, levels := q.Parent, 0; at != "" && levels < 4; at, levels = s.told[at].Parent, levels+1 { // some are moved in a circle, and refused
		top = at
	}
	if _, known := s.mode[top]; !known {
		s.mode[top] = one(s.Generator, 0, 1, 1, 1, 2)
	}
	switch s.mode[top] {
	case 1:
		q = s.shares(q)
	case 2:
		if q.Limit = nil; q.Parent != "" {
			q = s.shares(q)
		}
	}
	s.told[q.Name] = q
	return q
}

// shares has a queue state as shares what it states as amounts, and more often than not shares that
// go with those of its siblings.
func (s *sharing) shares(q quota.Queue) quota.Queue {
	left := func(r quota.Resource) int64 {
		sum := int64(1000)
		for _, other := range s.told {
			if other.Parent == q.Parent && other.Name != q.Name {
				sum -= other.GuaranteeShare[r]
			}
		}
		return max(0, sum)
	}
	guaranteed := slices.Sorted(maps.Keys(q.Guarantee))
	if len(guaranteed) == 0 && s.Chance(50) {
		guaranteed = []quota.Resource{quota.GPUMilli}
	}
	limited := slices.Sorted(maps.Keys(q.Limit))
	if s.Chance(25) {
		limited = append(limited, quota.GPUMilli)
	}
	q.Guarantee, q.Limit, q.GuaranteeShare, q.LimitShare = nil, nil, quota.Thousandths{}, quota.Thousandths{}
	for _, r := range guaranteed {
		q.GuaranteeShare[r] = one(s.Generator, left(r)/2, left(r), s.Int64N(left(r)+1), int64(s.IntN(1001)))
	}
	for _, r := range limited {
		if share, stated := q.GuaranteeShare[r]; stated {
			q.LimitShare[r] = share + s.Int64N(1001-share)
		} else {
			q.LimitShare[r] = one(s.Generator, 1000, 1000, int64(s.IntN(1001)))
		}
	}
	return q
}
