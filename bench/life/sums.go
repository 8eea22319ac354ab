package life

import "github.com/berth-sched/berth"

// Minutes are spans of some jobs, such as their waits, in minutes.
func Minutes(jobs []*Job, span func(*Job) berth.Duration) []float64 {
	list := make([]float64, len(jobs))
	for i, j := range jobs {
		list[i] = float64(span(j)) / float64(berth.Minute)
	}
	return list
}

// Evictions counts those of some jobs.
func Evictions(jobs []*Job) (sum float64) {
	for _, j := range jobs {
		sum += float64(j.Evictions)
	}
	return sum
}

// LostGPUHours are those that some jobs held for nothing; see [Job.Lost].
func LostGPUHours(jobs []*Job) (sum float64) {
	for _, j := range jobs {
		sum += float64(j.Lost()) / float64(berth.Hour)
	}
	return sum
}

// PercentOf is the mean over some slots of some GPUs, in percent of those of a fleet.
func PercentOf(fleet int, slots []Slot, gpus func(*Slot) float64) float64 {
	sum := 0.0
	for i := range slots {
		sum += gpus(&slots[i])
	}
	return 100 * sum / float64(max(len(slots), 1)*fleet)
}
