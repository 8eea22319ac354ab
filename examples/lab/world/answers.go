package world

import (
	"fmt"
	"strings"

	"github.com/berth-sched/berth"
)

// An Answer is why a job stands where it does, and what it would take to start it.
type Answer struct {
	Explanation berth.Explanation `json:"explanation"`
	// Text is the explanation as a script prints it.
	Text string `json:"text"`
	// Plan is for the first replica that waits; nil: none does. Refused says why there is none.
	Plan    *berth.StartPlan `json:"plan,omitempty"`
	Refused string           `json:"refused,omitempty"`
}

// Explain asks the core about a job. Nothing changes.
func (w *World) Explain(id berth.JobID) (Answer, error) {
	c := w.session.Core()
	e, err := c.Explain(id)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Explanation: e}
	if a.Text, err = w.session.Do("explain " + string(id)); err != nil {
		return Answer{}, err
	}
	for i := range e.Replicas {
		r := &e.Replicas[i]
		if r.Reason == nil {
			continue
		}
		plan, err := c.StartPlan(max(c.Now(), w.session.Now()), id, r.Replica)
		if err != nil {
			a.Refused = err.Error()
		} else {
			a.Plan = &plan
		}
		break
	}
	return a, nil
}

// A Device is what is known of one GPU.
type Device struct {
	GPU berth.GPU `json:"gpu"`
	// Blast is nil where the node is lost.
	Blast *berth.BlastRadius `json:"blast,omitempty"`
	// Mended is the line that brings a lost node back, or repairs the GPU.
	Mended string `json:"mended,omitempty"`
	Lost   bool   `json:"lost,omitempty"`
}

// Device asks the core about a GPU. Nothing changes.
func (w *World) Device(id berth.NodeID, index int) (Device, error) {
	c := w.session.Core()
	node, known := w.node(c, id)
	if !known || index < 0 || index >= len(node.GPUs) {
		return Device{}, fmt.Errorf("there is no GPU %d of node %q", index, id)
	}
	d := Device{GPU: node.GPUs[index]}
	if _, there := c.Node(id); !there {
		b, err := berth.EncodeEvent(berth.NodeJoined{Node: node})
		d.Lost, d.Mended = true, "json "+string(b)
		return d, err
	}
	if d.GPU.Failed {
		d.Mended = fmt.Sprintf("repair-gpu %s %d", id, index)
	}
	b, err := c.BlastRadius(id, index)
	d.Blast = &b
	return d, err
}

// asks says in a few words what a job wants.
func asks(j *berth.Job) string {
	var parts []string
	for i := range j.Groups {
		g := &j.Groups[i]
		members := ""
		if g.Members != 1 {
			members = fmt.Sprintf("%d × ", g.Members)
			if g.MinMembers > 0 && g.MinMembers < g.Members {
				members = fmt.Sprintf("%d–%d × ", g.MinMembers, g.Members)
			}
		}
		parts = append(parts, members+claim(&g.Claim))
	}
	text := strings.Join(parts, " + ")
	if j.Service != nil {
		text = fmt.Sprintf("%d replicas of %s", j.Service.Replicas, text)
	}
	if j.Topology.Required != "" {
		text += ", in one " + j.Topology.Required
	}
	return text
}

func claim(c *berth.Claim) string {
	switch {
	case c.GPUs == 1:
		return "1 GPU"
	case c.GPUs > 1:
		return fmt.Sprintf("%d GPUs", c.GPUs)
	case c.MIG != "":
		return c.MIG
	case c.MinInstance != nil:
		return "an instance"
	case c.Borrow != nil:
		return "1 lent GPU"
	case c.Share != nil:
		return fmt.Sprintf("%d/1000 GPU (%s)", c.Share.GPUMilli, c.Share.Mode)
	}
	return "host only"
}
