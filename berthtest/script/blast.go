package script

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/mig"
)

// blast prints what a fault of a GPU takes down or, without arguments, which GPU would be
// the worst to lose.
func (s *Session) blast(rest string) error {
	if rest == "" {
		if w := s.core.Report().WorstBlastRadius; w != nil {
			s.print("the worst to lose is %s[%d]: it hits %s, and stops %d of them", w.Node, w.GPU, plural(w.Jobs, "job"), w.JobsDown)
		} else {
			s.print("no job holds a GPU")
		}
		return nil
	}
	node, digits, _ := strings.Cut(rest, " ")
	gpu, err := strconv.Atoi(digits)
	if err != nil {
		return fmt.Errorf("%q is not a number", digits)
	}
	b, err := s.core.BlastRadius(berth.NodeID(node), gpu)
	if err != nil {
		s.printRefusal(err)
		return nil
	}
	s.print("%s[%d] %s, all of it: %s", b.Node, b.GPU, b.Mode, affected(b.Device))
	for i := range b.Processes {
		p := &b.Processes[i]
		what := fmt.Sprintf("a process of %s/%d", p.Job, p.Replica)
		if p.Instance != (mig.Placement{}) {
			what += " in " + p.Instance.String()
		}
		s.print("  %s: %s", what, affected(p.Affected))
	}
	return nil
}

// affected prints the replicas that a fault hits, as in "a/0 stops, b/0 loses 2 members".
func affected(list []berth.AffectedReplica) string {
	var parts []string
	for _, c := range list {
		if c.Down {
			parts = append(parts, fmt.Sprintf("%s/%d stops", c.Job, c.Replica))
		} else {
			parts = append(parts, fmt.Sprintf("%s/%d loses %d members", c.Job, c.Replica, c.Members))
		}
	}
	if parts == nil {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// shared prints the jobs that share GPUs with a replica.
func shared(f *berth.SharedBlastRadius) string {
	line := "shares a GPU with: " + join(f.Device)
	if len(f.Process) > 0 {
		line += "; its process faults also hit: " + join(f.Process)
	}
	return line
}

// partitioned prints the MIG instances that exist.
func (s *Session) partitioned(list []berth.PartitionedCount) {
	for i := range list {
		d := &list[i]
		line := fmt.Sprintf("partitioned by table %s: %d gpus", d.MIGTable, d.GPUs)
		for _, c := range d.Instances {
			if c.Held > 0 || c.Free > 0 {
				line += fmt.Sprintf("; %s held %d, free %d", c.Profile, c.Held, c.Free)
			}
		}
		s.print("%s", line)
	}
}
