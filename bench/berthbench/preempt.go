package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/berth-sched/berth"
)

type yieldBench struct {
	nodes, days, seeds int
	seed               uint64
	elastic            int
	target             time.Duration
	html               string
	policies           []yieldPolicy
}

func (b *yieldBench) gpus() int64 { return int64(b.nodes) * fairNodeGPUs }
func runPreempt(s *session, args []string) error {
	b := &yieldBench{}
	s.IntVar(&b.nodes, "nodes", 512, "nodes of 8 H100")
	s.IntVar(&b.days, "days", 7, "days")
	s.IntVar(&b.seeds, "seeds", 5, "weeks drawn")
	s.Uint64Var(&b.seed, "seed", 1, "seed of the first week, which is the one shown over time")
	s.IntVar(&b.elastic, "elastic", 25, "percent of the gangs of four nodes and more that can do with half of them")
	if err := s.parse(args); err != nil {
		return err
	}
	never := berth.Config{Policy: berth.Policy{Preemption: berth.Preemption{Mode: berth.PreemptNever}}}
	b.policies = []yieldPolicy{
		{name: "kill by priority", config: never, before: byPriority},
		{name: "kill the newest", config: never, before: newestFirst},
		{name: "checkpoint, by priority", config: never, before: byPriority, asks: true},
		{name: "berth"},
		{name: "never", config: never},
	}
	_ = errors.New
	_ = strings.Join
	_ = stat.Mean
	t := newTable("x", "policy", "lost", "redone", "restart", "write", "regroup", "stop", "useful%", "inf%", "p50", "p99", "missed", "evicted", "shrunk", "forTr", "finished", "worst", "for", "wall")
	for i := range b.policies {
		t0 := time.Now()
		arr := b.arrivals(b.seed)
		r, err := b.newRun(&b.policies[i], arr)
		if err != nil {
			return err
		}
		if err := r.play(); err != nil {
			return err
		}
		k := &r.book
		cap := float64(b.gpus()) * float64(b.days) * float64(berth.Day)
		t.add(b.policies[i].name, gpuHours(float64(k.lost())), gpuHours(float64(k.redone)), gpuHours(float64(k.again[yieldStarting])), gpuHours(float64(k.sum(yieldWriting))), gpuHours(float64(k.sum(yieldRegrouped))), gpuHours(float64(k.sum(yieldStopping))),
			100*float64(k.useful())/cap, 100*sum(k.slots[yieldServed])/cap,
			float64(quantile(k.waits, .5))/1000, float64(quantile(k.waits, .99))/1000, k.missed, k.evicted, k.shrunk, k.forTraining, k.finished, k.worst.gpus, k.worst.asked, time.Since(t0).Seconds())
		fmt.Fprintln(s.stderr, b.policies[i].name, len(arr), len(k.waits), time.Since(t0))
	}
	return s.print(t)
}
