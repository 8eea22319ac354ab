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
	}
}

// There is no effect NoExecute: a drain does that.
func TestNoExecuteIsRefused(t *testing.T) {
	var effect berth.TaintEffect
	require.ErrorIs(t, effect.UnmarshalText([]byte("NoExecute")), berth.ErrInvalid)
}
