package workload

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"
)

// TestFitHasTheFigures compares the distribution with what it was fitted to: moments from
// the quantiles of each size, which know nothing of the closed form that the fit uses.
func TestFitHasTheFigures(t *testing.T) {
	const quantiles = 20_000
	for _, p := range Profiles() {
		t.Run(p.Name, func(t *testing.T) {
			f, err := p.fitted()
			require.NoError(t, err)
			var shares, meanGPUs, mean, gpuTime float64
			type weighted struct{ seconds, share float64 }
			var all []weighted
			for k, share := range f.sizes {
				shares += share
				meanGPUs += share * gpusOfSize(k)
				for i := range quantiles {
					z := distuv.UnitNormal.Quantile((float64(i) + 0.5) / quantiles)
					seconds := min(math.Exp(f.mu+f.beta*float64(k)+f.sigma*z), f.most)
					part := share / quantiles
					mean += part * seconds
					gpuTime += part * seconds * gpusOfSize(k)
					all = append(all, weighted{seconds, part})
				}
			}
			slices.SortFunc(all, func(a, b weighted) int { return cmp.Compare(a.seconds, b.seconds) })
			below, median := 0.0, 0.0
			for _, w := range all {
				if below += w.share; below >= 0.5 {
					median = w.seconds
					break
				}
			}
			require.InDelta(t, 1, shares, 1e-9)
			require.InEpsilon(t, p.MeanGPUs, meanGPUs, 1e-9)
			require.InEpsilon(t, p.MedianRuntime.Std().Seconds(), median, 0.001)
			require.InEpsilon(t, p.MeanRuntime.Std().Seconds(), mean, 0.01)
			require.InEpsilon(t, p.GPUTime*3600/float64(p.Jobs), gpuTime, 0.01)
		})
	}
}
