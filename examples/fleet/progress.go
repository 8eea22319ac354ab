package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/report"
)

// A progress is a bar on a terminal. Elsewhere it is nothing.
type progress struct {
	out    io.Writer
	length berth.Duration // zero: not known
	shown  time.Time
}

func newProgress(out io.Writer, length berth.Duration) *progress {
	file, ok := out.(*os.File)
	if !ok {
		return &progress{}
	}
	if info, err := file.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return &progress{}
	}
	return &progress{out: out, length: length}
}

// show draws the bar, ten times a second at the most.
func (p *progress) show(now berth.Time) {
	if p.out == nil || time.Since(p.shown) < 100*time.Millisecond {
		return
	}
	p.shown = time.Now()
	const width = 40
	if p.length == 0 {
		fmt.Fprintf(p.out, "\r\x1b[K%s simulated", report.Span(now.Sub(0)))
		return
	}
	done := min(int(width*float64(now)/float64(p.length)), width)
	fmt.Fprintf(
		p.out, "\r\x1b[K[%s%s] %3d %%  %s of %s", strings.Repeat("█", done), strings.Repeat("·", width-done),
		100*done/width, report.Span(now.Sub(0)), report.Span(p.length),
	)
}

// clear removes the bar.
func (p *progress) clear() {
	if p.out != nil {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
