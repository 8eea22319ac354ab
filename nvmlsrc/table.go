package nvmlsrc

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"slices"

	"github.com/berth-sched/berth/mig"
)

// A table says how the GPUs of a machine divide. Without a lattice it says that they
// do not, or that nobody knows how.
type table struct {
	mig.Product
	// told: it differs from that of package mig, so that the core has to be told.
	told    bool
	lattice *mig.Lattice
}

// Tables returns the tables that the core has to be told of with
// [berth.MIGTableSet] before it can take the inventory's node: one if the driver
// reports another division than package mig knows for the product, or a product
// that package mig does not know, and else none.
//
// The name of such a table is that in package mig, or that of the device, with the
// driver's version and a digest of what was reported, as in
// "H100-80GB@550.54.15-1f0c2a9b": machines on which a driver of one version reports
// the same have the same table, and others have another name.
func (v Inventory) Tables() []mig.Product {
	if t, _ := v.table(); t.told {
		return []mig.Product{t.Product}
	}
	return nil
}

// table chooses one table for all GPUs of the machine, since the core wants one for
// a node. The drivers' reports win over package mig: first those of GPUs in MIG
// mode, which may say more than the others, and of these the one that most GPUs
// give, and then the first. What is told beside are the reports that make no sense.
func (v Inventory) table() (table, []*Error) {
	var refused []*Error
	refuse := func(g *GPU, err error) {
		refused = append(refused, &Error{GPU: g.Index, Query: queryMIGProfiles, Kind: ErrDriver, Reason: err.Error()})
	}
	candidates := v.candidates(refuse)
	for _, c := range candidates {
		lattice, err := mig.NewLattice(c.Product)
		if err == nil {
			c.lattice = lattice
			return c.table, refused
		}
		refuse(c.gpu, err)
	}
	for i := range v.GPUs {
		g := &v.GPUs[i]
		if product, known := builtIn(g); known && g.works() && g.MIG.Capable {
			if lattice, err := mig.NewLattice(product); err == nil {
				return table{Product: product, lattice: lattice}, refused
			}
		}
	}
	return table{}, refused
}

// A candidate is a table that some GPUs report.
type candidate struct {
	table
	gpu     *GPU // the first of them
	enabled bool
	count   int
}

// candidates returns the tables that are reported, the one to be preferred first.
func (v Inventory) candidates(refuse func(*GPU, error)) []candidate {
	var found []candidate
	for i := range v.GPUs {
		g := &v.GPUs[i]
		if !g.works() || !g.MIG.Capable || len(g.MIG.Report.Profiles) == 0 {
			continue
		}
		t, err := v.reported(g)
		if err != nil {
			refuse(g, err)
			continue
		}
		at := slices.IndexFunc(found, func(c candidate) bool { return c.enabled == g.MIG.Enabled && c.Name == t.Name })
		if at < 0 {
			at = len(found)
			found = append(found, candidate{table: t, gpu: g, enabled: g.MIG.Enabled})
		}
		found[at].count++
	}
	slices.SortStableFunc(found, func(a, b candidate) int {
		if a.enabled != b.enabled {
			if a.enabled {
				return -1
			}
			return 1
		}
		return b.count - a.count
	})
	return found
}

// reported returns the table that a GPU reports, without a lattice. It is that of
// package mig if it says nothing else.
func (v Inventory) reported(g *GPU) (table, error) {
	p, err := mig.ProductFromReport(g.MIG.Report)
	if err != nil {
		return table{}, err
	}
	known, ok := builtIn(g)
	if ok && reflect.DeepEqual(facts(p), facts(known)) {
		return table{Product: known}, nil
	}
	// What is told depends on how the GPU divides, and neither on which GPU says so nor
	// on which of two questions the driver answered.
	p.DeviceNames, p.PCIDeviceIDs = nil, nil
	for i := range p.Profiles {
		to := &p.Profiles[i]
		if k, ok := known.Profile(to.Name); ok {
			to.Evidence.Name = k.Evidence.Name
		}
	}
	text, err := json.Marshal(p)
	if err != nil {
		return table{}, err
	}
	digest := sha256.Sum256(text)
	name := p.Name + "@"
	if v.Driver != "" {
		name += v.Driver + "-"
	}
	p.Name = name + hex.EncodeToString(digest[:4])
	return table{Product: p, told: true}, nil
}

// facts returns of a table what decides: nothing about where it comes from, how sure
// it is, and of which product it is.
func facts(p mig.Product) mig.Product {
	p.DeviceNames, p.PCIDeviceIDs, p.Notes, p.Sources = nil, nil, nil, nil
	p.Profiles = slices.Clone(p.Profiles)
	for i := range p.Profiles {
		p.Profiles[i].Evidence, p.Profiles[i].MaxCount = mig.Evidence{}, 0
	}
	return p
}

// builtIn returns the table of package mig for a GPU.
func builtIn(g *GPU) (mig.Product, bool) {
	if p, ok := mig.LookupPCI(g.PCIDeviceID); ok {
		return p, true
	}
	return mig.LookupDevice(g.Product)
}
