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
)

// ReadSlurmNodes reads the nodes of a Slurm cluster: what "scontrol show node" prints, a paragraph
// or, with --oneliner, a line for each, plain or compressed with gzip. File names it in errors.
//
//   - NodeName: the node.
//   - Gres: "gpu:a100:8(S:0-1)"; the type is the product, as Slurm spells it, or "gpu" without.
//     Other generic resources, and MIG profiles as types, are passed over.
//   - CPUTot, RealMemory in MiB: the host. Either may be missing.
//   - Partitions: together they are the pool, "debug,gpu"; see PoolsOf.
//
// Nodes without GPUs are listed, too. The state is not read: what is down today says nothing
// of the week of the jobs. Other fields are passed over. Errors are a *TraceError. O(nodes), all
// kept. The fields are those of scontrol(1), https://slurm.schedmd.com/scontrol.html.
func ReadSlurmNodes(file string, r io.Reader) ([]berth.Node, error) {
	in, err := text(r)
	if err != nil {
		return nil, noTable(file, err).err
	}
	s := slurmNodes{file: file, seen: map[berth.NodeID]bool{}}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxRow)
	for lines.Scan() {
		s.line++
		s.bytes += len(lines.Bytes())
		if !s.take(lines.Text()) {
			return nil, s.err
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, &TraceError{File: file, Line: s.line + 1, Kind: ErrRow, Reason: errLong.Error()}
	case err != nil:
		return nil, &TraceError{File: file, Line: s.line + 1, Kind: err, Reason: err.Error()}
	case len(s.nodes) == 0:
		return nil, &TraceError{File: file, Line: 1, Kind: ErrHeader, Reason: `there is no "NodeName=": it is to be what "scontrol show node" prints`}
	}
	return s.nodes, nil
}

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
	err   error
}

// take reads the fields of a line: words with "=" in them. A value with blanks, such as that of OS
// or Reason, ends early, and the rest of it is no field.
func (s *slurmNodes) take(line string) bool {
	for at := 0; at < len(line); {
		if line[at] == ' ' || line[at] == '\t' {
			at++
			continue
		}
		end := at + strings.IndexAny(line[at:]+" ", " \t")
		if key, value, is := strings.Cut(line[at:end], "="); is {
			s.field(at+1, key, value)
			if key == "OS" || key == "Reason" || key == "Comment" || key == "Extra" {
				return s.err == nil // their texts may hold anything
			}
		}
		at = end
	}
	return s.err == nil
}

func (s *slurmNodes) field(column int, key, value string) {
	refuse := func(reason string) {
		if s.err == nil {
			s.err = &TraceError{File: s.file, Line: s.line, Column: column, Field: key, Kind: ErrValue, Reason: reason}
		}
	}
	if key == "NodeName" {
		id := berth.NodeID(strings.Clone(value))
		if !isName(value) || s.seen[id] {
			refuse(fmt.Sprintf("%q is no name, or that of two nodes", clip(value)))
		}
		s.seen[id] = true
		s.nodes = append(s.nodes, berth.Node{ID: id})
		return
	}
	if len(s.nodes) == 0 {
		return
	}
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
		if reason := addGRES(n, value); reason != "" {
			refuse(reason)
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

// addGRES adds the GPUs of a list such as gpu:a100:4(S:0),gpu:v100:4(S:1),mps:800. It returns what
// is wrong with it.
func addGRES(n *berth.Node, list string) string {
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
		if parts[0] != "gpu" || len(parts) < 2 {
			continue
		}
		count, err := strconv.Atoi(parts[len(parts)-1])
		product := strings.Join(parts[1:len(parts)-1], ":")
		if err != nil || count < 0 || count > berth.MaxGPUs-len(n.GPUs) {
			return fmt.Sprintf("%q is not of the form gpu:type:count, or has more than %d GPUs", clip(item), berth.MaxGPUs)
		}
		if product != "" && !isName(product) {
			return fmt.Sprintf("%q is no name", clip(product))
		}
		if !isProfile(product[strings.LastIndexByte(product, '_')+1:]) {
			gpus := gpusOf(cmp.Or(strings.Clone(product), "gpu"), count)
			if len(n.GPUs) > 0 {
				gpus = append(n.GPUs, gpus...)
			}
			n.GPUs = gpus
		}
	}
	return ""
}

// PoolsOf lists the pools of nodes that are in a partition, in order.
func PoolsOf(nodes []berth.Node, partition string) (pools []string) {
	for i := range nodes {
		pool := nodes[i].Pool
		if slices.Contains(strings.Split(pool, ","), partition) && !slices.Contains(pools, pool) {
			pools = append(pools, pool)
		}
	}
	slices.Sort(pools)
	return pools
}
