package migsim

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/bench/study/studytest"
)

func TestOptions(t *testing.T) {
	studytest.Refuses(t, Run, Defaults(),
		func(o *Options) { o.Product = "moon" },
		func(o *Options) { o.GPUs = 0 },
		func(o *Options) { o.Seeds = 1 },
		func(o *Options) { o.Cases = -1 },
		func(o *Options) { o.Mixes = []string{"uniform", "odd"} },
		func(o *Options) { o.Mixes = nil },
		func(o *Options) { o.Loads = []int{0} },
		func(o *Options) { o.Loads = nil },
	)
}

// A small fleet under more load than it can take: berth is ahead of every baseline or
// within the noise, which the error tells; and the same seeds give the same
// table, on however many processors.
func TestMIG(t *testing.T) {
	o := Defaults()
	o.GPUs, o.Seeds, o.Cases, o.Loads, o.Mixes = 25, 6, 8, []int{60, 110}, []string{"uniform", "bimodal"}
	out, err := studytest.Tell(Run, o)
	require.NoError(t, err)
	for _, text := range append([]string{"Share of the exact optimum", "in 4 of 4 cells", "0 of 24 comparisons"}, policyNames...) {
		require.Contains(t, out, text)
	}
	studytest.Repeats(t, Run, o, out)

	o.Format, o.Cases = study.CSV, 0
	out, err = studytest.Tell(Run, o)
	require.NoError(t, err)
	records := studytest.Records(t, out)
	require.Len(t, records, 1+2*2*len(policyNames))
	require.Equal(t, "mig", records[1][0])
}

// If a baseline is ahead beyond the noise, the experiment says where and fails.
func TestMIGLost(t *testing.T) {
	p := study.Output{}.To(io.Discard)
	c := &cell{load: 85}
	c.mix.Name = "odd"
	for column := range policyNames {
		values := []float64{90, 91, 92, 93}
		if column == mfi {
			values = []float64{90.9, 92, 93, 94}
		}
		c.acceptance = append(c.acceptance, values)
	}
	err := (&experiment{}).verdict(p, []*cell{c})
	require.ErrorContains(t, err, "odd at 85 % to MFI by -0.98 ±0.08")
	require.NotContains(t, err.Error(), "first fit")
}
