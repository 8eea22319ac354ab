package core_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
)

// The kind of a reservation that is saved follows from what is saved beside it; what no kind has is
// refused.
func TestRestoreRefusesWindowsOfNoKind(t *testing.T) {
	d := fleetOf(t, "n1")
	d.runs(one("q", "victim", 8, writesCheckpoints))
	d.tell(one("q", "waits", 8, ranks(2)))
	require.Len(t, d.pass(), 1)
	for _, test := range []struct {
		name, field   string
		core          *core.Core
		before, after string
	}{
		{"a move that is for another", "jobs[0].replicas[0].moving.cause", newMovingCore(t), `"cause":"resumed"`, `"cause":"victims-gone"`},
		{"a room for no reason", "jobs[1].replicas[0].reserved.cause", d.Core, `"cause":"victims-gone"`, `"cause":"fits"`},
		{"a rest with a plan", "jobs[1].replicas[0].reserved.partial", d.Core, `"cause":"victims-gone"`, `"cause":"victims-gone","partial":true`},
	} {
		t.Run(test.name, func(t *testing.T) {
			saved, err := test.core.Snapshot()
			require.NoError(t, err)
			require.True(t, bytes.Contains(saved, []byte(test.before)), "the test changes nothing: %s", saved)
			_, err = core.Restore(bytes.Replace(saved, []byte(test.before), []byte(test.after), 1))
			var refused *berth.Error
			require.ErrorAs(t, err, &refused)
			require.ErrorIs(t, err, berth.ErrInvalid)
			require.Equal(t, test.field, refused.Field)
		})
	}
}
