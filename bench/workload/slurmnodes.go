package workload

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/skipped"
)

// ReadSlurmNodes reads the nodes of a Slurm cluster: what "scontrol show node" prints, a paragraph
// or, with --oneliner, a line for each, plain or compressed with gzip. File names it in errors.
//
//   - NodeName: the node. A list of hosts, as slurm.conf has, is refused.
//   - Gres: "gpu:a100:8(S:0-1)"; the type is the product, as Slurm spells it, or "gpu" without,
//     and flags such as no_consume are none. A node with GPUs of several types is told, and is a
//     node of each, "n1:a100" and "n1:h100": a node has one product. Other generic resources, and
//     MIG profiles as types, are passed over, and told.
//   - CPUTot, RealMemory in MiB: the host. Either may be missing.
//   - Partitions: together they are the pool, "debug,gpu"; see PoolsOf.
//
// Texts of the system or of people (OS, Reason, Comment, Extra) have the rest of their line or,
// with --oneliner, go on to the next field that scontrol has and the node has not had. Nodes
// without GPUs are listed, too. The state is not read: what is down today says nothing of the week
// of the jobs. Other fields of scontrol are passed over, and what is none of them is told. Errors
// are a *TraceError. O(nodes), all kept. The fields are those of scontrol(1),
// https://slurm.schedmd.com/scontrol.html.
func ReadSlurmNodes(file string, r io.Reader) ([]berth.Node, []Skip, error) {
	in, err := text(r)
	if err != nil {
		return nil, nil, noTable(file, err).err
	}
	s := slurmNodes{file: file, seen: map[berth.NodeID]bool{}, had: map[string]bool{}}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxRow)
	for lines.Scan() {
		s.line++
		s.bytes += len(lines.Bytes())
		if s.take(lines.Text()); s.err != nil {
			return nil, nil, s.err
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		err = &TraceError{File: file, Line: s.line + 1, Kind: ErrRow, Reason: errLong.Error()}
		return nil, nil, err
	case err != nil:
		return nil, nil, &TraceError{File: file, Line: s.line + 1, Kind: err, Reason: err.Error()}
	case len(s.nodes) == 0:
		return nil, nil, &TraceError{File: file, Line: 1, Kind: ErrHeader, Reason: noNodes}
	}
	s.finish()
	return s.parted(), s.skips, nil
}

// finish tells what scontrol tells of every node and of the last has not been told.
func (s *slurmNodes) finish() {
	for _, key := range []string{"Gres", "Partitions"} {
		if len(s.nodes) > 0 && !s.had[key] {
			s.skips.Add(s.file, s.line, fmt.Sprintf("a node above has no field %s", key))
		}
	}
}

// parted makes a node for each type of GPU of those that have several, with its part of the host.
func (s *slurmNodes) parted() (nodes []berth.Node) {
	if !slices.ContainsFunc(s.nodes, mixed) {
		return s.nodes
	}
	for _, n := range s.nodes {
		if !mixed(n) {
			nodes = append(nodes, n)
			continue
		}
		byType := slices.SortedStableFunc(slices.Values(n.GPUs), func(a, b berth.GPU) int { return strings.Compare(a.Product, b.Product) })
		for len(byType) > 0 {
			product := byType[0].Product
			count := len(byType)
			if end := slices.IndexFunc(byType, func(g berth.GPU) bool { return g.Product != product }); end > 0 {
				count = end
			}
			part := n
			part.ID = berth.NodeID(string(n.ID) + PartOf + product)
			part.GPUs = byType[:count:count]
			part.CPUMilli = n.CPUMilli * int64(count) / int64(len(n.GPUs))
			part.MemoryMiB = n.MemoryMiB * int64(count) / int64(len(n.GPUs))
			nodes, byType = append(nodes, part), byType[count:]
		}
	}
	return nodes
}

// mixed reports whether a node has GPUs of several types.
func mixed(n berth.Node) bool {
	return slices.ContainsFunc(n.GPUs, func(g berth.GPU) bool { return g.Product != n.GPUs[0].Product })
}

// PartOf parts the name of a node from the type of the GPUs that a part of it has.
const PartOf = ":"

const noNodes = `there is no "NodeName=" at the beginning: nodes are read from what "scontrol show node" prints`

// A GPU takes some 150 bytes, and a few bytes may ask for 64 of them: a list has freeGPUs, and
// another for each bytesPerGPU of its own.
const (
	freeGPUs    = 1 << 16
	bytesPerGPU = 8
)

type slurmNodes struct {
	file  string
	line  int
	bytes int
	gpus  int
	nodes []berth.Node
	seen  map[berth.NodeID]bool
	// had are the fields of the last node.
	had   map[string]bool
	skips skipped.List
	err   error
}

// take reads the fields of a line: words with "=" in them.
func (s *slurmNodes) take(line string) {
	for at := 0; at < len(line) && s.err == nil; {
		if line[at] == ' ' || line[at] == '\t' || line[at] == '\r' {
			at++
			continue
		}
		end := at + wordEnd(line[at:])
		key, value, is := strings.Cut(line[at:end], "=")
		switch {
		case is:
			s.field(at+1, key, value)
		case len(s.nodes) == 0:
			s.err = &TraceError{File: s.file, Line: s.line, Column: at + 1, Kind: ErrHeader, Reason: noNodes}
		default:
			s.skips.Add(s.file, s.line, fmt.Sprintf("%q is no field", errtext.Short(key)))
		}
		if is && (key == "OS" || key == "Reason" || key == "Comment" || key == "Extra") {
			end = s.textEnd(line, at, end)
		}
		at = end
	}
}

// wordEnd is where the first word of a line ends.
func wordEnd(line string) int {
	if end := strings.IndexAny(line, " \t\r"); end >= 0 {
		return end
	}
	return len(line)
}

// textEnd is where a text ends of which the first word is told: with its line where that begins
// with it, as in a paragraph, or else at the next field that the node has not had.
func (s *slurmNodes) textEnd(line string, begin, at int) int {
	if strings.TrimSpace(line[:begin]) == "" {
		return len(line)
	}
	for at < len(line) {
		end := at + wordEnd(line[at:])
		if key, _, is := strings.Cut(line[at:end], "="); is && !s.had[key] && nodeFields[key] {
			return at
		}
		at = end + 1
	}
	return len(line)
}

// nodeFields are those that scontrol prints of a node, 20.11 to 25.05.
var nodeFields = set(`NodeName Arch CoresPerSocket CPUAlloc CPUEfctv CPUErr CPUTot CPULoad AvailableFeatures
	ActiveFeatures Gres GresDrain GresUsed NodeAddr NodeHostName Port Version OS RealMemory AllocMem FreeMem Sockets
	Boards CoreSpecCount CPUSpecList MemSpecLimit State NextState ThreadsPerCore TmpDisk Weight Owner MCS_label
	Partitions BootTime SlurmdStartTime LastBusyTime ResumeAfterTime CfgTRES AllocTRES CapWatts CurrentWatts
	LowestJoules ConsumedJoules AveWatts ExtSensorsJoules ExtSensorsWatts ExtSensorsTemp Reason Comment Extra
	InstanceId InstanceType BcastAddr ReservationName Topology CertFlags GpuSpec ResCoresPerGPU Parameters
	DynamicNorm TLSCertLastRenewal CertLastRenewal`)

func set(words string) map[string]bool {
	of := map[string]bool{}
	for _, w := range strings.Fields(words) {
		of[w] = true
	}
	return of
}

func (s *slurmNodes) field(column int, key, value string) {
	refuse := func(reason string) {
		if s.err == nil {
			s.err = &TraceError{File: s.file, Line: s.line, Column: column, Field: key, Kind: ErrValue, Reason: reason}
		}
	}
	switch {
	case key == "NodeName":
		id := berth.NodeID(strings.Clone(value))
		switch {
		case value == "DEFAULT" || strings.ContainsAny(value, "[],"):
			refuse(fmt.Sprintf(`%q is a list of hosts, as slurm.conf and gres.conf have them: nodes are read from what "scontrol show node" prints`, clip(value)))
		case !isName(value) || s.seen[id]:
			refuse(fmt.Sprintf("%q is no name, or that of two nodes", clip(value)))
		}
		s.seen[id] = true
		s.finish()
		s.nodes = append(s.nodes, berth.Node{ID: id})
		clear(s.had)
		s.had[key] = true
		return
	case len(s.nodes) == 0:
		refuse(noNodes)
		return
	case s.had[key]:
		refuse("the node has it twice")
	case key == "PartitionName":
		refuse(`this is slurm.conf: nodes are read from what "scontrol show node" prints`)
	case !nodeFields[key]:
		s.skips.Add(s.file, s.line, fmt.Sprintf("%q is no field of scontrol", errtext.Short(key)))
		return
	}
	s.had[strings.Clone(key)] = true
	n := &s.nodes[len(s.nodes)-1]
	switch key {
	case "CPUTot", "RealMemory":
		v, err := strconv.ParseInt(value, 10, 64)
		if err != nil || v < 0 || v > maxValue/1000 {
			refuse(fmt.Sprintf("%q is no whole number of 0 to %d", clip(value), maxValue/1000))
		}
		if key == "CPUTot" {
			n.CPUMilli = v * 1000
		} else {
			n.MemoryMiB = v
		}
	case "Gres":
		before := len(n.GPUs)
		if reason := s.addGRES(n, value); reason != "" {
			refuse(reason)
		}
		if mixed(*n) {
			s.skips.Add(s.file, s.line, "a node that has GPUs of several types counts as a node of each")
		}
		if s.gpus += len(n.GPUs) - before; s.gpus > freeGPUs+s.bytes/bytesPerGPU && s.err == nil {
			s.err = &TraceError{
				File: s.file, Line: s.line, Column: column, Field: key, Kind: ErrLimit,
				Reason: fmt.Sprintf("the list has more than %d GPUs, and one for each %d of its bytes", freeGPUs, bytesPerGPU),
			}
		}
	case "Partitions":
		if value != "" && !isName(value) {
			refuse(fmt.Sprintf("%q is no name", clip(value)))
		}
		names := strings.Split(strings.Clone(value), ",")
		slices.Sort(names)
		n.Pool = strings.Join(names, ",")
	}
}

// addGRES adds the GPUs of a list such as gpu:a100:4(S:0),gpu:a100:4(S:1),mps:800. It returns what
// is wrong with it.
func (s *slurmNodes) addGRES(n *berth.Node, list string) string {
	depth := 0
	items := strings.FieldsFunc(list, func(r rune) bool { // commas, but for those in parentheses
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		}
		return r == ',' && depth == 0
	})
	for _, item := range items {
		item, _, _ = strings.Cut(item, "(")
		parts := strings.Split(item, ":")
		switch {
		case item == "" || strings.EqualFold(item, "N/A"): // (null)
			continue
		case !strings.EqualFold(parts[0], "gpu"):
			s.skips.Add(s.file, s.line, fmt.Sprintf("the generic resource %q is not read", errtext.Short(parts[0])))
			continue
		}
		count, product := 1, ""
		for i, part := range parts[1:] {
			number, err := strconv.Atoi(part)
			last := i == len(parts)-2
			switch {
			case last && err == nil && number >= 0 && number <= berth.MaxGPUs-len(n.GPUs):
				count = number
			case strings.EqualFold(part, "no_consume"):
			case product == "" && isName(part) && (err != nil || !last) && !(last && i > 0):
				product = strings.Clone(part)
			default:
				return fmt.Sprintf("%q is not of the form gpu:type:count, or has more than %d GPUs", clip(item), berth.MaxGPUs)
			}
		}
		switch {
		case isProfile(product[strings.LastIndexByte(product, '_')+1:]):
			s.skips.Add(s.file, s.line, "MIG instances are no whole GPUs")
		case count == 0:
		default:
			product = cmp.Or(product, "gpu")
			for _, gpu := range n.GPUs {
				if strings.EqualFold(gpu.Product, product) {
					product = gpu.Product
				}
			}
			gpus := gpusOf(product, count)
			if len(n.GPUs) > 0 {
				gpus = append(n.GPUs, gpus...)
			}
			n.GPUs = gpus
		}
	}
	return ""
}

// PoolsOf lists the pools of nodes that are in a partition, whatever its case, in order.
func PoolsOf(nodes []berth.Node, partition string) (pools []string) {
	for i := range nodes {
		pool := nodes[i].Pool
		in := func(name string) bool { return strings.EqualFold(name, partition) }
		if slices.ContainsFunc(strings.Split(pool, ","), in) && !slices.Contains(pools, pool) {
			pools = append(pools, pool)
		}
	}
	slices.Sort(pools)
	return pools
}
