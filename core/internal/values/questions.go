package values

import "github.com/berth-sched/berth"

// WantsDevice reports whether a claim is for GPUs or a part of one.
func WantsDevice(cl *berth.Claim) bool {
	return cl.GPUs > 0 || cl.Share != nil || cl.Borrow != nil || cl.WantsInstance()
}

// RemembersLosses reports whether it matters to a policy that a node was lost.
func RemembersLosses(h *berth.Health) bool { return h.Losses > 0 || h.BurnIn > 0 }
