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

// A Progress is a bar on a terminal that says how much has been done. Elsewhere, as
// in a file or a pipe, it is nothing. Several simulations may share one.
type Progress struct {
	out    io.Writer
	length int64 // zero: not known
	text   func(done, length int64) string

	mutex sync.Mutex
	done  int64
	shown time.Time
}

// NewProgress makes a bar for a length of simulated time, that of all simulations
// together; zero if it is not known.
func NewProgress(out io.Writer, length berth.Duration) *Progress {
	return newProgress(out, int64(length), func(done, length int64) string {
		if length == 0 {
			return Span(berth.Duration(done)) + " simulated"
		}
		return Span(berth.Duration(done)) + " of " + Span(berth.Duration(length))
	})
}

// NewCount makes a bar for a number of things, such as runs.
func NewCount(out io.Writer, length int, things string) *Progress {
	return newProgress(out, int64(length), func(done, length int64) string {
		return fmt.Sprintf("%d of %d %s", done, length, things)
	})
}

func newProgress(out io.Writer, length int64, text func(done, length int64) string) *Progress {
	file, ok := out.(*os.File)
	if !ok {
		return &Progress{}
	}
	if info, err := file.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return &Progress{}
	}
	return &Progress{out: out, length: length, text: text}
}

// Add notes that so much more was simulated, and draws the bar, ten times a second at the
// most.
func (p *Progress) Add(more berth.Duration) { p.add(int64(more)) }

// Count is Add for one more of a number of things.
func (p *Progress) Count() { p.add(1) }

func (p *Progress) add(more int64) {
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
		fmt.Fprintf(p.out, "\r\x1b[K%s", p.text(p.done, p.length))
		return
	}
	part := min(float64(p.done)/float64(p.length), 1)
	full := int(width * part)
	fmt.Fprintf(
		p.out, "\r\x1b[K[%s%s] %3.0f %%  %s", strings.Repeat("█", full), strings.Repeat("·", width-full),
		100*part, p.text(p.done, p.length),
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
