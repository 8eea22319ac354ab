package study

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/berth-sched/berth/bench/report"
)

// A Study is an experiment that compares some lines, such as policies, each played on the same
// seeds. R is one run. Runs come by line, then by seed.
type Study[R any] interface {
	// Play makes all runs.
	Play(context.Context) ([][]R, error)
	// Report prints them.
	Report(*Printer, [][]R) error
	// Verdict lists what keeps the experiment from showing what it is for. It prints what it judges
	// by as it likes.
	Verdict(*Printer, [][]R) (wrong []string)
}

// Conduct makes a study, from the first run to the verdict. The error is an [ErrFinding] where the
// verdict is that something is wrong.
func Conduct[R any](ctx context.Context, e Study[R], p *Printer) error {
	runs, err := e.Play(ctx)
	if err != nil {
		return err
	}
	if err := e.Report(p, runs); err != nil {
		return err
	}
	if wrong := e.Verdict(p, runs); len(wrong) > 0 {
		return Found(errors.New(strings.Join(wrong, "; ")))
	}
	return nil
}

// WritePage writes a page into a file; none if the name is empty.
func WritePage(path string, write func(io.Writer) error) error {
	if path == "" {
		return nil
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}

// PlayAll plays every seed on every line; the seeds count from 0. Runs share nothing, so they
// may go at once. None begins after the context is cancelled.
func PlayAll[R any](ctx context.Context, lines, seeds int, play func(line, seed int) (R, error)) ([][]R, error) {
	runs, failures := make([][]R, lines), make([]error, lines*seeds)
	for line := range runs {
		runs[line] = make([]R, seeds)
	}
	AtOnce(len(failures), func(i int) {
		if ctx.Err() != nil {
			return
		}
		line, seed := i%lines, i/lines
		runs[line][seed], failures[i] = play(line, seed)
	})
	return runs, errors.Join(append(failures, ctx.Err())...)
}

// PlayRuns is PlayAll that tells how many runs are done.
func PlayRuns[R any](ctx context.Context, out Output, lines, seeds int, play func(line, seed int) (R, error)) ([][]R, error) {
	bar := report.NewCount(out.Progress, lines*seeds, "runs")
	defer bar.Clear()
	return PlayAll(ctx, lines, seeds, func(line, seed int) (R, error) {
		r, err := play(line, seed)
		bar.Count()
		return r, err
	})
}

// AtOnce calls do for each number below n, on all processors.
func AtOnce(n int, do func(int)) {
	var group sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	group.Wait()
}
