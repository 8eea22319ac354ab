package week

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/quota"
	"github.com/berth-sched/berth/topology/fabric"
)

// An experiment is what the files hold, and can be played.
type experiment struct {
	Options
	*source
	levels []string
	nodes  []berth.Node
	// fleetSays is where the fleet is from, and sharesSay where the shares are.
	fleetSays, sharesSay string
	// shares of the accounts that have jobs, in GPUs, in order of name.
	shares []share
	// length is to the last end of a job, as the file tells it, but no more than a day after the last
	// submission: jobs that run on alone say nothing about a fleet.
	length berth.Duration
	// limits: some job states one.
	limits bool
}

type share struct {
	account berth.QueueID
	gpus    float64
}

// longest bounds how far jobs may be apart: a year has other seasons, and a typing error in a
// date makes a century.
const longest = 366 * berth.Day

func load(o Options) (*experiment, error) {
	b := &experiment{Options: o}
	var err error
	if o.Nodes != "" {
		if b.nodes, err = workload.SlurmNodes(o.Nodes); err != nil {
			return nil, err
		}
		b.fleetSays = "as -nodes has it"
	}
	if b.source, err = readJobs(&o, b.nodes); err != nil {
		return nil, err
	}
	if len(b.jobs) == 0 {
		return b, nil
	}
	slices.SortStableFunc(b.jobs, func(a, b job) int { return cmp.Compare(a.At, b.At) })
	first := b.jobs[0].At
	for i := range b.jobs {
		b.jobs[i].At -= first
		b.limits = b.limits || b.jobs[i].spec.ExpectedRuntime > 0
		b.length = max(b.length, b.jobs[i].ended().Sub(0))
	}
	b.length = min(b.length, b.jobs[len(b.jobs)-1].At.Sub(0)+berth.Day)
	if b.length > longest {
		return nil, fmt.Errorf("%s: jobs are %d days apart: a year is the most", o.Jobs, b.length/berth.Day)
	}
	if err := errors.Join(b.setFleet(), b.setTopology()); err != nil {
		return nil, err
	}
	b.checkFit()
	return b, b.setShares()
}

// setFleet takes the nodes that were told, or makes some.
func (b *experiment) setFleet() error {
	if b.nodes == nil && b.source.nodes != nil {
		b.nodes, b.fleetSays = b.source.nodes, "as the dump has it"
	}
	if b.nodes != nil {
		b.nodes = slices.DeleteFunc(b.nodes, func(n berth.Node) bool { return len(n.GPUs) == 0 })
		for i := range b.nodes {
			b.nodes[i].CPUMilli, b.nodes[i].MemoryMiB = 0, 0 // GPUs alone are played
		}
		if len(b.nodes) == 0 {
			return study.Misused("-nodes: no node has whole GPUs")
		}
		return nil
	}
	gpus := b.GPUs
	b.fleetSays = "as -gpus says"
	if gpus == 0 {
		gpus = b.peak()
		b.fleetSays = "the most that the file itself held at an instant; -nodes or -gpus says better"
	}
	if gpus == 0 {
		return study.Misused("-nodes or -gpus has to say what the fleet is: the file does not tell when jobs started")
	}
	for i := range (gpus + b.NodeGPUs - 1) / b.NodeGPUs {
		b.nodes = append(b.nodes, berth.Node{ID: berth.NodeID(fmt.Sprintf("node-%05d", i)), GPUs: slices.Repeat([]berth.GPU{{Product: "gpu"}}, b.NodeGPUs)})
	}
	for i := range b.jobs { // which products and partitions these have is not known
		for g := range b.jobs[i].spec.Groups {
			b.jobs[i].spec.Groups[g].Selector = berth.Selector{}
		}
	}
	return nil
}

// peak is the most GPUs that ran at an instant, as the file tells it.
func (b *experiment) peak() (most int) {
	type change struct {
		at   berth.Time
		gpus int
	}
	var list []change
	for i := range b.jobs {
		if j := &b.jobs[i]; j.wait != unset {
			start := j.At.Add(j.wait)
			list = append(list, change{start, j.gpus}, change{start.Add(j.Runtime), -j.gpus})
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

// setTopology puts the nodes where the topology says, and asks gangs to keep together.
func (b *experiment) setTopology() error {
	if b.Topology == "" {
		return nil
	}
	f, err := os.Open(b.Topology)
	if err != nil {
		return err
	}
	defer f.Close()
	read, err := fabric.ReadSlurmConf(b.Topology, f)
	if err != nil {
		return err
	}
	places := map[string][]string{}
	for _, n := range read.Nodes {
		places[n.Name] = n.Path
	}
	for i := range b.nodes {
		n := &b.nodes[i]
		if n.Domains = places[string(n.ID)]; n.Domains == nil {
			return study.Misused("-topology: %s says nothing of node %q", b.Topology, n.ID)
		}
	}
	b.levels = read.Levels
	for i := range b.jobs {
		if s := &b.jobs[i].spec; len(b.levels) > 0 && (len(s.Groups) > 1 || s.Groups[0].Members > 1) {
			s.Topology.Preferred = b.levels[len(b.levels)-1]
		}
	}
	return nil
}

// checkFit leaves out the jobs that cannot have run on this fleet: FIFO would wait for them for
// ever.
func (b *experiment) checkFit() {
	known, all := map[string]bool{}, 0
	for i := range b.nodes {
		all += len(b.nodes[i].GPUs)
	}
	kept := b.jobs[:0]
	for i := range b.jobs {
		j := &b.jobs[i]
		if s := &j.spec.Groups[0].Selector; b.Nodes != "" && j.partition != "" {
			s.Pools = nil
			for name := range strings.SplitSeq(j.partition, ",") {
				s.Pools = append(s.Pools, workload.PoolsOf(b.nodes, name)...)
			}
			if s.Pools == nil {
				b.marks.add("is of a partition that no node with GPUs is in: played on any node", j.line)
			}
		}
		for g := range j.spec.Groups {
			j.spec.Groups[g].Selector = j.spec.Groups[0].Selector
			j.spec.Groups[g].Claim.CPUMilli, j.spec.Groups[g].Claim.MemoryMiB = 0, 0
		}
		key := fmt.Sprint(j.spec.Groups)
		fits, seen := known[key]
		if !seen {
			fits = b.fits(&j.spec)
			known[key] = fits
		}
		switch {
		case fits:
			kept = append(kept, *j)
		case j.gpus > all:
			b.left.add(fmt.Sprintf("cannot have run: more GPUs than the %d of the fleet", all), j.line)
		default:
			b.left.add("cannot have run: no nodes of the fleet are as it asks (GPUs a node, product, partition)", j.line)
		}
	}
	b.jobs = slices.Clip(kept)
}

// fits reports whether an empty fleet has room for all members, the largest first.
func (b *experiment) fits(spec *berth.Job) bool {
	s := &spec.Groups[0].Selector
	var free []int
	for i := range b.nodes {
		n := &b.nodes[i]
		if (len(s.Pools) == 0 || slices.Contains(s.Pools, n.Pool)) && (len(s.Products) == 0 || slices.Contains(s.Products, n.GPUs[0].Product)) {
			free = append(free, len(n.GPUs))
		}
	}
	groups := slices.SortedFunc(slices.Values(spec.Groups), func(a, b berth.Group) int { return cmp.Compare(b.Claim.GPUs, a.Claim.GPUs) })
	for _, g := range groups {
		left := g.Members
		for i := range free {
			here := min(left, free[i]/g.Claim.GPUs)
			left, free[i] = left-here, free[i]-here*g.Claim.GPUs
		}
		if left > 0 {
			return false
		}
	}
	return true
}

func (b *experiment) gpus() (sum int) {
	for i := range b.nodes {
		sum += len(b.nodes[i].GPUs)
	}
	return sum
}

// setShares divides the fleet among the accounts that have jobs.
func (b *experiment) setShares() error {
	parts := map[berth.QueueID]float64{}
	for i := range b.jobs {
		parts[b.jobs[i].spec.Queue] += float64(b.jobs[i].gpus) * float64(b.jobs[i].Runtime)
	}
	b.sharesSay = "its part of the GPU-hours of the file; -shares says better"
	if b.Shares != "" {
		b.sharesSay = "that of -shares; an account that is not there has none"
		f, err := os.Open(b.Shares)
		if err != nil {
			return err
		}
		defer f.Close()
		told, err := readShares(b.Shares, f)
		if err != nil {
			return err
		}
		for account := range parts {
			parts[account] = told[account]
		}
	}
	sum := 0.0
	for _, account := range slices.Sorted(maps.Keys(parts)) {
		sum += parts[account]
		b.shares = append(b.shares, share{account, parts[account]})
	}
	for i := range b.shares {
		b.shares[i].gpus *= float64(b.gpus()) / max(sum, 1)
	}
	return nil
}

// queues are the accounts with their shares as guarantees and weights.
func (b *experiment) queues() (list []quota.Queue) {
	for _, s := range b.shares {
		list = append(list, quota.Queue{
			Name: string(s.account), Weight: max(1, int64(s.gpus*1000)),
			Guarantee: quota.Amounts{quota.GPUMilli: int64(s.gpus) * 1000},
		})
	}
	return list
}

// maxShare bounds the share of an account.
const maxShare = 1 << 40

// readShares reads columns parted by "|" under a header: Account, and RawShares as sshare writes it
// or Shares. The rows of users are passed over, and so is "parent". The columns are those of
// sshare(1), https://slurm.schedmd.com/sshare.html.
func readShares(file string, r io.Reader) (map[berth.QueueID]float64, error) {
	in := bufio.NewScanner(r)
	shares, line := map[berth.QueueID]float64{}, 0
	fail := func(column int, field, format string, args ...any) error {
		return &workload.TraceError{File: file, Line: line, Column: column, Field: field, Kind: workload.ErrValue, Reason: fmt.Sprintf(format, args...)}
	}
	var account, user, amount int
	for in.Scan() {
		line++
		if strings.TrimSpace(in.Text()) == "" {
			continue
		}
		cells := strings.Split(in.Text(), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if len(shares) == 0 && slices.Contains(cells, "Account") {
			account, user = slices.Index(cells, "Account"), slices.Index(cells, "User")
			amount = max(slices.Index(cells, "RawShares"), slices.Index(cells, "Shares"))
			if amount < 0 {
				return nil, fail(0, "", `there is no column "RawShares" or "Shares"`)
			}
			continue
		}
		switch {
		case amount == account:
			return nil, fail(0, "", `there is no header with "Account" above`)
		case max(account, amount, user) >= len(cells):
			return nil, fail(0, "", "has %d columns", len(cells))
		case user >= 0 && cells[user] != "", cells[amount] == "parent", cells[amount] == "":
			continue
		}
		column := 1 + len(strings.Join(strings.Split(in.Text(), "|")[:amount], "|")) + min(amount, 1)
		v, err := strconv.ParseFloat(cells[amount], 64)
		if err != nil || !(v >= 0 && v <= maxShare) {
			return nil, fail(column, "share", "%.80q is no number of 0 to %d", cells[amount], int64(maxShare))
		}
		id := berth.QueueID(cells[account])
		if _, twice := shares[id]; twice {
			return nil, fail(column, "share", "account %.80q has two", id)
		}
		shares[id] = v
	}
	if err := in.Err(); err != nil {
		line++
		return nil, fail(0, "", "%v", err)
	}
	if len(shares) == 0 {
		return nil, fail(0, "", "there is no account with a share")
	}
	return shares, nil
}
