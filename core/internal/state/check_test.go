package state_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
	"github.com/berth-sched/berth/quota"
)

// What follows from nodes and requests is made anew by the checks, and a part of it that is another
// is found.
func TestChecksFindWhatDoesNotFollow(t *testing.T) {
	for name, c := range map[string]struct {
		says  string
		spoil func(*roomtest.Machine, *record.Node, *record.Shape)
	}{
		"the class of a node": {"wrong class", func(m *roomtest.Machine, n *record.Node, _ *record.Shape) {
			n.Class = m.NodeNamed("other").Class
		}},
		"the nodes of a class": {"has 2 nodes, counted 3", func(m *roomtest.Machine, n *record.Node, _ *record.Shape) {
			m.State.Classes.List[n.Class].Nodes++
		}},
		"the key of a class": {"not known by them", func(m *roomtest.Machine, n *record.Node, _ *record.Shape) {
			delete(m.State.Classes.ByKey, n.Key())
		}},
		"the table of a node": {"wrong table", func(_ *roomtest.Machine, n *record.Node, _ *record.Shape) {
			n.Table = nil
		}},
		"the product of a node": {"another product", func(_ *roomtest.Machine, n *record.Node, _ *record.Shape) {
			n.Product = quota.NoProduct
		}},
		"the geometry of a node": {"another pool", func(_ *roomtest.Machine, n *record.Node, _ *record.Shape) {
			n.Geometry = berth.Geometry{Kind: berth.GeometryPerClaim}
		}},
		"a node that is planned for": {"planned there", func(_ *roomtest.Machine, n *record.Node, _ *record.Shape) {
			n.Planned = 1
		}},
		"the users of a shape": {"has 1 users, counted 2", func(_ *roomtest.Machine, _ *record.Node, s *record.Shape) {
			s.Users = 2
		}},
		"the GPUs of a shape": {"to start with 3 GPUs", func(_ *roomtest.Machine, _ *record.Node, s *record.Shape) {
			s.GPUs = 3
		}},
		"the charge of a shape": {"is charged", func(_ *roomtest.Machine, _ *record.Node, s *record.Shape) {
			s.Charge.GPUMilli++
		}},
		"the request of a shape": {"asks for", func(_ *roomtest.Machine, _ *record.Node, s *record.Shape) {
			s.Request.Groups[0].Members++
		}},
		"the least of a shape": {"at the least", func(_ *roomtest.Machine, _ *record.Node, s *record.Shape) {
			s.Minimum.Groups[0].Members++
		}},
		"the ease of a shape": {"with the ease", func(_ *roomtest.Machine, _ *record.Node, s *record.Shape) {
			s.Spans = !s.Spans
		}},
	} {
		t.Run(name, func(t *testing.T) {
			m := roomtest.New(t, berth.Config{})
			m.Nodes(2, 8)
			m.Join(roomtest.Node("other", 4))
			m.Queue("a", 8)
			rep := m.Wait(roomtest.Job("waits", "a", 2, 2))
			s := rep.Job.Shape()
			m.State.Compile(s)
			require.NoError(t, m.State.CheckNodes())
			require.NoError(t, m.State.CheckShapes())
			m.Break()
			c.spoil(m, m.NodeNamed("n1"), s)
			err := m.State.CheckNodes()
			if err == nil {
				err = m.State.CheckShapes()
			}
			require.ErrorContains(t, err, c.says)
		})
	}
}
