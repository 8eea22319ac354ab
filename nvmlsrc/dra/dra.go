// Package dra reads what a Kubernetes with dynamic resource allocation says of GPUs: ResourceSlices
// with devices, partitions, counters and taints, ResourceClaims with what is allocated, of
// resource.k8s.io v1, v1beta2 and v1beta1, and DeviceTaintRules that select by driver, pool and
// name. Devices are those of NVIDIA's driver, gpu.nvidia.com;
// those of other drivers are told.
//
// Read reads what this prints:
//
//	kubectl get resourceslices,resourceclaims,devicetaintrules -A -o json
//
// The last is there since Kubernetes 1.33, where the gate DRADeviceTaints is on. A [Reader] takes
// objects one by one, for a program that reads a longer list. [Dump.Nodes] gives the nodes of the
// core, and [Dump.Held] what the claims of a pod hold.
//
// What is not evaluated is told, once for each reason: which devices a request or a rule would get
// by firstAvailable, a DeviceClass, CEL selectors, constraints, tolerations and capacities is for
// the scheduler of Kubernetes; here counts what is allocated.
package dra

import (
	"io"
	"strings"

	"github.com/berth-sched/berth/internal/input"
	"github.com/berth-sched/berth/internal/jsontext"
	"github.com/berth-sched/berth/internal/skipped"
	"github.com/berth-sched/berth/mig"
)

// Command prints what Read reads.
const Command = "kubectl get resourceslices,resourceclaims -A -o json"

// Driver is the name of NVIDIA's driver.
const Driver = "gpu.nvidia.com"

// maxObject bounds an object in bytes, and the others what the API server allows of a slice and of
// a claim (k8s.io/api, resource/v1).
const (
	maxObject  = 16 << 20
	maxDevices = 128
	maxSets    = 8
	maxCounter = 32
	maxTaints  = 16
	maxResults = 32
)

// A Dump is what was read.
type Dump struct {
	// Devices by node, number of the GPU and name, of the latest generation of each pool.
	Devices []Device
	// Claims in the order of the text.
	Claims []Claim
	// Skipped is what was passed over, or counts as something else than it is.
	Skipped []Skip

	file    string
	skipped skipped.List
	models  models
	byName  map[deviceKey]int // index in Devices
	ofClaim map[[2]string]int // index in Claims by namespace and name
}

// A Skip is something that is not read, with the line of the first.
type Skip = skipped.Skip

// A Device is a GPU, or a partition of one.
type Device struct {
	// Node that the device is on, Pool and Name by which claims name it.
	Node, Pool, Name string
	// GPU is the number in the name, as of gpu-3.
	GPU int
	// Product, UUID and PCI are the device's, PCI the address; of a partition those of its GPU, but
	// for the UUID, which a partition has once it exists.
	Product, UUID, PCI string
	// NUMA is the NUMA node; -1: not told.
	NUMA int
	// MemoryMiB is the memory; 0: not told.
	MemoryMiB int64
	// Partition is where a partition is or would be; the zero value: the device is a GPU.
	Partition mig.Placement
	// Dynamic: it shares counters with other devices of its GPU, and exists while it is allocated.
	Dynamic bool
	// Shared: it may be allocated several times.
	Shared bool
	// Tainted: a taint keeps new claims off that do not tolerate it.
	Tainted bool
	// Line of the object.
	Line int

	uses counts // of the counters
	set  string // of counters
}

// A Claim is a ResourceClaim.
type Claim struct {
	Namespace, Name string
	// Allocated says whether it holds devices: Results.
	Allocated bool
	Results   []Result
	// Pods that it is reserved for.
	Pods []string
	// Line of the object.
	Line int
}

// A Result is a device that a claim holds, as it is written.
type Result struct {
	Driver, Pool, Device string
	// Part: a share of the device, or some of its capacity.
	Part bool
	// Admin: access for an administrator, which holds nothing.
	Admin bool
}

type deviceKey struct{ pool, name string }

// Read reads lists of objects, one or several; the file's name is for errors, of type
// *Error. Objects of other kinds are told. O(bytes), and no more memory than some 20
// times the objects that are kept.
func Read(file string, in io.Reader) (*Dump, error) {
	r := NewReader(file)
	err := input.Items(in, maxObject, func([]byte, int) error { return nil }, func(text []byte, line, column int) error {
		kind, _, err := KindOf(text, line, column)
		if err != nil {
			return err
		}
		taken, err := r.Take(kind, text, line, column)
		if err == nil && !taken {
			r.skip(line, "an object of another kind than ResourceSlice, ResourceClaim, DeviceTaintRule and DeviceClass is not read")
		}
		return err
	})
	if err != nil {
		return nil, refusal(file, err)
	}
	return r.Dump(), nil
}

// KindOf is the kind and the version of the API of an object.
func KindOf(text []byte, line, column int) (kind, version string, err error) {
	c := jsontext.New(text, line, column)
	if c.Kind() != '{' {
		c.Fail("not an object")
	}
	c.Object(func(key []byte) {
		switch string(key) {
		case "kind":
			kind = c.Text()
		case "apiVersion":
			version = c.Text()
		}
	})
	c.End()
	return kind, version, c.Err()
}

// A Reader takes objects.
type Reader struct {
	dump  *Dump
	pools map[string]*pool
	order []*pool
	rules []rule
}

// NewReader is a Reader of a file of that name.
func NewReader(file string) *Reader {
	return &Reader{
		dump:  &Dump{file: file, byName: map[deviceKey]int{}, ofClaim: map[[2]string]int{}},
		pools: map[string]*pool{},
	}
}

func (r *Reader) skip(line int, reason ...string) {
	r.dump.skipped.Add(r.dump.file, line, reason...)
}

// Take reads an object that begins at a line and a column, and keeps nothing of the text. False:
// the kind is another.
func (r *Reader) Take(kind string, text []byte, line, column int) (bool, error) {
	var err error
	switch kind {
	case "ResourceSlice":
		err = r.slice(jsontext.New(text, line, column))
	case "ResourceClaim":
		err = r.claim(jsontext.New(text, line, column))
	case "DeviceTaintRule":
		err = r.taintRule(jsontext.New(text, line, column))
	case "DeviceClass":
		err = r.class(jsontext.New(text, line, column))
	default:
		return false, nil
	}
	if err != nil {
		return true, refusal(r.dump.file, err)
	}
	return true, nil
}

// version reads apiVersion, and says whether it is one that is known.
func version(c *jsontext.Cursor) bool {
	switch version := c.Bytes(); string(version) {
	case "resource.k8s.io/v1", "resource.k8s.io/v1beta2", "resource.k8s.io/v1beta1":
		return true
	}
	return false
}

const otherVersion = "an object of another version than resource.k8s.io/v1, v1beta2 and v1beta1 is not read"

// unread tells of a key of an object unless it is one of those that are known and say nothing here.
func (r *Reader) unread(c *jsontext.Cursor, key []byte, of, known string) {
	if !strings.Contains(known, " "+string(key)+" ") {
		r.skip(c.Line(), "the key ", string(key[:min(len(key), 60)]), " of ", of, " is not read")
	}
	c.Skip()
}
