package cases

import (
	"fmt"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/mig"
)

// An occupancy says which GPUs the pods that run have.
type occupancy struct {
	c         *kaiCase
	taken     map[gpuOf]bool
	shared    map[gpuOf]int64
	groups    map[string]int
	instances map[gpuOf]bool
	at        map[podOf]berth.GPUSet
}

type gpuOf struct{ node, gpu int }

type podOf struct{ job, task int }

// place gives GPUs to the pods that run: first to those that share one by name, then
// to those with whole GPUs, then to the other shares, which fill shared GPUs first.
func (o *occupancy) place(gangs []*kaiGang) *Error {
	for _, turn := range []func(*kaiTask) bool{
		func(t *kaiTask) bool { return len(t.GPUGroups) > 0 && t.GPUs < 1 },
		func(t *kaiTask) bool { return t.GPUs >= 1 },
		func(t *kaiTask) bool { return len(t.GPUGroups) == 0 && t.GPUs > 0 && t.GPUs < 1 },
		func(t *kaiTask) bool { return len(t.MIG) > 0 },
	} {
		for _, g := range gangs {
			for k := range g.parts {
				for _, task := range g.parts[k].tasks {
					t := &o.c.Jobs[g.of].Tasks[task]
					if !t.running() || !turn(t) {
						continue
					}
					if !o.one(t, podOf{g.of, task}) {
						return malformed(fmt.Sprintf("jobs[%d].tasks[%d]", g.of, task), "runs where there is nothing left for it")
					}
				}
			}
		}
	}
	return nil
}

// one places one pod.
func (o *occupancy) one(t *kaiTask, pod podOf) bool {
	node := o.c.node(t.Node)
	n := &o.c.Nodes[node]
	switch {
	case len(t.MIG) > 0:
		return o.devices(t, pod, node)
	case t.GPUs < 1:
		return o.share(t, pod, node)
	}
	for g := range min(n.GPUs, berth.MaxGPUs) {
		if at := (gpuOf{node, g}); !o.taken[at] && o.at[pod].Len() < int(t.GPUs) {
			o.taken[at] = true
			o.at[pod] |= berth.GPUSetOf(g)
		}
	}
	return o.at[pod].Len() == int(t.GPUs)
}

func (o *occupancy) share(t *kaiTask, pod podOf, node int) bool {
	amount := milli(t.GPUs)
	key := fmt.Sprintf("%d %s", node, strings.Join(t.GPUGroups, " "))
	best := -1
	if at, known := o.groups[key]; known && len(t.GPUGroups) > 0 {
		best = at
	} else {
		for g := range min(o.c.Nodes[node].GPUs, berth.MaxGPUs) {
			at := gpuOf{node, g}
			if len(t.GPUGroups) == 0 && o.shared[at] > 0 && o.shared[at]+amount <= 1000 {
				best = g
				break
			}
			if !o.taken[at] && best < 0 {
				best = g
			}
		}
	}
	at := gpuOf{node, best}
	if best < 0 || o.shared[at]+amount > 1000 {
		return false
	}
	o.taken[at], o.groups[key] = true, best
	o.shared[at] += amount
	o.at[pod] = berth.GPUSetOf(best)
	return true
}

// devices gives instances: those of a node follow its whole GPUs.
func (o *occupancy) devices(t *kaiTask, pod podOf, node int) bool {
	n := &o.c.Nodes[node]
	wanted := 0
	for profile, count := range t.MIG {
		wanted += count
		first := n.GPUs
		for _, resource := range n.profiles() {
			if resource == profile {
				break
			}
			first += n.MIG[resource]
		}
		for g := first; g < first+n.MIG[profile] && count > 0 && g < berth.MaxGPUs; g++ {
			if at := (gpuOf{node, g}); !o.instances[at] {
				o.instances[at] = true
				o.at[pod] |= berth.GPUSetOf(g)
				count--
			}
		}
	}
	return o.at[pod].Len() == wanted
}

// members are the placements of a gang's pods that run.
func (o *occupancy) members(g *kaiGang) []berth.MemberPlacement {
	var list []berth.MemberPlacement
	for k := range g.parts {
		p, claim := &g.parts[k], &g.job.Groups[k].Claim
		for i, task := range p.tasks {
			t := &o.c.Jobs[g.of].Tasks[task]
			if !t.running() {
				continue
			}
			gpus := o.at[podOf{g.of, task}]
			for m := range p.per {
				at := berth.MemberPlacement{Group: g.job.Groups[k].Name, Index: i*p.per + m, Node: berth.NodeID(t.Node), GPUs: gpus}
				if claim.Share != nil {
					at.ShareMilli, at.ShareMemoryMiB = claim.Share.GPUMilli, claim.Share.MemoryMiB
				}
				if claim.MIG != "" {
					at.GPUs = berth.GPUSetOf(gpus.Indexes()[m])
					at.Instance = mig.Placement{Profile: mustProfile(claim.MIG), Size: 1}
				}
				list = append(list, at)
			}
		}
	}
	return list
}

// mustProfile parses what was parsed before.
func mustProfile(name string) mig.ProfileName {
	profile, err := mig.ParseProfileName(name)
	if err != nil {
		panic(err)
	}
	return profile
}
