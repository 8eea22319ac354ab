package state

import (
	"slices"

	"github.com/berth-sched/berth"
)

// SameGeometry reports whether two geometries say the same.
func SameGeometry(g *berth.Geometry, h *berth.Geometry) bool {
	return g.Kind == h.Kind && g.Cost == h.Cost && g.Interval == h.Interval && g.PerHour == h.PerHour &&
		g.HoldLimit == h.HoldLimit && slices.Equal(g.Layout, h.Layout)
}

// GeometryOf is the geometry of a pool.
func GeometryOf(p *berth.Policy, pool string) berth.Geometry {
	others := berth.Geometry{}.WithDefaults()
	for i := range p.Geometry {
		switch p.Geometry[i].Pool {
		case pool:
			return p.Geometry[i]
		case "":
			others = p.Geometry[i]
		}
	}
	return others
}
