// Package catalogue has what records refer to by number or by name: the owners of shares, the
// graphs inside nodes, and the tables by which GPUs divide, with their lattices. It knows no
// record.
package catalogue

// A Catalogue has the owners, graphs and tables in use.
//
// Its invariants:
//
//  1. An owner and a graph are there as long as a record uses them, and are counted.
//  2. A table that was told wins over the one of package mig with its name.
type Catalogue struct {
	Owners OwnerTable
	Graphs GraphTable
	// Tables by name: those that were told, and those of package mig that were asked
	// for.
	Tables map[string]*Table
	// Lender has the tables of the core of which this is a copy, while it is made: their
	// lattices never change.
	Lender map[string]*Table
	// Pools by name: when their GPUs were changed.
	Pools map[string]*Pool
}

// New returns a catalogue of nothing.
func New() *Catalogue {
	return &Catalogue{Owners: NewOwnerTable(), Graphs: GraphTable{ByKey: map[string]*GraphEntry{}}, Tables: map[string]*Table{}, Pools: map[string]*Pool{}}
}
