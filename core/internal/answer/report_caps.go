package answer

import (
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
)

// reportCaps lists the caps at which jobs wait. O(slots x log slots).
func (an *Answers) reportCaps() (list []berth.CapReport) {
	for _, key := range slices.SortedFunc(maps.Keys(an.state.Slots), record.SlotsKey.Compare) {
		if s := an.state.Slots[key]; key.Kind != record.SlotsOfArray && s.Ready > 0 {
			list = append(list, berth.CapReport{
				Queue: key.Queue, PerUser: key.Kind == record.SlotsOfUser, User: key.Name,
				Jobs: s.Open, MaxJobs: s.MaxJobs, GPUMilli: s.OpenMilli, MaxGPUMilli: s.MaxMilli, Waiting: s.Ready,
			})
		}
	}
	return list
}
