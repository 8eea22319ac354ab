// The program berthbench runs the experiments that show what the scheduling core does
// and what it costs.
//
//	go run ./bench/berthbench -h
//	go run ./bench/berthbench topo
//	go run ./bench/berthbench nvl72 -days 4
//	go run ./bench/berthbench cases -file ../shared/data/peers/kueue_tas.json
//
// Results go to standard output as tables, or with -csv or -json; what is in progress
// goes to standard error. The same seed gives the same results, except for what is
// timed. The exit status is 1 if an experiment finds something wrong, and 2 if it was
// not asked properly.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

// An experiment is a file of this package and a line in the table below.
type experiment struct {
	name, summary string
	run           func(*session, []string) error
}

// experiments in the order in which they are listed.
var experiments = []experiment{
	{"cases", "replay scenarios of other schedulers and compare the outcomes", runCases},
	{"topo", "where gangs of 1 to 1,024 GPUs go on four fleets, and how fast", runTopo},
	{"mig", "what policies of placing MIG instances accept, by mix and load", runMIG},
	{"nvl72", "occupancy of 5,000 NVL72 trays with and without topology constraints", runNVL72},
	{"goodput", "effective training time of 16,384 GPUs over 54 days of failures, by what the core may do", runGoodput},
	{"fairness", "share against entitlement of three teams over a week, with and without the past", runFairness},
	{"openb", "how many GPUs policies of placement leave over on the openb trace", runOpenB},
	{"philly", "who waits for how long over three months of Philly's jobs, by policy, shared and in private", runPhilly},
	{"preempt", "who has to yield to bursts of inference on a full fleet, and what that costs, by policy", runPreempt},
	{"traces", "what traces hold, and whether they can be read to their end", runTraces},
}

// errUsage is for what was not asked properly.
var errUsage = errors.New("see berthbench -h")

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
		err := e.run(newSession(e.name, stdout, stderr), args[1:])
		switch {
		case err == nil, errors.Is(err, flag.ErrHelp):
			return 0
		case errors.Is(err, errUsage):
			fmt.Fprintf(stderr, "berthbench %s: %v\n", e.name, err)
			return 2
		}
		fmt.Fprintf(stderr, "berthbench %s: %v\n", e.name, err)
		return 1
	}
	fmt.Fprintf(stderr, "berthbench: there is no experiment %q; there are %s\n", args[0], strings.Join(names(), ", "))
	return 2
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
		fmt.Fprintf(w, "  %-8s %s\n", e.name, e.summary)
	}
	fmt.Fprint(w, "\nberthbench EXPERIMENT -h lists the flags of one.\n")
}
