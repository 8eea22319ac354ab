package core_test

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/quota"
)

// A latency-critical service takes the place of batch work in its queue: the victim is asked
// for a checkpoint, stopped, and waits with its age.
func Example_preempt() {
	sched := newExample()
	mustApply(sched, morning, training("llm", 2))
	pass(sched, morning)
	chat := training("chat", 1)
	chat.Job.Class, chat.Job.Service = berth.ClassLatencyCritical, &berth.Service{Replicas: 1}
	mustApply(sched, morning.Add(berth.Minute), chat)
	for now := morning.Add(berth.Minute); now <= morning.Add(62*berth.Second); now = now.Add(berth.Second) {
		pass(sched, now)
	}
	why, err := sched.Explain("llm")
	if err != nil {
		panic(err)
	}
	fmt.Println("llm is", why.Replicas[0].State)
	// Output:
	// 0s: bind llm n1[0-7] n2[0-7] (fits)
	// 1m0s: requestCheckpoint llm (preempted)
	// 1m1s: release llm (preempted)
	// 1m2s: bind chat n1[0-7] (victims-gone)
	// llm is pending
}

// Every night a job tells a limit of sixteen hours, and is over after one. After four nights it is
// expected to be.
func Example_runTimes() {
	sched := newExample()
	for night := range 5 {
		now := morning.Add(berth.Duration(night) * berth.Day)
		job := training(berth.JobID(fmt.Sprint("night-", night)), 1)
		job.Job.Program, job.Job.ExpectedRuntime = "nightly", 16*berth.Hour
		mustApply(sched, now, job)
		pass(sched, now)
		e, err := sched.Explain(job.Job.ID)
		if err != nil {
			panic(err)
		}
		fmt.Println("expected to run for", e.Replicas[0].ExpectedEnd.Sub(now))
		mustApply(sched, now.Add(berth.Hour), berth.JobFinished{Job: job.Job.ID, Incarnation: 1})
	}
	// Output:
	// 0s: bind night-0 n1[0-7] (fits)
	// expected to run for 16h0m0s
	// 24h0m0s: bind night-1 n1[0-7] (fits)
	// expected to run for 16h0m0s
	// 48h0m0s: bind night-2 n1[0-7] (fits)
	// expected to run for 16h0m0s
	// 72h0m0s: bind night-3 n1[0-7] (fits)
	// expected to run for 16h0m0s
	// 96h0m0s: bind night-4 n1[0-7] (fits)
	// expected to run for 1h0m0s
}

// A job may run for an hour. It is asked for its last checkpoint a minute before, which is how long
// that takes, and does not come back.
func Example_limit() {
	sched := newExample()
	job := training("llm", 1)
	job.Job.MaxRuntime, job.Job.Checkpoint.Cost = berth.Hour, berth.Minute
	mustApply(sched, morning, job)
	pass(sched, morning)
	e, err := sched.Explain("llm")
	if err != nil {
		panic(err)
	}
	fmt.Println("it may run until", e.Replicas[0].RunsUntil.Sub(morning))
	for _, after := range []berth.Duration{59 * berth.Minute, 59*berth.Minute + berth.Second} {
		pass(sched, morning.Add(after))
	}
	_, known := sched.Job("llm")
	fmt.Println("it is known:", known, "overrun:", sched.Report().Totals.JobsOverrun)
	// Output:
	// 0s: bind llm n1[0-7] (fits)
	// it may run until 1h0m0s
	// 59m0s: requestCheckpoint llm (max-runtime)
	// 59m1s: release llm (max-runtime)
	// it is known: false overrun: 1
}

// The limit of a queue is lowered below what runs there. The job that began last is asked for a
// checkpoint, is stopped once that is written, and waits until the limit is raised.
func Example_overLimit() {
	sched := newExample()
	policy := sched.Config().Policy
	policy.OverLimit.Stop = true
	mustApply(sched, morning, berth.PolicyChanged{Policy: policy}, training("first", 1), training("second", 1))
	pass(sched, morning)
	mustApply(sched, morning, berth.QueueSet{Queue: quota.Queue{Name: "research", Limit: quota.GPUs(8)}})
	pass(sched, morning.Add(berth.Minute))
	pass(sched, morning.Add(2*berth.Minute))
	e, err := sched.Explain("second")
	if err != nil {
		panic(err)
	}
	fmt.Println("second waits:", e.Replicas[0].Reason.Text)
	// Output:
	// 0s: bind first n1[0-7] (fits)
	// 0s: bind second n2[0-7] (fits)
	// 1m0s: requestCheckpoint second (over-limit)
	// 2m0s: release second (over-limit)
	// second waits: queue research uses 8 GPUs of its limit of 8 GPUs; the job asks for 8 GPUs
}

// A job whose members die may come back to the queue once. What else brings it back is not counted.
func Example_maxRequeues() {
	sched := newExample()
	job := training("llm", 1)
	job.Job.MaxRequeues = []berth.RequeueCap{{Cause: berth.CauseMemberFailed, Requeues: 1}}
	mustApply(sched, morning, job)
	now := morning
	for life := range berth.Incarnation(2) {
		pass(sched, now)
		mustApply(sched, now, berth.MemberFailed{Job: "llm", Incarnation: life + 1, Members: []berth.MemberRef{{}}})
		now = now.Add(berth.Minute)
	}
	pass(sched, now)
	_, known := sched.Job("llm")
	fmt.Println("it is known:", known)
	// Output:
	// 0s: bind llm n1[0-7] (fits)
	// 1m0s: bind llm n1[0-7] (resumed)
	// 2m0s: drop llm (max-requeues)
	// it is known: false
}

// Two jobs ask for eight H100, or else for sixteen A100, and one gets each. An A100 node goes, and
// the second job goes on as its own gang once the first is over.
func Example_alternatives() {
	sched := newExample()
	for _, id := range []berth.NodeID{"a1", "a2"} {
		node := hgx(id).(berth.NodeJoined)
		for i := range node.Node.GPUs {
			node.Node.GPUs[i] = berth.GPU{Product: "A100-80GB", MemoryMiB: 81_559}
		}
		mustApply(sched, morning, node)
	}
	mustApply(sched, morning, berth.NodeLost{Node: "n2"})
	for _, id := range []berth.JobID{"llm", "vision"} {
		job := training(id, 1)
		job.Job.Groups[0].Selector.Products = []string{"H100-80GB"}
		a100 := berth.Group{Members: 2, Claim: berth.WholeGPUs(8), Selector: berth.Selector{Products: []string{"A100-80GB"}}}
		job.Job.Alternatives = []berth.Alternative{{Groups: []berth.Group{a100}}}
		mustApply(sched, morning, job)
	}
	pass(sched, morning)
	mustApply(sched, morning.Add(berth.Hour), berth.NodeLost{Node: "a2"})
	pass(sched, morning.Add(berth.Hour))
	pass(sched, morning.Add(61*berth.Minute))
	e, err := sched.Explain("vision")
	if err != nil {
		panic(err)
	}
	why := e.Replicas[0].Reason
	fmt.Println("vision waits:", why.Text)
	fmt.Println("or, as alternative 1:", why.Alternatives[0].Text)
	mustApply(sched, morning.Add(2*berth.Hour), berth.JobFinished{Job: "llm", Incarnation: 1})
	pass(sched, morning.Add(2*berth.Hour))
	status, _ := sched.Job("vision")
	fmt.Println("vision runs as alternative", status.Replicas[0].Alternative)
	// Output:
	// 0s: bind llm n1[0-7] (fits)
	// 0s: bind vision a1[0-7] a2[0-7] (fits)
	// 1h0m0s: release vision (hardware-lost)
	// vision waits: the gang (8 GPUs) does not fit now
	// or, as alternative 1: the gang (8 GPUs each) needs 2 members, and 1 would fit if the fleet were idle
	// 2h0m0s: bind vision n1[0-7] (fits)
	// vision runs as alternative 0
}

// Prefill and decode are two parts of one gang: each in one rack, and in two different ones. All of
// it starts together. Of a second gang, no rack is large enough for one part.
func Example_parts() {
	sched, err := core.New(berth.Config{Levels: []string{"rack"}})
	if err != nil {
		panic(err)
	}
	mustApply(sched, morning, berth.QueueSet{Queue: quota.Queue{Name: "research"}})
	for _, id := range []berth.NodeID{"a1", "a2", "b1", "b2"} {
		node := hgx(id).(berth.NodeJoined)
		node.Node.Domains = []string{string(id[:1])}
		mustApply(sched, morning, node)
	}
	for _, decoders := range []int{2, 4} {
		mustApply(sched, morning, berth.JobSubmitted{Job: berth.Job{
			ID: berth.JobID(fmt.Sprintf("serve-%d", decoders)), Queue: "research",
			Groups: []berth.Group{
				{Name: "prefill", Part: "prefill", Members: 1, Claim: berth.WholeGPUs(8)},
				{Name: "decode", Part: "decode", Members: decoders, Claim: berth.WholeGPUs(6)},
				{Name: "router", Part: "decode", Members: 1, Claim: berth.HostOnly(1000, 1024)},
			},
			Topology: berth.Topology{Parts: []berth.Part{{Name: "prefill"}, {Name: "decode"}}, Apart: "rack"},
		}})
		pass(sched, morning)
	}
	e, err := sched.Explain("serve-4")
	if err != nil {
		panic(err)
	}
	fmt.Println("serve-4 waits:", e.Replicas[0].Reason.Text)
	// Output:
	// 0s: bind serve-2 a1[0-7] b1[0-5] b2[0-5] b1[] (fits)
	// serve-4 waits: group decode (6 GPUs each) needs 4 members in one rack, and 2 would fit in a if the fleet were idle
}

// A job begins at noon, another follows it, and a third follows that if it completes. The first
// fails: so the third is given up, and the second, which goes on in any case, is started.
func Example_dependencies() {
	sched := newExample()
	noon := morning.Add(3 * berth.Hour)
	train, report, publish := training("train", 1), training("report", 1), training("publish", 1)
	train.Job.Begin = noon
	report.Job.After = []berth.Dependency{{Job: "train", Kind: berth.DependencyAny}}
	publish.Job.After = []berth.Dependency{{Job: "train"}, {Job: "report"}}
	mustApply(sched, morning, train, report, publish)
	pass(sched, morning)
	for _, id := range []berth.JobID{"train", "publish"} {
		e, err := sched.Explain(id)
		if err != nil {
			panic(err)
		}
		fmt.Println(id, "waits:", e.Replicas[0].Reason.Text)
	}
	at, _ := sched.NextWake()
	pass(sched, at)
	mustApply(sched, noon.Add(berth.Hour), berth.JobFinished{Job: "train", Incarnation: 1, Failed: true})
	pass(sched, noon.Add(berth.Hour))
	// Output:
	// train waits: it is not to begin for another 3h0m0s
	// publish waits: it waits for the end of jobs train and report
	// 3h0m0s: bind train n1[0-7] (fits)
	// 4h0m0s: drop publish (dependency)
	// 4h0m0s: bind report n1[0-7] (fits)
}

// Each user may have two jobs of the queue compete or run. Of four that ada submits two wait at
// their gates, and the job of bob, which came last, starts before them.
func Example_caps() {
	sched := newExample()
	mustApply(sched, morning, berth.PolicyChanged{Policy: berth.Policy{Caps: []berth.QueueCaps{{Queue: "research", MaxJobsPerUser: 2}}}})
	for _, id := range []berth.JobID{"ada-1", "ada-2", "ada-3", "ada-4", "bob-1"} {
		job := training(id, 1)
		job.Job.Groups[0].Claim = berth.WholeGPUs(1)
		job.Job.User, _, _ = strings.Cut(string(id), "-")
		mustApply(sched, morning, job)
	}
	pass(sched, morning)
	e, err := sched.Explain("ada-3")
	if err != nil {
		panic(err)
	}
	fmt.Println("ada-3 waits:", e.Replicas[0].Reason.Text)
	mustApply(sched, morning.Add(berth.Hour), berth.JobFinished{Job: "ada-2", Incarnation: 1})
	pass(sched, morning.Add(berth.Hour))
	// Output:
	// 0s: bind ada-1 n1[0] (fits)
	// 0s: bind ada-2 n1[1] (fits)
	// 0s: bind bob-1 n1[2] (fits)
	// ada-3 waits: user ada has 2 jobs in queue research that compete or run, of at most 2; jobs that wait for that: 2
	// 1h0m0s: bind ada-3 n1[1] (fits)
}

// A queue may use 16 GPU-hours in a day. A job with 8 GPUs uses them up in two hours; then it is
// asked for a checkpoint, is stopped, and waits for the next day with all others of the queue.
func Example_budget() {
	sched := newExample()
	mustApply(sched, morning, berth.PolicyChanged{Policy: berth.Policy{Budgets: []berth.Budget{
		{Queue: "research", GPUMilliHours: 16_000, Until: morning.Add(berth.Day), Stop: true},
	}}}, training("llm", 1))
	pass(sched, morning)
	fmt.Println(sched.Report().Budgets[0].UsedUpAt.Sub(morning))
	at, _ := sched.NextWake()
	pass(sched, at)
	pass(sched, at)
	e, err := sched.Explain("llm")
	if err != nil {
		panic(err)
	}
	fmt.Println("llm waits:", e.Replicas[0].Reason.Text)
	at, _ = sched.NextWake()
	pass(sched, at)
	// Output:
	// 0s: bind llm n1[0-7] (fits)
	// 2h0m0s
	// 2h0m0s: requestCheckpoint llm (budget)
	// 2h0m0s: release llm (budget)
	// llm waits: queue research has used 16 of its budget of 16 GPU-hours, which ends in 22h0m0s
	// 24h0m0s: bind llm n1[0-7] (fits)
}

// The research team is guaranteed 300 thousandths of the fleet. A node is lost, and the guarantee
// is 300 thousandths of what is left, in whole GPUs.
func Example_shares() {
	sched := newExample()
	mustApply(sched, morning,
		berth.QueueSet{Queue: quota.Queue{Name: "research", GuaranteeShare: quota.Thousandths{quota.GPUMilli: 300}}},
		hgx("n3"),
	)
	fmt.Println(sched.Report().Queues[0])
	mustApply(sched, morning, berth.NodeLost{Node: "n3"})
	fmt.Println(sched.Report().Queues[0])
	// Output:
	// uses 0 GPUs, 7 guaranteed (300 thousandths of 24)
	// uses 0 GPUs, 4 guaranteed (300 thousandths of 16)
}

// The config declares scratch disk. The node has 1000 GiB of it, so that the second job waits
// although GPUs are free, and Explain says why.
func Example_resources() {
	sched, err := core.New(berth.Config{Resources: countable.Register{{Name: "scratch", Unit: "GiB"}}})
	if err != nil {
		panic(err)
	}
	gpus := berth.EqualGPUs(8, berth.GPU{Product: "H100-80GB", MemoryMiB: 81_559})
	mustApply(sched, morning, berth.NodeJoined{Node: berth.Node{ID: "n1", GPUs: gpus, Resources: map[string]int64{"scratch": 1000}}})
	mustApply(sched, morning, berth.QueueSet{Queue: quota.Queue{Name: "research", Limit: quota.Amounts{"scratch": 5000}}})
	for _, id := range []berth.JobID{"first", "second"} {
		claim := berth.Claim{GPUs: 1, Resources: map[string]int64{"scratch": 600}}
		mustApply(sched, morning, berth.JobSubmitted{Job: berth.Job{ID: id, Queue: "research", Groups: []berth.Group{{Members: 1, Claim: claim}}}})
	}
	pass(sched, morning)
	e, err := sched.Explain("second")
	if err != nil {
		panic(err)
	}
	fmt.Println(e.Replicas[0].Reason.Text)
	fmt.Println(sched.Report().Resources[0])
	// Output:
	// 0s: bind first n1[0] (fits)
	// the gang (1 GPU, 600 GiB of scratch) does not fit now: scratch is short
	// scratch: 1000 GiB, of which 600 held
}

// Of the jobs of an array two run at a time, though there is room for all.
func Example_array() {
	sched := newExample()
	for _, id := range []berth.JobID{"sweep-1", "sweep-2", "sweep-3", "sweep-4"} {
		job := training(id, 1)
		job.Job.Groups[0].Claim = berth.WholeGPUs(1)
		job.Job.Array = &berth.Array{Name: "sweep", Width: 2}
		mustApply(sched, morning, job)
	}
	pass(sched, morning)
	mustApply(sched, morning.Add(berth.Hour), berth.JobFinished{Job: "sweep-1", Incarnation: 1})
	pass(sched, morning.Add(berth.Hour))
	// Output:
	// 0s: bind sweep-1 n1[0] (fits)
	// 0s: bind sweep-2 n1[1] (fits)
	// 1h0m0s: bind sweep-3 n1[0] (fits)
}

// A service leaves its GPUs idle, and lends them. A job of its queue runs over one of them until
// the service is busy again: it has half of the two minutes that the service grants to write a
// checkpoint, and is stopped.
func Example_lend() {
	sched := newExample()
	web := berth.Job{
		ID: "web", Queue: "research", Class: berth.ClassLatencyCritical, Service: &berth.Service{Replicas: 1},
		Groups: []berth.Group{{Members: 1, Claim: berth.WholeGPUs(2)}},
		Lend:   &berth.Lend{Within: 2 * berth.Minute, MemoryMiB: 20_000},
	}
	tune := berth.Job{
		ID: "tune", Queue: "research", Checkpoint: berth.Checkpoint{Supported: true},
		Groups: []berth.Group{{Members: 1, Claim: berth.BorrowedGPU(40_000)}},
	}
	mustApply(sched, morning, berth.JobSubmitted{Job: web}, berth.JobSubmitted{Job: tune})
	pass(sched, morning)
	mustApply(sched, morning, berth.ActivityReported{Job: "web", Incarnation: 1, ActiveMilli: 10})
	pass(sched, morning.Add(berth.Minute)) // quiet for long enough
	gpus := sched.Report().GPUs
	fmt.Println("held:", gpus.HeldMilli, "lendable:", gpus.LendableMilli, "borrowed:", gpus.BorrowedMilli)

	busy := morning.Add(berth.Hour)
	mustApply(sched, busy, berth.ActivityReported{Job: "web", Incarnation: 1, ActiveMilli: 800})
	pass(sched, busy) // the checkpoint is written at once
	pass(sched, busy.Add(berth.Second))
	// Output:
	// 0s: bind web n1[0-1] (fits)
	// 1m0s: bind tune n1[0] (fits)
	// held: 2000 lendable: 2000 borrowed: 1000
	// 1h0m0s: requestCheckpoint tune (given-back)
	// 1h0m1s: release tune (given-back)
}

// A notebook holds two GPUs and leaves them idle. It is named in the report and warned after two
// hours, and its job ends half an hour later, as it is still idle then.
func Example_idle() {
	sched := newExample()
	policy := berth.DefaultPolicy()
	policy.Idle = berth.IdlePolicy{QuietMilli: 50, QuietFor: 2 * berth.Hour, Grace: 30 * berth.Minute, Action: berth.IdleStop}
	notebook := berth.Job{
		ID: "notebook", Queue: "research", Tenant: "acme", Checkpoint: berth.Checkpoint{Supported: true},
		Groups: []berth.Group{{Members: 1, Claim: berth.WholeGPUs(2)}},
	}
	mustApply(sched, morning, berth.PolicyChanged{Policy: policy}, berth.JobSubmitted{Job: notebook})
	pass(sched, morning)
	mustApply(sched, morning, berth.ActivityReported{Job: "notebook", Incarnation: 1, ActiveMilli: 10})

	warned := morning.Add(2 * berth.Hour)
	pass(sched, warned)
	report := sched.Report()
	for _, i := range report.Idle {
		fmt.Println(i.Job, "of", i.Tenant, "holds", i.GPUMilli, "until", i.Until.Sub(morning))
	}
	fmt.Printf("held: %d, told: %d, active: %d\n", report.Activity.HeldMilli, report.Activity.ToldMilli, report.Activity.ActiveMilli)

	pass(sched, warned.Add(30*berth.Minute)) // the checkpoint is written at once
	pass(sched, warned.Add(31*berth.Minute))
	fmt.Println("ended:", sched.Report().Totals.JobsIdle)
	// Output:
	// 0s: bind notebook n1[0-1] (fits)
	// 2h0m0s: warnIdle notebook (idle)
	// notebook of acme holds 2000 until 2h30m0s
	// held: 2000, told: 2000, active: 20
	// 2h30m0s: requestCheckpoint notebook (idle)
	// 2h31m0s: release notebook (idle)
	// ended: 1
}

// A node is drained: its gang is asked for a checkpoint, stopped, and started again in the place
// that was kept for it meanwhile.
func Example_drain() {
	sched := newExample()
	mustApply(sched, morning, training("llm", 1))
	pass(sched, morning)
	mustApply(sched, morning.Add(berth.Second), berth.NodeDraining{Node: "n1", Reason: "firmware"})
	for now := morning.Add(berth.Second); now <= morning.Add(3*berth.Second); now = now.Add(berth.Second) {
		pass(sched, now)
		for _, node := range sched.Report().Draining {
			fmt.Printf("%v: %d members left on %s\n", now.Sub(morning), node.MembersLeft, node.Node)
		}
	}
	// Output:
	// 0s: bind llm n1[0-7] (fits)
	// 1s: requestCheckpoint llm (drained)
	// 1s: 1 members left on n1
	// 2s: release llm (drained)
	// 2s: 0 members left on n1
	// 3s: bind llm n2[0-7] (resumed)
	// 3s: 0 members left on n1
}

// A node is drained under one of three replicas of a service: another starts first, and there are
// never fewer than three that run.
func Example_surge() {
	sched := newExample()
	mustApply(sched, morning, hgx("n3"), hgx("n4"))
	chat := training("chat", 1)
	chat.Job.Class, chat.Job.Checkpoint = berth.ClassLatencyCritical, berth.Checkpoint{}
	chat.Job.Service = &berth.Service{Replicas: 3, Surge: 1}
	mustApply(sched, morning, chat)
	pass(sched, morning)
	mustApply(sched, morning.Add(berth.Second), berth.NodeDraining{Node: "n1", Reason: "firmware"})
	for now := morning.Add(berth.Second); now <= morning.Add(2*berth.Second); now = now.Add(berth.Second) {
		pass(sched, now)
		running := 0
		status, _ := sched.Job("chat")
		for _, r := range status.Replicas {
			if r.State == berth.ReplicaRunning {
				running++
			}
		}
		fmt.Printf("%v: %d run\n", now.Sub(morning), running)
	}
	// Output:
	// 0s: bind chat n1[0-7] (fits)
	// 0s: bind chat n2[0-7] (fits)
	// 0s: bind chat n3[0-7] (fits)
	// 1s: bind chat n4[0-7] (surge)
	// 1s: 3 run
	// 2s: release chat (surge)
	// 2s: 3 run
}

// A leaf switch loses half of its bandwidth. A gang of two nodes goes to those behind another,
// though their names sort last. A gang of one node uses no switch, and is placed as before.
func Example_fabric() {
	sched := newExample()
	for _, id := range []berth.NodeID{"o1", "o2"} {
		joins := hgx(id).(berth.NodeJoined)
		joins.Node.Domains = []string{"leaf-1"}
		mustApply(sched, morning, joins)
	}
	mustApply(
		sched, morning, berth.FabricReported{Domain: []string{"leaf-0"}, LeftMilli: 500, Reason: "4 of 8 uplinks are down"},
		training("pair", 2), training("single", 1),
	)
	pass(sched, morning)
	for _, f := range sched.Report().Fabric {
		fmt.Printf("%v has %d of 1000 left: %s\n", f.Domain, f.LeftMilli, f.Reason)
	}
	// Output:
	// 0s: bind pair o1[0-7] o2[0-7] (fits)
	// 0s: bind single n1[0-7] (fits)
	// [leaf-0] has 500 of 1000 left: 4 of 8 uplinks are down
}

// Gauges are read off a Report, counters off its Totals, which count since the core was made and
// are in its snapshots. A pool of many thousand nodes is asked every ten seconds or so, and not in
// every pass. Package metrics of the module etcd has all of them for Prometheus.
func Example_metrics() {
	sched := newExample()
	mustApply(sched, morning, training("llm", 1))
	mustApply(sched, morning, training("waits", 2))
	pass(sched, morning)
	report := sched.Report()
	for _, p := range report.Products {
		fmt.Printf("gpus{product=%q,state=\"held\"} %g\n", p.Product, float64(p.HeldMilli)/1000)
		fmt.Printf("gpus{product=%q,state=\"free\"} %g\n", p.Product, float64(p.FreeMilli)/1000)
	}
	for _, q := range report.Queues {
		fmt.Printf("waiting_replicas{queue=%q} %d\n", q.Queue, q.WaitingReplicas)
	}
	fmt.Println("binds_total", report.Totals.Binds)
	// Output:
	// 0s: bind llm n1[0-7] (fits)
	// gpus{product="H100-80GB",state="held"} 8
	// gpus{product="H100-80GB",state="free"} 8
	// waiting_replicas{queue="research"} 1
	// binds_total 1
}

// A pool that may be repartitioned divides a GPU for a member that asks for an instance. The
// Bind lists the Repartition in After: carry that out first.
func Example_divideGPUs() {
	sched := newExample()
	adaptive := berth.Geometry{Kind: berth.GeometryAdaptive, Cost: berth.Second}
	mustApply(
		sched, morning, berth.PolicyChanged{Policy: berth.Policy{Geometry: []berth.Geometry{adaptive}}},
		berth.JobSubmitted{Job: berth.Job{
			ID: "notebook", Queue: "research",
			Groups: []berth.Group{{Members: 1, Claim: berth.MIGInstance("3g.40gb")}},
		}},
	)
	wake := morning
	for range 3 {
		orders, err := sched.Schedule(wake)
		if err != nil {
			panic(err)
		}
		for _, order := range orders {
			switch o := order.(type) {
			case berth.Repartition:
				fmt.Println("order", o.ID, "divides GPU", o.GPU, "of", o.Node, "into", o.Create)
			case berth.Bind:
				fmt.Println("order", o.ID, "starts", o.Job, "in", o.Members[0].Instance, "after", o.After)
			}
		}
		wake, _ = sched.NextWake() // the change pays once the wait has cost as much
	}
	// Output:
	// order 1 divides GPU 0 of n1 into [3g.40gb@0:4 3g.40gb@4:4]
	// order 2 starts notebook in 3g.40gb@4:4 after [1]
}

// Eight GPUs are set aside for a queue in advance. A job that would run into that time stays off
// them; one that ends before is backfilled.
func Example_reserve() {
	sched := newExample()
	noon := morning.Add(3 * berth.Hour)
	mustApply(
		sched, morning, berth.QueueSet{Queue: quota.Queue{Name: "demo"}},
		berth.ReservationSet{Reservation: berth.Reservation{
			ID: "launch", From: noon, Until: noon.Add(2 * berth.Hour), Queue: "demo", GPUs: 8,
		}},
	)
	long, longer, short := training("long", 1), training("longer", 1), training("short", 1)
	long.Job.ExpectedRuntime, longer.Job.ExpectedRuntime = berth.Day, berth.Day
	short.Job.ExpectedRuntime = berth.Hour
	mustApply(sched, morning, long, longer)
	pass(sched, morning)
	mustApply(sched, morning, short)
	pass(sched, morning)
	why, err := sched.Explain("longer")
	if err != nil {
		panic(err)
	}
	fmt.Println("longer waits:", why.Replicas[0].Reason.Code)
	// Output:
	// 0s: bind long n2[0-7] (fits)
	// 0s: bind short n1[0-7] (fits)
	// longer waits: gpus
}

// A node is empty when a maintenance window begins: what runs there leaves just in time.
func Example_clear() {
	sched := newExample()
	mustApply(sched, morning, training("llm", 1))
	pass(sched, morning)
	ten := morning.Add(berth.Hour)
	mustApply(sched, morning, berth.ReservationSet{Reservation: berth.Reservation{
		ID: "firmware", From: ten, Until: ten.Add(berth.Hour), Nodes: []berth.NodeID{"n1"}, Clear: true,
	}})
	pass(sched, morning)
	llm, err := sched.Explain("llm")
	if err != nil {
		panic(err)
	}
	fmt.Println("llm leaves n1 by", llm.Replicas[0].Departure.Deadline.Sub(morning))
	for range 3 {
		now, _ := sched.NextWake()
		pass(sched, now)
		fmt.Println("still on n1:", sched.Report().Reservations[0].Conflicts)
	}
	// Output:
	// 0s: bind llm n1[0-7] (fits)
	// llm leaves n1 by 59m0s
	// 54m0s: requestCheckpoint llm (drained)
	// still on n1: [llm]
	// 54m0s: release llm (drained)
	// still on n1: []
	// 54m0s: bind llm n2[0-7] (resumed)
	// still on n1: []
}

// A core that starts without a snapshot is told what runs, and Diff names what it and the
// world still disagree about.
func Example_adopt() {
	sched := newExample()
	place := berth.MemberPlacement{Node: "n1", GPUs: berth.GPUSetOf(0, 1, 2, 3, 4, 5, 6, 7)}
	mustApply(sched, morning.Add(5*berth.Second), berth.JobObserved{
		Job:     training("llm", 1).Job,
		Running: []berth.ObservedReplica{{Incarnation: 3, Started: morning, Members: []berth.MemberPlacement{place}}},
	})
	stray := berth.MemberPlacement{Node: "n2", GPUs: berth.GPUSetOf(0)}
	world := berth.World{
		Nodes: []berth.Node{{ID: "n1"}, {ID: "n2"}},
		Running: []berth.ObservedMember{
			{Job: "llm", Incarnation: 3, MemberPlacement: place},
			{Job: "debug", Incarnation: 1, MemberPlacement: stray},
		},
	}
	for _, d := range sched.Diff(world) {
		fmt.Println(d.Kind, d.Job)
	}
	// Output:
	// member-unknown debug
}

// A crash between an order and its report: the restored core gives the order again, under its
// old ID, to be carried out unless that was done.
func ExampleRestore() {
	sched := newExample()
	mustApply(sched, morning, training("llm", 1))
	if _, err := sched.Schedule(morning); err != nil {
		panic(err)
	}
	saved, err := sched.Snapshot()
	if err != nil {
		panic(err)
	}
	// The process dies here, and another begins.
	sched, err = core.Restore(saved)
	if err != nil {
		panic(err)
	}
	for _, order := range sched.Outstanding() {
		h := order.Header()
		fmt.Println("order", h.ID, order.Kind(), h.Job, "by", h.Deadline.Sub(morning))
	}
	// Output:
	// order 1 bind llm by 2m0s
}

// A clock gives instants that never go back. Between restarts it follows the monotonic clock of
// the process, so that a step of the machine's clock moves no deadline.
type clock struct {
	base  berth.Time
	since func() time.Duration
}

// newClock begins at the machine's time, unless that is behind the last instant of a
// restored core, or ahead of it by more than any outage lasts: a clock that is wrong would have
// all that is outstanding expire at once, and instants never go back.
func newClock(machine, last berth.Time, outage berth.Duration, since func() time.Duration) clock {
	base := max(machine, last)
	if last > 0 {
		base = min(base, last.Add(outage))
	}
	return clock{base, since}
}

func (c clock) now() berth.Time { return c.base.Add(berth.DurationOf(c.since())) }

// Instants come from a clock that the machine can neither set back nor ahead by years.
func Example_clock() {
	last := morning // Core.Now of a restored core
	for _, machine := range []berth.Time{last.Add(-berth.Hour), last.Add(berth.Minute), last.Add(1000 * berth.Day)} {
		began := time.Now()
		c := newClock(machine, last, berth.Day, func() time.Duration { return time.Since(began).Truncate(time.Hour) })
		fmt.Println("machine", machine.Sub(last), "begin", c.now().Sub(last))
	}
	// Output:
	// machine -1h0m0s begin 0s
	// machine 1m0s begin 1m0s
	// machine 24000h0m0s begin 24h0m0s
}

// What hardware took stands in no order, if nothing of a gang is left: Lost hands it over, to be
// cleaned up before the orders of the next pass are carried out.
func ExampleCore_Lost() {
	sched := newExample()
	mustApply(sched, morning, training("llm", 1))
	pass(sched, morning)
	mustApply(sched, morning.Add(berth.Second), berth.NodeLost{Node: "n1", Reason: "power"})
	for _, loss := range sched.Lost() {
		for _, m := range loss.Members {
			fmt.Printf("forget %s incarnation %d on %s: %s\n", loss.Job, loss.Incarnation, m.Node, loss.Cause.Detail)
		}
	}
	pass(sched, morning.Add(berth.Second))
	// Output:
	// 0s: bind llm n1[0-7] (fits)
	// forget llm incarnation 1 on n1: node n1 lost: power
	// 1s: bind llm n2[0-7] (fits)
}

// The core is the database: what runs where is asked of it.
func ExampleCore_Running() {
	sched := newExample()
	mustApply(sched, morning, training("llm", 2))
	pass(sched, morning)
	for m := range sched.Running() {
		fmt.Println(m.Job, m.Index, "on", m.Node, m.GPUs)
	}
	node, _ := sched.Node("n2")
	job, _ := sched.Job("llm")
	fmt.Println(len(node.Members), "member on n2;", job.Job.ID, "is", job.Replicas[0].State)
	// Output:
	// 0s: bind llm n1[0-7] n2[0-7] (fits)
	// llm 0 on n1 0-7
	// llm 1 on n2 0-7
	// 1 member on n2; llm is running
}

// Each difference carries the event that settles it, if an event can.
func ExampleCore_Diff() {
	sched := newExample()
	world := berth.World{Nodes: []berth.Node{{ID: "n1"}}}
	for _, d := range sched.Diff(world) {
		fmt.Println(d.Text)
		mustApply(sched, morning.Add(berth.Second), d.Event)
	}
	fmt.Println(len(sched.Diff(world)), "left")
	// Output:
	// node n2 is in the core's fleet, but was not observed
	// 0 left
}

// A client that submits a job again, because it missed the answer, is told from one that takes
// the ID of another.
func ExampleCore_Apply_again() {
	sched := newExample()
	mustApply(sched, morning, training("llm", 1))
	err := sched.Apply(morning, training("llm", 1))
	fmt.Println(errors.Is(err, berth.ErrRepeated), err)
	err = sched.Apply(morning, training("llm", 2))
	fmt.Println(errors.Is(err, berth.ErrRepeated), err)
	// Output:
	// true berth: jobSubmitted: job.id: job "llm" is known already, and is the same
	// false berth: jobSubmitted: job.id: job "llm" is known already, and is another
}

// A broken is a scheduler whose books are wrong.
type broken struct{ berth.Scheduler }

func (broken) Apply(berth.Time, berth.Event) error {
	panic(&berth.BrokenInvariant{Err: errors.New("node 7 is not there")})
}

// guarded tells an event. If the core finds that its own books are wrong, it is thrown away for
// one that is restored from the last snapshot, without that event.
func guarded(sched berth.Scheduler, saved []byte, now berth.Time, e berth.Event) (next berth.Scheduler, err error) {
	defer func() {
		switch failure := recover().(type) {
		case nil:
		case *berth.BrokenInvariant:
			fmt.Println(failure)
			next, err = core.Restore(saved) // and the log since then, in a real orchestrator
		default:
			panic(failure)
		}
	}()
	return sched, sched.Apply(now, e)
}

// A core that panics is not used again.
func Example_brokenInvariant() {
	saved, err := newExample().Snapshot()
	if err != nil {
		panic(err)
	}
	sched, err := guarded(broken{}, saved, morning, training("llm", 1))
	fmt.Println(len(sched.Report().NodesByFreeGPUs), err)
	// Output:
	// berth: broken invariant: node 7 is not there
	// 9 <nil>
}
