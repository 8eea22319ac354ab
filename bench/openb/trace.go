package openb

import (
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/berth-sched/berth/bench"
	"github.com/berth-sched/berth/bench/workload"
)

// A Trace is a fleet and the tasks that arrive there.
type Trace struct {
	// Nodes and Pods are sorted by name, without two of one name.
	Nodes []bench.NodeSpec
	Pods  []workload.OpenBPod
	// checksum of both, as they were read.
	checksum uint32
}

// ErrEmpty: a trace without nodes with GPUs, or without tasks.
var ErrEmpty = errors.New("openb: nothing to play")

// PodFile is the file that a name of a list of tasks stands for: lists are named as the published
// ones are, "default" for openb_pod_list_default.csv, or by a path to a file, which has a dot or a
// separator in it.
func PodFile(dir, pods string) string {
	if strings.ContainsAny(pods, `./\`) {
		return pods
	}
	return filepath.Join(dir, "openb_pod_list_"+pods+".csv")
}

// Open reads a list of nodes and one of tasks. Errors are those of the system and
// *workload.TraceError.
func Open(nodes, pods string) (*Trace, error) {
	nodeFile, err := os.Open(nodes)
	if err != nil {
		return nil, err
	}
	defer nodeFile.Close()
	podFile, err := os.Open(pods)
	if err != nil {
		return nil, err
	}
	defer podFile.Close()
	t := &Trace{}
	if t.Nodes, err = workload.ReadOpenBNodeList(nodes, nodeFile); err != nil {
		return nil, err
	}
	if t.Pods, err = workload.ReadOpenBPodList(pods, podFile); err != nil {
		return nil, err
	}
	if t.capacity() == 0 {
		return nil, fmt.Errorf("%w: no node of %s has a GPU", ErrEmpty, nodes)
	}
	if len(t.Pods) == 0 {
		return nil, fmt.Errorf("%w: no task in %s", ErrEmpty, pods)
	}
	slices.SortFunc(t.Nodes, func(a, b bench.NodeSpec) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(t.Pods, func(a, b workload.OpenBPod) int { return cmp.Compare(a.Name, b.Name) })
	t.checksum = t.sum()
	return t, nil
}

// sum is a checksum of what matters of the lists, so that a trace is known by whatever name.
func (t *Trace) sum() uint32 {
	hash := crc32.NewIEEE()
	for i := range t.Nodes {
		fmt.Fprintln(hash, t.Nodes[i])
	}
	for i := range t.Pods {
		fmt.Fprintln(hash, t.Pods[i])
	}
	return hash.Sum32()
}

// GPUs is how many the fleet has.
func (t *Trace) GPUs() int { return int(t.capacity() / bench.WholeGPU) }

// capacity is what the GPUs of the fleet have, in thousandths.
func (t *Trace) capacity() int64 {
	sum := int64(0)
	for i := range t.Nodes {
		sum += int64(t.Nodes[i].GPUs) * bench.WholeGPU
	}
	return sum
}
