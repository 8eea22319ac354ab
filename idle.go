package berth

import (
	"fmt"

	"github.com/berth-sched/berth/internal/enum"
)

// An IdlePolicy says when a replica hoards what it holds, and what becomes of it. A replica is
// quiet while its last [ActivityReported] says no more than QuietMilli. One that holds GPUs, runs
// and has been quiet for QuietFor is idle: Report and Explain name it, and a pass warns it with a
// [WarnIdle], once. One that is still idle after Grace more is dealt with as Action says. A report
// of more than QuietMilli ends all of that at once, without an order: the next time it begins anew.
// But a request for a last checkpoint stands, as to write one is activity.
//
// What was told holds until the next report: for a job of which the measurements have failed, tell
// 1000. A replica of which no report came in its present life is not quiet, nor is one before it is
// known to run. A borrower never is: the GPU is its lender's. Some are named and warned, and
// nothing is done to them: a job that is never evicted (Job.NonPreemptible), and one that lends
// (Job.Lend). To lend what is idle is no Action, as only the job knows how much of the memory of
// its GPUs it uses: see [Lending].
//
// When the policy changes, replicas that are quiet by the new one are so from when they were by
// the old, or from now; those that are idle are warned anew, and requests for last checkpoints
// that were given by the old one are withdrawn.
type IdlePolicy struct {
	// QuietMilli is the activity up to which a replica is quiet: in thousandths, below 1000.
	// Default 50; Off: none is.
	QuietMilli int `json:"quietMilli,omitempty"`
	// QuietFor is how long a replica has to be quiet to be idle. Default: Off, none is.
	QuietFor Duration `json:"quietFor,omitempty"`
	// Grace is how long after its warning an idle replica is left alone; default 10 minutes; Off:
	// not at all.
	Grace Duration `json:"grace,omitempty"`
	// Action is what becomes of it then.
	Action IdleAction `json:"action,omitzero"`
}

// An IdleAction is what becomes of a replica that is idle and was warned.
type IdleAction uint8

const (
	// IdleWarn: nothing. It is named, and was warned.
	IdleWarn IdleAction = iota
	// IdleShrink: a gang with members above its minimum gives these up, by whole segments, with
	// [CauseIdleSurplus], and gets none from its warning on until it is busy again. Nothing is done
	// to others, nor to a gang that has domains for itself (Topology.Exclusive).
	IdleShrink
	// IdleStop: its job ends, as at its time limit (Job.MaxRuntime). A gang that writes checkpoints
	// is asked for a last one first ([RequestCheckpoint]) and stopped once that is reported, or the
	// time for it is over, whatever it tells of its activity meanwhile: to write one is activity.
	// The cause is [CauseIdle]. One with an order out, or members to stop, is asked once that is
	// over. A service is left alone: an autoscaler would only start it again.
	IdleStop
)

const idleActionNames enum.Names = "IdleAction: warn|shrink|stop"

// String is the word for it, as in JSON.
func (a IdleAction) String() string { return enum.Text(idleActionNames, a) }

// MarshalText implements [encoding.TextMarshaler]. A value that is out of range is refused.
func (a IdleAction) MarshalText() ([]byte, error) {
	return enum.Marshal(idleActionNames, a, invalidText)
}

// UnmarshalText implements [encoding.TextUnmarshaler]. An unknown word is refused with an
// *[Error].
func (a *IdleAction) UnmarshalText(b []byte) error {
	return enum.Unmarshal(idleActionNames, a, b, invalidText)
}

func (p *IdlePolicy) check() *Error {
	switch {
	case p.QuietMilli < Off || p.QuietMilli >= 1000:
		return refuse(ErrInvalid, "quietMilli", fmt.Sprintf("%d is outside -1..999", p.QuietMilli))
	case int(p.Action) >= idleActionNames.Len():
		return refuse(ErrInvalid, "action", fmt.Sprintf("%d is out of range", p.Action))
	}
	if err := checkSpan(unlessOff(p.QuietFor)); err != nil {
		return err.in("quietFor")
	}
	return checkSpan(unlessOff(p.Grace)).in("grace")
}
