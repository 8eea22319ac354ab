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

// A Progress says how much has been done, and from some seconds on how long the rest may take: a
// bar on a terminal; elsewhere, as in a file or a pipe, a line now and then, and none about what is
// over soon. Several simulations may share one.
type Progress struct {
	out      io.Writer
	terminal bool
	length   int64 // zero: not known
	text     func(done, length int64) string

	mutex        sync.Mutex
	done         int64
	began, shown time.Time
}

// What is over within patience is not told of where there is no terminal, and lines come so far
// apart.
const patience, linesApart = 5 * time.Second, 15 * time.Second

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
	if out == nil || out == io.Discard {
		return &Progress{}
	}
	p := &Progress{out: out, length: length, text: text, began: time.Now()}
	if file, ok := out.(*os.File); ok {
		info, err := file.Stat()
		p.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return p
}

// Add notes that so much more was simulated, and draws the bar, ten times a second at the
// most.
func (p *Progress) Add(more berth.Duration) { p.add(int64(more)) }

// Follow is Add for a simulation that tells to which instant it has come, from 0 on. Each of those
// that share a bar has one of its own.
func (p *Progress) Follow() func(now berth.Time) {
	shown := berth.Time(0)
	return func(now berth.Time) {
		p.Add(now.Sub(shown))
		shown = now
	}
}

// Count is Add for one more of a number of things.
func (p *Progress) Count() { p.add(1) }

func (p *Progress) add(more int64) {
	if p.out == nil {
		return
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.done += more
	now := time.Now()
	if !p.terminal {
		p.line(now)
		return
	}
	if now.Sub(p.shown) < 100*time.Millisecond {
		return
	}
	p.shown = now
	const width = 40
	if p.length == 0 {
		fmt.Fprintf(p.out, "\r\x1b[K%s", p.text(p.done, p.length))
		return
	}
	part := min(float64(p.done)/float64(p.length), 1)
	full := int(width * part)
	fmt.Fprintf(
		p.out, "\r\x1b[K[%s%s] %3.0f %%  %s%s", strings.Repeat("█", full), strings.Repeat("·", width-full),
		100*part, p.text(p.done, p.length), p.rest(now),
	)
}

// line writes a line, if it is time for one.
func (p *Progress) line(now time.Time) {
	if now.Sub(p.began) < patience || now.Sub(p.shown) < linesApart {
		return
	}
	p.shown = now
	fmt.Fprintf(p.out, "%s%s\n", p.text(p.done, p.length), p.rest(now))
}

// rest says how long the rest takes, if it goes on as it went so far.
func (p *Progress) rest(now time.Time) string {
	so := now.Sub(p.began)
	if p.length == 0 || p.done <= 0 || p.done >= p.length || so < patience {
		return ""
	}
	left := float64(so) * float64(p.length-p.done) / float64(p.done)
	return fmt.Sprintf(", about %v to go", time.Duration(left).Round(time.Second))
}

// Clear removes the bar.
func (p *Progress) Clear() {
	if p.terminal {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
