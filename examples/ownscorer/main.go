// The program ownscorer compares a rule of placement of your own with those of package bench, in
// the experiment of Weng et al. (USENIX ATC 2023): how many GPUs of a fleet are left over when
// as many have been asked for as there are? Change Score, and run it again:
//
//	go run ./examples/ownscorer -dir DIR
//
// Two orders of arrival are played, which takes some seconds; the tables of README.md and
// docs/results.md are means of ten: -seeds 10.
//
// DIR has the lists of the trace that Alibaba published; without it the program says where they
// are. Rows core-NAME are the scheduling core with a rule, and core is the core with its own.
package main

import (
	"context"
	"flag"
	"io"
	"os"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench"
	"github.com/berth-sched/berth/bench/experiments/openb"
	"github.com/berth-sched/berth/bench/flagline"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/countable"
)

// leastLeft is the rule: a member goes where the least is left of GPUs and of cores, each GPU
// counting as much as 16 cores. It is best fit, to start from.
type leastLeft struct{}

func (leastLeft) Name() string { return "least-left" }

func (leastLeft) Score(_ *berth.Group, places []berth.Place) {
	for i := range places {
		p := &places[i]
		p.Score = -p.HostLeft[countable.CPUMilli] / 16 // the highest score wins
		for _, milli := range p.Left {
			p.Score -= int64(milli)
		}
	}
}

func run(args []string, stdout io.Writer) error {
	o := openb.Defaults()
	o.Progress = os.Stderr
	o.Policies, o.Own = []string{"core", "fgd", "best-fit", "first-fit"}, []bench.NamedPolicy{bench.CoreScoredBy(leastLeft{})}
	flags := flag.NewFlagSet("ownscorer", flag.ContinueOnError)
	flags.StringVar(&o.Dir, "dir", "", "folder with the lists of the trace")
	seeds := flags.Int("seeds", 2, "orders of arrival to play, for the means; the published tables have 10")
	if err := flagline.Parse(flags, args, stdout, "usage: ownscorer -dir DIR\n\n"); err != nil {
		return err
	}
	if err := study.Within("seeds", *seeds, 1, 1000); err != nil {
		return err
	}
	o.Seeds = nil
	for i := range *seeds {
		o.Seeds = append(o.Seeds, int64(42+i))
	}
	return openb.Run(context.Background(), o, stdout)
}

func main() { os.Exit(flagline.Status("ownscorer", run(os.Args[1:], os.Stdout), os.Stderr)) }
