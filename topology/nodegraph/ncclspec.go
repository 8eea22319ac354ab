package nodegraph

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// spec puts together what was read.
func (p *ncclParser) spec() (Spec, error) {
	n := len(p.gpus)
	if n == 0 {
		return Spec{}, p.refuse(ErrInvalid, "system", "no GPU in it")
	}
	slices.SortStableFunc(p.gpus, func(a, b ncclGPU) int {
		return cmp.Or(cmp.Compare(a.dev, b.dev), strings.Compare(p.pcis[a.pci].bus, p.pcis[b.pci].bus))
	})
	s := Spec{GPUs: make([]GPUSpec, n), Links: make([][]Link, n)}
	for a, gpu := range p.gpus {
		pci := p.pcis[gpu.pci]
		s.GPUs[a] = GPUSpec{Bus: pci.bus, NUMA: NUMANodeOf(p.cpus[pci.cpu]), PCIeMBps: pci.rate}
		s.Links[a] = make([]Link, n)
		for b, other := range p.gpus {
			if a != b {
				s.Links[a][b].Kind = p.path(pci.cpu, gpu.pci, p.pcis[other.pci].cpu, other.pci)
			}
		}
	}
	for _, nic := range p.nics {
		made := NICSpec{Name: nic.name, NUMA: NUMANodeOf(p.cpus[nic.cpu]), MBps: nic.rate, Paths: make([]PathKind, n)}
		for a, gpu := range p.gpus {
			made.Paths[a] = p.path(p.pcis[gpu.pci].cpu, gpu.pci, nic.cpu, nic.pci)
		}
		s.NICs = append(s.NICs, made)
	}
	if err := p.nvlinks(&s); err != nil {
		return Spec{}, err
	}
	s.NVLinksUntold = !p.probed && !slices.ContainsFunc(p.gpus, func(g ncclGPU) bool { return len(g.links) > 0 })
	s.Skipped = p.skipped
	return s, nil
}

// path is the kind of path between two devices, each given by its cpu and its pci.
func (p *ncclParser) path(cpuA, a, cpuB, b int) PathKind {
	if cpuA != cpuB {
		return PathSYS
	}
	above := func(pci int) []int { // the pcis around, from the inside
		var list []int
		for pci >= 0 {
			if pci = p.pcis[pci].parent; pci >= 0 {
				list = append(list, pci)
			}
		}
		return list
	}
	overA, overB := above(a), above(b)
	for i, pci := range overA {
		if j := slices.Index(overB, pci); j >= 0 {
			if i == 0 && j == 0 {
				return PathPIX
			}
			return PathPXB
		}
	}
	return PathPHB
}

// nvlinks replaces paths by the NVLinks that the file tells of.
func (p *ncclParser) nvlinks(s *Spec) error {
	n := len(p.gpus)
	direct, switched := make([]int, n*n), make([]int, n)
	for a, gpu := range p.gpus {
		for _, link := range gpu.links {
			p.Place = link.at
			b := slices.IndexFunc(s.GPUs, func(other GPUSpec) bool { return other.Bus == link.target })
			count := &switched[a]
			switch {
			case strings.HasPrefix(link.class, "0x068001"):
				p.skipped.Add(p.file, link.at.Line, "NVLinks to a CPU join no GPUs")
				continue
			case strings.HasPrefix(link.class, "0x0680"):
			case b < 0 || b == a:
				p.skipped.Add(p.file, link.at.Line, "NVLinks to the GPU itself, or to one that is not in the file")
				continue
			default:
				count = &direct[a*n+b]
			}
			if *count += link.count; *count > MaxLinks {
				return p.refuse(ErrInvalid, "nvlink.count", "more than "+strconv.Itoa(MaxLinks)+" links in all")
			}
		}
	}
	for a, gpu := range p.gpus {
		for b := range a {
			here, there := direct[a*n+b], direct[b*n+a]
			if here != there && here != 0 && there != 0 {
				p.Place = gpu.links[0].at
				return p.refuse(ErrInvalid, "nvlink.count", strconv.Itoa(here)+" links from "+s.GPUs[a].Bus+" to "+s.GPUs[b].Bus+", and "+strconv.Itoa(there)+" back")
			}
			link := Link{Kind: PathNVLink, Count: max(here, there)}
			if link.Count == 0 {
				link = Link{Kind: PathNVSwitch, Count: min(switched[a], switched[b])}
			}
			if link.Count > 0 {
				s.Links[a][b], s.Links[b][a] = link, link
			}
		}
	}
	return nil
}
