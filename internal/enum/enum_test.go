package enum_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/internal/enum"
)

type color uint8

const colors enum.Names = "color: red|pale-blue|green"

// Every value and its text lead to each other, and nothing else leads anywhere.
func TestTextsAndValues(t *testing.T) {
	require.Equal(t, []string{"red", "pale-blue", "green"}, colors.List())
	require.Equal(t, 3, colors.Len())
	for i, text := range colors.List() {
		require.Equal(t, text, enum.Text(colors, color(i)))
		v, ok := enum.Parse[color](colors, text)
		require.True(t, ok)
		require.Equal(t, color(i), v)
	}
	for _, v := range []color{3, 4, 255} {
		require.NotContains(t, colors.List(), enum.Text(colors, v))
	}
	require.Equal(t, "color(255)", enum.Text(colors, color(255)))
	for _, text := range []string{"", "re", "red|pale blue", "|", "Red", "greenish"} {
		v, ok := enum.Parse[color](colors, text)
		require.False(t, ok, text)
		require.Zero(t, v)
	}
}

// A first value without a text is one like any other.
func TestEmptyText(t *testing.T) {
	const endings enum.Names = "ending: |+me|-me"
	require.Empty(t, enum.Text(endings, color(0)))
	require.Equal(t, "-me", enum.Text(endings, color(2)))
	v, ok := enum.Parse[color](endings, "")
	require.True(t, ok)
	require.Zero(t, v)
}

func TestTextsDoNotAllocate(t *testing.T) {
	require.Zero(t, testing.AllocsPerRun(10, func() {
		v, _ := enum.Parse[color](colors, "green")
		if enum.Text(colors, v) != "green" {
			t.Fail()
		}
	}))
}
