package refusal

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/limits"
	"github.com/berth-sched/berth/internal/strict"
)

// A check refuses with its kind, and with the path of the field once those around it have added
// theirs.
func TestRefusalsNameTheFieldAndTheKind(t *testing.T) {
	for _, test := range []struct {
		err           *berth.Error
		kind          error
		field, reason string
	}{
		{In(In(Of(berth.ErrConflict, "id", "is taken"), "[3]"), "jobs"), berth.ErrConflict, "jobs[3].id", "is taken"},
		{In(Name(""), "queue"), berth.ErrInvalid, "queue", "is empty"},
		{Text("a\n"), berth.ErrInvalid, "", "has the control character U+000A"},
		{Amount(-1), berth.ErrInvalid, "", "is negative: -1"},
		{Amount(limits.MaxAmount + 1), berth.ErrLimit, "", "4294967297 exceeds 4294967296"},
	} {
		require.ErrorIs(t, test.err, test.kind)
		require.Equal(t, test.field, test.err.Field)
		require.Equal(t, test.reason, test.err.Reason)
	}
	for _, err := range []*berth.Error{Name("a"), Text(""), Amount(0), Amount(limits.MaxAmount), In(nil, "queue")} {
		require.Nil(t, err)
	}
}

// What cannot be decoded is refused as what it was to be, and an Error within keeps its reason.
func TestDecodeRefusesWithAnErrorOfWhatItDecodes(t *testing.T) {
	type thing struct {
		N  int       `json:"n"`
		In carefully `json:"in"`
	}
	form := strict.FormOf[thing](strict.Readings{})
	v, err := Decode("thing", form, []byte(`{"n":1}`))
	require.NoError(t, err)
	require.Equal(t, 1, v.N)
	for text, want := range map[string]berth.Error{
		`{"m":1}`:   {Event: "thing", Kind: berth.ErrInvalid, Field: "m", Reason: "is not a known field"},
		`{"n":"a"}`: {Event: "thing", Kind: berth.ErrInvalid, Field: "n", Reason: "cannot be a JSON string"},
		`{"in":1}`:  {Event: "thing", Kind: berth.ErrInvalid, Field: "in", Reason: "is never right"},
	} {
		var refused *berth.Error
		_, err := Decode("thing", form, []byte(text))
		require.ErrorAs(t, err, &refused)
		require.Equal(t, want, *refused, text)
	}
}

// carefully decodes itself, and refuses everything with an Error of its own.
type carefully struct{}

func (*carefully) UnmarshalJSON([]byte) error {
	return &berth.Error{Event: "inside", Kind: berth.ErrInvalid, Reason: "is never right"}
}
