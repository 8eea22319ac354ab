package catalogue

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
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/mig"
)

// MaxTables bounds the tables that a caller tells.
const MaxTables = 64

// A Table is what the core keeps of a MIG table: how GPUs divide, and what of it is in
// demand.
type Table struct {
	Product mig.Product
	Lattice *mig.Lattice
	Told    bool // with MIGTableSet; else it is that of package mig
	Nodes   int
	// Recent counts, by profile, the instances that members got, newer ones for more;
	// weights are what places are ranked by.
	Recent, Weights []uint32
	plans           map[planKey]Plan // looked up, never ranged over
}

// A Plan is how a GPU gets instances of one profile: the state to which it leads, by how many
// steps, and the thousandths of the GPU that these destroy or create; no steps: there is none, or
// it has them.
type Plan struct {
	To      mig.State
	Steps   int
	Touched int64
}

// A planKey is what a plan depends on, beside the lattice.
type planKey struct {
	exist, held    mig.State
	profile, count int
}

// maxPlans bounds the plans that a table remembers: a lattice has some hundred states.
const maxPlans = 1 << 14

// Plan is the plan that package mig has, in the state that exists and of which some is held, for
// so many idle instances of a profile. It is worked out once.
func (t *Table) Plan(exist, held mig.State, profile, count int) Plan {
	key := planKey{exist, held, profile, count}
	plan, known := t.plans[key]
	if known {
		return plan
	}
	plan = t.workOut(key)
	if t.plans == nil || len(t.plans) >= maxPlans {
		t.plans = map[planKey]Plan{}
	}
	t.plans[key] = plan
	return plan
}

// workOut is Plan, without a memory.
func (t *Table) workOut(key planKey) (plan Plan) {
	counts := make([]int, t.Lattice.Profiles())
	counts[key.profile] = key.count
	if to, steps, ok := t.Lattice.PlanFor(key.exist, key.held, counts); ok {
		plan = Plan{To: to, Steps: len(steps)}
		for _, step := range steps {
			plan.Touched += t.Milli(step.Placement)
		}
	}
	return plan
}

// NewTable builds a table, or takes the lattice of a core that has it.
func (c *Catalogue) NewTable(product mig.Product, told bool) (*Table, error) {
	if t := c.Lender[product.Name]; t != nil && EqualProducts(&t.Product, &product) {
		return tableOf(t.Lattice, told), nil
	}
	lattice, err := mig.NewLattice(product)
	if err != nil {
		return nil, err
	}
	return tableOf(lattice, told), nil
}

func tableOf(lattice *mig.Lattice, told bool) *Table {
	return &Table{
		Product: lattice.Product(), Lattice: lattice, Told: told,
		Recent: make([]uint32, lattice.Profiles()), Weights: make([]uint32, lattice.Profiles()),
	}
}

// Table finds a table by name: one that was told, or else that of package mig.
func (c *Catalogue) Table(name string) (*Table, *berth.Error) {
	if t := c.Tables[name]; t != nil {
		return t, nil
	}
	product, known := mig.Lookup(name)
	if !known {
		return nil, refusal.Of(berth.ErrUnknown, "migTable", fmt.Sprintf("%q is neither a table of package mig nor one that was set", errtext.Short(name)))
	}
	t, err := c.NewTable(product, false)
	if err != nil {
		return nil, refusal.Of(berth.ErrInvalid, "table", err.Error())
	}
	c.Tables[name] = t
	return t, nil
}

// EqualProducts reports whether two products divide in the same way and are described so.
func EqualProducts(p, q *mig.Product) bool {
	a, errA := json.Marshal(p)
	b, errB := json.Marshal(q)
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// TablesTold counts the tables that were told.
func (c *Catalogue) TablesTold() int {
	n := 0
	for _, name := range slices.Sorted(maps.Keys(c.Tables)) {
		if c.Tables[name].Told {
			n++
		}
	}
	return n
}

// Profiles lists the profiles of the table that serve a claim, the cheapest first.
func (t *Table) Profiles(cl *berth.Claim) []int {
	switch {
	case t == nil:
	case cl.MinInstance != nil:
		return t.Lattice.AppendServing(nil, mig.Need{SMs: cl.MinInstance.MinSMs, MemoryMiB: cl.MinInstance.MinMemoryMiB})
	case cl.MIG != "":
		name, err := mig.ParseProfileName(cl.MIG)
		if p, ok := t.Lattice.ProfileIndex(name); ok && err == nil {
			return []int{p}
		}
	}
	return nil
}

// Milli is the part of a GPU that an instance counts as, in thousandths.
func (t *Table) Milli(instance mig.Placement) int64 {
	p, _ := t.Lattice.ProfileIndex(instance.Profile)
	return int64(t.Lattice.GPUMilli(p))
}

// MilliOf is the same for all instances of a state.
func (t *Table) MilliOf(s mig.State) int64 {
	sum := int64(0)
	for p := range t.Lattice.Profiles() {
		sum += int64(t.Lattice.Instances(s, p)) * int64(t.Lattice.GPUMilli(p))
	}
	return sum
}

// RankEvery is the least time between two looks at what is in demand.
const RankEvery = berth.Minute

const (
	// DemandUnit is what one instance that is wanted or was given counts; RecentKept
	// of 16 parts of what was given is left a minute later, half in eleven minutes.
	DemandUnit = 256
	RecentKept = 15
	// Weights are powers of two up to MaxWeight, so that they seldom change.
	MaxWeight = 16
)

// Weighed turns demand into weights: in proportion to the greatest, rounded down to a
// power of two, but at least 1, since what nobody asked for yet may be asked for next.
// Nil if nothing is in demand.
func Weighed(demand []int64) []uint32 {
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
		if part := d * MaxWeight / most; part > 1 {
			weights[p] = 1 << (bits.Len64(uint64(part)) - 1)
		}
	}
	return weights
}

// Arranged is a layout of some profiles; false: there is none.
func (t *Table) Arranged(names []mig.ProfileName) ([]mig.Placement, bool) {
	counts := make([]int, t.Lattice.Profiles())
	for _, name := range names {
		p, ok := t.Lattice.ProfileIndex(name)
		if !ok {
			return nil, false
		}
		counts[p]++
	}
	s, ok := t.Lattice.Arrange(0, counts)
	return t.Lattice.Layout(s), ok
}

// CheckPartitioning refuses a mode that a GPU cannot be in, and a layout that its table
// does not have.
func (t *Table) CheckPartitioning(mode berth.GPUMode, instances []mig.Placement) *berth.Error {
	switch {
	case mode > berth.GPUModeTimeSlice:
		return refusal.Of(berth.ErrInvalid, "mode", fmt.Sprintf("%d is out of range", mode))
	case mode == berth.GPUModeMIG && t == nil:
		return refusal.Of(berth.ErrInvalid, "mode", "no MIG table says how the GPU can be partitioned")
	case mode != berth.GPUModeMIG && len(instances) > 0:
		return refusal.Of(berth.ErrInvalid, "instances", fmt.Sprintf("a GPU in mode %s has none", mode))
	case mode == berth.GPUModeMIG:
		if _, err := t.Lattice.StateOf(instances); err != nil {
			return refusal.Of(berth.ErrInvalid, "instances", err.Error())
		}
	}
	return nil
}

// CheckTables refuses a node whose GPUs cannot be as they are told.
func (c *Catalogue) CheckTables(n *berth.Node) *berth.Error {
	if len(n.GPUs) == 0 {
		return nil
	}
	var t *Table
	if name := n.GPUs[0].MIGTable; name != "" {
		known, err := c.Table(name)
		if err != nil {
			return refusal.In(err, errtext.Index("gpus", 0))
		}
		t = known
	}
	for i := range n.GPUs {
		if err := t.CheckPartitioning(n.GPUs[i].Mode, n.GPUs[i].Instances); err != nil {
			return refusal.In(err, errtext.Index("gpus", i))
		}
	}
	return nil
}

// A TrustDomain is the jobs of which members may be together on a shared GPU: those of a tenant,
// or those of a queue that name none. One of the two is empty.
type TrustDomain struct {
	Tenant berth.TenantID `json:",omitempty"`
	Queue  berth.QueueID  `json:",omitempty"`
}

// TrustDomainOf is the trust domain of a job of a tenant in a queue.
func TrustDomainOf(tenant berth.TenantID, queue berth.QueueID) TrustDomain {
	if tenant != "" {
		return TrustDomain{Tenant: tenant}
	}
	return TrustDomain{Queue: queue}
}

// An OwnerKey is what members on one shared GPU have in common.
type OwnerKey struct {
	TrustDomain
	Mode berth.ShareMode
	// Lent: the GPU is held whole by another, which lends it.
	Lent bool
}

// OwnerOf is what members with a claim have in common with others on one GPU. False: they share
// none.
func OwnerOf(domain TrustDomain, cl *berth.Claim) (OwnerKey, bool) {
	switch {
	case cl.Share != nil:
		return OwnerKey{TrustDomain: domain, Mode: cl.Share.Mode}, true
	case cl.Borrow != nil:
		return OwnerKey{TrustDomain: domain, Lent: true}, true
	}
	return OwnerKey{}, false
}

// An OwnerTable interns owners of shared GPUs, counting the users of each.
type OwnerTable struct {
	ByKey map[OwnerKey]gang.Owner
	Uses  []int
	Keys  []OwnerKey
}

// NewOwnerTable returns an empty table. Owner 0 is nobody's.
func NewOwnerTable() OwnerTable {
	return OwnerTable{ByKey: map[OwnerKey]gang.Owner{}, Uses: []int{1}, Keys: make([]OwnerKey, 1)}
}

// Retain counts one more use of an owner, and returns the number of the owner.
func (t *OwnerTable) Retain(k OwnerKey) gang.Owner {
	o, known := t.ByKey[k]
	if !known {
		i := slices.Index(t.Uses, 0)
		if i < 0 {
			i = len(t.Uses)
			t.Uses, t.Keys = append(t.Uses, 0), append(t.Keys, k)
		}
		o = gang.Owner(i)
		t.Keys[i], t.ByKey[k] = k, o
	}
	t.Uses[o]++
	return o
}

// Release counts a use no longer. The number is free again with the last.
func (t *OwnerTable) Release(o gang.Owner) {
	t.Uses[o]--
	if t.Uses[o] == 0 {
		delete(t.ByKey, t.Keys[o])
	}
}

// UseShare counts one more use of a share's owner, if it is a share.
func (t *OwnerTable) UseShare(s gang.Share) {
	if s.GPUMilli > 0 {
		t.Uses[s.Owner]++
	}
}

// ReleaseShare gives up the use of a share's owner, if it is a share.
func (t *OwnerTable) ReleaseShare(s gang.Share) {
	if s.GPUMilli > 0 {
		t.Release(s.Owner)
	}
}

// Filled adds what is most in demand to a state until nothing fits, and of equals one
// profile before the others: what is repartitioned anyway should serve as many as it
// can.
func (t *Table) Filled(s mig.State, profile int) mig.State {
	for {
		best := -1
		for p := range t.Weights {
			if t.Lattice.Fits(s, p) && (best < 0 || t.Weights[p] > t.Weights[best] || t.Weights[p] == t.Weights[best] && p == profile) {
				best = p
			}
		}
		if best < 0 {
			return s
		}
		_, s, _ = t.Lattice.Place(s, best)
	}
}

// A Pool is what the core remembers of a pool: when its GPUs were repartitioned, in the
// last hour, oldest first.
type Pool struct{ Changes []berth.Time }

// Pool returns what is remembered of a pool, made if there is nothing.
func (c *Catalogue) Pool(name string) *Pool {
	p := c.Pools[name]
	if p == nil {
		p = &Pool{}
		c.Pools[name] = p
	}
	return p
}

// Forget drops the changes of an hour ago and more.
func (p *Pool) Forget(now berth.Time) {
	first := 0
	for first < len(p.Changes) && p.Changes[first].Add(berth.Hour) <= now {
		first++
	}
	p.Changes = slices.Delete(p.Changes, 0, first)
}

// Note remembers a change.
func (p *Pool) Note(now berth.Time) {
	p.Forget(now)
	p.Changes = append(p.Changes, now)
}

// A SavedTable is a table that was told, or that something was given of.
type SavedTable struct {
	Name string `json:"name"`
	// Table that was told; nil: that of package mig.
	Table *mig.Product `json:"table,omitempty"`
	// Profiles of which instances were given, in the order of the table.
	Profiles []SavedProfile `json:"profiles,omitempty"`
}

// A SavedProfile is what a table knows of the demand for a profile.
type SavedProfile struct {
	Profile mig.ProfileName `json:"profile"`
	Recent  uint32          `json:"recent,omitempty"`
	Weight  uint32          `json:"weight,omitempty"`
}

// SaveTables lists the tables by name. A table of package mig goes by its name alone.
func (c *Catalogue) SaveTables() []SavedTable {
	var list []SavedTable
	for _, name := range slices.Sorted(maps.Keys(c.Tables)) {
		t := c.Tables[name]
		saved := SavedTable{Name: name}
		if t.Told {
			saved.Table = &t.Product
		}
		for p := range t.Recent {
			if t.Recent[p] > 0 || t.Weights[p] > 0 {
				saved.Profiles = append(saved.Profiles, SavedProfile{t.Product.Profiles[p].Name, t.Recent[p], t.Weights[p]})
			}
		}
		if t.Told || len(saved.Profiles) > 0 {
			list = append(list, saved)
		}
	}
	return list
}

// A SavedPool has the instants at which GPUs of a pool were repartitioned.
type SavedPool struct {
	Pool    string       `json:"pool"`
	Changes []berth.Time `json:"changes"`
}

// SavePools lists the pools of which changes are remembered, by name.
func (c *Catalogue) SavePools() []SavedPool {
	var list []SavedPool
	for _, name := range slices.Sorted(maps.Keys(c.Pools)) {
		if p := c.Pools[name]; len(p.Changes) > 0 {
			list = append(list, SavedPool{name, slices.Clone(p.Changes)})
		}
	}
	return list
}

// SetTable makes a table known by a name, in the place of one by which no node goes.
func (c *Catalogue) SetTable(name string, t *Table) { c.Tables[name] = t }

// ForgetChanges drops what no rate looks at any more.
func (c *Catalogue) ForgetChanges(now berth.Time) {
	if len(c.Pools) == 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(c.Pools)) {
		if c.Pools[name].Forget(now); len(c.Pools[name].Changes) == 0 {
			delete(c.Pools, name)
		}
	}
}
