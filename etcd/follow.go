package etcd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/berth-sched/berth/journal"
)

// A reached is what a leader came to before it wrote anything: a state, by its sum, at a
// position. It stands in etcd before any later record does, so that a follower that reads a
// record behind the position has seen it.
type reached struct {
	At    journal.Position `json:"at"`
	State journal.Sum      `json:"state"`
	Term  int64            `json:"term"`
}

// follow follows the log to its end. A replica that does not stand in the log any more begins again
// with the newest snapshot.
func (m *Member) follow(ctx context.Context) error {
	for {
		if m.replica == nil {
			if err := m.restore(ctx); err != nil || m.replica == nil {
				return err
			}
		}
		err := m.readOn(ctx)
		m.note(func(s *Status) {
			if m.replica != nil {
				s.At = m.replica.Position()
			}
		})
		if !errors.Is(err, journal.ErrCompacted) {
			return err
		}
		m.log.Info("begins again", "error", err)
		began := m.began
		if err := m.restore(ctx); err != nil {
			return err
		}
		if m.began == began { // what is behind the newest snapshot is kept always
			return &journal.Error{
				Record: m.replica.Position().Number + 1, Kind: journal.ErrDamaged,
				Reason: "is missing, and the newest snapshot is older",
			}
		}
	}
}

// restore begins with the newest snapshot, if there is a log.
func (m *Member) restore(ctx context.Context) error {
	s, err := m.source.Newest(ctx)
	if err != nil || s.Data == nil {
		return err
	}
	m.replica, err = journal.Restore(s, m.options.Journal.Config)
	m.began = s.At
	return err
}

// readOn follows the records that are there.
func (m *Member) readOn(ctx context.Context) error {
	r := m.source.read(m.replica.Position().Number)
	for more := true; more; {
		p, err := r.page(ctx)
		if err != nil {
			return err
		}
		m.note(func(s *Status) { s.Head = p.head })
		if err := m.compare(p.state); err != nil {
			return err
		}
		for record, err := range r.records(p) {
			if err == nil {
				err = m.replica.Follow(record)
			}
			if err == nil {
				err = m.compare(p.state)
			}
			if err != nil {
				return err
			}
		}
		more = p.more
		if at := m.replica.Position(); !more && at != p.head {
			return &journal.Error{
				Record: at.Number + 1, Kind: journal.ErrDamaged,
				Reason: fmt.Sprintf("the log ends at %v, and its head is at %v", at, p.head),
			}
		}
	}
	return nil
}

// compare compares the state with that of the leader, where the leader has told it, once for each.
func (m *Member) compare(leader reached) error {
	if leader.At != m.replica.Position() || leader == m.compared || leader.Term == 0 {
		return nil
	}
	state, err := m.replica.State()
	if err != nil {
		return err
	}
	if state != leader.State {
		return &journal.Error{
			Record: leader.At.Number, Field: "state", Kind: journal.ErrStateDiffers,
			Reason: fmt.Sprintf("the state behind it has sum %v, and that of the leader of term %d had %v", state, leader.Term, leader.State),
		}
	}
	m.compared = leader
	m.note(func(s *Status) { s.Compared++ })
	m.log.Info("states are equal", "at", leader.At, "state", state, "leader", leader.Term)
	return nil
}

// publish tells the others what state the replica has come to.
func (m *Member) publish(ctx context.Context, store *Store) error {
	state, err := m.replica.State()
	if err != nil {
		return err
	}
	text, err := json.Marshal(reached{m.replica.Position(), state, store.lock.Revision})
	if err != nil {
		return err
	}
	_, err = store.write(ctx, store.state(), text)
	if errors.Is(err, journal.ErrFull) {
		m.log.Warn("the state cannot be compared", "error", err)
		return nil
	}
	return err
}
