package berth_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/sample"
	"github.com/berth-sched/berth/quota"
)

// sampleJob uses every field that a job can have.
func sampleJob() berth.Job {
	return berth.Job{
		ID: "train", Queue: "team-a", Tenant: "acme", Class: berth.ClassInteractive, Priority: -3,
		Groups: []berth.Group{
			{Name: "driver", Members: 1, Claim: berth.Claim{CPUMilli: 4000, MemoryMiB: 1024}},
			{
				Name: "workers", Members: 8, MinMembers: 4, Claim: berth.Claim{GPUs: 8, NVLink: true},
				Selector: berth.Selector{
					Pools: []string{"h100"}, Products: []string{"H100-80GB"}, MinGPUMemoryMiB: 1,
					MinComputeCapability: berth.ComputeCapability{Major: 9}, Labels: map[string]string{"zone": "a", "arch": "amd64"},
				},
				Topology: berth.Topology{
					Required: "leaf", Preferred: "leaf", Segments: []berth.Segment{{Size: 4, Level: "leaf"}, {Size: 2, Level: "node"}},
					Balance: "node", Spread: "leaf", MaxSkew: 2, RailAligned: true,
				},
			},
			{Name: "side", Members: 1, Claim: berth.Claim{Share: &berth.Share{Mode: berth.ShareTimeSlice, GPUMilli: 250, MemoryMiB: 4096}}},
		},
		Topology:   berth.Topology{Required: "spine", Exclusive: "leaf"},
		MinRuntime: berth.Minute, ExpectedRuntime: berth.Hour, GangTimeout: berth.Day,
		Checkpoint: berth.Checkpoint{Supported: true, Interval: berth.Hour, Cost: berth.Minute, RestartCost: berth.Second},
	}
}

func sampleEvents() []berth.Event {
	return []berth.Event{
		berth.NodeJoined{Node: sample.Node("n1")},
		berth.NodeUpdated{Node: berth.Node{ID: "n1"}},
		berth.NodeCordoned{Node: "n1", Reason: "fan"},
		berth.NodeUncordoned{Node: "n1"},
		berth.NodeDraining{Node: "n1", Deadline: 7, Reason: "firmware"},
		berth.NodeLost{Node: "n1", Reason: "power"},
		berth.GPUFailed{Node: "n1", GPU: 3, Reason: "xid 79"},
		berth.XidReported{Node: "n1", GPU: 3, Xid: 79, Reason: "in the log"},
		berth.GPURepaired{Node: "n1", GPU: 3},
		berth.QueueSet{Queue: quota.Queue{Name: "team-a", Guarantee: quota.Amounts{quota.GPUMilli: 8000}, Limit: quota.Amounts{quota.CPUMilli: 1}, Weight: 2}},
		berth.QueueRemoved{Queue: "team-a"},
		berth.ReservationSet{Reservation: berth.Reservation{
			ID: "r", From: 5, Until: 9, Queue: "team-a", GPUs: 64, Selector: berth.Selector{Pools: []string{"h100"}}, Required: "leaf", Reason: "demo",
		}},
		berth.ReservationSet{Reservation: berth.Reservation{ID: "s", From: 5, Until: 9, Nodes: []berth.NodeID{"n1"}, Domain: []string{"a"}}},
		berth.ReservationRemoved{Reservation: "r"},
		berth.JobSubmitted{Job: sampleJob()},
		berth.JobObserved{Job: berth.Job{ID: "j", Service: &berth.Service{Replicas: 2}}, Running: []berth.ObservedReplica{{
			Replica: 1, Incarnation: 4, Started: 99,
			Members: []berth.MemberPlacement{{Group: "g", Index: 2, Node: "n", GPUs: berth.GPUSetOf(0, 63), ShareMilli: 5, ShareMemoryMiB: 6}},
		}}},
		berth.JobScaled{Job: "j", Replicas: 0},
		berth.JobCancelled{Job: "j"},
		berth.JobFinished{Job: "j", Incarnation: 1, Failed: true, Reason: "exit 1"},
		berth.MemberFailed{Job: "j", Replica: 2, Incarnation: 1, Members: []berth.MemberRef{{Group: "workers", Index: 7}}, Reason: "oom"},
		berth.CheckpointWritten{Job: "j", Replica: 2, Incarnation: 1, At: 5},
		berth.OrderReported{Order: 7, Outcome: berth.OutcomePartial, Members: []berth.MemberRef{{Index: 1}}, Reason: "no image"},
		berth.PolicyChanged{Policy: berth.Policy{BindTimeout: 1, ReleaseTimeout: 2, ReleaseAttempts: 3, RetryBackoff: 4, MaxRetryBackoff: 5, PassBudget: 6, Locality: berth.LocalityLoose, ReservedGangs: -1}},
	}
}

func sampleActions() []berth.Order {
	order := berth.OrderHeader{ID: 4, At: 5, Deadline: 6, Job: "j", Replica: 1, Incarnation: 2, Cause: berth.Cause{Code: berth.CauseFits, Detail: "d"}}
	members := []berth.MemberPlacement{{Group: "g", Index: 1, Node: "n", GPUs: berth.GPUSetOf(1, 2)}}
	return []berth.Order{
		berth.Bind{OrderHeader: order, Members: members},
		berth.Release{OrderHeader: order, Members: members, Attempt: 2},
		berth.Drop{OrderHeader: order},
	}
}

func TestEventsRoundTrip(t *testing.T) {
	for _, e := range sampleEvents() {
		t.Run(e.Kind(), func(t *testing.T) {
			b, err := berth.EncodeEvent(e)
			require.NoError(t, err)
			require.Contains(t, string(b), `{"`+e.Kind()+`":`)
			back, err := berth.DecodeEvent(b)
			require.NoError(t, err)
			require.Equal(t, e, back)
			again, err := berth.EncodeEvent(back)
			require.NoError(t, err)
			require.Equal(t, string(b), string(again))
		})
	}
}

func TestActionsRoundTrip(t *testing.T) {
	for _, a := range sampleActions() {
		t.Run(a.Kind(), func(t *testing.T) {
			b, err := berth.EncodeOrder(a)
			require.NoError(t, err)
			require.Contains(t, string(b), `{"`+a.Kind()+`":`)
			back, err := berth.DecodeOrder(b)
			require.NoError(t, err)
			require.Equal(t, a, back)
		})
	}
}

// The JSON of journals is a promise: what this test pins may be added to, not
// changed.
func TestJSONIsStable(t *testing.T) {
	for _, c := range []struct {
		event berth.Event
		want  string
	}{
		{berth.GPUFailed{Node: "n1", GPU: 3, Reason: "xid 79"}, `{"gpuFailed":{"node":"n1","gpu":3,"reason":"xid 79"}}`},
		{
			berth.JobSubmitted{Job: berth.Job{ID: "a", Queue: "q", Class: berth.ClassLatencyCritical, Groups: []berth.Group{{Members: 2, Claim: berth.Claim{GPUs: 8}}}}},
			`{"jobSubmitted":{"job":{"id":"a","queue":"q","class":"latency-critical","groups":[{"members":2,"claim":{"gpus":8}}]}}}`,
		},
		{berth.CheckpointWritten{Job: "j", Incarnation: 1, At: 5}, `{"checkpointWritten":{"job":"j","incarnation":1,"at":5}}`},
		{berth.OrderReported{Order: 9, Outcome: berth.OutcomeDone}, `{"orderReported":{"order":9,"outcome":"done"}}`},
	} {
		b, err := berth.EncodeEvent(c.event)
		require.NoError(t, err)
		require.Equal(t, c.want, string(b))
	}
	b, err := berth.EncodeOrder(sampleActions()[0])
	require.NoError(t, err)
	require.Equal(t, `{"bind":{"id":4,"at":5,"deadline":6,"job":"j","replica":1,"incarnation":2,"cause":{"code":"fits","detail":"d"},`+
		`"members":[{"group":"g","index":1,"node":"n","gpus":[1,2]}]}}`, string(b))
}

func TestDecodingIsStrict(t *testing.T) {
	for _, c := range []struct{ name, in, field, reason string }{
		{"nothing", ``, "", "ends before"},
		{"not JSON", `{"nodeLost"`, "", "ends before"},
		{"cut short", `{"nodeLost":{"node":"n`, "", "ends before"},
		{"garbage", `nodeLost`, "", "not JSON"},
		{"null", `null`, "", "0 kinds"},
		{"no kind", `{}`, "", "0 kinds"},
		{"unknown kind", `{"nodeMelted":{}}`, "nodeMelted", "not a known field"},
		{"two kinds", `{"nodeLost":{"node":"n"},"nodeUncordoned":{"node":"n"}}`, "", "2 kinds"},
		{"unknown field", `{"nodeLost":{"node":"n","why":"x"}}`, "why", "not a known field"},
		{"wrong type", `{"gpuFailed":{"node":"n","gpu":"three"}}`, "gpuFailed.gpu", "cannot be"},
		{"fraction", `{"gpuFailed":{"node":"n","gpu":1.5}}`, "gpuFailed.gpu", "cannot be"},
		{"unknown class", `{"jobSubmitted":{"job":{"class":"royal"}}}`, "class", "none of"},
		{"GPU out of range", `{"jobObserved":{"running":[{"members":[{"gpus":[64]}]}]}}`, "gpus", "64"},
		{"doubled GPU", `{"jobObserved":{"running":[{"members":[{"gpus":[1,1]}]}]}}`, "gpus", "1"},
		{"bad capability", `{"nodeJoined":{"node":{"gpus":[{"computeCapability":"9"}]}}}`, "computeCapability", "9"},
		{"trailing", `{"nodeLost":{"node":"n"}} {}`, "", "after its end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := berth.DecodeEvent([]byte(c.in))
			var e *berth.Error
			require.ErrorAs(t, err, &e)
			require.ErrorIs(t, err, berth.ErrInvalid)
			require.Equal(t, "event", e.Event)
			require.Equal(t, c.field, e.Field)
			require.Contains(t, e.Reason, c.reason)
		})
	}
}

func TestEncodeRefusesStrangers(t *testing.T) {
	_, err := berth.EncodeEvent(nil)
	require.ErrorIs(t, err, berth.ErrInvalid)
	_, err = berth.EncodeEvent(&berth.NodeLost{Node: "n"})
	require.ErrorIs(t, err, berth.ErrInvalid)
	_, err = berth.EncodeOrder(nil)
	require.ErrorIs(t, err, berth.ErrInvalid)
}

func FuzzDecodeEvent(f *testing.F) {
	for _, e := range sampleEvents() {
		b, _ := berth.EncodeEvent(e)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := berth.DecodeEvent(b)
		if err != nil {
			require.True(t, sample.Complete(err), "%#v", err)
			return
		}
		once, err := berth.EncodeEvent(e)
		require.NoError(t, err)
		back, err := berth.DecodeEvent(once)
		require.NoError(t, err)
		twice, err := berth.EncodeEvent(back)
		require.NoError(t, err)
		require.Equal(t, string(once), string(twice))
	})
}

func FuzzDecodeAction(f *testing.F) {
	for _, a := range sampleActions() {
		b, _ := berth.EncodeOrder(a)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := berth.DecodeOrder(b)
		if err != nil {
			require.True(t, sample.Complete(err), "%#v", err)
			return
		}
		once, err := berth.EncodeOrder(a)
		require.NoError(t, err)
		back, err := berth.DecodeOrder(once)
		require.NoError(t, err)
		require.Equal(t, a, back)
	})
}

func FuzzDecodeConfig(f *testing.F) {
	b, _ := json.Marshal(berth.Config{Levels: []string{"spine"}, Policy: berth.Policy{BindTimeout: 1}})
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		config, err := berth.DecodeConfig(b)
		if err == nil {
			_, err = core.New(config)
			require.NoError(t, err)
			return
		}
		require.True(t, sample.Complete(err), "%#v", err)
	})
}
