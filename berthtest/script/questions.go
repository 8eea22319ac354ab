package script

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
)

// A question is a command that is not an event.
type question func(s *Session, rest string) error

var questions = map[string]question{
	"config":           (*Session).config,
	"advance":          (*Session).advance,
	"wake":             func(s *Session, rest string) error { return noArguments(rest, s.wake) },
	"pass":             func(s *Session, rest string) error { return noArguments(rest, s.pass) },
	"snapshot-restore": func(s *Session, rest string) error { return noArguments(rest, s.snapshotRestore) },
	"restore":          (*Session).restore,
	"json":             (*Session).json,
	"explain":          (*Session).explain,
	"outstanding":      func(s *Session, rest string) error { return noArguments(rest, s.outstanding) },
	"bandwidth":        (*Session).bandwidth,
	"blast":            (*Session).blast,
	"reservations":     func(s *Session, rest string) error { return noArguments(rest, s.reservations) },
	"health":           func(s *Session, rest string) error { return noArguments(rest, s.health) },
	"draining":         func(s *Session, rest string) error { return noArguments(rest, s.draining) },
	"fleet":            func(s *Session, rest string) error { return noArguments(rest, s.fleet) },
	"totals":           func(s *Session, rest string) error { return noArguments(rest, s.totals) },
	"what-if":          (*Session).whatIf,
	"start-plan":       (*Session).startPlan,
	"diff":             (*Session).diff,
	"expect":           (*Session).expect,
}

func noArguments(rest string, run func() error) error {
	if rest != "" {
		return fmt.Errorf("takes no arguments: %q", rest)
	}
	return run()
}

func (s *Session) config(rest string) error {
	a := parseArguments(rest)
	config := a.config()
	if err := a.finish(0); err != nil {
		return err
	}
	if s.core.Report().Nodes.All > 0 || s.now != 0 {
		return fmt.Errorf("comes first")
	}
	s.refusal = nil
	if err := s.configure(config); err != nil {
		s.printRefusal(err)
	}
	return nil
}

func (s *Session) advance(rest string) error {
	d, err := parseSpan(rest)
	s.now = s.now.Add(d)
	return err
}

func (s *Session) wake() error {
	next, ok := s.core.NextWake()
	if !ok {
		s.print("nothing is due before the next event")
		return nil
	}
	s.now = max(s.now, next)
	s.print("it is %s", clock(s.now))
	return nil
}

func (s *Session) snapshotRestore() error {
	before, err := s.core.Snapshot()
	if err != nil {
		return violation(err)
	}
	sched, err := core.Restore(before)
	if err != nil {
		return violation(err)
	}
	s.core = sched
	return violation(sched.Check(), same("D2: a restored core", before, sched))
}

// restore tries bytes that are no snapshot of this core.
func (s *Session) restore(rest string) error {
	s.refusal = nil
	sched, err := core.Restore([]byte(rest))
	if err != nil {
		s.printRefusal(err)
		return nil
	}
	s.print("restores")
	return violation(sched.Check())
}

func (s *Session) json(rest string) error {
	e, err := berth.DecodeEvent([]byte(rest))
	if err != nil {
		s.printRefusal(err)
		return nil
	}
	return s.tell(e)
}

func (s *Session) explain(rest string) error {
	e, err := s.core.Explain(berth.JobID(rest))
	if err != nil {
		s.printRefusal(err)
		return nil
	}
	s.printExplanation(&e)
	return nil
}

func (s *Session) outstanding() error {
	s.printOrders(s.core.Outstanding())
	return nil
}

// whatIf prints what a pass would order, and holds the core to promise D4.
func (s *Session) whatIf(rest string) error {
	events, err := s.imagined(rest)
	if err != nil {
		return err
	}
	return s.withoutEffect("a what-if", func() error {
		orders, err := s.core.WhatIf(s.now, events...)
		if err == nil {
			s.printOrders(orders)
		}
		return err
	})
}

// imagined reads events that are not told, separated by semicolons.
func (s *Session) imagined(rest string) ([]berth.Event, error) {
	var events []berth.Event
	for part := range strings.SplitSeq(rest, ";") {
		command, arguments, _ := strings.Cut(strings.TrimSpace(part), " ")
		if command == "" && rest == "" {
			break
		}
		more, known, err := s.events(command, strings.TrimSpace(arguments))
		if !known {
			return nil, fmt.Errorf("%q is not an event", command)
		}
		if err != nil {
			return nil, err
		}
		events = append(events, more...)
	}
	return events, nil
}

// withoutEffect asks the core something, prints how it is refused, if it is, and checks that
// the core is as it was.
func (s *Session) withoutEffect(what string, ask func() error) error {
	before, err := s.core.Snapshot()
	if err != nil {
		return violation(err)
	}
	s.refusal = nil
	if err := ask(); err != nil {
		s.printRefusal(err)
	}
	return violation(same("D4: "+what, before, s.core))
}

func (s *Session) diff(rest string) error {
	a := parseArguments(rest)
	world := berth.World{}
	names, err := expand(a.list("nodes"))
	if err != nil {
		return err
	}
	for _, name := range names {
		world.Nodes = append(world.Nodes, berth.Node{ID: berth.NodeID(name)})
	}
	for _, text := range a.all("sees") {
		observed, err := parseObserved(text)
		if err != nil {
			return err
		}
		world.Running = append(world.Running, observed)
	}
	if err := a.finish(0); err != nil {
		return err
	}
	differences := s.core.Diff(world)
	for i := range differences {
		s.print("%s: %s", differences[i].Kind, differences[i].Text)
	}
	if len(differences) == 0 {
		s.print("none")
	}
	return nil
}

// parseObserved reads web/3#2workers[0]@n1[4]: replica 3 of web, incarnation 2, member 0
// of its workers.
func parseObserved(text string) (berth.ObservedMember, error) {
	observed := berth.ObservedMember{Incarnation: 1}
	replica, where, ok := strings.Cut(text, "@")
	name, rest, numbered := strings.Cut(replica, "/")
	if !ok || !numbered {
		return observed, fmt.Errorf("%q is not an observed member like web/3[0]@n1[4]", text)
	}
	rest, err := cutNumber(rest, &observed.Replica)
	if after, told := strings.CutPrefix(rest, "#"); told && err == nil {
		n := 0
		rest, err = cutNumber(after, &n)
		observed.Incarnation = berth.Incarnation(n)
	}
	if err != nil {
		return observed, err
	}
	ref, err := parseMember(rest)
	if err != nil {
		return observed, err
	}
	observed.Job = berth.JobID(name)
	observed.MemberPlacement, err = parseHeld(where)
	observed.Group, observed.Index = ref.Group, ref.Index
	return observed, err
}

// cutNumber reads the digits that a text starts with.
func cutNumber(text string, n *int) (string, error) {
	rest := strings.TrimLeft(text, "0123456789")
	v, err := strconv.Atoi(strings.TrimSuffix(text, rest))
	*n = v
	return rest, err
}
