package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/nvmlsrc"
	"github.com/berth-sched/berth/topology/nodegraph"
)

// fromMatrix is a machine of which no more is known than nvidia-smi topo -m prints.
func fromMatrix(t *testing.T, product, text string) *machine {
	t.Helper()
	spec, err := nodegraph.ParseMatrix("table", text)
	require.NoError(t, err)
	spec.Product = product
	graph, err := nodegraph.NewGraph(spec)
	require.NoError(t, err)
	m := &machine{name: "n1"}
	n := len(spec.GPUs)
	for i := range n {
		m.GPUs = append(m.GPUs, nvmlsrc.GPU{Index: i, Product: product, NUMANode: ordinal(spec.GPUs[i].NUMA)})
		var links []nodegraph.Link
		var kinds []nodegraph.PathKind
		for j := range n {
			links = append(links, graph.Link(i, j))
			kind := graph.Link(i, j).Kind
			if kind > nodegraph.PathPIX { // what is below the NVLinks is not listed
				kind = nodegraph.PathSYS
				if spec.GPUs[i].NUMA == spec.GPUs[j].NUMA {
					kind = nodegraph.PathNODE
				}
			}
			kinds = append(kinds, kind)
		}
		m.Links, m.PCIe = append(m.Links, links), append(m.PCIe, kinds)
	}
	for i, nic := range spec.NICs {
		kinds := make([]nodegraph.PathKind, len(spec.NICs))
		for j := range kinds {
			kinds[j] = nodegraph.PathSYS
		}
		m.NICs = append(m.NICs, nvmlsrc.NIC{Name: nic.Name, NUMANode: ordinal(nic.NUMA), Rail: berth.OrdinalOf(i), Active: true, Paths: nic.Paths, NICs: kinds})
	}
	return m
}

const bridged = `	GPU0	GPU1	GPU2	GPU3	CPU Affinity	NUMA Affinity
GPU0	 X 	NV12	SYS	SYS	0-51	0
GPU1	NV12	 X 	SYS	SYS	0-51	0
GPU2	SYS	SYS	 X 	NV12	52-103	1
GPU3	SYS	SYS	NV12	 X 	52-103	1
`

// The machines that the drawings are tried with.
func machines(t *testing.T) map[string]*machine {
	t.Helper()
	all := map[string]*machine{"bridged": fromMatrix(t, "NVIDIA A100 80GB PCIe", bridged)}
	for _, box := range nvmlsrc.FakeMachines() {
		pretend, err := nvmlsrc.NewFakeMachine(box)
		require.NoError(t, err)
		all[box] = lookAt(t, pretend)
	}
	if text, err := os.ReadFile("../../../shared/data/topo/dgx1-v100.txt"); err == nil {
		all["dgx-1"] = fromMatrix(t, "Tesla V100-SXM2-32GB", string(text))
	}
	return all
}

func (r rectangle) contains(s rectangle) bool {
	return r.x <= s.x && r.y <= s.y && s.right() <= r.right() && s.bottom() <= r.bottom()
}

func (r rectangle) meets(s rectangle) bool {
	return r.x < s.right() && s.x < r.right() && r.y < s.bottom() && s.y < r.bottom()
}

// Everything is on the page; no device is on another; an outline is around its devices and
// around no others; what is named on it fits into it.
func TestNothingOverlaps(t *testing.T) {
	for name, m := range machines(t) {
		f := compose(m)
		page := rectangle{0, 0, f.wide, f.tall}
		for i, d := range f.devices {
			require.True(t, page.contains(d), "%s: device %d", name, i)
			for j := range i {
				require.False(t, d.meets(f.devices[j]), "%s: devices %d and %d", name, i, j)
			}
		}
		for _, o := range f.outlines {
			require.True(t, page.contains(o.rectangle), name)
			require.LessOrEqual(t, captionStyle.width(o.caption), o.wide, name)
			in := map[int]bool{}
			for _, d := range o.all() {
				in[d] = true
			}
			for i, d := range f.devices {
				require.Equal(t, in[i], o.contains(d), "%s: %s and device %d", name, o.caption, i)
				require.Equal(t, in[i], o.meets(d), "%s: %s and device %d", name, o.caption, i)
			}
			for _, p := range f.outlines {
				require.Equal(t, o.meets(p.rectangle), o.contains(p.rectangle) || p.contains(o.rectangle), "%s: %s and %s", name, o.caption, p.caption)
			}
		}
		for _, p := range f.planes {
			require.True(t, page.contains(p.rectangle), name)
			require.LessOrEqual(t, barStyle.width(f.planeText(p)), p.wide, name)
		}
		for _, a := range f.arcs {
			require.Less(t, a.rise(), f.top-titleTall, name)
		}
		wellFormed(t, written(t, writeSVG, m))
	}
}

// Nests are what the paths say, and one that would be around the same devices as another
// is left out.
func TestNests(t *testing.T) {
	var print func(m *machine, n *nest) string
	print = func(m *machine, n *nest) string {
		text := fmt.Sprint(n.level)
		for _, inside := range n.inner {
			text += " (" + print(m, inside) + ")"
		}
		for _, d := range n.devices {
			text += " " + m.deviceName(d)
		}
		return text
	}
	want := map[string][]string{
		"hgx-h100": {
			"NODE (PXB (PIX GPU0 NIC0) (PIX GPU1 NIC1)) (PXB (PIX GPU2 NIC2) (PIX GPU3 NIC3)) (PIX NIC4 NIC5)",
			"NODE (PXB (PIX GPU4 NIC6) (PIX GPU5 NIC7)) (PXB (PIX GPU6 NIC8) (PIX GPU7 NIC9)) (PIX NIC10 NIC11)",
		},
		"dgx-a100": {
			"NODE (PXB GPU0 GPU1 NIC0 NIC1)", "NODE (PXB GPU2 GPU3 NIC2 NIC3)", "NODE (PXB GPU4 GPU5 NIC6 NIC7)",
			"NODE (PXB GPU6 GPU7 NIC8 NIC9)", "NODE (PIX NIC4 NIC5)", "NODE (PIX NIC10 NIC11)",
		},
		"pcie":    {"NODE (PHB GPU0 GPU1)"},
		"gb200":   {"NODE GPU0 GPU1 NIC0 NIC1", "NODE GPU2 GPU3 NIC2 NIC3"},
		"bridged": {"NODE GPU0 GPU1", "NODE GPU2 GPU3"},
	}
	all := machines(t)
	for name, nests := range want {
		var got []string
		for _, n := range all[name].nests() {
			got = append(got, print(all[name], n))
		}
		require.Equal(t, nests, got, name)
	}
}

// Captions name what is known and nothing else.
func TestCaptions(t *testing.T) {
	m := &machine{}
	m.GPUs = []nvmlsrc.GPU{{}}
	m.NICs = []nvmlsrc.NIC{{PCI: "0000:01:00.0"}, {NUMANode: berth.OrdinalOf(3), PCI: "0000:01:00.1"}}
	require.Equal(t, "host", m.caption(&nest{level: nodegraph.PathNODE, devices: []int{0}}))
	require.Equal(t, "host", m.caption(&nest{level: nodegraph.PathNODE, devices: []int{1}}))
	require.Equal(t, "NUMA node 3", m.caption(&nest{level: nodegraph.PathNODE, devices: []int{2}}))
	require.Equal(t, "one adapter", m.caption(&nest{level: nodegraph.PathPIX, devices: []int{1, 2}}))
	require.Equal(t, "PCIe switch", m.caption(&nest{level: nodegraph.PathPIX, devices: []int{0, 1}}))
	m.GPUs[0].NUMANode = berth.OrdinalOf(2)
	require.Equal(t, "NUMA node 2", m.caption(&nest{level: nodegraph.PathNODE, devices: []int{0}}))
}

func TestLines(t *testing.T) {
	require.Nil(t, noteStyle.wrap("", 100))
	require.Equal(t, []string{"one two", "three", "extraordinarily", "long"}, noteStyle.wrap("one two three extraordinarily long", 50))
}

func ordinal(n nodegraph.NUMANode) berth.Ordinal {
	number, _ := n.Number()
	return berth.OrdinalOf(number)
}
