package berth_test

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/sample"
)

// An event that does not say what it acts on is refused. Read as zero, what it leaves out would be
// the first GPU of a node, or no replicas, or a policy of defaults.
func TestAnEventSaysWhatItActsOn(t *testing.T) {
	for _, c := range []struct{ text, field, reason string }{
		{`{"gpuFailed":{"node":"n1"}}`, "gpuFailed.gpu", "is missing"},
		{`{"gpuFailed":{"node":"n1","gpu":null}}`, "gpuFailed.gpu", "is null"},
		{`{"gpuRepaired":{"node":"n1"}}`, "gpuRepaired.gpu", "is missing"},
		{`{"xidReported":{"node":"n1","xid":79}}`, "xidReported.gpu", "is missing"},
		{`{"xidReported":{"node":"n1","gpu":0}}`, "xidReported.xid", "is missing"},
		{`{"jobScaled":{"job":"serve"}}`, "jobScaled.replicas", "is missing"},
		{`{"policyChanged":{}}`, "policyChanged.policy", "is missing"},
		{`{"policyChanged":{"policy":null}}`, "policyChanged.policy", "is null"},
		{`{"memberFailed":{"job":"train","incarnation":1,"members":[{}]}}`, "memberFailed.members[0].index", "is missing"},
		{`{"memberFailed":{"job":"train","incarnation":1,"members":[null]}}`, "memberFailed.members[0]", "is null"},
		{`{"jobObserved":{"job":{"id":"train","queue":"q","groups":[]},"running":[{"incarnation":1,"members":[]}]}}`, "jobObserved.running[0].started", "is missing"},
	} {
		_, err := berth.DecodeEvent([]byte(c.text))
		requireRefused(t, err, "event", c.field, c.reason)
	}
	e, err := berth.DecodeEvent([]byte(`{"policyChanged":{"policy":{}}}`))
	require.NoError(t, err, "what is zero by default may be left out")
	require.Equal(t, berth.PolicyChanged{}, e)
}

func requireRefused(t *testing.T, err error, what, field, reason string) {
	t.Helper()
	var e *berth.Error
	require.ErrorAs(t, err, &e, field)
	require.ErrorIs(t, err, berth.ErrInvalid)
	require.Equal(t, [3]string{what, field, reason}, [3]string{e.Event, e.Field, e.Reason})
}

// Each field of an event or order that is not marked as one that may be left out, at any depth, is
// always written, and missed where it is not there.
func TestWhatIsLeftOutIsRefused(t *testing.T) {
	missed := map[string]bool{}
	for _, e := range sample.Events() {
		b, err := berth.EncodeEvent(e)
		require.NoError(t, err)
		leaveOut(t, b, e, missed, func(b []byte) error {
			_, err := berth.DecodeEvent(b)
			return err
		})
	}
	for _, o := range sampleOrders() {
		b, err := berth.EncodeOrder(o)
		require.NoError(t, err)
		leaveOut(t, b, o, missed, func(b []byte) error {
			_, err := berth.DecodeOrder(b)
			return err
		})
	}
	for _, kind := range berth.EventKinds() {
		require.True(t, missed["event "+kind] || kind == berth.LedgerSettled{}.Kind(), "%s has nothing that it must have, or no sample in internal/sample", kind)
	}
}

// leaveOut decodes the text of an event or order without each of its fields in turn.
func leaveOut(t *testing.T, b []byte, of interface{ Kind() string }, missed map[string]bool, decode func([]byte) error) {
	t.Helper()
	var text map[string]any
	require.NoError(t, json.Unmarshal(b, &text))
	what := "event"
	if _, isOrder := of.(berth.Order); isOrder {
		what = "order"
	}
	try := func() error {
		b, err := json.Marshal(text)
		require.NoError(t, err)
		return decode(b)
	}
	require.NoError(t, try())
	eachField(text[of.Kind()], reflect.TypeOf(of), of.Kind(), func(object map[string]any, field reflect.StructField, path string) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		was, there := object[name]
		optional := strings.HasPrefix(options, "omit")
		require.True(t, there || optional, "%s is not always written", path)
		if !there {
			return
		}
		defer func() { object[name] = was }()
		delete(object, name)
		if optional {
			require.NoError(t, try(), path)
			return
		}
		missed[what+" "+of.Kind()] = true
		requireRefused(t, try(), what, path, "is missing")
		if kind := field.Type.Kind(); kind != reflect.Slice && kind != reflect.Map && kind != reflect.Pointer {
			object[name] = nil
			requireRefused(t, try(), what, path, "is null")
		}
	})
}

// eachField visits the fields of a value and of those within, as JSON has them.
func eachField(v any, of reflect.Type, path string, visit func(map[string]any, reflect.StructField, string)) {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	p := reflect.PointerTo(of)
	if p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return
	}
	switch v := v.(type) {
	case []any:
		for i := range v {
			eachField(v[i], of.Elem(), fmt.Sprintf("%s[%d]", path, i), visit)
		}
	case map[string]any:
		if of.Kind() != reflect.Struct {
			return // maps have names of their own
		}
		for _, field := range reflect.VisibleFields(of) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if field.Anonymous || name == "" {
				continue
			}
			if inner, there := v[name]; there {
				eachField(inner, field.Type, path+"."+name, visit)
			}
			visit(v, field, path+"."+name)
		}
	}
}
