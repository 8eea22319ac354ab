package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/berth-sched/berth/examples/livenode/internal/process"
)

// workload is a program as livenode runs them, for the demo and the tests: it counts
// steps, writes the count into its checkpoint when it is asked to, and begins with what
// it finds there. It is also the least that a program has to do for that.
func workload(_ context.Context, flags *flag.FlagSet, args []string, stdout io.Writer) error {
	steps := flags.Int("steps", 100, "`number` of steps")
	each := flags.Duration("each", 50*time.Millisecond, "`time` of a step")
	write := flags.Duration("write", 0, "`time` to write a checkpoint")
	deaf := flags.Bool("deaf", false, "ignore SIGTERM")
	until := flags.String("until", "", "`file` that ends it well when it appears")
	serves := flags.String("serves", "", "`file` without which it has nothing to do, as a service without requests")
	leave := flags.Bool("leave", false, "end when a checkpoint is written, to be run again")
	if _, err := parse(flags, args, 0, 0); err != nil {
		return err
	}
	if *deaf {
		signal.Ignore(syscall.SIGTERM)
	}
	asked, err := listenForRequests()
	if err != nil {
		return err
	}
	step, err := resume()
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "incarnation %s begins at step %d on %s\n", os.Getenv(envIncarnation), step, os.Getenv("CUDA_VISIBLE_DEVICES"))
	for tick := time.Tick(*each); step < *steps; {
		select {
		case <-tick:
			if *serves != "" {
				atWork, err := sayActivity(*serves)
				if err != nil {
					return err
				}
				if !atWork {
					continue
				}
			}
			step++
			fmt.Fprintf(stdout, "step %d\n", step)
			if _, err := os.Stat(*until); err == nil {
				*steps = step
			}
		case <-asked:
			time.Sleep(*write)
			if err := writeCheckpoint(step); err != nil {
				return err
			}
			fmt.Fprintf(stdout, "checkpoint at step %d\n", step)
			if *leave {
				os.Exit(exitAgain)
			}
		}
	}
	fmt.Fprintf(stdout, "done after %d steps\n", step)
	return nil
}

// listenForRequests has requests for a checkpoint come over a channel.
func listenForRequests() (<-chan os.Signal, error) {
	asked := make(chan os.Signal, 1)
	if name := os.Getenv(envCheckpointSignal); name != "" {
		s, err := process.ParseSignal(name)
		if err != nil {
			return nil, err
		}
		signal.Notify(asked, syscall.Signal(s))
	}
	return asked, nil
}

// sayActivity reports whether a service has anything to do, and tells livenode.
func sayActivity(serves string) (atWork bool, err error) {
	milli := 0
	if _, err := os.Stat(serves); err == nil {
		atWork, milli = true, busyMilli
	}
	return atWork, os.WriteFile(os.Getenv(envActivity), []byte(strconv.Itoa(milli)+"\n"), 0o600)
}

// resume reads the step at which the last checkpoint was written.
func resume() (int, error) {
	text, err := os.ReadFile(os.Getenv(envCheckpoint))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

// writeCheckpoint writes it beside the former, renames it, and says that it is written.
func writeCheckpoint(step int) error {
	path := os.Getenv(envCheckpoint)
	if err := os.WriteFile(path+".new", []byte(strconv.Itoa(step)+"\n"), 0o600); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	return os.WriteFile(os.Getenv(envCheckpointDone), nil, 0o600)
}
