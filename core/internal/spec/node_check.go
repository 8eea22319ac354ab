package spec

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/limits"
	"github.com/berth-sched/berth/topology"
)

// CheckNode refuses a node that makes no sense, given the number of levels and what is declared.
func CheckNode(n *berth.Node, levels int, declared countable.Register) *berth.Error {
	if err := refusal.Name(string(n.ID)); err != nil {
		return refusal.In(err, "id")
	}
	if err := refusal.Text(n.Pool); err != nil {
		return refusal.In(err, "pool")
	}
	if len(n.Domains) != levels {
		return refusal.Of(berth.ErrInvalid, "domains", fmt.Sprintf("%d names for %d levels", len(n.Domains), levels))
	}
	for i, d := range n.Domains {
		if err := refusal.Name(d); err != nil {
			return refusal.In(err, errtext.Index("domains", i))
		}
	}
	if len(n.GPUs) > berth.MaxGPUs {
		return refusal.Of(berth.ErrLimit, "gpus", fmt.Sprintf("%d GPUs; a node carries at most %d", len(n.GPUs), berth.MaxGPUs))
	}
	for i := range n.GPUs {
		if err := checkGPU(&n.GPUs[i], &n.GPUs[0]); err != nil {
			return refusal.In(err, errtext.Index("gpus", i))
		}
	}
	if err := checkHost(n.Host()); err != nil {
		return err
	}
	if err := checkResources(n.Resources, declared, 0); err != nil {
		return err
	}
	if len(n.NICs) > topology.MaxNICs {
		return refusal.Of(berth.ErrLimit, "nics", fmt.Sprintf("%d NICs; a node carries at most %d", len(n.NICs), topology.MaxNICs))
	}
	for i := range n.NICs {
		if err := checkNIC(&n.NICs[i]); err != nil {
			return refusal.In(err, errtext.Index("nics", i))
		}
	}
	if err := refusal.Labels(n.Labels); err != nil {
		return refusal.In(err, "labels")
	}
	return refusal.In(checkTaints(n.Taints), "taints")
}

// checkGPU refuses a GPU that makes no sense, or that differs from the node's first.
func checkGPU(g, first *berth.GPU) *berth.Error {
	if err := refusal.Name(g.Product); err != nil {
		return refusal.In(err, "product")
	}
	if err := refusal.Amount(g.MemoryMiB); err != nil {
		return refusal.In(err, "memoryMiB")
	}
	for _, text := range []struct{ field, value string }{{"uuid", g.UUID}, {"pci", g.PCI}, {"clique", g.Clique}} {
		if err := refusal.Text(text.value); err != nil {
			return refusal.In(err, text.field)
		}
	}
	if g.MaxShares < 0 || g.MaxShares > limits.MaxOrdinal {
		return refusal.Of(berth.ErrInvalid, "maxShares", fmt.Sprintf("%d is outside 0..%d", g.MaxShares, limits.MaxOrdinal))
	}
	if err := refusal.Text(g.MIGTable); err != nil {
		return refusal.In(err, "migTable")
	}
	switch {
	case g.Product != first.Product:
		return refusal.Of(berth.ErrUnsupported, "product", fmt.Sprintf("%q beside %q: a node's GPUs are of one product", errtext.Short(g.Product), errtext.Short(first.Product)))
	case g.MemoryMiB != first.MemoryMiB:
		return refusal.Of(berth.ErrUnsupported, "memoryMiB", "differs from the node's first GPU")
	case g.MIGTable != first.MIGTable:
		return refusal.Of(berth.ErrUnsupported, "migTable", "differs from the node's first GPU")
	case g.MaxShares != first.MaxShares:
		return refusal.Of(berth.ErrUnsupported, "maxShares", "differs from the node's first GPU")
	case g.ComputeCapability != first.ComputeCapability:
		return refusal.Of(berth.ErrUnsupported, "computeCapability", "differs from the node's first GPU")
	case g.Clique != first.Clique:
		return refusal.Of(berth.ErrUnsupported, "clique", "differs from the node's first GPU")
	}
	return nil
}

func checkNIC(c *berth.NIC) *berth.Error {
	if err := refusal.Name(c.Name); err != nil {
		return refusal.In(err, "name")
	}
	return refusal.In(refusal.Amount(c.MbitPerSecond), "mbitPerSecond")
}

// checkTaints refuses taints without a key or an effect, and those of one key and effect.
func checkTaints(list []berth.Taint) *berth.Error {
	if len(list) > limits.MaxTaints {
		return refusal.Of(berth.ErrLimit, "", fmt.Sprintf("%d taints; the most is %d", len(list), limits.MaxTaints))
	}
	for i, t := range list {
		if err := refusal.Name(t.Key); err != nil {
			return refusal.In(err, errtext.Path(errtext.Index("", i), "key"))
		}
		if err := refusal.Text(t.Value); err != nil {
			return refusal.In(err, errtext.Path(errtext.Index("", i), "value"))
		}
		if t.Effect != berth.TaintNoSchedule {
			return refusal.Of(berth.ErrInvalid, errtext.Index("", i)+".effect", fmt.Sprintf("is %s; a taint has the effect %s", t.Effect, berth.TaintNoSchedule))
		}
		if slices.ContainsFunc(list[:i], func(other berth.Taint) bool { return other.Key == t.Key && other.Effect == t.Effect }) {
			return refusal.Of(berth.ErrDuplicate, errtext.Index("", i), fmt.Sprintf("%q has that effect already", errtext.Short(t.Key)))
		}
	}
	return nil
}
