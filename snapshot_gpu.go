package berth

import (
	"fmt"
	"maps"
	"slices"

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

// A savedPool has the instants at which GPUs of a pool were repartitioned.
type savedPool struct {
	Pool    string `json:"pool"`
	Changes []Time `json:"changes"`
}

// A savedGPU is what the description of a GPU does not have.
type savedGPU struct {
	GPU       int          `json:"gpu"`
	Order     *Repartition `json:"order,omitempty"`
	Before    *savedMode   `json:"before,omitempty"` // the order
	ChangedAt Time         `json:"changedAt,omitempty"`
	Unknown   bool         `json:"unknown,omitempty"`
}

type savedMode struct {
	Mode      GPUMode         `json:"mode"`
	Instances []mig.Placement `json:"instances,omitempty"`
}

// A savedDrain is the GPU that is kept for a replica.
type savedDrain struct {
	Node  NodeID `json:"node"`
	GPU   int    `json:"gpu"`
	Until Time   `json:"until"`
	// RetryAt, if it is clear and the rates did not allow to change it.
	RetryAt Time `json:"retryAt,omitempty"`
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

func (c *Core) savePools() []savedPool {
	var list []savedPool
	for _, name := range slices.Sorted(maps.Keys(c.pools)) {
		if p := c.pools[name]; len(p.changes) > 0 {
			list = append(list, savedPool{name, p.changes})
		}
	}
	return list
}

func (n *node) saveGPUs() []savedGPU {
	var list []savedGPU
	for g := range n.gpus {
		s := &n.gpus[g]
		saved := savedGPU{GPU: g, ChangedAt: s.changedAt, Unknown: s.unknown}
		if s.order != nil {
			saved.Order = &s.order.order
			saved.Before = &savedMode{s.order.before.mode, s.order.before.instances}
		}
		if saved != (savedGPU{GPU: g}) {
			list = append(list, saved)
		}
	}
	return list
}

func (rep *replica) saveDrain() *savedDrain {
	if rep.drain == nil {
		return nil
	}
	return &savedDrain{rep.drain.node.spec.ID, rep.drain.gpu, rep.drain.until, rep.drain.retryAt}
}

func (c *Core) restoreTable(s *savedTable) *Error {
	if s.Table != nil {
		if err := c.migTableSet(MIGTableSet{*s.Table}); err != nil {
			return err
		}
	}
	t, err := c.table(s.Name)
	if err != nil {
		return err
	}
	for _, counts := range [][]uint32{s.Recent, s.Weights} {
		if len(counts) > 0 && len(counts) != t.lattice.Profiles() {
			return refuse(ErrInvalid, "recent", fmt.Sprintf("%d counts for %d profiles", len(counts), t.lattice.Profiles()))
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

func (c *Core) restorePool(s *savedPool) *Error {
	if c.pools[s.Pool] != nil || len(s.Changes) > 2*maxPerHour {
		return refuse(ErrInvalid, "pool", fmt.Sprintf("%q comes twice, or with too many changes", s.Pool))
	}
	if !slices.IsSorted(s.Changes) || len(s.Changes) > 0 && (s.Changes[0] < 0 || s.Changes[len(s.Changes)-1] > c.now) {
		return refuse(ErrInvalid, "changes", "are out of order, or yet to come")
	}
	c.pool(s.Pool).changes = slices.Clone(s.Changes)
	return nil
}

func (c *Core) restoreGPU(n *node, s *savedGPU) *Error {
	if s.GPU < 0 || s.GPU >= len(n.gpus) {
		return refuse(ErrInvalid, "gpu", fmt.Sprintf("index %d is out of range", s.GPU))
	}
	state := &n.gpus[s.GPU]
	if *state != (gpuState{}) {
		return refuse(ErrDuplicate, "gpu", fmt.Sprintf("%d comes twice", s.GPU))
	}
	if s.ChangedAt < 0 || s.ChangedAt > c.now {
		return refuse(ErrInvalid, "changedAt", "is yet to come")
	}
	state.changedAt, state.unknown = s.ChangedAt, s.Unknown
	if (s.Order != nil) != (s.Before != nil) {
		return refuse(ErrInvalid, "before", "there is no order without it")
	}
	if s.Order != nil {
		if err := c.restoreRepartition(n, s); err != nil {
			return err.in("order")
		}
	}
	c.settleGPU(n, s.GPU)
	c.noteLayout(n, s.GPU)
	return nil
}

func (c *Core) restoreRepartition(n *node, s *savedGPU) *Error {
	o, after := s.Order, n.partitioning(s.GPU)
	before := partitioning{s.Before.Mode, s.Before.Instances}
	if err := n.table.checkPartitioning(before.mode, before.instances); err != nil {
		return err
	}
	switch {
	case o.ID == 0 || o.ID > c.lastAction || c.repartitions[o.ID] != nil:
		return refuse(ErrInvalid, "id", fmt.Sprintf("%d was never given, or comes twice", o.ID))
	case o.Node != n.spec.ID || o.GPU != s.GPU || o.Mode != after.mode:
		return refuse(ErrInvalid, "node", "it is about another GPU or mode")
	case n.geometry.Kind != PerClaim && (!slices.Equal(o.Destroy, without(before.instances, after.instances)) ||
		!slices.Equal(o.Create, without(after.instances, before.instances))):
		return refuse(ErrInvalid, "create", "does not lead from the layout before to the one after")
	case n.spec.GPUs[s.GPU].Failed:
		return refuse(ErrInvalid, "gpu", "has failed")
	}
	c.openRepartition(&repartition{order: *o, node: n, before: before})
	return nil
}

// restoreLooked marks the replicas for which nothing has changed since GPUs, or victims,
// were looked for, after all that Restore itself has changed.
func (c *Core) restoreLooked(jobs []savedJob) {
	c.agenda.nextTurns()
	for i := range jobs {
		for _, s := range jobs[i].Replicas {
			if s.Looked {
				c.jobs[jobs[i].Job.ID].replicas[s.Replica].looked = c.agenda.reshapeTurn
			}
			if s.Bid {
				c.jobs[jobs[i].Job.ID].replicas[s.Replica].bidTurn = c.agenda.preemptTurn
			}
		}
	}
}

// restoreDrain keeps a GPU for a replica again.
func (c *Core) restoreDrain(rep *replica, s *savedDrain) *Error {
	n, err := c.knownGPU(s.Node, s.GPU)
	if err != nil {
		return err
	}
	if rep.entries == nil || rep.state != Pending || c.untouchable(n, s.GPU) {
		return refuse(ErrInvalid, "drain", "is for a replica that does not wait, or of a GPU that cannot be kept")
	}
	c.attach(&drain{rep, n, s.GPU, s.Until, s.RetryAt})
	return nil
}
