package life

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
)

// A Share is what a queue has of a fleet, if it is divided: whole nodes, by their GPUs.
type Share struct {
	Queue berth.QueueID
	// Nodes of each number of GPUs.
	Nodes map[int]int
}

// GPUs of a share.
func (s *Share) GPUs() (sum int) {
	for gpus, nodes := range s.Nodes {
		sum += gpus * nodes
	}
	return sum
}

// Divide divides a fleet of nodes among the queues of jobs. Nodes of each size are for the jobs
// whose largest member needs them: one that fits a smaller size is for that. Every queue gets
// the nodes that its largest job needs; what is left goes to the queues in proportion to the GPU
// time that their jobs for nodes of that size take, in whole nodes, each next one to the queue with
// the most GPU time for the nodes that it would then have (D'Hondt's divisors). The result is in
// order of queue; it is nil if there are too few nodes.
func Divide(nodes map[int]int, jobs []sim.Arrival) []Share {
	sizes := make([]int, 0, len(nodes))
	for gpus := range nodes {
		sizes = append(sizes, gpus)
	}
	slices.Sort(sizes)
	var claims []claim
	for _, a := range jobs {
		e, is := a.Event.(berth.JobSubmitted)
		if !is {
			continue
		}
		i := slices.IndexFunc(claims, func(c claim) bool { return c.queue == e.Job.Queue })
		if i < 0 {
			i = len(claims)
			claims = append(claims, newClaim(e.Job.Queue, len(sizes)))
		}
		claims[i].add(&e.Job, a.Runtime, sizes)
	}
	slices.SortFunc(claims, func(a, b claim) int { return cmp.Compare(a.queue, b.queue) })
	shares := make([]Share, len(claims))
	for i, c := range claims {
		shares[i] = Share{Queue: c.queue, Nodes: map[int]int{}}
	}
	for s, gpus := range sizes {
		left := nodes[gpus]
		for i := range claims {
			shares[i].Nodes[gpus] = claims[i].least[s]
			left -= claims[i].least[s]
		}
		if left < 0 {
			return nil
		}
		for ; left > 0; left-- {
			next := 0
			for i := range claims { // of equals the first
				if claims[i].quotient(s, shares[i].Nodes[gpus]) > claims[next].quotient(s, shares[next].Nodes[gpus]) {
					next = i
				}
			}
			shares[next].Nodes[gpus]++
		}
	}
	return shares
}

// A claim is what the jobs of a queue need, by size of node.
type claim struct {
	queue berth.QueueID
	time  []float64 // GPU time
	least []int     // nodes
}

func newClaim(queue berth.QueueID, sizes int) claim {
	return claim{queue, make([]float64, sizes), make([]int, sizes)}
}

// add counts a job for the smallest nodes that hold its largest member.
func (c *claim) add(job *berth.Job, runtime berth.Duration, sizes []int) {
	gpus, largest := 0, 0
	for i := range job.Groups {
		g := &job.Groups[i]
		gpus += g.Members * g.Claim.GPUs
		largest = max(largest, g.Claim.GPUs)
	}
	s := slices.IndexFunc(sizes, func(size int) bool { return size >= largest })
	if s < 0 {
		s = len(sizes) - 1
	}
	c.time[s] += float64(gpus) * float64(runtime)
	c.least[s] = max(c.least[s], c.nodesFor(job, sizes[s]))
}

// nodesFor is how many nodes of a size a job needs by itself.
func (c *claim) nodesFor(job *berth.Job, size int) (nodes int) {
	for i := range job.Groups {
		each := max(size/job.Groups[i].Claim.GPUs, 1)
		nodes += (job.Groups[i].Members + each - 1) / each
	}
	return nodes
}

func (c *claim) quotient(s, nodes int) float64 { return c.time[s] / float64(nodes+1) }
