package nvmlsrc

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/berth-sched/berth"
)

// observe takes a reading and says what follows from it.
func (m *Monitor) observe() (Reading, error) {
	s := m.source
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.driver == nil || m.closed() {
		return Reading{}, &Error{GPU: NoGPU, Query: queryXids, Kind: ErrClosed}
	}
	var o Reading
	if m.gap != nil {
		o.Gaps = append(o.Gaps, m.gap)
	}
	if m.watch == nil && !errors.Is(m.gap, ErrUnsupported) {
		m.register(s.driver)
	}
	devices, err := m.devices(s.driver)
	if err != nil {
		return Reading{}, err
	}
	m.due = time.Now().Add(m.config.Interval)
	for _, e := range m.pending {
		m.xid(e, &o)
	}
	m.pending = m.pending[:0]
	again := sync.OnceValues(func() (Inventory, error) { return take(s.driver, s.sys) })
	for i := range m.gpus {
		r := reader{dev: devices[i].device, of: &m.gpus[i], health: Health{GPU: i, UUID: m.gpus[i].uuid, Failure: devices[i].failure}}
		if r.health.Failure == nil {
			r.read()
		}
		o.Gaps = append(o.Gaps, r.gaps...)
		o.GPUs = append(o.GPUs, r.health)
		found := r.health.findings()
		o.Findings = append(o.Findings, found...)
		m.judge(&m.gpus[i], condemned(found), again, &o)
	}
	return o, nil
}

// A found device is one of the monitor's GPUs as the driver has it now.
type foundDevice struct {
	device
	failure *Error
}

// devices finds the GPUs by their UUIDs, since the driver numbers those that it lists. One
// that cannot tell its own is found by its index, if all are listed.
func (m *Monitor) devices(d driver) ([]foundDevice, error) {
	count, err := d.count()
	if err != nil {
		return nil, about(err, NoGPU, queryCount)
	}
	found := make([]foundDevice, len(m.gpus))
	for i := range found {
		found[i].failure = &Error{GPU: i, Query: queryDevice, Kind: ErrLost, Reason: "the driver does not list it any more"}
	}
	for at := range count {
		dev, err := d.device(at)
		uuid := ""
		if err == nil {
			if uuid, err = dev.uuid(); errors.Is(err, ErrUnsupported) || errors.Is(err, ErrMissingSymbol) || errors.Is(err, ErrNoPermission) {
				err = nil
			}
		}
		i := m.position(at, uuid)
		if i < 0 || uuid == "" && count != len(m.gpus) {
			continue // new, or it is not clear which one it is
		}
		found[i].device, found[i].failure = dev, nil
		if err != nil {
			found[i].failure = about(err, i, queryDevice)
		}
	}
	return found, nil
}

// position is the index in the inventory of what the driver has at an index now; -1: it is
// new.
func (m *Monitor) position(at int, uuid string) int {
	for i := range m.gpus {
		if uuid != "" && m.gpus[i].uuid == uuid {
			return i
		}
	}
	if at < len(m.gpus) && (uuid == "" || m.gpus[at].uuid == "") {
		return at
	}
	return -1
}

// xid tells of an Xid.
func (m *Monitor) xid(e event, o *Reading) {
	if e.xid < 1 {
		return // the reading tells
	}
	gpu := NoGPU
	if e.gpu >= 0 && e.gpu < len(m.order) {
		gpu = m.order[e.gpu]
	}
	if gpu < 0 {
		o.Gaps = append(o.Gaps, &Error{GPU: NoGPU, Query: queryXids, Kind: ErrUnknownGPU, Reason: fmt.Sprintf("Xid %d of a GPU that is not in the inventory", e.xid)})
		return
	}
	o.Events = append(o.Events, berth.XidReported{Node: m.config.Node, GPU: gpu, Xid: e.xid})
}

// judge tells what has changed about whether a GPU takes work. Whether one that is not
// condemned any more is fit for it an inventory tells, which is taken once for all.
func (m *Monitor) judge(g *watchedGPU, reason string, again func() (Inventory, error), o *Reading) {
	if reason != "" {
		if !g.condemned {
			o.Events = append(o.Events, berth.GPUFailed{Node: m.config.Node, GPU: g.index, Reason: reason})
		}
		g.condemned = true
		g.forget() // counters start anew after a reset
		return
	}
	if !g.condemned {
		return
	}
	v, err := again()
	if err != nil {
		return // so the next reading has no answer either
	}
	for i := range v.GPUs {
		now := &v.GPUs[i]
		if m.position(i, now.UUID) != g.index || !now.works() {
			continue
		}
		if now.MIG.Capable {
			o.Events = append(o.Events, now.partitioned(m.config.Node, g.index))
		}
		o.Events = append(o.Events, berth.GPURepaired{Node: m.config.Node, GPU: g.index})
		g.condemned, g.read, g.links = false, false, 0
		// A GPU that was reset reports to no earlier subscriber. Reports of the others since then
		// are kept for the next call.
		m.collect()
		m.unwatch()
		m.register(m.source.driver)
		return
	}
}
