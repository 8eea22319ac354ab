// The program pools runs eight pools that share nothing, each on a core of its own, first one
// after the other and then all at once. A core is a state machine for one goroutine at a time, so
// it is the caller that makes use of several processors, as here with a goroutine for each pool.
// The orders are the same either way. On a machine with two processors that other work shared, it
// printed
//
//	pool-0: 6 queues, 2400 jobs
//	...
//	pool-7: 4 queues, 1600 jobs
//	the orders are the same
//	one after the other 2.43 s, at once on 2 processors 1.90 s: 1.3 times as fast
//
// # Which job goes to which pool
//
// A queue is at home in one pool, and its jobs go there. Queues find a home in the order in which
// they come: the pool with the least guarantees so far, of equals the first. That is known before
// any core is asked, so the same queues and jobs go the same way again. The homes are the
// caller's to keep, as its log of events is: they depend on the queues that came before.
//
// The rule is one of queues because quota is: a core counts what it placed itself, so a queue in
// two pools would be two quotas. What stands in different pools shares nothing else either. No
// gang spans them, no queue borrows from another pool, and nothing is evicted in one for a job of
// another. Where that is too little, the pools are pools of one core (berth.Node.Pool).
package main

import (
	"fmt"
	"hash/fnv"
	"log"
	"runtime"
	"sync"
	"time"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

const (
	poolCount, poolNodes = 8, 64
	queueCount, jobCount = 40, 16_000
)

func main() {
	serial, parallel := fill(), fill()
	one, all := inTurn(serial), atOnce(parallel)
	for i, p := range parallel {
		fmt.Println(p.line())
		if p.orders != serial[i].orders {
			log.Fatalf("%s gives other orders at once", p.name)
		}
	}
	fmt.Println("the orders are the same")
	fmt.Printf("one after the other %.2f s, at once on %d processors %.2f s: %.1f times as fast\n",
		one.Seconds(), runtime.GOMAXPROCS(0), all.Seconds(), one.Seconds()/all.Seconds())
}

// inTurn runs one pool after the other, and returns how long that took.
func inTurn(pools []*pool) time.Duration {
	began := time.Now()
	for _, p := range pools {
		p.run()
	}
	return time.Since(began)
}

// atOnce runs each pool in a goroutine of its own.
func atOnce(pools []*pool) time.Duration {
	began := time.Now()
	var group sync.WaitGroup
	for _, p := range pools {
		group.Go(p.run)
	}
	group.Wait()
	return time.Since(began)
}

// A pool is a part of the fleet, with a core, queues and jobs of its own.
type pool struct {
	name         string
	core         *core.Core
	events       []berth.Event // to be told next
	queues, jobs int
	guaranteed   int64 // milli-GPUs, of all queues
	ended        int
	orders       uint64 // a hash of all that were given
}

func (p *pool) line() string { return fmt.Sprintf("%s: %d queues, %d jobs", p.name, p.queues, p.jobs) }

// home is the pool of the next queue: that with the least guarantees, of equals the first.
func home(pools []*pool) *pool {
	least := pools[0]
	for _, p := range pools {
		if p.guaranteed < least.guaranteed {
			least = p
		}
	}
	return least
}

// fill makes the pools, gives each queue a home, and sends each job to that of its queue.
func fill() []*pool {
	var pools []*pool
	for i := range poolCount {
		sched, err := core.New(berth.Config{})
		if err != nil {
			log.Fatal(err)
		}
		p := &pool{name: fmt.Sprintf("pool-%d", i), core: sched}
		for n := range poolNodes {
			gpus := berth.EqualGPUs(8, berth.GPU{Product: "H100-80GB", MemoryMiB: 81559})
			p.events = append(p.events, berth.NodeJoined{Node: berth.Node{ID: berth.NodeID(fmt.Sprintf("%s-node-%02d", p.name, n)), GPUs: gpus}})
		}
		pools = append(pools, p)
	}
	homes := map[berth.QueueID]*pool{}
	for i := range queueCount {
		guarantee := int64(8000 * (1 + i%3))
		p, name := home(pools), fmt.Sprintf("team-%02d", i)
		homes[berth.QueueID(name)] = p
		p.queues, p.guaranteed = p.queues+1, p.guaranteed+guarantee
		p.events = append(p.events, berth.QueueSet{Queue: quota.Queue{Name: berth.QueueID(name), Guarantee: quota.Amounts{quota.GPUMilli: guarantee}}})
	}
	for i := range jobCount {
		group := berth.Group{Members: 1 + i%4, Claim: berth.WholeGPUs(1 << (i / 4 % 4))}
		job := berth.Job{ID: berth.JobID(fmt.Sprintf("job-%05d", i)), Queue: berth.QueueID(fmt.Sprintf("team-%02d", i%queueCount)), Groups: []berth.Group{group}}
		p := homes[job.Queue]
		p.jobs++
		p.events = append(p.events, berth.JobSubmitted{Job: job})
	}
	return pools
}

// begin is when the pools begin; zero is an instant that nobody set.
const begin berth.Time = 1

// run is the loop around one core, until nothing is left to do. What it starts has ended by the
// next minute.
func (p *pool) run() {
	hash := fnv.New64a()
	for now := begin; len(p.events) > 0; now = now.Add(berth.Minute) {
		for _, event := range p.events {
			if err := p.core.Apply(now, event); err != nil {
				log.Fatal(p.name, ": ", err)
			}
		}
		p.events = nil
		orders, err := p.core.Schedule(now)
		if err != nil {
			log.Fatal(p.name, ": ", err)
		}
		for _, order := range orders {
			text, err := berth.EncodeOrder(order)
			if err != nil {
				log.Fatal(p.name, ": ", err)
			}
			hash.Write(text)
			h := order.Header()
			p.events = append(p.events, berth.OrderReported{Order: h.ID, Outcome: berth.OutcomeDone})
			if _, ok := order.(berth.Bind); ok {
				p.events = append(p.events, berth.JobFinished{Job: h.Job, Incarnation: h.Incarnation})
				p.ended++
			}
		}
	}
	p.orders = hash.Sum64()
}
