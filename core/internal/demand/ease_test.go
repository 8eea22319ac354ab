package demand

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/topology"
)

func easeOf(gpus int, memory int64, classes ...topology.NodeClass) Ease {
	var host countable.Amounts
	host[0] = memory
	return EaseOf([]gang.Group{{Members: 2, Claim: gang.Claim{GPUs: gpus, Host: host}, Classes: classes}})
}

// A request stands for those that ask for as much or more of each node, of no other classes.
func TestTheEasierRequestStandsForTheHarder(t *testing.T) {
	e := easeOf(2, 10, 1, 3)
	var list Easiest
	require.False(t, list.Has(&e))
	list.Note(&e)
	for _, c := range []struct {
		what  string
		other Ease
		has   bool
	}{
		{"the same", easeOf(2, 10, 3, 1), true},
		{"of some of its classes", easeOf(2, 10, 3), true},
		{"of another class too", easeOf(2, 10, 1, 2, 3), false},
		{"more GPUs and memory", easeOf(3, 11, 1), true},
		{"fewer GPUs", easeOf(1, 11, 1), false},
		{"less memory", easeOf(3, 9, 1), false},
		{"no GPUs", easeOf(0, 11, 1), false},
		{"no classes", easeOf(3, 11), false},
		{"a class beyond those that are told", easeOf(3, 11, 1, 64), false},
		{"several groups", EaseOf(make([]gang.Group, 2)), false},
		{"nodes of a class that differ", EaseOf([]gang.Group{{
			Claim: gang.Claim{GPUs: 2}, Classes: []topology.NodeClass{1}, Match: func(topology.NodeIndex) bool { return true },
		}}), false},
	} {
		require.Equal(t, c.has, list.Has(&c.other), c.what)
	}
}

// What is kept are the easiest of those that came, as far as they are kept.
func TestTheEasiestAreThoseThatNoOtherStandsFor(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		var list Easiest
		var came []Ease
		for range rapid.IntRange(1, 40).Draw(t, "requests") {
			e := easeOf(rapid.IntRange(0, 8).Draw(t, "gpus"), rapid.Int64Range(0, 8).Draw(t, "memory"), topology.NodeClass(rapid.IntRange(0, 1).Draw(t, "class")))
			if !list.Has(&e) {
				list.Note(&e)
			}
			came = append(came, e)
			for i := range came {
				stands := false
				for k := range list {
					one := Easiest{list[k]}
					stands = stands || one.Has(&came[i])
				}
				require.Equal(t, stands, list.Has(&came[i]))
				require.True(t, stands || came[i].classes == 0 || came[i].gpus == 0 || len(list) == mostEasiest)
			}
		}
	})
}
