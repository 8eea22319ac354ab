package script

import (
	"fmt"
	"strings"

	"github.com/berth-sched/berth"
)

// Drains, moves and start plans.

// defragmentation reads the policy of moves.
func (a *arguments) defragmentation() berth.Defragmentation {
	m := berth.Defragmentation{MaxMoves: a.integer("max-moves", 0)}
	a.one("defragmentation", &m.Mode)
	return m
}

func drainNode(_ *Session, a *arguments) ([]berth.Event, error) {
	e := berth.NodeDraining{Node: berth.NodeID(a.word(0)), Deadline: berth.Time(a.span("deadline")), Reason: a.reason}
	return one(e, a.finish(1))
}

// draining prints the nodes that are being drained, and the replicas that are left there.
func (s *Session) draining() error {
	list := s.core.Report().Draining
	for _, d := range list {
		line := string(d.Node)
		if d.Deadline != 0 {
			line += " by " + clock(d.Deadline)
		}
		if d.MembersLeft == 0 {
			line += ": empty"
		} else {
			line += fmt.Sprintf(": %s left, of %s", plural(d.MembersLeft, "member"), replicas(d.Replicas))
		}
		s.print("%s", line)
	}
	if len(list) == 0 {
		s.print("none")
	}
	return nil
}

// replicas prints names of replicas, as in "a/0|b/1".
func replicas(list []berth.ReplicaRef) string {
	var names []string
	for _, r := range list {
		names = append(names, fmt.Sprintf("%s/%d", r.Job, r.Replica))
	}
	return join(names)
}

// departure prints why a replica has to leave its nodes, and its destination.
func departure(d *berth.Departure) string {
	line := fmt.Sprintf("departure (%s", d.Cause.Code)
	if d.Cause.Beneficiary.Job != "" {
		line += " for " + replicas([]berth.ReplicaRef{d.Cause.Beneficiary})
	}
	line += "): "
	switch {
	case d.StandIn.Job != "" && len(d.To) > 0:
		line += fmt.Sprintf("to %s, where %v starts first", ranges(d.To), d.StandIn)
	case len(d.To) > 0:
		line += "to " + ranges(d.To)
	case d.Cause.Code == berth.CauseOverLimit, d.Cause.Code == berth.CauseBudget:
		line += "it waits again then"
	default:
		line += "no destination yet"
	}
	if d.Deadline != 0 {
		line += ", by " + clock(d.Deadline)
	}
	return line
}

// printMoves prints possible moves.
func (s *Session) printMoves(list []berth.Move) {
	for _, m := range list {
		s.print("  possible move: %s/%d of queue %s, %s, from %s to %s", m.Job, m.Replica, m.Queue, gpusHeld(m.GPUMilli), ranges(m.From), ranges(m.To))
	}
}

// startPlan prints the start plan of a replica, after further events if there are any behind it,
// and holds the core to promise D4.
func (s *Session) startPlan(rest string) error {
	name, more, _ := strings.Cut(rest, ";")
	id, replica, err := parseReplica(strings.TrimSpace(name))
	if err != nil {
		return err
	}
	events, err := s.imagined(more)
	if err != nil {
		return err
	}
	return s.withoutEffect("a start plan", func() error {
		t, err := s.core.StartPlan(s.now, id, replica, events...)
		if err == nil {
			s.printStartPlan(&t)
		}
		return err
	})
}

func (s *Session) printStartPlan(t *berth.StartPlan) {
	s.print("%s", t.Text)
	if t.Choice != nil {
		s.print("  %s", t.Choice.Text)
	}
	switch {
	case len(t.Moves) > 0 && t.MovesGain == 0: // for a guarantee, at any cost
		s.print("  moving costs %v of GPU time", berth.Duration(t.MovesCost))
	case len(t.Moves) > 0:
		s.print("  moving costs %v of GPU time, and gains %v", berth.Duration(t.MovesCost), berth.Duration(t.MovesGain))
	}
	s.printMoves(t.Moves)
	if len(t.Victims) > 0 {
		s.print("  preempting costs %v of GPU time", berth.Duration(t.Cost))
		if len(t.Reason.Victims) == 0 {
			s.print("  %s", t.Reason.Preemption)
		}
	}
	for i := range t.Victims {
		v := &t.Victims[i]
		s.print("  victim: %s", victim(v))
	}
}
