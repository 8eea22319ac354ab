// Package soak plays drawn worlds through the core, one after the other, for as long as it is
// asked to: faults of executors, reports and hardware, restores between any two calls, and
// questions that must change nothing, with the independent checker at every step. Every world
// follows from its seed.
//
//	report, err := soak.Run(ctx, soak.Options{Seed: 1, For: 10 * time.Minute})
//	if v := report.Violation; v != nil {
//		fmt.Println(v) // the world, its seed, the promise that is broken, and the journal's end
//	}
package soak

import (
	"bytes"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/internal/worlds"
	"github.com/berth-sched/berth/core"
)

// Options say what is played. The zero value plays one world of each kind.
type Options struct {
	// Seed of the first world; each world has the next one.
	Seed uint64
	// Worlds to play; 0: for as long as For says, or one of each kind.
	Worlds int
	// For is how long worlds are begun; 0: until there were Worlds.
	For time.Duration
	// Kinds restricts what is played to kinds of Kinds, in turn.
	Kinds []string
	// GPUs of the fleet of each world: then worlds are of one kind, a fleet of about so many. 0:
	// tiny worlds, in which everything is in the way of everything else.
	GPUs int
	// Played is called after each world with what was played so far. Nil: nobody is told.
	Played func(*Report)
}

// A Report says what was played. Its maps count by name.
type Report struct {
	Worlds int `json:"worlds"`
	// Drained are the worlds in which, once the faults were over and all that ran had ended,
	// again and again, no job waited any more. Waits counts those that did, by the reason that
	// the core gives.
	Drained int            `json:"drained"`
	Waits   map[string]int `json:"waits"`
	// Simulated is for how long the worlds went on together, while jobs came and faults did: what
	// came later, such as the last of reservations whose instants are ever further apart, is not
	// in it.
	Simulated berth.Duration `json:"simulatedMs"`
	// Events were told, Refused of them refused.
	Events  int `json:"events"`
	Refused int `json:"refused"`
	Passes  int `json:"passes"`
	// Restores replaced the core by one that was made of its snapshot, and whose own snapshot has
	// the same bytes.
	Restores int `json:"restores"`
	// Asked are rounds of questions, Compared those of them between two snapshots.
	Asked    int `json:"asked"`
	Compared int `json:"compared"`

	Told   map[string]int `json:"told"`   // events by kind
	Orders map[string]int `json:"orders"` // orders by kind
	Faults map[string]int `json:"faults"` // faults by name: the fields of sim.Faults
	Kinds  map[string]int `json:"kinds"`  // worlds by kind
	// Violation ended the soak, if any did.
	Violation *Violation `json:"violation,omitempty"`
}

// A Violation is a promise that a world broke.
type Violation struct {
	Kind string `json:"kind"`
	Seed uint64 `json:"seed"`
	// GPUs of Options.
	GPUs int `json:"gpus,omitempty"`
	// What was broken.
	What string `json:"what"`
	// Journal is its end.
	Journal string `json:"journal"`
}

// String tells all of it, with the flags of berthbench soak that play the world again.
func (v *Violation) String() string {
	again := fmt.Sprintf("-worlds 1 -seed %d", v.Seed)
	if v.GPUs > 0 {
		again += fmt.Sprintf(" -gpus %d", v.GPUs)
	} else {
		again += " -kinds " + v.Kind
	}
	return fmt.Sprintf("a world of kind %s, seed %d: %s\nagain: berthbench soak %s\n\nthe journal's end:\n%s", v.Kind, v.Seed, v.What, again, v.Journal)
}

// Kinds are the names of the kinds of tiny worlds.
func Kinds() (names []string) {
	for _, k := range worlds.All() {
		names = append(names, k.Name)
	}
	return names
}

// Run plays worlds until there were enough, or one broke a promise, which is no error. An error
// says that the options make no sense, or that the context is done.
func Run(ctx context.Context, o Options) (*Report, error) {
	kinds, err := o.kinds()
	if err != nil {
		return nil, err
	}
	r := &Report{
		Waits: map[string]int{}, Told: map[string]int{}, Orders: map[string]int{}, Faults: map[string]int{}, Kinds: map[string]int{},
	}
	count := o.Worlds
	if count == 0 && o.For == 0 {
		count = len(kinds)
	}
	for began := time.Now(); (count == 0 || r.Worlds < count) && (o.For == 0 || time.Since(began) < o.For); {
		if err := ctx.Err(); err != nil {
			return r, err
		}
		seed := o.Seed + uint64(r.Worlds)
		kind := kinds[seed%uint64(len(kinds))]
		if r.Violation = r.play(kind, seed, o.GPUs); r.Violation != nil {
			r.Violation.GPUs = o.GPUs
			return r, nil
		}
		if o.Played != nil {
			o.Played(r)
		}
	}
	return r, nil
}

func (o *Options) kinds() ([]worlds.Kind, error) {
	all := worlds.All()
	if o.GPUs > 0 {
		return []worlds.Kind{{Name: "fleet", Draw: worlds.Fleet(o.GPUs)}}, nil
	}
	if len(o.Kinds) == 0 {
		return all, nil
	}
	var list []worlds.Kind
	for _, name := range o.Kinds {
		i := slices.IndexFunc(all, func(k worlds.Kind) bool { return k.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no kind %q of worlds; there are %s", name, strings.Join(Kinds(), ", "))
		}
		list = append(list, all[i])
	}
	return list, nil
}

// play plays one world, and counts what came of it.
func (r *Report) play(kind worlds.Kind, seed uint64, gpus int) (broken *Violation) {
	var run *worlds.Run
	defer func() {
		if p := recover(); p != nil {
			broken = &Violation{Kind: kind.Name, Seed: seed, What: fmt.Sprintf("panic: %v\n%s", p, debug.Stack())}
			if run != nil {
				broken.Journal = run.Tail()
			}
		}
	}()
	config, options, list := kind.Draw(worlds.NewGenerator(seed))
	options.Restore = restore
	run = worlds.RunOf(config, options, list)
	run.Rarely = gpus / 8
	err := run.All()
	var waiting map[berth.JobID]berth.ReasonCode
	if err == nil {
		waiting, err = run.Drain()
	}
	r.count(kind, run, waiting)
	if err != nil {
		return &Violation{Kind: kind.Name, Seed: seed, What: err.Error(), Journal: run.Tail()}
	}
	return nil
}

// restore restores a core, and has its snapshot be the same bytes.
func restore(snapshot []byte) (berth.Scheduler, error) {
	sched, err := core.Restore(snapshot)
	if err != nil {
		return nil, err
	}
	again, err := sched.Snapshot()
	if err == nil && !bytes.Equal(snapshot, again) {
		err = fmt.Errorf("D2: a core that was restored saves %d other bytes than the %d of which it was made", len(again), len(snapshot))
	}
	return sched, err
}

func (r *Report) count(kind worlds.Kind, run *worlds.Run, waiting map[berth.JobID]berth.ReasonCode) {
	r.Worlds++
	r.Kinds[kind.Name]++
	if len(waiting) == 0 {
		r.Drained++
	}
	for _, code := range waiting {
		r.Waits[string(code)]++
	}
	for i := range run.Log {
		switch step := &run.Log[i]; {
		case step.Event == nil:
			r.Passes++
			for _, o := range step.Actions {
				r.Orders[o.Kind()]++
			}
		default:
			r.Events++
			r.Told[step.Event.Kind()]++
			if step.Refused != nil {
				r.Refused++
			}
		}
	}
	for name, n := range run.Sim.Made() {
		r.Faults[name] += n
	}
	r.Restores += run.Sim.Made()["Restore"]
	r.Simulated += min(run.Sim.Speed().Simulated(), worlds.Faults.Sub(0))
	r.Asked += run.Cases["asked"]
	r.Compared += run.Cases["asked between two snapshots"]
}
