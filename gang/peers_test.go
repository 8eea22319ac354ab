package gang

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/topology"
)

// A peerCase is a scenario of another scheduler, with the outcome that it gives.
type peerCase struct {
	ID      string
	Options struct{ Balanced bool }
	Levels  []string
	Nodes   []struct {
		Name     string
		Path     []string
		Capacity map[string]int64
	}
	Requests []struct {
		Count  int
		PerPod map[string]int64 `json:"per_pod"`
		Mode   string
		Level  string
		Slices []struct {
			Level string
			Size  int
		}
	}
	Expect []struct {
		Assignment []struct {
			Domain []string
			Count  int
		}
		Failure map[string]any
	}
}

// peerDifferences are the cases that end differently here, and why.
var peerDifferences = map[string]string{
	"tas-26": "of two racks with equal room the one with fewer hosts is taken, not the one whose hosts are more alike",
}

// TestPeers replays the scenarios of Kueue's topology-aware scheduling.
func TestPeers(t *testing.T) {
	data, err := os.ReadFile("../../shared/data/peers/kueue_tas.json")
	if err != nil {
		t.Skip("the reference data are not there: ", err)
	}
	var file struct {
		Cases []peerCase `json:"tas_cases"`
	}
	require.NoError(t, json.Unmarshal(data, &file))
	require.NotEmpty(t, file.Cases)
	for _, c := range file.Cases {
		t.Run(c.ID, func(t *testing.T) {
			got, want := c.place(t), c.want()
			if why, ok := peerDifferences[c.ID]; ok {
				require.NotEqual(t, want, got, "it agrees by now; the difference was: %s", why)
				return
			}
			require.Equal(t, want, got)
		})
	}
}

// hosts: the last level is that of the nodes.
func (c *peerCase) hosts() bool { return c.Levels[len(c.Levels)-1] == "host" }

func (c *peerCase) want() string {
	var list []string
	for i, e := range c.Expect {
		for _, a := range e.Assignment {
			list = append(list, fmt.Sprintf("%d %s %d", i, strings.Join(a.Domain, "/"), a.Count))
		}
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// place builds the fleet and tells where the members went. Pods are counted as memory.
func (c *peerCase) place(t *testing.T) string {
	named := c.Levels
	if c.hosts() {
		named = named[:len(named)-1]
	}
	f, err := NewFleet(named...)
	require.NoError(t, err)
	classes := []topology.NodeClass{}
	for _, n := range c.Nodes {
		gpus := int(n.Capacity["gpu"])
		_, err := f.AddNode(NodeSpec{
			Name: n.Name, Path: n.Path[:len(named)], Class: topology.NodeClass(gpus), GPUs: gpus,
			Host: countable.Amounts{countable.CPUMilli: n.Capacity["cpu_milli"], countable.MemoryMiB: n.Capacity["pods"]},
		})
		require.NoError(t, err)
		if !slices.Contains(classes, topology.NodeClass(gpus)) {
			classes = append(classes, topology.NodeClass(gpus))
		}
	}
	level := func(name string) topology.Level {
		return topology.Level(slices.Index(c.Levels, name) + 1)
	}
	var r Request
	for _, q := range c.Requests {
		g := Group{Members: q.Count, Classes: classes, Claim: Claim{GPUs: int(q.PerPod["gpu"]), Host: countable.Amounts{countable.CPUMilli: q.PerPod["cpu_milli"], countable.MemoryMiB: 1}}}
		for _, s := range q.Slices {
			g.Segments = append(g.Segments, Segment{s.Size, level(s.Level)})
		}
		switch q.Mode {
		case "required":
			r.Required = level(q.Level)
		case "preferred":
			r.Preferred = level(q.Level)
			if c.Options.Balanced {
				g.Balance = level(q.Level)
			}
		}
		r.Groups = append(r.Groups, g)
	}
	require.NoError(t, f.Validate(&r))
	var p Placement
	if !f.Place(&r, &p) {
		return ""
	}
	counts := map[string]int{}
	for _, m := range p.Members {
		name := f.Tree().NodeName(m.Hold.Node)
		if !c.hosts() {
			name = f.Tree().DomainString(f.Tree().DomainOf(m.Hold.Node, f.Tree().NodeLevel()))
		}
		counts[fmt.Sprintf("%d %s", m.Group, name)]++
	}
	var list []string
	for name, n := range counts {
		list = append(list, fmt.Sprintf("%s %d", name, n))
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}
