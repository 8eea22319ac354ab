package mig

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// The profiles that serve a need, and their order, against a plain filter and sort,
// for needs at and around each fact of each product.
func TestServingAgreesWithAFilter(t *testing.T) {
	products := Products()
	for _, product := range Products() {
		slices.Reverse(product.Profiles) // so that the order is not that of the indexes
		products = append(products, product)
	}
	for _, product := range products {
		l, err := NewLattice(product)
		require.NoError(t, err)
		needs := []Need{{}, {SMs: -1, MemoryMiB: -1}, {SMs: math.MaxInt}, {MemoryMiB: math.MaxInt64}}
		for _, a := range product.Profiles {
			for _, b := range product.Profiles {
				for by := range 3 {
					needs = append(needs, Need{SMs: a.SMs + by - 1, MemoryMiB: b.MemoryMiB + int64(by) - 1})
				}
			}
		}
		for _, need := range needs {
			var want []int
			for p, profile := range product.Profiles {
				sms := need.SMs <= 0 || profile.SMs > 0 && profile.SMs >= need.SMs
				memory := need.MemoryMiB <= 0 || profile.MemoryMiB > 0 && profile.MemoryMiB >= need.MemoryMiB
				require.Equal(t, sms && memory, need.servedBy(&profile))
				if sms && memory {
					want = append(want, p)
				}
			}
			slices.SortFunc(want, func(i, j int) int {
				a, b := product.Profiles[i], product.Profiles[j]
				engines := func(e Engines) int { return e.Copy + e.NVDEC + e.NVENC + e.JPEG + e.OFA }
				return cmp.Or(a.MemorySlices-b.MemorySlices, a.ComputeSlices-b.ComputeSlices,
					engines(a.Engines)-engines(b.Engines), int(a.Name.Attribute)-int(b.Name.Attribute), i-j)
			})
			require.Equal(t, want, l.AppendServing(nil, need), "%s, %+v", product.Name, need)
		}
	}
}

func TestServing(t *testing.T) {
	for _, test := range []struct {
		product string
		need    Need
		names   []string
	}{
		{"H100-80GB", Need{SMs: 30, MemoryMiB: 18 << 10}, []string{"2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"}},
		{"H100-80GB", Need{MemoryMiB: 18 << 10}, []string{"1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"}},
		{"A100-40GB", Need{SMs: 14}, []string{"1g.5gb", "1g.5gb+me", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"}},
		{"A100-40GB", Need{SMs: 99}, nil},
		{"RTX PRO 6000", Need{SMs: 90}, []string{"2g.48gb-me", "2g.48gb", "2g.48gb+gfx", "2g.48gb+me.all", "4g.96gb", "4g.96gb+gfx"}},
		{"GH200-144GB", Need{MemoryMiB: 40 << 10}, nil}, // those that have it are not known to
		{"MI300X", Need{SMs: 100, MemoryMiB: 90 << 10}, []string{"dpx_nps1", "dpx_nps2", "spx_nps1"}},
	} {
		l := lattice(t, test.product)
		var names []string
		for _, p := range l.AppendServing(nil, test.need) {
			names = append(names, l.product.Profiles[p].Name.String())
		}
		require.Equal(t, test.names, names)
	}
}

// The instances of any layout count as no more than one GPU, and have no more than
// its SMs.
func TestThousandthsOfALayoutAreAtMostAThousand(t *testing.T) {
	for _, product := range Products() {
		l, err := NewLattice(product)
		require.NoError(t, err)
		for s := range State(l.States()) {
			milli, sms := 0, 0
			for p, profile := range product.Profiles {
				n := l.Instances(s, p)
				milli += n * l.GPUMilli(p)
				sms += n * product.MilliSMs(profile)
			}
			if max(milli, sms) > 1000 {
				t.Fatalf("%s: %s counts as %d, with %d of the SMs", product.Name, l.Layout(s), milli, sms)
			}
		}
		whole := len(product.Profiles) - 1
		require.Equal(t, 1000, l.GPUMilli(whole))
		require.Zero(t, l.GPUMilli(-1)+l.GPUMilli(whole+1))
	}
}

func TestThroughputTax(t *testing.T) {
	for _, test := range []struct {
		product, profile string
		milli, sms       int
	}{
		{"A100-40GB", "1g.5gb", 125, 129},
		{"A100-40GB", "1g.10gb", 250, 129},
		{"A100-40GB", "7g.40gb", 1000, 907},
		{"H100-80GB", "3g.40gb", 500, 454},
		{"A30", "2g.12gb", 500, 500},
		{"GB200-186GB", "1g.23gb", 125, 0}, // the whole is not known
		{"MI300X", "cpx_nps4", 125, 125},
	} {
		l := lattice(t, test.product)
		p := profileIndex(t, l, test.profile)
		profile, _ := l.Profile(p)
		require.Equal(t, test.milli, l.GPUMilli(p), test.profile)
		require.Equal(t, test.sms, l.Product().MilliSMs(profile), test.profile)
	}
	huge := Product{GPUSMs: math.MaxInt}
	require.Equal(t, 499, huge.MilliSMs(Profile{SMs: math.MaxInt / 2}))
	require.Equal(t, 1000, Product{GPUSMs: 1}.MilliSMs(Profile{SMs: math.MaxInt}))
}
