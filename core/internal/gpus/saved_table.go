package gpus

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/catalogue"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/limits"
	"github.com/berth-sched/berth/mig"
)

// RestoreTables restores the tables, and what was in demand of each, before the nodes that go by
// them.
func (gp *GPUs) RestoreTables(list []catalogue.SavedTable) *berth.Error {
	for i := range list {
		if err := gp.restoreTable(&list[i]); err != nil {
			return refusal.In(err, errtext.Index("tables", i))
		}
	}
	return nil
}

func (gp *GPUs) restoreTable(s *catalogue.SavedTable) *berth.Error {
	if s.Table != nil {
		if s.Table.Name != s.Name {
			return refusal.Of(berth.ErrInvalid, "table.name", "is not the name of the table")
		}
		if err := gp.MIGTableSet(berth.MIGTableSet{Table: *s.Table}); err != nil {
			return err
		}
	}
	t, err := gp.catalogue.Table(s.Name)
	if err != nil {
		err.Field = "name"
		return err
	}
	weighed := false
	for i, saved := range s.Profiles {
		p, known := t.Lattice.ProfileIndex(saved.Profile)
		if !known || t.Recent[p] > 0 || t.Weights[p] > 0 {
			return refusal.Of(berth.ErrInvalid, errtext.Index("profiles", i), fmt.Sprintf("%v is none of the table, or comes twice", saved.Profile))
		}
		t.Recent[p], t.Weights[p] = min(saved.Recent, 1<<31), min(saved.Weight, catalogue.MaxWeight)
		weighed = weighed || t.Weights[p] > 0
	}
	if weighed {
		gp.books.SetRanking(t.Lattice, mig.NewRanking(t.Lattice, t.Weights))
	}
	return nil
}

// RestorePools restores which changes of GPUs are remembered, by pool.
func (gp *GPUs) RestorePools(list []catalogue.SavedPool) *berth.Error {
	for i := range list {
		if err := gp.restorePool(&list[i]); err != nil {
			return refusal.In(err, errtext.Index("pools", i))
		}
	}
	return nil
}

func (gp *GPUs) restorePool(s *catalogue.SavedPool) *berth.Error {
	if gp.catalogue.Pools[s.Pool] != nil || len(s.Changes) > 2*limits.MaxPerHour {
		return refusal.Of(berth.ErrInvalid, "pool", fmt.Sprintf("%q comes twice, or with too many changes", errtext.Short(s.Pool)))
	}
	if !slices.IsSorted(s.Changes) || len(s.Changes) > 0 && (s.Changes[0] < 0 || s.Changes[len(s.Changes)-1] > gp.state.Now) {
		return refusal.Of(berth.ErrInvalid, "changes", "are out of order, or in the future")
	}
	gp.catalogue.Pool(s.Pool).Changes = slices.Clone(s.Changes)
	return nil
}

// MIGTableSet takes a table for a product. It refuses to replace a table that nodes go by.
func (gp *GPUs) MIGTableSet(e berth.MIGTableSet) *berth.Error {
	name := e.Table.Name
	if err := checkTexts(&e.Table); err != nil {
		return refusal.In(err, "table")
	}
	old := gp.catalogue.Tables[name]
	if (old == nil || !old.Told) && gp.catalogue.TablesTold() >= catalogue.MaxTables {
		return refusal.Of(berth.ErrLimit, "table", fmt.Sprintf("%d tables were set already", catalogue.MaxTables))
	}
	t, err := gp.catalogue.NewTable(e.Table, true)
	switch {
	case err != nil:
		return refusal.Of(berth.ErrInvalid, "table", err.Error())
	case old == nil:
	case catalogue.EqualProducts(&old.Product, &t.Product):
		old.Told = true
		return nil
	case old.Nodes > 0:
		return refusal.Of(berth.ErrConflict, "table", fmt.Sprintf("%d nodes use table %q", old.Nodes, errtext.Short(name)))
	default:
		gp.books.SetRanking(old.Lattice, nil)
	}
	gp.catalogue.SetTable(name, t)
	return nil
}

// checkTexts refuses texts of a table that cannot be printed, or are too long. The rest is for
// package mig to check.
func checkTexts(table *mig.Product) *berth.Error {
	if err := refusal.Name(table.Name); err != nil {
		return refusal.In(err, "name")
	}
	for _, f := range []struct{ field, text string }{
		{"architecture", table.Architecture}, {"die", table.Die}, {"computeCapability", table.ComputeCapability},
	} {
		if err := refusal.Text(f.text); err != nil {
			return refusal.In(err, f.field)
		}
	}
	for _, f := range []struct {
		field string
		texts []string
	}{{"deviceNames", table.DeviceNames}, {"notes", table.Notes}, {"sources", table.Sources}} {
		for i, text := range f.texts {
			if err := refusal.Text(text); err != nil {
				return refusal.In(err, errtext.Index(f.field, i))
			}
		}
	}
	return nil
}
