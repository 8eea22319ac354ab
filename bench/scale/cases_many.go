package scale

import (
	"fmt"
	"time"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
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

// sixProfiles of an H100, as claims have them in turns.
var sixProfiles = [...]string{"1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"}

// newDivided makes a core whose GPUs may be divided, all at once, and none is yet; jobs run on
// every second node. So many claims of an instance wait.
func newDivided(tb builder, kind berth.GeometryKind, gpus, claims int) *core.Core {
	tb.Helper()
	sched, err := core.New(berth.Config{Levels: []string{"spine", "leaf"}, Policy: berth.Policy{
		Geometry: []berth.Geometry{{Kind: kind, PerHour: 10_000}},
	}})
	must(tb, err)
	tell(tb, sched, berth.QueueSet{Queue: quota.Queue{Name: "running", Guarantee: quota.Amounts{quota.GPUMilli: int64(gpus) * 1000}}})
	for i := range gpus / gpusPerNode {
		node := nodeOf(i)
		for g := range node.GPUs {
			node.GPUs[g].MIGTable = "H100-80GB"
		}
		tell(tb, sched, berth.NodeJoined{Node: node})
		if i%2 == 1 {
			tell(tb, sched, berth.JobObserved{Job: jobOf(nodeName(i), "running", 1, gpusPerNode), Running: []berth.ObservedReplica{{
				Incarnation: 1, Members: []berth.MemberPlacement{{Node: node.ID, GPUs: 1<<gpusPerNode - 1}},
			}}})
		}
	}
	rest(tb, sched)
	for i := range claims {
		job := jobOf(fmt.Sprintf("claim-%05d", i), "running", 1, 0)
		job.Groups[0].Claim = berth.MIGInstance(sixProfiles[i%len(sixProfiles)]).WithHost(1000, 1000)
		tell(tb, sched, berth.JobSubmitted{Job: job})
	}
	return sched
}

// instances lets time go on until nothing is due within two hours.
func (t *Taker) instances(kind berth.GeometryKind, gpus, claims int) {
	sched := newDivided(t, kind, gpus, claims)
	bound, now := 0, sched.Now()
	longest, total := time.Duration(0), time.Duration(0)
	for {
		began := time.Now()
		orders, err := sched.Schedule(now)
		must(t, err)
		took := time.Since(began)
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
	list := []Case{{"cold start", func(t *Taker) { t.coldStart(size) }}}
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

// coldStart has all jobs of a throng wait for an empty fleet.
func (t *Taker) coldStart(size throngSize) {
	longest := time.Duration(0)
	s := t.repeatTimes(fewest, func() time.Duration {
		t.StopTimer()
		sched := newCore(t, nil)
		for q := range size.queues {
			tell(t, sched, berth.QueueSet{Queue: quota.Queue{Name: throngQueue(q)}})
		}
		for i := range size.gpus / gpusPerNode {
			tell(t, sched, berth.NodeJoined{Node: nodeOf(i)})
		}
		for i := range size.pending {
			tell(t, sched, berth.JobSubmitted{Job: size.job(i)})
		}
		t.StartTimer()
		_, longest = rest(t, sched)
		return longest
	})
	t.addMedian(7, "cold start", size.String(), s, time.Second)
	t.addPass(7, "cold start", size.String(), s.pass, 0)
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
