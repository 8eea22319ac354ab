package sim_test

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
)

// A view is what a snapshot tells of the things that machines are about.
type view struct {
	Config struct {
		Policy struct{ ReleaseAttempts int }
	}
	Nodes []*nodeView
	Jobs  []struct {
		Job      struct{ ID berth.JobID }
		Replicas []*gangView
	}
	Reservations []struct {
		Reservation struct {
			ID    berth.ReservationID
			Until berth.Time
		}
	}

	nodes map[berth.NodeID]*nodeView
	gangs map[berth.ReplicaRef]*gangView
}

type nodeView struct {
	Node struct {
		ID   berth.NodeID
		Pool string
		GPUs []struct {
			Mode   berth.GPUMode
			Failed bool
		}
	}
	Cordoned bool
	GPUs     []struct {
		GPU     int
		Order   *berth.OrderHeader
		Before  *struct{ Mode berth.GPUMode } // the order
		Overdue bool                          // the order, which is not out any more
		Unknown bool
	}
	QuarantineUntil, BurnInUntil berth.Time
	HotSpare, SpareInUse         bool
}

type gangView struct {
	Replica     int
	Alike       int
	State       berth.ReplicaState
	Incarnation berth.Incarnation
	Attempt     int
	Gone        bool
	ReadyAt     berth.Time
	Order       map[string]berth.OrderHeader
	Members     []*memberView
	Reserved    *asideView
	Moving      *asideView
	Exclusive   [][]string
	GPUHold     *struct{ Node berth.NodeID }

	ref     berth.ReplicaRef
	members map[berth.MemberRef]*memberView
}

type memberView struct {
	State string
	Bind  berth.OrderID
	berth.MemberPlacement
}

// An asideView is what is set aside for a gang.
type asideView struct {
	Until   berth.Time
	Nodes   []berth.NodeID
	Where   []json.RawMessage
	Cause   berth.CauseCode
	Partial bool
}

func viewOf(sched *core.Core) *view {
	b, err := sched.Snapshot()
	if err != nil {
		panic(err)
	}
	v := &view{nodes: map[berth.NodeID]*nodeView{}, gangs: map[berth.ReplicaRef]*gangView{}}
	if err := json.Unmarshal(b, v); err != nil {
		panic(err)
	}
	for _, n := range v.Nodes {
		v.nodes[n.Node.ID] = n
		for i := range n.GPUs {
			if g := &n.GPUs[i]; g.Overdue {
				g.Order, g.Before = nil, nil
			}
		}
	}
	for _, j := range v.Jobs {
		for _, g := range j.Replicas {
			g.members = map[berth.MemberRef]*memberView{}
			for _, m := range g.Members {
				g.members[m.Ref()] = m
			}
			for i := range g.Alike + 1 {
				alike := *g
				alike.ref = berth.ReplicaRef{Job: j.Job.ID, Replica: g.Replica + i}
				v.gangs[alike.ref] = &alike
			}
		}
	}
	return v
}

// state is that of a gang, which may not exist.
func (g *gangView) state() string {
	if g == nil {
		return "-"
	}
	return g.State.String()
}

// early is what the machine of members calls what happens before their gang is complete.
func (g *gangView) early() string {
	if g.State == berth.ReplicaBinding || g.State == berth.ReplicaRepairing {
		return " early"
	}
	return ""
}

// all lists the members of a gang, which may not exist.
func (g *gangView) all() []*memberView {
	if g == nil {
		return nil
	}
	return g.Members
}

// out is the order of a gang that is out, and its kind; "": none is.
func (g *gangView) out() (berth.OrderHeader, string) {
	if g != nil {
		for kind, order := range g.Order {
			return order, kind
		}
	}
	return berth.OrderHeader{}, ""
}

// state is that of a member of a gang.
func (g *gangView) stateOf(ref berth.MemberRef) string {
	if g == nil || g.members[ref] == nil {
		return "-"
	}
	return g.members[ref].State
}

func (m *memberView) holds() bool { return m != nil && m.State != "lost" }

// on reports whether a member holds something of a GPU, or, of GPU -1, of a node.
func (m *memberView) on(id berth.NodeID, gpu int) bool {
	return m.holds() && m.Node == id && (gpu < 0 || m.GPUs.Has(gpu))
}

// on reports whether some member of a gang does.
func (g *gangView) on(id berth.NodeID, gpu int) bool {
	return slices.ContainsFunc(g.Members, func(m *memberView) bool { return m.on(id, gpu) })
}

// mode is the state of a GPU in the machine of its mode.
func (v *view) mode(id berth.NodeID, gpu int) string {
	n := v.nodes[id]
	if n == nil || gpu >= len(n.Node.GPUs) {
		return "-"
	}
	for i := range n.GPUs {
		switch g := &n.GPUs[i]; {
		case g.GPU != gpu:
		case g.Order != nil:
			return "changing"
		case g.Unknown:
			return "unknown"
		}
	}
	return n.Node.GPUs[gpu].Mode.String()
}

func (v *view) failed(id berth.NodeID, gpu int) bool {
	n := v.nodes[id]
	return n != nil && gpu < len(n.Node.GPUs) && n.Node.GPUs[gpu].Failed
}

// trust is the state of a node in the machine of its health.
func (n *nodeView) trust() string {
	switch {
	case n == nil:
		return "-"
	case n.QuarantineUntil != 0:
		return "quarantine"
	case n.BurnInUntil != 0:
		return "burn-in"
	case n.HotSpare:
		return "hot spare"
	case n.SpareInUse:
		return "spare in use"
	}
	return "trusted"
}

// aside is what kind of reservation a gang has, and the reservation.
func (g *gangView) aside() (string, *asideView) {
	switch {
	case g == nil:
	case g.Moving != nil && g.Moving.Partial:
		return "partialMove", g.Moving
	case g.Moving != nil && g.State == berth.ReplicaPending:
		return "backoff", g.Moving
	case g.Moving != nil:
		return "move", g.Moving
	case g.Reserved == nil:
	case g.Reserved.Partial:
		return "partialResume", g.Reserved
	case len(g.Reserved.Where) == 0:
		return "pending", g.Reserved
	case g.Reserved.Cause == berth.CauseResumed:
		return "resume", g.Reserved
	default:
		return "preemption", g.Reserved
	}
	return "-", nil
}

// refusalOf names the sentinel of a refusal.
func refusalOf(err error) string {
	for _, kind := range []error{berth.ErrInvalid, berth.ErrUnknown, berth.ErrConflict, berth.ErrStale} {
		if errors.Is(err, kind) {
			return kind.Error()
		}
	}
	return err.Error()
}
