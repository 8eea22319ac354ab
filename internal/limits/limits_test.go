package limits

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBadNameAndBadText(t *testing.T) {
	for _, test := range []struct{ text, name, optional string }{
		{"", "is empty", ""},
		{"rack-1/node 7", "", ""},
		{"Zürich", "", ""},
		{strings.Repeat("x", maxText), "", ""},
		{strings.Repeat("x", maxText+1), "has 1025 bytes; the most is 1024", "has 1025 bytes; the most is 1024"},
		{strings.Repeat("ü", maxText/2+1), "has 1026 bytes; the most is 1024", "has 1026 bytes; the most is 1024"},
		{"a\xff", "is not valid UTF-8", "is not valid UTF-8"},
		{"two\nlines", "has the control character U+000A", "has the control character U+000A"},
		{"a\u0085", "has the control character U+0085", "has the control character U+0085"},
	} {
		require.Equal(t, test.name, BadName(test.text), "%q", test.text)
		require.Equal(t, test.optional, BadText(test.text), "%q", test.text)
	}
}

func TestBadAmount(t *testing.T) {
	for _, test := range []struct {
		amount int64
		reason string
		over   bool
	}{
		{-1, "is negative: -1", false},
		{0, "", false},
		{MaxAmount, "", false},
		{MaxAmount + 1, "4294967297 exceeds 4294967296", true},
	} {
		reason, over := BadAmount(test.amount)
		require.Equal(t, test.reason, reason)
		require.Equal(t, test.over, over)
	}
}
