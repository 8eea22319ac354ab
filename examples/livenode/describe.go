package main

import (
	"fmt"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/mig"
)

// describe says an order in a sentence.
func describe(order berth.Order) string {
	h := order.Header()
	switch a := order.(type) {
	case berth.Bind:
		return fmt.Sprintf("start %s on %s%s", h.Job, place(&a.Members[0]), because(h.Cause))
	case berth.Release:
		again := ""
		if a.Attempt > 1 {
			again = fmt.Sprintf(", attempt %d", a.Attempt)
		}
		return fmt.Sprintf("stop %s%s%s", h.Job, again, because(h.Cause))
	case berth.RequestCheckpoint:
		return fmt.Sprintf("ask %s for a checkpoint%s", h.Job, because(h.Cause))
	case berth.Withdraw:
		return fmt.Sprintf("withdraw the checkpoint request to %s%s", h.Job, because(h.Cause))
	case berth.Repartition:
		return fmt.Sprintf("put GPU %d in mode %s%s%s", a.GPU, a.Mode, steps(&a), because(h.Cause))
	case berth.WarnIdle:
		return fmt.Sprintf("warn %s%s", h.Job, because(h.Cause))
	case berth.Drop:
		return fmt.Sprintf("give %s up%s", h.Job, because(h.Cause))
	}
	return order.Kind()
}

// steps lists the instances that a Repartition destroys and creates.
func steps(a *berth.Repartition) string {
	var list []string
	for _, p := range a.Destroy {
		list = append(list, "-"+p.String())
	}
	for _, p := range a.Create {
		list = append(list, "+"+p.String())
	}
	if list == nil {
		return ""
	}
	return " (" + strings.Join(list, " ") + ")"
}

func because(c berth.Cause) string {
	text := " because: " + string(c.Code)
	if c.Beneficiary.Job != "" {
		text += " for " + string(c.Beneficiary.Job)
	}
	if c.Detail != "" {
		text += ", " + c.Detail
	}
	return text
}

// place says what a member holds.
func place(m *berth.MemberPlacement) string {
	switch {
	case m.Instance != (mig.Placement{}):
		return fmt.Sprintf("GPU %s, instance %s", m.GPUs, m.Instance)
	case m.ShareMilli != 0:
		return fmt.Sprintf("GPU %s, %d%% of it", m.GPUs, m.MPSActiveThreadPercentage())
	case m.Borrowed:
		return "GPU " + m.GPUs.String() + ", borrowed"
	case m.GPUs.Len() == 1:
		return "GPU " + m.GPUs.String()
	}
	return "GPUs " + m.GPUs.String()
}
