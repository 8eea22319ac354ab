package core_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/quota"
)

// newDeadCore has a gang all of whose members died, which no pass has seen yet, one that backs off
// and whose place is kept, and an elastic one of which one member died.
func newDeadCore(t *testing.T) *core.Core {
	d := fleetOf(t, "n1", "n2", "n3", "n4", "n5", "n6")
	for _, id := range []berth.JobID{"kept", "dead"} {
		d.runs(one("q", id, 8, members(2)))
	}
	d.runs(one("q", "short", 8, members(2), func(j *berth.Job) { j.Groups[0].MinMembers = 1 }))
	d.now = d.now.Add(berth.Hour)
	both := []berth.MemberRef{{Index: 0}, {Index: 1}}
	d.tell(berth.MemberFailed{Job: "kept", Incarnation: 1, Members: both})
	d.tell(berth.MemberFailed{Job: "short", Incarnation: 1, Members: both[1:]})
	require.Empty(t, d.pass())
	d.tell(berth.MemberFailed{Job: "dead", Incarnation: 1, Members: both, Fault: berth.FaultNode})
	return d.Core
}

// Where members stood that died is restored if the gang has such members, each once, and if it
// backs off or is being released.
func TestRestoreRefusesWhereNobodyStood(t *testing.T) {
	saved, err := newDeadCore(t).Snapshot()
	require.NoError(t, err)
	for _, test := range []struct{ name, field, before, after string }{
		{"a member that there is not", "stood[0]", `"stood":[{"index":0`, `"stood":[{"index":2`},
		{"twice", "stood[1]", `"stood":[{"index":0`, `"stood":[{"index":0,"node":"n1","gpus":[]},{"index":0`},
		{"a node without a name", "stood[0].node", `"stood":[{"index":0,"node":"n`, `"stood":[{"index":0,"node":"\u0007`},
		{"no backoff", "stood", `"readyAt":`, `"bidAt":`},
		{"a counter below zero", "attempts", `"stood":`, `"crashes":-1,"stood":`},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.True(t, bytes.Contains(saved, []byte(test.before)), "the test changes nothing: %s", saved)
			_, err := core.Restore(bytes.Replace(saved, []byte(test.before), []byte(test.after), 1))
			var refused *berth.Error
			require.ErrorAs(t, err, &refused)
			require.Contains(t, refused.Field, test.field)
		})
	}
}

// A fault that is none is refused, and changes nothing.
func TestR2_AFaultThatIsNone(t *testing.T) {
	d := fleetOf(t, "n1")
	d.runs(one("q", "a", 8))
	before, err := d.Snapshot()
	require.NoError(t, err)
	err = d.Apply(d.now, berth.MemberFailed{Job: "a", Incarnation: 1, Members: []berth.MemberRef{{}}, Fault: berth.FaultNode + 1})
	var refused *berth.Error
	require.ErrorAs(t, err, &refused)
	require.ErrorIs(t, err, berth.ErrInvalid)
	require.Equal(t, "fault", refused.Field)
	after, err := d.Snapshot()
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
}

// However many gangs fail in one moment, the next pass keeps the places of all of them, before it
// gives what is free to others: to stand where they stood takes no search, of which a pass makes so
// many.
func TestAllGangsThatFailTogetherKeepTheirPlaces(t *testing.T) {
	d := fleetOf(t, "n1", "n2", "n3")
	d.lower(func(b *core.Bounds) { b.Moves = 1 })
	gangs := []berth.JobID{"first", "second", "third"}
	for _, id := range gangs {
		d.runs(one("q", id, 8))
	}
	d.tell(one("q", "waits", 8))
	require.Empty(t, d.pass())
	d.now = d.now.Add(berth.Hour)
	for _, id := range gangs {
		d.tell(berth.MemberFailed{Job: id, Incarnation: 1, Members: []berth.MemberRef{{}}})
	}
	require.Empty(t, d.pass())
	require.Zero(t, d.passesToRest())
	d.now, _ = d.NextWake()
	require.Equal(t, []string{"bind first resumed", "bind second resumed", "bind third resumed"}, told(d.pass()))
}

// A gang comes back to where it stood, whichever of its members die and in however many reports,
// as long as too few are left. What waits meanwhile, and does not rank above it, gets nothing of
// its place. The gangs are of one group or of two, and may be elastic.
func TestAGangComesBackToWhereItStood(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		sched, err := core.New(berth.Config{})
		require.NoError(t, err)
		now := berth.Time(0)
		tell := func(e berth.Event) error { return sched.Apply(now, e) }
		pass := func() []berth.Order {
			orders, err := sched.Schedule(now)
			require.NoError(t, err)
			require.NoError(t, sched.Check())
			return orders
		}
		require.NoError(t, tell(berth.QueueSet{Queue: quota.Queue{Name: "q"}}))
		for i := range rapid.IntRange(1, 4).Draw(t, "nodes") {
			gpus := make([]berth.GPU, 2)
			gpus[0].Product, gpus[1].Product = "H100", "H100"
			require.NoError(t, tell(berth.NodeJoined{Node: berth.Node{ID: berth.NodeID(fmt.Sprint("n", i)), GPUs: gpus}}))
		}
		gang := berth.Job{ID: "gang", Queue: "q"}
		for i := range rapid.IntRange(1, 2).Draw(t, "groups") {
			g := berth.Group{Name: fmt.Sprint("g", i), Members: rapid.IntRange(1, 3).Draw(t, "members"), Claim: berth.Claim{GPUs: 1}}
			g.MinMembers = rapid.IntRange(1, g.Members).Draw(t, "minimum")
			gang.Groups = append(gang.Groups, g)
		}
		require.NoError(t, tell(berth.JobSubmitted{Job: gang}))
		if len(pass()) == 0 {
			return // it does not fit
		}
		require.NoError(t, tell(berth.OrderReported{Order: 1, Outcome: berth.OutcomeDone}))
		ran, err := sched.Explain("gang")
		require.NoError(t, err)
		stood := ran.Replicas[0].Members
		now = now.Add(berth.Hour)
		die := rapid.Permutation(stood).Draw(t, "die")
		for i := range rapid.IntRange(0, 3).Draw(t, "others") {
			require.NoError(t, tell(berth.JobSubmitted{Job: berth.Job{ID: berth.JobID(fmt.Sprint("other", i)), Queue: "q", Groups: []berth.Group{{Members: 1, Claim: berth.Claim{GPUs: 1}}}}}))
		}
		for len(die) > 0 {
			many := rapid.IntRange(1, len(die)).Draw(t, "many")
			e := berth.MemberFailed{Job: "gang", Incarnation: 1}
			for _, at := range die[:many] {
				e.Members = append(e.Members, at.Ref())
			}
			die = die[many:]
			require.NoError(t, tell(e))
			if at, _ := sched.Explain("gang"); at.Replicas[0].State != berth.ReplicaRunning {
				break // the reports to come are late
			}
		}
		if at, _ := sched.Explain("gang"); at.Replicas[0].State == berth.ReplicaRunning {
			return
		}
		for range 3 { // the Release, its report, the end of the backoff
			for _, order := range pass() {
				require.NoError(t, tell(berth.OrderReported{Order: order.Header().ID, Outcome: berth.OutcomeDone}))
			}
			now = now.Add(5 * berth.Second)
		}
		back, err := sched.Explain("gang")
		require.NoError(t, err)
		require.Equal(t, berth.ReplicaRunning, back.Replicas[0].State)
		require.Equal(t, berth.Incarnation(2), back.Replicas[0].Incarnation)
		for _, at := range stood {
			require.Contains(t, places(back.Replicas[0].Members), place{at.Group, at.Node, at.GPUs})
		}
	})
}

// A place is where a member of a group is, whichever it is.
type place struct {
	group string
	node  berth.NodeID
	gpus  berth.GPUSet
}

func places(list []berth.MemberPlacement) []place {
	var out []place
	for _, at := range list {
		out = append(out, place{at.Group, at.Node, at.GPUs})
	}
	return out
}
