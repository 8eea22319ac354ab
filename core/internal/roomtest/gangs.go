package roomtest

import (
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/gang"
)

// Job describes a batch job of one group, of so many members with so many whole GPUs each, in a
// queue; a test changes what it is about.
func Job(id berth.JobID, queue berth.QueueID, members, gpus int) berth.Job {
	return berth.Job{ID: id, Queue: queue, Groups: []berth.Group{{Members: members, Claim: berth.WholeGPUs(gpus)}}}
}

// WithPriority is a job of another priority.
func WithPriority(j berth.Job, priority int32) berth.Job {
	j.Priority = priority
	return j
}

// Admit makes a job and its first replica known, and no more: the replica stands in no index, as
// one that is being restored.
func (m *Machine) Admit(spec berth.Job) *record.Replica {
	m.t.Helper()
	return m.State.NewReplicaAt(m.admit(spec), 0)
}

// Wait submits a job, and returns its first replica.
func (m *Machine) Wait(spec berth.Job) *record.Replica {
	m.t.Helper()
	j := m.admit(spec)
	if m.Books.Queues[j.Queue].WaitingMilli == 0 {
		m.Agenda.Reshare(m.State.Now)
	}
	rep := m.State.NewReplicaAt(j, 0)
	m.Life.PendBatch(rep, j.Spec.Gangs()-1)
	return rep
}

func (m *Machine) admit(spec berth.Job) *record.Job {
	m.t.Helper()
	j, err := m.Admission.NewJob(&spec)
	m.NoRefusal(err)
	m.Books.Admit(j)
	m.Scoring.Submitted(j)
	return j
}

// Run has a job of one replica run from now on: a member on each node that is named, in order. A
// node may be named twice. A member has the first free GPUs of its node.
func (m *Machine) Run(spec berth.Job, nodes ...string) *record.Replica {
	m.t.Helper()
	return m.RunSince(m.State.Now, spec, nodes...)
}

// RunSince is Run for one that has run since an instant.
func (m *Machine) RunSince(since berth.Time, spec berth.Job, nodes ...string) *record.Replica {
	m.t.Helper()
	return m.Observe(since, spec, m.placed(&spec, nodes, func(n *record.Node) uint64 { return m.State.Fleet.FreeMask(n.Index) }))
}

// Observe has a job of one replica run, as JobObserved does, where its members are told to be.
func (m *Machine) Observe(since berth.Time, spec berth.Job, members []berth.MemberPlacement) *record.Replica {
	m.t.Helper()
	j := m.admit(spec)
	rep := m.State.NewReplicaAt(j, 0)
	m.Life.Begin(rep, 1)
	rep.Members = make([]record.Member, j.Members())
	for i := range members {
		p := &members[i]
		flat := j.Flat(p.Ref())
		m.NoRefusal(m.Backlog.CheckPlacement(&j.Spec.Groups[j.Group(flat)].Claim, p))
		hold := m.Backlog.HoldOf(j, p)
		require.NoError(m.t, m.Books.Adopt(hold))
		m.Books.Book(rep, flat, hold, record.MemberObserved)
		m.Backlog.Intrude(m.State.Nodes[hold.Node], &hold)
		rep.Members[flat].Ran = true
		m.Catalogue.Owners.ReleaseShare(hold.Share)
		for _, g := range p.GPUs.Indexes() {
			m.State.Nodes[hold.Node].Spec.GPUs[g].Mode = m.GPUs.ModeFor(&hold)
		}
	}
	m.Life.Observe(rep, since)
	m.Backlog.EncloseExclusive(rep)
	m.Books.TellCapacity()
	return rep
}

// placed puts the members of a job, in order, on nodes that are named, on the lowest of the GPUs
// that a node offers. A share has the first GPU on which there is room for it.
func (m *Machine) placed(spec *berth.Job, nodes []string, offers func(*record.Node) uint64) []berth.MemberPlacement {
	m.t.Helper()
	taken := map[*record.Node]uint64{}
	var list []berth.MemberPlacement
	group, index := 0, 0
	for _, id := range nodes {
		if index == spec.Groups[group].Members {
			group, index = group+1, 0
		}
		require.Less(m.t, group, len(spec.Groups), "%s has fewer members than nodes are named", spec.ID)
		g, n := &spec.Groups[group], m.NodeNamed(id)
		at := berth.MemberPlacement{Group: g.Name, Index: index, Node: n.Spec.ID}
		if g.Claim.Share != nil {
			at.GPUs, at.ShareMilli = m.gpuForShare(n, g.Claim.Share), g.Claim.Share.GPUMilli
		}
		for free := offers(n) &^ taken[n]; at.GPUs.Len() < g.Claim.GPUs; free &= free - 1 {
			require.NotZero(m.t, free, "%s has no %d GPUs for a member of %s", id, g.Claim.GPUs, spec.ID)
			at.GPUs |= berth.GPUSet(free & -free)
		}
		taken[n] |= uint64(at.GPUs)
		list, index = append(list, at), index+1
	}
	return list
}

func (m *Machine) gpuForShare(n *record.Node, share *berth.Share) berth.GPUSet {
	m.t.Helper()
	for gpu := range n.Spec.GPUs {
		if left, _ := m.State.Fleet.ShareLeft(n.Index, gpu); int(left) >= share.GPUMilli {
			return berth.GPUSetOf(gpu)
		}
	}
	require.Fail(m.t, "no room for a share", "on node %s", n.Spec.ID)
	return 0
}

// Where is a plan for the members of a gang, in order, one on each node that is named: on the
// lowest of the GPUs that are free there, or held by those that are to go.
func (m *Machine) Where(rep *record.Replica, nodes []string, gone ...*record.Replica) []gang.Member {
	m.t.Helper()
	spec := rep.Job.Spec.Full()
	var where []gang.Member
	for _, p := range m.placed(&spec, nodes, func(n *record.Node) uint64 {
		free := m.State.Fleet.FreeMask(n.Index)
		for _, victim := range gone {
			victim.EachHold(func(h *gang.Hold, on *record.Node) {
				if on == n {
					free |= h.GPUs
				}
			})
		}
		return free
	}) {
		hold := m.Backlog.HoldOf(rep.Job, &p)
		m.Catalogue.Owners.ReleaseShare(hold.Share)
		where = append(where, gang.Member{Group: rep.Job.Spec.Group(p.Group), Hold: hold})
	}
	return where
}

// Plan has victims make room on nodes for a gang that waits: as a bid does that is paid, it sets
// the nodes aside and asks the victims to go, or stops them if they write no checkpoint.
func (m *Machine) Plan(rep *record.Replica, nodes []string, victims ...*record.Replica) *record.Reservation {
	m.t.Helper()
	where := m.Where(rep, nodes, victims...)
	res := m.Search.NewGangReservation(m.State.NodesFor(rep, where), record.KindPreemption, rep, berth.Minute)
	require.NotNil(m.t, res)
	res.Plan = m.Backlog.NewPlan(rep, where)
	rep.Reserved = res
	m.Backlog.Due.NoteEntries(rep)
	m.Backlog.AddReservation(res)
	slices.SortFunc(victims, record.CompareReplicas)
	for _, victim := range victims {
		res.Plan.AddVictim(rep, victim)
		m.Life.Ask(record.Piece{Rep: victim}, rep)
	}
	return res
}

// Reserve gives a gang that waits nodes of which it is expected to have enough from an instant on.
func (m *Machine) Reserve(rep *record.Replica, from berth.Time, nodes ...string) *record.Reservation {
	m.t.Helper()
	res := record.GangReservation(record.KindPending, rep)
	res.From, res.Until = from, from.Add(m.State.Config.Policy.ReservationTimeout)
	for _, id := range nodes {
		res.Add(m.NodeNamed(id))
	}
	rep.Reserved = res
	m.Backlog.Due.NoteEntries(rep)
	m.Backlog.AddReservation(res)
	return res
}

// Started reports that what a Bind was to start runs.
func (m *Machine) Started(rep *record.Replica) {
	m.t.Helper()
	require.True(m.t, rep.Has(record.MemberBinding), "nothing of %s is being started", rep.Job.Spec.ID)
	m.State.CloseOrder(rep)
	for flat := range rep.Members {
		if at := &rep.Members[flat]; at.State == record.MemberBinding {
			at.Become(record.MemberStarted)
			at.Ran = true
		}
	}
	m.GPUs.Prove(rep)
	m.Life.Settle(rep, berth.Cause{})
}

// Stopped reports that what is being stopped of a gang is gone.
func (m *Machine) Stopped(rep *record.Replica) {
	m.t.Helper()
	require.True(m.t, rep.Has(record.MemberStopping), "nothing of %s is being stopped", rep.Job.Spec.ID)
	for flat := range rep.Members {
		if rep.Members[flat].State == record.MemberStopping {
			m.Books.Unbook(rep, flat, record.MemberLeft)
		}
	}
	m.State.CloseOrder(rep)
	m.Life.Settle(rep, rep.Release.Get().Cause)
}

// Finished reports that a gang that runs has ended by itself.
func (m *Machine) Finished(rep *record.Replica) {
	m.t.Helper()
	require.Equal(m.t, berth.ReplicaRunning, rep.State)
	m.Books.UnbookAll(rep, record.MemberLeft, record.MemberRunning)
	m.Life.TakeBack(rep, berth.Cause{Code: berth.CauseFinished}, true)
}

// Bind has a gang that waits be started on nodes, as a search that found them does: a member on
// each node that is named, in order.
func (m *Machine) Bind(rep *record.Replica, nodes ...string) {
	m.t.Helper()
	require.Equal(m.t, berth.ReplicaPending, rep.State)
	where := m.Where(rep, nodes)
	require.True(m.t, m.Books.Hold(where))
	rep.Members = make([]record.Member, rep.Job.Members())
	for i, flat := 0, 0; i < len(where); i, flat = i+1, flat+1 {
		flat = max(flat, rep.Job.Offset(where[i].Group))
		m.Books.Book(rep, flat, where[i].Hold, record.MemberPlaced)
	}
	m.Backlog.Unawait(rep)
	m.Backlog.EncloseExclusive(rep)
	m.Life.LeavePending(rep)
	m.State.SetEnd(rep, m.State.EndIfPlaced(rep))
	m.Life.BeginNext(rep)
	m.Search.Bind(rep, berth.Cause{Code: berth.CauseFits})
}
