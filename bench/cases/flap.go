package cases

import (
	"encoding/json"
	"fmt"
	"slices"
)

// A flapCase is a circle of exchanges that a scheduler made: in each step somebody
// comes and others go for it, and the last step leads to the first. The core agrees
// with what is wanted if it refuses at least one of the exchanges, and if the fleet
// settles when all of them may be made in turn.
type flapCase struct {
	ID         string            `json:"id"`
	Algorithm  string            `json:"algorithm"`
	Cohorts    []kueueCohort     `json:"cohorts"`
	Queues     []kueueQueue      `json:"queues"`
	Strategies []json.RawMessage `json:"strategies"`
	Steps      []flapStep        `json:"steps"`

	// Notes for people.
	Name    string          `json:"name"`
	Source  json.RawMessage `json:"source"`
	Teaches json.RawMessage `json:"teaches"`
	Want    json.RawMessage `json:"want"`
}

type flapStep struct {
	Admitted []kueueWorkload `json:"admitted"`
	Incoming kueueWorkload   `json:"incoming"`
	Victims  []string        `json:"kueue_victims"`
	Note     json.RawMessage `json:"note"`
}

const (
	// flapRounds is how many minutes the exchanges may go on, flapCalm how many of
	// the last have to be without an order.
	flapRounds, flapCalm = 240, 60
)

func (c *flapCase) id() string { return c.ID }

// step is a step as a scenario of its own.
func (c *flapCase) step(i int) *kueueCase {
	s := &c.Steps[i]
	out := &kueueCase{
		ID: c.ID, Algorithm: c.Algorithm, Cohorts: c.Cohorts, Queues: c.Queues, Admitted: s.Admitted, Incoming: s.Incoming,
	}
	for _, v := range s.Victims {
		out.Expect = append(out.Expect, kueueVictim{Workload: v})
	}
	return out
}

func (c *flapCase) check() *Error {
	if len(c.Steps) == 0 {
		return malformed("steps", "are missing")
	}
	for i := range c.Steps {
		if err := c.step(i).check(); err != nil {
			err.Field = fmt.Sprintf("steps[%d].%s", i, err.Field)
			return err
		}
	}
	return nil
}

func (c *flapCase) run() Result {
	r := Result{ID: c.ID, Name: c.Name, Kind: "flap"}
	refuses := false
	for i := range c.Steps {
		s := c.step(i)
		if len(s.Expect) == 0 {
			continue
		}
		_, ours, ok := s.play(&r)
		if !ok {
			return r
		}
		theirs := slices.Sorted(slices.Values(c.Steps[i].Victims))
		refuses = refuses || !slices.Equal(ours, theirs)
	}
	if !refuses {
		r.Detail = "all exchanges are made"
		return r
	}
	r.Detail = c.settles()
	r.Agree = r.Detail == ""
	return r
}

// settles lets the first step go on and says what is wrong if it never ends.
func (c *flapCase) settles() string {
	first := c.step(0)
	first.Queues = slices.Clone(first.Queues)
	for i := range first.Queues { // everybody may take from everybody
		first.Queues[i].policy = kueuePolicy{WithinQueue: kueueLower, Reclaim: kueueAny}
	}
	w, wrong := first.world()
	if wrong != nil {
		return wrong.Error()
	}
	for i := range flapRounds {
		ordered, err := w.round()
		if err != nil {
			return err.Error()
		}
		if ordered && i >= flapRounds-flapCalm {
			return fmt.Sprintf("after %d minutes there are still orders", i)
		}
	}
	return ""
}
