// Package week plays the jobs of a cluster that somebody has: Help tells of it.
package week

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/flagline"
	"github.com/berth-sched/berth/bench/recorded"
	"github.com/berth-sched/berth/bench/report"
	"github.com/berth-sched/berth/bench/study"
)

// Help says what the experiment does, what it reads, and what it does not tell.
const Help = `week plays the GPU jobs that a cluster of yours ran, under FIFO, EASY backfill and berth, and tells which
would have waited for how long: by size, account and partition, against the waits of the file and the
share of each account, and which accounts would be worse off. Nothing leaves this machine.

With Slurm, three commands; -nodes, -topology and -shares are optional:

  sacct --allusers --allocations --duplicates --parsable2 --starttime now-7days --format JobID,Account,\
    Partition,QOS,Submit,Eligible,Start,End,Elapsed,Suspended,Timelimit,State,ReqTRES,AllocTRES,NNodes > jobs.txt
  scontrol show node > nodes.txt
  berthbench week -jobs jobs.txt -nodes nodes.txt -html week.html

  -jobs      what sacct wrote with --parsable2 (columns in any order; JobID, Submit, Account or
             Partition, Elapsed or Start and End, ReqTRES or AllocTRES are needed), a log in the
             Standard Workload Format, of which the queue is taken for the account, or what
             "kubectl get nodes,pods,resourceslices,resourceclaims -A -o json" printed (the last two
             only where GPUs are given by claims)
  -nodes     what "scontrol show node" printed
  -topology  topology.conf or topology.yaml, as Slurm reads it
  -shares    what "sshare --all --parsable" printed, or lines such as physics|40 under the header
             Account|Shares: each account is guaranteed its share. Without, the share of an
             account is its part of the GPU-hours, and a weight alone
  -qos       what "sacctmgr show qos --parsable2 format=Name,Priority" printed: a job has the priority
             of its QOS, as with a PriorityWeightQOS that outweighs the rest; EASY and berth go by it,
             berth among jobs of one account. Without, no job comes before another by itself

What is not read, or counts as something that it was not, is told once for each reason, with the first
of its lines. Files may be compressed with gzip. A line that cannot be read ends the reading with an error that
has its number: mend it, or take it out. Without -nodes the fleet is as large as the most that the file
itself held at an instant, in nodes of -node-gpus; -gpus says another size.

What it cannot tell, as no such file does: failures; limits other than those stated; dependencies,
reservations, licences, and features that jobs asked for; priorities by age, size and partition; which jobs write checkpoints (-checkpoint
takes it that all do; without, what is evicted starts anew, and accounts are judged by berth without
evictions); what users would have submitted had they waited for less. Run times are those of
the file, whatever the placement. Only whole GPUs are played. A table says how much depends on the
limits. Without stated limits every scheduler knows the run times.

`

// Options say what is played.
type Options struct {
	study.Output
	Jobs, Nodes, Topology, Shares    string
	QOS                              string
	GPUs, NodeGPUs, ProcessorsPerGPU int
	Checkpoint                       time.Duration
	HTML                             string
}

// Defaults are the options that berthbench has by default, but for the files.
func Defaults() Options { return Options{NodeGPUs: 8, ProcessorsPerGPU: 1} }

// Flags says what each option is.
func (o *Options) Flags(f *study.Flags) {
	f.File(&o.Jobs, "jobs", "a file of sacct, in the Standard Workload Format, or of kubectl", "-h has the commands")
	f.Text(&o.Nodes, "nodes", `the nodes: what "scontrol show node" printed`)
	f.Text(&o.Topology, "topology", "topology.conf or topology.yaml of Slurm")
	f.Text(&o.Shares, "shares", `the shares of accounts: what "sshare --all --parsable" printed`)
	f.Text(&o.QOS, "qos", `the priorities of QOS: what "sacctmgr show qos --parsable2 format=Name,Priority" printed`)
	f.Int(&o.GPUs, "gpus", 0, 1<<17, "GPUs of the fleet without -nodes; 0: as many as the file itself held")
	f.Int(&o.NodeGPUs, "node-gpus", 1, berth.MaxGPUs, "GPUs of a node without -nodes")
	f.Int(&o.ProcessorsPerGPU, "processors-per-gpu", 1, 4096, "processors of a log in the Standard Workload Format that count as a GPU")
	f.Time(&o.Checkpoint, "checkpoint", 0, 4*time.Minute, "how long every job takes to write a checkpoint when it is asked; 0: none can, and what is evicted starts anew")
	f.HTML(&o.HTML)
	f.Refuse(func() error {
		if o.Nodes != "" && o.GPUs != 0 {
			return flagline.Misused("-gpus and -nodes exclude each other: both say what the fleet is")
		}
		return nil
	})
}

// An experiment is what the files hold, and what is made of it.
type experiment struct {
	options Options
	*recorded.Week
}

// load opens the files.
func load(o Options) (*experiment, error) {
	from := recorded.Options{GPUs: o.GPUs, NodeGPUs: o.NodeGPUs, ProcessorsPerGPU: o.ProcessorsPerGPU}
	for _, f := range []struct {
		name string
		to   *recorded.File
	}{{o.Jobs, &from.Jobs}, {o.Nodes, &from.Nodes}, {o.Topology, &from.Topology}, {o.Shares, &from.Shares}, {o.QOS, &from.QOS}} {
		if f.name == "" {
			continue
		}
		file, err := os.Open(f.name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		*f.to = recorded.File{Name: f.name, Data: file}
	}
	w, err := recorded.Read(from)
	if errors.Is(err, recorded.ErrFleet) {
		return nil, flagline.Misused("%v", err)
	}
	return &experiment{o, w}, err
}

// Run makes the experiment, which Help describes, and writes its results to w.
func Run(ctx context.Context, o Options, w io.Writer) error {
	if err := study.Check(&o); err != nil {
		return err
	}
	b, err := load(o)
	if err != nil {
		return err
	}
	out := o.To(w)
	if err := b.reportDemand(out); err != nil {
		return err
	}
	if len(b.Jobs) == 0 {
		return errors.New("no job is left to be played")
	}
	runs, err := b.play(ctx)
	if err != nil {
		return err
	}
	return errors.Join(b.report(out, runs), study.WritePage(o.HTML, func(w io.Writer) error { return report.WriteLines(w, b.page(runs)) }))
}
