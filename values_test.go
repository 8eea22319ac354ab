package berth_test

import (
	"encoding/json"
	"fmt"
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
	for _, outside := range []int{-1, 64, math.MinInt, math.MaxInt} {
		_, err := berth.NewGPUSet(5, outside)
		require.ErrorIs(t, err, berth.ErrInvalid)
		require.ErrorContains(t, err, fmt.Sprint(outside))
		require.Panics(t, func() { berth.GPUSetOf(5, outside) })
	}
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
