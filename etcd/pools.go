package etcd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// spread is how much later a process enters an election for each pool that it leads already.
const spread = 300 * time.Millisecond

// Pools are the members of one process, one for each pool. Pools share nothing: each has nodes,
// queues, a log and an election of its own, below a prefix of its own. Several processes run Pools
// of the same prefixes, and the leaders spread over them: where a pool has no leader, the process
// that leads fewest pools comes first, since each other one waits a moment for each that it leads.
// So the pools of a process that dies move to the others, and not all to the same. Where two lead
// equally many, chance decides.
//
// What leads is left where it is: a process that comes back leads nothing until another dies or
// gives a pool back, by a Serve that returns nil. It is then the first to have it. To move a
// pool only for the spread would cost each time what a take-over costs.
//
// Members of Pools stand in no queue for the lead, so a take-over has one more round trip to etcd,
// and the moment of the spread.
type Pools struct {
	members []*Member
	// turn is held by the member that is about to enter an election, so that each knows how many
	// the process leads.
	turn sync.Mutex
	lock sync.Mutex
	led  int
}

// NewPools checks the options, one for each pool. It asks etcd nothing.
func NewPools(options ...Options) (*Pools, error) {
	p := &Pools{}
	had := map[string]bool{}
	for _, o := range options {
		m, err := New(o)
		if err != nil {
			return nil, err
		}
		if had[m.source.prefix] {
			return nil, fmt.Errorf("etcd: two pools have the prefix %q", o.Prefix)
		}
		had[m.source.prefix] = true
		m.pools = p
		p.members = append(p.members, m)
	}
	return p, nil
}

// Members are those of the pools, in the order in which the options were given.
func (p *Pools) Members() []*Member { return append([]*Member(nil), p.members...) }

// Run runs the members until the context ends, and returns what they returned. One that ends
// earlier, as its log is not what its core comes to, says so in its Options.Log, and leaves the
// others alone: other processes lead its pool.
func (p *Pools) Run(ctx context.Context) error {
	errs := make([]error, len(p.members))
	var group sync.WaitGroup
	for i, m := range p.members {
		group.Go(func() {
			if errs[i] = m.Run(ctx); ctx.Err() == nil {
				m.log.Error("stops", "prefix", m.source.prefix, "error", errs[i])
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// Led is how many pools the process leads, or is about to.
func (p *Pools) Led() int {
	p.lock.Lock()
	defer p.lock.Unlock()
	return p.led
}

func (p *Pools) add(n int) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.led += n
}

// enterVacant waits until nobody leads, and enters the election alone, when it has waited for what
// the process leads by then: once for each of its pools, however many others are free.
func (m *Member) enterVacant(ctx context.Context, c *candidacy) error {
	for ctx.Err() == nil {
		if err := m.wait(ctx, math.MaxInt64); err != nil {
			return err
		}
		for since := time.Now(); ctx.Err() == nil; {
			left, err := m.enterInTurn(ctx, c, time.Since(since))
			if err != nil || c.lock.Revision != 0 {
				return err
			}
			if left <= 0 {
				break // another process was faster
			}
			pause(ctx, left)
		}
	}
	return ctx.Err()
}

// enterInTurn enters the election if the member has waited for long enough; else it says how much
// is left.
func (m *Member) enterInTurn(ctx context.Context, c *candidacy, waited time.Duration) (left time.Duration, err error) {
	m.pools.turn.Lock()
	defer m.pools.turn.Unlock()
	if left = time.Duration(m.pools.Led())*spread - waited; left > 0 {
		return left, nil
	}
	vacant := clientv3.Compare(clientv3.CreateRevision(m.source.leaders()), "=", 0).WithPrefix()
	if c.lock.Revision, err = m.enter(ctx, c, vacant); c.lock.Revision != 0 {
		m.pools.add(1)
		context.AfterFunc(c.session.Ctx(), func() { m.pools.add(-1) })
	}
	return left, err
}
