// Package metrics shows a core, and where its log stands, to Prometheus. A [Collector] goes into a
// registry; the loop of the orchestrator hands it each pass, and has it look now and then:
//
//	collector := metrics.New("pool-a", nil)
//	prometheus.MustRegister(collector)
//	...
//	began := time.Now()
//	orders, err := d.Schedule(ctx)
//	...
//	collector.Pass(d.Core(), orders, time.Since(began))
//	if collector.Due() {
//		collector.See(d.Core())
//	}
//
// The file dashboard.json shows all of it in Grafana: import it, and choose the data source. The
// package imports neither etcd nor a store.
package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
)

// seeEvery is how old what is shown of a core becomes: Prometheus asks every 15 s or so.
const seeEvery = 10 * time.Second

// A Log is where a process stands in the log of a core. Status of a member of package etcd has it.
type Log struct {
	// Leads: this process gives the orders.
	Leads bool
	// Head is the number of the last record, and Behind how many are not followed yet.
	Head, Behind uint64
	// Compared counts the comparisons of the state with that of a leader.
	Compared int
}

// A Collector is a [prometheus.Collector] of one core. All its metrics have the label pool. Those
// of the fleet are there while the process leads; counts of passes, orders, preemptions and waits
// are those of the process, and begin at zero with it. Its methods may be called from several
// goroutines at once, but those that take the core only from the one that the core belongs to.
type Collector struct {
	log         func() Log
	passes      prometheus.Histogram
	orders      *prometheus.CounterVec
	preemptions *prometheus.CounterVec
	waits       *prometheus.HistogramVec
	fleet       fleet

	lock sync.Mutex
	at   time.Time
	seen *seen // nil: the process does not lead
}

// seen is what a core said when it was looked at.
type seen struct {
	report berth.FleetReport
	ledger []berth.LedgerLine
}

// New makes the Collector of a pool. Log tells where the process stands, when Prometheus asks; nil:
// nobody else follows.
func New(pool string, log func() Log) *Collector {
	in := prometheus.Labels{"pool": pool}
	return &Collector{
		log: log,
		passes: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "berth_pass_seconds", Help: "What a pass took, with the write to the log.",
			ConstLabels: in, Buckets: prometheus.ExponentialBuckets(0.0005, 2, 16),
		}),
		orders: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "berth_orders_total", Help: "Orders that were given, with those given again after a start.", ConstLabels: in,
		}, []string{"kind", "cause"}),
		preemptions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "berth_preemptions_total", Help: "Replicas that were ordered to give their places to another one.", ConstLabels: in,
		}, []string{"cause"}),
		waits: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "berth_wait_seconds", Help: "How long gangs were pending before they got a place.",
			ConstLabels: in, Buckets: prometheus.ExponentialBuckets(1, 3, 12),
		}, []string{"class"}),
		fleet: newFleet(in),
	}
}

// Pass notes a pass, its orders, and what it took: a call of Schedule before which something was
// applied, or due. Cost: one question to the core for each job that got a place.
func (c *Collector) Pass(of *core.Core, orders []berth.Order, took time.Duration) {
	c.passes.Observe(took.Seconds())
	jobs := map[berth.JobID]berth.JobStatus{} // a service starts many replicas in one pass
	for _, order := range orders {
		h := order.Header()
		c.orders.WithLabelValues(order.Kind(), string(h.Cause.Code)).Inc()
		switch order.(type) {
		case berth.Release:
			if h.Cause.Beneficiary != (berth.ReplicaRef{}) {
				c.preemptions.WithLabelValues(string(h.Cause.Code)).Inc()
			}
		case berth.Bind:
			if _, asked := jobs[h.Job]; !asked {
				jobs[h.Job], _ = of.Job(h.Job)
			}
			c.waited(jobs[h.Job], h)
		}
	}
}

// waited notes the wait of a gang that got its place. One that grows or is repaired is not pending.
func (c *Collector) waited(job berth.JobStatus, h berth.OrderHeader) {
	for i := range job.Replicas {
		if r := &job.Replicas[i]; r.Replica == h.Replica && r.State == berth.ReplicaBinding && r.Order == h.ID {
			c.waits.WithLabelValues(job.Job.Class.String()).Observe(h.At.Sub(r.Since).Std().Seconds())
		}
	}
}

// Due reports whether the core is to be looked at again: ten seconds after the last time.
func (c *Collector) Due() bool {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.seen == nil || time.Since(c.at) >= seeEvery
}

// See looks at the core; nil: the process leads no more, and its metrics of the fleet go. Cost:
// that of Core.Report.
func (c *Collector) See(of *core.Core) {
	var s *seen
	if of != nil {
		s = &seen{report: of.Report()}
		s.ledger, _ = of.Ledger()
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	c.seen, c.at = s, time.Now()
}

// Describe implements [prometheus.Collector].
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	for _, part := range c.counts() {
		part.Describe(to)
	}
	for _, d := range c.fleet.all() {
		to <- d
	}
}

// Collect implements [prometheus.Collector].
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	for _, part := range c.counts() {
		part.Collect(to)
	}
	if c.log != nil {
		c.fleet.standing(to, c.log())
	}
	c.lock.Lock()
	s := c.seen
	c.lock.Unlock()
	if s != nil {
		c.fleet.show(to, s)
	}
}

func (c *Collector) counts() []prometheus.Collector {
	return []prometheus.Collector{c.passes, c.orders, c.preemptions, c.waits}
}
