package core_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
)

// A core made with the policy that is written out is the core made with none, byte for byte, and so
// is one that is told of it later.
func TestTheDefaultPolicyMakesTheSameCore(t *testing.T) {
	text := func(config berth.Config, events ...berth.Event) string {
		c, err := core.New(config)
		require.NoError(t, err)
		for _, e := range events {
			require.NoError(t, c.Apply(1, e))
		}
		snapshot, err := c.Snapshot()
		require.NoError(t, err)
		again, err := core.Restore(snapshot)
		require.NoError(t, err)
		require.Equal(t, c.Config(), again.Config())
		return string(snapshot)
	}
	require.Equal(t, text(berth.Config{}), text(berth.Config{Policy: berth.DefaultPolicy()}))
	require.Equal(t, text(berth.Config{}, berth.PolicyChanged{}), text(berth.Config{}, berth.PolicyChanged{Policy: berth.DefaultPolicy()}))

	quiet := berth.DefaultPolicy()
	quiet.ReservedGangs, quiet.Preemption.Cooldown = 0, 0
	off := berth.Policy{ReservedGangs: berth.Off, Preemption: berth.Preemption{Cooldown: berth.Off}}
	require.Equal(t, text(berth.Config{}, berth.PolicyChanged{Policy: off}), text(berth.Config{}, berth.PolicyChanged{Policy: quiet}))
}

// A policy that leaves nothing to its default is refused where a zero cannot be off.
func TestAZeroThatCannotBeOffIsRefused(t *testing.T) {
	policy := berth.DefaultPolicy()
	policy.PassBudget = 0
	var refusal *berth.Error
	_, err := core.New(berth.Config{Policy: policy})
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, "config policy.passBudget", refusal.Event+" "+refusal.Field)
	c, err := core.New(berth.Config{})
	require.NoError(t, err)
	require.ErrorAs(t, c.Apply(1, berth.PolicyChanged{Policy: policy}), &refusal)
	require.Equal(t, "policyChanged policy.passBudget", refusal.Event+" "+refusal.Field)
}
