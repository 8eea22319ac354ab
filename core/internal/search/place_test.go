package search_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
	"github.com/berth-sched/berth/core/internal/search"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/quota"
)

// machine is a fleet of two racks with two nodes of 8 GPUs each, n1 and n2, n3 and n4, and two
// queues that are guaranteed two nodes each.
func machine(t roomtest.TB, policies ...berth.Policy) *roomtest.Machine {
	config := berth.Config{Levels: []string{"rack"}}
	for _, p := range policies {
		config.Policy = p
	}
	m := roomtest.New(t, config)
	m.Nodes(2, 8, "r1")
	m.Nodes(2, 8, "r2")
	m.Queue("a", 16)
	m.Queue("b", 16)
	return m
}

func urgent(j berth.Job) berth.Job {
	j.Priority = 1
	return j
}

func elastic(j berth.Job) berth.Job {
	j.Groups[0].MinMembers = 1
	return j
}

func running(d berth.Duration, j berth.Job) berth.Job {
	j.ExpectedRuntime = d
	return j
}

// place runs the stages that place what is ready.
func place(m *roomtest.Machine) []string {
	return starts(m.Pass(m.Search.Wake, m.Agenda.BeginPlacing, m.Search.Place))
}

// starts says of each Bind among orders which job it starts, why, and on which nodes.
func starts(orders []berth.Order) (list []string) {
	for _, o := range orders {
		if bind, ok := o.(berth.Bind); ok {
			text := fmt.Sprintf("%s, %s:", bind.Job, bind.Cause.Code)
			for _, at := range bind.Members {
				text += " " + string(at.Node)
			}
			list = append(list, text)
		}
	}
	return list
}

func bucketOf(rep *record.Replica) *record.Bucket { return rep.Entries[0].Bucket }

func TestWhatIsReadyIsPlacedInTheOrderOfService(t *testing.T) {
	m := machine(t)
	m.Wait(roomtest.Job("old", "a", 3, 8))
	m.Wait(urgent(roomtest.Job("urgent", "a", 3, 8)))
	require.Equal(t, []string{"urgent, fits: n1 n2 n3"}, place(m))
}

// Invariant 3.
func TestAGangIsPlacedWholeOrNotAtAll(t *testing.T) {
	m := machine(t)
	rep := m.Wait(roomtest.Job("large", "a", 5, 8))
	require.Empty(t, place(m))
	require.Nil(t, rep.Members)
	require.Equal(t, 32, m.State.FreeOpen(), "nothing stays held")
	require.True(t, m.Backlog.Blocked.Has(bucketOf(rep).Shape))
	require.Empty(t, place(m))
	require.EqualValues(t, 1, m.State.Totals.PlacementAttempts, "what is blocked is not tried again")
}

// Invariant 3: a gang has its minimum before any other has its surplus.
func TestMinimumsComeBeforeSurpluses(t *testing.T) {
	m := machine(t)
	m.Wait(urgent(elastic(roomtest.Job("elastic", "a", 4, 8))))
	m.Wait(roomtest.Job("rigid", "a", 1, 8))
	require.ElementsMatch(t, []string{"elastic, fits: n1 n3 n4", "rigid, fits: n2"}, place(m))
}

func TestAPassSpendsItsBudgetAndTheNextGoesOn(t *testing.T) {
	m := machine(t, berth.Policy{PassBudget: 1})
	m.Wait(roomtest.Job("first", "a", 1, 8))
	m.Wait(roomtest.Job("second", "a", 1, 4))
	require.Len(t, place(m), 1)
	require.Len(t, place(m), 1)
	require.Empty(t, place(m))
}

func TestAPassPlacesSoManyMembersAtTheMost(t *testing.T) {
	m := machine(t)
	m.State.Bounds.Placed = 3 // two members and an attempt
	m.Wait(roomtest.Job("first", "a", 2, 4))
	m.Wait(roomtest.Job("second", "a", 1, 4))
	require.Len(t, place(m), 1)
	require.Len(t, place(m), 1)
}

func TestALimitLeavesAnElasticGangAsMuchAsItAllows(t *testing.T) {
	m := machine(t)
	m.SetQueue(quota.Queue{Name: "a", Limit: quota.GPUs(10)})
	m.Wait(elastic(roomtest.Job("elastic", "a", 8, 2)))
	require.Equal(t, []string{"elastic, fits: n1 n1 n1 n1 n2"}, place(m))
}

// Segments come and go whole.
func TestALimitLeavesWholeSegments(t *testing.T) {
	m := machine(t)
	m.SetQueue(quota.Queue{Name: "a", Limit: quota.GPUs(14)})
	job := roomtest.Job("segments", "a", 6, 2)
	job.Groups[0].MinMembers, job.Groups[0].Topology.Segments = 2, []berth.Segment{{Size: 2, Level: "node"}}
	m.Wait(job)
	require.Equal(t, []string{"segments, fits: n1 n1 n1 n1 n2 n2"}, place(m))
	m.SetQueue(quota.Queue{Name: "b", Limit: quota.GPUs(7)})
	job.ID, job.Queue = "fewer", "b"
	m.Wait(job)
	require.Equal(t, []string{"fewer, fits: n2 n2"}, place(m))
}

// Of a gang of several groups that is all or the minimum.
func TestALimitLeavesAGangOfGroupsItsMinimum(t *testing.T) {
	m := machine(t)
	m.SetQueue(quota.Queue{Name: "a", Limit: quota.GPUs(10)})
	group := func(name string) berth.Group {
		return berth.Group{Name: name, Members: 4, MinMembers: 1, Claim: berth.WholeGPUs(2)}
	}
	m.Wait(berth.Job{ID: "groups", Queue: "a", Groups: []berth.Group{group("x"), group("y")}})
	require.Equal(t, []string{"groups, fits: n1 n1"}, place(m))
}

func TestWhatQuotaForbidsIsHeldBackAndNotBlocked(t *testing.T) {
	m := machine(t)
	m.SetQueue(quota.Queue{Name: "a", Limit: quota.GPUs(8)})
	rep := m.Wait(roomtest.Job("beyond", "a", 2, 8))
	require.Empty(t, place(m))
	require.Contains(t, m.Backlog.QuotaBlocked, bucketOf(rep))
	require.Zero(t, m.Backlog.Blocked.Len())
	m.SetQueue(quota.Queue{Name: "a"})
	require.Equal(t, []string{"beyond, fits: n1 n2"}, place(m))
}

// products is a machine with a node of another product, h200, beside those of H100s.
func products(t *testing.T) *roomtest.Machine {
	m := machine(t)
	other := roomtest.Node("h200", 8, "r3")
	for g := range other.GPUs {
		other.GPUs[g].Product, other.GPUs[g].MIGTable = "H200", ""
	}
	m.Join(other)
	return m
}

func limitH100(m *roomtest.Machine, gpus int64) {
	m.SetQueue(quota.Queue{Name: "a", Limit: quota.Amounts{quota.GPUMilliOf("H100"): 1000 * gpus}})
}

func TestALimitOnOneProductMovesTheSearchToAnother(t *testing.T) {
	m := products(t)
	limitH100(m, 4)
	m.Wait(roomtest.Job("any", "a", 1, 8))
	require.Equal(t, []string{"any, fits: h200"}, place(m))
	rep := m.Wait(roomtest.Job("none-left", "a", 1, 8))
	require.Empty(t, place(m))
	require.Contains(t, m.Backlog.QuotaBlocked, bucketOf(rep), "nodes are free, and not allowed")
	limitH100(m, 8)
	require.Equal(t, []string{"none-left, fits: n1"}, place(m))
}

// Where the limits on products leave no more, the minimum alone is placed.
func TestALimitOnAProductLeavesTheMinimum(t *testing.T) {
	m := products(t)
	limitH100(m, 8)
	m.Run(roomtest.Job("fills", "b", 1, 8), "h200")
	mixed := elastic(roomtest.Job("grows", "a", 3, 4))
	mixed.Groups[0].MixProducts = true
	m.Run(mixed, "n1")
	require.Equal(t, []string{"grows, grows: n1"}, place(m))
}

// What was booked of a gang before a limit forbade the rest is given back.
func TestNothingStaysBookedOfAGangThatALimitForbids(t *testing.T) {
	m := products(t)
	m.SetQueue(quota.Queue{Name: "a", Limit: quota.Amounts{quota.GPUMilliOf("H200"): 4000}})
	mixed := roomtest.Job("mixed", "a", 5, 8)
	mixed.Groups[0].MixProducts = true
	rep := m.Wait(mixed)
	require.Empty(t, place(m))
	require.Contains(t, m.Backlog.QuotaBlocked, bucketOf(rep))
	require.Zero(t, m.State.Quota.Used(rep.Job.Queue, quota.GPUMilli))
	require.Equal(t, 40, m.State.FreeOpen())
}

// Members that have domains for themselves stay where the minimum was placed: they grow when they
// run.
func TestAnExclusiveGangStartsWithItsMinimum(t *testing.T) {
	m := machine(t)
	job := elastic(roomtest.Job("exclusive", "a", 3, 8))
	job.Topology.Exclusive = "rack"
	rep := m.Wait(job)
	require.Equal(t, []string{"exclusive, fits: n1"}, place(m))
	m.Started(rep)
	require.Equal(t, []string{"exclusive, grows: n3 n4"}, place(m))
}

func TestTheLimitsOnAQueueTellWhatItMayHaveWhere(t *testing.T) {
	m := products(t)
	limitH100(m, 8)
	mixed := roomtest.Job("mixed", "a", 3, 8)
	mixed.Groups[0].MixProducts = true
	rep := m.Wait(mixed)
	q := rep.Job.Queue
	limited, ok := m.Search.AffordsMembers(rep, m.Where(rep, []string{"n1", "h200"}))
	require.True(t, ok)
	require.Empty(t, limited)
	limited, ok = m.Search.AffordsMembers(rep, m.Where(rep, []string{"h200", "n1", "n2"}))
	require.False(t, ok)
	require.Equal(t, "H100", limited)
	require.Zero(t, m.State.Quota.Used(q, quota.GPUMilli), "nothing stays charged")
}

func TestAGangAvoidsWhereItFailedUnlessItFitsNowhereElse(t *testing.T) {
	m := machine(t)
	rep := m.Wait(roomtest.Job("failed", "a", 1, 8))
	rep.Shun("n1")
	rep.Shun("n2")
	require.Equal(t, []string{"failed, fits: n3"}, place(m))
	again := m.Wait(roomtest.Job("large", "a", 3, 8))
	again.Shun("n1")
	require.Equal(t, []string{"large, fits: n1 n2 n4"}, place(m))
}

func TestAGangGrowsByWhatItIsShortOf(t *testing.T) {
	m := machine(t)
	rep := m.Run(elastic(roomtest.Job("grows", "a", 4, 8)), "n2")
	other := m.Run(roomtest.Job("other", "b", 1, 8), "n1")
	require.Equal(t, []string{"grows, grows: n3 n4"}, place(m))
	require.Equal(t, berth.ReplicaRunning, rep.State)
	m.Started(rep)
	m.Finished(other)
	require.Equal(t, []string{"grows, grows: n1"}, place(m))
}

// A Bind is out until its deadline, with what each group asks for.
func TestABindNamesItsMembersAndTheirClaims(t *testing.T) {
	m := machine(t)
	rep := m.Wait(roomtest.Job("pair", "a", 2, 4))
	orders := m.Pass(m.Search.Place)
	bind := orders[0].(berth.Bind)
	require.Equal(t, m.State.Now.Add(m.State.Config.Policy.BindTimeout), bind.Deadline)
	require.Equal(t, []berth.MemberPlacement{{Node: "n1", GPUs: 0xf}, {Index: 1, Node: "n1", GPUs: 0xf0}}, bind.Members)
	require.Equal(t, []berth.GroupClaim{{Claim: berth.WholeGPUs(4)}}, bind.Claims)
	require.Same(t, rep, m.State.Orders[bind.ID])
	require.Equal(t, bind.ID, rep.Members[1].Bind)
	require.Equal(t, berth.Incarnation(1), rep.Incarnation)
	require.Equal(t, berth.ReplicaBinding, rep.State)
}

// Wake asks the search only for what a node that was freed could help.
func TestWakeMakesReadyWhatFitsNow(t *testing.T) {
	m := machine(t)
	var runs []*record.Replica
	for i := range 4 {
		node := fmt.Sprintf("n%d", i+1)
		runs = append(runs, m.Run(roomtest.Job(berth.JobID("on-"+node), "b", 1, 8), node))
	}
	pair, one := m.Wait(roomtest.Job("pair", "a", 2, 8)), m.Wait(roomtest.Job("one", "a", 1, 8))
	require.Empty(t, place(m))
	m.Finished(runs[1])
	m.Search.Wake()
	require.Negative(t, bucketOf(one).Shape.BlockedAt)
	require.Positive(t, bucketOf(pair).Shape.BlockedAt+1, "one node is not enough for it")
	require.Empty(t, m.State.FreedNodes)
	require.Equal(t, []string{"one, fits: n2"}, place(m))
}

// One that looks around may fit by what others give up elsewhere.
func TestWakeLooksAtWhatDependsOnOtherNodes(t *testing.T) {
	m := machine(t)
	small := m.Run(roomtest.Job("small", "b", 1, 1), "n1")
	m.Run(roomtest.Job("other", "b", 1, 1), "n3")
	alone := roomtest.Job("alone", "a", 1, 8)
	alone.Topology.Exclusive = "rack"
	m.Wait(alone)
	require.Empty(t, place(m), "in each rack somebody runs")
	m.Finished(small)
	require.Equal(t, []string{"alone, fits: n1"}, place(m))
}

func TestAGangOnAFullFleetIsFoundNoPlaceFor(t *testing.T) {
	m := machine(t)
	rep := m.Wait(roomtest.Job("waits", "a", 1, 8))
	m.State.Compile(bucketOf(rep).Shape)
	request := bucketOf(rep).Shape.Request
	taken := false
	require.Equal(t, search.Fits, m.Search.FindAllowed(&request, func() (string, bool) { taken = true; m.Books.LetGo(); return "", true }))
	require.True(t, taken)
	request.Groups = append([]gang.Group(nil), request.Groups...)
	request.Groups[0].Members, request.Groups[0].MinMembers = 5, 5
	require.NotEqual(t, search.Fits, m.Search.FindAllowed(&request, func() (string, bool) { t.Error("nothing was found"); return "", true }))
}
