package spec_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/spec"
)

// A taint has a key and an effect, and a node no two of one key.
func TestTaintsAreChecked(t *testing.T) {
	one := berth.Taint{Key: "a", Value: "b", Effect: berth.TaintNoSchedule}
	require.Nil(t, spec.CheckNode(&berth.Node{ID: "n", Taints: []berth.Taint{one}}, 0, nil))
	for field, taints := range map[string][]berth.Taint{
		"taints[0].key":    {{Effect: berth.TaintNoSchedule}},
		"taints[0].value":  {{Key: "a", Value: "\x00", Effect: berth.TaintNoSchedule}},
		"taints[0].effect": {{Key: "a"}},
		"taints[1]":        {one, {Key: "a", Effect: berth.TaintNoSchedule}},
		"taints":           make([]berth.Taint, 65),
	} {
		refusal := spec.CheckNode(&berth.Node{ID: "n", Taints: taints}, 0, nil)
		require.NotNil(t, refusal, field)
		require.Equal(t, field, refusal.Field)
	}
}
