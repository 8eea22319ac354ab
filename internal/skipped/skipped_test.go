package skipped

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each reason is told once, with the first of its lines and how many there are; a file with ever
// new reasons makes no longer list.
func TestSkipsTellEachReasonOnce(t *testing.T) {
	var s List
	s.Add("a.txt", 7, "no GPU")
	s.Add("a.txt", 3, "never ran")
	s.Add("a.txt", 5, "no", " GPU")
	s.Add("b.txt", 1, "no GPU")
	require.Equal(t, List{{"a.txt", 5, "no GPU", 2}, {"a.txt", 3, "never ran", 1}, {"b.txt", 1, "no GPU", 1}}, s)
	require.Equal(t, "a.txt:5: no GPU (2 times)", s[0].String())
	for i := range 1000 {
		s.Add("a.txt", 10+i, fmt.Sprintf("key %d", i))
	}
	s.Add("a.txt", 2, "never ran")
	require.Len(t, s, mostSkips+1)
	require.Equal(t, Skip{"a.txt", 10 + mostSkips - 3, andMore, 1000 - mostSkips + 3}, s[mostSkips])
	require.Equal(t, Skip{"a.txt", 2, "never ran", 2}, s[1])
}
