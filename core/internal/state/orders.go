package state

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
)

// Order fills in the header of the next order; nil: it is for nobody.
func (st *State) Order(rep *record.Replica, timeout berth.Duration, cause berth.Cause) berth.OrderHeader {
	st.LastOrder++
	o := berth.OrderHeader{ID: st.LastOrder, At: st.Now, Cause: cause}
	if rep != nil {
		o.Job, o.Replica, o.Incarnation = rep.Job.Spec.ID, rep.Number, rep.Incarnation
	}
	if timeout > 0 {
		o.Deadline = st.Now.Add(timeout)
	}
	return o
}

// OpenOrder makes the replica's order one that is out.
func (st *State) OpenOrder(rep *record.Replica) {
	h := rep.Order.Header()
	st.Orders[h.ID] = rep
	st.SetTimer(record.Timer{At: h.Deadline, Kind: record.TimerDeadline, Rep: rep})
	st.Emit(rep.Order)
	st.NoteLending(rep)
}

// CloseOrder ends the order that is out, if one is. A gang that it kept from being asked for a last
// checkpoint may be asked now.
func (st *State) CloseOrder(rep *record.Replica) {
	if rep.Order == nil {
		return
	}
	h := rep.Order.Header()
	delete(st.Orders, h.ID)
	st.StopTimer(record.Timer{At: h.Deadline, Kind: record.TimerDeadline, Rep: rep})
	rep.Order = nil
	st.NoteLending(rep)
	if end, limited := rep.RunsUntil(); limited && rep.LimitAt() == end && rep.Job.Spec.Checkpoint.Supported {
		st.SetLimit(rep, max(st.Now, 1)) // 0 is none
	}
}
