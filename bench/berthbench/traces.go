package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench"
	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/berthtest/sim"
)

// A traceFormat says which files of the reference data are in a format, as a pattern below
// their folder, and how to look at one.
type traceFormat struct {
	name, pattern string
	look          func(file string) (*traceLook, error)
}

// A traceLook is what a file holds.
type traceLook struct {
	workload.Summary
	skipped []workload.Skip
	// timed: the file tells when jobs arrive.
	timed    bool
	products []string
}

var traceFormats = []traceFormat{
	{"openb nodes", "openb/openb_node_list_*.csv*", lookAtOpenBNodes},
	{"openb tasks", "openb/openb_pod_list_*.csv*", lookAtOpenBPods},
	{"philly", "philly/*.csv*", lookWith(workload.Philly)},
	{"chronus", "chronus/*.csv*", lookWith(workload.Chronus)},
	{"dlrm", "alibaba-v2025-dlrm/*.csv*", lookWith(workload.DLRM)},
	{"spot nodes", "alibaba-v2026-spot/*.csv*", lookAtSpotNodes},
	{"lingjun", "lingjun/*.csv*", lookAtLingjun},
}

const tracesHelp = `usage: berthbench traces [flags]

What traces hold, and whether they can be read to their end: jobs by the GPUs that they claim, rows that
are passed over and why, and fleets. See go doc ./bench/workload for the formats. Files are plain or
compressed with gzip. Those of -dir are found as

  openb/openb_node_list_*.csv, openb/openb_pod_list_*.csv, philly/*.csv, chronus/*.csv,
  alibaba-v2025-dlrm/*.csv, alibaba-v2026-spot/*.csv, lingjun/*.csv

The exit status is 1 if a file cannot be read to its end; the others are told of nevertheless.

`

// runTraces looks at traces: what each file holds, and whether it can be read to its end.
func runTraces(s *session, args []string) error {
	dir := s.String("dir", "", "the folder with the published traces, each in a folder of its own")
	sacct := s.String("sacct", "", "a file that sacct --parsable2 wrote")
	swf := s.String("swf", "", "a log in the Standard Workload Format")
	queues := s.Bool("queues", false, "print the queues of every trace, too")
	drawn := s.Int("drawn", 0, "draw so many jobs of each published summary, and compare")
	seed := s.Uint64("seed", 1, "seed of what is drawn")
	s.Usage = func() {
		fmt.Fprint(s.stderr, tracesHelp)
		s.PrintDefaults()
	}
	if err := s.parse(args); err != nil {
		return err
	}
	files, err := traceFiles(*dir, *sacct, *swf)
	switch {
	case err != nil:
		return err
	case len(files) == 0 && *dir != "":
		return s.misused("there is no trace below %q", *dir)
	case *drawn < 0 || *drawn > maxDrawn:
		return s.misused("-drawn is outside 0..%d", maxDrawn)
	case len(files) == 0 && *drawn == 0:
		return s.misused("-dir, -sacct, -swf or -drawn is missing")
	}
	tables := newTraceTables()
	var broken []error
	for _, f := range files {
		look, err := f.look(f.file)
		if err != nil {
			broken = append(broken, err)
			continue
		}
		tables.add(look, f, *dir)
	}
	for _, t := range tables.filled(*queues) {
		if err := s.print(t); err != nil {
			return err
		}
	}
	if *drawn > 0 {
		t, err := drawnTable(*drawn, *seed)
		if err == nil {
			err = s.print(t)
		}
		broken = append(broken, err)
	}
	return errors.Join(broken...)
}

// A traceFile is a file in a format.
type traceFile struct {
	traceFormat
	file string
}

// traceFiles finds what there is to look at, in the order of formats and names.
func traceFiles(dir, sacct, swf string) ([]traceFile, error) {
	var files []traceFile
	if dir != "" {
		for _, f := range traceFormats {
			names, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(f.pattern)))
			if err != nil {
				return nil, err
			}
			for _, name := range names {
				files = append(files, traceFile{f, name})
			}
		}
	}
	if sacct != "" {
		files = append(files, traceFile{traceFormat{name: "sacct", look: lookWith(workload.Sacct)}, sacct})
	}
	if swf != "" {
		files = append(files, traceFile{traceFormat{name: "swf", look: lookWith(workload.SWF)}, swf})
	}
	return files, nil
}

// lookWith looks at a file through a loader.
func lookWith(open func(string, workload.Options) (*workload.Trace, error)) func(string) (*traceLook, error) {
	return func(file string) (*traceLook, error) {
		t, err := open(file, workload.Options{})
		if err != nil {
			return nil, err
		}
		look := &traceLook{Summary: workload.Summarize(t), skipped: t.Skipped(), timed: true}
		if err := errors.Join(t.Err(), t.Close()); err != nil {
			return nil, err
		}
		return look, nil
	}
}

// lookAtOpenBPods looks at tasks without their times, which some of the lists lack.
func lookAtOpenBPods(file string) (*traceLook, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	pods, err := workload.ReadOpenBPodList(file, f)
	if err != nil {
		return nil, err
	}
	arrivals := make([]sim.Arrival, len(pods))
	for i, pod := range pods {
		claim := berth.Claim{GPUs: pod.Request.GPUs}
		if claim.GPUs > 0 && pod.Request.Milli < bench.WholeGPU {
			claim = berth.Claim{Share: &berth.Share{Milli: pod.Request.Milli}}
		}
		arrivals[i].Event = berth.JobSubmitted{Job: berth.Job{Groups: []berth.Group{{Replicas: 1, Claim: claim}}}}
	}
	return &traceLook{Summary: workload.Summarize(sim.FromSlice(arrivals))}, nil
}

func lookAtOpenBNodes(file string) (*traceLook, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := workload.ReadOpenBNodeList(file, f)
	if err != nil {
		return nil, err
	}
	look := &traceLook{}
	models := map[string]int{}
	for _, n := range list {
		look.GPUs += n.GPUs
		models[n.Model] += n.GPUs
	}
	look.Nodes, look.products = len(list), products(models)
	return look, nil
}

func lookAtSpotNodes(file string) (*traceLook, error) {
	nodes, err := workload.SpotNodes(file)
	return lookAtNodes(nodes), err
}

func lookAtLingjun(file string) (*traceLook, error) {
	_, nodes, err := workload.Lingjun(file, berth.Node{})
	return lookAtNodes(nodes), err
}

func lookAtNodes(nodes []berth.Node) *traceLook {
	look := &traceLook{}
	models := map[string]int{}
	for _, n := range nodes {
		look.GPUs += len(n.GPUs)
		for _, gpu := range n.GPUs {
			models[gpu.Product]++
		}
	}
	look.Nodes, look.products = len(nodes), products(models)
	return look
}

// products lists models with their GPUs, by name.
func products(models map[string]int) []string {
	var list []string
	for _, model := range slices.Sorted(maps.Keys(models)) {
		if models[model] > 0 {
			list = append(list, fmt.Sprintf("%d %s", models[model], model))
		}
	}
	return list
}
