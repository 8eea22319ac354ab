package berth_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/fields"
)

func ExampleDefaultPolicy() {
	policy := berth.DefaultPolicy()
	policy.ReserveAfter *= 2 // of what it is by default
	policy.ReservedGangs = 0 // no reservations
	fmt.Println(policy.ReserveAfter, policy.ReservedGangs)

	// 0 is none in it, so that what cannot be none refuses it.
	policy.BindTimeout = 0
	fmt.Println(policy.Check())
	// Output:
	// 10m0s 0
	// berth: bindTimeout: is 0, and cannot be off; zeroIsOff leaves nothing to its default
}

// amounts are the numbers of a policy, at any depth but in lists.
func amounts(p *berth.Policy) []fields.Leaf {
	var numbers []fields.Leaf
	for _, leaf := range fields.Leaves(p) {
		if kind := leaf.Value().Kind(); kind == reflect.Int || kind == reflect.Int64 {
			numbers = append(numbers, leaf)
		}
	}
	return numbers
}

func set(leaf *fields.Leaf, number int64) {
	leaf.Set(reflect.ValueOf(number).Convert(leaf.Value().Type()))
}

// The policy that is written out means what the zero value means, in memory and in JSON.
func TestDefaultPolicyIsTheZeroPolicy(t *testing.T) {
	policy := berth.DefaultPolicy()
	require.NoError(t, policy.Check())
	require.Equal(t, berth.Policy{}.WithDefaults(), policy.WithDefaults())
	text, err := json.Marshal(policy)
	require.NoError(t, err)
	back, err := berth.DecodePolicy(text)
	require.NoError(t, err)
	require.Equal(t, policy, back)
}

// Each default is written out: a field that is 0 all the same is off by default.
func TestDefaultPolicyHasEachDefault(t *testing.T) {
	policy := berth.DefaultPolicy()
	for i, leaf := range amounts(&policy) {
		if leaf.Zero() && leaf.Place != "Preemption.RateLimit.Per" && leaf.Place != "Preemption.QueueRateLimit.Per" {
			var off berth.Policy
			set(&amounts(&off)[i], berth.Off)
			require.Equal(t, berth.Policy{}.WithDefaults(), off.WithDefaults(), leaf.Place)
		}
	}
}

// A field of the policy that is written out and is set to 0 is off, or refused: it is never back at
// its default.
func TestZeroIsOff(t *testing.T) {
	policy := berth.DefaultPolicy()
	policy.Health.Losses, policy.Health.BurnIn = 1, berth.Minute // so that all of Health matters
	policy.Preemption.RateLimit = berth.RateLimit{Evictions: 1, Per: berth.Hour}
	policy.Preemption.QueueRateLimit = policy.Preemption.RateLimit
	off, refused := 0, 0
	for i, leaf := range amounts(&policy) {
		zero, minus := policy, policy
		set(&amounts(&zero)[i], 0)
		set(&amounts(&minus)[i], berth.Off)
		if minus.Check() != nil {
			require.ErrorIs(t, zero.Check(), berth.ErrInvalid, leaf.Place)
			refused++
			continue
		}
		require.NoError(t, zero.Check(), leaf.Place)
		made := zero.WithDefaults()
		require.Equal(t, minus.WithDefaults(), made, leaf.Place)
		require.LessOrEqual(t, amounts(&made)[i].Value().Int(), int64(0), leaf.Place)
		off++
	}
	require.Equal(t, 24, off, "of %d fields", off+refused)
}
