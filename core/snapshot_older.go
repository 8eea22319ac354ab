package core

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/catalogue"
	"github.com/berth-sched/berth/core/internal/demand"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/strict"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/quota"
)

// A snapshotV2 is a snapshot of version 2, in which some things are known by their positions in
// lists: a new resource of hosts, or a new profile of a table, would have moved them. What is the
// same in the present version stands there; what differs comes first, and is what is read.
type snapshotV2 struct {
	Demand *demandV2 `json:"demand,omitempty"`
	Tables []tableV2 `json:"tables,omitempty"`
	record.Snapshot
}

type demandV2 struct {
	// Prices of the typical kinds alone, then of the same in company; Free and Changed of GPUs, of
	// the CPU and of the memory of hosts, or nothing.
	Prices  []int64       `json:"prices,omitempty"`
	Free    []int64       `json:"free,omitempty"`
	Changed []int64       `json:"changed,omitempty"`
	Typical []demand.Kind `json:"typical,omitempty"`
	demand.Saved
}

type tableV2 struct {
	Recent  []uint32 `json:"recent,omitempty"` // by profile, or nothing
	Weights []uint32 `json:"weights,omitempty"`
	catalogue.SavedTable
}

// readSnapshotV2 reads a snapshot of version 2 as one of the present version.
func readSnapshotV2(b []byte) (*record.Snapshot, error) {
	s, err := refusal.Decode("snapshot", strict.FormOf[snapshotV2](strict.Readings{}), b)
	if err != nil {
		return nil, err
	}
	present := &s.Snapshot
	var products []mig.Product // once: to build them costs more than a table of a hostile text
	for i := range s.Tables {
		if products == nil {
			products = mig.Products()
		}
		saved, bad := s.Tables[i].present(products)
		if bad != nil {
			return nil, inSnapshot(bad, errtext.Index("tables", i))
		}
		present.Tables = append(present.Tables, saved)
	}
	if s.Demand != nil {
		saved, bad := s.Demand.present()
		if bad != nil {
			return nil, inSnapshot(bad, "demand")
		}
		present.Demand = saved
	}
	present.Version = snapshotVersion
	return present, nil
}

func inSnapshot(bad *berth.Error, field string) error {
	bad = refusal.In(bad, field)
	bad.Event = "snapshot"
	return bad
}

func (d *demandV2) present() (*demand.Saved, *berth.Error) {
	s := &d.Saved
	if len(d.Prices) != 2*len(d.Typical) {
		return nil, refusal.Of(berth.ErrInvalid, "prices", fmt.Sprintf("there are %d for %d kinds", len(d.Prices), len(d.Typical)))
	}
	for i := range d.Typical {
		s.Typical = append(s.Typical, demand.PricedKind{Kind: d.Typical[i], Alone: d.Prices[i], Company: d.Prices[len(d.Typical)+i]})
	}
	for _, amount := range []struct {
		field string
		from  []int64
		to    *quota.Amounts
	}{{"free", d.Free, &s.Free}, {"changed", d.Changed, &s.Changed}} {
		switch len(amount.from) {
		case 0:
		case 3:
			*amount.to = quota.Amounts{quota.GPUMilli: amount.from[0], quota.CPUMilli: amount.from[1], quota.MemoryMiB: amount.from[2]}
		default:
			return nil, refusal.Of(berth.ErrInvalid, amount.field, fmt.Sprintf("there are %d numbers, not 3", len(amount.from)))
		}
	}
	return s, nil
}

// present is a table with its counts by the names of profiles: those of its own, or of the product
// of its name.
func (t *tableV2) present(products []mig.Product) (s catalogue.SavedTable, bad *berth.Error) {
	product := t.Table
	if product == nil {
		product = new(mig.Product) // one of no profiles, if it is not known: the name is refused later
		if i := slices.IndexFunc(products, func(p mig.Product) bool { return p.Name == t.Name }); i >= 0 {
			product = &products[i]
		}
	}
	s = t.SavedTable
	for _, counts := range [...][]uint32{t.Recent, t.Weights} {
		if len(counts) > 0 && len(counts) != len(product.Profiles) {
			return s, refusal.Of(berth.ErrInvalid, "recent", fmt.Sprintf("%d counts for %d profiles", len(counts), len(product.Profiles)))
		}
	}
	for p := range product.Profiles {
		saved := catalogue.SavedProfile{Profile: product.Profiles[p].Name}
		if len(t.Recent) > 0 {
			saved.Recent = t.Recent[p]
		}
		if len(t.Weights) > 0 {
			saved.Weight = t.Weights[p]
		}
		if saved.Recent > 0 || saved.Weight > 0 {
			s.Profiles = append(s.Profiles, saved)
		}
	}
	return s, nil
}
