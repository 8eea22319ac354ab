package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/decimal"
	"github.com/berth-sched/berth/nvmlsrc"
)

// why says at length where a job stands: the core's Explain, in sentences.
func (o *orchestrator) why(name string) (string, error) {
	one := o.records.find(name)
	switch {
	case one == nil:
		return "", fmt.Errorf("%s: %w", name, errUnknownJob)
	case one.end != nil:
		return fmt.Sprintf("%s ended %s: %s\n", name, clock(berth.TimeOf(one.end.At)), one.end.Text), nil
	}
	e, err := o.core.Explain(berth.JobID(name))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	r := &e.Replicas[0]
	fmt.Fprintf(&b, "%s (%s, %s, queue %s) is %s since %s", name, one.wants(), e.Class, e.Queue, r.State, clock(r.Since))
	for i := range r.Members {
		fmt.Fprintf(&b, " on %s", place(&r.Members[i]))
	}
	b.WriteByte('\n')
	line := func(format string, of ...any) { fmt.Fprintf(&b, "  "+format+"\n", of...) }
	if r.Beneficiary.Job != "" {
		line("it is preempted for %s", r.Beneficiary.Job)
	}
	if loan := o.loan(e.Job, r); loan != "" {
		line("it %s", loan)
	}
	if l := o.lives[e.Job]; l != nil && l.switched != 0 {
		line("it had its GPUs to itself again %v after it was last found busy", l.switched)
	}
	if r.BlastRadius != nil && one.Lend == nil && one.Borrow == nil {
		line("it shares its GPU: a fatal fault of one job stops all of them")
	}
	if r.Reason != nil {
		o.explainReason(line, one, r)
	}
	for _, s := range e.Positions {
		line("queue %s: uses %s of the GPUs, is guaranteed %s, fair share %s", s.Queue, decimal.Milli(s.UsedMilli), decimal.Milli(s.GuaranteedMilli), decimal.Milli(s.FairMilli))
	}
	return b.String(), nil
}

// explainReason says why a job waits, what would help, and until when.
func (o *orchestrator) explainReason(line func(string, ...any), one *record, r *berth.ReplicaExplanation) {
	reason := r.Reason
	line("it waits (%s): %s", reason.Code, reason.Text)
	line("would help: %s", reason.Remedy)
	if reason.Preemption != "" {
		line("%s", reason.Preemption)
	}
	for _, y := range reason.Victims {
		text := fmt.Sprintf("%s (%s GPUs) is stopping", y.Job, decimal.Milli(y.GPUMilli))
		if l := o.lives[y.Job]; l != nil && l.request != 0 {
			text = fmt.Sprintf("%s (%s GPUs) writes its checkpoint, until %s at the latest", y.Job, decimal.Milli(y.GPUMilli), clock(l.by))
		}
		line("%s", text)
	}
	for _, y := range reason.PotentialVictims {
		line("%s (%s GPUs) is a potential victim", y.Job, decimal.Milli(y.GPUMilli))
	}
	if hint := o.hint(one, reason); hint != "" {
		line("%s", hint)
	}
	if reason.Until != 0 {
		line("the core looks at it again at %s", clock(reason.Until))
	}
	if f := reason.ExpectedStart; !f.IsZero() {
		line("it is expected to start at %s, late at %s", clock(f.Middle), clock(f.Late))
	}
	if r.Position != 0 {
		line("it is number %d of those that wait in its queue", r.Position)
	}
}

// hint says what could be done about a reason of which the core does not know that
// livenode, or an operator, has the means.
func (o *orchestrator) hint(one *record, reason *berth.Reason) string {
	divided := func(g nvmlsrc.GPU) bool { return g.MIG.Enabled }
	capable := func(g nvmlsrc.GPU) bool { return g.MIG.Capable }
	switch gpus := o.inventory.GPUs; {
	case reason.Code == berth.ReasonTurn, reason.Code == berth.ReasonQuota:
	case one.Borrow != nil:
		return "a job lends its GPUs that was submitted with livenode run -lend"
	case one.MIG != "" && !slices.ContainsFunc(gpus, capable):
		return "the GPUs of this machine have no MIG"
	case one.MIG != "" && !slices.ContainsFunc(gpus, divided):
		return "no GPU is in MIG mode, and that livenode leaves to an operator: nvidia-smi -i 0 -mig 1"
	case one.MIG != "" && !o.machine.migApply:
		return "instances are as they are; livenode serve -mig-apply makes those that jobs wait for"
	case one.MIG == "" && slices.ContainsFunc(gpus, divided):
		return "GPUs in MIG mode are for instances alone; to take one out of it is for an operator: nvidia-smi -i 0 -mig 0"
	}
	return ""
}

// shortReason says why a job waits in a line.
func (o *orchestrator) shortReason(one *record, reason *berth.Reason) string {
	hint := o.hint(one, reason)
	switch {
	case one.MIG != "" && hint != "":
		return hint
	case len(reason.Victims) > 0:
		var names []string
		for _, y := range reason.Victims {
			names = append(names, string(y.Job))
		}
		return "preemption under way: waiting for " + strings.Join(names, ", ") + " to stop"
	case reason.Until != 0 && reason.Code == berth.ReasonBackoff:
		return fmt.Sprintf("%s; tried again at %s", reason.Text, clock(reason.Until))
	}
	return fmt.Sprintf("%s: %s", reason.Code, reason.Text)
}

// clock is the time of day of an instant, with its date unless that is today's.
func clock(t berth.Time) string {
	at, format := time.UnixMilli(int64(t)), "15:04:05"
	if y, m, d := at.Date(); time.Now().Format(time.DateOnly) != fmt.Sprintf("%04d-%02d-%02d", y, m, d) {
		format = "2006-01-02 15:04:05"
	}
	return at.Format(format)
}
