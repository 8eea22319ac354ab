// Package recorded reads the records of a real cluster: the jobs that it ran, its nodes, its
// network and the shares of its accounts, in the files that Slurm and Kubernetes write. The result
// is a workload to be played (bench/experiments/week, examples/lab). Jobs that cannot be played are
// counted by reason, with the line of the first.
package recorded

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/input"
	"github.com/berth-sched/berth/quota"
	"github.com/berth-sched/berth/topology/fabric"
)

// A File is a text with its name, for errors. Without Data there is none. It may be compressed with
// gzip.
type File struct {
	Name string
	Data io.Reader
}

func (f *File) given() bool { return f.Data != nil }

// Options say what is read; all but Jobs may be missing.
type Options struct {
	// Jobs is what sacct wrote, a log in the Standard Workload Format, or a dump of kubectl.
	Jobs File
	// Nodes is what "scontrol show node" printed, Topology a topology.conf or, by its name, a
	// topology.yaml, Shares what "sshare --all --parsable" printed, QOS what "sacctmgr show qos
	// --parsable2 format=Name,Priority" did.
	Nodes, Topology, Shares, QOS File
	// GPUs of the fleet in nodes of NodeGPUs, without Nodes. Zero: as many as the file held.
	GPUs, NodeGPUs int
	// ProcessorsPerGPU of a log in the Standard Workload Format.
	ProcessorsPerGPU int
}

// ErrFleet is the error of files that do not go together, or do not say what the fleet is.
var ErrFleet = errors.New("the files do not tell what can be played")

func mismatch(format string, args ...any) error {
	return &fleetError{fmt.Sprintf(format, args...)}
}

type fleetError struct{ text string }

func (e *fleetError) Error() string        { return e.text }
func (e *fleetError) Is(target error) bool { return target == ErrFleet }

// A Week is the workload in the files, and the fleet to play it on.
type Week struct {
	source
	Levels []string
	Nodes  []berth.Node
	// FleetSays is where the fleet is from, and SharesSay where the shares are.
	FleetSays, SharesSay string
	// Shares of the accounts that have jobs, in GPUs, in order of name; Guaranteed: a file states
	// them.
	Shares     []Share
	Guaranteed bool
	// Length is to the last end of a job, as the file tells it, but no more than a day after the
	// last submission: jobs that run on alone say nothing about a fleet.
	Length berth.Duration
	// From is when the first job ended. Of the jobs that came before, such a file has those alone
	// that had not ended when it begins, so their waits say nothing. Zero where that would be more
	// than half of the jobs. Before counts them.
	From   berth.Time
	Before int
	// Limits: some job states one.
	Limits bool
}

// A Share is an account's.
type Share struct {
	Account berth.QueueID
	GPUs    float64
}

// longest bounds how far jobs may be apart: a year has other seasons, and a typing error in a
// date makes a century.
const longest = 366 * berth.Day

// Read reads all files. A Week without jobs has nothing else either.
func Read(o Options) (*Week, error) {
	b := &Week{}
	var skipped []workload.Skip
	var err error
	if o.Nodes.given() {
		if b.Nodes, skipped, err = workload.ReadSlurmNodes(o.Nodes.Name, o.Nodes.Data); err != nil {
			return nil, err
		}
		if b.Nodes = withGPUs(b.Nodes); len(b.Nodes) == 0 {
			return nil, mismatch("no node of %s has whole GPUs", o.Nodes.Name)
		}
		b.FleetSays = "as " + o.Nodes.Name + " has it"
	}
	jobs, err := readJobs(&o, b.Nodes)
	if err != nil {
		return nil, err
	}
	b.source = *jobs
	b.Skipped = append(b.Skipped, skipped...)
	if len(b.Jobs) == 0 {
		return b, nil
	}
	slices.SortStableFunc(b.Jobs, func(a, b Job) int { return cmp.Compare(a.At, b.At) })
	first := b.Jobs[0].At
	b.From = max(b.firstEnd-first, 0)
	for i := range b.Jobs {
		b.Jobs[i].At -= first
		b.Limits = b.Limits || b.Jobs[i].Spec.ExpectedRuntime > 0
		b.Length = max(b.Length, b.Jobs[i].ended().Sub(0))
	}
	b.Length = min(b.Length, b.Jobs[len(b.Jobs)-1].At.Sub(0)+berth.Day)
	if b.Length > longest {
		return nil, fmt.Errorf("%s: jobs are %d days apart: a year is the most", o.Jobs.Name, b.Length/berth.Day)
	}
	if err := errors.Join(b.setFleet(&o), b.setTopology(&o.Topology)); err != nil {
		return nil, err
	}
	b.checkFit()
	if err := b.setPriorities(&o.QOS); err != nil {
		return nil, err
	}
	b.Before, _ = slices.BinarySearchFunc(b.Jobs, b.From, func(j Job, from berth.Time) int { return cmp.Compare(j.At, from) })
	if 2*b.Before > len(b.Jobs) {
		b.From, b.Before = 0, 0
	}
	return b, b.setShares(&o.Shares)
}

// withGPUs are the nodes that have some, without what is not played.
func withGPUs(nodes []berth.Node) []berth.Node {
	nodes = slices.DeleteFunc(nodes, func(n berth.Node) bool { return len(n.GPUs) == 0 })
	for i := range nodes {
		nodes[i].CPUMilli, nodes[i].MemoryMiB = 0, 0
	}
	return nodes
}

// setFleet takes the nodes that were told, or makes some.
func (b *Week) setFleet(o *Options) error {
	if b.Nodes == nil && b.source.nodes != nil {
		b.Nodes, b.FleetSays = b.source.nodes, "as the dump has it"
	}
	if b.Nodes != nil {
		return nil
	}
	gpus := o.GPUs
	b.FleetSays = "as -gpus says"
	if gpus%o.NodeGPUs != 0 {
		b.FleetSays = fmt.Sprintf("the %d of -gpus in whole nodes of %d", gpus, o.NodeGPUs)
	}
	if gpus == 0 {
		gpus = b.Peak()
		b.FleetSays = "the most that the file itself held at an instant, in whole nodes; the nodes (-nodes) or their number (-gpus) say better"
	}
	if gpus == 0 {
		return mismatch("-nodes or -gpus has to say what the fleet is: the file does not tell when jobs started")
	}
	for i := range (gpus + o.NodeGPUs - 1) / o.NodeGPUs {
		b.Nodes = append(b.Nodes, berth.Node{ID: berth.NodeID(fmt.Sprintf("node-%05d", i)), GPUs: slices.Repeat([]berth.GPU{{Product: "gpu"}}, o.NodeGPUs)})
	}
	for i := range b.Jobs { // which products and partitions these have is not known
		for g := range b.Jobs[i].Spec.Groups {
			b.Jobs[i].Spec.Groups[g].Selector = berth.Selector{}
		}
	}
	return nil
}

// Peak is the most GPUs that ran at an instant, as the file tells it.
func (b *Week) Peak() (most int) {
	type change struct {
		at   berth.Time
		gpus int
	}
	var list []change
	for i := range b.Jobs {
		if j := &b.Jobs[i]; j.Wait != Unset {
			start := j.At.Add(j.Wait)
			list = append(list, change{start, j.GPUs}, change{start.Add(j.Runtime), -j.GPUs})
		}
	}
	slices.SortFunc(list, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.gpus, b.gpus)) })
	now := 0
	for _, c := range list {
		now += c.gpus
		most = max(most, now)
	}
	return most
}

// ReadTopology reads a topology.conf of Slurm or, by its name, a topology.yaml.
func ReadTopology(file File) (*fabric.Fabric, error) {
	text, err := input.Unzip(file.Data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file.Name, err)
	}
	switch path.Ext(strings.TrimSuffix(file.Name, ".gz")) {
	case ".yaml", ".yml":
		return fabric.ReadSlurmYAML(file.Name, text, "")
	}
	return fabric.ReadSlurmConf(file.Name, text)
}

// setTopology puts the nodes where the topology says, and asks gangs to keep together. No gang may
// span switches that no other joins.
func (b *Week) setTopology(file *File) error {
	if !file.given() {
		return nil
	}
	read, err := ReadTopology(*file)
	if err != nil {
		return err
	}
	places := map[string][]string{}
	for _, n := range read.Nodes {
		places[n.Name] = n.Path
	}
	for i := range b.Nodes {
		n := &b.Nodes[i]
		host, _, _ := strings.Cut(string(n.ID), workload.PartOf)
		if n.Domains = places[host]; n.Domains == nil {
			return mismatch("%s says nothing of node %q", file.Name, n.ID)
		}
	}
	b.Levels = read.Levels
	for i := range b.Jobs {
		if s := &b.Jobs[i].Spec; len(b.Levels) > 0 && (len(s.Groups) > 1 || s.Groups[0].Members > 1) {
			s.Topology.Preferred = b.Levels[len(b.Levels)-1]
			if read.Apart {
				s.Topology.Required = b.Levels[0]
			}
		}
	}
	return nil
}

// checkFit leaves out the jobs that cannot have run on this fleet: FIFO would wait for them for
// ever.
func (b *Week) checkFit() {
	known, all := map[string]bool{}, 0
	for i := range b.Nodes {
		all += len(b.Nodes[i].GPUs)
	}
	kept := b.Jobs[:0]
	for i := range b.Jobs {
		j := &b.Jobs[i]
		for g := range j.Spec.Groups {
			j.Spec.Groups[g].Claim.CPUMilli, j.Spec.Groups[g].Claim.MemoryMiB = 0, 0
		}
		key := fmt.Sprint(j.Spec.Topology.Required, j.Spec.Groups)
		fits, seen := known[key]
		if !seen {
			fits = b.fits(&j.Spec)
			known[key] = fits
		}
		switch {
		case fits:
			kept = append(kept, *j)
		case j.GPUs > all:
			b.skip(fmt.Sprintf("cannot have run: more GPUs than the %d of the fleet", all), j.Line)
		default:
			b.skip("cannot have run: no nodes of the fleet are as it asks (GPUs a node, product, partition)", j.Line)
		}
	}
	b.Jobs = slices.Clip(kept)
}

// fits reports whether an empty fleet has room for all members, in one of its widest domains where
// that is required.
func (b *Week) fits(spec *berth.Job) bool {
	domains := map[string][]*berth.Node{}
	for i := range b.Nodes {
		n, domain := &b.Nodes[i], ""
		if spec.Topology.Required != "" {
			domain = n.Domains[0]
		}
		domains[domain] = append(domains[domain], n)
	}
	for _, nodes := range domains {
		if fitNodes(spec, nodes) {
			return true
		}
	}
	return false
}

// fitNodes reports whether nodes have room for all members, the largest first.
func fitNodes(spec *berth.Job, nodes []*berth.Node) bool {
	free := make([]int, len(nodes))
	for i, n := range nodes {
		free[i] = len(n.GPUs)
	}
	groups := slices.SortedFunc(slices.Values(spec.Groups), func(a, b berth.Group) int { return cmp.Compare(b.Claim.GPUs, a.Claim.GPUs) })
	for _, g := range groups {
		left, s := g.Members, &g.Selector
		for i, n := range nodes {
			if len(s.Pools) > 0 && !slices.Contains(s.Pools, n.Pool) || len(s.Products) > 0 && !slices.Contains(s.Products, n.GPUs[0].Product) {
				continue
			}
			here := min(left, free[i]/g.Claim.GPUs)
			left, free[i] = left-here, free[i]-here*g.Claim.GPUs
		}
		if left > 0 {
			return false
		}
	}
	return true
}

// FleetGPUs are those of all nodes.
func (b *Week) FleetGPUs() (sum int) {
	for i := range b.Nodes {
		sum += len(b.Nodes[i].GPUs)
	}
	return sum
}

// setShares divides the fleet among the accounts that have jobs.
func (b *Week) setShares(file *File) error {
	parts := map[berth.QueueID]float64{}
	for i := range b.Jobs {
		parts[b.Jobs[i].Spec.Queue] += float64(b.Jobs[i].GPUs) * float64(b.Jobs[i].Runtime)
	}
	b.SharesSay = "its part of the GPU-hours of the file; -shares says better"
	if b.Guaranteed = file.given(); b.Guaranteed {
		b.SharesSay = "that of " + file.Name + "; an account that is not there has none"
		text, err := input.Unzip(file.Data)
		if err != nil {
			return fmt.Errorf("%s: %w", file.Name, err)
		}
		told, err := readShares(file.Name, text, &b.Skipped)
		if err != nil {
			return err
		}
		for _, account := range slices.Sorted(maps.Keys(parts)) {
			share, is := told[strings.ToLower(string(account))]
			if !is {
				b.Skipped.Add(file.Name, 0, fmt.Sprintf("there is no account %q: it has no share", errtext.Short(account)))
			}
			parts[account] = share
		}
	}
	sum := 0.0
	for _, account := range slices.Sorted(maps.Keys(parts)) {
		sum += parts[account]
		b.Shares = append(b.Shares, Share{account, parts[account]})
	}
	for i := range b.Shares {
		b.Shares[i].GPUs = part(b.Shares[i].GPUs, sum) * float64(b.FleetGPUs())
	}
	return nil
}

// Queues are the accounts, with their shares as weights. A share that a file states is guaranteed
// too; one that is made up from the jobs is not: a gang that is larger than a guarantee comes after
// all jobs that are within one.
func (b *Week) Queues() (list []quota.Queue) {
	for _, s := range b.Shares {
		q := quota.Queue{Name: berth.QueueID(s.Account), Weight: max(1, int64(s.GPUs*1000))}
		if b.Guaranteed {
			const less = 1e-6 // than a GPU: what division leaves of a whole number
			q.Guarantee = quota.Amounts{quota.GPUMilli: int64(s.GPUs+less) * 1000}
		}
		list = append(list, q)
	}
	return list
}
