package berth

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth/internal/enum"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/limits"
	"github.com/berth-sched/berth/mig"
)

// A Geometry says how the GPUs of a pool may be divided, and what a change costs.
//
// The cost of a change is in GPU-milliseconds: what is destroyed and what is created for
// waiting members, each as its part of the GPU, or the whole GPU for a change between division
// and whole use, times the Cost; twice that for leaving the pool's Layout. It is paid for a
// member that waits, as soon as its wait, the part of a GPU that it claims times the time,
// comes to as much. That is the rule of the ski rental problem: whatever comes, waiting and
// changing together cost no more than twice what would have been best in hindsight (A. Karlin,
// M. Manasse, L. Rudolph, D. Sleator, "Competitive snoopy caching", Algorithmica 3, 1988).
// Several that wait for the same count together, as far as the change serves them.
type Geometry struct {
	// Pool that it is for; empty: all pools that have no entry of their own.
	Pool string `json:"pool,omitempty"`
	// Kind is what may change; zero: nothing.
	Kind GeometryKind `json:"kind,omitzero"`
	// Cost is for how long a repartition keeps what it touches from use; default 30
	// seconds.
	Cost Duration `json:"cost,omitempty"`
	// Interval is the least time between two repartitions of one GPU; default
	// 10 minutes.
	Interval Duration `json:"interval,omitempty"`
	// PerHour is the most repartitions of the pool within any hour; default 12.
	PerHour int `json:"perHour,omitempty"`
	// Layout that the GPUs of an adaptive pool go back to when they are idle and no member
	// waits for what they have; empty: they stay as they are. Profiles as in Claim.MIG.
	Layout []mig.ProfileName `json:"layout,omitempty"`
	// HoldLimit is for how long a GPU hold may keep a GPU from other members until it can be
	// repartitioned for one that waits; default 1 hour; Off: there are no GPU holds. No more
	// GPUs are held at a time than Policy.ReservedGangs, so that is another way to have none.
	HoldLimit Duration `json:"holdLimit,omitempty"`
}

// A GeometryKind says what may change about the GPUs of a pool.
type GeometryKind uint8

const (
	// GeometryFixed: nothing. Members get the instances that there are.
	GeometryFixed GeometryKind = iota
	// GeometryAdaptive: the mode and the layout, by Repartition.
	GeometryAdaptive
	// GeometryPerClaim: the mode, by Repartition. In GPUModeMIG an instance is created with
	// the start of its member and destroyed with its end, by the embedder; so a layout is
	// never in the way.
	GeometryPerClaim
)

const geometryKindNames enum.Names = "GeometryKind: fixed|adaptive|per-claim"

// String is the word for it, as in JSON.
func (k GeometryKind) String() string { return enum.Text(geometryKindNames, k) }

// MarshalText implements [encoding.TextMarshaler]. A value that is out of range is refused.
func (k GeometryKind) MarshalText() ([]byte, error) {
	return enum.Marshal(geometryKindNames, k, invalidText)
}

// UnmarshalText implements [encoding.TextUnmarshaler]. An unknown word is refused with an
// *[Error].
func (k *GeometryKind) UnmarshalText(b []byte) error {
	return enum.Unmarshal(geometryKindNames, k, b, invalidText)
}

func (p *Policy) checkGeometry() *Error {
	for i := range p.Geometry {
		g := &p.Geometry[i]
		if slices.ContainsFunc(p.Geometry[:i], func(h Geometry) bool { return h.Pool == g.Pool }) {
			return refuse(ErrDuplicate, errtext.Index("geometry", i)+".pool", fmt.Sprintf("%q has an entry already", errtext.Short(g.Pool)))
		}
		if err := g.check(); err != nil {
			return err.in(errtext.Index("geometry", i))
		}
	}
	return nil
}

func (g *Geometry) check() *Error {
	if err := checkText(g.Pool); err != nil {
		return err.in("pool")
	}
	if int(g.Kind) >= geometryKindNames.Len() {
		return refuse(ErrInvalid, "kind", fmt.Sprintf("%d is out of range", g.Kind))
	}
	for _, f := range []struct {
		name  string
		value Duration
	}{{"cost", g.Cost}, {"interval", g.Interval}, {"holdLimit", max(g.HoldLimit, 0)}} {
		if err := checkSpan(f.value); err != nil {
			return err.in(f.name)
		}
	}
	switch {
	case g.Cost > maxGeometryCost:
		return refuse(ErrLimit, "cost", fmt.Sprintf("%v exceeds %v", g.Cost, maxGeometryCost))
	case g.HoldLimit < -1:
		return refuse(ErrInvalid, "holdLimit", "is negative")
	case g.PerHour < 0 || g.PerHour > limits.MaxPerHour:
		return refuse(ErrInvalid, "perHour", fmt.Sprintf("%d is outside 0..%d", g.PerHour, limits.MaxPerHour))
	case len(g.Layout) > 0 && g.Kind != GeometryAdaptive:
		return refuse(ErrInvalid, "layout", fmt.Sprintf("a %s pool has none", g.Kind))
	case len(g.Layout) > mig.MaxPlacements:
		return refuse(ErrLimit, "layout", fmt.Sprintf("%d profiles exceed %d", len(g.Layout), mig.MaxPlacements))
	}
	for i, name := range g.Layout {
		if _, err := name.MarshalText(); err != nil {
			return refuse(ErrInvalid, errtext.Index("layout", i), "names no profile")
		}
	}
	return nil
}

// maxGeometryCost keeps costs in an int64 whatever is touched.
const maxGeometryCost = 365 * 24 * Hour
