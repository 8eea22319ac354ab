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
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench"
	"github.com/berth-sched/berth/bench/flagline"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/topology/fabric"
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
	{"lingjun", "lingjun/*.csv*", lookAtLingjun},
}

// Help says what the experiment does.
const Help = `usage: berthbench traces [flags]

What traces hold, and whether they can be read to their end: jobs by the GPUs that they claim, rows that
are passed over and why, and fleets. See go doc ./bench/workload for the formats. Files are plain or
compressed with gzip. Those of -dir are found as

  openb/openb_node_list_*.csv, openb/openb_pod_list_*.csv, philly/*.csv, lingjun/*.csv

The exit status is 1 if a file cannot be read to its end; the others are told of nevertheless.

`

// Options say where to look.
type Options struct {
	study.Output
	Dir string
}

// Defaults are options that look at nothing yet.
func Defaults() Options { return Options{} }

// Flags says what each option is.
func (o *Options) Flags(f *study.Flags) {
	f.File(&o.Dir, "dir", "the folder with the published traces, each in a folder of its own", "-h has the folders and files that are looked for")
}

// Run looks at traces: what each file holds, and whether it can be read to its end. It writes what
// it finds to w. The error names the files that cannot be read.
func Run(ctx context.Context, o Options, w io.Writer) error {
	if err := study.Check(&o); err != nil {
		return err
	}
	tables, broken, found := newTables(), []error(nil), false
	for _, format := range formats {
		files, err := filepath.Glob(filepath.Join(o.Dir, filepath.FromSlash(format.pattern)))
		if err != nil {
			return err
		}
		for _, file := range files {
			found = true
			if err := ctx.Err(); err != nil {
				return err
			}
			look, err := format.look(file)
			if err != nil {
				broken = append(broken, err)
				continue
			}
			tables.add(look, strings.TrimPrefix(filepath.ToSlash(file), filepath.ToSlash(o.Dir)+"/"), format.name)
		}
	}
	if !found {
		return flagline.Misused("-dir: there is no trace below %q; -h has the folders and files that are looked for", o.Dir)
	}
	out := o.To(w)
	for _, t := range []*study.Table{tables.jobs, tables.skipped, tables.fleets} {
		broken = append(broken, out.Print(t))
	}
	return errors.Join(broken...)
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

// lookAtLingjun counts hosts: the file does not tell what is in one.
func lookAtLingjun(file string) (*look, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	read, err := fabric.ReadLingjun(file, f)
	if err != nil {
		return nil, err
	}
	look := &look{}
	look.Nodes = len(read.Nodes)
	return look, nil
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
