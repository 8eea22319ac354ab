// The program livenode turns this machine into a cluster of one node that schedules
// itself: jobs are commands, which wait in queues until the scheduling core finds GPUs for
// them, and run as processes of this machine. What a real orchestrator does around the
// core is all here, and small enough to read in an evening.
//
//	livenode serve -fake hgx-h100       the orchestrator, on a box that is not there
//	livenode run -gpus 2 -checkpoint-signal USR1 -- python train.py
//	livenode run -mig 1g.10gb -- python serve.py
//	livenode run -share 30 -class interactive -- jupyter lab
//	livenode run -lend 5s -memory 20GiB -class latency-critical -- python serve.py
//	livenode run -borrow -memory 40GiB -checkpoint-signal USR1 -- python train.py
//	livenode top                        GPUs, jobs, queues, and why each pending job waits
//	livenode demo -fake hgx-h100        a story of a preemption, which checks itself
//	livenode demo -fake hgx-h100 -story lend
//
// A job of a higher class or priority that finds no room has others evicted: they are asked
// for a checkpoint by a signal, have a bounded time to write it, are stopped, and resume
// when there is room again. What a program has to do for that, livenode run -h tells.
//
// A job that lends has another run on its GPU while it is idle: a training at night on the GPU of a
// service. When requests come the training is asked for a checkpoint and goes, and the service
// has its GPU to itself within the time that it said, as livenode why tells. How busy each of the
// two keeps the GPU is the driver's word, by process, or the service's own: livenode run -h says
// how, and what a GPU that is lent needs.
//
// Everything that counts is on disk before it happens, and programs have a supervisor of
// their own: after a kill -9 of the orchestrator the next one finds them, where they are.
//
// Where to begin to read: orchestrator.go, the loop; life.go, from the order to start a
// program to its end; internal/store, what survives a crash; internal/process, programs
// that outlive their orchestrator.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/berth-sched/berth/bench/flagline"
	"github.com/berth-sched/berth/examples/livenode/internal/process"
)

func main() {
	os.Exit(livenode(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

// A command is one of livenode's. Its flags are its own; args are what follows them, and
// more is what is said about it below them.
type command struct {
	name, args, text, more string
	// hidden ones are for livenode itself. Signals are to them what they are to any program;
	// the others end with their context.
	hidden bool
	run    func(ctx context.Context, flags *flag.FlagSet, args []string, stdout io.Writer) error
}

func commands() []command {
	return []command{
		{name: "serve", text: "run the orchestrator", run: serve},
		{name: "run", args: "-- COMMAND...", text: "submit a job", more: protocol, run: submit},
		{name: "ps", text: "list the jobs", run: list},
		{name: "why", args: "JOB", text: "say where a job stands, and what would help", run: why},
		{name: "logs", args: "JOB", text: "print what a job has printed", run: logs},
		{name: "cancel", args: "JOB...", text: "end jobs", run: cancel},
		{name: "queue", args: "NAME", text: "make, change or remove a queue", run: queue},
		{name: "top", text: "draw GPUs, jobs and queues", run: top},
		{name: "repaired", args: "GPU", text: "return a GPU that failed to service", run: repaired},
		{name: "fault", text: "have a GPU of a pretend box fail", run: fault},
		{name: "demo", text: "play a story of a preemption, and check it", run: demo},
		{name: "workload", hidden: true, run: workload},
		{name: process.SuperviseCommand, hidden: true, run: supervise},
	}
}

// livenode runs a command line and returns its exit status: 0, 1 for what went wrong, 2
// for a command line that makes no sense.
func livenode(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		usage(stderr)
		return 2
	}
	if slices.Contains([]string{"help", "-h", "-help", "--help"}, args[0]) {
		usage(stdout)
		return 0
	}
	all := commands()
	i := slices.IndexFunc(all, func(c command) bool { return c.name == args[0] })
	if i < 0 {
		fmt.Fprintf(stderr, "livenode: there is no command %q\n", args[0])
		usage(stderr)
		return 2
	}
	c := &all[i]
	if !c.hidden {
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
		context.AfterFunc(ctx, stop) // the second signal ends it at once
		defer stop()
	}
	flags := flag.NewFlagSet("livenode "+c.name, flag.ContinueOnError)
	err := c.run(ctx, flags, args[1:], stdout)
	if errors.Is(err, flag.ErrHelp) {
		c.help(flags, stdout)
	}
	return flagline.Status("livenode "+c.name, err, stderr)
}

// help tells what a command does, its flags, and what is to be said below them.
func (c *command) help(flags *flag.FlagSet, w io.Writer) {
	fmt.Fprintf(w, "livenode %s [flags] %s\n%s\n\n", c.name, c.args, c.text)
	flags.SetOutput(w)
	flags.PrintDefaults()
	if c.more != "" {
		fmt.Fprintf(w, "\n%s", c.more)
	}
}

func usage(w io.Writer) {
	fmt.Fprint(w, "livenode schedules the GPUs of this machine.\n\n")
	for _, c := range commands() {
		if !c.hidden {
			fmt.Fprintf(w, "  livenode %-22s %s\n", c.name+" "+c.args, c.text)
		}
	}
	fmt.Fprint(w, "\nlivenode COMMAND -h tells the flags of a command.\n")
}

// parse parses flags, which may stand before and behind the arguments, and returns the
// arguments, of which there have to be so many: at least, and at most; -1 is any number.
func parse(flags *flag.FlagSet, args []string, least, most int) ([]string, error) {
	var rest []string
	for {
		if err := parseFlags(flags, args); err != nil {
			return nil, err
		}
		if flags.NArg() == 0 {
			break
		}
		rest, args = append(rest, flags.Arg(0)), flags.Args()[1:]
	}
	switch {
	case len(rest) < least:
		return nil, flagline.Misused("too few arguments; -help tells which")
	case most >= 0 && len(rest) > most:
		return nil, flagline.Misused("%q is one argument too many", rest[most])
	}
	return rest, nil
}

// parseFlags parses flags up to the first argument, as of a command that has flags of its
// own.
func parseFlags(flags *flag.FlagSet, args []string) error {
	return flagline.Flags(flags, args, io.Discard, "") // livenode itself writes the help
}

// stateFlag is the flag that every command has.
func stateFlag(flags *flag.FlagSet) *string {
	return flags.String("state", defaultState(), "`folder` of the orchestrator; LIVENODE_STATE says another default")
}

func defaultState() string {
	if dir := os.Getenv("LIVENODE_STATE"); dir != "" {
		return dir
	}
	if dir := os.Getenv("XDG_STATE_HOME"); dir != "" {
		return filepath.Join(dir, "livenode")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "livenode-state"
	}
	return filepath.Join(home, ".local", "state", "livenode")
}

// supervise is the command of a supervisor.
func supervise(_ context.Context, flags *flag.FlagSet, args []string, _ io.Writer) error {
	rest, err := parse(flags, args, 1, 1)
	if err != nil {
		return err
	}
	return process.Supervise(rest[0])
}
