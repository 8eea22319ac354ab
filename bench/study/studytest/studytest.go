// Package studytest has what the tests of experiments share.
package studytest

import (
	"bytes"
	"context"
	"encoding/csv"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/bench/study"
)

// Tell makes an experiment, and returns what it writes.
func Tell[O any](run func(context.Context, O, io.Writer) error, o O) (string, error) {
	var out bytes.Buffer
	err := run(context.Background(), o, &out)
	return out.String(), err
}

// Refuses asserts that each of the changes makes options of good ones that an experiment refuses,
// before it writes anything.
func Refuses[O any](t *testing.T, run func(context.Context, O, io.Writer) error, good O, changes ...func(*O)) {
	t.Helper()
	for i, change := range changes {
		o := good
		change(&o)
		out, err := Tell(run, o)
		require.ErrorIs(t, err, study.ErrOptions, "change %d", i)
		require.Empty(t, out, "change %d", i)
	}
}

// Records reads tables that were written as comma-separated values.
func Records(t *testing.T, text string) [][]string {
	t.Helper()
	in := csv.NewReader(strings.NewReader(text))
	in.FieldsPerRecord = -1
	records, err := in.ReadAll()
	require.NoError(t, err)
	return records
}
