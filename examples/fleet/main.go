// The program fleet runs a day of a whole fleet through the scheduling core, in
// simulated time, and tells how it went.
//
//	go run ./examples/fleet
//	go run ./examples/fleet -html fleet.html -journal fleet.jsonl
//	go run ./examples/fleet -trace openb -dir DIR
//
// The day is drawn from a seed (see bench/workload) or read from a published trace.
// A pretend executor (berthtest/sim) carries the orders out. The table goes to standard
// output, a progress bar to standard error if that is a terminal.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/experiments/day"
	"github.com/berth-sched/berth/bench/flagline"
	"github.com/berth-sched/berth/bench/report"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/journal"
)

func main() {
	os.Exit(flagline.Status("fleet", run(os.Args[1:], os.Stdout, os.Stderr), os.Stderr))
}

// settings are what the flags say.
type settings struct {
	seed          uint64
	hours         float64
	alone         bool
	nodes, load   int
	html, journal string
	trace, dir    string
}

// maxHours is some ten years.
const maxHours = 10 * 366 * 24

// Flags says what each setting is.
func (s *settings) Flags(f *study.Flags) {
	f.Seed(&s.seed, "seed of the reference day")
	f.Float(&s.hours, "hours", 0, maxHours, "stop after so many hours; 0: after a day, or at the end of the trace")
	f.Int(&s.nodes, "nodes", 1, 16_384, "nodes of the reference fleet")
	f.Int(&s.load, "load", 1, 1000, "demand of the reference day, in percent")
	f.Yes(&s.alone, "alone", "do not play the day under FIFO and EASY backfill, too")
	f.HTML(&s.html)
	f.Text(&s.journal, "journal", "write events and orders to this file, for examples/replay")
	f.Text(&s.trace, "trace", `run a trace instead of the reference day: "openb"`)
	f.Text(&s.dir, "dir", "directory with the files of the trace")
	f.Refuse(func() error {
		switch {
		case s.hours > 0 && s.length() < berth.Second:
			return flagline.Misused("-hours is less than a second")
		case s.html != "" && s.html == s.journal:
			return flagline.Misused("-html and -journal name the same file")
		case s.trace != "" && s.trace != "openb":
			return flagline.Misused("there is no trace %q; there is \"openb\"", s.trace)
		}
		return nil
	})
}

func run(args []string, stdout, stderr io.Writer) (err error) {
	s := settings{seed: 1, nodes: 500, load: 100, dir: "."}
	if err := study.NewFlags("fleet", &s).Parse(args, stdout, ""); err != nil {
		return err
	}
	scene, err := s.scene()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, scene.close()) }()

	sched, err := core.New(scene.config)
	if err != nil {
		return err
	}
	result, err := s.simulate(sched, scene, stderr)
	if err != nil {
		return err
	}
	result.Title, result.Subtitle, result.Most = scene.title, scene.subtitle, scene.most
	fmt.Fprintf(stdout, "%s\n%s\n\n", result.Title, result.Subtitle)
	if err := report.WriteTable(stdout, result); err != nil {
		return err
	}
	if err := s.versus(stdout, stderr); err != nil {
		return err
	}
	return study.WritePage(s.html, func(w io.Writer) error { return report.WritePage(w, result) })
}

// versus compares berth with simpler schedulers on the reference day, and says what bounds the
// allocation.
func (s *settings) versus(stdout, stderr io.Writer) error {
	if s.alone || s.trace != "" {
		return nil
	}
	fmt.Fprintln(stdout)
	o := day.Options{Nodes: s.nodes, Load: s.load, Seeds: 1, Seed: s.seed, Length: s.length()}
	o.Progress = stderr
	return day.Versus(context.Background(), o, stdout)
}

// simulate runs the scene to its end.
func (s *settings) simulate(sched *core.Core, scene *scene, stderr io.Writer) (*report.Run, error) {
	var simulation *sim.Simulation
	collector := report.NewCollector(func() berth.Scheduler { return simulation.Scheduler() })
	bar := report.NewProgress(stderr, scene.length)
	moved := bar.Follow()
	log, err := s.openJournal(sched)
	if err != nil {
		return nil, err
	}
	simulation = sim.New(sched, scene.workload, sim.Options{
		StartDelay: 10 * berth.Second, StopDelay: 5 * berth.Second, Seed: s.seed, Resume: true, Stopped: collector.Stopped,
		Applied: func(now berth.Time, e berth.Event, err error) {
			log.Applied(now, e, err)
			collector.Applied(now, e, err)
		},
		Scheduled: func(now berth.Time, actions []berth.Order) {
			log.Scheduled(now, actions)
			collector.Scheduled(now, actions)
			moved(now)
		},
	})
	began := time.Now()
	err = simulation.Run(scene.until)
	bar.Clear()
	if err = errors.Join(err, scene.failed(), log.close()); err != nil {
		return nil, err
	}
	wall := time.Since(began)
	end := scene.until
	if scene.length == 0 {
		end = simulation.Core().Now() // when the last thing happened
	}
	result, err := collector.Finish(end)
	if err != nil {
		return nil, err
	}
	result.Wall = wall
	return result, nil
}

// A scene is a fleet and what it has to do.
type scene struct {
	title, subtitle string
	config          berth.Config
	workload        sim.Workload
	// most thousandths of a GPU that any scheduler could hold; zero: not known.
	most float64
	// until is when to stop; length, how long that is, or zero if the workload says.
	until  berth.Time
	length berth.Duration
	failed func() error
	close  func() error
}

func (s *settings) scene() (*scene, error) {
	if s.trace != "" {
		return s.openB()
	}
	return s.reference(), nil
}

// length is what -hours says; zero: nothing.
func (s *settings) length() berth.Duration { return berth.Duration(s.hours * float64(berth.Hour)) }

func (s *settings) reference() *scene {
	ref := workload.Reference{
		Seed: s.seed, Nodes: s.nodes, LoadPercent: s.load, Span: s.length(),
	}
	none := func() error { return nil }
	config, until := ref.Config(), berth.Time(0).Add(ref.Length())
	config.Policy = day.Policy()
	return &scene{
		title: fmt.Sprintf("The reference fleet: %d nodes of 8 H100", s.nodes),
		subtitle: fmt.Sprintf(
			"%s of inference, notebooks, batch jobs and gangs; seed %d, demand %d %%",
			report.Span(ref.Length()), s.seed, s.load,
		),
		config: config, workload: ref.Workload(), most: day.Most(ref.Arrivals(), until),
		until: until, length: ref.Length(), failed: none, close: none,
	}
}

func (s *settings) openB() (*scene, error) {
	t, err := workload.OpenB(s.dir)
	if err != nil {
		return nil, err
	}
	gpus := 0
	for _, n := range t.Nodes() {
		gpus += len(n.GPUs)
	}
	until := berth.Time(1<<63 - 1)
	if s.hours > 0 {
		until = berth.Time(0).Add(s.length())
	}
	return &scene{
		title:    fmt.Sprintf("A real cluster's trace: openb, %d nodes with %d GPUs", len(t.Nodes()), gpus),
		subtitle: "arrival and run times as recorded (Alibaba, 2023); times are from the trace's first task", workload: t,
		until: until, length: s.length(), failed: t.Err, close: t.Close,
	}, nil
}

// A log is a journal in a file, or nothing.
type log struct {
	*journal.Writer
	file *os.File
}

func (s *settings) openJournal(sched *core.Core) (*log, error) {
	if s.journal == "" {
		return &log{}, nil
	}
	file, err := os.Create(s.journal)
	if err != nil {
		return nil, err
	}
	w, err := journal.NewWriter(file, sched.Config())
	return &log{w, file}, err
}

func (l *log) Applied(now berth.Time, e berth.Event, refusal error) {
	if l.Writer != nil {
		l.Writer.Applied(now, e, refusal)
	}
}

func (l *log) Scheduled(now berth.Time, actions []berth.Order) {
	if l.Writer != nil {
		l.Writer.Scheduled(now, actions)
	}
}

func (l *log) close() error {
	if l.Writer == nil {
		return nil
	}
	return errors.Join(l.Flush(), l.file.Close())
}
