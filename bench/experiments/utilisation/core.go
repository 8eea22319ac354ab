package utilisation

import (
	"errors"
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// This file is the day under the core. Pods are services of one GPU of class latency-critical, in
// a queue that is guaranteed all GPUs: without a guarantee the cooldown of former victims makes
// pods wait. As many batch jobs of one GPU as there are GPUs never end: they run where no pod
// does. With lending there are as many borrowers besides, and a pod tells what it does: 1000
// thousandths as a busy stretch begins, and 0 as it ends. The books are of what the core orders
// and nothing else.

// slack is how much longer than a switch a pod may have to wait for its GPU, by its job: half of
// the span is for the checkpoint, which has to be reported before that ends.
const slack = 2 * berth.Second

const (
	serviceQueue = "service"
	batchQueue   = "batch"
	tenantID     = "one"
	nodeGPUs     = 8
)

// A play is a day under one core.
type play struct {
	d    *day
	s    setting
	sim  *sim.Simulation
	book *book

	pods map[berth.JobID]*tenant
	// starts are the Binds of pods that are not reported.
	starts map[berth.OrderID]*tenant
	// loans by background job, and by the request for a checkpoint that is out.
	loans map[berth.JobID]*loan
	asked map[berth.OrderID]*loan
	// holds says which job has a GPU, and lentAt which loan of it there is.
	holds  map[place]berth.JobID
	lentAt map[place]*loan
	broken error
}

// A place is a GPU.
type place struct {
	node berth.NodeID
	gpus berth.GPUSet
}

// A tenant is a pod that the core knows.
type tenant struct {
	*pod
	at          place
	since       berth.Time
	incarnation berth.Incarnation // 0: it does not run
}

// A loan is one life of a background job.
type loan struct {
	at       place
	borrowed bool
	from     berth.Time
	// ask is when it was asked to leave, and wanted when the pod wanted its GPU; or never.
	ask, wanted berth.Time
	holder      *tenant
	saved       bool
}

const notYet berth.Time = -1

// play plays the day: with lending after a pod was idle for so long, berth.Off for at once;
// without lending for never.
func (d *day) play(s setting, wait berth.Duration) (*book, error) {
	var config berth.Config
	config.Policy.Lending.QuietFor = wait
	scheduler, err := core.New(config)
	if err != nil {
		return nil, err
	}
	p := &play{
		d: d, s: s, pods: map[berth.JobID]*tenant{}, starts: map[berth.OrderID]*tenant{},
		loans: map[berth.JobID]*loan{}, asked: map[berth.OrderID]*loan{}, holds: map[place]berth.JobID{}, lentAt: map[place]*loan{},
	}
	worked, _ := d.worked()
	p.book = &book{gpus: d.gpus, worked: worked, addition: addition{delays: map[*pod][]delay{}}}
	options := sim.Options{Applied: p.applied, Scheduled: p.scheduled}
	if s.checker != nil {
		options.Checker = s.checker(config)
	}
	p.sim = sim.New(scheduler, sim.FromSlice(p.arrivals(wait != never)), options)
	for _, pod := range d.pods {
		p.schedule(pod)
	}
	end := d.at(d.samples)
	if err := errors.Join(p.sim.Run(end-1), p.broken); err != nil {
		return nil, err
	}
	for _, l := range p.loans {
		p.end(l, end)
	}
	for _, t := range p.pods {
		p.leave(t, end)
	}
	return p.book, nil
}

// arrivals are the fleet and all jobs. Those that come at once are taken in this order.
func (p *play) arrivals(lending bool) []sim.Arrival {
	list := []sim.Arrival{
		{Event: berth.QueueSet{Queue: quota.Queue{Name: serviceQueue, Guarantee: quota.GPUs(int64(p.d.gpus))}}},
		{Event: berth.QueueSet{Queue: quota.Queue{Name: batchQueue}}},
	}
	for first := 0; first < p.d.gpus; first += nodeGPUs {
		node := berth.Node{ID: berth.NodeID(fmt.Sprintf("node-%03d", first/nodeGPUs))}
		node.GPUs = berth.EqualGPUs(min(nodeGPUs, p.d.gpus-first), berth.GPU{Product: product, MemoryMiB: p.s.roomMiB + p.s.borrowerMiB})
		list = append(list, sim.Arrival{Event: berth.NodeJoined{Node: node}})
	}
	job := func(id string, queue berth.QueueID, claim berth.Claim) berth.Job {
		return berth.Job{ID: berth.JobID(id), Queue: queue, Tenant: tenantID, Groups: []berth.Group{{Members: 1, Claim: claim}}}
	}
	for _, pod := range p.d.pods {
		j := job(pod.id, serviceQueue, berth.WholeGPUs(1))
		j.Class, j.Service = berth.ClassLatencyCritical, &berth.Service{Replicas: 1}
		if lending {
			j.Lend = &berth.Lend{Within: p.s.change + slack, MemoryMiB: max(pod.memoryMiB, 1)}
		}
		p.pods[j.ID] = &tenant{pod: pod}
		list = append(list, sim.Arrival{At: p.d.at(pod.from), Event: berth.JobSubmitted{Job: j}})
	}
	var background []sim.Arrival
	add := func(j berth.Job) {
		j.Checkpoint = berth.Checkpoint{Supported: true, Cost: p.s.change - p.s.change/2, RestartCost: p.s.change / 2}
		if p.s.unasked > 0 {
			j.Checkpoint = berth.Checkpoint{Interval: p.s.unasked, RestartCost: p.s.change / 2}
		}
		background = append(background, sim.Arrival{Event: berth.JobSubmitted{Job: j}})
	}
	for n := range p.d.gpus {
		add(job(fmt.Sprintf("free-%03d", n), batchQueue, berth.WholeGPUs(1)))
		if lending {
			add(job(fmt.Sprintf("lent-%03d", n), batchQueue, berth.BorrowedGPU(p.s.borrowerMiB)))
		}
	}
	at := len(list)
	for at > 0 && list[at-1].At > 0 {
		at--
	}
	return append(list[:at:at], append(background, list[at:]...)...)
}

// schedule has a pod tell what it does, and leave.
func (p *play) schedule(pod *pod) {
	t := p.pods[berth.JobID(pod.id)]
	for _, s := range pod.stretches {
		p.sim.At(p.d.at(s.from), func() error { return p.tell(t) })
	}
	if pod.until < p.d.samples {
		p.sim.At(p.d.at(pod.until), func() error {
			t.incarnation = 0
			return p.sim.Tell(sim.Arrival{At: p.sim.Now(), Event: berth.JobCancelled{Job: berth.JobID(pod.id)}})
		})
	}
}

// tell tells what a pod does now, if it runs.
func (p *play) tell(t *tenant) error {
	if t.incarnation == 0 {
		return nil
	}
	e := berth.ActivityReported{Job: berth.JobID(t.id), Incarnation: t.incarnation}
	sample := int(p.sim.Now().Sub(0) / p.d.step)
	if t.active[sample-t.pod.from] > 0 {
		e.ActiveMilli = 1000
	}
	return p.sim.Tell(sim.Arrival{At: p.sim.Now(), Event: e})
}

func (p *play) fault(format string, args ...any) {
	if p.broken == nil {
		p.broken = fmt.Errorf(format, args...)
	}
}

// applied sees every event.
func (p *play) applied(now berth.Time, e berth.Event, refusal error) {
	if refusal != nil {
		p.fault("%s at %d was refused: %w", e.Kind(), now, refusal)
		return
	}
	switch e := e.(type) {
	case berth.OrderReported:
		if t := p.starts[e.Order]; t != nil {
			delete(p.starts, e.Order)
			p.sim.At(now, func() error { return p.tell(t) })
		}
		if l := p.asked[e.Order]; l != nil {
			l.saved = e.Outcome == berth.OutcomeDone
			delete(p.asked, e.Order)
		}
	case berth.ActivityReported:
		t := p.pods[e.Job]
		if l := p.lentAt[t.at]; l != nil && e.ActiveMilli > 0 && l.wanted == notYet {
			l.wanted, l.holder = now, t
		}
	}
}

// scheduled sees the orders of every pass.
func (p *play) scheduled(now berth.Time, orders []berth.Order) {
	for _, o := range orders {
		h := o.Header()
		switch o := o.(type) {
		case berth.Bind:
			p.bound(now, &o)
		case berth.RequestCheckpoint:
			if l := p.loans[h.Job]; l != nil {
				l.ask = now
				p.asked[h.ID] = l
			}
		case berth.Release:
			if t := p.pods[h.Job]; t != nil {
				delete(p.holds, t.at)
				p.leave(t, now)
				continue
			}
			l := p.loans[h.Job]
			switch {
			case l == nil:
				p.fault("%s is released at %d, and did not run", h.Job, now)
				return
			case !l.borrowed:
				delete(p.holds, l.at)
			case h.Cause.Code != berth.CauseGivenBack:
				p.fault("%s, a borrower, is released at %d: %s", h.Job, now, h.Cause.Code)
			}
			delete(p.loans, h.Job)
			p.end(l, now)
		}
	}
}

// bound takes over a Bind. A GPU has one holder, and one borrower if that is a pod; and no new
// holder as long as a borrower is there.
func (p *play) bound(now berth.Time, b *berth.Bind) {
	m := &b.Members[0]
	at := place{m.Node, m.GPUs}
	holder, held := p.holds[at]
	switch {
	case m.GPUs.Len() != 1, held != m.Borrowed, m.Borrowed && p.pods[holder] == nil, p.lentAt[at] != nil:
		p.fault("%s is bound to GPU %v of %s at %d, which is not to be had", b.Job, m.GPUs, m.Node, now)
		return
	case !m.Borrowed:
		p.holds[at] = b.Job
	}
	if t := p.pods[b.Job]; t != nil {
		t.at, t.since, t.incarnation = at, now, b.Incarnation
		p.book.podWait = max(p.book.podWait, now.Sub(p.d.at(t.pod.from)))
		p.starts[b.ID] = t
		return
	}
	l := &loan{at: at, borrowed: m.Borrowed, from: now, ask: notYet, wanted: notYet}
	p.loans[b.Job] = l
	if l.borrowed {
		p.lentAt[at] = l
		p.book.loans++
	}
}

// leave books the time of a pod that leaves its GPU.
func (p *play) leave(t *tenant, now berth.Time) {
	if t.at != (place{}) {
		p.book.allocated += now.Sub(t.since)
	}
	t.at, t.incarnation = place{}, 0
}

// end books a loan that is over.
func (p *play) end(l *loan, now berth.Time) {
	restore, back, lost := p.s.change/2, berth.Duration(0), berth.Duration(0)
	ask := now
	if l.ask != notYet {
		ask, back = l.ask, now.Sub(l.ask)
	}
	over := now == p.d.at(p.d.samples)
	if !l.saved && !over {
		if lost = max(0, ask.Sub(l.from)-restore); p.s.unasked > 0 {
			lost %= p.s.unasked
		}
	}
	p.book.lent(ask.Sub(l.from), restore, back, lost)
	if !l.borrowed {
		p.book.allocated += now.Sub(l.from)
		return
	}
	if p.lentAt[l.at] == l {
		delete(p.lentAt, l.at)
	}
	if l.wanted == notYet || over {
		return
	}
	p.book.givenBack++
	if now.Sub(l.wanted) <= p.s.change+slack {
		p.book.inTime++
	}
	pod := l.holder.pod
	p.book.delays[pod] = append(p.book.delays[pod], delay{l.wanted, now})
}
