package world

import (
	"sort"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/script"
)

// An archive has what a world goes back by: some of its states. There are never more than
// maxSaved of them: then every second one goes, and they are twice as far apart from there on.
type archive struct {
	every  int
	states []savedState // by step
}

const (
	firstEvery = 16
	maxSaved   = 40
)

type savedState struct {
	state   // without its session
	session *script.Saved
}

func (s *state) clone() state {
	c := *s
	c.session = nil
	c.executor = s.executor.clone()
	c.annals = s.annals.clone()
	return c
}

// save keeps the present state if the latest one is far enough behind.
func (w *World) save() error {
	a := &w.saved
	if a.every == 0 {
		a.every = firstEvery
	}
	if n := len(a.states); n > 0 && w.step < a.states[n-1].step+a.every {
		return nil
	}
	session, err := w.session.Save()
	if err != nil {
		return err
	}
	a.states = append(a.states, savedState{w.clone(), session})
	if len(a.states) > maxSaved {
		a.every *= 2
		kept := a.states[:0]
		for i := range a.states {
			if i%2 == 0 {
				kept = append(kept, a.states[i])
			}
		}
		clear(a.states[len(kept):])
		a.states = kept
	}
	return nil
}

// cut forgets the states behind a step.
func (a *archive) cut(step int) {
	n := sort.Search(len(a.states), func(i int) bool { return a.states[i].step > step })
	clear(a.states[n:])
	a.states = a.states[:n]
}

// Back goes to the nearest saved state that is not behind a step of those that were taken; the
// rest of the way is Step. It stays where it is if that is nearer.
func (w *World) Back(step int) error {
	step = max(0, min(step, len(w.log)))
	a := &w.saved
	n := sort.Search(len(a.states), func(i int) bool { return a.states[i].step > step })
	from := &a.states[n-1]
	if w.step <= step && w.step >= from.step {
		return nil
	}
	session, err := from.session.Resume()
	if err != nil {
		return err
	}
	w.state = from.clone()
	w.begin(session)
	return nil
}

// Seek goes to a step that was taken. Cost: that of some steps.
func (w *World) Seek(step int) error {
	if err := w.Back(step); err != nil {
		return err
	}
	for w.step < min(step, len(w.log)) {
		if err := w.Step(); err != nil {
			return err
		}
	}
	return nil
}

// StepAt is the last of the steps that were taken up to an instant.
func (w *World) StepAt(at berth.Time) int {
	return sort.Search(len(w.log), func(i int) bool { return w.log[i].At > at })
}
