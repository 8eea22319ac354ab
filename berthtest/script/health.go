package script

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/berth-sched/berth"
)

// xidReported is a fault that the driver reported about a GPU.
func xidReported(_ *Session, a *arguments) ([]berth.Event, error) {
	e := berth.XidReported{Node: berth.NodeID(a.word(0)), GPU: a.number(1), Xid: a.number(2), Reason: a.reason}
	return one(e, a.finish(3))
}

// fabricReported is what a domain of the topology has left of its bandwidth.
func fabricReported(_ *Session, a *arguments) ([]berth.Event, error) {
	e := berth.FabricReported{Domain: strings.Split(a.word(0), "/"), LeftMilli: a.integer("left", 1000), Reason: a.reason}
	return one(e, a.finish(1))
}

// health reads the policy of quarantine and burn-in.
func (a *arguments) health() berth.Health {
	return berth.Health{
		Losses: a.integer("losses", 0), Within: a.span("within"),
		Quarantine: a.span("quarantine"), BurnIn: a.span("burn-in"),
	}
}

// hotSpares reads how many hot spares each pool has, as in main:20|other:10, in thousandths.
func (a *arguments) hotSpares() []berth.HotSpares {
	var list []berth.HotSpares
	for _, text := range a.list("hot-spares") {
		pool, digits, _ := strings.Cut(text, ":")
		milli, err := strconv.Atoi(digits)
		if err != nil {
			a.fail("hot-spares=%s is not of the form pool:20", text)
		}
		list = append(list, berth.HotSpares{Pool: pool, NodesMilli: milli})
	}
	return list
}

// health prints the hot spares of each pool, the nodes in quarantine or burn-in, and the domains
// that have lost bandwidth.
func (s *Session) health() error {
	r := s.core.Report()
	for _, p := range r.HotSpares {
		s.print("hot spares of pool %s: %d of %d free, %d in use: %s", p.Pool, p.Free, p.Wanted, p.InUse, join(p.Nodes))
	}
	for _, h := range r.Health {
		line := string(h.Node)
		if h.QuarantineUntil != 0 {
			line += " in quarantine until " + clock(h.QuarantineUntil)
		}
		if h.BurnInUntil != 0 {
			line += " in burn-in until " + clock(h.BurnInUntil)
		}
		s.print("%s", line)
	}
	for _, f := range r.Fabric {
		line := fmt.Sprintf("%s has %d of 1000 of its bandwidth left", strings.Join(f.Domain, "/"), f.LeftMilli)
		if f.Reason != "" {
			line += ": " + f.Reason
		}
		s.print("%s", line)
	}
	if len(r.HotSpares)+len(r.Health)+len(r.Fabric) == 0 {
		s.print("no hot spares, and all nodes are trusted")
	}
	return nil
}
