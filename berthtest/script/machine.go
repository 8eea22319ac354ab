package script

import (
	"fmt"

	"github.com/berth-sched/berth/internal/statetable"
)

// machine prints the table of a state machine.
func (s *Session) machine(name string) error {
	m, known := statetable.Named(name)
	if !known {
		var names []string
		for _, other := range statetable.All() {
			names = append(names, other.Name)
		}
		return fmt.Errorf("there is no machine %q, but %s", name, join(names))
	}
	for _, line := range m.Lines() {
		s.print("%s", line)
	}
	return nil
}
