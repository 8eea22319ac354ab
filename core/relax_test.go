package core_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/quota"
)

// A lack is a world in which one job waits, for one reason, and what that reason asks for.
type lack struct {
	code   berth.ReasonCode
	levels []string
	// relax is a part of what the explanation says would help.
	relax string
	world func(*divided)
	waits berth.Job
	// help does just that, and no more.
	help func(*divided)
}

// waiting is the job that waits, and each of its members claims something.
func waiting(members int, claim berth.Claim) berth.Job {
	return berth.Job{ID: "waits", Queue: "q", Groups: []berth.Group{{Members: members, Claim: claim}}}
}

// begin submits a job, and has it run.
func (d *divided) begin(j berth.Job) {
	d.tell(berth.JobSubmitted{Job: j})
	d.carryOut(d.pass())
}

// running is a job with so many GPUs.
func running(id berth.JobID, gpus int) berth.Job {
	return berth.Job{ID: id, Queue: "q", Groups: []berth.Group{{Members: 1, Claim: berth.Claim{GPUs: gpus}}}}
}

// hostOf adds a node with a small host.
func hostOf(d *divided, name string, gpus int, cpu int64) {
	n := berth.Node{ID: berth.NodeID(name), CPUMilli: cpu, MemoryMiB: 1 << 20}
	for range gpus {
		n.GPUs = append(n.GPUs, berth.GPU{Product: "H100", MemoryMiB: 81559})
	}
	d.tell(berth.NodeJoined{Node: n})
}

func lacks(t *testing.T) []lack {
	whole := berth.Claim{GPUs: 1}
	finish := func(id berth.JobID) func(*divided) {
		return func(d *divided) { d.tell(berth.JobFinished{Job: id, Incarnation: 1}) }
	}
	limit := func(milli int64) berth.Event {
		return berth.QueueSet{Queue: quota.Queue{Name: "q", Limit: quota.Amounts{quota.GPUMilli: milli}}}
	}
	inLeaf := func(j berth.Job) berth.Job {
		j.Topology.Required = "leaf"
		return j
	}
	return []lack{
		{
			berth.ReasonTurn, nil, "pass", func(d *divided) { d.pooled("n1", 1) }, waiting(1, whole), func(*divided) {},
		},
		{
			berth.ReasonBackoff, nil, "retries by itself", func(d *divided) {
				d.pooled("n1", 1)
				d.tell(berth.JobSubmitted{Job: waiting(1, whole)})
				d.report(d.pass()[0], berth.OutcomeFailed)
			}, berth.Job{}, func(d *divided) {
				wake, _ := d.NextWake()
				d.now = wake
			},
		},
		{
			berth.ReasonQuota, nil, "a limit of 2 GPUs for queue q", func(d *divided) {
				d.tell(limit(1000))
				d.pooled("n1", 8)
			}, waiting(2, whole), func(d *divided) { d.tell(limit(2000)) },
		},
		{
			berth.ReasonNoNodes, nil, "a node that is not cordoned", func(d *divided) {
				d.pooled("n1", 2)
				d.tell(berth.NodeCordoned{Node: "n1"})
			}, waiting(1, whole), func(d *divided) { d.tell(berth.NodeUncordoned{Node: "n1"}) },
		},
		{
			berth.ReasonTooLarge, nil, "nodes for 1 more", func(d *divided) { d.pooled("n1", 2) }, waiting(3, whole),
			func(d *divided) { d.pooled("n2", 1) },
		},
		{
			berth.ReasonGPUs, nil, "free GPUs for 1 more member", func(d *divided) {
				d.pooled("n1", 2)
				d.begin(running("other", 1))
			}, waiting(2, whole), finish("other"),
		},
		{
			berth.ReasonShares, nil, "free shares for 1 more member", func(d *divided) {
				d.pooled("n1", 1)
				d.begin(berth.Job{ID: "other", Queue: "q", Groups: []berth.Group{{Members: 1, Claim: berth.Claim{Share: &berth.Share{GPUMilli: 700}}}}})
			}, waiting(1, berth.Claim{Share: &berth.Share{GPUMilli: 400}}), finish("other"),
		},
		{
			berth.ReasonInstances, nil, "3g.40gb", func(d *divided) {
				d.node("n", 1, berth.GPUModeMIG, at(t, "3g.40gb@0:4"))
				d.begin(berth.Job{ID: "other", Queue: "q", Groups: []berth.Group{{Members: 1, Claim: berth.Claim{MIG: "3g.40gb"}}}})
			}, waiting(1, berth.Claim{MIG: "3g.40gb"}), finish("other"),
		},
		{
			berth.ReasonGeometry, nil, "another partitioning", func(d *divided) {
				d.policy(berth.Geometry{Kind: berth.GeometryAdaptive, Cost: berth.Day})
				d.node("n", 1, berth.GPUModeMIG, at(t, "3g.40gb@0:4"))
			},
			waiting(1, berth.Claim{MIG: "2g.20gb"}), func(d *divided) {
				d.tell(berth.GPUPartitioned{Node: "n", Mode: berth.GPUModeMIG, Instances: []mig.Placement{at(t, "2g.20gb@0:2")}})
			},
		},
		{
			berth.ReasonHost, nil, "CPU", func(d *divided) {
				hostOf(d, "n1", 2, 4000)
				d.begin(berth.Job{ID: "other", Queue: "q", Groups: []berth.Group{{Members: 1, Claim: berth.Claim{GPUs: 1, CPUMilli: 3000}}}})
			}, waiting(1, berth.Claim{GPUs: 1, CPUMilli: 2000}), finish("other"),
		},
		{
			berth.ReasonReserved, nil, "the end of those reservations", func(d *divided) {
				d.pooled("n1", 2)
				d.tell(berth.ReservationSet{Reservation: berth.Reservation{ID: "fair", Queue: "other", Nodes: []berth.NodeID{"n1"}, From: d.now.Add(berth.Minute), Until: d.now.Add(berth.Hour)}})
			}, waiting(1, whole), func(d *divided) { d.tell(berth.ReservationRemoved{Reservation: "fair"}) },
		},
		{
			berth.ReasonFragmented, []string{"leaf"}, "free capacity for 1 more member in a", func(d *divided) {
				d.pooled("n1", 1, "a")
				d.begin(running("other", 1))
				d.pooled("n2", 1, "a")
				d.pooled("n3", 1, "b")
			}, inLeaf(waiting(2, whole)), finish("other"),
		},
		{
			berth.ReasonTooLarge, []string{"leaf"}, "nodes for 1 more member in a", func(d *divided) {
				d.pooled("n1", 1, "a")
				d.pooled("n2", 1, "b")
			}, inLeaf(waiting(2, whole)), func(d *divided) { d.pooled("n3", 1, "a") },
		},
	}
}

// A job that waits has a reason, and starts when what that names is seen to.
func TestE1_WhatIsNamedHelps(t *testing.T) {
	for _, l := range lacks(t) {
		t.Run(string(l.code), func(t *testing.T) {
			sched, err := core.New(berth.Config{Levels: l.levels})
			require.NoError(t, err)
			d := &divided{T: t, Core: sched}
			for _, name := range []string{"q", "other"} {
				d.tell(berth.QueueSet{Queue: quota.Queue{Name: berth.QueueID(name)}})
			}
			l.world(d)
			if l.waits.ID != "" {
				d.tell(berth.JobSubmitted{Job: l.waits})
			}
			if l.code != berth.ReasonTurn {
				require.Empty(t, d.pass())
			}
			reason := d.explain("waits").Reason
			require.NotNil(t, reason)
			require.Equal(t, l.code, reason.Code, reason.Text)
			require.NotEmpty(t, reason.Text)
			require.Contains(t, reason.Remedy, l.relax)
			l.help(d)
			var started []berth.JobID
			for _, o := range d.pass() {
				if b, ok := o.(berth.Bind); ok {
					started = append(started, b.Job)
				}
			}
			require.Contains(t, started, berth.JobID("waits"), "%s: %s", reason.Text, reason.Remedy)
		})
	}
}
