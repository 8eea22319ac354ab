package spec

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/limits"
)

// CheckSelector refuses names, amounts, labels and tolerations that make no sense.
func CheckSelector(s *berth.Selector) *berth.Error {
	for _, list := range []struct {
		field  string
		values []string
	}{{"pools", s.Pools}, {"products", s.Products}} {
		for i, v := range list.values {
			if err := refusal.Name(v); err != nil {
				return refusal.In(err, errtext.Index(list.field, i))
			}
		}
	}
	if err := refusal.Amount(s.MinGPUMemoryMiB); err != nil {
		return refusal.In(err, "minGPUMemoryMiB")
	}
	if err := refusal.Labels(s.Labels); err != nil {
		return refusal.In(err, "labels")
	}
	return refusal.In(checkTolerations(s.Tolerations), "tolerations")
}

// checkTolerations refuses tolerations that match nothing, or that say what they do not mean.
func checkTolerations(list []berth.Toleration) *berth.Error {
	if len(list) > limits.MaxTaints {
		return refusal.Of(berth.ErrLimit, "", fmt.Sprintf("%d tolerations; the most is %d", len(list), limits.MaxTaints))
	}
	for i := range list {
		if err := checkToleration(&list[i]); err != nil {
			return refusal.In(err, errtext.Index("", i))
		}
	}
	return nil
}

func checkToleration(t *berth.Toleration) *berth.Error {
	if err := refusal.Text(t.Key); err != nil {
		return refusal.In(err, "key")
	}
	if err := refusal.Text(t.Value); err != nil {
		return refusal.In(err, "value")
	}
	switch {
	case t.Operator > berth.TolerationExists:
		return refusal.Of(berth.ErrInvalid, "operator", fmt.Sprintf("%d is out of range", t.Operator))
	case t.Effect > berth.TaintNoSchedule:
		return refusal.Of(berth.ErrInvalid, "effect", fmt.Sprintf("%d is out of range", t.Effect))
	case t.Key == "" && t.Operator != berth.TolerationExists:
		return refusal.Of(berth.ErrInvalid, "key", "is empty: only the operator Exists is for all keys")
	case t.Value != "" && t.Operator == berth.TolerationExists:
		return refusal.Of(berth.ErrInvalid, "value", "is set, and the operator Exists takes any")
	}
	return nil
}
