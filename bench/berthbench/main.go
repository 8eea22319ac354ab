// The program berthbench runs the experiments that show what the scheduling core does
// and what it costs.
//
//	go run ./bench/berthbench -h
//	go run ./bench/berthbench day -seeds 2
//	go run ./bench/berthbench cases -file bench/cases/testdata/kueue_tas.json
//
// Results go to standard output as tables, or with -json; what is in progress goes to
// standard error. The same seed gives the same results, except for what is
// timed. The exit status is 0 if an experiment ran to its end, 1 if something failed, or with
// -verify if it does not show what it is for, and 2 if it was not asked properly.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/berth-sched/berth/bench/flagline"
	"github.com/berth-sched/berth/bench/study"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		usage(stderr)
		return 2
	}
	switch args[0] {
	case "-h", "-help", "--help", "help":
		usage(stdout)
		return 0
	}
	for _, e := range experiments {
		if e.name != args[0] {
			continue
		}
		verify, err := e.run(args[1:], stdout, stderr)
		if errors.Is(err, study.ErrFinding) && !verify {
			fmt.Fprintf(stderr, "berthbench %s: found: %v\n", e.name, err)
			return 0
		}
		return flagline.Status("berthbench "+e.name, err, stderr)
	}
	fmt.Fprintf(stderr, "berthbench: there is no experiment %q; there are %s\n", args[0], strings.Join(names(), ", "))
	return 2
}

// run reads the flags of an experiment, and makes it. It also returns whether its findings are to
// decide the exit status.
func (e *experiment) run(args []string, stdout, stderr io.Writer) (verify bool, err error) {
	options, conduct := e.make()
	f := study.NewFlags(e.name, options)
	out := study.Output{Progress: stderr}
	f.Yes(&out.JSON, "json", "print tables as JSON, one to a line")
	f.Yes(&verify, "verify", "exit with 1 if the experiment does not show what it is for")
	introduction := e.help
	if introduction == "" {
		introduction = e.name + ": " + e.summary + "\n\n"
	}
	if err := f.Parse(args, stdout, introduction); err != nil {
		return verify, err
	}
	options.SetOutput(out)
	return verify, conduct(context.Background(), stdout)
}

func names() []string {
	var list []string
	for _, e := range experiments {
		list = append(list, e.name)
	}
	return list
}

func usage(w io.Writer) {
	fmt.Fprint(w, "usage: berthbench EXPERIMENT [flags]\n\n")
	for _, e := range experiments {
		fmt.Fprintf(w, "  %-11s %s\n", e.name, e.summary)
	}
	fmt.Fprint(w, "\nberthbench EXPERIMENT -h lists the flags of one. With -verify its findings decide the exit status.\n")
}
