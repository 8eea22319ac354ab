package upkeep

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/hardware"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/limits"
)

// FabricReported takes how much of its bandwidth a domain has left. Its nodes change their class,
// by which gangs that need several nodes choose; nothing becomes free, and nothing is blocked.
func (u *Upkeep) FabricReported(e berth.FabricReported) *berth.Error {
	if e.LeftMilli < 0 || e.LeftMilli > 1000 {
		return refusal.Of(berth.ErrInvalid, "leftMilli", fmt.Sprintf("%d is outside 0..1000", e.LeftMilli))
	}
	if err := refusal.Text(e.Reason); err != nil {
		return refusal.In(err, "reason")
	}
	if len(e.Domain) == 0 {
		return refusal.Of(berth.ErrInvalid, "domain", "names no domain")
	}
	nodes := u.state.NodesIn(e.Domain)
	if len(nodes) == 0 {
		return refusal.Of(berth.ErrUnknown, "domain", fmt.Sprintf("no node stands in %q", errtext.Short(fmt.Sprint(e.Domain))))
	}
	at, told := u.findFabric(e.Domain)
	before := slices.Clone(u.fabric)
	e.Domain = slices.Clone(e.Domain)
	switch one := berth.FabricReport(e); {
	case e.LeftMilli < 1000 && told:
		u.fabric[at] = one
	case e.LeftMilli < 1000:
		u.fabric = slices.Insert(u.fabric, at, one)
	case told:
		u.fabric = slices.Delete(u.fabric, at, at+1)
	}
	if err := u.rate(nodes); err != nil {
		u.fabric = before
		return err
	}
	return nil
}

// rate moves nodes to the classes that the fabric puts them in, or changes nothing where that makes
// too many kinds of node.
func (u *Upkeep) rate(nodes []*record.Node) *berth.Error {
	var gone, losses []int
	var keys []hardware.Key
	var moved []*record.Node
	for _, n := range nodes {
		if lost := u.LostMilli(n.Spec.Domains); lost != n.LostMilli {
			moved, gone, losses = append(moved, n), append(gone, n.Class), append(losses, lost)
			keys = append(keys, record.KeyOf(&n.Spec, n.Reservations, lost))
		}
	}
	if u.state.Classes.CountMoved(gone, keys) > limits.MaxKinds {
		return refusal.Of(berth.ErrLimit, "domain", fmt.Sprintf("the fleet would have more than %d kinds of node (pool, product, memory, number of GPUs, rate of NICs, taints)", limits.MaxKinds))
	}
	for i, n := range moved {
		n.LostMilli = losses[i]
		u.books.Reclass(n)
	}
	return nil
}

// LostMilli is the most that a domain on a path has lost of its bandwidth, in thousandths.
// O(levels x log(domains that lost some)).
func (u *Upkeep) LostMilli(path []string) (lost int) {
	for i := range path {
		if at, told := u.findFabric(path[:i+1]); told {
			lost = max(lost, 1000-u.fabric[at].LeftMilli)
		}
	}
	return lost
}

// ForgetFabric forgets what was told of those domains on a path that have lost their last node.
func (u *Upkeep) ForgetFabric(path []string) {
	for i := range path {
		if at, told := u.findFabric(path[:i+1]); told {
			if _, known := u.state.Fleet.Tree().Lookup(path[:i+1]...); !known {
				u.fabric = slices.Delete(u.fabric, at, at+1)
			}
		}
	}
}

func (u *Upkeep) findFabric(path []string) (at int, told bool) {
	return slices.BinarySearchFunc(u.fabric, path, func(r berth.FabricReport, path []string) int { return slices.Compare(r.Domain, path) })
}

// SaveFabric lists the domains that have lost bandwidth, in order of their paths, in memory of its
// own.
func (u *Upkeep) SaveFabric() []berth.FabricReport {
	list := slices.Clone(u.fabric)
	for i := range list {
		list[i].Domain = slices.Clone(list[i].Domain)
	}
	return list
}

// RestoreFabric takes over what SaveFabric gave, before there are nodes.
func (u *Upkeep) RestoreFabric(list []berth.FabricReport) *berth.Error {
	for i, r := range list {
		if i > 0 && slices.Compare(list[i-1].Domain, r.Domain) >= 0 {
			return refusal.Of(berth.ErrInvalid, errtext.Index("", i)+".domain", "is out of order")
		}
		if r.LeftMilli < 0 || r.LeftMilli > 999 {
			return refusal.Of(berth.ErrInvalid, errtext.Index("", i)+".leftMilli", fmt.Sprintf("%d is outside 0..999", r.LeftMilli))
		}
		if err := refusal.Text(r.Reason); err != nil {
			return refusal.In(err, errtext.Index("", i)+".reason")
		}
	}
	u.fabric = list
	return nil
}

// CheckRates checks that nodes and domains agree on what the fabric has lost. It is for tests.
func (u *Upkeep) CheckRates() error {
	if bad := u.CheckFabric(); bad != nil {
		return bad
	}
	return u.state.EachNode(func(n *record.Node) error {
		lost := 0
		for _, r := range u.fabric {
			if len(r.Domain) <= len(n.Spec.Domains) && slices.Equal(r.Domain, n.Spec.Domains[:len(r.Domain)]) {
				lost = max(lost, 1000-r.LeftMilli)
			}
		}
		if n.LostMilli != lost {
			return fmt.Errorf("its domains have lost %d thousandths of their bandwidth, not %d", lost, n.LostMilli)
		}
		return nil
	})
}

// CheckFabric refuses a domain without a node, once all nodes are there.
func (u *Upkeep) CheckFabric() *berth.Error {
	for i, r := range u.fabric {
		if _, known := u.state.Fleet.Tree().Lookup(r.Domain...); !known || len(r.Domain) == 0 {
			return refusal.Of(berth.ErrUnknown, errtext.Index("", i)+".domain", "no node stands there")
		}
	}
	return nil
}
