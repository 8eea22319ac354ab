package core

import (
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/limits"
	"github.com/berth-sched/berth/mig"
)

// A savedTable is a table that was told, or that something was given of.
type savedTable struct {
	Name string `json:"name"`
	// Table that was told; nil: that of package mig.
	Table   *mig.Product `json:"table,omitempty"`
	Recent  []uint32     `json:"recent,omitempty"`
	Weights []uint32     `json:"weights,omitempty"`
}

func (c *Core) saveTables() []savedTable {
	var list []savedTable
	some := func(counts []uint32) []uint32 {
		if slices.ContainsFunc(counts, func(n uint32) bool { return n > 0 }) {
			return counts
		}
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(c.tables)) {
		t := c.tables[name]
		saved := savedTable{Name: name, Recent: some(t.recent), Weights: some(t.weights)}
		if t.told {
			saved.Table = &t.product
		}
		if t.told || saved.Recent != nil || saved.Weights != nil {
			list = append(list, saved)
		}
	}
	return list
}

func (c *Core) restoreTables(list []savedTable) *berth.Error {
	for i := range list {
		if err := c.restoreTable(&list[i]); err != nil {
			return refusal.In(err, errtext.Index("tables", i))
		}
	}
	return nil
}

func (c *Core) restoreTable(s *savedTable) *berth.Error {
	if s.Table != nil {
		if err := c.migTableSet(berth.MIGTableSet{Table: *s.Table}); err != nil {
			return err
		}
	}
	t, err := c.table(s.Name)
	if err != nil {
		return err
	}
	for _, counts := range [][]uint32{s.Recent, s.Weights} {
		if len(counts) > 0 && len(counts) != t.lattice.Profiles() {
			return refusal.Of(berth.ErrInvalid, "recent", fmt.Sprintf("%d counts for %d profiles", len(counts), t.lattice.Profiles()))
		}
	}
	for p := range s.Recent {
		t.recent[p] = min(s.Recent[p], 1<<31)
	}
	if len(s.Weights) > 0 {
		t.weights = slices.Clone(s.Weights)
		for p := range t.weights {
			t.weights[p] = min(t.weights[p], maxWeight)
		}
		c.fleet.SetRanking(t.lattice, mig.NewRanking(t.lattice, t.weights))
	}
	return nil
}

// A savedPool has the instants at which GPUs of a pool were repartitioned.
type savedPool struct {
	Pool    string       `json:"pool"`
	Changes []berth.Time `json:"changes"`
}

func (c *Core) savePools() []savedPool {
	var list []savedPool
	for _, name := range slices.Sorted(maps.Keys(c.pools)) {
		if p := c.pools[name]; len(p.changes) > 0 {
			list = append(list, savedPool{name, p.changes})
		}
	}
	return list
}

func (c *Core) restorePools(list []savedPool) *berth.Error {
	for i := range list {
		if err := c.restorePool(&list[i]); err != nil {
			return refusal.In(err, errtext.Index("pools", i))
		}
	}
	return nil
}

func (c *Core) restorePool(s *savedPool) *berth.Error {
	if c.pools[s.Pool] != nil || len(s.Changes) > 2*limits.MaxPerHour {
		return refusal.Of(berth.ErrInvalid, "pool", fmt.Sprintf("%q comes twice, or with too many changes", s.Pool))
	}
	if !slices.IsSorted(s.Changes) || len(s.Changes) > 0 && (s.Changes[0] < 0 || s.Changes[len(s.Changes)-1] > c.now) {
		return refusal.Of(berth.ErrInvalid, "changes", "are out of order, or yet to come")
	}
	c.pool(s.Pool).changes = slices.Clone(s.Changes)
	return nil
}
