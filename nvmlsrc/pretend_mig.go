package nvmlsrc

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth/mig"
)

func (g *pretendGPU) profile(constant int) (mig.ReportedProfile, error) {
	return answer(g, queryMIGProfiles, func() (mig.ReportedProfile, error) {
		for _, p := range g.profiled {
			if p.NVMLIndex == constant {
				p.Placements = nil
				return p, nil
			}
		}
		return mig.ReportedProfile{}, refusal(ErrUnsupported, "not supported")
	})
}

func (g *pretendGPU) placements(profile int) ([]mig.ReportedPlacement, error) {
	return answer(g, queryMIGPlacements, func() ([]mig.ReportedPlacement, error) {
		for _, p := range g.profiled {
			if p.ID == profile {
				return p.Placements, nil
			}
		}
		return nil, fmt.Errorf("no profile %d", profile)
	})
}

func (g *pretendGPU) instances(profile int) ([]instance, error) {
	return answer(g, queryMIGInstances, func() ([]instance, error) {
		if !g.migNow {
			return nil, refusal(ErrUnsupported, "not supported")
		}
		var found []instance
		for _, i := range g.existing {
			if i.profile == profile {
				found = append(found, i)
			}
		}
		return found, nil
	})
}

func (g *pretendGPU) migDevices() ([]migDevice, error) {
	return answer(g, queryMIGDevices, func() ([]migDevice, error) { return slices.Clone(g.devices), nil })
}

// createInstance refuses as a driver does: what is not possible beside what exists finds
// no resources.
func (g *pretendGPU) createInstance(profile int, at mig.ReportedPlacement) (int, error) {
	return answer(g, queryMIGCreate, func() (int, error) {
		if !g.migNow {
			return 0, refusal(ErrUnsupported, "not supported")
		}
		layout := []mig.Placement{g.named(instance{profile: profile, start: at.Start, size: at.Size})}
		for _, i := range g.existing {
			layout = append(layout, g.named(i))
		}
		if _, err := g.lattice.StateOf(layout); err != nil {
			return 0, refusal(ErrInUse, "insufficient resources")
		}
		return g.add(profile, at.Start, at.Size), nil
	})
}

func (g *pretendGPU) createCompute(in int) error {
	_, err := answer(g, queryMIGCompute, func() (int, error) {
		if !slices.ContainsFunc(g.existing, func(i instance) bool { return i.id == in }) {
			return 0, refusal(ErrUnsupported, "there is no such instance")
		}
		g.compute(in)
		return 0, nil
	})
	return err
}

func (g *pretendGPU) destroyInstance(id int) error {
	_, err := answer(g, queryMIGDestroy, func() (int, error) {
		at := slices.IndexFunc(g.existing, func(i instance) bool { return i.id == id })
		switch {
		case at < 0:
			return 0, refusal(ErrUnsupported, "there is no such instance")
		case slices.ContainsFunc(g.running, func(p process) bool { return p.instance == id }):
			return 0, refusal(ErrInUse, "in use by another client")
		}
		g.existing = slices.Delete(g.existing, at, at+1)
		g.devices = slices.DeleteFunc(g.devices, func(d migDevice) bool {
			if d.instance == id {
				delete(g.busy, d.uuid)
			}
			return d.instance == id
		})
		return 0, nil
	})
	return err
}

// add adds an instance, as nobody checks that it can be.
func (g *pretendGPU) add(profile, start, size int) int {
	id := g.nextID
	g.nextID++
	g.existing = append(g.existing, instance{id, profile, start, size})
	return id
}

// compute adds a MIG device on an instance.
func (g *pretendGPU) compute(in int) {
	uuid := fmt.Sprintf("MIG-%08x-%04x-5000-8000-%04x%08x", g.pciDevice, in, g.at.domain, g.at.bus)
	g.devices = append(g.devices, migDevice{uuid, in})
}

// named says an instance in the words of package mig.
func (g *pretendGPU) named(i instance) mig.Placement {
	for _, p := range g.lattice.Product().Profiles {
		if p.ID == i.profile {
			return mig.Placement{Profile: p.Name, Start: uint8(i.start), Size: uint8(i.size)}
		}
	}
	return mig.Placement{}
}

// profileID is the reverse of named.
func (g *pretendGPU) profileID(at mig.Placement) int {
	p, _ := g.lattice.Product().Profile(at.Profile)
	return p.ID
}
