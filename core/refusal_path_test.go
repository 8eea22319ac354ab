package core_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/sample"
	"github.com/berth-sched/berth/internal/strict"
)

// leads reports whether the field of a refusal leads somewhere in values of a type. An order that
// is saved has its kind first. A key that is not known stands where it is not known.
func leads(of reflect.Type, refusal *berth.Error) bool {
	field := refusal.Field
	if strings.HasPrefix(refusal.Reason, "is not a known field") {
		field = strings.TrimSuffix(field, "...")
		field = field[:max(0, strings.LastIndexByte(field, '.'))]
	}
	outer, inner, saved := strings.Cut(field, ".order.")
	kind, rest, _ := strings.Cut(inner, ".")
	for _, o := range []berth.Order{berth.Bind{}, berth.Release{}, berth.RequestCheckpoint{}} {
		if saved && kind == o.Kind() {
			return strict.Has(of, outer+".order") && strict.Has(reflect.TypeOf(o), rest)
		}
	}
	return strict.Has(of, field)
}

// requirePath makes sure that the field of a refusal is a path of the event's JSON, or of what else
// was refused.
func requirePath(t *testing.T, v any, refusal *berth.Error) {
	t.Helper()
	if v != nil {
		require.True(t, strict.Has(reflect.TypeOf(v), refusal.Field), "%T has no %s: %v", v, refusal.Field, refusal)
	}
}

// A long name or text of a sort that no other text of a refusal has.
const letter = "ж"

// mutants are a JSON value with one leaf replaced, for every leaf, by each of what is given for
// leaves of its kind. A plain run takes every third.
func mutants(t *testing.T, text []byte, replacements ...any) [][]byte {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var v any
	require.NoError(t, decoder.Decode(&v))
	var list [][]byte
	made := 0
	write := func() {
		if made++; drawn.Plain() && made%3 != 0 {
			return
		}
		b, err := json.Marshal(v)
		require.NoError(t, err)
		list = append(list, b)
	}
	var visit func(v any, set func(any))
	visit = func(v any, set func(any)) {
		switch v := v.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				inside := v[key]
				visit(inside, func(to any) { v[key] = to })
				for _, r := range replacements {
					if key2, ok := r.(string); ok {
						delete(v, key)
						v[key2] = inside
						write()
						delete(v, key2)
						v[key] = inside
					}
				}
			}
		case []any:
			for i, inside := range v {
				visit(inside, func(to any) { v[i] = to })
			}
		default:
			for _, r := range replacements {
				set(r)
				write()
			}
			set(v)
		}
	}
	visit(v, func(to any) { v = to })
	return list
}

// requireShort makes sure that a refusal repeats little of what was sent.
func requireShort(t *testing.T, err error) {
	t.Helper()
	require.LessOrEqual(t, strings.Count(err.Error(), letter)*len(letter), errtext.MostQuoted, "%v", err)
	require.LessOrEqual(t, strings.Count(err.Error(), "9"), errtext.MostQuoted, "%v", err)
}

// Whatever is wrong with an event, and however long it is, its refusal names a path that is there,
// and repeats no more than 100 bytes. A name may be as long as is allowed, and much longer.
func TestEveryRefusalNamesAPathAndIsShort(t *testing.T) {
	replacements := []any{
		strings.Repeat(letter, 500), strings.Repeat(letter, 10_000), "", "\n", "n1", "x", json.Number("-1"), json.Number("1"),
		json.Number("99999999999"), json.Number(strings.Repeat("9", 10_000)), true,
		[]any{},
		map[string]any{},
	}
	sched := newBusyCore(t)
	saved, err := sched.Snapshot()
	require.NoError(t, err)
	refused := map[string]bool{}
	for _, e := range append(sample.Events(), berth.JobSubmitted{Job: gangJob("new", 1, 1)}) {
		b, err := berth.EncodeEvent(e)
		require.NoError(t, err)
		for _, mutant := range append(mutants(t, b, replacements...), b) {
			var refusal *berth.Error
			e, err := berth.DecodeEvent(mutant)
			if err != nil {
				require.ErrorAs(t, err, &refusal)
				requireShort(t, err)
				require.True(t, sample.Complete(err))
				continue
			}
			if err := sched.Apply(11, e); err != nil {
				require.ErrorAs(t, err, &refusal)
				requireShort(t, err)
				requirePath(t, e, refusal)
				refused[e.Kind()] = true
				continue
			}
			sched, err = core.Restore(saved)
			require.NoError(t, err)
		}
	}
	require.Greater(t, len(refused), 15)
}

// The same of snapshots, orders and configurations, which are refused as they are decoded.
func TestEveryRefusalOfADecoderIsShort(t *testing.T) {
	replacements := []any{strings.Repeat(letter, 500), strings.Repeat(letter, 10_000), json.Number(strings.Repeat("9", 10_000))}
	sched := newBusyCore(t)
	saved, err := sched.Snapshot()
	require.NoError(t, err)
	config, err := json.Marshal(sched.Config())
	require.NoError(t, err)
	order, err := berth.EncodeOrder(sched.Outstanding()[0])
	require.NoError(t, err)
	for what, c := range map[string]struct {
		text   []byte
		decode func([]byte) error
	}{
		"snapshot": {saved, func(b []byte) error { _, err := core.Restore(b); return err }},
		"config":   {config, func(b []byte) error { _, err := berth.DecodeConfig(b); return err }},
		"order":    {order, func(b []byte) error { _, err := berth.DecodeOrder(b); return err }},
	} {
		refused := 0
		for _, mutant := range mutants(t, c.text, replacements...) {
			if err := c.decode(mutant); err != nil {
				require.True(t, sample.Complete(err))
				requireShort(t, err)
				refused++
			}
		}
		require.NotZero(t, refused, what)
	}
}

// everyPolicy is a configuration with most of what there is to say.
const everyPolicy = `{"levels":["spine","leaf"],"fabric":{"islandLevel":"leaf","railLevel":"leaf","oversubscription":[{"level":"leaf","ratioMilli":2000}]},
	"limits":{"nodes":10,"queues":10,"replicas":10,"members":10,"groups":10,"reservations":10},
	"policy":{"bindTimeout":"1m","releaseTimeout":"1m","releaseAttempts":2,"retryBackoff":"1s","maxRetryBackoff":"2s","passBudget":1,
	"locality":"loose","reserveAfter":"1m","reservedGangs":1,"reservationTimeout":"1m","assumedRuntime":"1h","backfillBudget":1,"usageHalfLife":"off",
	"preemption":{"mode":"reclaim","minRuntime":"off","maxRatio":2,"checkpointTimeout":"1m","grace":[{"class":"batch","timeout":"1m"},{"class":"interactive","timeout":"2m"}],
	"cooldown":"1m","rateLimit":{"evictions":1,"per":"1h"},"queueRateLimit":{"evictions":1,"per":"1h"},
	"gain":{"interactive":"1h","latencyCritical":"2h","turn":"1m","waitMilli":1,"queueing":"1m"}},
	"defragmentation":{"mode":"on","maxMoves":2},"health":{"losses":2,"within":"1h","quarantine":"1h","burnIn":"1h"},
	"hotSpares":[{"pool":"a","nodesMilli":10},{"pool":"b","nodesMilli":10}],"repartitionTimeout":"1m",
	"geometry":[{"pool":"a","kind":"adaptive","cost":"1s","interval":"1m","perHour":1,"layout":["3g.40gb"],"holdLimit":"off"},{"pool":"b","kind":"fixed"}]}}`

// Whatever is wrong with a configuration, a policy or a snapshot, the event of its refusal is that,
// and the field is one that it has.
func TestEveryRefusalOfADecoderNamesAPath(t *testing.T) {
	saved, err := os.ReadFile("testdata/snapshot-v2.json")
	require.NoError(t, err)
	policy := everyPolicy[strings.Index(everyPolicy, `"policy":`)+len(`"policy":`) : len(everyPolicy)-1]
	for what, c := range map[string]struct {
		of     any
		text   string
		decode func([]byte) error
	}{
		"snapshot": {record.Snapshot{}, string(saved), func(b []byte) error { _, err := core.Restore(b); return err }},
		"config":   {berth.Config{}, everyPolicy, func(b []byte) error { _, err := berth.DecodeConfig(b); return err }},
		"policy":   {berth.Policy{}, policy, func(b []byte) error { _, err := berth.DecodePolicy(b); return err }},
	} {
		require.NoError(t, c.decode([]byte(c.text)), what)
		refused := map[string]bool{}
		for _, mutant := range mutants(t, []byte(c.text), letter, json.Number("-1"), json.Number("99999999999"), []any{}) {
			if err := c.decode(mutant); err != nil {
				var refusal *berth.Error
				require.ErrorAs(t, err, &refusal)
				require.Equal(t, what, refusal.Event)
				require.True(t, leads(reflect.TypeOf(c.of), refusal), "%v", refusal)
				refused[refusal.Field] = true
			}
		}
		fewest := 60
		if drawn.Plain() {
			fewest = 30
		}
		require.Greater(t, len(refused), fewest, what)
		require.NotContains(t, refused, "", what)
	}
}
