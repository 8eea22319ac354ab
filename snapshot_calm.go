package berth

import (
	"cmp"
	"fmt"

	"github.com/berth-sched/berth/quota"
)

// A savedMeter is when so many evictions are possible again as a rate ever lets: in a
// queue, or in the fleet.
type savedMeter struct {
	Queue QueueID `json:"queue,omitempty"`
	Full  Time    `json:"full,omitempty"`
	Held  Time    `json:"held,omitempty"`
}

// saveMeters saves the meters that ever counted anything.
func (c *Core) saveMeters(s *snapshot) {
	s.OwnGain = c.config.Gain != nil
	if c.evictions != (meter{}) {
		s.Evictions = &savedMeter{Full: c.evictions.full, Held: c.evictions.held}
	}
	for _, name := range c.quota.Queues() {
		i, _ := c.quota.Lookup(name)
		if q := c.queues[i]; q.evictions != (meter{}) {
			s.QueueEvictions = append(s.QueueEvictions, savedMeter{QueueID(name), q.evictions.full, q.evictions.held})
		}
	}
}

func (c *Core) restoreMeters(s *snapshot) *Error {
	if m := s.Evictions; m != nil {
		if m.Queue != "" || m.Full < 0 || m.Held < 0 {
			return refuse(ErrInvalid, "evictions", "names a queue, or an instant before the epoch")
		}
		c.evictions = meter{m.Full, m.Held}
	}
	for i := range s.QueueEvictions {
		m := &s.QueueEvictions[i]
		q, known := c.quota.Lookup(string(m.Queue))
		if !known || q == quota.Root || min(m.Full, m.Held) < 0 || i > 0 && cmp.Compare(s.QueueEvictions[i-1].Queue, m.Queue) >= 0 {
			return refuse(ErrInvalid, index("queueEvictions", i), fmt.Sprintf("%q is no queue, or out of order, or an instant is before the epoch", m.Queue))
		}
		c.queues[q].evictions = meter{m.Full, m.Held}
	}
	return nil
}
