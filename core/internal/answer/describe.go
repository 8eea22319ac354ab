package answer

import (
	"fmt"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/values"
	"github.com/berth-sched/berth/internal/decimal"
	"github.com/berth-sched/berth/quota"
)

// describe names a group and its claim, as in "group workers (8 GPUs each)" or "the gang (8 GPUs)".
func (an *Answers) describe(e *record.Entry, group int) string {
	claim := an.each(e, group, e.Bucket.Shape.Spec.Groups[group].Members)
	if e.Grows {
		group = e.Part()
	}
	if groups := e.Rep.Job.Spec.Groups; len(groups) > 1 {
		return "group " + groups[group].Name + " (" + claim + ")"
	}
	return "the gang (" + claim + ")"
}

// each is what a number of members of a group claim, as in "8 GPUs each".
func (an *Answers) each(e *record.Entry, group, members int) string {
	cl := &e.Bucket.Shape.Spec.Groups[group].Claim
	var parts []string
	if cl.GPUs > 0 {
		parts = append(parts, values.Amount(quota.GPUMilli, int64(cl.GPUs)*1000))
	}
	if cl.MIG != "" {
		parts = append(parts, "one "+cl.MIG+" instance")
	}
	if f := cl.MinInstance; f != nil {
		parts = append(parts, describeFraction(f))
	}
	if cl.Share != nil {
		parts = append(parts, decimal.Milli(int64(cl.Share.GPUMilli))+" of a GPU")
	}
	if cl.Borrow != nil {
		parts = append(parts, "one borrowed GPU with "+values.Amount(quota.MemoryMiB, cl.Borrow.MemoryMiB))
	}
	parts = append(parts, values.HostClaim(cl)...)
	for _, d := range an.state.Config.Resources {
		if asked := cl.Resources[d.Name]; asked > 0 {
			parts = append(parts, d.Words(asked))
		}
	}
	if members == 1 {
		return strings.Join(parts, ", ")
	}
	return strings.Join(parts, ", ") + " each"
}

// describeFraction says what a fraction has to have.
func describeFraction(f *berth.MinInstance) string {
	switch {
	case f.MinMemoryMiB == 0:
		return fmt.Sprintf("one instance with %d SMs", f.MinSMs)
	case f.MinSMs == 0:
		return "one instance with " + values.Amount(quota.MemoryMiB, f.MinMemoryMiB)
	}
	return fmt.Sprintf("one instance with %d SMs and %s", f.MinSMs, values.Amount(quota.MemoryMiB, f.MinMemoryMiB))
}
