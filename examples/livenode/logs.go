package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// logs is the command that prints what a job has printed. It needs no orchestrator: the
// file is there as long as the job is known.
func logs(ctx context.Context, flags *flag.FlagSet, args []string, stdout io.Writer) error {
	state := stateFlag(flags)
	follow := flags.Bool("f", false, "follow the output until the job ends")
	rest, err := parse(flags, args, 1, 1)
	if err != nil {
		return err
	}
	return printLog(ctx, *state, rest[0], *follow, stdout)
}

// followPoll is how often it is looked for more.
const followPoll = 100 * time.Millisecond

// printLog copies what a job prints, in all its lives.
func printLog(ctx context.Context, state, name string, follow bool, stdout io.Writer) error {
	if !jobName.MatchString(name) {
		return fmt.Errorf("%q is no name of a job", name)
	}
	folder := filepath.Join(state, "jobs", name)
	if _, err := os.Stat(folder); err != nil {
		return fmt.Errorf("there is no job %s in %s", name, state)
	}
	var file *os.File
	for {
		_, err := os.Stat(filepath.Join(folder, "end.json"))
		over := err == nil // looked at before the log is read, so that nothing is missed
		if file == nil {
			file, err = os.Open(filepath.Join(folder, "output.log"))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			if err == nil {
				defer file.Close()
			} else {
				file = nil // it has not begun
			}
		}
		if file != nil {
			if _, err := io.Copy(stdout, file); err != nil {
				return err
			}
		}
		if over || !follow {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followPoll):
		}
	}
}
