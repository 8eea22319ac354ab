package core_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/limits"
)

// The largest Time stands for never, so no clock comes near it: what never ends would end then.
func TestClockPastItsEnd(t *testing.T) {
	sched := newVariedCore(t)
	before, err := sched.Snapshot()
	require.NoError(t, err)
	const past = berth.Time(limits.MaxInstant) + 1
	for _, refused := range []error{
		sched.Apply(past, berth.NodeLost{Node: "n1"}),
		second(sched.Schedule(past)),
		second(sched.WhatIf(past)),
		second(sched.StartPlan(past, "waits", 0)),
	} {
		require.ErrorIs(t, refused, berth.ErrClock)
		require.ErrorContains(t, refused, "after the last instant")
	}
	after, err := sched.Snapshot()
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))

	require.NoError(t, second(sched.Schedule(limits.MaxInstant)), "the last instant is one")
	require.NoError(t, sched.Check())
	at, ok := sched.NextWake()
	require.False(t, ok, "%d is no instant of the core", at)
}

// Orders end before their numbers do: none is given twice.
func TestOrdersComeToAnEnd(t *testing.T) {
	saved, err := newVariedCore(t).Snapshot()
	require.NoError(t, err)
	last := fmt.Sprintf(`"lastOrder":%d`, uint64(limits.MaxOrder))
	sched, err := core.Restore(bytes.Replace(saved, []byte(`"lastOrder":11`), []byte(last), 1))
	require.NoError(t, err)
	_, err = sched.Schedule(2000)
	require.ErrorIs(t, err, berth.ErrLimit)
	after, err := sched.Snapshot()
	require.NoError(t, err)
	require.Contains(t, string(after), last)
	require.Equal(t, berth.Time(1000), sched.Now())
}

func second[T any](_ T, err error) error { return err }
