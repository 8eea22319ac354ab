package nvmlsrc

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/berth-sched/berth/mig"
)

// profiles asks a GPU how it divides. A profile without an answer voids the others:
// a report that lacks it says that the GPU does not have it. A GPU that has no
// profiles outside MIG mode has answered; placements, which package mig knows for
// many products, make no more than a gap.
func (t *taker) profiles(dev device, g *GPU) {
	if !g.MIG.Capable {
		return
	}
	var profiles []mig.ReportedProfile
	var unplaced error
	for constant := range maxProfiles {
		p, err := dev.profile(constant)
		if errors.Is(err, ErrUnsupported) {
			continue
		}
		if t.gap(err, g.Index, queryMIGProfiles) {
			return
		}
		if p.Placements, err = dev.placements(p.ID); err != nil {
			p.Placements, unplaced = nil, cmp.Or(unplaced, err)
			if errors.Is(err, ErrLost) {
				unplaced = err
				break
			}
		}
		profiles = append(profiles, p)
	}
	t.gap(unplaced, g.Index, queryMIGPlacements)
	if g.Failure == nil && len(profiles) > 0 {
		g.MIG.Report = mig.Report{Device: g.Product, PCIDeviceID: g.PCIDeviceID, Profiles: profiles}
	}
}

// instances asks a GPU in MIG mode which instances there are. If that is not known
// the GPU takes no work: whatever were placed there could meet an instance that is
// in the way.
func (t *taker) instances(dev device, g *GPU) {
	if !g.MIG.Enabled {
		return
	}
	fail := func(err error) {
		t.gap(err, g.Index, queryMIGInstances)
		g.Failure = about(err, g.Index, queryMIGInstances)
	}
	if len(g.MIG.Report.Profiles) == 0 {
		fail(&Error{GPU: NoGPU, Kind: ErrUnsupported, Reason: "the profiles to ask for are not known"})
		return
	}
	var instances []Instance
	for i := range g.MIG.Report.Profiles {
		found, err := dev.instances(g.MIG.Report.Profiles[i].ID)
		if err != nil {
			fail(err)
			return
		}
		for _, f := range found {
			instances = append(instances, Instance{
				ID: f.id, Profile: f.profile, Start: f.start, Size: f.size,
				Processes: pids(t.running, func(p process) bool { return p.instance == f.id }),
			})
		}
	}
	slices.SortFunc(instances, func(a, b Instance) int { return cmp.Compare(a.ID, b.ID) })
	g.MIG.Instances = instances
}

// migDevices asks for the UUIDs of the instances. They are for the orchestrator:
// what runs where can be decided without.
func (t *taker) migDevices(dev device, g *GPU) {
	if !g.MIG.Enabled {
		return
	}
	devices, err := dev.migDevices()
	if t.gap(err, g.Index, queryMIGDevices) {
		return
	}
	for i := range g.MIG.Instances {
		for _, d := range devices {
			if to := &g.MIG.Instances[i]; d.instance == to.ID {
				to.UUIDs = append(to.UUIDs, d.uuid)
			}
		}
	}
}

// settle chooses the table of the machine, now that all reports are there, and says
// the instances in its words. A GPU in MIG mode that does not go by it takes no work.
func (t *taker) settle() {
	table, refused := t.inventory.table()
	for _, err := range refused {
		t.gap(err, err.GPU, err.Query)
	}
	for i := range t.inventory.GPUs {
		g := &t.inventory.GPUs[i]
		if !g.works() || !g.MIG.Enabled {
			continue
		}
		if err := table.settle(&t.inventory, g); err != nil {
			g.Failure = about(err, g.Index, queryMIGInstances)
			t.gap(err, g.Index, queryMIGInstances)
		}
	}
}

// settle names the instances of a GPU in MIG mode by their profiles. The error says
// why the GPU cannot be offered.
func (t table) settle(v *Inventory, g *GPU) error {
	fail := func(format string, of ...any) error {
		return &Error{GPU: NoGPU, Kind: ErrUnknownGPU, Reason: fmt.Sprintf(format, of...)}
	}
	if t.lattice == nil {
		return fail("no table says how the GPU divides")
	}
	if own, err := v.reported(g); err == nil && own.Name != t.Name {
		return fail("the GPU divides as %s says, and the machine's others as %s", own.Name, t.Name)
	}
	var layout []mig.Placement
	for i := range g.MIG.Instances {
		to := &g.MIG.Instances[i]
		at, ok := t.placement(*to)
		if !ok {
			return fail("instance %d is of profile %d at %d:%d, which table %s does not have", to.ID, to.Profile, to.Start, to.Size, t.Name)
		}
		to.Placement = at
		layout = append(layout, at)
	}
	if _, err := t.lattice.StateOf(layout); err != nil {
		return fail("the instances make no layout: %v", err)
	}
	return nil
}

// placement says where an instance is in the words of package mig.
func (t table) placement(of Instance) (mig.Placement, bool) {
	for i := range t.Profiles {
		if t.Profiles[i].ID == of.Profile && inByte(of.Start) && inByte(of.Size) {
			return mig.Placement{Profile: t.Profiles[i].Name, Start: uint8(of.Start), Size: uint8(of.Size)}, true
		}
	}
	return mig.Placement{}, false
}

func inByte(v int) bool { return v >= 0 && v <= math.MaxUint8 }
