package worlds

import (
	"slices"
	"sync"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/mig"
)

// This file draws what is divided: tables, GPUs in modes and layouts, claims for
// instances, and geometries.

// toldTable is a table that no package has, and that some worlds tell: what it calls a
// half does not quite fit twice.
func toldTable() mig.Product {
	quarter, half := mig.ProfileName{ComputeSlices: 1, MemoryGB: 6}, mig.ProfileName{ComputeSlices: 2, MemoryGB: 12}
	return mig.Product{
		Name: "told", ComputeSlices: 4, MemorySlices: 4, SMs: 40, MemoryMiB: 24_000, Engines: mig.Engines{Copy: 4, OFA: 1},
		Profiles: []mig.Profile{
			{Name: quarter, ID: 1, NVMLIndex: 1, ComputeSlices: 1, MemorySlices: 1, SMs: 10, MemoryMiB: 6000, Engines: mig.Engines{Copy: 1}, Starts: []int{0, 1, 2, 3}, MaxCount: 4},
			{Name: half, ID: 2, NVMLIndex: 2, ComputeSlices: 2, MemorySlices: 2, SMs: 20, MemoryMiB: 12_000, Engines: mig.Engines{Copy: 2, OFA: 1}, Starts: []int{0, 2}, MaxCount: 1},
		},
	}
}

// product draws the GPU of a node, of the kinds that divide.
func (g *Generator) product() berth.GPU {
	gpu := one(g,
		berth.GPU{Product: "A100", MIGTable: "A100-80GB", MemoryMiB: 81_920, ComputeCapability: berth.ComputeCapability{Major: 8}},
		berth.GPU{Product: "H100", MIGTable: "H100-80GB", MemoryMiB: 81_920, ComputeCapability: berth.ComputeCapability{Major: 9}},
		berth.GPU{Product: "H100", MIGTable: "H100-80GB", MemoryMiB: 81_920, ComputeCapability: berth.ComputeCapability{Major: 9}, Clique: "k"},
		berth.GPU{Product: "A30", MIGTable: "A30", MemoryMiB: 24_576, ComputeCapability: berth.ComputeCapability{Major: 8}},
		berth.GPU{Product: "RTX6000", MIGTable: "RTX PRO 6000", MemoryMiB: 98_304, ComputeCapability: berth.ComputeCapability{Major: 12}},
		berth.GPU{Product: "MI300X", MIGTable: "MI300X", MemoryMiB: 196_608},
		berth.GPU{Product: "Odd", MIGTable: "told", MemoryMiB: 24_000}) // refused where it was not told
	gpu.MaxShares = one(g, 0, 0, 0, 2, 3)
	return gpu
}

// lattices by table, to draw layouts from: they never change. Tests that run side by side share
// them.
var lattices sync.Map

// partitioning draws a mode, and in GPUModeMIG a layout of the table.
func (g *Generator) partitioning(table string) (berth.GPUMode, []mig.Placement) {
	mode := one(g, berth.GPUModeWhole, berth.GPUModeWhole, berth.GPUModeMPS, berth.GPUModeTimeSlice, berth.GPUModeMIG, berth.GPUModeMIG, berth.GPUModeMIG)
	if mode != berth.GPUModeMIG {
		return mode, nil
	}
	product, known := mig.Lookup(table)
	if !known {
		product = toldTable()
	}
	drawn, known := lattices.Load(table)
	if !known {
		made, _ := mig.NewLattice(product)
		drawn, _ = lattices.LoadOrStore(table, made)
	}
	lattice := drawn.(*mig.Lattice)
	layout := lattice.Layout(mig.State(g.IntN(lattice.States())))
	if g.Chance(50) { // as much again, so that little is left over
		layout = lattice.Layout(mig.State(lattice.States() - 1 - g.IntN(lattice.States()/2)))
	}
	return mode, slices.Clone(layout)
}

// instance draws a claim for an instance.
func (g *Generator) instance(claim *berth.Claim) {
	if g.Chance(30) {
		claim.MinInstance = &berth.MinInstance{MinSMs: one(g, 0, 10, 14, 30, 60), MinMemoryMiB: one(g, int64(0), 5000, 9000, 18_000, 35_000)}
		return
	}
	claim.MIG = one(g, "1g.10gb", "1g.10gb", "2g.20gb", "3g.40gb", "4g.40gb", "1g.20gb", "7g.80gb", "1g.10gb+me",
		"1g.6gb", "2g.12gb", "4g.24gb", "1g.24gb", "2g.48gb", "1g.24gb-me", "1g.24gb+gfx", "cpx_nps1")
}

// geometry draws how the pools may be divided.
func (g *Generator) geometry() []berth.Geometry {
	var list []berth.Geometry
	if g.plain {
		return nil
	}
	for _, pool := range []string{"", "red"} {
		if g.Chance(30) {
			continue
		}
		kind := one(g, berth.GeometryFixed, berth.GeometryAdaptive, berth.GeometryAdaptive, berth.GeometryAdaptive, berth.GeometryPerClaim)
		entry := berth.Geometry{
			Pool: pool, Kind: kind,
			Cost: one(g, 0, 1, berth.Second, 20*berth.Second), Interval: one(g, 0, 1, 20*berth.Second, berth.Minute),
			PerHour: one(g, 0, 1, 5, 1000), HoldLimit: one(g, 0, -1, -1, berth.Minute, 10*berth.Minute),
		}
		if kind == berth.GeometryAdaptive {
			h100 := func(slices uint8, gigabytes uint16) mig.ProfileName {
				return mig.ProfileName{ComputeSlices: slices, MemoryGB: gigabytes}
			}
			entry.Layout = one(g, nil,
				[]mig.ProfileName{h100(3, 40), h100(3, 40)},
				[]mig.ProfileName{h100(1, 10), h100(2, 20), h100(3, 40)},
				[]mig.ProfileName{h100(1, 6), h100(1, 6)},
				[]mig.ProfileName{h100(1, 24), h100(1, 24)},
				[]mig.ProfileName{h100(1, 10), h100(1, 10)},
				[]mig.ProfileName{h100(7, 80), h100(7, 80)}) // of which there is none
		}
		list = append(list, entry)
	}
	return list
}

// repartitioned draws what somebody tells of a GPU. Much of it cannot be.
func (g *Generator) repartitioned(n berth.Node) {
	if len(n.GPUs) == 0 {
		return
	}
	e := berth.GPUPartitioned{Node: n.ID, GPU: g.IntN(len(n.GPUs)), Mode: berth.GPUModeWhole}
	e.Mode, e.Instances = g.partitioning(n.GPUs[0].MIGTable)
	g.at(g.instant(), e)
}

// seenPart has a job be observed that has an instance of a GPU in a fixed pool, if there
// is one.
func (g *Generator) seenPart() {
	for _, n := range g.nodes {
		for i := range n.GPUs {
			if gpu := &n.GPUs[i]; len(gpu.Instances) > 0 {
				at := gpu.Instances[g.IntN(len(gpu.Instances))]
				g.list = append(g.list, sim.Arrival{Runtime: 10 * berth.Minute, Event: berth.JobObserved{
					Job: berth.Job{ID: "part", Queue: g.queues[0], Groups: []berth.Group{{Members: 1, Claim: berth.Claim{MIG: at.Profile.String()}}}},
					Running: []berth.ObservedReplica{{Incarnation: 3, Members: []berth.MemberPlacement{
						{Node: n.ID, GPUs: berth.GPUSetOf(i), Instance: at},
					}}},
				}})
				return
			}
		}
	}
}
