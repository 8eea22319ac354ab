package core_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/quota"
)

var writeReleased = flag.Bool("released", false, "write the snapshot of this version, if there is none")

// oldestSnapshot is the first version of snapshots that is read.
const oldestSnapshot = 2

// TestReadsSnapshotsOfEveryVersion restores the committed snapshot of every version that was
// ever released. A file of testdata is never written again: what reads it is mended.
func TestReadsSnapshotsOfEveryVersion(t *testing.T) {
	released := snapshotOf(t, releasedCore(t))
	present := versionOf(t, released)
	writeOnce(t, releasedName(present), released)
	for version := oldestSnapshot; version <= present; version++ {
		text, err := os.ReadFile(releasedName(version))
		require.NoError(t, err, "go test ./core -run EveryVersion -released")
		require.Equal(t, version, versionOf(t, text))
		sched, err := core.Restore(text)
		require.NoError(t, err, "version %d", version)
		requireReleased(t, sched)
	}
}

// TestReadsDemandOfEveryVersion: what is in demand comes back from every version as the same.
func TestReadsDemandOfEveryVersion(t *testing.T) {
	released := snapshotOf(t, demandedCore(t))
	present := versionOf(t, released)
	name := func(version int) string {
		return filepath.Join("testdata", fmt.Sprintf("snapshot-v%d-demand.json", version))
	}
	writeOnce(t, name(present), released)
	want := ""
	for version := present; version >= oldestSnapshot; version-- {
		text, err := os.ReadFile(name(version))
		require.NoError(t, err, "go test ./core -run EveryVersion -released")
		require.Equal(t, version, versionOf(t, text))
		sched, err := core.Restore(text)
		require.NoError(t, err, "version %d", version)
		require.NoError(t, sched.Check())
		got := string(snapshotOf(t, sched))
		if version == present {
			want = got
		}
		require.Equal(t, want, got, "version %d", version)
	}
}

// TestRefusesWhatVersion2CannotHave, by its field, as the present version would be.
func TestRefusesWhatVersion2CannotHave(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "snapshot-v2-demand.json"))
	require.NoError(t, err)
	for _, c := range []struct{ from, to, field string }{
		{`"prices":[`, `"prices":[7,`, "demand.prices"},
		{`"free":[`, `"free":[7,`, "demand.free"},
		{`"free":[`, `"free":[-`, `demand.free["gpuMilli"]`},
		{`"recent":[`, `"recent":[7,`, "tables[0].recent"},
		{`"recent":[`, `"recent":["`, ""},
		{`"recent":[`, `"latest":[`, "tables[0].latest"},
		{`"lastOrder":`, `"lastOrder":1,"lastOrder":`, "lastOrder"},
	} {
		require.Contains(t, string(text), c.from)
		_, err := core.Restore([]byte(strings.Replace(string(text), c.from, c.to, 1)))
		var refused *berth.Error
		require.ErrorAs(t, err, &refused, c.to)
		require.Equal(t, "snapshot", refused.Event)
		require.Equal(t, c.field, refused.Field, c.to)
	}
}

// TestRefusesSnapshotsBeforeTheFirstRelease by their version, not by a field that it does not know.
func TestRefusesSnapshotsBeforeTheFirstRelease(t *testing.T) {
	text, err := os.ReadFile(releasedName(1))
	require.NoError(t, err)
	_, err = core.Restore(text)
	require.ErrorIs(t, err, berth.ErrUnsupported)
	var refused *berth.Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "version", refused.Field)
}

func releasedName(version int) string {
	return filepath.Join("testdata", fmt.Sprintf("snapshot-v%d.json", version))
}

// releasedCore is a core with a bit of everything: a gang that runs, an order that is out, a job
// that waits, a divided GPU, a reservation, a drain and a policy.
func releasedCore(t *testing.T) *core.Core {
	t.Helper()
	sched, err := core.New(berth.Config{Levels: []string{"leaf"}, Ledger: true})
	require.NoError(t, err)
	guarantee := quota.Amounts{quota.GPUMilli: 8_000}
	mustApply(
		sched, 0, hgx("n1"), hgx("n2"), hgx("n3"),
		berth.QueueSet{Queue: quota.Queue{Name: "research", Guarantee: guarantee}},
		berth.PolicyChanged{Policy: berth.Policy{
			UsageHalfLife: berth.Day,
			Geometry:      []berth.Geometry{{Kind: berth.GeometryAdaptive}},
			Preemption:    berth.Preemption{RateLimit: berth.RateLimit{Evictions: 4, Per: berth.Hour}},
		}},
		berth.GPUPartitioned{Node: "n3", GPU: 0, Mode: berth.GPUModeMIG},
		training("llm", 2),
	)
	bind := onlyOrder(t, sched, 0)
	mustApply(
		sched, 1000, berth.OrderReported{Order: bind, Outcome: berth.OutcomeDone},
		berth.NodeDraining{Node: "n2", Deadline: berth.Time(berth.Day)},
		berth.ReservationSet{Reservation: berth.Reservation{
			ID: "launch", From: berth.Time(berth.Hour), Until: berth.Time(2 * berth.Hour), Nodes: []berth.NodeID{"n1"},
		}},
		training("more", 2),
		berth.JobSubmitted{Job: berth.Job{
			ID: "one", Queue: "research", Class: berth.ClassInteractive,
			Groups: []berth.Group{{Members: 1, Claim: berth.Claim{GPUs: 1}}},
		}},
	)
	onlyOrder(t, sched, 2000)
	return sched
}

// demandedCore has been asked for gangs and shares, and has given an instance.
func demandedCore(t *testing.T) *core.Core {
	t.Helper()
	sched, err := core.New(berth.Config{Levels: []string{"leaf"}})
	require.NoError(t, err)
	divided := hgx("n2").(berth.NodeJoined)
	divided.Node.GPUs[0].Mode = berth.GPUModeMIG
	for _, text := range []string{"1g.10gb@0:1", "2g.20gb@2:2"} {
		instance, err := mig.ParsePlacement(text)
		require.NoError(t, err)
		divided.Node.GPUs[0].Instances = append(divided.Node.GPUs[0].Instances, instance)
	}
	mustApply(sched, 0, hgx("n1"), divided, hgx("n3"), hgx("n4"), berth.QueueSet{Queue: quota.Queue{Name: "research"}})
	for i := range 40 {
		claim := berth.SharedGPU(berth.ShareMPS, 250).WithHost(1000, 1024)
		if i%4 == 0 {
			claim = berth.WholeGPUs(2)
		}
		id := berth.JobID(fmt.Sprintf("asked-%d", i))
		mustApply(sched, 0, berth.JobSubmitted{Job: berth.Job{ID: id, Queue: "research", Groups: []berth.Group{{Members: 1, Claim: claim}}}}, berth.JobCancelled{Job: id})
	}
	for now, claim := range []berth.Claim{{MIG: "1g.10gb"}, berth.WholeGPUs(1), berth.WholeGPUs(1).WithHost(4000, 2048)} {
		mustApply(sched, berth.Time(now), berth.JobSubmitted{Job: berth.Job{
			ID: berth.JobID(fmt.Sprintf("job-%d", now)), Queue: "research", Groups: []berth.Group{{Members: 1, Claim: claim}},
		}})
		onlyOrder(t, sched, berth.Time(now))
	}
	_, err = sched.Schedule(berth.Time(berth.Minute))
	require.NoError(t, err)
	return sched
}

// writeOnce writes the snapshot of a version, if it is to be written and there is none.
func writeOnce(t *testing.T, name string, snapshot []byte) {
	t.Helper()
	if _, err := os.Stat(name); *writeReleased && err != nil {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(name, snapshot, 0o644))
	}
}

func requireReleased(t *testing.T, sched *core.Core) {
	t.Helper()
	require.NoError(t, sched.Check())
	require.Equal(t, berth.Time(2000), sched.Now())
	require.Equal(t, []berth.JobID{"llm", "more", "one"}, sched.JobIDs())
	require.Equal(t, berth.Day, sched.Config().Policy.UsageHalfLife)
	for id, want := range map[berth.JobID]berth.ReplicaState{
		"llm": berth.ReplicaRunning, "more": berth.ReplicaPending, "one": berth.ReplicaBinding,
	} {
		e, err := sched.Explain(id)
		require.NoError(t, err)
		require.Equal(t, want, e.Replicas[0].State, id)
	}
	report := sched.Report()
	require.Equal(t, berth.NodeID("n2"), report.Draining[0].Node)
	require.Equal(t, berth.ReservationID("launch"), report.Reservations[0].ID)
	out := sched.Outstanding()
	require.Len(t, out, 1)
	mustApply(sched, 3000, berth.OrderReported{Order: out[0].Header().ID, Outcome: berth.OutcomeDone})
	_, err := sched.Schedule(3000)
	require.NoError(t, err)
}

// onlyOrder runs a pass that gives one order, a Bind, and returns its ID.
func onlyOrder(t *testing.T, sched *core.Core, now berth.Time) berth.OrderID {
	t.Helper()
	orders, err := sched.Schedule(now)
	require.NoError(t, err)
	require.Len(t, orders, 1)
	require.IsType(t, berth.Bind{}, orders[0])
	return orders[0].Header().ID
}

func snapshotOf(t *testing.T, sched *core.Core) []byte {
	t.Helper()
	text, err := sched.Snapshot()
	require.NoError(t, err)
	return text
}

func versionOf(t *testing.T, snapshot []byte) int {
	t.Helper()
	var head struct{ Version int }
	require.NoError(t, json.Unmarshal(snapshot, &head))
	return head.Version
}
