package main

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/berth-sched/berth"
)

func TestProf(t *testing.T) {
	days, _ := strconv.Atoi(os.Getenv("DAYS"))
	which, _ := strconv.Atoi(os.Getenv("WHICH"))
	b := &yieldBench{nodes: 512, days: days, seed: 1, elastic: 25}
	never := berth.Config{Policy: berth.Policy{Preemption: berth.Preemption{Mode: berth.PreemptNever}}}
	if g, _ := strconv.Atoi(os.Getenv("RESERVED")); g != 0 {
		never.Policy.ReservedGangs = g
	}
	p := []yieldPolicy{{name: "never", config: never}, {name: "kill", config: never, before: byPriority}, {name: "berth"}}[which]
	t0 := time.Now()
	arr := b.arrivals(1)
	r, err := b.newRun(&p, arr)
	if err != nil {
		t.Fatal(err)
	}
	passes := 0
	causes := map[string]int{}
	empty, same := 0, 0
	sizes := map[string]map[int]int{}
	hours := make([]int, 100)
	var last berth.Time = -1
	r.scheduled = func(now berth.Time, as []berth.Action) error {
		passes++
		if len(as) == 0 {
			empty++
		}
		hours[int(now/berth.Time(berth.Hour)/6)]++
		if now == last {
			same++
		}
		last = now
		for _, a := range as {
			x := "inf"
			if f := a.Header().Cause.For.Job; f != "" && r.jobs[f].yieldGang != nil {
				x = "train"
			}
			if f := a.Header().Cause.For.Job; f != "" {
				x += fmt.Sprint(" ", r.jobs[f].spec.Queue == r.jobs[a.Header().Job].spec.Queue)
			}
			if a.Kind() == "release" && a.Header().Cause.For.Job != "" {
				c := string(a.Header().Cause.Code)
				if sizes[c] == nil {
					sizes[c] = map[int]int{}
				}
				sizes[c][8*len(a.(berth.Release).Members)]++
			}
			causes[a.Kind()+" "+string(a.Header().Cause.Code)+" "+x]++
		}
		return nil
	}
	defer func() { fmt.Println(causes, "empty", empty, "same", same, hours) }()
	if err := r.play(); err != nil {
		t.Fatal(err)
	}
	k := &r.book
	h := func(v int64) int64 { return int64(gpuHours(float64(v))) }
	fmt.Println("redone", h(k.redone), "restart", h(k.again[yieldStarting]), "write", h(k.sum(yieldWriting)), "regroup", h(k.sum(yieldRegrouped)), "stop", h(k.sum(yieldStopping)), "stopped", k.stopped, "admitted", k.admitted, "worst", k.worst, sizes)
	fmt.Println(p.name, len(arr), passes, time.Since(t0), len(k.waits), k.evicted, k.shrunk, k.forTraining, gpuHours(float64(k.lost())), float64(quantile(k.waits, .5))/1000, float64(quantile(k.waits, .99))/1000, sum(k.slots[yieldAtWork])/float64(b.days)/float64(berth.Day)/4096)
}
