package mig

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestApply(t *testing.T) {
	l := lattice(t, "H100-80GB")
	three := Step{Create: true, Placement: placements(t, "3g.40gb@4:4")[0]}
	require.Equal(t, "+3g.40gb@4:4", three.String())
	s, err := l.Apply(0, three)
	require.NoError(t, err)
	_, err = l.Apply(s, three)
	require.ErrorIs(t, err, ErrConflict)
	text, err := json.Marshal(three)
	require.NoError(t, err)
	require.JSONEq(t, `{"create": true, "placement": "3g.40gb@4:4"}`, string(text))
	three.Create = false
	require.Equal(t, "-3g.40gb@4:4", three.String())
	s, err = l.Apply(s, three)
	require.NoError(t, err)
	require.Zero(t, s)
	_, err = l.Apply(s, three)
	require.ErrorIs(t, err, ErrNotPlaced)
}
