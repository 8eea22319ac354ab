package berth_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/hostile"
	"github.com/berth-sched/berth/internal/sample"
	"github.com/berth-sched/berth/quota"
)

// hostileText is the length of the texts below: what a short one may fill does not count for much.
const hostileText = 50_000

// decodes feeds a decoder with texts in which one list or map of a type has many short elements.
func decodes[V any](t *testing.T, of reflect.Type, begin, end string, decode func([]byte) (V, error)) {
	t.Helper()
	for _, text := range hostile.Texts(of, hostileText) {
		hostile.Bounded(t, begin+text.Path, begin+text.JSON+end, 128<<10, func(input string) {
			if _, err := decode([]byte(input)); err != nil {
				require.ErrorAs(t, err, new(*berth.Error))
			}
		})
	}
}

// What a decoder allocates is bounded by the length of its text, whatever list or map in it has
// however short elements. Texts that come to more are refused.
func TestHostileTextsCostLittle(t *testing.T) {
	decodes(t, reflect.TypeFor[berth.Job](), "", "", berth.DecodeJob)
	decodes(t, reflect.TypeFor[berth.Node](), "", "", berth.DecodeNode)
	decodes(t, reflect.TypeFor[quota.Queue](), "", "", berth.DecodeQueue)
	decodes(t, reflect.TypeFor[berth.Config](), "", "", berth.DecodeConfig)
	decodes(t, reflect.TypeFor[berth.Policy](), "", "", berth.DecodePolicy)
	for _, e := range sample.Events() {
		decodes(t, reflect.TypeOf(e), `{"`+e.Kind()+`":`, "}", berth.DecodeEvent)
	}
	for _, o := range sampleOrders() {
		decodes(t, reflect.TypeOf(o), `{"`+o.Kind()+`":`, "}", berth.DecodeOrder)
	}
	decodes(t, reflect.TypeFor[map[string]int](), "", "", berth.DecodeEvent)
}

// A text that comes to too much is refused by the limit, at the element with which it does.
func TestATextThatFillsTooMuchIsRefusedByTheLimit(t *testing.T) {
	for text, decode := range map[string]func([]byte) error{
		hostile.List(`{"groups":[`, "{}", 10_000, "]}"):                                                        func(b []byte) error { _, err := berth.DecodeJob(b); return err },
		hostile.List(`{"jobSubmitted":{"job":{"id":"","queue":"","groups":[`, `{"members":0}`, 10_000, "]}}}"): func(b []byte) error { _, err := berth.DecodeEvent(b); return err },
	} {
		err := decode([]byte(text))
		var refusal *berth.Error
		require.ErrorAs(t, err, &refusal)
		require.ErrorIs(t, err, berth.ErrLimit)
		require.Regexp(t, `groups\[\d+\]`, refusal.Field)
		require.Contains(t, refusal.Reason, "more than the text may fill")
	}
}
