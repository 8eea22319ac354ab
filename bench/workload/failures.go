package workload

import "github.com/berth-sched/berth"

// addFailures draws, per 125 nodes and day, one node that is lost, one GPU that
// fails and one node that is cordoned for maintenance. All return, after two hours
// in the median. No node has two of these troubles.
func (d *day) addFailures() {
	r := d.source(partFailures)
	victims := r.Perm(d.nodes)
	count := 3.0 / 125 * float64(d.nodes) * float64(d.span) / float64(berth.Day)
	for i := range int(count) {
		if i >= len(victims) {
			return
		}
		n := d.fleet[victims[i]]
		at := berth.Time(r.Int64N(int64(d.span)))
		back := at.Add(r.minutes(120, 0.6, 600))
		switch i % 3 {
		case 0:
			d.tell(at, berth.NodeLost{Node: n.ID, Reason: "does not answer"})
			d.tell(back, berth.NodeJoined{Node: n})
		case 1:
			gpu := r.IntN(gpusPerNode)
			d.tell(at, berth.GPUFailed{Node: n.ID, GPU: gpu, Reason: "Xid 79: fallen off the bus"})
			d.tell(back, berth.GPURepaired{Node: n.ID, GPU: gpu})
		default:
			d.tell(at, berth.NodeCordoned{Node: n.ID, Reason: "maintenance"})
			d.tell(back, berth.NodeUncordoned{Node: n.ID})
		}
	}
}
