package berth

import (
	"fmt"

	"github.com/berth-sched/berth/quota"
)

// describe says what a fraction has to have.
func (f *Fraction) describe() string {
	switch {
	case f.MinMemoryMiB == 0:
		return fmt.Sprintf("one instance with %d SMs", f.MinSMs)
	case f.MinSMs == 0:
		return "one instance with " + amount(quota.Memory, f.MinMemoryMiB)
	}
	return fmt.Sprintf("one instance with %d SMs and %s", f.MinSMs, amount(quota.Memory, f.MinMemoryMiB))
}

// explainGeometry adds what a change of a GPU has to do with the wait.
func (c *Core) explainGeometry(e *entry, reason *Reason) {
	switch d := e.rep.drain; {
	case d != nil:
		reason.Kept, reason.Until = &GPURef{d.node.spec.ID, d.gpu}, d.until
		reason.Text += fmt.Sprintf("; GPU %d of node %s is kept for it until it is clear, for another %v at most", d.gpu, d.node.spec.ID, d.until.Sub(c.now))
	case c.pliable == 0 || !e.bucket.shape.claimsDevice():
	case e.rep.reshapeAt > c.now:
		reason.Until = e.rep.reshapeAt
		reason.Text += fmt.Sprintf("; GPUs may be repartitioned for it in %v, not before it has waited for what that costs and the rates allow it", e.rep.reshapeAt.Sub(c.now))
	}
}
