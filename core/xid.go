package core

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/internal/limits"
)

// xidReported condemns a GPU if the fault is the hardware's, and counts it.
func (c *Core) xidReported(e berth.XidReported) *berth.Error {
	n, err := c.knownGPU(e.Node, e.GPU)
	if err != nil {
		return err
	}
	if e.Xid < 1 || e.Xid > limits.MaxOrdinal {
		return refusal.Of(berth.ErrInvalid, "xid", fmt.Sprintf("%d is outside 1..%d", e.Xid, limits.MaxOrdinal))
	}
	if err := refusal.Text(e.Reason); err != nil {
		return refusal.In(err, "reason")
	}
	c.totals.Xids++
	x := berth.LookupXid(e.Xid)
	if x.Effect == berth.XidCondemns || x.Effect == berth.XidSuspect && n.trust.Trial != 0 {
		c.condemn(n, e.GPU, describeXid(&x, e.Reason))
	}
	return nil
}

// describeXid joins number, name and reason.
func describeXid(x *berth.Xid, reason string) string {
	what := fmt.Sprintf("Xid %d", x.Number)
	if x.Name != "" {
		what += ", " + x.Name
	}
	return berth.Detail(what, reason)
}
