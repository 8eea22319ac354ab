package report

import (
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
)

const (
	firstInterval = 5 * berth.Minute
	maxSamples    = 512
	maxLongest    = 12
)

// A Collector watches a run. Its zero value is not ready; see NewCollector.
type Collector struct {
	core func() berth.Scheduler
	book book

	start, now berth.Time
	begun      bool
	run        Run
	// area is GPU-milliseconds held by category, and all there was.
	area         [categories]float64
	capacityArea float64

	// A sample is taken every interval, if there is a pass. When there are too many,
	// the interval is doubled: a run may take a day or a year.
	interval berth.Duration
	next     berth.Time
	err      error
}

// NewCollector makes a collector for a run of the core that the function returns.
// It is asked each time, because a simulator may replace its core by a restored
// one.
func NewCollector(core func() berth.Scheduler) *Collector {
	return &Collector{core: core, interval: firstInterval, book: newBook()}
}

// Applied sees an event and what the core answered.
func (c *Collector) Applied(now berth.Time, e berth.Event, err error) {
	c.advance(now)
	if err != nil {
		c.run.Refused++
		return
	}
	c.run.Events++
	c.book.applied(now, e)
}

// Scheduled sees a pass and its orders.
func (c *Collector) Scheduled(now berth.Time, actions []berth.Order) {
	c.advance(now)
	c.run.Passes++
	c.run.Orders += len(actions)
	c.book.scheduled(now, actions)
	held := Sample{Held: c.book.held}
	c.run.Peak = max(c.run.Peak, held.held())
	if now >= c.next {
		c.sample()
	}
}

// Stopped sees the end of a life, as sim.Options.Stopped tells it.
func (c *Collector) Stopped(_ berth.Time, job berth.JobID, ran, brought berth.Duration) {
	if j := c.book.jobs[job]; j != nil {
		c.book.rows[j.category].LostGPUHours += float64(ran-brought) / float64(berth.Hour) * float64(j.gpus)
	}
}

// advance integrates up to an instant.
func (c *Collector) advance(now berth.Time) {
	if !c.begun {
		c.begun, c.start, c.now, c.next = true, now, now, now
	}
	span := float64(now - c.now)
	for i, held := range c.book.held {
		c.area[i] += span * float64(held)
	}
	c.capacityArea += span * float64(c.book.capacity)
	c.now = now
}

// sample notes how the fleet stands, and compares the books with the core's.
func (c *Collector) sample() {
	r := c.core().Report()
	s := Sample{
		At: c.now, Capacity: r.GPUs.AllMilli, Held: c.book.held, Free: r.GPUs.FreeMilli, Stranded: r.GPUs.StrandedMilli,
		Waiting: r.Waiting.Ready + r.Waiting.Capacity + r.Waiting.Quota + r.Waiting.Backoff,
	}
	if held := s.held(); c.err == nil && (held != r.GPUs.HeldMilli || c.book.capacity != r.GPUs.AllMilli) {
		c.err = fmt.Errorf(
			"report: at %d ms orders and reports add up to %d of %d milli-GPU held, and the core has %d of %d",
			c.now, held, c.book.capacity, r.GPUs.HeldMilli, r.GPUs.AllMilli,
		)
	}
	c.run.Samples = append(c.run.Samples, s)
	for len(c.run.Samples) >= maxSamples {
		c.interval *= 2
		c.thin()
	}
	c.next = c.now - c.now%berth.Time(c.interval) + berth.Time(c.interval)
}

// thin keeps the samples that are an interval apart, as those of a quiet time are
// already.
func (c *Collector) thin() {
	kept := c.run.Samples[:1]
	for _, s := range c.run.Samples[1:] {
		if s.At.Sub(kept[len(kept)-1].At) >= c.interval {
			kept = append(kept, s)
		}
	}
	c.run.Samples = kept
}

// Finish ends the watch at an instant and returns how the run went. It fails when
// the collector's books and the core's differed at a sample: then one of them is
// wrong, and no figure is to be believed.
func (c *Collector) Finish(now berth.Time) (*Run, error) {
	c.advance(max(now, c.now))
	c.sample()
	if c.err != nil {
		return nil, c.err
	}
	r := &c.run
	r.Start, r.End = c.start, c.now
	r.Searches = c.core().Report().Totals.PlacementAttempts
	if span := float64(r.End - r.Start); span > 0 {
		r.Capacity = c.capacityArea / span
		for _, area := range c.area {
			r.Held += area / span
		}
		for i := range r.Samples[1:] { // each stands until the next
			r.Stranded += float64(r.Samples[i].Stranded) * float64(r.Samples[i+1].At-r.Samples[i].At) / span
		}
	}
	c.finishRows()
	return r, c.finishLongest()
}

func (c *Collector) finishRows() {
	rows := c.book.rows
	for _, id := range slices.Sorted(maps.Keys(c.book.jobs)) {
		j := c.book.jobs[id]
		row := &rows[j.category]
		if n := j.waiting(); n > 0 {
			row.Waiting += n
			row.WaitingFor = max(row.WaitingFor, c.now.Sub(j.waitsSince()))
		}
		for _, since := range j.asked {
			row.SoFar = append(row.SoFar, c.now.Sub(since))
		}
		for _, r := range j.replicas {
			if len(r.members) > 0 && !r.gone {
				row.Running++
			}
		}
	}
	for i := range rows {
		if row := &rows[i]; row.Submitted > 0 {
			row.Category, row.GPUHours = Category(i), c.area[i]/1000/float64(berth.Hour)
			slices.Sort(row.Waits)
			c.run.Rows = append(c.run.Rows, *row)
		}
	}
}

// finishLongest asks the core about those that wait longest.
func (c *Collector) finishLongest() error {
	c.run.Longest = c.book.longest(c.now, maxLongest)
	for i := range c.run.Longest {
		w := &c.run.Longest[i]
		e, err := c.core().Explain(w.Job)
		if err != nil {
			return fmt.Errorf("report: a job that should wait: %w", err)
		}
		at := slices.IndexFunc(e.Replicas, func(r berth.ReplicaExplanation) bool { return r.Reason != nil })
		if at >= 0 {
			w.Reason = *e.Replicas[at].Reason
		}
	}
	return nil
}
