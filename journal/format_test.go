package journal_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc64"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheFormatIsAsDocumented reads a journal by docs/format.md and the standard library alone:
// sums of lines, digests of passes, and what each kind of line has. The lines that the document
// shows are lines of that journal.
func TestTheFormatIsAsDocumented(t *testing.T) {
	text, err := os.ReadFile(presentJournal)
	require.NoError(t, err)
	ecma := crc64.MakeTable(crc64.ECMA)
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	require.True(t, strings.HasPrefix(lines[0], `{"version":2,"config":{`), lines[0])
	covered, digest, orders, kinds := []byte(lines[0]), []byte(nil), 0, map[string]int{}
	endPass := func(want string) {
		require.Equal(t, want, fmt.Sprintf("%016x %d", crc64.Checksum(digest, ecma), orders))
		digest, orders = nil, 0
	}
	pass := "0000000000000000 0"
	for i, line := range lines[1:] {
		head := fmt.Sprintf(`{"number":%d,"sum":"`, i+1)
		require.True(t, strings.HasPrefix(line, head), line)
		sum, body := line[len(head):len(head)+16], line[len(head)+18:]
		covered = append(fmt.Appendf(covered, "%d,", i+1), body...)
		require.Equal(t, fmt.Sprintf("%016x", crc64.Checksum(covered, ecma)), sum, line)
		var fields struct {
			Now                 *int64
			Event, Order        map[string]json.RawMessage
			Pass                bool
			Orders              int
			Digest, Number, Sum json.RawMessage
		}
		require.NoError(t, json.Unmarshal([]byte(line), &fields))
		switch {
		case len(fields.Event) == 1 && fields.Now != nil:
			kinds["event"]++
		case len(fields.Order) == 1:
			kinds["order"]++
			text := strings.TrimSuffix(strings.TrimPrefix(body, `"order":`), "}")
			digest, orders = append(append(digest, text...), '\n'), orders+1
		case fields.Pass && fields.Now != nil:
			kinds["pass"]++
			endPass(pass)
			pass = fmt.Sprintf("%s %d", bytes.Trim(fields.Digest, `"`), fields.Orders)
		default:
			t.Errorf("no kind that is documented: %s", line)
		}
	}
	endPass(pass)
	require.Len(t, kinds, 3, "the journal has lines of each kind")

	document, err := os.ReadFile("../docs/format.md")
	require.NoError(t, err)
	_, shown, found := strings.Cut(string(document), "```json\n")
	require.True(t, found)
	shown, _, _ = strings.Cut(shown, "```")
	for line := range strings.Lines(shown) {
		require.Contains(t, lines, strings.TrimSuffix(line, "\n"))
	}
}
