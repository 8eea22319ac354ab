package state

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/quota"
)

// slotKeys names the slots that a job needs: those of its array, and those of the caps on its queue
// and on the queues above, the nearest first; of one queue the user's before those of all. A
// service needs none. O(depth x log caps), and nothing where the policy has no caps.
func (st *State) slotKeys(j *record.Job) (keys []record.SlotsKey) {
	if j.Spec.Service != nil {
		return nil
	}
	if j.Spec.Gating().Array != nil {
		keys = append(keys, arrayKey(j))
	}
	if len(st.Config.Policy.Caps) == 0 {
		return keys
	}
	for q := j.Queue; q != quota.RootQueue; q = st.Quota.Parent(q) {
		c := st.capsOn(st.Quota.Name(q))
		if c.MaxJobsPerUser > 0 || c.MaxGPUMilliPerUser > 0 {
			keys = append(keys, record.SlotsKey{Queue: c.Queue, Kind: record.SlotsOfUser, Name: j.Spec.Gating().User})
		}
		if c.MaxJobs > 0 {
			keys = append(keys, record.SlotsKey{Queue: c.Queue, Kind: record.SlotsOfQueue})
		}
	}
	return keys
}

func arrayKey(j *record.Job) record.SlotsKey {
	return record.SlotsKey{Queue: j.Spec.Queue, Kind: record.SlotsOfArray, Name: j.Spec.Gates.Array.Name}
}

// capsOn are the caps that the policy has on a queue.
func (st *State) capsOn(name berth.QueueID) (c berth.QueueCaps) {
	list := st.Config.Policy.Caps
	if at, some := slices.BinarySearchFunc(list, name, func(c berth.QueueCaps, name berth.QueueID) int { return cmp.Compare(c.Queue, name) }); some {
		return list[at]
	}
	return c
}

// newSlots are those of a key, as the policy or the first job of an array has them.
func (st *State) newSlots(key record.SlotsKey, j *record.Job) *record.Slots {
	s := record.NewSlots(key)
	switch c := st.capsOn(key.Queue); key.Kind {
	case record.SlotsOfArray:
		s.MaxJobs = j.Spec.Gates.Array.Width
	case record.SlotsOfUser:
		s.MaxJobs, s.MaxMilli = c.MaxJobsPerUser, c.MaxGPUMilliPerUser
	case record.SlotsOfQueue:
		s.MaxJobs = c.MaxJobs
	}
	return s
}

// countInSlots counts a job among those that share its slots, or counts it no longer.
func (st *State) countInSlots(j *record.Job, change int) {
	for _, key := range st.slotKeys(j) {
		s := st.Slots[key]
		if s == nil {
			s = st.newSlots(key, j)
			st.Slots[key] = s
		}
		if s.Jobs += change; s.Jobs == 0 {
			delete(st.Slots, key)
		}
	}
}

// RecountSlots counts all jobs anew, none of them open or ready yet: the policy has other caps.
func (st *State) RecountSlots() {
	clear(st.Slots)
	clear(st.Lanes)
	for _, j := range st.JobsInOrder() {
		st.countInSlots(j, 1)
	}
}

// SlotsOf are the slots that a known job needs, in the order of slotKeys.
func (st *State) SlotsOf(j *record.Job) (list []*record.Slots) {
	for _, key := range st.slotKeys(j) {
		list = append(list, st.Slots[key])
	}
	return list
}

// OpenSlots counts a job among those that are past their gates, or counts it no longer, and returns
// its slots.
func (st *State) OpenSlots(j *record.Job, change int) []*record.Slots {
	slots, milli := st.SlotsOf(j), int64(change)*j.LaneKey().Milli
	for _, s := range slots {
		s.Open += change
		s.OpenMilli += milli
	}
	return slots
}

// Line has a job that is ready wait in its lane; nil: it needs no slots.
func (st *State) Line(j *record.Job) *record.Lane {
	slots := st.SlotsOf(j)
	if len(slots) == 0 {
		return nil
	}
	key := j.LaneKey()
	l := st.Lanes[key]
	if l == nil {
		l = record.NewLane(key, slots)
		st.Lanes[key] = l
	}
	st.changeLane(l, 1, func() { l.Ready.ReplaceOrInsert(j) })
	return l
}

// Unline undoes Line; a job that is in no lane it leaves alone.
func (st *State) Unline(j *record.Job) {
	l := st.Lanes[j.LaneKey()]
	if l == nil || !l.Ready.Has(j) {
		return
	}
	st.changeLane(l, -1, func() { l.Ready.Delete(j) })
	if l.First == nil {
		delete(st.Lanes, l.Key)
	}
}

// changeLane keeps a lane in its place among those of its slots while a job comes or goes.
func (st *State) changeLane(l *record.Lane, by int, change func()) {
	for _, s := range l.Slots {
		if s.Ready += by; l.First != nil {
			s.Lanes.Delete(l)
		}
	}
	change()
	if l.First, _ = l.Ready.Min(); l.First == nil {
		return
	}
	for _, s := range l.Slots {
		s.Lanes.ReplaceOrInsert(l)
	}
}
