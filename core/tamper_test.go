package core_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/internal/drawn"
)

// Promise R1, where byte-wise fuzzing does not reach: a snapshot that is whole
// JSON and of which some values were changed is refused with a typed error, or
// makes a core that holds together and goes on.
func TestR1_TamperedSnapshots(t *testing.T) {
	t.Run("orders", func(t *testing.T) { tamperWith(t, newVariedCore(t)) })
	t.Run("reservations", func(t *testing.T) { tamperWith(t, newReservedCore(t)) })
	t.Run("calm", func(t *testing.T) { tamperWith(t, newCalmCore(t)) })
	t.Run("shrinking", func(t *testing.T) { tamperWith(t, newShrinkingCore(t)) })
	t.Run("moving", func(t *testing.T) { tamperWith(t, newMovingCore(t)) })
	t.Run("dead", func(t *testing.T) { tamperWith(t, newDeadCore(t)) })
}

func tamperWith(t *testing.T, sched *core.Core) {
	original, err := sched.Snapshot()
	require.NoError(t, err)
	var accepted, refused int
	drawn.Check(t, func(t *rapid.T) {
		var doc any
		decoder := json.NewDecoder(bytes.NewReader(original))
		decoder.UseNumber() // an instant may be too far off to be exact
		require.NoError(t, decoder.Decode(&doc))
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			doc = tamper(t, doc)
		}
		b, err := json.Marshal(doc)
		require.NoError(t, err)
		sched, err := core.Restore(b)
		if err != nil {
			refused++
			var e *berth.Error
			require.ErrorAs(t, err, &e)
			require.NotEmpty(t, e.Reason)
			require.NotNil(t, e.Kind)
			require.True(t, leads(reflect.TypeOf(record.Snapshot{}), e), "%v", e)
			return
		}
		accepted++
		require.NoError(t, sched.Check())
		exercise(t, sched)
	})
	if drawn.Many() {
		require.NotZero(t, accepted)
		require.NotZero(t, refused)
	}
}

// exercise lets a core work off what it holds.
func exercise(t *rapid.T, sched *core.Core) {
	for range 6 {
		now := sched.Now()
		if next, ok := sched.NextWake(); ok {
			now = next
		}
		actions, err := sched.Schedule(now)
		require.NoError(t, err)
		require.NoError(t, sched.Check())
		for _, a := range actions {
			if !slices.ContainsFunc(sched.Outstanding(), func(out berth.Order) bool { return out.Header().ID == a.Header().ID }) {
				continue // it has no report, or was withdrawn at once
			}
			require.NoError(t, sched.Apply(now, berth.OrderReported{Order: a.Header().ID, Outcome: berth.OutcomeDone}))
			require.NoError(t, sched.Check())
		}
	}
	sched.Report()
}

// tamper changes one value somewhere in a JSON document.
func tamper(t *rapid.T, doc any) any {
	switch v := doc.(type) {
	case map[string]any:
		if len(v) == 0 {
			return v
		}
		key := rapid.SampledFrom(slices.Sorted(maps.Keys(v))).Draw(t, "key")
		if rapid.IntRange(0, 30).Draw(t, "delete") == 0 {
			delete(v, key)
		} else {
			v[key] = tamper(t, v[key])
		}
		return v
	case []any:
		if len(v) == 0 {
			return v
		}
		i := rapid.IntRange(0, len(v)-1).Draw(t, "element")
		switch rapid.IntRange(0, 20).Draw(t, "how") {
		case 0:
			return slices.Delete(v, i, i+1)
		case 1:
			return append(v, v[i])
		}
		v[i] = tamper(t, v[i])
		return v
	case json.Number:
		n, err := v.Int64()
		require.NoError(t, err)
		return rapid.SampledFrom([]int64{-1, 0, 1, 2, 3, 7, 8, 64, 1000, 5000, 1 << 30, 1 << 40, 1 << 52, n + 1, n - 1}).Draw(t, "number")
	case bool:
		return !v
	case string:
		return rapid.SampledFrom([]string{
			"", "n1", "n2", "team-a", "org", "waits", "elastic", "leaf", "node", "fleet", "T4", "9.0", "\n",
			"pending", "binding", "running", "repairing", "releasing", "failed", "lost", "stopping", "batch", "mps",
		}).Draw(t, "string")
	default:
		return v
	}
}

// A bid that is saved with an instant before the epoch is refused by the name of that instant.
func TestR1_AnInstantOfABidIsRefusedByItsName(t *testing.T) {
	snapshot, err := newCalmCore(t).Snapshot()
	require.NoError(t, err)
	for _, field := range []string{"at", "ripeAt"} {
		_, bid, some := strings.Cut(string(snapshot), `"bids":[{`)
		require.True(t, some)
		bid, _, _ = strings.Cut(bid, "}")
		tampered := strings.Replace(string(snapshot), bid, `"group":0,"`+field+`":-1`, 1)
		_, err := core.Restore([]byte(tampered))
		var refused *berth.Error
		require.ErrorAs(t, err, &refused)
		require.Regexp(t, `\.bids\[0\]\.`+field+`$`, refused.Field)
	}
}
