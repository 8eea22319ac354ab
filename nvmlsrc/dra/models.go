package dra

import (
	"strings"

	"github.com/berth-sched/berth/mig"
)

// models are the products of package mig by the names of their devices. They are made once, since
// a text may name a product for each of its devices.
type models struct {
	byName map[string]*model
}

// A model is a product, and its lattice once it is asked for.
type model struct {
	mig.Product
	lattice *mig.Lattice
	number  map[mig.Placement]int // of the placements in the lattice
}

// of is the model of a device; nil: package mig does not have it.
func (m *models) of(device string) *model {
	if m.byName == nil {
		m.byName = map[string]*model{}
		for _, product := range mig.Products() {
			one := &model{Product: product}
			for _, name := range product.DeviceNames {
				_, bare, _ := strings.Cut(name, " ")
				m.byName[name], m.byName[bare] = one, one
			}
		}
	}
	return m.byName[device]
}

// divided is the lattice of a model; nil: it has none.
func (m *model) divided() *mig.Lattice {
	if m.lattice == nil {
		lattice, err := mig.NewLattice(m.Product)
		if err != nil {
			return nil
		}
		m.lattice, m.number = lattice, map[mig.Placement]int{}
		for j, placement := range lattice.Placements() {
			m.number[placement] = j
		}
	}
	return m.lattice
}
