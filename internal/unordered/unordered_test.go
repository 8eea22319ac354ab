package unordered_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/internal/unordered"
)

type item struct{ at int }

// Whatever is taken out, the rest is there, each at the position that it knows, and
// nothing keeps what is gone from being collected.
func TestItemsKnowTheirPositions(t *testing.T) {
	drawn.Check(t, func(rt *rapid.T) {
		var list []*item
		for at := range rapid.IntRange(1, 8).Draw(rt, "items") {
			list = append(list, &item{at})
		}
		left := map[*item]bool{}
		for _, it := range list {
			left[it] = true
		}
		for len(list) > 0 {
			gone := list[rapid.IntRange(0, len(list)-1).Draw(rt, "gone")]
			list = unordered.Remove(list, gone.at, func(it *item, at int) { it.at = at })
			delete(left, gone)
			require.Nil(rt, list[:len(list)+1][len(list)])
			require.Len(rt, list, len(left))
			for at, it := range list {
				require.True(rt, left[it])
				require.Equal(rt, at, it.at)
			}
		}
	})
}
