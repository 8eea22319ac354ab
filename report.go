package berth

import (
	"maps"
	"math/bits"
	"slices"

	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/quota"
)

// A FleetReport describes the fleet at an instant. GPU amounts are in
// thousandths of a GPU.
type FleetReport struct {
	Now   Time      `json:"now"`
	Nodes NodeCount `json:"nodes"`
	// GPUs of the whole fleet, and by product.
	GPUs     GPUCount       `json:"gpus"`
	Products []ProductCount `json:"products,omitempty"`
	// Divided GPUs by table.
	Divided []DividedCount `json:"divided,omitempty"`
	// WorstFault is the GPU of which a fatal fault would take down the most jobs; nil:
	// no GPU is shared. See BlastRadius.
	WorstFault *WorstFault `json:"worstFault,omitempty"`
	// Replicas by state.
	Replicas ReplicaCount `json:"replicas"`
	// Waiting counts the replicas that wait for a place, by what stands in the
	// way as far as the core knows without searching.
	Waiting WaitingCount `json:"waiting"`
	// Queues in order of name, without the root.
	Queues []QueueReport `json:"queues,omitempty"`
	// FreeNodes[k] counts the schedulable nodes with exactly k whole free GPUs.
	FreeNodes []int `json:"freeNodes,omitempty"`
	// Reservations in force: those made in advance by ID, then those of gangs in
	// policy order, then those of gangs that move, by job and replica.
	Reservations []ReservationReport `json:"reservations,omitempty"`
	// Spares by pool, and the nodes that are on probation or on trial.
	Spares []SparesReport `json:"spares,omitempty"`
	Health []HealthReport `json:"health,omitempty"`
	// Draining has the nodes that are being drained, by name.
	Draining []DrainReport `json:"draining,omitempty"`
	// Totals since the core was made.
	Totals Totals `json:"totals"`
}

// A ReservationReport describes nodes that are set aside.
type ReservationReport struct {
	// ID of a reservation that was made in advance; else Job and Replica name the
	// gang that has it.
	ID      ReservationID `json:"id,omitempty"`
	Job     JobID         `json:"job,omitempty"`
	Replica int           `json:"replica,omitempty"`
	// Moving: it is the place that is kept for a gang that has to leave another, and has not
	// yet, or waits to be tried again. It starts there when that is over.
	Moving bool `json:"moving,omitempty"`
	// Partly: it is what is left to a gang of its place, without room for the rest.
	Partly bool `json:"partly,omitempty"`
	// From is when it starts; for a gang, when it is expected to.
	From Time `json:"from"`
	// Until is when it ends by itself.
	Until Time `json:"until"`
	// Nodes in order of name.
	Nodes []NodeID `json:"nodes"`
	// Conflicts are the jobs that may not be there at From and are, or are expected to
	// be.
	Conflicts []JobID `json:"conflicts,omitempty"`
}

// A NodeCount counts nodes.
type NodeCount struct {
	All      int `json:"all"`
	Cordoned int `json:"cordoned"`
	// Probation and Trial count those that are not trusted yet, Spares those that are kept
	// for others.
	Probation int `json:"probation,omitempty"`
	Trial     int `json:"trial,omitempty"`
	Spares    int `json:"spares,omitempty"`
}

// add counts a node.
func (count *NodeCount) add(n *node) {
	for _, is := range []struct {
		so bool
		of *int
	}{{true, &count.All}, {n.Cordoned, &count.Cordoned}, {n.trust.Probation != 0, &count.Probation}, {n.trust.Trial != 0, &count.Trial}, {n.trust.Spare, &count.Spares}} {
		if is.so {
			*is.of++
		}
	}
}

// A GPUCount says what becomes of the fleet's GPUs. All = Held + Free + Idle of
// cordoned or failed ones, which are Out.
type GPUCount struct {
	All int64 `json:"all"`
	// Held by members, whatever the state of the GPU.
	Held int64 `json:"held"`
	// Free on schedulable nodes, in healthy GPUs: whole ones and the rest of
	// shared ones.
	Free int64 `json:"free"`
	// Out of service: failed, or free but cordoned or on probation, or kept for a member, or slices of a
	// divided GPU that are in no instance.
	Out int64 `json:"out"`
	// Stranded is the part of Free on which no waiting member fits by itself: the
	// fragmentation, as those who wait see it. Zero when nobody waits.
	Stranded int64 `json:"stranded"`
}

// A ProductCount is the GPUCount of one product.
type ProductCount struct {
	Product string `json:"product"`
	GPUCount
}

// A ReplicaCount counts replicas by state.
type ReplicaCount struct {
	Pending   int `json:"pending"`
	Binding   int `json:"binding"`
	Running   int `json:"running"`
	Repairing int `json:"repairing"`
	Releasing int `json:"releasing"`
}

// A WaitingCount counts what waits for a place: pending replicas, and running
// ones that want to grow.
type WaitingCount struct {
	// Ready ones have not been tried since something changed for them.
	Ready int `json:"ready"`
	// Capacity: they fit nowhere. Quota: a limit is in the way. Backoff: a Bind
	// failed.
	Capacity int `json:"capacity"`
	Quota    int `json:"quota"`
	Backoff  int `json:"backoff"`
}

// A QueueReport describes a queue.
type QueueReport struct {
	Queue      QueueID `json:"queue"`
	UsedMilli  int64   `json:"usedMilli"`
	Guaranteed int64   `json:"guaranteedMilli,omitempty"`
	Limit      *int64  `json:"limitMilli,omitempty"`
	Waiting    int     `json:"waiting,omitempty"`
}

// Totals count what happened since the core was made.
type Totals struct {
	Submitted   int64 `json:"submitted"`
	Started     int64 `json:"started"`
	Finished    int64 `json:"finished"`
	Cancelled   int64 `json:"cancelled"`
	Dropped     int64 `json:"dropped"`
	Binds       int64 `json:"binds"`
	BindsFailed int64 `json:"bindsFailed"`
	Releases    int64 `json:"releases"`
	// Repartitions of GPUs, of which those for members that waited are Reshaped; Drains
	// counts the GPUs that were kept for a member.
	Repartitions int64 `json:"repartitions"`
	Reshaped     int64 `json:"reshaped"`
	Drains       int64 `json:"drains"`
	// Preemptions counts for how often room was made for something that waited,
	// CheckpointsAsked and Withdrawn the requests for that, Evicted the replicas that were
	// stopped, Shrunk how often one went on with fewer members.
	Preemptions      int64 `json:"preemptions"`
	CheckpointsAsked int64 `json:"checkpointsAsked"`
	Withdrawn        int64 `json:"withdrawn"`
	Evicted          int64 `json:"evicted"`
	Shrunk           int64 `json:"shrunk"`
	// Moves counts how often a place was kept for a gang that had to leave its own.
	Moves        int64 `json:"moves"`
	Expired      int64 `json:"expired"`
	PresumedDead int64 `json:"presumedDead"`
	// Reservations counts those given to gangs, ReservationsExpired those that ended
	// without a start, Backfilled the jobs started on nodes that were set aside.
	Reservations        int64 `json:"reservations"`
	ReservationsExpired int64 `json:"reservationsExpired"`
	Backfilled          int64 `json:"backfilled"`
	// Xids counts those that were reported; Probations and Trials the times when a node was
	// put on one, SparesUsed the spares to which somebody came who had lost hardware.
	Xids       int64 `json:"xids,omitempty"`
	Probations int64 `json:"probations,omitempty"`
	Trials     int64 `json:"trials,omitempty"`
	SparesUsed int64 `json:"sparesUsed,omitempty"`
	// Attempts counts the searches for a place, without those that only find out
	// whether something that became free helps.
	Attempts int64 `json:"attempts"`
}

// Report describes the fleet as it is now. Cost: O(nodes x shapes of waiting
// work + queues + replicas).
func (c *Core) Report() FleetReport {
	r := FleetReport{Now: c.now, Totals: *c.totals}
	c.reportReplicas(&r)
	products, tables := map[string]*ProductCount{}, map[string]*DividedCount{}
	waiting := c.waitingShapes()
	for _, n := range c.nodes {
		if n == nil {
			continue
		}
		r.Nodes.add(n)
		if len(n.spec.GPUs) == 0 {
			continue
		}
		count := c.countGPUs(n, waiting, tables)
		if worst := n.worstOn(); worst != nil {
			r.WorstFault = r.WorstFault.worse(worst)
		}
		r.GPUs.add(count)
		name := n.spec.GPUs[0].Product
		if products[name] == nil {
			products[name] = &ProductCount{Product: name}
		}
		products[name].add(count)
		c.countFree(n, &r)
	}
	for _, name := range slices.Sorted(maps.Keys(products)) {
		r.Products = append(r.Products, *products[name])
	}
	r.Divided = dividedCounts(tables)
	r.Reservations = c.reportReservations()
	r.Spares, r.Health = c.reportSpares(), c.reportHealth()
	r.Draining = c.reportDraining()
	for _, name := range c.quota.Queues() {
		r.Queues = append(r.Queues, c.reportQueue(name))
	}
	return r
}

func (g *GPUCount) add(h GPUCount) {
	g.All += h.All
	g.Held += h.Held
	g.Free += h.Free
	g.Out += h.Out
	g.Stranded += h.Stranded
}

// countGPUs counts the GPUs of one node.
func (c *Core) countGPUs(n *node, waiting []*shape, tables map[string]*DividedCount) GPUCount {
	count := GPUCount{All: 1000 * int64(len(n.spec.GPUs))}
	for _, at := range n.members {
		count.Held += chargeOf(&at.rep.members[at.index].hold, n).GPUMilli
	}
	for g := range n.spec.GPUs {
		if n.gpus[g].Unknown {
			continue
		}
		if n.spec.GPUs[g].Mode == ModeMIG {
			count.Free += c.countDivided(n, g, tables)
			continue
		}
		if left, _ := c.fleet.ShareLeft(n.index, g); !n.closed() && !n.spec.GPUs[g].Failed {
			count.Free += int64(left)
		}
	}
	count.Out = count.All - count.Held - count.Free
	if len(waiting) > 0 && !slices.ContainsFunc(waiting, func(s *shape) bool { return c.serves(n, s) }) {
		count.Stranded = count.Free
	}
	return count
}

// serves reports whether some member of a shape that claims GPUs fits on a node
// now.
func (c *Core) serves(n *node, s *shape) bool {
	c.compile(s)
	return slices.ContainsFunc(s.minimum.Groups, func(g gang.Group) bool {
		return (g.Claim.GPUs > 0 || g.Claim.Share.Milli > 0 || len(g.Claim.Instances) > 0) && c.takes(n, &g)
	})
}

func (c *Core) countFree(n *node, r *FleetReport) {
	if n.closed() {
		return
	}
	k := bits.OnesCount64(c.fleet.FreeMask(n.index))
	for len(r.FreeNodes) <= k {
		r.FreeNodes = append(r.FreeNodes, 0)
	}
	r.FreeNodes[k]++
}

// waitingShapes lists the shapes that somebody waits for and that claim GPUs.
func (c *Core) waitingShapes() []*shape {
	var list []*shape
	for _, key := range slices.Sorted(maps.Keys(c.shapes)) {
		if s := c.shapes[key]; len(s.buckets) > 0 {
			list = append(list, s)
		}
	}
	return list
}

func (c *Core) reportReplicas(r *FleetReport) {
	for _, id := range slices.Sorted(maps.Keys(c.jobs)) {
		for _, rep := range c.jobs[id].replicas {
			if rep == nil {
				continue
			}
			switch rep.State {
			case Pending:
				r.Replicas.Pending++
			case Binding:
				r.Replicas.Binding++
			case Running:
				r.Replicas.Running++
			case Repairing:
				r.Replicas.Repairing++
			case Releasing:
				r.Replicas.Releasing++
			}
			r.Waiting.add(rep)
		}
	}
}

// add counts a replica if it waits; if several groups of it do, the first.
func (w *WaitingCount) add(rep *replica) {
	switch {
	case rep.retry.ReadyAt != 0:
		w.Backoff++
	case rep.entries == nil:
	case rep.entries[0].bucket.quotaSlot >= 0:
		w.Quota++
	case rep.entries[0].bucket.shape.blockedAt >= 0:
		w.Capacity++
	default:
		w.Ready++
	}
}

func (c *Core) reportQueue(name string) QueueReport {
	i, _ := c.quota.Lookup(name)
	q := QueueReport{
		Queue: QueueID(name), UsedMilli: c.quota.Used(i, quota.GPU),
		Guaranteed: c.quota.Guaranteed(i, quota.GPU), Waiting: c.queues[i].waiting,
	}
	if limit, limited := c.quota.LimitOf(i, quota.GPU); limited {
		q.Limit = &limit
	}
	return q
}
