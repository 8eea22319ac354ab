package berth_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
)

func ExampleTaint_String() {
	fmt.Println(berth.Taint{Key: "dedicated", Value: "ml", Effect: berth.TaintNoSchedule})
	fmt.Println(berth.Taint{Key: "spot", Effect: berth.TaintNoSchedule})
	// Output:
	// dedicated=ml:NoSchedule
	// spot:NoSchedule
}

// The rules of Kubernetes ("Taints and Tolerations"), each row with the texts of its API.
func TestTolerates(t *testing.T) {
	taint := berth.Taint{Key: "dedicated", Value: "ml", Effect: berth.TaintNoSchedule}
	for text, want := range map[string]bool{
		`{"key":"dedicated","value":"ml"}`:                                          true,
		`{"key":"dedicated","operator":"Equal","value":"ml","effect":"NoSchedule"}`: true,
		`{"key":"dedicated","operator":"Exists"}`:                                   true,
		`{"key":"dedicated","operator":"Exists","effect":"NoSchedule"}`:             true,
		`{"operator":"Exists"}`:                                                     true,
		`{"operator":"Exists","effect":"NoSchedule"}`:                               true,
		`{"key":"dedicated"}`:                                                       false,
		`{"key":"dedicated","value":"web"}`:                                         false,
		`{"key":"dedicate","operator":"Exists"}`:                                    false,
		`{"key":"spot","value":"ml"}`:                                               false,
	} {
		var toleration berth.Toleration
		require.NoError(t, json.Unmarshal([]byte(text), &toleration))
		require.Equal(t, want, toleration.Tolerates(&taint), text)
		selector := berth.Selector{Tolerations: []berth.Toleration{toleration}}
		require.NoError(t, selector.Check(), text)
	}
}

// What matches nothing, or says what it does not mean, is refused with the path of the field.
func TestTolerationsAreChecked(t *testing.T) {
	selector := func(list ...berth.Toleration) error { return (&berth.Selector{Tolerations: list}).Check() }
	for field, err := range map[string]error{
		"tolerations[0].key":      selector(berth.Toleration{Value: "b"}),
		"tolerations[1].value":    selector(berth.Toleration{Key: "a"}, berth.Toleration{Key: "a", Operator: berth.TolerationExists, Value: "b"}),
		"tolerations[0].operator": selector(berth.Toleration{Key: "a", Operator: 2}),
		"tolerations[0].effect":   selector(berth.Toleration{Key: "a", Effect: 2}),
		"tolerations":             selector(make([]berth.Toleration, 65)...),
	} {
		var refusal *berth.Error
		require.ErrorAs(t, err, &refusal, field)
		require.Equal(t, field, refusal.Field)
	}
	var effect berth.TaintEffect
	require.ErrorIs(t, effect.UnmarshalText([]byte("NoExecute")), berth.ErrInvalid)
}
