package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/berth-sched/berth/topology/nodegraph"
)

// word is nvidia-smi's for a link. It does not tell a link through a switch from a direct
// one.
func word(link nodegraph.Link) string {
	switch link.Kind {
	case nodegraph.PathNone:
		return "?"
	case nodegraph.PathNVLink, nodegraph.PathNVSwitch:
		return fmt.Sprintf("NV%d", link.Count)
	}
	return link.Kind.String()
}

func wordOf(kind nodegraph.PathKind) string { return word(nodegraph.Link{Kind: kind}) }

// cells is the matrix of all devices, GPUs first, in nvidia-smi's words.
func (m *machine) cells() [][]string {
	n := len(m.GPUs)
	rows := make([][]string, n+len(m.NICs))
	for i := range rows {
		rows[i] = make([]string, len(rows))
		for j := range rows {
			switch {
			case i == j:
				rows[i][j] = "X"
			case i < n && j < n:
				rows[i][j] = word(m.Links[i][j])
			case i < n:
				rows[i][j] = wordOf(m.NICs[j-n].Paths[i])
			case j < n:
				rows[i][j] = wordOf(m.NICs[i-n].Paths[j])
			default:
				rows[i][j] = wordOf(m.NICs[i-n].NICs[j-n])
			}
		}
	}
	return rows
}

// deviceName is nvidia-smi's name of a row.
func (m *machine) deviceName(i int) string {
	if i < len(m.GPUs) {
		return fmt.Sprintf("GPU%d", i)
	}
	return fmt.Sprintf("NIC%d", i-len(m.GPUs))
}

// affinity is what nvidia-smi says of a GPU's CPUs and NUMA node.
func (m *machine) affinity(i int) (cpus, numa string) {
	cpus, numa = m.GPUs[i].CPUs, orNA(m.GPUs[i].NUMANode)
	if cpus == "" {
		cpus = "N/A"
	}
	return cpus, numa
}

// writeTopology writes the table of nvidia-smi topo -m: cells between tabs, an X between
// blanks. So the two can be compared line by line.
func writeTopology(w io.Writer, m *machine) error {
	cells := m.cells()
	var b strings.Builder
	for i := range cells {
		b.WriteString("\t" + m.deviceName(i))
	}
	b.WriteString("\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n")
	for i, row := range cells {
		b.WriteString(m.deviceName(i))
		for _, cell := range row {
			if cell == "X" {
				cell = " X "
			}
			b.WriteString("\t" + cell)
		}
		if i < len(m.GPUs) {
			cpus, numa := m.affinity(i)
			b.WriteString("\t" + cpus + "\t" + numa + "\t\tN/A") // as nvidia-smi has it, with one tab too many
		} else {
			b.WriteString("\t\t\t\t")
		}
		b.WriteString("\n")
	}
	b.WriteString(`
Legend:

  X    = Self
  SYS  = PCIe and the link between NUMA nodes
  NODE = PCIe and the link between host bridges of one NUMA node
  PHB  = PCIe and one host bridge
  PXB  = several PCIe switches
  PIX  = one PCIe switch
  NV#  = # NVLinks
`)
	if len(m.NICs) > 0 {
		b.WriteString("\nNIC Legend:\n\n")
		for i := range m.NICs {
			fmt.Fprintf(&b, "  NIC%d: %s\n", i, m.NICs[i].Name)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
