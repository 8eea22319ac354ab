package bench

import (
	"fmt"
	"slices"
)

// A Session is a fleet and the policy that decides on it.
type Session struct {
	fleet    *Fleet
	policy   Policy
	follower Follower // the policy, if it is one
	feasible []Node
}

// NewSession makes a fleet without tasks, on which a policy decides. The order of the nodes is
// that in which ties are broken. It refuses nodes without a name, with the name of another, and
// with amounts that make no sense (ErrInvalid).
func NewSession(nodes []NodeSpec, p Policy) (*Session, error) {
	f, err := newFleet(nodes)
	if err != nil {
		return nil, err
	}
	s := &Session{fleet: f, policy: p}
	s.follower, _ = p.(Follower)
	return s, nil
}

// Fleet is what the session decides on. It is for reading.
func (s *Session) Fleet() *Fleet { return s.fleet }

// Kind is the kind of a request. It refuses what makes no sense (ErrInvalid).
func (s *Session) Kind(r Request) (Kind, error) { return s.fleet.kind(r) }

// Know tells the policy how often each kind is asked for, from now on. It refuses kinds that are
// not known (ErrUnknown) and counts below zero (ErrInvalid).
func (s *Session) Know(mix Mix) error {
	for _, c := range mix {
		switch {
		case c.Kind < 0 || int(c.Kind) >= s.fleet.Kinds():
			return &Error{Subject: "mix", Reason: fmt.Sprintf("there is no kind %d", c.Kind), Kind: ErrUnknown}
		case c.Count < 0:
			return &Error{Subject: "mix", Reason: fmt.Sprintf("kind %d is asked for %d times", c.Kind, c.Count), Kind: ErrInvalid}
		}
	}
	s.fleet.mix = slices.Clone(mix)
	s.fleet.mixes++
	return nil
}

// Place finds a place for a task and gives it to it. It returns false where it fits nowhere. A
// policy that chooses a place that the task cannot have is refused with ErrCapacity, and named.
// O(nodes), and what the policy takes.
func (s *Session) Place(k Kind) (Choice, bool, error) {
	choice, ok, err := s.Choose(k)
	if ok {
		s.hold(k, choice.Place)
	}
	return choice, ok, err
}

// Choose is Place for a task that is not there: it changes nothing.
func (s *Session) Choose(k Kind) (Choice, bool, error) {
	if err := s.check(k); err != nil {
		return Choice{}, false, err
	}
	s.feasible = s.fleet.appendFits(s.feasible[:0], k)
	return s.chooseFrom(k, s.feasible)
}

// chooseFrom has the policy choose, and checks what it chose.
func (s *Session) chooseFrom(k Kind, feasible []Node) (Choice, bool, error) {
	if len(feasible) == 0 {
		return Choice{}, false, nil
	}
	choice := s.policy.Choose(s.fleet, k, feasible)
	if reason := s.fleet.refusal(k, choice.Place); reason != "" {
		return Choice{}, false, &Error{Subject: fmt.Sprintf("policy %T", s.policy), Reason: reason, Kind: ErrCapacity}
	}
	return choice, true, nil
}

// Hold gives a task the place that the caller chose, whatever the policy thinks. It refuses with
// ErrCapacity what the place does not have.
func (s *Session) Hold(k Kind, p Place) error {
	if err := s.check(k); err != nil {
		return err
	}
	if reason := s.fleet.refusal(k, p); reason != "" {
		return &Error{Subject: "place", Reason: reason, Kind: ErrCapacity}
	}
	s.hold(k, p)
	return nil
}

// Release takes back the place of a task. It refuses with ErrNotHeld a place that no task of that
// kind has. O(tasks of the node).
func (s *Session) Release(k Kind, p Place) error {
	if err := s.check(k); err != nil {
		return err
	}
	if !s.fleet.release(k, p) {
		return &Error{Subject: "place", Reason: fmt.Sprintf("no task of kind %d is on GPUs %v of node %d", k, p.GPUs, p.Node), Kind: ErrNotHeld}
	}
	if s.follower != nil {
		s.follower.Released(s.fleet, k, p)
	}
	return nil
}

func (s *Session) check(k Kind) error {
	if k < 0 || int(k) >= s.fleet.Kinds() {
		return &Error{Subject: "task", Reason: fmt.Sprintf("there is no kind %d", k), Kind: ErrUnknown}
	}
	return nil
}

func (s *Session) hold(k Kind, p Place) {
	s.fleet.hold(k, p)
	if s.follower != nil {
		s.follower.Held(s.fleet, k, p)
	}
}
