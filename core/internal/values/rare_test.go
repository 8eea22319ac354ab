package values

import (
	"testing"

	"github.com/stretchr/testify/require"
)

type amount int

func (a amount) Nothing() bool { return a == 0 }

func TestARarePartTakesNoRoomForNothing(t *testing.T) {
	var r Rare[amount]
	require.Zero(t, r.Get())
	require.Zero(t, testing.AllocsPerRun(10, func() { r.Set(0) }))
	r.Set(3)
	require.EqualValues(t, 3, r.Get())
	*r.Note()++
	require.EqualValues(t, 4, r.Get())
	r.Set(0)
	require.Equal(t, Rare[amount]{}, r)
	*r.Note() = 5
	require.EqualValues(t, 5, r.Get())
}
