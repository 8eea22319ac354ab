package cases

import (
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
)

// resources says what in a berth node stands for what a scenario calls a resource. The
// core knows GPUs, host CPU and host memory. A resource of another name takes the
// place of one of those that the scenario does not use, since to the core they are
// mere amounts; the same goes for GPUs of which a node has more than berth.MaxGPUs.
// Where nothing is left the scenario cannot be expressed.
//
// Every pod takes one of pods. That is left out where it cannot make a difference.
type resources struct {
	gpu, cpu, memory string
	// memoryUnit divides all amounts of memory: one of the core's units.
	memoryUnit int64
}

const (
	resourceCPU    = "cpu_milli"
	resourceMemory = "memory_bytes"
	resourceGPU    = "gpu"
	resourcePods   = "pods"
)

// assign finds a place for everything that is asked for.
func (r *resources) assign(c *tasCase) error {
	wanted := map[string]bool{}
	for i := range c.Requests {
		for name, amount := range c.Requests[i].PerPod {
			if amount < 0 {
				return fmt.Errorf("%s asks for %d of %s", c.Requests[i].Name, amount, name)
			}
			wanted[name] = wanted[name] || amount > 0
		}
	}
	if podsMatter(c) {
		wanted[resourcePods] = true
	}
	var others []string
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		switch {
		case !wanted[name]:
		case name == resourceCPU:
			r.cpu = name
		case name == resourceMemory:
			r.memory = name
		case name == resourceGPU && countable(c):
			r.gpu = name
		default:
			others = append(others, name)
		}
	}
	for _, name := range others {
		switch {
		case r.cpu == "":
			r.cpu = name
		case r.memory == "":
			r.memory = name
		default:
			return fmt.Errorf("nothing is left to stand for %s", name)
		}
	}
	r.memoryUnit = max(c.divisor(r.memory), 1)
	return nil
}

// countable reports whether every node has a number of GPUs that a node may have.
func countable(c *tasCase) bool {
	return !slices.ContainsFunc(c.Nodes, func(n tasNode) bool {
		return n.Capacity[resourceGPU] < 0 || n.Capacity[resourceGPU] > berth.MaxGPUs
	})
}

// podsMatter reports whether the number of pods of a node may be in the way: if it is
// less than the pods of the scenario, and less than what else there is would do for. It
// is also what is left to ask for where a pod asks for nothing.
func podsMatter(c *tasCase) bool {
	pods := int64(0)
	for i := range c.Requests {
		pods += int64(c.Requests[i].Count)
		if len(positive(c.Requests[i].PerPod)) == 0 {
			return true
		}
	}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		limit, room := n.Capacity[resourcePods], int64(0)
		for k := range c.Requests {
			fits := pods
			for name, amount := range positive(c.Requests[k].PerPod) {
				fits = min(fits, n.Capacity[name]/amount)
			}
			room = max(room, fits)
		}
		if len(c.Requests) > 1 { // of several kinds together more may fit than of either
			room = min(pods, room*int64(len(c.Requests)))
		}
		if limit < room {
			return true
		}
	}
	return false
}

func positive(amounts map[string]int64) map[string]int64 {
	out := maps.Clone(amounts)
	maps.DeleteFunc(out, func(_ string, amount int64) bool { return amount <= 0 })
	return out
}

// divisor is the greatest common divisor of all amounts of a resource.
func (c *tasCase) divisor(resource string) int64 {
	if resource == resourcePods {
		return 1
	}
	var d int64
	for i := range c.Nodes {
		d = divisor(d, c.Nodes[i].Capacity[resource])
	}
	for i := range c.Requests {
		d = divisor(d, c.Requests[i].PerPod[resource])
	}
	return d
}

// divisor is the greatest that two amounts have in common.
func divisor(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// node is a node without its domains.
func (r *resources) node(n *tasNode) berth.Node {
	out := berth.Node{
		ID:       berth.NodeID(n.Name),
		CPUMilli: n.Capacity[r.cpu], MemoryMiB: n.Capacity[r.memory] / r.memoryUnit,
	}
	for range n.Capacity[r.gpu] {
		out.GPUs = append(out.GPUs, berth.GPU{Product: "gpu"})
	}
	return out
}

// claim is what a pod of a request claims.
func (r *resources) claim(request *tasRequest) berth.Claim {
	amount := func(resource string) int64 {
		if resource == resourcePods {
			return 1
		}
		return request.PerPod[resource]
	}
	return berth.Claim{
		GPUs:     int(amount(r.gpu)),
		CPUMilli: amount(r.cpu), MemoryMiB: amount(r.memory) / r.memoryUnit,
	}
}
