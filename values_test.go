package berth_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/drawn"
)

func TestGPUSet(t *testing.T) {
	for _, c := range []struct {
		set  berth.GPUSet
		text string
		json string
	}{
		{0, "", "[]"},
		{berth.GPUSetOf(0), "0", "[0]"},
		{berth.GPUSetOf(0, 1, 2, 3, 6), "0-3,6", "[0,1,2,3,6]"},
		{berth.GPUSetOf(63, 62), "62-63", "[62,63]"},
		{math.MaxUint64, "0-63", ""},
	} {
		require.Equal(t, c.text, c.set.String())
		b, err := json.Marshal(c.set)
		require.NoError(t, err)
		if c.json != "" {
			require.Equal(t, c.json, string(b))
		}
		var back berth.GPUSet
		require.NoError(t, json.Unmarshal(b, &back))
		require.Equal(t, c.set, back)
	}
	for _, outside := range []int{-1, 64, math.MinInt, math.MaxInt} {
		_, err := berth.NewGPUSet(5, outside)
		require.ErrorIs(t, err, berth.ErrInvalid)
		require.ErrorContains(t, err, fmt.Sprint(outside))
		require.Panics(t, func() { berth.GPUSetOf(5, outside) })
	}
	require.False(t, berth.GPUSetOf(5).Has(64))
}

// The first and the last GPU that a node may have are in the set of all, and no other index is.
func TestGPUSetHas(t *testing.T) {
	all := berth.GPUSet(math.MaxUint64)
	require.True(t, all.Has(0))
	require.True(t, all.Has(berth.MaxGPUs-1))
	require.False(t, all.Has(berth.MaxGPUs))
	require.False(t, all.Has(-1))
}

func TestGPUSetAgainstItsIndexes(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		set := berth.GPUSet(rapid.Uint64().Draw(t, "set"))
		require.Equal(t, set, berth.GPUSetOf(set.Indexes()...))
		require.Len(t, set.Indexes(), set.Len())
		for _, i := range set.Indexes() {
			require.True(t, set.Has(i))
		}
	})
}

func TestComputeCapability(t *testing.T) {
	v, err := berth.ParseComputeCapability("12.1")
	require.NoError(t, err)
	require.Equal(t, berth.ComputeCapability{Major: 12, Minor: 1}, v)
	require.Equal(t, "12.1", v.String())
	require.True(t, berth.ComputeCapability{Major: 9}.Less(v))
	require.True(t, berth.ComputeCapability{Major: 12}.Less(v))
	require.False(t, v.Less(v))
	for _, bad := range []string{"", "9", "9.", ".0", "09.0", "9.0.1", "256.0", "-1.0", "9.0 "} {
		_, err := berth.ParseComputeCapability(bad)
		require.ErrorIs(t, err, berth.ErrInvalid, "%q", bad)
	}
}

// Every enumeration prints what it parses, and refuses the rest.
func TestEnumsRoundTrip(t *testing.T) {
	for c := range berth.ClassLatencyCritical + 1 {
		var back berth.Class
		require.NoError(t, back.UnmarshalText([]byte(c.String())))
		require.Equal(t, c, back)
	}
	for m := range berth.ShareTimeSlice + 1 {
		var back berth.ShareMode
		require.NoError(t, back.UnmarshalText([]byte(m.String())))
		require.Equal(t, m, back)
	}
	for l := range berth.LocalityLoose + 1 {
		var back berth.Locality
		require.NoError(t, back.UnmarshalText([]byte(l.String())))
		require.Equal(t, l, back)
	}
	for s := range berth.ReplicaReleasing + 1 {
		var back berth.ReplicaState
		require.NoError(t, back.UnmarshalText([]byte(s.String())))
		require.Equal(t, s, back)
	}
	for o := berth.OutcomeDone; o <= berth.OutcomePartial; o++ {
		var back berth.Outcome
		require.NoError(t, back.UnmarshalText([]byte(o.String())))
		require.Equal(t, o, back)
	}
	for m := berth.GPUModeWhole; m <= berth.GPUModeTimeSlice; m++ {
		var back berth.GPUMode
		require.NoError(t, back.UnmarshalText([]byte(m.String())))
		require.Equal(t, m, back)
	}
	require.Equal(t, "Class(9)", berth.Class(9).String())
	_, err := json.Marshal(berth.ReplicaState(9))
	require.Error(t, err)
}

// Number 0 is one like any other, and what is not known is not 0.
func TestOrdinal(t *testing.T) {
	require.NotEqual(t, berth.Ordinal{}, berth.OrdinalOf(0))
	require.Equal(t, berth.Ordinal{}, berth.OrdinalOf(-1))
	require.Equal(t, berth.Ordinal{}, berth.OrdinalOf(math.MaxInt))
	for _, c := range []struct {
		nic  berth.NIC
		json string
	}{
		{berth.NIC{Name: "a"}, `{"name":"a"}`},
		{berth.NIC{Name: "a", Rail: berth.OrdinalOf(0), NUMANode: berth.OrdinalOf(3)}, `{"name":"a","rail":0,"numaNode":3}`},
	} {
		b, err := json.Marshal(c.nic)
		require.NoError(t, err)
		require.Equal(t, c.json, string(b))
		var back berth.NIC
		require.NoError(t, json.Unmarshal(b, &back))
		require.Equal(t, c.nic, back)
	}
	n, known := berth.OrdinalOf(3).Number()
	require.True(t, known)
	require.Equal(t, 3, n)
	_, known = berth.Ordinal{}.Number()
	require.False(t, known)
	require.Equal(t, "unknown 0", berth.Ordinal{}.String()+" "+berth.OrdinalOf(0).String())
	var o berth.Ordinal
	for _, text := range []string{"-1", "1.5", `"0"`, "1e9", "[]"} {
		require.ErrorIs(t, json.Unmarshal([]byte(text), &o), berth.ErrInvalid, text)
	}
	require.NoError(t, json.Unmarshal([]byte("null"), &o))
}

// Off is one value in every policy, and where it is the default, 0 is the same.
func TestOff(t *testing.T) {
	var policy berth.Policy
	want := policy.WithDefaults()
	policy.UsageHalfLife, policy.Preemption.MinRuntime = berth.Off, berth.Off
	policy.Health.Losses, policy.Health.BurnIn = berth.Off, berth.Off
	policy.Preemption.RateLimit = berth.RateLimit{Evictions: berth.Off, Per: berth.Hour}
	policy.Preemption.QueueRateLimit.Evictions = berth.Off
	require.Nil(t, policy.Check())
	require.Equal(t, want, policy.WithDefaults())
	policy.HotSpares = []berth.HotSpares{{Pool: "a", NodesMilli: berth.Off}}
	require.Nil(t, policy.Check())
	require.Zero(t, policy.WithDefaults().HotSpares[0].NodesMilli)
	policy.ReservedGangs, policy.Preemption.MaxRatio, policy.Preemption.Cooldown = berth.Off, berth.Off, berth.Off
	policy.Preemption.Gain = berth.GainPolicy{Interactive: berth.Off, LatencyCritical: berth.Off, Turn: berth.Off, WaitMilli: berth.Off, Queueing: berth.Off}
	policy.Geometry = []berth.Geometry{{HoldLimit: berth.Off}}
	require.Nil(t, policy.Check())
	made := policy.WithDefaults()
	require.EqualValues(t, berth.Off, made.ReservedGangs)
	require.EqualValues(t, berth.Off, made.Preemption.Cooldown)
	for _, change := range []func(*berth.Policy){
		func(p *berth.Policy) { p.UsageHalfLife-- },
		func(p *berth.Policy) { p.Preemption.MinRuntime-- },
		func(p *berth.Policy) { p.Health.Losses-- },
		func(p *berth.Policy) { p.Health.BurnIn-- },
		func(p *berth.Policy) { p.Preemption.RateLimit.Evictions-- },
		func(p *berth.Policy) { p.Preemption.RateLimit.Per = berth.Off },
		func(p *berth.Policy) { p.Preemption.Gain.WaitMilli-- },
		func(p *berth.Policy) { p.HotSpares[0].NodesMilli-- },
		func(p *berth.Policy) { p.BindTimeout = berth.Off },
		func(p *berth.Policy) { p.PassBudget = berth.Off },
	} {
		p := policy
		p.HotSpares = slices.Clone(p.HotSpares)
		change(&p)
		require.NotNil(t, p.Check())
	}
}

// A span that is off reads and prints as a word, and a span that cannot be off refuses the word.
func TestOffInJSON(t *testing.T) {
	text := `{"usageHalfLife":"off","preemption":{"cooldown":"off","gain":{"turn":"off"}},"geometry":[{"holdLimit":"off"}]}`
	policy, err := berth.DecodePolicy([]byte(text))
	require.NoError(t, err)
	require.EqualValues(t, berth.Off, policy.UsageHalfLife)
	require.EqualValues(t, berth.Off, policy.Preemption.Cooldown)
	require.EqualValues(t, berth.Off, policy.Preemption.Gain.Turn)
	require.EqualValues(t, berth.Off, policy.Geometry[0].HoldLimit)
	b, err := json.Marshal(policy)
	require.NoError(t, err)
	require.JSONEq(t, text, string(b))
	var refusal *berth.Error
	policy, err = berth.DecodePolicy([]byte(`{"bindTimeout":"off"}`))
	if err == nil {
		err = policy.Check()
	}
	require.ErrorAs(t, err, &refusal)
	require.Contains(t, refusal.Error(), "bindTimeout: cannot be off")
}

// What has to be said cannot be written or read unsaid.
func TestUnsetIsRefused(t *testing.T) {
	require.Equal(t, "unset", berth.OutcomeUnset.String())
	require.Equal(t, "unset", berth.GPUModeUnset.String())
	for _, e := range []berth.Event{berth.OrderReported{Order: 1}, berth.GPUPartitioned{Node: "n"}} {
		_, err := berth.EncodeEvent(e)
		require.ErrorContains(t, err, "is not set")
	}
	for _, text := range []string{"", "unset"} {
		err := new(berth.Outcome).UnmarshalText([]byte(text))
		require.ErrorContains(t, err, `is none of ["done" "failed" "partial"]`)
		err = new(berth.GPUMode).UnmarshalText([]byte(text))
		require.ErrorIs(t, err, berth.ErrInvalid)
	}
	var gpu berth.GPU
	require.NoError(t, json.Unmarshal([]byte(`{"product":"T4"}`), &gpu), "a GPU of a node need not say it")
}

func TestTimeSaturates(t *testing.T) {
	require.Equal(t, berth.Time(math.MaxInt64), berth.Time(math.MaxInt64-1).Add(berth.Hour))
	require.Equal(t, berth.Time(math.MinInt64), berth.Time(math.MinInt64+1).Add(-berth.Hour))
	require.Equal(t, berth.Time(3_600_000), berth.Time(0).Add(berth.Hour))
	require.Equal(t, "1h30m0s", (90 * berth.Minute).String())
	require.Equal(t, berth.Time(1500), berth.TimeOf(time.UnixMilli(1500)))
	require.Equal(t, 2*berth.Second, berth.DurationOf(2*time.Second))
}

// A span is written one way, and read in all in which people write it.
func TestDurationTexts(t *testing.T) {
	for text, want := range map[string]berth.Duration{
		"0s": 0, "2m0s": 2 * berth.Minute, "2m": 2 * berth.Minute, "1.5h": 90 * berth.Minute, "-1ms": -1, "168h0m0s": 7 * berth.Day, "1m30.25s": 90_250,
	} {
		d, err := berth.ParseDuration(text)
		require.NoError(t, err)
		require.Equal(t, want, d)
		back, err := berth.ParseDuration(d.String())
		require.NoError(t, err)
		require.Equal(t, want, back)
	}
	b, err := json.Marshal(berth.Policy{BindTimeout: 2 * berth.Minute})
	require.NoError(t, err)
	require.Equal(t, `{"bindTimeout":"2m0s"}`, string(b))
	for _, bad := range []string{`120000`, `"120000"`, `""`, `"2 minutes"`, `"1us"`, `"1.0005s"`, `"3000000h"`, `{}`} {
		_, err := berth.DecodePolicy([]byte(`{"bindTimeout":` + bad + `}`))
		require.ErrorIs(t, err, berth.ErrInvalid, bad)
	}
	_, err = berth.Duration(math.MaxInt64).MarshalText()
	require.ErrorIs(t, err, berth.ErrInvalid)
	_, err = berth.Duration(math.MinInt64).MarshalText()
	require.ErrorIs(t, err, berth.ErrInvalid)
}

func TestTimeTexts(t *testing.T) {
	for want, text := range map[berth.Time]string{
		0: "unset", 1: "1970-01-01T00:00:00.001Z", 1_767_366_245_678: "2026-01-02T15:04:05.678Z", -1: "1969-12-31T23:59:59.999Z",
		math.MaxInt64: "9223372036854775807", math.MinInt64: "-9223372036854775808", 1 << 50: "1125899906842624",
	} {
		require.Equal(t, text, want.String())
		back, err := berth.ParseTime(text)
		require.NoError(t, err)
		require.Equal(t, want, back)
		b, err := json.Marshal(want)
		require.NoError(t, err)
		require.Equal(t, strconv.FormatInt(int64(want), 10), string(b), "in JSON it is a number")
		require.NoError(t, json.Unmarshal(b, &back))
		require.Equal(t, want, back)
	}
	zoned, err := berth.ParseTime("2026-01-02T16:04:05.678+01:00")
	require.NoError(t, err)
	require.Equal(t, berth.Time(1_767_366_245_678), zoned)
	now := time.UnixMilli(1_767_366_245_678)
	require.True(t, now.Equal(berth.TimeOf(now).Std()))
	for _, bad := range []string{"", "yesterday", "2026-01-02", "2026-01-02T15:04:05.6789Z", "1e3"} {
		_, err := berth.ParseTime(bad)
		require.ErrorIs(t, err, berth.ErrInvalid, bad)
	}
	for _, bad := range []string{`"2026-01-02T15:04:05Z"`, `1.5`, `true`, `1e3`} {
		_, err := berth.DecodeEvent([]byte(`{"nodeDraining":{"node":"n","deadline":` + bad + `}}`))
		var e *berth.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, "nodeDraining.deadline", e.Field)
	}
}

// An instant that nobody set is unset in the standard library, too, and prints as no date.
func TestTimeThatNobodySet(t *testing.T) {
	var victim berth.Victim
	require.True(t, victim.Deadline.IsZero())
	require.True(t, victim.Deadline.Std().IsZero())
	require.True(t, berth.TimeOf(time.Time{}).IsZero())
	require.NotContains(t, fmt.Sprintf("%v %+v", victim, victim), "1970")
	require.False(t, berth.Time(1).IsZero())
	require.False(t, berth.Time(-1).Std().IsZero())
	// The zero time.Time of the standard library is an instant as well, and not that one.
	first := berth.Time(time.Time{}.UnixMilli())
	back, err := berth.ParseTime(first.String())
	require.NoError(t, err)
	require.Equal(t, first, back)
}

func FuzzParseDuration(f *testing.F) {
	f.Add("2m0s")
	f.Fuzz(func(t *testing.T, s string) {
		d, err := berth.ParseDuration(s)
		if err != nil {
			require.ErrorIs(t, err, berth.ErrInvalid)
			return
		}
		back, err := berth.ParseDuration(d.String())
		require.NoError(t, err)
		require.Equal(t, d, back)
	})
}

func FuzzParseTime(f *testing.F) {
	f.Add("2026-01-02T15:04:05.678Z")
	f.Fuzz(func(t *testing.T, s string) {
		at, err := berth.ParseTime(s)
		if err != nil {
			require.ErrorIs(t, err, berth.ErrInvalid)
			return
		}
		back, err := berth.ParseTime(at.String())
		require.NoError(t, err)
		require.Equal(t, at, back)
	})
}
