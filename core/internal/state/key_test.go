package state

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/internal/fields"
	"github.com/berth-sched/berth/internal/strict"
)

// Two requests, or two descriptions, that differ in one field have two keys: with one, the second
// job would be kept as the first.
func TestEveryFieldIsInTheKeysOfShapesAndPatterns(t *testing.T) {
	requireKeys(t, shapePen)
	requireKeys(t, patternPen)
}

func requireKeys[T any](t *testing.T, pen *strict.Pen[T]) {
	t.Helper()
	key := func(v *T) string {
		b, err := pen.Append(nil, v)
		require.NoError(t, err)
		return string(b)
	}
	v := fields.Fill[T]()
	was := key(&v)
	for i, leaf := range fields.Leaves(&v) {
		changed := fields.Clone(v)
		fields.Leaves(&changed)[i].Set(leaf.Others("other")[0])
		require.NotEqual(t, was, key(&changed), "%s is in no key of %T: see its tag", leaf.Field(), v)
	}
}
