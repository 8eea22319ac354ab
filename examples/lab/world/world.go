package world

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/script"
)

// A World is a scenario and where it stands. Make one with New.
type World struct {
	lines []string
	state
	// log has a line for each step that was ever taken, also behind the present one.
	log   []Step
	saved archive
}

// state is what a step changes. It is saved as a whole.
type state struct {
	session *script.Session
	// next is the line to go on with. running: it is a run, under way since from.
	next    int
	running bool
	from    berth.Time
	// step counts the steps that were taken.
	step     int
	executor executor
	annals   annals
}

// A Step is what happened in one step.
type Step struct {
	// Line of the scenario, from 0.
	Line int `json:"line"`
	// At is when it ended, in milliseconds since the scenario began.
	At berth.Time `json:"at"`
	// Did is the command, as a line of a script, and Printed what it printed.
	Did     string `json:"did"`
	Printed string `json:"printed,omitempty"`
	// Failed: the script is wrong there, and goes no further.
	Failed string `json:"failed,omitempty"`
	// Sample of the fleet behind the step.
	Sample
}

// New is the world of a scenario before its first step. A text that is no scenario, because it is
// too long or holds a run without a span, is refused.
func New(text string) (*World, error) {
	lines, err := parse(text)
	if err != nil {
		return nil, err
	}
	w := &World{lines: lines, state: state{
		executor: executor{orders: map[berth.OrderID]berth.Order{}, work: map[berth.JobID]work{}},
		annals:   annals{known: map[berth.NodeID]berth.Node{}, submitted: map[berth.JobID]berth.Time{}},
	}}
	w.begin(script.NewUnwatched())
	return w, w.save()
}

// begin gives the world its session.
func (w *World) begin(s *script.Session) {
	w.session = s
	w.session.Applied = w.applied
	w.session.Scheduled = w.scheduled
}

func (w *World) applied(now berth.Time, e berth.Event, refused error) {
	if refused == nil {
		w.annals.told(now, e)
		w.executor.told(now, e, w.session.Core())
	}
}

func (w *World) scheduled(now berth.Time, orders []berth.Order) {
	w.annals.ordered(now, orders)
	w.executor.ordered(now, orders, w.session.Core())
}

// Done reports whether no step is left.
func (w *World) Done() bool {
	return w.next == len(w.lines) || w.step > 0 && w.log[w.step-1].Failed != ""
}

// last is the latest step; zero before the first.
func (w *World) last() Step {
	if w.step == 0 {
		return Step{}
	}
	return w.log[w.step-1]
}

// Text is the scenario.
func (w *World) Text() string { return strings.Join(w.lines, "\n") + "\n" }

// Step takes one step. Nothing happens when Done. An error says that the world cannot be saved.
func (w *World) Step() error {
	if w.Done() {
		return nil
	}
	did := Step{Line: w.next}
	var err error
	if strings.HasPrefix(w.lines[w.next], "#") { // it says something to people alone
		did.Did = w.lines[w.next]
		w.next++
	} else if span, runs := runSpan(w.lines[w.next]); runs {
		did.Did, did.Printed, err = w.pass(span)
	} else {
		did.Did = w.lines[w.next]
		did.Printed, err = w.session.Do(did.Did)
		w.next++
	}
	if err != nil {
		did.Failed = err.Error()
	}
	did.At = w.session.Now()
	before := w.last()
	did.Sample = w.annals.sample(w.session, before.Sample, before.At)
	w.step++
	if w.step > len(w.log) {
		w.log = append(w.log, did)
	}
	return w.save()
}

// pass lets time pass in a run, up to the next thing that happens or its end. It returns the
// lines that did it.
func (w *World) pass(span berth.Duration) (did, printed string, err error) {
	if !w.running {
		w.from, w.running = w.session.Now(), true
	}
	line, at := w.executor.due(w.session)
	end := w.from.Add(span)
	if line == "" && at >= end {
		at = end
		w.next++
		w.running = false
	}
	if d := at.Sub(w.session.Now()); d > 0 {
		did = fmt.Sprintf("advance %v", d)
		if printed, err = w.session.Do(did); err != nil || at == end && !w.running {
			return did, printed, err
		}
		did += "\n"
		line, _ = w.executor.due(w.session)
	}
	if line == "" {
		return strings.TrimSpace(did), "", nil
	}
	w.executor.taken(line)
	printed, err = w.session.Do(line)
	return did + line, printed, err
}

// NextAt is when the next step ends, if one is left, and whether it is more than the end of a run.
func (w *World) NextAt() (at berth.Time, happens bool) {
	if w.Done() {
		return 0, false
	}
	now := w.session.Now()
	span, runs := runSpan(w.lines[w.next])
	if !runs {
		return now, true
	}
	from := now
	if w.running {
		from = w.from
	}
	if line, at := w.executor.due(w.session); line != "" {
		return now, true
	} else if at < from.Add(span) {
		return at, true
	}
	return from.Add(span), false
}

// Append takes a line as the next one, at an instant of the run under way. What the scenario had
// behind it goes on after that or, unless keep, is given up. A line that makes no sense is
// refused, and changes nothing but that; an event that the core refuses is taken, and its step
// says how.
func (w *World) Append(at berth.Time, line string, keep bool) error {
	added, err := parse(line)
	if err != nil {
		return err
	}
	if len(added) != 1 {
		return fmt.Errorf("one command at a time, not %d", len(added))
	}
	rest, err := w.cut(at)
	if err != nil {
		return err
	}
	if w.step > 0 && w.last().Failed != "" {
		return fmt.Errorf("the scenario failed here; step back first")
	}
	if !keep {
		rest = nil
	}
	step, next := w.step, w.next
	w.lines = slices.Concat(w.lines[:next], added, rest)
	if _, runs := runSpan(added[0]); runs {
		return nil
	}
	if err := w.Step(); err != nil {
		return err
	}
	failed := w.log[step].Failed
	if failed == "" {
		return nil
	}
	if err := w.Seek(step); err != nil {
		return err
	}
	w.lines, w.log = slices.Delete(w.lines, next, next+1), w.log[:step]
	return fmt.Errorf("%s", failed)
}

// cut ends a run under way at an instant, and forgets the steps behind the present one. It returns
// the lines that are left, with the rest of the run.
func (w *World) cut(at berth.Time) ([]string, error) {
	rest := slices.Clone(w.lines[w.next:])
	w.lines = slices.Clip(w.lines[:w.next])
	w.log = slices.Clip(w.log[:w.step])
	w.saved.cut(w.step)
	if !w.running {
		return rest, nil
	}
	span, _ := runSpan(rest[0])
	ran := min(max(at, w.session.Now()).Sub(w.from), span)
	w.lines = append(w.lines, fmt.Sprintf("run %v", ran))
	rest[0] = fmt.Sprintf("run %v", span-ran)
	for w.running && !w.Done() {
		if err := w.Step(); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

// Transcript is the steps that were taken, as a plain script: what package script runs.
func (w *World) Transcript() string {
	var b strings.Builder
	for i := range w.log[:w.step] {
		if did := w.log[i].Did; did != "" {
			fmt.Fprintf(&b, "%s\n%s", did, w.log[i].Printed)
		}
	}
	return b.String()
}
