package scale

import (
	"fmt"
	"slices"
	"time"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
)

// Cases are all states of the table, in its order. The short form has them on small fleets alone.
func Cases(short bool) []Case {
	return slices.Concat(restCases(short), victimCases(short), answerCases(short), storeCases(short), memoryCases(short),
		instanceCases(short), manyCases(short), placeCases(short), peerCases(short))
}

// restCases are point 1: a completion, until nothing is due.
func restCases(short bool) (list []Case) {
	sizes := []throngSize{{small, 1, 1, 1000}, {small, 25, 20, 2500}}
	if !short {
		sizes = append(sizes, throngSize{4 * small, 100, 20, 10_000})
		for _, queues := range []int{1, 100, 1000, 10_000} {
			sizes = append(sizes, throngSize{large, queues, shapes, 100_000})
		}
		for _, shapes := range []int{1, 1000, 100_000} {
			sizes = append(sizes, throngSize{large, 1000, shapes, 100_000})
		}
	}
	for _, size := range sizes {
		list = append(list, Case{"completion/" + size.String(), func(t *Taker) { t.completions(size) }})
	}
	full := fullest(short)
	return append(list, Case{"completion/reserved", func(t *Taker) { t.reservedCompletions(full.gpus, full.pending) }})
}

func (t *Taker) completions(size throngSize) {
	target := 5 * time.Millisecond
	if size.shapes <= shapes && size.queues <= 1000 {
		target = time.Millisecond
	}
	sched := newThrongOf(t, size)
	finish := finishing(sched)
	s := t.repeatTimes(size.gpus/gpusPerNode, func() time.Duration { // each job of the fleet ends once
		_, longest := finish(t)
		return longest
	})
	const what = "completion to rest"
	t.addMedian(1, what, size.String(), s, target)
	t.addPass(1, what, size.String(), s.pass, longestPass)
	if size.shapes == shapes {
		t.addMedian(1, "idle pass", size.String(), t.repeatShort(func() { pass(t, sched) }), 500*time.Nanosecond)
	}
}

func (t *Taker) reservedCompletions(gpus, pending int) {
	size := fmt.Sprintf("gpus=%d/queues=%d/shapes=%d/pending=%d", gpus, queues, shapes, pending)
	c := newCrowd(t, gpus, pending)
	c.reserve(t)
	number := pending
	s := t.repeat(func() time.Duration {
		longest, bound := c.completeToRest(t, number)
		number += bound
		return longest
	})
	const what = "completion to rest, gangs with reservations"
	t.addMedian(1, what, size, s, 5*time.Millisecond)
	t.addPass(1, what, size, s.pass, longestPass)
}

// victimCases are point 2.
func victimCases(short bool) (list []Case) {
	fleets := []int{500, 4000, 16_384}
	if short {
		fleets = fleets[:1]
	}
	for _, nodes := range fleets {
		for _, lent := range []bool{false, true} {
			list = append(list, Case{fmt.Sprintf("victims/nodes=%d/lent=%t", nodes, lent), func(t *Taker) { t.victims(nodes, lent) }})
		}
	}
	return list
}

func (t *Taker) victims(nodes int, lent bool) {
	size := fmt.Sprintf("nodes=%d/", nodes) + map[bool]string{false: "within a queue", true: "between queues"}[lent]
	sched := newSingles(t, nodes, lent)
	for _, gang := range []struct {
		members int
		target  time.Duration
	}{{1, time.Millisecond}, {64, 10 * time.Millisecond}} {
		evict := evicting(sched, lent, gang.members, gpusPerNode)
		s := t.repeatWhole(func() { evict(t) })
		t.addMedian(2, fmt.Sprintf("victims for %d x 8 GPUs", gang.members), size, s, gang.target)
	}
	for _, jobs := range []int{64, 1000} {
		if !manyFit(jobs, nodes) {
			continue
		}
		evict := evictingMany(sched, lent, jobs)
		s := t.repeat(func() time.Duration {
			_, longest := evict(t)
			return longest
		})
		what := fmt.Sprintf("victims for %d jobs at once", jobs)
		t.addMedian(2, what+", all served", size, s, 0)
		t.addPass(2, what, size, s.pass, 10*time.Millisecond)
	}
}

// answerCases are point 3.
func answerCases(short bool) (list []Case) {
	full := fullest(short)
	gpus, pending := full.gpus, full.pending
	list = append(list, Case{"answers/crowd", func(t *Taker) {
		t.answers(fmt.Sprintf("gpus=%d/queues=%d/shapes=%d/pending=%d/crumbs free", gpus, queues, shapes, pending), newCrowd(t, gpus, pending).core, pending)
	}})
	for _, queues := range []int{1, max(25, pending/100)} {
		throng := throngSize{gpus, queues, shapes, pending}
		list = append(list, Case{"answers/" + throng.String(), func(t *Taker) { t.answers(throng.String()+"/full", newThrongOf(t, throng), pending) }})
	}
	sizes := []struct{ shapes, pending int }{{1000, 1000}}
	if !short {
		sizes = []struct{ shapes, pending int }{{1, 1000}, {20, 100_000}, {1000, 100_000}, {100_000, 100_000}}
	}
	for _, size := range sizes {
		text := fmt.Sprintf("gpus=%d/shapes=%d/pending=%d", gpus, size.shapes, size.pending)
		list = append(list, Case{"report/" + text, func(t *Taker) {
			sched := newVaried(t, gpus, size.shapes, size.pending).core
			s := t.repeatWhole(func() { sched.Report() })
			t.addMedian(3, "Report", text, s, 20*time.Millisecond)
		}})
	}
	return list
}

// answers asks a core in which jobs wait about many of them.
func (t *Taker) answers(size string, sched *core.Core, pending int) {
	number := 0
	next := func() berth.JobID {
		number += pending/7 + 1
		return berth.JobID(fmt.Sprintf("waits-%07d", number%pending))
	}
	cordon := berth.NodeCordoned{Node: berth.NodeID(nodeName(7))}
	for _, q := range []struct {
		what   string
		target time.Duration
		ask    func() error
	}{
		{"Explain", time.Millisecond, func() error {
			_, err := sched.Explain(next())
			return err
		}},
		{"StartPlan", 5 * time.Millisecond, func() error {
			_, err := sched.StartPlan(sched.Now(), next(), 0)
			return err
		}},
		{"StartPlan after an event", 0, func() error {
			_, err := sched.StartPlan(sched.Now(), next(), 0, cordon)
			return err
		}},
		{"WhatIf with an event", 0, func() error {
			_, err := sched.WhatIf(sched.Now(), cordon)
			return err
		}},
	} {
		s := t.repeatWhole(func() { must(t, q.ask()) })
		t.addMedian(3, q.what, size, s, q.target)
	}
}
