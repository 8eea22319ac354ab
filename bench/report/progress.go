package report

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/berth-sched/berth"
)

// A Progress is a bar on a terminal that says how much has been simulated. Elsewhere, as
// in a file or a pipe, it is nothing. Several simulations may share one.
type Progress struct {
	out    io.Writer
	length berth.Duration // zero: not known

	mutex sync.Mutex
	done  berth.Duration
	shown time.Time
}

// NewProgress makes a bar for a length of simulated time, that of all simulations
// together; zero if it is not known.
func NewProgress(out io.Writer, length berth.Duration) *Progress {
	file, ok := out.(*os.File)
	if !ok {
		return &Progress{}
	}
	if info, err := file.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return &Progress{}
	}
	return &Progress{out: out, length: length}
}

// Add notes that so much more was simulated, and draws the bar, ten times a second at the
// most.
func (p *Progress) Add(more berth.Duration) {
	if p.out == nil {
		return
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.done += more
	if time.Since(p.shown) < 100*time.Millisecond {
		return
	}
	p.shown = time.Now()
	const width = 40
	if p.length == 0 {
		fmt.Fprintf(p.out, "\r\x1b[K%s simulated", Span(p.done))
		return
	}
	part := min(float64(p.done)/float64(p.length), 1)
	full := int(width * part)
	fmt.Fprintf(
		p.out, "\r\x1b[K[%s%s] %3.0f %%  %s of %s", strings.Repeat("█", full), strings.Repeat("·", width-full),
		100*part, Span(p.done), Span(p.length),
	)
}

// Clear removes the bar.
func (p *Progress) Clear() {
	if p.out != nil {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
