package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/flagline"
	"github.com/berth-sched/berth/internal/memory"
)

// submit is the command that submits a job.
func submit(ctx context.Context, flags *flag.FlagSet, args []string, stdout io.Writer) error {
	state := stateFlag(flags)
	var s Submission
	flags.StringVar(&s.Name, "name", "", "`name` of the job; default: one made from the command")
	flags.StringVar(&s.Queue, "queue", DefaultQueue, "`queue` that it is charged to")
	flags.TextVar(&s.Class, "class", berth.ClassBatch, "batch, interactive or latency-critical: which job starts first, and which may be preempted")
	flags.Func("priority", "among jobs of its class in its queue; the higher `number` goes first", func(text string) error {
		n, err := strconv.ParseInt(text, 10, 32)
		s.Priority = int32(n)
		if err != nil {
			return errors.New("a whole number of 32 bits is wanted")
		}
		return nil
	})
	flags.IntVar(&s.GPUs, "gpus", 0, "`number` of whole GPUs; 1, if nothing is said about GPUs")
	flags.StringVar(&s.MIG, "mig", "", "one MIG instance of a `profile`, such as 1g.10gb")
	flags.IntVar(&s.SharePercent, "share", 0, "`percent` of one GPU, beside others, by MPS")
	flags.Func("lend", "lend its GPUs while it leaves them idle; it has them back within that `time`", func(text string) error {
		within, err := time.ParseDuration(text)
		s.Lend = &berth.Lend{Within: berth.DurationOf(within)}
		return err
	})
	borrow := flags.Bool("borrow", false, "run on a GPU that another job lends, while that is idle")
	var mib int64
	flags.Func("memory", "`size` of the memory of each GPU that it uses, such as 20GiB; with -lend or -borrow", func(text string) (err error) {
		mib, err = memory.ParseMiB(text)
		return err
	})
	flags.StringVar(&s.CheckpointSignal, "checkpoint-signal", "", "`signal` that has the program write a checkpoint, such as USR1; default: it writes none when asked")
	grace := flags.Duration("grace", 30*time.Second, "how long it may take to write a checkpoint")
	stopTimeout := flags.Duration("stop-timeout", 10*time.Second, "`time` from SIGTERM to SIGKILL")
	expected := flags.Duration("expected", 0, "`time` that it is expected to run; default: unknown")
	minimum := flags.Duration("min-runtime", 0, "`time` that it runs before it may be preempted")
	follow := flags.Bool("f", false, "print what it prints, until it is over")
	if err := parseFlags(flags, args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return flagline.Misused("there is no command to run")
	}
	s.Grace, s.StopTimeout = berth.DurationOf(*grace), berth.DurationOf(*stopTimeout)
	s.ExpectedRuntime, s.MinRuntime = berth.DurationOf(*expected), berth.DurationOf(*minimum)
	if *borrow {
		s.Borrow = &berth.Borrow{MemoryMiB: mib}
	}
	if (s.Lend != nil || *borrow) == (mib == 0) {
		return flagline.Misused("-memory belongs to -lend and to -borrow, which need it")
	}
	if s.Lend != nil {
		s.Lend.MemoryMiB = mib
	}
	if s.GPUs == 0 && s.MIG == "" && s.SharePercent == 0 && !*borrow {
		s.GPUs = 1
	}
	if err := s.takeAlong(flags.Args()); err != nil {
		return err
	}
	name, err := newClient(*state).submit(ctx, s)
	if err != nil {
		return err
	}
	fmt.Fprintln(stdout, name)
	if *follow {
		return printLog(ctx, *state, name, true, stdout)
	}
	return nil
}

// takeAlong takes the command, and what else of here it needs to run as it would here.
func (s *Submission) takeAlong(command []string) error {
	path, err := exec.LookPath(command[0])
	if err != nil {
		return err
	}
	if s.Path, err = filepath.Abs(path); err != nil {
		return err
	}
	if s.Dir, err = os.Getwd(); err != nil {
		return err
	}
	s.Command, s.Env = command, os.Environ()
	for _, text := range slices.Concat([]string{s.Path, s.Dir}, s.Command, s.Env) {
		if !utf8.ValidString(text) { // JSON would change it
			return fmt.Errorf("%q is not UTF-8, as all of a job has to be: its command, folder and environment", text)
		}
	}
	return nil
}

// why is the command that says where a job stands.
func why(ctx context.Context, flags *flag.FlagSet, args []string, stdout io.Writer) error {
	state := stateFlag(flags)
	rest, err := parse(flags, args, 1, 1)
	if err != nil {
		return err
	}
	text, err := newClient(*state).why(ctx, rest[0])
	fmt.Fprint(stdout, text)
	return err
}

// cancel is the command that ends jobs.
func cancel(ctx context.Context, flags *flag.FlagSet, args []string, _ io.Writer) error {
	state := stateFlag(flags)
	names, err := parse(flags, args, 1, -1)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := newClient(*state).cancel(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// repaired is the command that returns a GPU to service.
func repaired(ctx context.Context, flags *flag.FlagSet, args []string, _ io.Writer) error {
	state := stateFlag(flags)
	rest, err := parse(flags, args, 1, 1)
	if err != nil {
		return err
	}
	return newClient(*state).repaired(ctx, rest[0])
}

// list is the command that lists the jobs.
func list(ctx context.Context, flags *flag.FlagSet, args []string, stdout io.Writer) error {
	state := stateFlag(flags)
	if _, err := parse(flags, args, 0, 0); err != nil {
		return err
	}
	s, err := newClient(*state).status(ctx)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "JOB\tQUEUE\tCLASS\tWANTS\tSTATE\tSINCE\tLIFE\tPID\tWHERE, OR WHY NOT") // Flush has the error
	for i := range s.Jobs {
		j := &s.Jobs[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", j.Name, j.Queue, j.Class, j.Wants, j.State, age(s.Now, j.Since),
			number(int(j.Incarnation)), number(j.PID), strings.Join(nonEmpty(j.Place, j.Why), "; "))
	}
	return w.Flush()
}
