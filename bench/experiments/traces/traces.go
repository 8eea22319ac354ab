// Package traces tells what traces hold, and whether they can be read to their end; Help says
// which.
package traces

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench"
	"github.com/berth-sched/berth/bench/flagline"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/berthtest/sim"
)

// A format says which files of the reference data are in a format, as a pattern below
// their folder, and how to look at one.
type format struct {
	name, pattern string
	look          func(file string) (*look, error)
}

// A look is what a file holds.
type look struct {
	workload.Summary
	skipped []workload.Skip
	// timed: the file tells when jobs arrive.
	timed    bool
	products []string
}

var formats = []format{
	{"openb nodes", "openb/openb_node_list_*.csv*", lookAtOpenBNodes},
	{"openb tasks", "openb/openb_pod_list_*.csv*", lookAtOpenBPods},
	{"philly", "philly/*.csv*", lookWith(workload.Philly)},
	{"chronus", "chronus/*.csv*", lookWith(workload.Chronus)},
	{"dlrm", "alibaba-v2025-dlrm/*.csv*", lookWith(workload.DLRM)},
	{"spot nodes", "alibaba-v2026-spot/*.csv*", lookAtSpotNodes},
	{"lingjun", "lingjun/*.csv*", lookAtLingjun},
}

// Help says what the experiment does.
const Help = `usage: berthbench traces [flags]

What traces hold, and whether they can be read to their end: jobs by the GPUs that they claim, rows that
are passed over and why, and fleets. See go doc ./bench/workload for the formats. Files are plain or
compressed with gzip. Those of -dir are found as

  openb/openb_node_list_*.csv, openb/openb_pod_list_*.csv, philly/*.csv, chronus/*.csv,
  alibaba-v2025-dlrm/*.csv, alibaba-v2026-spot/*.csv, lingjun/*.csv

The exit status is 1 if a file cannot be read to its end; the others are told of nevertheless.

`

// Options say where to look.
type Options struct {
	study.Output
	// Dir is the folder with the published traces, each in a folder of its own. Empty: none.
	Dir string
	// Sacct is a file that sacct --parsable2 wrote, SWF a log in the Standard Workload Format.
	// Empty: none.
	Sacct, SWF string
	// Queues prints the queues of every trace, too.
	Queues bool
	// Drawn is how many jobs of each published summary to draw, from Seed, and to compare with it;
	// up to 10000000.
	Drawn int
	Seed  uint64
}

// Defaults are options that look at nothing yet.
func Defaults() Options { return Options{Seed: 1} }

// Run looks at traces: what each file holds, and whether it can be read to its end. It writes what
// it finds to w. The error names the files that cannot be read.
func Run(ctx context.Context, o Options, w io.Writer) error {
	files, err := files(o.Dir, o.Sacct, o.SWF)
	switch {
	case err != nil:
		return err
	case len(files) == 0 && o.Dir != "":
		return flagline.Misused("-dir: there is no trace below %q; -h has the folders and files that are looked for", o.Dir)
	case o.Drawn < 0 || o.Drawn > maxDrawn:
		return study.Within("drawn", o.Drawn, 0, maxDrawn)
	case len(files) == 0 && o.Drawn == 0:
		return flagline.Misused("-dir, -sacct, -swf or -drawn is missing")
	}
	out := o.To(w)
	tables := newTables()
	var broken []error
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		look, err := f.look(f.file)
		if err != nil {
			broken = append(broken, err)
			continue
		}
		tables.add(look, f, o.Dir)
	}
	for _, t := range tables.filled(o.Queues) {
		if err := out.Print(t); err != nil {
			return err
		}
	}
	if o.Drawn > 0 {
		t, err := drawnTable(o.Drawn, o.Seed)
		if err == nil {
			err = out.Print(t)
		}
		broken = append(broken, err)
	}
	return errors.Join(broken...)
}

// A file is a file in a format.
type file struct {
	format
	file string
}

// files finds what there is to look at, in the order of formats and names.
func files(dir, sacct, swf string) ([]file, error) {
	var files []file
	if dir != "" {
		for _, f := range formats {
			names, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(f.pattern)))
			if err != nil {
				return nil, err
			}
			for _, name := range names {
				files = append(files, file{f, name})
			}
		}
	}
	if sacct != "" {
		files = append(files, file{format{name: "sacct", look: lookWith(workload.Sacct)}, sacct})
	}
	if swf != "" {
		files = append(files, file{format{name: "swf", look: lookWith(workload.SWF)}, swf})
	}
	return files, nil
}

// lookWith looks at a file through a loader.
func lookWith(open func(string, workload.Options) (*workload.Trace, error)) func(string) (*look, error) {
	return func(file string) (*look, error) {
		t, err := open(file, workload.Options{})
		if err != nil {
			return nil, err
		}
		look := &look{Summary: workload.Summarize(t), skipped: t.Skipped(), timed: true}
		if err := errors.Join(t.Err(), t.Close()); err != nil {
			return nil, err
		}
		return look, nil
	}
}

// lookAtOpenBPods looks at tasks without their times, which some of the lists lack.
func lookAtOpenBPods(file string) (*look, error) {
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
			claim = berth.Claim{Share: &berth.Share{GPUMilli: pod.Request.Milli}}
		}
		arrivals[i].Event = berth.JobSubmitted{Job: berth.Job{Groups: []berth.Group{{Members: 1, Claim: claim}}}}
	}
	return &look{Summary: workload.Summarize(sim.FromSlice(arrivals))}, nil
}

func lookAtOpenBNodes(file string) (*look, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := workload.ReadOpenBNodeList(file, f)
	if err != nil {
		return nil, err
	}
	look := &look{}
	models := map[string]int{}
	for _, n := range list {
		look.GPUs += n.GPUs
		models[n.Model] += n.GPUs
	}
	look.Nodes, look.products = len(list), products(models)
	return look, nil
}

func lookAtSpotNodes(file string) (*look, error) {
	nodes, err := workload.SpotNodes(file)
	return lookAtNodes(nodes), err
}

func lookAtLingjun(file string) (*look, error) {
	_, nodes, err := workload.Lingjun(file, berth.Node{})
	return lookAtNodes(nodes), err
}

func lookAtNodes(nodes []berth.Node) *look {
	look := &look{}
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
