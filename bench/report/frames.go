package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berth-sched/berth"
)

// A Film is what each GPU held at the instants that a page can show, and what happened between
// them. GPUs are numbered by island, node and place in the node.
type Film struct {
	Islands []Island
	Frames  []Frame
	Marks   []Mark
	// Contents are what a GPU can be seen to hold; the first is nothing.
	Contents []Content
}

// An Island is one domain of the fleet: the narrowest, or nodes of one product where the fleet has
// no levels.
type Island struct {
	Name  string
	Nodes []IslandNode
}

// An IslandNode is a node that was there at some instant.
type IslandNode struct {
	ID   berth.NodeID
	GPUs int
}

// A Frame is the fleet at one instant.
type Frame struct {
	At   berth.Time
	Held int64
	// Cells number the contents of the GPUs.
	Cells []int
	// Waiting are those that wait, the longest first.
	Waiting []Waiting
}

// A Content is what one GPU holds.
type Content struct {
	// Lost: its node is not there. Failed GPUs may be held; Cordoned is the node.
	Lost, Failed, Cordoned bool
	Holders                []Holder
}

// A Holder is a job that holds a GPU, or a part of it.
type Holder struct {
	Job      berth.JobID
	Replica  int
	Category Category
	Milli    int64
}

// A Mark is something that happened: Kind is "failure", "eviction" or "drain".
type Mark struct {
	At   berth.Time
	Kind string
	Text string
}

const (
	// maxFrames a film has, fewer of a fleet so large that they would be more than maxCells.
	maxFrames, maxCells = 100, 1_000_000
	maxMarks            = 600
	// shownWaiting are how many of those that wait a frame names.
	shownWaiting = 6
)

// A camera takes the film.
type camera struct {
	// first is the number of a node's first GPU, in the order in which nodes came.
	first  map[berth.NodeID]int
	nodes  []seenNode
	gpus   int
	frames []Frame
	seen   map[string]int
	film   Film
}

type seenNode struct {
	island string
	IslandNode
}

func newCamera() camera {
	return camera{first: map[berth.NodeID]int{}, seen: map[string]int{}, film: Film{Contents: []Content{{}}}}
}

// shoot takes a frame.
func (c *camera) shoot(now berth.Time, b *book) {
	for _, id := range slices.Sorted(maps.Keys(b.nodes)) {
		n := b.nodes[id]
		if _, met := c.first[id]; met || len(n.spec.GPUs) == 0 {
			continue
		}
		island := n.spec.GPUs[0].Product
		if k := len(n.spec.Domains); k > 0 {
			island = n.spec.Domains[k-1]
		}
		c.first[id] = c.gpus
		c.nodes = append(c.nodes, seenNode{island, IslandNode{id, len(n.spec.GPUs)}})
		c.gpus += len(n.spec.GPUs)
	}
	contents := make([]Content, c.gpus)
	for i := range c.nodes {
		seen := &c.nodes[i]
		n := b.nodes[seen.ID]
		for g := range seen.GPUs {
			content := &contents[c.first[seen.ID]+g]
			if content.Lost = n == nil || g >= len(n.spec.GPUs); !content.Lost {
				content.Failed, content.Cordoned = n.spec.GPUs[g].Failed, n.cordoned
			}
		}
	}
	c.fill(contents, b)
	f := Frame{At: now, Held: b.heldMilli(), Cells: make([]int, c.gpus), Waiting: b.longest(now, shownWaiting)}
	for i := range contents {
		f.Cells[i] = c.number(&contents[i])
	}
	c.frames = append(c.frames, f)
}

// fill enters the holders.
func (c *camera) fill(contents []Content, b *book) {
	for _, id := range slices.Sorted(maps.Keys(b.jobs)) {
		j := b.jobs[id]
		for _, number := range slices.Sorted(maps.Keys(j.replicas)) {
			for _, p := range j.replicas[number].members {
				if b.nodes[p.Node] == nil {
					continue
				}
				part := int64(1000)
				if p.ShareMilli > 0 || p.Instance.Size > 0 {
					part = b.milli(&p)
				}
				for _, g := range p.GPUs.Indexes() {
					content := &contents[c.first[p.Node]+g]
					content.Holders = append(content.Holders, Holder{id, number, j.category, part})
				}
			}
		}
	}
}

// number finds a content among those that were seen, or adds it.
func (c *camera) number(content *Content) int {
	if !content.Lost && !content.Failed && !content.Cordoned && content.Holders == nil {
		return 0
	}
	key := fmt.Sprint(*content)
	n, seen := c.seen[key]
	if !seen {
		n = len(c.film.Contents)
		c.seen[key] = n
		c.film.Contents = append(c.film.Contents, *content)
	}
	return n
}

// many reports whether there are more frames than a page should have.
func (c *camera) many() bool {
	return len(c.frames) > max(2, min(maxFrames, maxCells/max(c.gpus, 1)))
}

// thin keeps every other frame.
func (c *camera) thin() {
	kept := c.frames[:0]
	for i := 0; i < len(c.frames); i += 2 {
		kept = append(kept, c.frames[i])
	}
	c.frames = kept
}

// develop orders the GPUs by island and node. Nodes that came after a frame are lost in it.
func (c *camera) develop() Film {
	lost := c.number(&Content{Lost: true})
	film := c.film
	slices.SortFunc(c.nodes, func(a, b seenNode) int { return cmp.Or(cmp.Compare(a.island, b.island), cmp.Compare(a.ID, b.ID)) })
	var order []int
	for i := range c.nodes {
		n := &c.nodes[i]
		if k := len(film.Islands); k == 0 || film.Islands[k-1].Name != n.island {
			film.Islands = append(film.Islands, Island{Name: n.island})
		}
		island := &film.Islands[len(film.Islands)-1]
		island.Nodes = append(island.Nodes, n.IslandNode)
		for g := range n.GPUs {
			order = append(order, c.first[n.ID]+g)
		}
	}
	for _, f := range c.frames {
		cells := make([]int, len(order))
		for i, at := range order {
			if cells[i] = lost; at < len(f.Cells) {
				cells[i] = f.Cells[at]
			}
		}
		f.Cells = cells
		film.Frames = append(film.Frames, f)
	}
	return film
}

// mark notes something that happened.
func (c *camera) mark(now berth.Time, kind, format string, args ...any) {
	if len(c.film.Marks) < maxMarks {
		c.film.Marks = append(c.film.Marks, Mark{now, kind, fmt.Sprintf(format, args...)})
	}
}

// applied notes what an event did to the fleet.
func (c *camera) applied(now berth.Time, e berth.Event) {
	because := func(reason string) string {
		return strings.TrimSuffix(": "+reason, ": ")
	}
	switch e := e.(type) {
	case berth.NodeLost:
		c.mark(now, "failure", "node %s lost%s", e.Node, because(e.Reason))
	case berth.GPUFailed:
		c.mark(now, "failure", "GPU %d of node %s failed", e.GPU, e.Node)
	case berth.XidReported:
		if berth.LookupXid(e.Xid).Effect == berth.XidCondemns {
			c.mark(now, "failure", "GPU %d of node %s: Xid %d", e.GPU, e.Node, e.Xid)
		}
	case berth.NodeCordoned:
		c.mark(now, "drain", "node %s cordoned", e.Node)
	case berth.NodeDraining:
		c.mark(now, "drain", "node %s drained", e.Node)
	}
}

// scheduled notes the evictions that orders begin.
func (c *camera) scheduled(now berth.Time, orders []berth.Order, b *book) {
	for _, o := range orders {
		release, is := o.(berth.Release)
		if !is || release.Attempt > 1 {
			continue
		}
		what := map[berth.CauseCode]string{berth.CauseReclaimed: "evicted", berth.CausePreempted: "evicted", berth.CauseMoved: "moved"}[release.Cause.Code]
		if what == "" {
			continue
		}
		kind := ""
		if j := b.jobs[release.Job]; j != nil {
			kind = " (" + j.category.String() + ")"
		}
		c.mark(now, "eviction", "%s/%d%s %s for %s", release.Job, release.Replica, kind, what, release.Cause.Beneficiary.Job)
	}
}
