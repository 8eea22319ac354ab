package workload

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/berth-sched/berth"
)

// singles is the share of jobs with one GPU. The summaries tell no more than that the median is
// one, so that it is a half at the least.
const singles = 0.6

// A fit is the distribution of the GPUs and run times of jobs that has the figures of a
// profile: a job has 2^k GPUs with probability sizes[k], and given k its run time is
// log-normal with the median exp(mu + beta k) and width sigma, cut at most seconds.
type fit struct {
	sizes           []float64
	mu, beta, sigma float64
	most            float64
}

// fitted solves for the distribution with the profile's mean number of GPUs, median and
// mean run time, and GPU time. O(1): bisections of fixed depth within each other.
func (p *Profile) fitted() (fit, error) {
	refuse := func(format string, args ...any) (fit, error) {
		return fit{}, fmt.Errorf("workload: profile %q: "+format+": %w", append(append([]any{p.Name}, args...), ErrOptions)...)
	}
	if err := p.check(); err != "" {
		return refuse("%s", err)
	}
	f := fit{most: p.MaxRuntime.Std().Seconds()}
	if !f.fitSizes(p.MeanGPUs, bits.Len(uint(p.MaxGPUs))) {
		return refuse("no shares of sizes up to %d have a mean of %g GPUs", p.MaxGPUs, p.MeanGPUs)
	}
	if !f.fitRuntimes(p.MedianRuntime.Std().Seconds(), p.MeanRuntime.Std().Seconds(), p.GPUTime*3600/float64(p.Jobs)) {
		return refuse("no run times have this median, mean and GPU time")
	}
	return f, nil
}

func (p *Profile) check() string {
	for _, c := range []struct {
		broken bool
		reason string
	}{
		{p.Name == "", "it has no name"},
		{p.GPUs < 1 || p.GPUs > 1<<20, "GPUs are outside 1..1048576"},
		{p.Jobs < 1 || p.Span < 1, "jobs or span are not positive"},
		{p.MaxGPUs < 2 || p.MaxGPUs&(p.MaxGPUs-1) != 0 || p.MaxGPUs > maxJobGPUs, "the most GPUs of a job is no power of two of 2 to 65536"},
		{!(p.MeanGPUs > 1 && p.MeanGPUs < float64(p.MaxGPUs)), "the mean of GPUs is not between 1 and the most"},
		{p.MedianRuntime < 1 || p.MeanRuntime <= p.MedianRuntime || p.MaxRuntime <= p.MeanRuntime, "median, mean and most of the run times do not rise"},
		{p.MaxRuntime > 3650*berth.Day, "the longest run time is over ten years"},
		{slices.ContainsFunc(p.Queues, func(q QueueShare) bool { return q.GPUs < 1 || q.GPUs > maxJobGPUs || !isName(q.Name) }), "a queue has no name, or GPUs outside 1..65536"},
		{!(p.GPUTime > 0) || math.IsInf(p.GPUTime, 0), "the GPU time is no positive number"},
	} {
		if c.broken {
			return c.reason
		}
	}
	return ""
}

// fitSizes has one GPU for the share of singles, and for the others whatever ratio from
// each size to the next one gives the mean.
func (f *fit) fitSizes(mean float64, sizes int) bool {
	f.sizes = make([]float64, sizes)
	_, ok := bisect(0.001, 1000, mean, func(ratio float64) float64 {
		sum, share := 0.0, 1.0
		for k := 1; k < sizes; k++ {
			f.sizes[k] = share
			sum += share
			share *= ratio
		}
		f.sizes[0] = singles
		got := singles
		for k := 1; k < sizes; k++ {
			f.sizes[k] *= (1 - singles) / sum
			got += f.sizes[k] * gpusOfSize(k)
		}
		return got
	})
	return ok
}

func gpusOfSize(k int) float64 { return float64(int(1) << k) }

// fitRuntimes finds mu for the median, sigma for the mean and beta for the GPU time of a
// job, all in seconds: each in the range of the one before.
func (f *fit) fitRuntimes(median, mean, gpuTime float64) bool {
	fitMean := func() bool {
		_, ok := bisect(0.05, 6, mean, func(sigma float64) float64 {
			f.sigma = sigma
			f.fitMedian(median)
			return f.mean(func(int) float64 { return 1 })
		})
		return ok
	}
	reached := true
	_, ok := bisect(-2, 4, gpuTime, func(beta float64) float64 {
		f.beta = beta
		reached = fitMean()
		return f.mean(gpusOfSize)
	})
	return ok && reached
}

func (f *fit) fitMedian(median float64) {
	spread := (math.Abs(f.beta) + f.sigma) * float64(len(f.sizes))
	at := math.Log(median)
	f.mu, _ = bisect(at-spread, at+spread, -0.5, func(mu float64) float64 {
		below := 0.0
		for k, share := range f.sizes {
			below += share * distuv.UnitNormal.CDF((at-mu-f.beta*float64(k))/f.sigma)
		}
		return -below
	})
}

// mean is that of the run time times a weight of the size, in closed form.
func (f *fit) mean(weight func(k int) float64) float64 {
	sum, top := 0.0, math.Log(f.most)
	for k, share := range f.sizes {
		mu, v := f.mu+f.beta*float64(k), f.sigma*f.sigma
		below := math.Exp(mu+v/2) * distuv.UnitNormal.CDF((top-mu-v)/f.sigma)
		above := f.most * distuv.UnitNormal.CDF((mu-top)/f.sigma)
		sum += share * weight(k) * (below + above)
	}
	return sum
}

// bisect finds where a rising function has a value. It reports whether the ends enclose it.
// The function was last called with what is returned.
func bisect(low, high, value float64, f func(float64) float64) (float64, bool) {
	enclosed := f(low) <= value && f(high) >= value
	for range 50 {
		middle := (low + high) / 2
		if f(middle) < value {
			low = middle
		} else {
			high = middle
		}
	}
	f(high)
	return high, enclosed
}
