// Package soak plays drawn worlds through the core for as long as it is asked to, and counts.
// Help tells of it; package berthtest/soak does it.
package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"time"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/flagline"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/berthtest/soak"
)

// Help says what the experiment does.
const Help = `usage: berthbench soak [flags]

Plays drawn worlds through the core, one after the other, with the simulator and the independent checker at every
step: executors, reports and hardware fail, the core is replaced by one that is made of its snapshot and must save
the same bytes, and questions are asked that must change nothing. When the faults of a world are over it must come
to rest; then all ends that runs, until nothing starts any more. It prints what was played, and what memory lives
after each tenth of it. A promise that is broken ends it: it tells of which world and how to play that again, and the
exit status is 1. It does not measure: the same seed gives the same worlds, and how many fit in a minute is the machine's.

`

// Options say how much is played.
type Options struct {
	study.Output
	Minutes float64
	Worlds  int
	Seed    uint64
	GPUs    int
	Kinds   []string
}

// Defaults are options that take a minute.
func Defaults() Options { return Options{Minutes: 1, Seed: 1, Kinds: soak.Kinds()} }

// Flags says what each option is.
func (o *Options) Flags(f *study.Flags) {
	f.Float(&o.Minutes, "minutes", 0, 100_000, "minutes in which worlds are begun; 0: no limit, if -worlds is given")
	f.Int(&o.Worlds, "worlds", 0, 1_000_000_000, "worlds to play at most; 0: no limit")
	f.Seed(&o.Seed, "seed of the first world; each has the next one")
	f.Int(&o.GPUs, "gpus", 0, 1_000_000, "GPUs of the fleet of each world; 0: tiny worlds of all kinds")
	f.Words(&o.Kinds, "kinds", "kinds of tiny worlds to play, in turn")
	f.Refuse(func() error {
		if o.Minutes == 0 && o.Worlds == 0 {
			return flagline.Misused("-minutes and -worlds are both 0: one of them has to end it")
		}
		return nil
	})
}

// memory is what lives after so much was played.
type memory struct {
	after  time.Duration
	events int
	live   uint64
}

// Run makes the experiment, which Help describes, and writes its results to w.
func Run(ctx context.Context, o Options, w io.Writer) error {
	if err := study.Check(&o); err != nil {
		return err
	}
	out := o.To(w)
	span := time.Duration(o.Minutes * float64(time.Minute))
	began, shown, looks := time.Now(), time.Now(), []memory{}
	r, err := soak.Run(ctx, soak.Options{
		Seed: o.Seed, Worlds: o.Worlds, For: span, Kinds: o.Kinds, GPUs: o.GPUs,
		Played: func(r *soak.Report) {
			tenth := span / 10
			if o.Worlds > 0 && r.Worlds%max(1, o.Worlds/10) == 0 || tenth > 0 && time.Since(began) >= time.Duration(len(looks)+1)*tenth {
				looks = append(looks, look(time.Since(began), r.Events))
			}
			if time.Since(shown) > 10*time.Second {
				shown = time.Now()
				out.Say("%v: %d worlds, %d events", time.Since(began).Round(time.Second), r.Worlds, r.Events)
			}
		},
	})
	if err != nil {
		if r == nil { // an unknown kind
			return flagline.Misused("-kinds: %v", err)
		}
		return err
	}
	for _, t := range tables(r, o.Seed, time.Since(began), looks) {
		if err := out.Print(t); err != nil {
			return err
		}
	}
	if r.Violation != nil {
		return errors.New(r.Violation.String())
	}
	return nil
}

// look counts the bytes that live.
func look(after time.Duration, events int) memory {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return memory{after: after, events: events, live: m.HeapAlloc}
}

func tables(r *soak.Report, seed uint64, took time.Duration, looks []memory) []*study.Table {
	violations := 0
	if r.Violation != nil {
		violations = 1
	}
	sum := study.NewTable("What was played", "", "number")
	for _, row := range []struct {
		what   string
		number any
	}{
		{"worlds", r.Worlds},
		{"seeds", fmt.Sprintf("%d-%d", seed, seed+uint64(max(1, r.Worlds)-1))},
		{"events", r.Events},
		{"events refused", r.Refused},
		{"passes", r.Passes},
		{"simulated hours, with arrivals and faults", int(r.Simulated / berth.Hour)},
		{"restores, to the same bytes", r.Restores},
		{"rounds of questions", r.Asked},
		{"questions between equal snapshots", r.Compared},
		{"worlds that drained", r.Drained},
		{"minutes on this machine", fmt.Sprintf("%.1f", took.Minutes())},
		{"violations", violations},
	} {
		sum.Add(row.what, row.number)
	}
	list := []*study.Table{sum}
	for _, counts := range []struct {
		title string
		by    map[string]int
	}{
		{"Faults, by kind", r.Faults},
		{"Events, by kind", r.Told},
		{"Orders, by kind", r.Orders},
		{"Worlds, by kind", r.Kinds},
		{"Jobs that wait in the end where all has ended that ran, by the reason that the core gives", r.Waits},
	} {
		t := study.NewTable(counts.title, "kind", "number")
		for _, name := range slices.Sorted(maps.Keys(counts.by)) {
			t.Add(name, counts.by[name])
		}
		list = append(list, t)
	}
	lives := study.NewTable("Memory that lives between two worlds", "after", "events", "MiB")
	for _, m := range looks {
		lives.Add(m.after.Round(time.Second).String(), m.events, fmt.Sprintf("%.1f", float64(m.live)/(1<<20)))
	}
	return append(list, lives)
}
