package cases

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/mig"
)

// Instances are countable in KAI, whatever GPU they are on. They become GPUs that are
// one instance each, of a table told for the purpose: so each charges a whole GPU, as an
// instance with one compute slice does in KAI.
const (
	migPrefix = "nvidia.com/mig-"
	tableName = "countable"
	// hostCPU and hostMemory are what a node has plenty of.
	hostCPU, hostMemory = 1 << 30, 1 << 30
	// hostname is the level that is the node itself.
	hostname = "kubernetes.io/hostname"
	nodeWord = "node"
)

// table is the table with all profiles of the scenario.
func (c *kaiCase) table() (*mig.Product, *Error) {
	names := map[string]bool{}
	for i := range c.Nodes {
		for resource := range c.Nodes[i].MIG {
			names[resource] = true
		}
		if c.Nodes[i].MIGStrategy != "" {
			names[migPrefix+"1g.5gb"] = true // a table needs a profile
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	p := &mig.Product{Name: tableName, ComputeSlices: 1, MemorySlices: 1}
	for id, resource := range slices.Sorted(maps.Keys(names)) {
		name, err := mig.ParseProfileName(strings.TrimPrefix(resource, migPrefix))
		if err != nil {
			return nil, outOfModel("nodes.mig", err.Error())
		}
		p.Profiles = append(p.Profiles, mig.Profile{
			Name: name, ID: id, NVMLIndex: id, ComputeSlices: 1, MemorySlices: 1, Starts: []int{0}, MaxCount: 1,
		})
	}
	return p, nil
}

// levels returns the keys of the levels, from the widest to the narrowest.
func (c *kaiCase) levels() ([]string, *Error) {
	var longest []string
	for i := range c.Topologies {
		if t := &c.Topologies[i]; len(t.Levels) > len(longest) {
			longest = t.Levels
		}
	}
	for i := range c.Topologies {
		at := 0
		for _, level := range c.Topologies[i].Levels {
			next := slices.Index(longest[at:], level)
			if next < 0 {
				return nil, outOfModel(fmt.Sprintf("topologies[%d]", i), "is not part of the longest one")
			}
			at += next + 1
		}
	}
	if n := len(longest); n > 0 && longest[n-1] == hostname {
		longest = longest[:n-1]
	}
	return longest, nil
}

// level is the name of a level here.
func level(key string) string {
	if key == hostname {
		return nodeWord
	}
	return key
}

// domain is where a node stands at a level. What has no label stands alone.
func (n *kaiNode) domain(key string) string {
	if at := n.Labels[key]; at != "" {
		return at
	}
	return "alone " + n.Name
}

// nodeOf translates a node. Which mode its GPUs are in follows from what runs there.
func (c *kaiCase) nodeOf(i int, levels []string, table *mig.Product, used *occupancy) (berth.Node, *Error) {
	n := &c.Nodes[i]
	out := berth.Node{ID: berth.NodeID(n.Name), CPUMilli: hostCPU, MemoryMiB: hostMemory, Labels: c.affinityLabels(n)}
	for _, key := range levels {
		out.Domains = append(out.Domains, n.domain(key))
	}
	gpu := berth.GPU{Product: "gpu"}
	if table != nil {
		gpu.MIGTable = table.Name
	}
	for g := range n.GPUs {
		gpu.Mode = berth.GPUModeWhole
		switch {
		case n.MIGStrategy == "mixed":
			gpu.Mode = berth.GPUModeMIG
		case used.shared[gpuOf{i, g}] > 0:
			gpu.Mode = berth.GPUModeMPS
		}
		out.GPUs = append(out.GPUs, gpu)
		if len(out.GPUs) > berth.MaxGPUs {
			break
		}
	}
	gpu.Mode = berth.GPUModeMIG
	for _, resource := range n.profiles() {
		profile, err := mig.ParseProfileName(strings.TrimPrefix(resource, migPrefix))
		if err != nil {
			return out, outOfModel("nodes.mig", err.Error())
		}
		for range min(n.MIG[resource], berth.MaxGPUs+1) {
			gpu.Instances = []mig.Placement{{Profile: profile, Size: 1}}
			out.GPUs = append(out.GPUs, gpu)
		}
	}
	if len(out.GPUs) > berth.MaxGPUs {
		return out, outOfModel(fmt.Sprintf("nodes[%d].gpus", i), fmt.Sprintf("more than %d", berth.MaxGPUs))
	}
	return out, nil
}

// profiles are the resources of a node's instances in the order of its GPUs.
func (n *kaiNode) profiles() []string { return slices.Sorted(maps.Keys(n.MIG)) }

// affinities lists the different affinities of all pods.
func (c *kaiCase) affinities() []string {
	var list []string
	for i := range c.Jobs {
		for k := range c.Jobs[i].Tasks {
			t := &c.Jobs[i].Tasks[k]
			if key := strings.Join(t.NodeAffinity, "|"); key != "" && !slices.Contains(list, key) {
				list = append(list, key)
			}
		}
	}
	return list
}

// affinityLabels marks a node for each affinity that it serves.
func (c *kaiCase) affinityLabels(n *kaiNode) map[string]string {
	labels := map[string]string{}
	for _, key := range c.affinities() {
		for _, value := range strings.Split(key, "|") {
			if value == n.Name || slices.Contains(slices.Collect(maps.Values(n.Labels)), value) {
				labels["affinity "+key] = "yes"
			}
		}
	}
	return labels
}
