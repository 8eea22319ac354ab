package answer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/quota"
)

// Invariant 4.
func TestAReportCountsEveryGPUOnce(t *testing.T) {
	m := machine(t)
	other := roomtest.Node("other", 2, "r2")
	other.GPUs[0].Product, other.GPUs[1].Product = "L4", "L4"
	other.GPUs[0].MIGTable, other.GPUs[1].MIGTable = "", ""
	m.Join(other)
	m.Run(job("runs", 1, 6), "n1")
	m.Run(claiming("share", 1, berth.SharedGPU(berth.ShareMPS, 300)), "n2")
	m.Upkeep.Cordon(m.NodeNamed("n3"), true, "")
	n4 := m.NodeNamed("n4")
	m.NoRefusal(m.GPUs.GPUPartitioned(berth.GPUPartitioned{Node: "n4", GPU: 7, Mode: berth.GPUModeMIG, Instances: n4.Table.Lattice.Layout(sevenths(n4))}))
	m.NoRefusal(m.GPUs.GPUPartitioned(berth.GPUPartitioned{Node: "n4", GPU: 6, Mode: berth.GPUModeMIG}))
	n4.GPUs[6].Note().Restore(&record.SavedGPU{Unknown: true}, nil)
	n4.Altered = true
	m.Books.SettleGPU(n4, 6)
	instance := n4.Spec.GPUs[7].Instances[3]
	m.Observe(m.State.Now, claiming("instance", 1, berth.MIGInstance("1g.10gb")), []berth.MemberPlacement{{Node: "n4", GPUs: berth.GPUSetOf(7), Instance: instance}})
	m.SetQueue(quota.Queue{Name: "b", Guarantee: quota.GPUs(2), Limit: quota.GPUs(3)})
	m.Wait(job("ready", 1, 1))
	r := m.Answers.Report()
	require.Equal(t, berth.NodeCount{All: 5, Cordoned: 1}, r.Nodes)
	seven, one := n4.Table.MilliOf(sevenths(n4)), n4.Table.Milli(instance)
	require.Equal(t, berth.GPUCount{AllMilli: 34_000, HeldMilli: 6300 + one, FreeMilli: 2000 + 7700 + 6000 + seven - one + 2000, OutOfServiceMilli: 8000 + 1000 + 1000 - seven}, r.GPUs)
	require.Equal(t, []string{"H100", "L4"}, []string{r.Products[0].Product, r.Products[1].Product})
	require.EqualValues(t, 2000, r.Products[1].FreeMilli)
	require.Equal(t, r.GPUs.AllMilli, r.Products[0].AllMilli+r.Products[1].AllMilli)
	require.Equal(t, []int{0, 0, 2, 0, 0, 0, 1, 1}, r.NodesByFreeGPUs, "n3 takes no work")
	require.Equal(t, 1, r.Partitioned[0].GPUs)
	require.Equal(t, berth.InstanceCount{Profile: "1g.10gb", Free: 6, Held: 1}, r.Partitioned[0].Instances[0])
	require.Equal(t, berth.ReplicaCount{Pending: 1, Running: 3}, r.Replicas)
	require.Equal(t, berth.WaitingCount{Ready: 1}, r.Waiting)
	limit := int64(3000)
	require.Contains(t, r.Queues, berth.QueueReport{Queue: "b", GuaranteedMilli: 2000, LimitMilli: &limit})
	require.Contains(t, r.Queues, berth.QueueReport{Queue: "a", GuaranteedMilli: 16_000, UsedMilli: 6300 + one, WaitingReplicas: 1, Activity: berth.ActivityCount{HeldMilli: 6300 + one}})
}

// sevenths is a GPU in seven instances of the smallest profile.
func sevenths(n *record.Node) mig.State {
	counts := make([]int, n.Table.Lattice.Profiles())
	counts[0] = 7
	s, _ := n.Table.Lattice.Arrange(0, counts)
	return s
}

// What is free is stranded where nothing that waits fits.
func TestWhatServesNothingThatWaitsIsStranded(t *testing.T) {
	m := machine(t)
	m.Run(job("runs", 3, 6), "n1", "n2", "n3")
	require.Zero(t, m.Answers.Report().GPUs.StrandedMilli, "nothing waits")
	m.Wait(job("waits", 2, 8))
	require.EqualValues(t, 6000, m.Answers.Report().GPUs.StrandedMilli)
	m.Wait(job("larger", 1, 8))
	require.Equal(t, 1, m.Answers.Needs(), "one stands for both")
	labelled := job("labelled", 1, 2)
	labelled.Groups[0].Selector.Labels = map[string]string{"disk": "fast"}
	m.Wait(labelled)
	require.EqualValues(t, 6000, m.Answers.Report().GPUs.StrandedMilli)
	fast := roomtest.Node("n5", 8, "r1")
	fast.Labels = map[string]string{"disk": "fast"}
	m.Join(fast)
	m.Run(job("more", 1, 5), "n5")
	require.EqualValues(t, 6000, m.Answers.Report().GPUs.StrandedMilli, "n5 serves the labelled one")
	m.Wait(job("small", 1, 2))
	require.Zero(t, m.Answers.Report().GPUs.StrandedMilli)
	require.Equal(t, 2, m.Answers.Needs(), "the small one, and the labelled one")
}

func TestAReportListsWhatIsSetAsideAndDrained(t *testing.T) {
	m := machine(t)
	m.Run(job("runs", 1, 8), "n1")
	m.Reserve(m.Wait(job("waits", 2, 8)), m.State.Now.Add(berth.Hour), "n2", "n1")
	n := m.NodeNamed("n1")
	m.Upkeep.SetDraining(n, true)
	r := m.Answers.Report()
	require.Equal(t, []berth.ReservationReport{{
		Job: "waits", From: m.State.Now.Add(berth.Hour), Until: m.State.Now.Add(berth.Hour + m.State.Config.Policy.ReservationTimeout),
		Nodes: []berth.NodeID{"n1", "n2"}, Conflicts: []berth.JobID{"runs"},
	}}, r.Reservations)
	require.Equal(t, []berth.DrainReport{{Node: "n1", MembersLeft: 1, Replicas: []berth.ReplicaRef{{Job: "runs"}}}}, r.Draining)
}

// Invariant 5.

// world is what a driver sees that does all that it is told.
func world(m *roomtest.Machine) (w berth.World) {
	for _, n := range m.State.Nodes {
		w.Nodes = append(w.Nodes, berth.Node{ID: n.Spec.ID})
		s, _ := m.Answers.Node(n.Spec.ID)
		w.Running = append(w.Running, s.Members...)
	}
	return w
}

func TestAWorldThatIsAsItShouldBeDoesNotDiffer(t *testing.T) {
	m := machine(t)
	m.Run(job("runs", 2, 4), "n2", "n1")
	m.Bind(m.Wait(job("starts", 1, 8)), "n3")
	w := world(m)
	require.Len(t, w.Running, 3)
	require.Empty(t, m.Answers.Diff(w))
	w.Running = w.Running[:2]
	require.Empty(t, m.Answers.Diff(w), "one that is being started may not run yet")
}

func TestEveryDifferenceIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*berth.World)
		kinds  []berth.DifferenceKind
		event  berth.Event
	}{
		"a node more": {func(w *berth.World) { w.Nodes = append(w.Nodes, berth.Node{ID: "n9"}, berth.Node{ID: "n9"}) }, []berth.DifferenceKind{berth.DifferenceNodeUnknown}, berth.NodeJoined{Node: berth.Node{ID: "n9"}}},
		"a node less": {func(w *berth.World) { w.Nodes = w.Nodes[1:] }, []berth.DifferenceKind{berth.DifferenceNodeMissing}, berth.NodeLost{Node: "n1", Reason: "not seen in the world"}},
		"another job": {func(w *berth.World) { w.Running[0].Job = "other" }, []berth.DifferenceKind{berth.DifferenceMemberUnknown, berth.DifferenceMemberMissing}, nil},
		"a member more": {func(w *berth.World) {
			more := w.Running[0]
			more.Index = 2
			w.Running = append(w.Running, more)
		}, []berth.DifferenceKind{berth.DifferenceMemberUnknown}, nil},
		"a member twice": {func(w *berth.World) {
			twice := w.Running[0]
			twice.Node = "n4"
			w.Running = append(w.Running, twice)
		}, []berth.DifferenceKind{berth.DifferenceMemberUnknown}, nil},
		"another life": {func(w *berth.World) { w.Running[0].Incarnation++ }, []berth.DifferenceKind{berth.DifferenceMemberMisplaced}, failed(1)},
		"another node": {func(w *berth.World) { w.Running[0].Node = "n4" }, []berth.DifferenceKind{berth.DifferenceMemberMisplaced}, failed(1)},
		"other GPUs":   {func(w *berth.World) { w.Running[1].GPUs <<= 1 }, []berth.DifferenceKind{berth.DifferenceMemberMisplaced}, failed(0)},
		"an instance":  {func(w *berth.World) { w.Running[1].Instance.Size = 1 }, []berth.DifferenceKind{berth.DifferenceMemberMisplaced}, failed(0)},
		"none of them": {func(w *berth.World) { w.Running = nil }, []berth.DifferenceKind{berth.DifferenceMemberMissing, berth.DifferenceMemberMissing}, failed(0, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			m := machine(t)
			m.Run(job("runs", 2, 4), "n2", "n1") // n1 comes first, with member 1
			w := world(m)
			c.change(&w)
			var kinds []berth.DifferenceKind
			list := m.Answers.Diff(w)
			for _, d := range list {
				kinds = append(kinds, d.Kind)
				require.NotEmpty(t, d.Text)
			}
			require.Equal(t, c.kinds, kinds)
			if c.event != nil {
				require.Equal(t, c.event, list[0].Event)
			}
		})
	}
}

func failed(members ...int) berth.MemberFailed {
	e := berth.MemberFailed{Job: "runs", Incarnation: 1, Reason: "not seen in the world"}
	for _, i := range members {
		e.Members = append(e.Members, berth.MemberRef{Index: i})
	}
	return e
}

// Invariant 6.
func TestAFaultTakesWhatIsOnTheGPU(t *testing.T) {
	for mode, others := range map[berth.ShareMode][]berth.JobID{berth.ShareMPS: {"one", "two"}, berth.ShareTimeSlice: {"one"}} {
		m := machine(t)
		two := claiming("two", 2, berth.SharedGPU(mode, 400))
		two.Groups[0].MinMembers = 1
		m.Run(claiming("one", 1, berth.SharedGPU(mode, 300)), "n1")
		m.Run(two, "n1", "n2")
		m.Run(job("beside", 1, 1), "n1")
		b, err := m.Answers.BlastRadius("n1", 0)
		require.NoError(t, err)
		require.Equal(t, []berth.AffectedReplica{{Job: "one", Members: 1, Down: true}, {Job: "two", Members: 1}}, b.Device, "a gang goes on with one member")
		var taken []berth.JobID
		for _, a := range b.Processes[0].Affected {
			taken = append(taken, a.Job)
		}
		require.Equal(t, others, taken)
		require.Len(t, b.Processes, 2)
		require.Equal(t, &berth.WorstBlastRadius{Node: "n1", GPU: 0, Jobs: 2, JobsDown: 1}, m.Answers.Report().WorstBlastRadius)
		s := explain(t, m, "one").BlastRadius
		require.Equal(t, []berth.JobID{"two"}, s.Device)
		require.Equal(t, mode == berth.ShareMPS, len(s.Process) > 0)
		require.Nil(t, explain(t, m, "beside").BlastRadius)
	}
}

// Invariant 7: what is handed out is the caller's own.
func TestAStatusIsACopy(t *testing.T) {
	m := machine(t)
	n := roomtest.Node("n9", 8, "r1")
	n.Labels = map[string]string{"disk": "fast"}
	m.Join(n)
	spec := job("runs", 2, 2)
	spec.Groups[0].Selector.Products = []string{"H100"}
	m.Run(spec, "n9", "n1")
	m.Wait(job("waits", 1, 1))
	s, _ := m.Answers.Node("n9")
	s.Node.Labels["disk"], s.Node.GPUs[0].Product = "slow", "L4"
	j, _ := m.Answers.Job("runs")
	require.Equal(t, berth.NodeID("n9"), j.Replicas[0].Running[0].Node)
	j.Job.Groups[0].Selector.Products[0] = "L4"
	again, _ := m.Answers.Node("n9")
	require.Equal(t, "fast", again.Node.Labels["disk"])
	require.Equal(t, "H100", again.Node.GPUs[0].Product)
	j, _ = m.Answers.Job("runs")
	require.Equal(t, []string{"H100"}, j.Job.Groups[0].Selector.Products)
	q, _ := m.Answers.Queue("a")
	require.EqualValues(t, 4000, q.UsedMilli)
	require.Equal(t, 1, q.RunningReplicas)
	require.Equal(t, 1, q.WaitingReplicas)
	seen := 0
	require.False(t, m.Answers.EachRunning("runs", func(berth.ObservedMember) bool { seen++; return false }))
	require.True(t, m.Answers.EachRunning("runs", func(berth.ObservedMember) bool { seen++; return true }))
	require.Equal(t, 3, seen)
}

// Bandwidth.

func TestAGangIsAsFastAsItsSlowestLink(t *testing.T) {
	m := roomtest.New(t, berth.Config{Levels: []string{"rack"}})
	for _, id := range []berth.NodeID{"n1", "n2"} {
		n := roomtest.Node(id, 8, "r1")
		n.NICs = []berth.NIC{{Name: "eth0", MbitPerSecond: 400_000}}
		for g := range n.GPUs {
			n.GPUs[g].Clique = string(id)
		}
		m.Join(n)
	}
	m.Join(roomtest.Node("slow", 8, "r1"))
	m.Queue("a", 0)
	m.Run(job("inside", 1, 4), "n1")
	m.Run(job("across", 2, 4), "n1", "n2")
	m.Run(job("single", 1, 1), "n2")
	inside, across := explain(t, m, "inside").Bandwidth, explain(t, m, "across").Bandwidth
	require.Positive(t, inside.AllReduce)
	require.Equal(t, inside.Best, inside.AllReduce)
	require.Equal(t, inside.Tensor, inside.AllReduce)
	require.EqualValues(t, 400_000/8/2, across.AllReduce, "half of each node's NICs")
	require.Equal(t, inside.Best, across.Best, "eight GPUs fit on one node")
	require.Equal(t, inside.AllReduce, across.Tensor, "a member is on one node")
	require.Zero(t, explain(t, m, "single").Bandwidth.AllReduce)
	m.Run(job("uneven", 2, 2), "n2", "slow")
	uneven := explain(t, m, "uneven").Bandwidth
	require.Positive(t, uneven.Tensor)
	require.Less(t, uneven.Tensor, inside.Tensor, "that of the member without NVLink")
}
