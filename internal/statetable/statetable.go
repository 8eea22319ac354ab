// Package statetable holds the tables of the state machines of the core, one for each: state x
// event to state and effect. They are data, and the core does not run on them. TestMachines of
// package berthtest/sim watches a core from outside, in simulated worlds and in scripts: it fails
// on a step that no row allows, and on a row that nothing takes. What Effect says beyond that is
// for people. The script command "machine replica" prints a table.
//
// There are six: [Replica], [Member], [Order], [GPUMode], [Reservation] and [NodeHealth]. The
// seventh, of a victim, is [github.com/berth-sched/berth/berthtest/internal/protocol.Phase].
package statetable

import "strings"

// None is the state of what does not exist: not yet, or not any more.
const None = "-"

// A Machine is the table of one state machine. An event cannot occur in a state that has no row for
// it. Refusals stand in the table where they depend on the state.
type Machine struct {
	Name string
	// Doc says of what the table is, and what is not in it.
	Doc    string
	States []Word
	Events []Word
	Rows   []Row
}

// A Word names a state or an event, and says what it is.
type Word struct{ Name, Doc string }

// A Row says what comes of an event in a state. From, Event and To name one or several, joined by
// "|": the row stands for each combination of them. Rows with the same From and Event differ in
// what Effect says first: the condition.
type Row struct {
	From, Event string
	// To is the next state; empty: it stays as it was.
	To string
	// Refused is the kind of refusal, such as "stale"; empty: the event is accepted. What is
	// refused changes nothing.
	Refused string
	// Effect is what else comes of it, for people.
	Effect string
}

// All lists the machines.
func All() []Machine {
	return []Machine{Replica(), Member(), Order(), GPUMode(), Reservation(), NodeHealth()}
}

// Named finds a machine by its name.
func Named(name string) (Machine, bool) {
	for _, m := range All() {
		if m.Name == name {
			return m, true
		}
	}
	return Machine{}, false
}

// A Step is one combination of a row: a single state, event and next state.
type Step struct{ From, Event, To, Refused string }

func (s Step) String() string {
	if s.Refused != "" {
		return s.From + " --" + s.Event + "--> refused, " + s.Refused
	}
	return s.From + " --" + s.Event + "--> " + s.To
}

// Steps lists the combinations that a row stands for.
func (r *Row) Steps() []Step {
	var list []Step
	for from := range strings.SplitSeq(r.From, "|") {
		to := r.To
		if to == "" {
			to = from
		}
		for event := range strings.SplitSeq(r.Event, "|") {
			for next := range strings.SplitSeq(to, "|") {
				list = append(list, Step{from, event, next, r.Refused})
			}
		}
	}
	return list
}

// Steps lists all steps of a machine, in the order of its rows.
func (m *Machine) Steps() []Step {
	var list []Step
	for i := range m.Rows {
		list = append(list, m.Rows[i].Steps()...)
	}
	return list
}

// Next lists the states to which an event leads from a state, if it is accepted.
func (m *Machine) Next(from, event string) []string {
	var list []string
	for _, s := range m.Steps() {
		if s.From == from && s.Event == event && s.Refused == "" {
			list = append(list, s.To)
		}
	}
	return list
}
