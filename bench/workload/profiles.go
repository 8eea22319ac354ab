package workload

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berth-sched/berth"
)

// A Profile is what a published summary tells about the jobs with GPUs of one cluster. A
// Synthetic workload is drawn from it.
type Profile struct {
	Name string
	// GPUs of the cluster, on machines of eight.
	GPUs int
	// Jobs with GPUs in that time.
	Jobs int
	Span berth.Duration
	// MeanGPUs of a job, whose median is 1, and the most, a power of two.
	MeanGPUs float64
	MaxGPUs  int
	// Run times of jobs.
	MedianRuntime, MeanRuntime, MaxRuntime berth.Duration
	// GPUTime is the sum of GPUs times run time over all jobs, in hours. It is more than
	// Jobs times MeanGPUs times MeanRuntime where large jobs run longer.
	GPUTime float64
	// Queues are the virtual clusters with their GPUs; none: one queue has all.
	Queues []QueueShare
}

// A QueueShare is how many GPUs are a queue's own.
type QueueShare struct {
	Name string
	GPUs int
}

// Profiles are the clusters whose summaries are published, each time for six months:
//
//   - Venus, Earth, Saturn and Uranus are of Helios (Hu et al., "Characterization and
//     Prediction of Deep Learning Workloads in Large-Scale GPU Datacenters", SC 2021, with its
//     data set, CC-BY-4.0): the file helios_cluster_summary.csv, with the virtual clusters of
//     Venus from Venus_vc_config.csv, in nodes of eight GPUs, and those of Earth from
//     Earth_gpu_number.csv, averaged over its days and rounded, without those below eight
//     GPUs.
//   - Seren and Kalos are of Acme (Hu et al., "Characterization of Large Language Model
//     Development in the Datacenter", NSDI 2024, with its data set, CC-BY-4.0): the file
//     cluster_summary.csv. GPUs are those of the paper; no virtual clusters are published.
//
// The most GPUs of a Helios job is published for all four clusters together, 2,048; where the
// largest virtual cluster or the cluster has less, the power of two below that stands
// here.
func Profiles() []Profile {
	const halfYear = 183 * berth.Day
	seconds := func(s float64) berth.Duration { return berth.Duration(s * 1000) }
	return []Profile{
		{
			Name: "venus", GPUs: 1022, Jobs: 125_303, Span: halfYear, MeanGPUs: 6.736, MaxGPUs: 256,
			MedianRuntime: seconds(204), MeanRuntime: seconds(13_040.598), MaxRuntime: seconds(4_320_009),
			GPUTime: (6_373_315_670 + 4_920_266_598 + 1_052_030_340) / 3600.0,
			Queues: []QueueShare{
				{"vcEwI", 72},
				{"vcWoR", 40},
				{"vcHvQ", 64},
				{"vcvGl", 160},
				{"vc8Gr", 48},
				{"vcKeu", 96},
				{"vcKrE", 32},
				{"vcYVn", 88},
				{"vchbv", 32},
				{"vcLTP", 64},
				{"vchA3", 24},
				{"vcJsw", 256},
				{"vcefl", 80},
				{"vcvlY", 16},
				{"vcgkz", 8},
			},
		},
		{
			Name: "earth", GPUs: 997, Jobs: 427_148, Span: halfYear, MeanGPUs: 2.101, MaxGPUs: 128,
			MedianRuntime: seconds(234), MeanRuntime: seconds(5130.609), MaxRuntime: seconds(4_320_009),
			GPUTime: (5_713_038_873 + 4_793_853_520 + 932_310_362) / 3600.0,
			Queues: []QueueShare{
				{"vchbv", 68},
				{"vc4om", 48},
				{"vcVP5", 89},
				{"vc6YE", 201},
				{"vchA3", 20},
				{"vccaA", 34},
				{"vcTJs", 51},
				{"vcvlY", 103},
				{"vcSoL", 32},
				{"vcMod", 61},
				{"vcpDC", 56},
				{"vc3sl", 56},
				{"vc8Sj", 24},
				{"vcJLV", 18},
				{"vcLJZ", 57},
				{"vcJkd", 16},
				{"vcdI0", 16},
				{"vcira", 20},
				{"vcgkz", 8},
				{"vc7hD", 9},
			},
		},
		{
			Name: "saturn", GPUs: 2080, Jobs: 698_896, Span: halfYear, MeanGPUs: 4.01, MaxGPUs: 2048,
			MedianRuntime: seconds(124), MeanRuntime: seconds(5252.927), MaxRuntime: seconds(4_320_009),
			GPUTime: (14_375_709_962 + 10_733_792_235 + 2_542_859_066) / 3600.0,
		},
		{
			Name: "uranus", GPUs: 2119, Jobs: 329_117, Span: halfYear, MeanGPUs: 4.038, MaxGPUs: 2048,
			MedianRuntime: seconds(280), MeanRuntime: seconds(9163.725), MaxRuntime: seconds(4_320_009),
			GPUTime: (13_532_231_815 + 10_267_196_772 + 2_761_134_934) / 3600.0,
		},
		{
			Name: "seren", GPUs: 2288, Jobs: 663_813, Span: halfYear, MeanGPUs: 5.68, MaxGPUs: 1024,
			MedianRuntime: seconds(122), MeanRuntime: seconds(1414.335), MaxRuntime: seconds(1_209_604),
			GPUTime: (4_560_592_618 + 14_274_584_510 + 2_675_447_459) / 3600.0,
		},
		{
			Name: "kalos", GPUs: 2416, Jobs: 19_907, Span: halfYear, MeanGPUs: 26.77, MaxGPUs: 1024,
			MedianRuntime: seconds(124), MeanRuntime: seconds(1259.689), MaxRuntime: seconds(625_740),
			GPUTime: (1_667_685_146 + 3_239_202_064 + 426_292_851) / 3600.0,
		},
	}
}

// FindProfile finds one of Profiles by its name.
func FindProfile(name string) (Profile, error) {
	all := Profiles()
	at := slices.IndexFunc(all, func(p Profile) bool { return p.Name == name })
	if at < 0 {
		var names []string
		for _, p := range all {
			names = append(names, p.Name)
		}
		return Profile{}, fmt.Errorf("workload: there is no profile %q; there are %s: %w", name, strings.Join(names, ", "), ErrOptions)
	}
	return all[at], nil
}
