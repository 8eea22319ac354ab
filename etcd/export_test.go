package etcd

import "github.com/berth-sched/berth/journal"

// NewLeader is a Leader without a Member.
func NewLeader(d *journal.Durable, s *Store) *Leader {
	return &Leader{Durable: d, Term: s.lock.Revision, store: s}
}
