package nvmlsrc

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/berth-sched/berth"
)

// A MonitorConfig says what to watch.
type MonitorConfig struct {
	// Node is the name of the machine in events.
	Node berth.NodeID
	// GPUs of the Inventory of which the core's node was made: events go by their indices,
	// whatever the driver numbers later, and those that took no work then are told when
	// they do. Nil: those that are there now.
	GPUs []GPU
	// Interval between readings; zero: DefaultInterval. No less than MinInterval.
	Interval time.Duration
	// Processes asks at each reading how busy each process keeps its GPU: Health.Processes.
	Processes bool
}

// The time between the readings of a Monitor. Counters cannot be sampled more often than
// MinInterval.
const (
	DefaultInterval = 5 * time.Second
	MinInterval     = 100 * time.Millisecond
)

// An Reading is what a Monitor has to tell.
type Reading struct {
	// Events for the core, in order: XidReported, GPUFailed, GPUPartitioned and
	// GPURepaired.
	Events []berth.Event
	// GPUs in the order of the inventory.
	GPUs []Health
	// Findings about them. One is told at each reading for as long as it is so.
	Findings []Finding
	// Gaps are the questions without an answer.
	Gaps []*Error
}

// A Monitor watches the GPUs of a machine. It starts no goroutine: the caller of Next
// lends it one.
//
// What it makes of what it sees: An Xid is told as berth.XidReported, whatever its
// number, because the core knows which are the application's fault (13, 31, 43, 45, 68
// and more) and which condemn a GPU: see berth.LookupXid. A GPU with a Finding that
// condemns is told as berth.GPUFailed, once. When a reading has condemned a GPU and a
// later one finds nothing that does, and an inventory finds the GPU fit for work, it is
// told as berth.GPURepaired, after how it is divided now. So a GPU that an Xid alone
// has condemned, and of which the driver never says that it has to be reset, stays
// failed until an operator says otherwise. So does one that the driver lists again only in
// a new session; then open another Source.
//
// Where the driver cannot report Xids, there are only readings, and a Gap at each
// says so.
type Monitor struct {
	source *Source
	config MonitorConfig
	done   chan struct{}
	once   sync.Once

	// turn has a token, which a user of the fields below holds for the time. It is no mutex,
	// so that a wait for it can be given up.
	turn    chan struct{}
	gpus    []watchedGPU
	watch   watch // nil: none could be had, or it broke
	order   []int // where the GPUs are that the watch numbers, as position has it
	pending []event
	due     time.Time
	gap     *Error // why there is no watch
}

// Monitor starts to watch: no Xid that is reported from now on is missed. The error is
// an *Error: ErrInvalid for a config that makes no sense, ErrClosed, or why the
// driver does not count its GPUs.
func (s *Source) Monitor(config MonitorConfig) (*Monitor, error) {
	if config.Interval == 0 {
		config.Interval = DefaultInterval
	}
	if config.Interval < MinInterval {
		return nil, &Error{GPU: NoGPU, Query: queryXids, Kind: ErrInvalid, Reason: fmt.Sprintf("an interval of %v is less than %v", config.Interval, MinInterval)}
	}
	if config.GPUs == nil {
		v, err := s.Inventory()
		if err != nil {
			return nil, err
		}
		config.GPUs = v.GPUs
	}
	m := &Monitor{source: s, config: config, done: make(chan struct{}), turn: make(chan struct{}, 1)}
	for i := range config.GPUs {
		g := &config.GPUs[i]
		m.gpus = append(m.gpus, watchedGPU{index: i, uuid: g.UUID, condemned: !g.works(), processes: config.Processes})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.driver == nil {
		return nil, &Error{GPU: NoGPU, Query: queryDriver, Kind: ErrClosed}
	}
	m.register(s.driver)
	if s.monitors == nil {
		s.monitors = map[*Monitor]bool{}
	}
	s.monitors[m] = true
	return m, nil
}

// register asks for the driver's events.
func (m *Monitor) register(d driver) {
	watch, err := d.watch()
	if err != nil {
		m.gap = about(err, NoGPU, queryXids)
		return
	}
	m.watch, m.gap, m.order = watch, nil, nil
	count, _ := d.count() // readings tell why not
	for at := range count {
		uuid := ""
		if dev, err := d.device(at); err == nil {
			uuid, _ = dev.uuid() // without one the index decides
		}
		m.order = append(m.order, m.position(at, uuid))
	}
}

// Next waits until the driver reports something or the interval is over, reads all GPUs,
// and returns what there is to tell. The first call reads at once. Calls of several
// goroutines take turns.
//
// The error is that of the context when it ends, which interrupts the wait within a
// fraction of a second, or an *Error: ErrClosed, or why the driver does not count
// its GPUs any more. Nothing that was reported is lost by an error: the next call
// tells it.
func (m *Monitor) Next(ctx context.Context) (Reading, error) {
	select {
	case m.turn <- struct{}{}:
		defer func() { <-m.turn }()
	case <-ctx.Done():
		return Reading{}, ctx.Err()
	}
	if len(m.pending) == 0 {
		m.wait(ctx)
	}
	m.collect()
	if err := ctx.Err(); err != nil {
		return Reading{}, err
	}
	return m.observe()
}

// slice is the longest time for which the driver is waited for in one go: it cannot be
// interrupted.
const slice = 200 * time.Millisecond

// wait returns when there is an event, when a reading is due, when the context ends or
// when the Monitor is closed.
func (m *Monitor) wait(ctx context.Context) {
	for ctx.Err() == nil && !m.closed() {
		rest := time.Until(m.due)
		if rest <= 0 {
			return
		}
		if m.watch == nil {
			m.sleep(ctx, rest)
			continue
		}
		switch e, some, err := m.watch.wait(min(rest, slice)); {
		case err != nil: // after this reading another may serve
			m.gap = about(err, NoGPU, queryXids)
			m.unwatch()
		case some:
			m.pending = append(m.pending, e)
			return
		}
	}
}

func (m *Monitor) sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-m.done:
	}
}

// maxPending bounds what is collected in one go.
const maxPending = 256

// collect takes the events that are there already: one fault makes many.
func (m *Monitor) collect() {
	for m.watch != nil && len(m.pending) < maxPending {
		e, some, err := m.watch.wait(0)
		if err != nil || !some {
			return // the next wait tells the error
		}
		m.pending = append(m.pending, e)
	}
}

func (m *Monitor) closed() bool {
	select {
	case <-m.done:
		return true
	default:
		return false
	}
}

func (m *Monitor) unwatch() {
	if m.watch != nil {
		_ = m.watch.close() // it is not used any more, whatever that says
		m.watch = nil
	}
}

// Close ends the watch, and a Next that is under way, and waits for that. Closing twice
// is no error; closing the Source closes its Monitors.
func (m *Monitor) Close() error {
	m.once.Do(func() { close(m.done) })
	m.turn <- struct{}{}
	defer func() { <-m.turn }()
	m.unwatch()
	for i := range m.gpus {
		m.gpus[i].forget()
	}
	m.source.mu.Lock()
	defer m.source.mu.Unlock()
	delete(m.source.monitors, m)
	return nil
}
