package main

import (
	"encoding/json"
	"io"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/mig"
)

// A document is for programs: the node to tell berth of, and the faults found. Fields keep their
// names, and unknown values are missing.
type document struct {
	Node   string `json:"node"`
	Driver string `json:"driver,omitempty"`
	// Core is what to tell berth: tables first, then the node.
	Core coreDocument `json:"core"`
	// Failures say why GPUs take no work, Findings tell of the health of GPUs, and Gaps of what
	// could not be asked.
	Failures []string          `json:"failures,omitempty"`
	Findings []findingDocument `json:"findings,omitempty"`
	Gaps     []string          `json:"gaps,omitempty"`
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
	d := document{Node: m.name, Driver: m.Driver, Core: coreDocument{Tables: m.Tables()}, Gaps: m.gaps()}
	for i := range m.GPUs {
		if failure := m.GPUs[i].Failure; failure != nil {
			d.Failures = append(d.Failures, failure.Error())
		}
	}
	for _, f := range m.health.Findings {
		d.Findings = append(d.Findings, findingDocument{f.GPU, string(f.Query), f.Condemns, f.Reason})
	}
	if node, err := m.Node(berth.NodeID(m.name)); err != nil {
		d.Core.Refused = err.Error()
	} else {
		d.Core.Node = &node
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(d)
}
