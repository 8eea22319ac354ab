package nvmlsrc

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
)

// A wiring is what one GPU said about its links, before the machine as a whole
// is known.
type wiring struct {
	direct []address // the GPUs at the other ends of links
	// plane is the part of a switch fabric that the GPU is on; nil if it is on
	// none, or not yet.
	plane *plane
	// untold: nothing says whether there are links, so that a fabric may tell.
	untold bool
}

// A plane is one part of a switch fabric, inside which every GPU reaches every
// other.
type plane struct {
	cluster [16]byte
	clique  uint32
}

// nvlink asks a GPU for its links. One that has no answer makes a gap, once a
// GPU, and does not hide the others: a peer is reached over any of them.
func (t *taker) nvlink(dev device, g *GPU) {
	wire := &t.wires[g.Index]
	var failed error
	for i := range maxLinks {
		l, err := dev.link(i)
		if errors.Is(err, ErrUnsupported) {
			break // no such link, so none after it
		}
		if err != nil {
			failed = cmp.Or(failed, err)
			if errors.Is(err, ErrLost) {
				failed = err
				break
			}
			continue
		}
		if !l.active {
			continue
		}
		switch l.end {
		case endGPU:
			g.NVLink.Direct++
			wire.direct = append(wire.direct, l.remote)
		case endSwitch:
			g.NVLink.Switched++
		}
	}
	wire.untold = errors.Is(failed, ErrUntold)
	t.gap(failed, g.Index, queryNVLink)
}

// fabric finds the part of a switch fabric that a GPU is on. Switches carry
// nothing before the fabric manager has let the GPU in, and CUDA does not start
// on it either: a registration that is not completed, or completed with an
// error, takes the GPU out of service. Generations before Hopper do not register
// and have one plane, the machine's. So does a completed registration without a
// cluster: that is a fabric that ends at the machine, and its clique must not be
// compared with another machine's.
func (t *taker) fabric(dev device, g *GPU) {
	if g.NVLink.Switched == 0 && !t.wires[g.Index].untold {
		return
	}
	f, err := dev.fabric()
	switch {
	case errors.Is(err, ErrUnsupported):
		if g.NVLink.Switched > 0 {
			t.wires[g.Index].plane = &plane{}
		}
		return
	case t.gap(err, g.Index, queryFabric):
		return
	case !f.completed:
		err = errors.New("the registration with the fabric manager is not completed")
	default:
		err = f.status
	}
	if err != nil {
		g.Failure = &Error{GPU: g.Index, Query: queryFabric, Kind: ErrNotReady, Reason: reason(err)}
		t.gap(g.Failure, g.Index, queryFabric)
		return
	}
	t.wires[g.Index].plane = &plane{f.cluster, f.clique}
	if f.cluster != ([16]byte{}) {
		g.NVLink.Fabric = fmt.Sprintf("%s.%d", formatUUID(f.cluster), f.clique)
	}
}

// connect finds each GPU's peers, now that all addresses are known. A link
// counts from either end, and none to a GPU that failed.
func (t *taker) connect() {
	for i, wire := range t.wires {
		for _, at := range wire.direct {
			if j, here := t.addresses[at]; here {
				t.join(i, j)
			}
		}
		for j := range i {
			if other := t.wires[j].plane; wire.plane != nil && other != nil && *wire.plane == *other {
				t.join(i, j)
			}
		}
	}
	for i := range t.inventory.GPUs {
		peers := &t.inventory.GPUs[i].NVLink.Peers
		slices.Sort(*peers)
		*peers = slices.Compact(*peers)
	}
}

func (t *taker) join(i, j int) {
	a, b := &t.inventory.GPUs[i], &t.inventory.GPUs[j]
	if i == j || a.Failure != nil || b.Failure != nil {
		return
	}
	a.NVLink.Peers = append(a.NVLink.Peers, j)
	b.NVLink.Peers = append(b.NVLink.Peers, i)
}

func formatUUID(u [16]byte) string {
	h := hex.EncodeToString(u[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
