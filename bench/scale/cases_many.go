package scale

import (
	"fmt"
	"time"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/quota"
)

// instanceCases are point 6.
func instanceCases(short bool) (list []Case) {
	gpus, claims := 4*small, 10_000
	if short {
		gpus, claims = small/4, 10_000/16
	}
	for _, kind := range []berth.GeometryKind{berth.GeometryAdaptive, berth.GeometryPerClaim} {
		list = append(list, Case{"instances/" + kind.String(), func(t *Taker) { t.instances(kind, gpus, claims) }})
	}
	return list
}

// instances lets time go on until nothing is due within two hours.
func (t *Taker) instances(kind berth.GeometryKind, gpus, claims int) {
	sched := newDivisible(t, gpus, kind, 10_000)
	claimParts(t, sched, claims)
	bound, now := 0, sched.Now()
	longest, total := time.Duration(0), time.Duration(0)
	for {
		began := instant(t)
		orders, err := sched.Schedule(now)
		must(t, err)
		took := instant(t) - began
		longest, total = max(longest, took), total+took
		for _, o := range orders {
			if _, ok := o.(berth.Bind); ok {
				bound++
			}
			tell(t, sched, berth.OrderReported{Order: o.Header().ID, Outcome: berth.OutcomeDone})
		}
		at, due := sched.NextWake()
		if !due || at > berth.Time(2*berth.Hour) {
			break
		}
		now = max(now, at)
	}
	if bound != claims {
		t.Fatal(bound, " of ", claims, " claims have an instance")
	}
	size := fmt.Sprintf("gpus=%d/claims=%d", gpus, claims)
	what := "instances of six profiles, " + kind.String()
	t.addPass(6, what, size, longest, longestPass)
	t.add(Figure{Point: 6, What: what + ", all passes", Size: size, Value: float64(total), Unit: Nanoseconds})
}

// manyCases are point 7.
func manyCases(short bool) []Case {
	size, many := fullest(short), 1000
	if short {
		many = 100
	}
	var list []Case
	for _, queues := range []int{1, size.queues} {
		list = append(list, Case{fmt.Sprintf("cold start/queues=%d", queues), func(t *Taker) { t.coldStart(size.gpus, queues, size.pending) }})
	}
	for _, c := range []struct {
		what  string
		event func(i int) berth.Event
	}{
		{"nodes lost at once", func(i int) berth.Event {
			return berth.NodeLost{Node: berth.NodeID(nodeName(i * size.gpus / gpusPerNode / many))}
		}},
		{"nodes drained at once", func(i int) berth.Event {
			return berth.NodeDraining{Node: berth.NodeID(nodeName(i * size.gpus / gpusPerNode / many))}
		}},
		{"quotas changed at once", func(i int) berth.Event {
			guarantee := quota.Amounts{quota.GPUMilli: int64(1+i%3) * gpusPerNode * 1000}
			return berth.QueueSet{Queue: quota.Queue{Name: throngQueue(i % size.queues), Guarantee: guarantee}}
		}},
	} {
		what := fmt.Sprintf("%d %s", many, c.what)
		list = append(list, Case{what, func(t *Taker) { t.atOnce(size, what, many, c.event) }})
	}
	return list
}

// coldStart has jobs find their places on an empty fleet.
func (t *Taker) coldStart(gpus, queues, jobs int) {
	s := t.repeatTimes(fewest, func() time.Duration {
		t.StopTimer()
		sched := newCold(t, gpus, queues, jobs)
		t.StartTimer()
		_, longest := rest(t, sched)
		return longest
	})
	size := fmt.Sprintf("gpus=%d/queues=%d/jobs=%d", gpus, queues, jobs)
	t.addMedian(7, "cold start", size, s, time.Second)
	t.addPass(7, "cold start", size, s.pass, longestPass)
}

// atOnce tells a throng many events at one instant, and runs passes until nothing is due.
func (t *Taker) atOnce(size throngSize, what string, many int, event func(i int) berth.Event) {
	sched := newThrongOf(t, size)
	s := t.repeatTimes(1, func() time.Duration {
		for i := range many {
			tell(t, sched, event(i))
		}
		_, longest := rest(t, sched)
		return longest
	})
	t.addMedian(7, what+", to rest", size.String(), s, 0)
	t.addPass(7, what, size.String(), s.pass, longestPass)
}
