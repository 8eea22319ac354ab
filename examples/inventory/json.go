package main

import (
	"encoding/json"
	"io"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/nvmlsrc"
)

// A document is the machine in JSON. Its fields keep their names; what is not known is
// missing, but for indices and counts.
type document struct {
	Node   string        `json:"node"`
	Driver string        `json:"driver,omitempty"`
	GPUs   []gpuDocument `json:"gpus"`
	// Links in the words of nvidia-smi topo -m, "?" where they are not known; PCIe leaves
	// NVLink out of account.
	Links [][]string    `json:"links"`
	PCIe  [][]string    `json:"pcie"`
	NICs  []nicDocument `json:"nics,omitempty"`
	// Core is what to tell berth: tables first, then the node.
	Core coreDocument `json:"core"`
	// Findings about the health of GPUs, and Gaps in what could be asked.
	Findings []findingDocument `json:"findings,omitempty"`
	Gaps     []string          `json:"gaps,omitempty"`
}

type gpuDocument struct {
	Index             int           `json:"index"`
	Product           string        `json:"product,omitempty"`
	UUID              string        `json:"uuid,omitempty"`
	PCI               string        `json:"pci,omitempty"`
	MinorNumber       berth.Ordinal `json:"minorNumber,omitzero"`
	MemoryMiB         int64         `json:"memoryMiB,omitempty"`
	ComputeCapability string        `json:"computeCapability,omitempty"`
	NUMANode          berth.Ordinal `json:"numaNode,omitzero"`
	CPUs              string        `json:"cpus,omitempty"`
	// Failure says why the GPU takes no work.
	Failure   string          `json:"failure,omitempty"`
	NVLinks   linksDocument   `json:"nvlinks"`
	Processes []int           `json:"processes,omitempty"`
	MIG       *migDocument    `json:"mig,omitempty"`
	Health    *healthDocument `json:"health,omitempty"`
}

type linksDocument struct {
	Active   int    `json:"active"`
	Inactive int    `json:"inactive"`
	Direct   int    `json:"direct"`
	Switched int    `json:"switched"`
	Peers    []int  `json:"peers,omitempty"`
	Fabric   string `json:"fabric,omitempty"`
}

type migDocument struct {
	Enabled   bool               `json:"enabled"`
	Pending   bool               `json:"pending"`
	Profiles  []profileDocument  `json:"profiles,omitempty"`
	Instances []instanceDocument `json:"instances,omitempty"`
}

type profileDocument struct {
	ID         int    `json:"id"`
	Name       string `json:"name,omitempty"`
	Most       int    `json:"most"`
	MemoryMiB  int64  `json:"memoryMiB"`
	SMs        int    `json:"sms"`
	Starts     []int  `json:"starts,omitempty"`
	SliceCount int    `json:"slices"`
}

type instanceDocument struct {
	ID        int      `json:"id"`
	Placement string   `json:"placement"`
	UUIDs     []string `json:"uuids,omitempty"`
	Processes []int    `json:"processes,omitempty"`
}

type healthDocument struct {
	MemoryUsedMiB      int64  `json:"memoryUsedMiB"`
	TemperatureC       int    `json:"temperatureC"`
	PowerMilliwatts    int    `json:"powerMilliwatts"`
	RecoveryAction     string `json:"recoveryAction"`
	ECCVolatile        uint64 `json:"eccVolatileUncorrected"`
	ECCAggregate       uint64 `json:"eccAggregateUncorrected"`
	RowsCorrected      int    `json:"remappedRowsCorrected"`
	RowsUncorrected    int    `json:"remappedRowsUncorrected"`
	RowsPending        bool   `json:"remappedRowsPending"`
	RowsFailed         bool   `json:"remappedRowsFailed"`
	NVLinkErrors       uint64 `json:"nvlinkErrors"`
	ClocksEventReasons string `json:"clocksEventReasons"`
}

type nicDocument struct {
	Name          string        `json:"name"`
	PCI           string        `json:"pci"`
	NUMANode      berth.Ordinal `json:"numaNode,omitzero"`
	MbitPerSecond int64         `json:"mbitPerSecond,omitempty"`
	Active        bool          `json:"active"`
	Rail          berth.Ordinal `json:"rail,omitzero"`
	GPUs          []string      `json:"gpus"`
}

type coreDocument struct {
	Tables []mig.Product `json:"tables,omitempty"`
	Node   *berth.Node   `json:"node,omitempty"`
	// Refused says why there is no node.
	Refused string `json:"refused,omitempty"`
}

type findingDocument struct {
	GPU      int    `json:"gpu"`
	Fact     string `json:"fact"`
	Condemns bool   `json:"condemns"`
	Reason   string `json:"reason"`
}

func writeJSON(w io.Writer, m *machine) error {
	d := document{Node: m.name, Driver: m.Driver, GPUs: []gpuDocument{}, Links: [][]string{}, PCIe: [][]string{}, Gaps: m.gaps()}
	cells := m.cells()
	for i := range m.GPUs {
		d.GPUs = append(d.GPUs, m.gpuDocument(i))
		d.Links = append(d.Links, cells[i][:len(m.GPUs)])
		row := []string{}
		for j, kind := range m.PCIe[i] {
			word := wordOf(kind)
			if i == j {
				word = "X"
			}
			row = append(row, word)
		}
		d.PCIe = append(d.PCIe, row)
	}
	for i := range m.NICs {
		nic := &m.NICs[i]
		d.NICs = append(d.NICs, nicDocument{
			Name: nic.Name, PCI: nic.PCI, NUMANode: nic.NUMANode, MbitPerSecond: nic.MbitPerSecond, Active: nic.Active,
			Rail: nic.Rail, GPUs: cells[len(m.GPUs)+i][:len(m.GPUs)],
		})
	}
	for _, f := range m.health.Findings {
		d.Findings = append(d.Findings, findingDocument{f.GPU, string(f.Query), f.Condemns, f.Reason})
	}
	d.Core.Tables = m.Tables()
	if node, err := m.Node(berth.NodeID(m.name)); err != nil {
		d.Core.Refused = err.Error()
	} else {
		d.Core.Node = &node
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(d)
}

func (m *machine) gpuDocument(i int) gpuDocument {
	g, h := &m.GPUs[i], &m.health.GPUs[i]
	d := gpuDocument{
		Index: i, Product: g.Product, UUID: g.UUID, PCI: g.PCI, MinorNumber: g.DeviceMinor, MemoryMiB: g.MemoryMiB,
		ComputeCapability: capability(g), NUMANode: g.NUMANode, CPUs: g.CPUs, Processes: g.Processes,
		NVLinks: linksDocument{
			Active: h.Links.Active, Inactive: h.Links.Inactive, Direct: g.NVLink.Direct, Switched: g.NVLink.Switched,
			Peers: g.NVLink.Peers, Fabric: g.NVLink.Fabric,
		},
	}
	if g.Failure != nil {
		d.Failure = g.Failure.Error()
	}
	if g.MIG.Capable {
		d.MIG = migOf(g)
	}
	if h.Failure == nil {
		d.Health = &healthDocument{
			h.MemoryUsedMiB, h.TemperatureC, h.PowerMilliwatts, h.Recovery.String(), h.ECC.Volatile, h.ECC.Aggregate,
			h.Rows.Corrected, h.Rows.Uncorrected, h.Rows.Pending, h.Rows.Failed, h.Links.Errors, h.Clocks.String(),
		}
	}
	return d
}

func migOf(g *nvmlsrc.GPU) *migDocument {
	d := &migDocument{Enabled: g.MIG.Enabled, Pending: g.MIG.Pending}
	for _, p := range profilesOf(g) {
		d.Profiles = append(d.Profiles, profileDocument{
			ID: p.ID, Name: p.Name.String(), Most: p.MaxCount, MemoryMiB: p.MemoryMiB, SMs: p.SMs, Starts: p.Starts, SliceCount: p.ComputeSlices,
		})
	}
	for _, i := range g.MIG.Instances {
		d.Instances = append(d.Instances, instanceDocument{i.ID, i.Placement.String(), i.UUIDs, i.Processes})
	}
	return d
}
