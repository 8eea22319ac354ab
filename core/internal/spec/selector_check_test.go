package spec_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/spec"
)

// A toleration that matches nothing, or says what it does not mean, is refused with the path of the
// field.
func TestTolerationsAreChecked(t *testing.T) {
	for _, right := range []berth.Toleration{
		{Key: "dedicated"},
		{Key: "dedicated", Value: "ml", Effect: berth.TaintNoSchedule},
		{Key: "dedicated", Operator: berth.TolerationExists, Effect: berth.TaintNoSchedule},
		{Operator: berth.TolerationExists},
	} {
		require.Nil(t, spec.CheckSelector(&berth.Selector{Tolerations: []berth.Toleration{right}}))
	}
	for field, list := range map[string][]berth.Toleration{
		"tolerations[0].key":      {{Value: "b"}},
		"tolerations[1].value":    {{Key: "a"}, {Key: "a", Operator: berth.TolerationExists, Value: "b"}},
		"tolerations[0].operator": {{Key: "a", Operator: 2}},
		"tolerations[0].effect":   {{Key: "a", Effect: 2}},
		"tolerations":             make([]berth.Toleration, 65),
	} {
		refusal := spec.CheckSelector(&berth.Selector{Tolerations: list})
		require.NotNil(t, refusal, field)
		require.Equal(t, field, refusal.Field)
	}
}
