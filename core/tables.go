package core

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/mig"
)

// maxTables bounds the tables that a caller tells.
const maxTables = 64

// A table is what the core keeps of a MIG table: how GPUs divide, and what of it is in
// demand.
type table struct {
	product mig.Product
	lattice *mig.Lattice
	told    bool // with MIGTableSet; else it is that of package mig
	nodes   int
	// recent counts, by profile, the instances that members got, newer ones for more;
	// weights are what places are ranked by.
	recent, weights []uint32
}

// newTable builds a table, or takes the lattice of a core that has it.
func (c *Core) newTable(product mig.Product, told bool) (*table, error) {
	if t := c.lender[product.Name]; t != nil && equalProducts(&t.product, &product) {
		return tableOf(t.lattice, told), nil
	}
	lattice, err := mig.NewLattice(product)
	if err != nil {
		return nil, err
	}
	return tableOf(lattice, told), nil
}

func tableOf(lattice *mig.Lattice, told bool) *table {
	return &table{
		product: lattice.Product(), lattice: lattice, told: told,
		recent: make([]uint32, lattice.Profiles()), weights: make([]uint32, lattice.Profiles()),
	}
}

// table finds a table by name: one that was told, or else that of package mig.
func (c *Core) table(name string) (*table, *berth.Error) {
	if t := c.tables[name]; t != nil {
		return t, nil
	}
	product, known := mig.Lookup(name)
	if !known {
		return nil, refusal.Of(berth.ErrUnknown, "table", fmt.Sprintf("%q is no table of package mig, nor one that was told", name))
	}
	t, err := c.newTable(product, false)
	if err != nil {
		return nil, refusal.Of(berth.ErrInvalid, "table", err.Error())
	}
	c.tables[name] = t
	return t, nil
}

func (c *Core) migTableSet(e berth.MIGTableSet) *berth.Error {
	name := e.Table.Name
	if err := refusal.Name(name); err != nil {
		return refusal.In(err, "table.name")
	}
	old := c.tables[name]
	if (old == nil || !old.told) && c.tablesTold() >= maxTables {
		return refusal.Of(berth.ErrLimit, "table", fmt.Sprintf("%d tables were told already", maxTables))
	}
	t, err := c.newTable(e.Table, true)
	switch {
	case err != nil:
		return refusal.Of(berth.ErrInvalid, "table", err.Error())
	case old == nil:
	case equalProducts(&old.product, &t.product):
		old.told = true
		return nil
	case old.nodes > 0:
		return refusal.Of(berth.ErrConflict, "table", fmt.Sprintf("%d nodes go by table %q", old.nodes, name))
	default:
		c.fleet.SetRanking(old.lattice, nil)
	}
	c.tables[name] = t
	return nil
}

// equalProducts reports whether two products divide in the same way and are described so.
func equalProducts(p, q *mig.Product) bool {
	a, errA := json.Marshal(p)
	b, errB := json.Marshal(q)
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

func (c *Core) tablesTold() int {
	n := 0
	for _, name := range slices.Sorted(maps.Keys(c.tables)) {
		if c.tables[name].told {
			n++
		}
	}
	return n
}

// profiles lists the profiles of the table that serve a claim, the cheapest first.
func (t *table) profiles(cl *berth.Claim) []int {
	switch {
	case t == nil:
	case cl.Fraction != nil:
		return t.lattice.AppendServing(nil, mig.Need{SMs: cl.Fraction.MinSMs, MemoryMiB: cl.Fraction.MinMemoryMiB})
	case cl.MIG != "":
		name, err := mig.ParseProfileName(cl.MIG)
		if p, ok := t.lattice.ProfileIndex(name); ok && err == nil {
			return []int{p}
		}
	}
	return nil
}

// milli is the part of a GPU that an instance counts as, in thousandths.
func (t *table) milli(instance mig.Placement) int64 {
	p, _ := t.lattice.ProfileIndex(instance.Profile)
	return int64(t.lattice.Milli(p))
}

// milliOf is the same for all instances of a state.
func (t *table) milliOf(s mig.State) int64 {
	sum := int64(0)
	for p := range t.lattice.Profiles() {
		sum += int64(t.lattice.Instances(s, p)) * int64(t.lattice.Milli(p))
	}
	return sum
}

// rankEvery is the least time between two looks at what is in demand.
const rankEvery = berth.Minute

const (
	// demandUnit is what one instance that is wanted or was given counts; recentKept
	// of 16 parts of what was given is left a minute later, half in eleven minutes.
	demandUnit = 256
	recentKept = 15
	// Weights are powers of two up to maxWeight, so that they seldom change.
	maxWeight = 16
)

// rank weighs the profiles of every table by what waits and what was given lately, so
// that what is placed leaves open what is in demand.
func (c *Core) rank() {
	if !c.agenda.rankDue(c.now) {
		return
	}
	c.forgetChanges()
	c.agenda.ranked(c.now.Add(rankEvery), len(c.pools) > 0)
	demand := c.waitingInstances()
	for _, name := range slices.Sorted(maps.Keys(c.tables)) {
		t := c.tables[name]
		if t.nodes == 0 {
			clear(t.recent)
			clear(t.weights)
			c.fleet.SetRanking(t.lattice, nil)
			continue
		}
		wanted := demand[t]
		for p := range t.recent {
			if wanted != nil {
				wanted[p] += int64(t.recent[p])
			}
			t.recent[p] = t.recent[p] / 16 * recentKept
		}
		if weights := weighed(wanted); weights != nil && !slices.Equal(weights, t.weights) {
			t.weights = weights
			c.fleet.SetRanking(t.lattice, mig.NewRanking(t.lattice, weights))
		}
	}
}

// waitingInstances counts, by table and profile, the instances that members wait for,
// in units of demand: the cheapest that serves each.
func (c *Core) waitingInstances() map[*table][]int64 {
	demand := map[*table][]int64{}
	for _, name := range slices.Sorted(maps.Keys(c.tables)) {
		t := c.tables[name]
		demand[t] = make([]int64, len(t.recent))
	}
	for _, key := range slices.Sorted(maps.Keys(c.shapes)) {
		s := c.shapes[key]
		waiting := 0
		for _, b := range s.buckets {
			waiting += b.entries.Len()
		}
		if waiting == 0 {
			continue
		}
		for i := range s.spec.Groups {
			g := &s.spec.Groups[i]
			if !g.Claim.Instance() {
				continue
			}
			for _, name := range slices.Sorted(maps.Keys(c.tables)) {
				if profiles := c.tables[name].profiles(&g.Claim); len(profiles) > 0 {
					demand[c.tables[name]][profiles[0]] += demandUnit * int64(waiting) * int64(least(g))
				}
			}
		}
	}
	return demand
}

// weighed turns demand into weights: in proportion to the greatest, rounded down to a
// power of two, but at least 1, since what nobody asked for yet may be asked for next.
// Nil if nothing is in demand.
func weighed(demand []int64) []uint32 {
	most := int64(0)
	for _, d := range demand {
		most = max(most, d)
	}
	if most == 0 {
		return nil
	}
	weights := make([]uint32, len(demand))
	for p, d := range demand {
		weights[p] = 1
		if part := d * maxWeight / most; part > 1 {
			weights[p] = 1 << (bits.Len64(uint64(part)) - 1)
		}
	}
	return weights
}

// gave notes that members got instances.
func (c *Core) gave(n *node, h *gang.Hold) {
	if h.Instance == (mig.Placement{}) {
		return
	}
	if p, ok := n.table.lattice.ProfileIndex(h.Instance.Profile); ok && n.table.recent[p] < 1<<30 {
		n.table.recent[p] += demandUnit
	}
}

// arranged is a layout of some profiles; false: there is none.
func (t *table) arranged(names []mig.ProfileName) ([]mig.Placement, bool) {
	counts := make([]int, t.lattice.Profiles())
	for _, name := range names {
		p, ok := t.lattice.ProfileIndex(name)
		if !ok {
			return nil, false
		}
		counts[p]++
	}
	s, ok := t.lattice.Arrange(0, counts)
	return t.lattice.Layout(s), ok
}

// leastMilli is what a claim for an instance is charged at least, of the profiles that serve.
func (c *Core) leastMilli(g *gang.Group) int64 {
	least := int64(1000)
	for _, profile := range g.Claim.Instances {
		least = min(least, int64(c.classes.list[profile.Class].table.lattice.Milli(profile.Index)))
	}
	return least
}
