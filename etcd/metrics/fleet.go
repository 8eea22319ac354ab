package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-sched/berth"
)

// A fleet has the metrics that are read off a report.
type fleet struct {
	gpus, stranded, nodes, replicas, waiting, jobs *prometheus.Desc
	time                                           *prometheus.Desc
	used, guaranteed, limit, queued, told          *prometheus.Desc
	leads, head, behind, compared                  *prometheus.Desc
}

func newFleet(in prometheus.Labels) fleet {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("berth_"+name, help, labels, in)
	}
	return fleet{
		gpus:       desc("gpus", "GPUs by product and state: held, free or out-of-service.", "product", "state"),
		stranded:   desc("gpus_stranded", "Free GPUs on which no waiting member fits by itself: the fragmentation.", "product"),
		nodes:      desc("nodes", "Nodes by state; one may be in several.", "state"),
		replicas:   desc("replicas", "Replicas by state.", "state"),
		waiting:    desc("waiting_replicas", "Replicas that wait for a place, by what stands in the way.", "for"),
		jobs:       desc("jobs_total", "Jobs by what became of them, since the core was made.", "event"),
		time:       desc("gpu_seconds_total", "GPU time by queue, class and product: allocated, and active as it was reported. It falls when the ledger is settled.", "queue", "class", "product", "kind"),
		used:       desc("queue_gpus_used", "GPUs that a queue and those below it use.", "queue"),
		guaranteed: desc("queue_gpus_guaranteed", "GPUs that a queue is guaranteed.", "queue"),
		limit:      desc("queue_gpus_limit", "GPUs that a queue may use at most; a queue without a limit has none.", "queue"),
		queued:     desc("queue_waiting_replicas", "Replicas of a queue that wait for a place.", "queue"),
		told:       desc("queue_gpus_told", "GPUs that a queue and those below it hold and of which activity was reported: active, or idle as the policy says. kind=all is both, and the rest.", "queue", "kind"),
		leads:      desc("leads", "1: this process leads."),
		head:       desc("journal_head_records", "The number of the last record of the log."),
		behind:     desc("journal_behind_records", "Records of the log that this process has not followed yet."),
		compared:   desc("journal_states_compared_total", "How often the state was compared with that of a leader, and was equal."),
	}
}

func (f *fleet) all() []*prometheus.Desc {
	return []*prometheus.Desc{
		f.gpus, f.stranded, f.nodes, f.replicas, f.waiting, f.jobs, f.time, f.used, f.guaranteed, f.limit, f.queued, f.told,
		f.leads, f.head, f.behind, f.compared,
	}
}

// A show sends metrics.
type show chan<- prometheus.Metric

func (to show) gauge(d *prometheus.Desc, value float64, labels ...string) {
	to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}

func (to show) counter(d *prometheus.Desc, value float64, labels ...string) {
	to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, value, labels...)
}

func milli(n int64) float64 { return float64(n) / 1000 }

func (f *fleet) standing(out chan<- prometheus.Metric, l Log) {
	to := show(out)
	leads := 0.0
	if l.Leads {
		leads = 1
	}
	to.gauge(f.leads, leads)
	to.gauge(f.head, float64(l.Head))
	to.gauge(f.behind, float64(l.Behind))
	to.counter(f.compared, float64(l.Compared))
}

func (f *fleet) show(out chan<- prometheus.Metric, s *seen) {
	to, r := show(out), &s.report
	for _, p := range r.Products {
		to.gauge(f.gpus, milli(p.HeldMilli), p.Product, "held")
		to.gauge(f.gpus, milli(p.FreeMilli), p.Product, "free")
		to.gauge(f.gpus, milli(p.OutOfServiceMilli), p.Product, "out-of-service")
		to.gauge(f.stranded, milli(p.StrandedMilli), p.Product)
	}
	for _, n := range []struct {
		state string
		count int
	}{
		{"all", r.Nodes.All},
		{"cordoned", r.Nodes.Cordoned},
		{"quarantined", r.Nodes.Quarantined},
		{"in-burn-in", r.Nodes.InBurnIn},
		{"hot-spare", r.Nodes.HotSpares},
		{"draining", len(r.Draining)},
	} {
		to.gauge(f.nodes, float64(n.count), n.state)
	}
	f.showReplicas(to, r)
	f.showQueues(to, r.Queues)
	f.showLedger(to, s.ledger)
}

func (f *fleet) showReplicas(to show, r *berth.FleetReport) {
	for _, n := range []struct {
		state berth.ReplicaState
		count int
	}{
		{berth.ReplicaPending, r.Replicas.Pending},
		{berth.ReplicaBinding, r.Replicas.Binding},
		{berth.ReplicaRunning, r.Replicas.Running},
		{berth.ReplicaRepairing, r.Replicas.Repairing},
		{berth.ReplicaReleasing, r.Replicas.Releasing},
	} {
		to.gauge(f.replicas, float64(n.count), n.state.String())
	}
	to.gauge(f.waiting, float64(r.Waiting.Ready), "turn")
	to.gauge(f.waiting, float64(r.Waiting.Capacity), "capacity")
	to.gauge(f.waiting, float64(r.Waiting.Quota), "quota")
	to.gauge(f.waiting, float64(r.Waiting.Backoff), "backoff")
	to.gauge(f.waiting, float64(r.Waiting.Gated), "gated")
	to.counter(f.jobs, float64(r.Totals.JobsAdmitted), "admitted")
	to.counter(f.jobs, float64(r.Totals.JobsFinished), "finished")
	to.counter(f.jobs, float64(r.Totals.JobsCancelled), "cancelled")
	to.counter(f.jobs, float64(r.Totals.JobsDropped), "dropped")
	to.counter(f.jobs, float64(r.Totals.JobsOverrun), "overrun")
	to.counter(f.jobs, float64(r.Totals.JobsIdle), "idle")
}

func (f *fleet) showQueues(to show, queues []berth.QueueReport) {
	for _, q := range queues {
		name := string(q.Queue)
		to.gauge(f.used, milli(q.UsedMilli), name)
		to.gauge(f.guaranteed, milli(q.GuaranteedMilli), name)
		if q.LimitMilli != nil {
			to.gauge(f.limit, milli(*q.LimitMilli), name)
		}
		to.gauge(f.queued, float64(q.WaitingReplicas), name)
		to.gauge(f.told, milli(q.Activity.ToldMilli), name, "all")
		to.gauge(f.told, milli(q.Activity.ActiveMilli), name, "active")
		to.gauge(f.told, milli(q.Activity.IdleMilli), name, "idle")
	}
}

// showLedger adds up the tenants, of which there may be any number.
func (f *fleet) showLedger(to show, lines []berth.LedgerLine) {
	type account struct {
		queue, class, product string
	}
	sums := map[account]berth.LedgerLine{}
	for _, l := range lines {
		a := account{string(l.Queue), l.Class.String(), l.Product}
		sum := sums[a]
		sum.Allocated += l.Allocated
		sum.Active += l.Active
		sums[a] = sum
	}
	for a, sum := range sums {
		to.counter(f.time, milli(sum.Allocated), a.queue, a.class, a.product, "allocated")
		to.counter(f.time, milli(sum.Active), a.queue, a.class, a.product, "active")
	}
}
