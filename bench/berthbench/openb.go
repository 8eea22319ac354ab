package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/bench"
	"github.com/berth-sched/berth/bench/openb"
	"github.com/berth-sched/berth/bench/report"
	"github.com/berth-sched/berth/bench/workload"
)

const openBHelp = `usage: berthbench openb [flags]

The experiment of Weng et al., "Beware of Fragmentation" (USENIX ATC 2023), by policy of placement: tasks
arrive at a fleet in an order drawn from a seed, and never leave, until they have asked for 130 % of its
GPUs. How many GPUs are left over? See go doc ./bench/openb for every rule, go doc ./bench for the policies.
Lists of the published trace are named as there (default, cpu050, ...), others by a path. The exit status
is 1 if a published figure is not met.

`

// runOpenB plays lists of tasks, one after the other.
func runOpenB(s *session, args []string) error {
	b := openBBench{session: s}
	dir := s.String("dir", "../shared/data/traces/openb", "the directory of the trace")
	nodes := s.String("nodes", workload.OpenBNodes, "the list of nodes, in that directory or a path")
	pods := s.String("pods", "default", "the lists of tasks, with commas between: names, paths, or all of the directory")
	policies := s.String("policies", "all", "policies, with commas between")
	seeds := s.String("seeds", fmt.Sprintf("%d-%d", openb.PublishedFirst, openb.PublishedLast), "seeds, as 42-51 or 42,44")
	mix := s.String("mix", "oracle", "what policies know of the mix of tasks: oracle, that of the whole trace; online, what has arrived")
	s.IntVar(&b.load, "load", openb.Inflation, "play until so many percent of the GPUs have been asked for, at least 100")
	s.IntVar(&b.options.Queue, "queue", 0, "instead of dropping tasks that fit nowhere, go through a queue after each so many arrivals, the most GPUs first")
	s.IntVar(&b.options.Moves, "moves", 0, "the most tasks that may move to make room for one that fits nowhere")
	s.IntVar(&b.options.MovesInAll, "moves-in-all", 0, "the most moves in all; 0: no bound")
	s.BoolVar(&b.bound, "bound", false, "also tell how many GPUs any policy leaves over, at the least; some seconds a seed")
	s.StringVar(&b.html, "html", "", "write a page with plots to this file")
	s.Usage = func() {
		fmt.Fprint(s.stderr, openBHelp)
		s.PrintDefaults()
	}
	if err := s.parse(args); err != nil {
		return err
	}
	if err := b.configure(*policies, *seeds, *mix); err != nil {
		return err
	}
	lists, err := openBLists(*dir, *pods)
	if err != nil {
		return err
	}
	if !strings.ContainsAny(*nodes, `/\`) {
		*nodes = filepath.Join(*dir, *nodes)
	}
	return b.run(*nodes, *dir, lists)
}

// openBLists are the names or paths of lists of tasks.
func openBLists(dir, pods string) ([]string, error) {
	if pods != "all" {
		return strings.Split(pods, ","), nil
	}
	files, err := filepath.Glob(openb.PodFile(dir, "*"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("there is no list of tasks in %s", dir)
	}
	return files, err
}

// An openBBench is what is to be played.
type openBBench struct {
	*session
	policies []bench.NamedPolicy
	seeds    []int64
	load     int
	options  openb.Options
	bound    bool
	html     string
	traces   []*openBTrace
}

// An openBTrace is one list of tasks, and what came of it.
type openBTrace struct {
	name   string
	trace  *openb.Trace
	runs   [][]*openb.Run // by policy and seed
	bounds []float64      // by seed, if that was asked for
}

func (b *openBBench) configure(policies, seeds, mix string) error {
	for name := range strings.SplitSeq(policies, ",") {
		found := false
		for _, p := range bench.Policies() {
			if name == "all" || name == p.Name {
				b.policies, found = append(b.policies, p), true
			}
		}
		if !found {
			return b.misused("there is no policy %q", name)
		}
	}
	for i, p := range b.policies {
		if slices.ContainsFunc(b.policies[:i], func(o bench.NamedPolicy) bool { return o.Name == p.Name }) {
			return b.misused("policy %q is named twice", p.Name)
		}
	}
	switch mix {
	case "oracle":
	case "online":
		b.options.Learn = true
	default:
		return b.misused("-mix %q is neither oracle nor online", mix)
	}
	for _, flag := range []struct {
		name               string
		value, least, most int
	}{
		{"load", b.load, 100, 1000},
		{"queue", b.options.Queue, 0, 1_000_000},
		{"moves", b.options.Moves, 0, 100},
		{"moves-in-all", b.options.MovesInAll, 0, 1_000_000_000},
	} {
		if flag.value < flag.least || flag.value > flag.most {
			return b.misused("-%s %d is not in %d to %d", flag.name, flag.value, flag.least, flag.most)
		}
	}
	var err error
	b.seeds, err = parseSeeds(seeds)
	if err != nil {
		return b.misused("-seeds %q: %v", seeds, err)
	}
	return nil
}

// parseSeeds reads numbers and ranges with commas between. A seed that came again would count as another
// sample.
func parseSeeds(text string) ([]int64, error) {
	const most = 10_000
	var list []int64
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		from, err := strconv.ParseInt(first, 10, 32)
		to := from
		if isRange && err == nil {
			to, err = strconv.ParseInt(last, 10, 32)
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("%q is neither a number nor a range of them", part)
		case to < from || to-from >= most || len(list) >= most:
			return nil, fmt.Errorf("%q is no range of 1 to %d seeds", part, most)
		}
		for seed := from; seed <= to; seed++ {
			if slices.Contains(list, seed) {
				return nil, fmt.Errorf("seed %d is named twice", seed)
			}
			list = append(list, seed)
		}
	}
	return list, nil
}

func (b *openBBench) run(nodes, dir string, lists []string) error {
	for _, list := range lists {
		path := openb.PodFile(dir, list)
		trace, err := openb.OpenFiles(nodes, path)
		if err != nil {
			return err
		}
		name, published := strings.CutPrefix(filepath.Base(path), "openb_pod_list_")
		if published {
			name = strings.TrimSuffix(name, ".csv")
		}
		b.traces = append(b.traces, &openBTrace{name: name, trace: trace})
	}
	lines := len(b.policies)
	if b.bound {
		lines++
	}
	bar := report.NewCount(b.stderr, len(b.traces)*lines*len(b.seeds), "runs")
	for _, t := range b.traces {
		if err := b.play(t, bar); err != nil {
			bar.Clear()
			return err
		}
		bar.Clear()
		if err := b.report(t); err != nil {
			return err
		}
	}
	return errors.Join(b.writePage(), b.verdict())
}

// play makes all runs of a trace.
func (b *openBBench) play(t *openBTrace, bar *report.Progress) error {
	if b.bound {
		t.bounds = make([]float64, len(b.seeds))
		atOnce(len(b.seeds), func(i int) {
			t.bounds[i] = t.trace.Draw(b.seeds[i], b.load).Bound(100)
			bar.Count()
		})
	}
	var err error
	t.runs, err = playAll(len(b.policies), len(b.seeds), func(policy, seed int) (*openb.Run, error) {
		p := b.policies[policy]
		run, err := t.trace.Draw(b.seeds[seed], b.load).Play(p.New(b.seeds[seed]), b.options)
		if err != nil {
			return nil, fmt.Errorf("%s, seed %d: %s: %w", t.name, b.seeds[seed], p.Name, err)
		}
		bar.Count()
		return run, nil
	})
	return err
}

// published reports whether the runs are those of the published experiment.
func (b *openBBench) published() bool {
	if b.load != openb.Inflation || b.options.Learn || b.options.Queue+b.options.Moves > 0 || len(b.seeds) != openb.PublishedLast-openb.PublishedFirst+1 {
		return false
	}
	return slices.Min(b.seeds) == openb.PublishedFirst && slices.Max(b.seeds) == openb.PublishedLast
}

// verdict fails if figures that are published are not met to the rounding. Random draws otherwise than
// the published program did.
func (b *openBBench) verdict() error {
	if !b.published() {
		return nil
	}
	var failures []error
	for _, t := range b.traces {
		for p, policy := range b.policies {
			if figure, ok := t.trace.Published(policy.Name); ok && policy.Name != "random" {
				failures = append(failures, missed(t.name, policy.Name, figure, meanOf(t.at(p, 100, openb.Point.Unallocated))))
			}
		}
	}
	return errors.Join(failures...)
}

// missed is an error if a mean does not round to the figure that is published.
func missed(trace, policy string, figure, mean float64) error {
	if math.Abs(mean-figure) <= 0.005+1e-9 {
		return nil
	}
	return fmt.Errorf("%s: %s leaves %.3f %% of the GPUs instead of %.2f %%", trace, policy, mean, figure)
}

// at is a figure of the runs of a policy at a load.
func (t *openBTrace) at(policy, percent int, figure func(openb.Point) float64) []float64 {
	return each(t.runs[policy], func(r *openb.Run) float64 { return figure(r.At(percent)) })
}

// meanOf is a mean of figures in hundredths, without what binary fractions add to it, so that it rounds as
// a decimal would.
func meanOf(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return math.Round(1e9*sum/float64(cmp.Or(len(values), 1))) / 1e9
}
