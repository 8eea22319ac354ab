package etcd

import (
	"context"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

// A candidacy is a lease, and the key below it in the election. The keys are those of
// [concurrency.Election], so that its other calls, and etcdctl elect, understand them.
type candidacy struct {
	session *concurrency.Session
	lock    Lock
	// over is closed when the winner is done.
	over chan struct{}
}

// stand has a candidate wait for its turn, again and again until the context ends. Each win is
// sent, and what follows from it waited for.
func (m *Member) stand(ctx context.Context, won chan<- *candidacy) {
	for ctx.Err() == nil {
		c, err := m.campaign(ctx)
		if err == nil {
			select {
			case won <- c:
				<-c.over
			case <-c.session.Done():
			case <-ctx.Done():
			}
			_ = c.session.Close() // if etcd does not hear of it, the lease runs out
			continue
		}
		if ctx.Err() == nil {
			m.log.Warn("no candidate", "error", err)
		}
		pause(ctx, retryAfter)
	}
}

// campaign takes a lease and waits until the key below it is the oldest. It is what Campaign of
// [concurrency.Election] does; that one does not return while a server does not answer.
func (m *Member) campaign(ctx context.Context) (*candidacy, error) {
	session, err := m.session(ctx)
	if err != nil {
		return nil, err
	}
	c := &candidacy{session: session, over: make(chan struct{})}
	c.lock.Key = fmt.Sprintf("%s%x", m.source.leaders(), session.Lease())
	held, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(session.Ctx(), cancel)()
	if m.pools != nil {
		err = m.enterVacant(held, c)
	} else if c.lock.Revision, err = m.enter(held, c); err == nil {
		err = m.wait(held, c.lock.Revision)
	}
	if err != nil {
		_ = session.Close()
		return nil, err
	}
	return c, nil
}

// session takes a lease, and keeps it alive.
func (m *Member) session(ctx context.Context) (*concurrency.Session, error) {
	within, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	lease, err := m.options.Client.Grant(within, int64(m.options.TTL/time.Second))
	if err != nil {
		return nil, fmt.Errorf("etcd: lease: %w", err)
	}
	if granted := time.Duration(lease.TTL) * time.Second; granted > m.options.TTL {
		m.log.Warn("etcd keeps a leader that is not heard of for longer than the TTL", "TTL", m.options.TTL, "granted", granted)
	}
	return concurrency.NewSession(m.options.Client, concurrency.WithLease(lease.ID),
		concurrency.WithTTL(int(lease.TTL)), concurrency.WithContext(context.WithoutCancel(ctx)))
}

// enter puts the key, if all that is given holds, and returns its revision; 0: something does not.
func (m *Member) enter(ctx context.Context, c *candidacy, also ...clientv3.Cmp) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	resp, err := m.options.Client.Txn(ctx).
		If(append(also, clientv3.Compare(clientv3.CreateRevision(c.lock.Key), "=", 0))...).
		Then(clientv3.OpPut(c.lock.Key, m.options.Name, clientv3.WithLease(c.session.Lease()))).Commit()
	switch {
	case err != nil:
		return 0, fmt.Errorf("etcd: enter the election: %w", err)
	case !resp.Succeeded:
		return 0, nil
	}
	return resp.Header.Revision, nil // the key is that of a lease of one's own, and was not there
}

// wait returns when no key is older than that of a revision; 1<<63 - 1: when there is none.
func (m *Member) wait(ctx context.Context, revision int64) error {
	for {
		resp, err := m.source.ask(ctx, clientv3.OpGet(m.source.leaders(),
			append(clientv3.WithLastCreate(), clientv3.WithMaxCreateRev(revision-1))...))
		if err != nil {
			return err
		}
		list := found(resp, 0)
		if len(list) == 0 {
			return nil
		}
		if err := m.gone(ctx, string(list[0].Key), resp.Header.Revision); err != nil {
			return err
		}
	}
}

// gone returns when a key is deleted, and may return earlier: after a while it is looked at again.
func (m *Member) gone(ctx context.Context, key string, since int64) error {
	watching, cancel := context.WithTimeout(clientv3.WithRequireLeader(ctx), lookEvery)
	defer cancel()
	for resp := range m.options.Client.Watch(watching, key, clientv3.WithRev(since+1), clientv3.WithFilterPut()) {
		if len(resp.Events) > 0 {
			return nil
		}
		if resp.Err() != nil {
			pause(ctx, retryAfter)
			return ctx.Err()
		}
	}
	return ctx.Err()
}

// Leader is the name of the member that leads, and its term; no name: none does. It costs one read.
func (s *Source) Leader(ctx context.Context) (name string, term int64, err error) {
	resp, err := s.ask(ctx, clientv3.OpGet(s.leaders(), clientv3.WithFirstCreate()...))
	if err != nil {
		return "", 0, err
	}
	if list := found(resp, 0); len(list) > 0 {
		return string(list[0].Value), list[0].CreateRevision, nil
	}
	return "", 0, nil
}

// pause waits, unless the context ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
