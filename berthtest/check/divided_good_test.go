package check_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/mig"
)

// TestWhatIsDividedRightly takes GPUs through changes that are right.
func TestWhatIsDividedRightly(t *testing.T) {
	z := newZoo(t)
	divisible(z)

	// An instance stays in use beside the change, and is given while it is under way.
	z.seated("kept", "a1", "3g.40gb@0:4")
	r, b := z.remade()
	z.pass(r, b)
	z.submit("b", 1, part("1g.10gb"), func(j *berth.Job) { j.Tenant = "bob" })
	z.pass(z.bind("b", seat(0, "f1", 0, "1g.10gb@5:1")))
	z.tell(berth.OrderReported{Order: r.ID, Outcome: berth.OutcomeDone})
	z.tell(berth.OrderReported{Order: b.ID, Outcome: berth.OutcomeDone})
	require.Equal(t, 1, z.c.Cases()["repartition beside instances in use"])

	// Somebody runs on what nobody reported: it is done.
	s, d := z.change("c", "f1", 1, berth.GPUModeMPS, berth.CauseMode), half(0, "f1", 1)
	z.submit("c", 1, halves)
	c := after(z.bind("c", d), s)
	z.pass(s, c)
	z.tell(berth.OrderReported{Order: c.ID, Outcome: berth.OutcomeDone})
	z.now = s.Deadline
	z.pass(z.release("b", berth.CauseBindExpired, seat(0, "f1", 0, "1g.10gb@5:1")))
	require.Equal(t, 1, z.c.Cases()["repartition expired, and done"])
	z.submit("d", 1, halves)
	z.pass(z.bind("d", half(0, "f1", 1)))

	// One fails: its gang is placed anew after a backoff, and the GPU may be used as it was.
	z.submit("e", 1)
	mps := z.change("e", "p1", 1, berth.GPUModeMPS, berth.CauseMode)
	z.submit("f", 1, halves)
	mps.Job = "f"
	f := after(z.bind("f", half(0, "p1", 1)), mps)
	z.pass(mps, f)
	z.tell(berth.OrderReported{Order: mps.ID, Outcome: berth.OutcomeFailed})
	z.pass(z.bind("e", on(0, "p1", 1)))
	z.tell(berth.OrderReported{Order: f.ID, Outcome: berth.OutcomeFailed})
	require.Equal(t, 1, z.c.Cases()["repartition failed while binding"])

	// One is lost with nobody on it: the GPU is told, and used.
	whole := z.change("g", "a1", 1, berth.GPUModeTimeSlice, berth.CauseMode)
	z.submit("g", 1, halves, func(j *berth.Job) {
		j.Class, j.Groups[0].Claim.Share.Mode = berth.ClassInteractive, berth.ShareTimeSlice
	})
	z.pass(whole, after(z.bind("g", half(0, "a1", 1)), whole))
	z.tell(berth.GPUFailed{Node: "a1", GPU: 1})
	z.tell(berth.GPURepaired{Node: "a1", GPU: 1})
	z.tell(berth.GPUPartitioned{Node: "a1", GPU: 1, Mode: berth.GPUModeMIG, Instances: []mig.Placement{at("7g.80gb@0:8")}})
	z.submit("h", 1, fraction(60, 70_000))
	z.pass(z.bind("h", seat(0, "a1", 1, "7g.80gb@0:8")))
}
