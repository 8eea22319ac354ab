// Package studytest has what the tests of experiments share.
package studytest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/bench/flagline"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/internal/drawn"
)

// Tell makes an experiment, and returns what it writes.
func Tell[O any](run func(context.Context, O, io.Writer) error, o O) (string, error) {
	var out bytes.Buffer
	err := run(context.Background(), o, &out)
	return out.String(), err
}

// Repeats asserts that an experiment writes the same when it is made again. It is made again where
// many worlds are drawn, and not in a plain run.
func Repeats[O any](t *testing.T, run func(context.Context, O, io.Writer) error, o O, out string) {
	t.Helper()
	if drawn.Plain() {
		return
	}
	again, _ := Tell(run, o)
	require.Equal(t, out, again)
}

// Refuses asserts that each of the changes makes options of good ones that an experiment refuses,
// before it writes anything.
func Refuses[O any](t *testing.T, run func(context.Context, O, io.Writer) error, good O, changes ...func(*O)) {
	t.Helper()
	for i, change := range changes {
		o := good
		change(&o)
		out, err := Tell(run, o)
		require.ErrorIs(t, err, flagline.ErrMisuse, "change %d", i)
		require.Empty(t, out, "change %d", i)
	}
}

// Tables reads tables that were written as JSON.
func Tables(t *testing.T, text string) (tables []study.Table) {
	t.Helper()
	for line := range strings.Lines(text) {
		var table study.Table
		require.NoError(t, json.Unmarshal([]byte(line), &table))
		tables = append(tables, table)
	}
	return tables
}
