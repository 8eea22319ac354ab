package soak_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/berthtest/soak"
)

// The same seed plays the same world, and what was played is counted.
func TestRun(t *testing.T) {
	t.Parallel()
	play := func() *soak.Report {
		r, err := soak.Run(context.Background(), soak.Options{Seed: 9, Worlds: 1, Kinds: []string{"moving", "hectic"}})
		require.NoError(t, err)
		require.Nil(t, r.Violation)
		return r
	}
	r := play()
	require.Equal(t, r, play())
	require.Equal(t, map[string]int{"hectic": 1}, r.Kinds, "an odd seed plays the second of two")
	require.Positive(t, r.Events)
	require.Positive(t, r.Restores)
	require.Positive(t, r.Compared)
	require.Positive(t, r.Orders["bind"])
	require.Positive(t, r.Faults["ReportLost"]+r.Faults["ReportLate"])
	require.LessOrEqual(t, r.Drained, r.Worlds)
}

// A fleet of many GPUs is a kind of its own.
func TestFleet(t *testing.T) {
	t.Parallel()
	r, err := soak.Run(context.Background(), soak.Options{Seed: 2, Worlds: 1, GPUs: 64})
	require.NoError(t, err)
	require.Nil(t, r.Violation)
	require.Equal(t, map[string]int{"fleet": 1}, r.Kinds)
	require.GreaterOrEqual(t, r.Told["nodeJoined"], 8)
}

// Options that make no sense are refused, and a context that is done ends it.
func TestRefused(t *testing.T) {
	_, err := soak.Run(context.Background(), soak.Options{Kinds: []string{"moon"}})
	require.ErrorContains(t, err, `no kind "moon" of worlds; there are swapping, `)
	done, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = soak.Run(done, soak.Options{})
	require.ErrorIs(t, err, context.Canceled)
}

// A violation says how its world is played again.
func TestViolation(t *testing.T) {
	v := soak.Violation{Kind: "moving", Seed: 7, What: "S1: held twice"}
	require.Contains(t, v.String(), "berthbench soak -worlds 1 -seed 7 -kinds moving")
	v.GPUs = 64
	require.Contains(t, v.String(), "berthbench soak -worlds 1 -seed 7 -gpus 64")
}
