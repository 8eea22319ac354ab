package berth_test

import (
	"encoding/json"
	"math"
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
	require.Equal(t, berth.GPUSetOf(5), berth.GPUSetOf(-1, 5, 64))
	require.False(t, berth.GPUSetOf(5).Has(64))
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
		back, err := berth.ParseClass(c.String())
		require.NoError(t, err)
		require.Equal(t, c, back)
	}
	for m := range berth.ShareTimeSlice + 1 {
		back, err := berth.ParseShareMode(m.String())
		require.NoError(t, err)
		require.Equal(t, m, back)
	}
	for l := range berth.LocalityLoose + 1 {
		back, err := berth.ParseLocality(l.String())
		require.NoError(t, err)
		require.Equal(t, l, back)
	}
	for s := range berth.ReplicaReleasing + 1 {
		back, err := berth.ParseReplicaState(s.String())
		require.NoError(t, err)
		require.Equal(t, s, back)
	}
	for o := berth.OutcomeDone; o <= berth.OutcomePartial; o++ {
		back, err := berth.ParseOutcome(o.String())
		require.NoError(t, err)
		require.Equal(t, o, back)
	}
	for m := berth.GPUModeWhole; m <= berth.GPUModeTimeSlice; m++ {
		back, err := berth.ParseGPUMode(m.String())
		require.NoError(t, err)
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

// What has to be said cannot be written or read unsaid.
func TestUnsetIsRefused(t *testing.T) {
	require.Equal(t, "unset", berth.OutcomeUnset.String())
	require.Equal(t, "unset", berth.GPUModeUnset.String())
	for _, e := range []berth.Event{berth.OrderReported{Order: 1}, berth.GPUPartitioned{Node: "n"}} {
		_, err := berth.EncodeEvent(e)
		require.ErrorContains(t, err, "is not set")
	}
	for _, text := range []string{"", "unset"} {
		_, err := berth.ParseOutcome(text)
		require.ErrorContains(t, err, `is none of ["done" "failed" "partial"]`)
		_, err = berth.ParseGPUMode(text)
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
