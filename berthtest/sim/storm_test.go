package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/internal/worlds"
	"github.com/berth-sched/berth/internal/drawn"
)

// A tally is what orders alone tell of a storm.
type tally struct {
	// asks are the instants at which a victim was asked or stopped, by queue and, under "", in all.
	asks map[berth.QueueID][]berth.Time
	// open are victims that were asked and not stopped yet; began is when lives began at the
	// earliest, and evicted counts those that ended because somebody was evicted.
	open    map[berth.ReplicaRef]bool
	began   map[berth.ReplicaRef]berth.Time
	evicted map[berth.ReplicaRef]int
	// inference that comes is what was submitted and what was evicted for another queue: that comes
	// again. told are victims of inference, in all, and to each training job at an
	// instant; gpus are what victims of inference had, and toTrain those of training.
	jobs          map[berth.JobID]berth.Job
	comes, told   int
	toldTrain     map[stormTurn]int
	gpus, toTrain int
}

// A stormTurn is a job for which somebody is evicted, at an instant.
type stormTurn struct {
	job berth.JobID
	at  berth.Time
}

// size is what a job of the storm asks for.
func (c *tally) size(job berth.JobID) int { return c.jobs[job].Groups[0].Claim.GPUs }

// serves reports whether a job is inference.
func (c *tally) serves(job berth.JobID) bool { return c.jobs[job].Class == berth.ClassLatencyCritical }

// count takes the orders of a log.
func (c *tally) count(t *testing.T, log []worlds.Step) {
	for _, s := range log {
		if e, ok := s.Event.(berth.JobSubmitted); ok {
			if c.jobs[e.Job.ID] = e.Job; c.serves(e.Job.ID) {
				c.comes++
			}
		}
		for _, a := range s.Actions {
			h := a.Header()
			ref := berth.ReplicaRef{Job: h.Job, Replica: h.Replica}
			switch a := a.(type) {
			case berth.Bind:
				c.began[ref] = h.At
			case berth.RequestCheckpoint:
				c.ask(t, ref, h)
				c.open[ref] = true
			case berth.Withdraw:
				delete(c.open, ref)
			case berth.Release:
				if h.Cause.Beneficiary == (berth.ReplicaRef{}) || a.Attempt > 1 {
					continue
				}
				if !c.open[ref] {
					c.ask(t, ref, h)
				}
				delete(c.open, ref)
				c.evicted[ref]++
				if c.serves(h.Job) {
					c.comes++
				}
				if c.serves(h.Cause.Beneficiary.Job) {
					c.gpus += a.Members[0].GPUs.Len()
				} else {
					c.toTrain += a.Members[0].GPUs.Len()
				}
			}
		}
	}
}

// ask: nobody is asked again before it has run for its cooldown, and no more are asked for a
// training job at a time than it asks for GPUs: if one could stay, it would.
func (c *tally) ask(t *testing.T, ref berth.ReplicaRef, h berth.OrderHeader) {
	queue, at, by := c.jobs[ref.Job].Queue, h.At, h.Cause.Beneficiary.Job
	if c.serves(by) {
		c.told++
	} else {
		c.toldTrain[stormTurn{by, at}]++
		require.LessOrEqual(t, c.toldTrain[stormTurn{by, at}], c.size(by), "%v, one at the most for each GPU", by)
	}
	c.asks[""], c.asks[queue] = append(c.asks[""], at), append(c.asks[queue], at)
	if c.evicted[ref] > 0 {
		require.GreaterOrEqual(t, at.Sub(c.began[ref]), worlds.StormCooldown, "%v is asked again", ref)
	}
}

// holds: of any stretch of instants there are no more than the rate lets.
func (r rateOf) holds(t *testing.T, asks []berth.Time) {
	each := (int64(r.Per) + int64(r.Evictions) - 1) / int64(r.Evictions)
	for i := range asks {
		for j := i; j < len(asks); j++ {
			require.LessOrEqual(t, int64(j-i+1), int64(r.Evictions)+int64(asks[j]-asks[i])/each, "from %d to %d", asks[i], asks[j])
		}
	}
}

type rateOf berth.RateLimit

// A storm of arrivals is served as fast as the rates let, and no faster: no job is evicted that
// is not needed, nor again before it has run for a while, whatever reports get lost; and when it
// is over, everything comes to rest.
func TestPreemptionStorm(t *testing.T) {
	t.Parallel()
	again := 0
	for seed := range drawn.Seeds(1) {
		config, options, workload := worlds.NewGenerator(seed).Storm()
		r := worlds.RunOf(config, options, workload)
		must(t, r, seed)
		c := tally{asks: map[berth.QueueID][]berth.Time{}, open: map[berth.ReplicaRef]bool{}, began: map[berth.ReplicaRef]berth.Time{}, evicted: map[berth.ReplicaRef]int{}, jobs: map[berth.JobID]berth.Job{}, toldTrain: map[stormTurn]int{}}
		c.count(t, r.Log)
		rateOf(config.Policy.Preemption.RateLimit).holds(t, c.asks[""])
		for _, queue := range []berth.QueueID{"a", "b", "c"} {
			rateOf(config.Policy.Preemption.QueueRateLimit).holds(t, c.asks[queue])
		}
		stopped := 0
		for _, n := range c.evicted {
			stopped += n
			if n > 1 {
				again++
			}
		}
		t.Logf("seed %d: %d asked, %d of them for the %d that come and serve; %d stopped, which had %d GPUs for those and %d for training",
			seed, len(c.asks[""]), c.told, c.comes, stopped, c.gpus, c.toTrain)
		require.NotZero(t, stopped)
		// A queue with one GPU more than its share gives no larger job than that, and it may have
		// none but inference of that size (package quota, rule 3): what is evicted then comes
		// again.
		require.LessOrEqual(t, c.told, c.comes, "one at the most for each that comes")
		require.LessOrEqual(t, c.gpus, c.comes+7, "and no more GPUs than are asked for, but for what is left of one gang")
		require.LessOrEqual(t, c.toTrain, c.gpus, "and training takes back no more than was taken of it")
	}
	covers(t, map[string]int{"a job is evicted in both bursts": again}, "a job is evicted in both bursts")
}
