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

func sampleOrders() []berth.Order {
	order := berth.OrderHeader{ID: 4, At: 5, Deadline: 6, Job: "j", Replica: 1, Incarnation: 2, Cause: berth.Cause{Code: berth.CauseFits, Detail: "d"}}
	members := []berth.MemberPlacement{{Group: "g", Index: 1, Node: "n", GPUs: berth.GPUSetOf(1, 2)}}
	return []berth.Order{
		berth.Bind{OrderHeader: order, Members: members},
		berth.Release{OrderHeader: order, Members: members, Attempt: 2},
		berth.Repartition{OrderHeader: order, Node: "n", GPU: 1, Mode: berth.GPUModeMPS},
		berth.RequestCheckpoint{OrderHeader: order, Members: members},
		berth.Withdraw{OrderHeader: order, Request: 3},
		berth.Drop{OrderHeader: order},
		berth.WarnIdle{OrderHeader: order, Since: 4, ActiveMilli: 20, Until: 9, Action: berth.IdleStop},
	}
}

func TestEventsRoundTrip(t *testing.T) {
	for _, e := range sample.Events() {
		t.Run(e.Kind(), func(t *testing.T) {
			b, err := berth.EncodeEvent(e)
			require.NoError(t, err)
			want, err := json.Marshal(map[string]berth.Event{e.Kind(): e})
			require.NoError(t, err)
			require.Equal(t, string(want), string(b))
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
	for _, a := range sampleOrders() {
		t.Run(a.Kind(), func(t *testing.T) {
			b, err := berth.EncodeOrder(a)
			require.NoError(t, err)
			want, err := json.Marshal(map[string]berth.Order{a.Kind(): a})
			require.NoError(t, err)
			require.Equal(t, string(want), string(b))
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
	b, err := berth.EncodeOrder(sampleOrders()[0])
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
		{"unknown field", `{"nodeLost":{"node":"n","why":"x"}}`, "nodeLost.why", "not a known field"},
		{"wrong type", `{"gpuFailed":{"node":"n","gpu":"three"}}`, "gpuFailed.gpu", "cannot be"},
		{"fraction", `{"gpuFailed":{"node":"n","gpu":1.5}}`, "gpuFailed.gpu", "cannot be"},
		{"unknown class", `{"jobSubmitted":{"job":{"class":"royal"}}}`, "jobSubmitted.job.class", "none of"},
		{"GPU out of range", `{"jobObserved":{"running":[{"members":[{"gpus":[64]}]}]}}`, "jobObserved.running[0].members[0].gpus", "64"},
		{"doubled GPU", `{"jobObserved":{"running":[{"members":[{"gpus":[1,1]}]}]}}`, "jobObserved.running[0].members[0].gpus", "1"},
		{"bad capability", `{"nodeJoined":{"node":{"gpus":[{"computeCapability":"9"}]}}}`, "nodeJoined.node.gpus[0].computeCapability", "9"},
		{"an unknown key deep inside", `{"jobSubmitted":{"job":{"groups":[{"members":1,"claim":{}},{"members":1,"claim":{"gpu":8}}]}}}`, "jobSubmitted.job.groups[1].claim.gpu", `did you mean "gpus"?`},
		{"a key in capitals", `{"jobSubmitted":{"job":{"Queue":"q"}}}`, "jobSubmitted.job.Queue", `did you mean "queue"?`},
		{"a kind in capitals", `{"NodeLost":{}}`, "NodeLost", `did you mean "nodeLost"?`},
		{"a kind misspelt", `{"nodeLots":{}}`, "nodeLots", `did you mean "nodeLost"?`},
		{"a key twice", `{"jobSubmitted":{"job":{"groups":[{"members":1,"members":2}]}}}`, "jobSubmitted.job.groups[0].members", "comes twice"},
		{"a kind twice", `{"nodeLost":{"node":"a"},"nodeLost":{"node":"b"}}`, "nodeLost", "comes twice"},
		{"a label twice", `{"nodeJoined":{"node":{"labels":{"zone":"a","zone":"b"}}}}`, `nodeJoined.node.labels["zone"]`, "comes twice"},
		{"no UTF-8", "{\"nodeLost\":{\"node\":\"\xff\"}}", "nodeLost.node", "not UTF-8"},
		{"a key that is not UTF-8", "{\"nodeJoined\":{\"node\":{\"labels\":{\"\xff\":\"\"}}}}", `nodeJoined.node.labels["\xff"]`, "not UTF-8"},
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
	for _, e := range sample.Events() {
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
	for _, a := range sampleOrders() {
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

// fuzzDecoder: any bytes give a typed error, or a value that its JSON gives again.
func fuzzDecoder[V any](f *testing.F, decode func([]byte) (V, error), samples ...V) {
	for _, v := range samples {
		b, err := json.Marshal(v)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := decode(b)
		if err != nil {
			require.True(t, sample.Complete(err), "%#v", err)
			return
		}
		once, err := json.Marshal(v)
		require.NoError(t, err)
		back, err := decode(once)
		require.NoError(t, err)
		twice, err := json.Marshal(back)
		require.NoError(t, err)
		require.Equal(t, string(once), string(twice))
	})
}

func FuzzDecodeJob(f *testing.F)  { fuzzDecoder(f, berth.DecodeJob, sample.Job()) }
func FuzzDecodeNode(f *testing.F) { fuzzDecoder(f, berth.DecodeNode, sample.Node("n")) }

func FuzzDecodeQueue(f *testing.F) {
	fuzzDecoder(f, berth.DecodeQueue, quota.Queue{Name: "team-a", Parent: "org", Guarantee: quota.Amounts{quota.GPUMilli: 8000}, Weight: 2})
}

func FuzzDecodePolicy(f *testing.F) {
	fuzzDecoder(f, berth.DecodePolicy, berth.Policy{}, berth.Policy{}.WithDefaults())
}

// What is written by hand is read by itself, and refused by the path within it.
func TestDecodersOfWhatIsWrittenByHand(t *testing.T) {
	decoders := map[string]func([]byte) (any, error){
		"job":    func(b []byte) (any, error) { return berth.DecodeJob(b) },
		"node":   func(b []byte) (any, error) { return berth.DecodeNode(b) },
		"queue":  func(b []byte) (any, error) { return berth.DecodeQueue(b) },
		"policy": func(b []byte) (any, error) { return berth.DecodePolicy(b) },
		"config": func(b []byte) (any, error) { return berth.DecodeConfig(b) },
	}
	for what, v := range map[string]any{
		"job": sample.Job(), "node": sample.Node("n"), "queue": quota.Queue{Name: "team-a", Limit: quota.Amounts{quota.GPUMilli: 8000}},
		"policy": berth.Policy{}.WithDefaults(), "config": berth.Config{Levels: []string{"leaf"}, Policy: berth.Policy{}.WithDefaults()},
	} {
		b, err := json.Marshal(v)
		require.NoError(t, err)
		back, err := decoders[what](b)
		require.NoError(t, err)
		require.Equal(t, v, back)
	}
	for _, c := range []struct{ what, in, field, reason string }{
		{"job", `{"groups":[{"claim":{"gpu":8}}]}`, "groups[0].claim.gpu", `is not a known field; did you mean "gpus"?`},
		{"job", `{"id":"a","Queue":"b"}`, "Queue", `is not a known field; did you mean "queue"?`},
		{"job", `{"class":"royal"}`, "class", "royal"},
		{"node", `{"gpus":[{},{"memoryMB":80}]}`, "gpus[1].memoryMB", `is not a known field; did you mean "memoryMiB"?`},
		{"node", `{"labels":{"a":"1","a":"2"}}`, `labels["a"]`, "comes twice"},
		{"queue", `{"name":"a","guarantees":{}}`, "guarantees", `is not a known field; did you mean "guarantee"?`},
		{"queue", `{"guarantee":{"gpuMilli":1.5}}`, `guarantee["gpuMilli"]`, "cannot be a JSON number 1.5"},
		{"policy", `{"passBudget":-1}`, "passBudget", "is negative"},
		{"policy", `{"locality":"tight"}`, "locality", "tight"},
		{"config", `{"limits":{"nodes":-1}}`, "limits.nodes", "outside"},
		{"config", `{} {}`, "", "has something after its end"},
	} {
		_, err := decoders[c.what]([]byte(c.in))
		var e *berth.Error
		require.ErrorAs(t, err, &e, c.in)
		require.ErrorIs(t, err, berth.ErrInvalid)
		require.Equal(t, c.what, e.Event)
		require.Equal(t, c.field, e.Field, c.in)
		require.Contains(t, e.Reason, c.reason, c.in)
	}
}
