package admission_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
	"github.com/berth-sched/berth/core/internal/state"
)

// Invariants 4 and 5.

// restored is another machine with the same nodes and queues, which takes back the jobs that the
// first one saves, or what a test makes of them. Rooms above have not restored their own.
func restored(t roomtest.TB, m *roomtest.Machine, change func([]record.SavedJob)) (*roomtest.Machine, []state.Noted, *berth.Error) {
	saved := m.Admission.SaveJobs()
	change(saved)
	twin := machine(t)
	twin.Break()
	twin.State.SetClock(m.State.Now)
	twin.State.LastOrder = m.State.LastOrder
	for _, n := range m.State.Nodes {
		twin.State.Nodes[n.Index].Spec.GPUs = n.Spec.GPUs // modes
	}
	noted, err := twin.Admission.RestoreJobs(saved)
	return twin, noted, err
}

func asIs([]record.SavedJob) {}

// stands asks that what is held, charged and indexed agrees.
func stands(t roomtest.TB, m *roomtest.Machine) {
	for _, check := range []func() error{m.State.CheckNodes, m.State.CheckJobs, m.State.CheckMembers, m.Books.CheckHolds, m.Books.CheckCharges, m.Books.CheckSizes} {
		require.NoError(t, check())
	}
}

// running is a gang of two members on n1 and n2.
func running(t roomtest.TB) *roomtest.Machine {
	m := machine(t)
	m.Run(job("gang", 2, 8), "n1", "n2")
	return m
}

// starting is one of which a Bind is out.
func starting(t roomtest.TB) *roomtest.Machine {
	m := machine(t)
	m.Bind(m.Wait(job("gang", 2, 8)), "n1", "n2")
	return m
}

// stopping is one that is being stopped for another.
func stopping(t roomtest.TB) *roomtest.Machine {
	m := machine(t)
	victim := m.Run(job("gang", 2, 8), "n1", "n2")
	cause := berth.Cause{Code: berth.CauseCancelled}
	m.Life.TakeBack(victim, cause, true)
	m.State.NoteTodo(victim, false)
	victim.Order = berth.Release{OrderHeader: m.State.Order(victim, berth.Hour, cause), Members: m.State.Placements(victim, record.MemberStopping)}
	m.State.OpenOrder(victim)
	return m
}

// asked is one that is asked for a checkpoint.
func asked(t roomtest.TB) *roomtest.Machine {
	m := machine(t)
	spec := job("gang", 2, 8)
	spec.Checkpoint = berth.Checkpoint{Supported: true, Cost: berth.Minute}
	m.Life.Depart(m.Run(spec, "n1", "n2"), berth.Cause{Code: berth.CauseMoved}, 0)
	return m
}

// died has a gang that backs off, as its members died.
func died(t roomtest.TB) *roomtest.Machine {
	m := machine(t)
	rep := m.Run(job("gang", 2, 8), "n1", "n2")
	m.Life.MembersDied(rep, []int{0, 1}, berth.FaultUnset, berth.Cause{Code: berth.CauseMemberFailed})
	return m
}

// timers are what falls due of the replicas, and when.
func timers(m *roomtest.Machine) (list []string) {
	m.State.Timers.Ascend(func(timer record.Timer) bool {
		if timer.Rep != nil {
			list = append(list, fmt.Sprint(timer.At, timer.Kind, timer.Rep.Job.Spec.ID))
		}
		return true
	})
	return list
}

func TestWhatIsSavedIsRestored(t *testing.T) {
	for name, play := range map[string]func(roomtest.TB) *roomtest.Machine{
		"running": running, "starting": starting, "stopping": stopping, "asked for a checkpoint": asked, "died": died,
		"a share": func(t roomtest.TB) *roomtest.Machine {
			m := machine(t)
			spec := job("share", 1, 0)
			spec.Class, spec.Groups[0].Claim = berth.ClassInteractive, berth.SharedGPU(berth.ShareMPS, 300)
			m.Run(spec, "n3")
			return m
		},
		"a member lost while starting": func(t roomtest.TB) *roomtest.Machine {
			m := starting(t)
			m.Life.SettleAll(m.Books.Lose(m.NodeNamed("n2"), berth.Cause{}, func(*record.Member) bool { return true }), berth.Cause{})
			return m
		},
		"one that has been through much": func(t roomtest.TB) *roomtest.Machine {
			m := running(t)
			rep := m.State.Jobs["gang"].Replicas.At(0)
			*rep.Eviction.Note() = record.EvictionPart{Checkpointed: 7, Tells: true, Evictions: 2, Rests: 1, RestsUntil: m.State.Now}
			*rep.Retry.Note() = record.RetryPart{Backfilled: true, Attempts: 3, Repairs: 2, Crashes: 1, Avoid: []berth.NodeID{"n4"}}
			*rep.Reserve.Note() = record.ReservePart{At: 5, Vain: 4}
			*rep.Look.Note() = record.LookPart{HoldAt: 1, ReshapeAt: 2, PayAt: 3, Tried: 4, Later: 5}
			rep.ActiveMilli, rep.FailedBids, rep.BidsAt = 300, 2, 9
			rep.Job.Former = 6
			return m
		},
		"several jobs": func(t roomtest.TB) *roomtest.Machine {
			m := machine(t)
			m.Run(job("z", 1, 1), "n1")
			m.Run(service("a", 1, 1), "n1")
			m.Wait(job("m", 3, 8))
			return m
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := play(t)
			m.Break()
			twin, noted, err := restored(t, m, asIs)
			twin.NoRefusal(err)
			stands(t, twin)
			require.Equal(t, m.State.Orders != nil, twin.State.Orders != nil)
			for id, rep := range m.State.Orders {
				require.Equal(t, rep.Order, twin.State.Orders[id].Order)
			}
			require.Equal(t, m.State.Fleet.FreeMask(0), twin.State.Fleet.FreeMask(0))
			require.Equal(t, timers(m), timers(twin))
			require.Equal(t, m.State.Returning.Len(), twin.State.Returning.Len())
			require.Equal(t, m.Catalogue.Owners.Uses, twin.Catalogue.Owners.Uses)
			for i := range noted {
				require.Same(t, twin.State.Jobs[m.Admission.SaveJobs()[noted[i].Job].Job.ID].Replicas.At(0), noted[i].Restored)
			}
			want, got := m.Admission.SaveJobs(), twin.Admission.SaveJobs()
			for _, list := range [][]record.SavedJob{want, got} {
				for i := range list {
					list[i].Replicas[0].Leaves, list[i].Replicas[0].Restored = false, nil // for package life to restore
				}
			}
			require.Equal(t, want, got)
		})
	}
}

// A member that makes room names the job for which it does. Package life restores that.
func TestAMemberIsSavedWithItsBeneficiary(t *testing.T) {
	m := machine(t)
	spec := job("gang", 2, 8)
	spec.Groups[0].MinMembers = 1
	rep, waits := m.Run(spec, "n1", "n2"), m.Wait(job("waits", 1, 8))
	m.Life.Ask(record.Piece{Rep: rep, Flats: []int{1}}, waits)
	members := m.Admission.SaveJobs()[0].Replicas[0].Members
	require.Zero(t, members[0].Beneficiary)
	require.Equal(t, waits.Ref(), members[1].Beneficiary)
	require.Equal(t, "stopping", members[1].State)
	m.Break()
	twin, _, err := restored(t, m, asIs)
	twin.NoRefusal(err)
	stands(t, twin)
	require.Equal(t, record.MemberStopping, twin.State.Jobs["gang"].Replicas.At(0).Members[1].State)
}

// Of a gang all members of which wait, nothing is noted.
func TestWhatJustWaitsIsNotNoted(t *testing.T) {
	m := machine(t)
	m.Wait(job("waits", 1, 1))
	m.Run(job("runs", 1, 1), "n1")
	m.State.Jobs["waits"].Replicas.At(0).Look.Note().Turn = 7 // of former times
	_, noted, err := restored(t, m, asIs)
	m.NoRefusal(err)
	require.Len(t, noted, 1)
	require.Equal(t, berth.JobID("runs"), noted[0].Restored.Job.Spec.ID)
}

// Replicas that wait alike are saved as one, whether they are records by now or a number.
func TestReplicasThatWaitAlikeAreSavedTogether(t *testing.T) {
	m := machine(t)
	m.Wait(service("service", 5, 1))
	was := m.Admission.SaveJobs()
	require.Len(t, was[0].Replicas, 1)
	require.Equal(t, 4, was[0].Replicas[0].Alike)
	m.Break()
	j := m.State.Jobs["service"]
	for range 2 {
		rep := m.State.Reveal(j.Batches()[0])
		rep.Entries = append(rep.Entries, j.Replicas.At(0).Entries...)
	}
	require.Equal(t, was, m.Admission.SaveJobs())
	j.Replicas.At(1).FailedBids = 1
	require.Len(t, m.Admission.SaveJobs()[0].Replicas, 3, "one of them is not like the others")

	twin, _, err := restored(t, m, asIs)
	twin.NoRefusal(err)
	require.EqualValues(t, 5, twin.State.Replicas)

	m = machine(t)
	m.Break()
	j = m.Wait(service("service", 3, 1)).Job
	m.Life.PendBatch(m.State.NewReplicaAt(j, 4), 2)
	var numbers []int
	for _, s := range m.Admission.SaveJobs()[0].Replicas {
		numbers = append(numbers, s.Number)
	}
	require.IsIncreasing(t, numbers, "records and numbers, in one order")
	require.Len(t, twin.State.Jobs["service"].Batches(), 1)
}

// tampered changes the first replica.
func tampered(change func(*record.SavedReplica)) func([]record.SavedJob) {
	return func(list []record.SavedJob) { change(&list[0].Replicas[0]) }
}

// member changes the second member of the first replica.
func member(change func(*record.SavedMember)) func([]record.SavedJob) {
	return tampered(func(s *record.SavedReplica) { change(&s.Members[1]) })
}

// order changes the Bind of the first replica.
func order(change func(*berth.Bind)) func([]record.SavedJob) {
	return tampered(func(s *record.SavedReplica) {
		o, err := berth.DecodeOrder(*s.Order)
		if err != nil {
			panic(err)
		}
		bind := o.(berth.Bind)
		change(&bind)
		s.Order = encoded(bind)
	})
}

func encoded(o berth.Order) *record.SavedOrder {
	b, err := berth.EncodeOrder(o)
	if err != nil {
		panic(err)
	}
	return (*json.RawMessage)(&b)
}

func TestJobsThatCouldNotBeAreNotRestored(t *testing.T) {
	type plays = func(roomtest.TB) *roomtest.Machine
	waiting := func(t roomtest.TB) *roomtest.Machine {
		m := machine(t)
		m.Wait(job("waits", 1, 1))
		return m
	}
	waitingService := func(t roomtest.TB) *roomtest.Machine {
		m := machine(t)
		m.Wait(service("service", 3, 1))
		return m
	}
	for name, c := range map[string]struct {
		play   plays
		kind   error
		field  string
		change func([]record.SavedJob)
	}{
		"a job that makes no sense": {running, berth.ErrInvalid, "jobs[0].job.groups", func(l []record.SavedJob) { l[0].Job.Groups = nil }},
		"no replica":                {running, berth.ErrInvalid, "jobs[0].replicas", func(l []record.SavedJob) { l[0].Replicas = nil }},
		"cancelled, and no replica": {waitingService, berth.ErrInvalid, "jobs[0].replicas", func(l []record.SavedJob) { l[0].Cancelled, l[0].Replicas = true, nil }},
		"a replica twice":           {waitingService, berth.ErrDuplicate, "jobs[0].replicas[1].replica", func(l []record.SavedJob) { l[0].Replicas = append(l[0].Replicas, l[0].Replicas[0]) }},
		"one within those alike": {waitingService, berth.ErrDuplicate, "jobs[0].replicas[1].replica", func(l []record.SavedJob) {
			l[0].Replicas = append(l[0].Replicas, record.SavedReplica{LifePart: record.LifePart{Number: 2}})
		}},

		"a negative number":       {running, berth.ErrInvalid, "jobs[0].replicas[0].replica", tampered(func(s *record.SavedReplica) { s.Number = -1 })},
		"a number too high":       {waitingService, berth.ErrInvalid, "jobs[0].replicas[0].replica", tampered(func(s *record.SavedReplica) { s.Number = 10 })},
		"a second one of a batch": {running, berth.ErrInvalid, "jobs[0].replicas[0].replica", tampered(func(s *record.SavedReplica) { s.Number = 1 })},
		"negatively alike":        {running, berth.ErrInvalid, "jobs[0].replicas[0].alike", tampered(func(s *record.SavedReplica) { s.Alike = -1 })},
		"alike without a service": {waiting, berth.ErrInvalid, "jobs[0].replicas[0].alike", tampered(func(s *record.SavedReplica) { s.Alike = 1 })},
		"alike, and not plain":    {waitingService, berth.ErrInvalid, "jobs[0].replicas[0].alike", tampered(func(s *record.SavedReplica) { s.FailedBids = 1 })},
		"too many alike":          {waitingService, berth.ErrInvalid, "jobs[0].replicas[0].alike", tampered(func(s *record.SavedReplica) { s.Alike = 10 })},
		"too many replicas":       {waitingService, berth.ErrLimit, "jobs[0].replicas[0]", tampered(func(s *record.SavedReplica) { s.Alike = 9 })},
		"no such state":           {running, berth.ErrInvalid, "jobs[0].replicas[0].state", tampered(func(s *record.SavedReplica) { s.State = berth.ReplicaReleasing + 1 })},
		"a state of others":       {running, berth.ErrInvalid, "jobs[0].replicas[0].state", tampered(func(s *record.SavedReplica) { s.State = berth.ReplicaBinding })},
		"cancelled, and staying":  {running, berth.ErrInvalid, "jobs[0].replicas[0].gone", func(l []record.SavedJob) { l[0].Cancelled = true }},
		"a negative counter":      {running, berth.ErrInvalid, "jobs[0].replicas[0].attempts", tampered(func(s *record.SavedReplica) { s.FailedBids = -1 })},
		"created tomorrow":        {running, berth.ErrInvalid, "jobs[0].replicas[0].created", tampered(func(s *record.SavedReplica) { s.Created = roomtest.Start + 1 })},
		"an end before all":       {running, berth.ErrInvalid, "jobs[0].replicas[0].endsAt", tampered(func(s *record.SavedReplica) { s.EndsAt = -1 })},
		"no end":                  {running, berth.ErrInvalid, "jobs[0].replicas[0].endsAt", tampered(func(s *record.SavedReplica) { s.EndsAt = 0 })},
		"an end of nothing":       {waiting, berth.ErrInvalid, "jobs[0].replicas[0].endsAt", tampered(func(s *record.SavedReplica) { s.EndsAt = 1 })},

		"another group":             {running, berth.ErrInvalid, "jobs[0].replicas[0].members[1]", member(func(s *record.SavedMember) { s.Group = "other" })},
		"a member twice":            {running, berth.ErrInvalid, "jobs[0].replicas[0].members[1]", member(func(s *record.SavedMember) { s.Index = 0 })},
		"a member of no state":      {running, berth.ErrInvalid, "jobs[0].replicas[0].members[1].state", member(func(s *record.SavedMember) { s.State = "absent" })},
		"started, and had run":      {starting, berth.ErrInvalid, "jobs[0].replicas[0].members[1].ran", member(func(s *record.SavedMember) { s.Ran = true })},
		"a member of none waiting":  {waiting, berth.ErrInvalid, "jobs[0].replicas[0].members[0]", tampered(func(s *record.SavedReplica) { s.Members = []record.SavedMember{{State: "running"}} })},
		"on no node":                {running, berth.ErrUnknown, "jobs[0].replicas[0].members[1].node", member(func(s *record.SavedMember) { s.Node = "n9" })},
		"on fewer GPUs":             {running, berth.ErrInvalid, "jobs[0].replicas[0].members[1].gpus", member(func(s *record.SavedMember) { s.GPUs = berth.GPUSetOf(1) })},
		"where another one is":      {running, berth.ErrConflict, "jobs[0].replicas[0].members[1]", member(func(s *record.SavedMember) { s.Node = "n1" })},
		"running, and one is not":   {running, berth.ErrInvalid, "jobs[0].replicas[0].state", tampered(func(s *record.SavedReplica) { s.Members = s.Members[:1] })},
		"torn over two racks":       {starting, berth.ErrInvalid, "jobs[0].replicas[0].members", func(l []record.SavedJob) { l[0].Job.Topology.Required, l[0].Replicas[0].Members[1].Node = "rack", "n3" }},
		"an order that is no order": {starting, berth.ErrInvalid, "jobs[0].replicas[0].order", tampered(func(s *record.SavedReplica) { *s.Order = []byte(`{}`) })},

		"an order of no ID":          {starting, berth.ErrInvalid, "jobs[0].replicas[0].order.bind.id", order(func(b *berth.Bind) { b.ID = 0 })},
		"an order yet to be given":   {starting, berth.ErrInvalid, "jobs[0].replicas[0].order.bind.id", order(func(b *berth.Bind) { b.ID = 2 })},
		"an order for another":       {starting, berth.ErrInvalid, "jobs[0].replicas[0].order.bind.job", order(func(b *berth.Bind) { b.Job = "other" })},
		"for another replica":        {starting, berth.ErrInvalid, "jobs[0].replicas[0].order.bind.job", order(func(b *berth.Bind) { b.Replica = 1 })},
		"for another life":           {starting, berth.ErrInvalid, "jobs[0].replicas[0].order.bind.incarnation", order(func(b *berth.Bind) { b.Incarnation++ })},
		"given tomorrow":             {starting, berth.ErrInvalid, "jobs[0].replicas[0].order.bind.at", order(func(b *berth.Bind) { b.At = roomtest.Start + 1 })},
		"due before it was given":    {starting, berth.ErrInvalid, "jobs[0].replicas[0].order.bind.deadline", order(func(b *berth.Bind) { b.Deadline = b.At - 1 })},
		"that leaves a member out":   {starting, berth.ErrInvalid, "jobs[0].replicas[0].order.bind.members", order(func(b *berth.Bind) { b.Members = b.Members[:1] })},
		"that has one elsewhere":     {starting, berth.ErrInvalid, "jobs[0].replicas[0].order.bind.members[1]", order(func(b *berth.Bind) { b.Members[1].Node = "n3" })},
		"that has one too many":      {starting, berth.ErrInvalid, "jobs[0].replicas[0].order.bind.members[2]", order(func(b *berth.Bind) { b.Members = append(b.Members, berth.MemberPlacement{Index: 2}) })},
		"that has them out of order": {starting, berth.ErrInvalid, "jobs[0].replicas[0].order.bind.members", order(func(b *berth.Bind) { b.Members[0], b.Members[1] = b.Members[1], b.Members[0] })},
		"an order that is not reported": {starting, berth.ErrInvalid, "jobs[0].replicas[0].order", tampered(func(s *record.SavedReplica) {
			s.Order = encoded(berth.Drop{OrderHeader: berth.OrderHeader{ID: 1, Job: "gang"}})
		})},
		"a Release that leaves one out": {stopping, berth.ErrInvalid, "jobs[0].replicas[0].order.release.members", tampered(func(s *record.SavedReplica) {
			o, _ := berth.DecodeOrder(*s.Order)
			release := o.(berth.Release)
			release.Members = release.Members[1:]
			s.Order = encoded(release)
		})},

		"a place before, and no death": {running, berth.ErrInvalid, "jobs[0].replicas[0].stood", tampered(func(s *record.SavedReplica) { s.Stood = []berth.MemberPlacement{{Node: "n1"}} })},
		"a place before of none":       {died, berth.ErrInvalid, "jobs[0].replicas[0].stood[1]", tampered(func(s *record.SavedReplica) { s.Stood[1].Index = 2 })},
		"a place before twice":         {died, berth.ErrInvalid, "jobs[0].replicas[0].stood[1]", tampered(func(s *record.SavedReplica) { s.Stood[1].Index = 0 })},
		"a place before on no node":    {died, berth.ErrInvalid, "jobs[0].replicas[0].stood[1].node", tampered(func(s *record.SavedReplica) { s.Stood[1].Node = "" })},
		"an instance, and it is no MIG": {running, berth.ErrConflict, "jobs[0].replicas[0].members[0].gpus", func(l []record.SavedJob) {
			l[0].Job.Groups[0].Claim = berth.MIGInstance("7g.80gb")
			for i := range l[0].Replicas[0].Members {
				at := &l[0].Replicas[0].Members[i]
				at.GPUs = 1
				at.Instance.Size, at.Instance.Profile.ComputeSlices, at.Instance.Profile.MemoryGB = 8, 7, 80
			}
		}},
		"a share of a GPU that is whole": {running, berth.ErrInvalid, "jobs[0].replicas[0].members[0].gpus", func(l []record.SavedJob) {
			l[0].Job.Class, l[0].Job.Groups[0].Claim = berth.ClassInteractive, berth.SharedGPU(berth.ShareMPS, 300)
			for i := range l[0].Replicas[0].Members {
				l[0].Replicas[0].Members[i].GPUs, l[0].Replicas[0].Members[i].ShareMilli = 1, 300
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			m := c.play(t)
			m.Break()
			twin, _, err := restored(t, m, c.change)
			twin.Refused(err, c.kind, c.field)
		})
	}
}

// A share that is refused uses no owner.
func TestAShareIsGrantedAgain(t *testing.T) {
	m := machine(t)
	for _, id := range []berth.JobID{"first", "second"} {
		spec := job(id, 1, 0)
		spec.Class, spec.Groups[0].Claim = berth.ClassInteractive, berth.SharedGPU(berth.ShareMPS, 600)
		m.Run(spec, "n1")
	}
	twin, _, err := restored(t, m, func(list []record.SavedJob) { list[1].Replicas[0].Members[0].GPUs = 1 })
	twin.Refused(err, berth.ErrConflict, "jobs[1].replicas[0].members[0]")
	require.Equal(t, []int{1, 2}, twin.Catalogue.Owners.Uses, "by what both ask for, and by the first")
}

// One that runs has run, whatever an older snapshot says of it.
func TestAMemberThatRunsHasRun(t *testing.T) {
	m := running(t)
	twin, _, err := restored(t, m, member(func(s *record.SavedMember) { s.Ran = false }))
	twin.NoRefusal(err)
	require.True(t, twin.State.Jobs["gang"].Replicas.At(0).Members[1].Ran)
}

// One order is one replica's.
func TestAnOrderIsNotRestoredTwice(t *testing.T) {
	m := machine(t)
	m.Bind(m.Wait(job("first", 1, 8)), "n1")
	m.Bind(m.Wait(job("second", 1, 8)), "n2")
	twin, _, err := restored(t, m, func(list []record.SavedJob) {
		o, _ := berth.DecodeOrder(*list[1].Replicas[0].Order)
		bind := o.(berth.Bind)
		bind.ID = 1
		list[1].Replicas[0].Order = encoded(bind)
	})
	twin.Refused(err, berth.ErrInvalid, "jobs[1].replicas[0].order.bind.id")
}

// What falls due of a gang that waits: the end of its backoff, and the patience of its job.
func TestWhatFallsDueIsRestored(t *testing.T) {
	m := died(t)
	m.Break()
	twin, _, err := restored(t, m, asIs)
	twin.NoRefusal(err)
	timer, _ := twin.State.Timers.Min()
	require.Equal(t, record.TimerBackoff, timer.Kind)
	require.Equal(t, m.State.Jobs["gang"].Replicas.At(0).Retry.Get().ReadyAt, timer.At)

	m = machine(t)
	spec := job("patient", 1, 1)
	spec.GangTimeout = berth.Hour
	m.Wait(spec)
	twin, _, err = restored(t, m, asIs)
	twin.NoRefusal(err)
	timer, _ = twin.State.Timers.Min()
	require.Equal(t, record.TimerGang, timer.Kind)
	require.Equal(t, m.State.Now.Add(berth.Hour), timer.At)

	twin, _, err = restored(t, starting(t), asIs)
	twin.NoRefusal(err)
	timer, _ = twin.State.Timers.Min()
	require.Equal(t, record.TimerDeadline, timer.Kind)
}

func TestAMarkOfARoundIsRestoredWithinIt(t *testing.T) {
	m := running(t)
	rep := m.State.Jobs["gang"].Replicas.At(0)
	noted := []state.Noted{{SavedReplica: &record.SavedReplica{Sought: true, Restored: rep}}}
	m.Refused(m.Admission.RestoreSought(noted), berth.ErrInvalid, "jobs[0].replicas[0].sought")
	m.Agenda.MovesLeft = true
	m.NoRefusal(m.Admission.RestoreSought(noted))
	require.True(t, m.Admission.SaveJobs()[0].Replicas[0].Sought)
}
