package main

import (
	"encoding/csv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMIGUsage(t *testing.T) {
	for _, args := range [][]string{
		{"-product", "moon"},
		{"-gpus", "0"},
		{"-seeds", "1"},
		{"-cases", "-1"},
		{"-mixes", "uniform,odd"},
		{"-loads", "50,"},
		{"-loads", "0"},
		{"-loads", "half"},
	} {
		status, out, _ := call(append([]string{"mig"}, args...)...)
		require.Equal(t, 2, status, args)
		require.Empty(t, out, args)
	}
}

// A small fleet under more load than it can take: berth is ahead of every baseline or
// within the noise, which the exit status tells; and the same seeds give the same
// table, on however many processors.
func TestMIG(t *testing.T) {
	args := []string{"mig", "-gpus", "25", "-seeds", "6", "-cases", "8", "-loads", "60,110", "-mixes", "uniform,bimodal"}
	status, out, err := call(args...)
	require.Zero(t, status, err)
	for _, text := range append([]string{"Share of the exact optimum", "in 4 of 4 cells", "0 of 24 comparisons"}, migPolicies...) {
		require.Contains(t, out, text)
	}
	_, again, _ := call(args...)
	require.Equal(t, out, again)

	status, out, err = call(append(args, "-csv", "-cases", "0")...)
	require.Zero(t, status, err)
	records, readErr := csv.NewReader(strings.NewReader(out)).ReadAll()
	require.NoError(t, readErr)
	require.Len(t, records, 1+2*2*len(migPolicies))
	require.Equal(t, "mig", records[1][0])
}

// If a baseline is ahead beyond the noise, the experiment says where and fails.
func TestMIGLost(t *testing.T) {
	s := newSession("mig", &strings.Builder{}, &strings.Builder{})
	cell := &migCell{load: 85}
	cell.mix.Name = "odd"
	for column := range migPolicies {
		values := []float64{90, 91, 92, 93}
		if column == migMFI {
			values = []float64{90.9, 92, 93, 94}
		}
		cell.acceptance = append(cell.acceptance, values)
	}
	err := (&migBench{}).verdict(s, []*migCell{cell})
	require.ErrorContains(t, err, "odd at 85 % to MFI by -0.98 ±0.08")
	require.NotContains(t, err.Error(), "first fit")
}

func TestEstimate(t *testing.T) {
	e := estimateOf([]float64{1, 2, 3, 4})
	require.InDelta(t, 2.5, e.mean, 1e-12)
	require.InDelta(t, 3.1824*1.2910/2, e.half, 1e-3, "Student's t for three degrees of freedom")
}
