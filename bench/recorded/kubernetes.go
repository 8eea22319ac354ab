package recorded

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/input"
	"github.com/berth-sched/berth/internal/jsontext"
	"github.com/berth-sched/berth/nvmlsrc/dra"
)

// The names that Kubernetes and the device plugins of NVIDIA and AMD give.
const (
	productLabel  = "nvidia.com/gpu.product"
	amdLabel      = "amd.com/gpu.product-name"
	countLabel    = "nvidia.com/gpu.count"
	replicasLabel = "nvidia.com/gpu.replicas"
	sharingLabel  = "nvidia.com/gpu.sharing-strategy"
	sharedSuffix  = "-SHARED" // of a product of which there are replicas
	migInfix      = "-MIG-"   // of a GPU with instances that are called GPUs
)

// gpuResources are whole GPUs, or replicas of them, by the label with their product.
var gpuResources = map[string]string{"nvidia.com/gpu": productLabel, "amd.com/gpu": amdLabel}

// isPart reports whether a resource is a part of a GPU.
func isPart(resource string) bool {
	return strings.HasPrefix(resource, "nvidia.com/mig-") || resource == "nvidia.com/gpu.shared" || strings.HasPrefix(resource, "amd.com/") && resource != "amd.com/gpu"
}

// kubectlCommand prints all that is read.
const kubectlCommand = "kubectl get nodes,pods,resourceslices,resourceclaims -A -o json"

// maxObject bounds an object in bytes; the API server takes some 1.5 MiB.
const maxObject = 16 << 20

// together is how far apart the pods of a gang may be created.
const together = time.Minute

// readKubernetes reads what "kubectl get nodes,pods -A -o json" prints, or several such lists one
// after the other. A pod that holds GPUs is a job of its namespace, from its creation to its end;
// one that runs, until the latest instant of the dump. Pods with one owner that is no Deployment,
// StatefulSet or DaemonSet, of one size and created within a minute of the first, are a gang. Pods
// that are gone from the API server are not in the dump. Object by object is read, so that what is
// kept is the nodes and the pods with GPUs: O(bytes).
func readKubernetes(file string, in io.Reader) (*source, error) {
	k := &dump{
		source: source{file: file, Kind: "a dump of kubectl", taken: map[berth.JobID]bool{}},
		seen:   map[string]bool{}, shared: map[string]bool{}, devices: dra.NewReader(file),
	}
	if err := input.Items(in, maxObject, isOfSlurm, k.item); err != nil {
		return nil, refused(file, err)
	}
	k.addDevices()
	k.addJobs()
	return &k.source, nil
}

type dump struct {
	source
	pods []pod
	last time.Time
	// devices are those of dynamic resource allocation, and bare the lines of nodes without other
	// GPUs.
	devices *dra.Reader
	bare    map[string]int
	// seen are the objects that are kept, and shared the nodes of which a GPU is no whole one.
	seen, shared map[string]bool
}

// A pod holds GPUs.
type pod struct {
	object
	gpus, line int
}

// isOfSlurm refuses what a command of Slurm prints, by a key beside the items.
func isOfSlurm(key []byte, line int) error {
	switch string(key) {
	case "jobs", "sinfo", "nodes":
		return &jsontext.Error{Line: line, Column: 1, Reason: "this is what a command of Slurm prints with --json; jobs are read from: " + workload.SacctCommand}
	}
	return nil
}

// refused makes a *workload.TraceError of an error of jsontext or dra, and leaves others alone.
func refused(file string, err error) error {
	var text *jsontext.Error
	var device *dra.Error
	e := &workload.TraceError{File: file, Kind: workload.ErrRow}
	switch {
	case errors.As(err, &text):
		e.Line, e.Column, e.Field, e.Reason = text.Line, text.Column, text.Field, text.Reason
		if text.TooLarge {
			e.Kind = workload.ErrLimit
		} else if text.Err != nil {
			e.Kind = text.Err
		}
	case errors.As(err, &device):
		e.Line, e.Column, e.Field, e.Reason = device.Line, device.Column, device.Field, device.Reason
		if errors.Is(err, dra.ErrTooLarge) {
			e.Kind = workload.ErrLimit
		}
	default:
		return err
	}
	if errors.Is(err, workload.ErrLimit) {
		e.Kind = workload.ErrLimit
	}
	return e
}

// item takes an element of "items".
func (k *dump) item(text []byte, line, column int) error {
	kind, _, err := dra.KindOf(text, line, column)
	if err != nil {
		return err
	}
	if taken, err := k.devices.Take(kind, text, line, column); taken || err != nil {
		return err
	}
	if kind != "Node" && kind != "Pod" {
		k.Skipped.Add(k.file, line, "an object of kind \"", errtext.Short(kind), "\" is not read")
		return nil
	}
	o, err := objectOf(jsontext.New(text, line, column), kind)
	if err != nil {
		return err
	}
	return k.take(o, line)
}

// addDevices adds the nodes of which the GPUs are devices of claims, and the GPUs that pods hold by
// their claims.
func (k *dump) addDevices() {
	devices := k.devices.Dump()
	nodes, told := devices.Nodes()
	for _, s := range append(slices.Clone(devices.Skipped), told...) {
		for range s.Count {
			k.skip(s.Reason, s.Line)
		}
	}
	known := map[berth.NodeID]bool{}
	for i := range k.nodes {
		known[k.nodes[i].ID] = true
	}
	for i := range nodes {
		n := &nodes[i]
		if known[n.ID] {
			k.skip("the devices of a node that tells of its GPUs by a resource, too, are not read", 0)
			continue
		}
		delete(k.bare, string(n.ID))
		if slices.ContainsFunc(n.GPUs, func(g berth.GPU) bool { return g.Mode == berth.GPUModeMIG }) {
			k.shared[string(n.ID)] = true
			k.skip("a node with partitions is left out", 0)
			continue
		}
		k.nodes = append(k.nodes, berth.Node{ID: n.ID, GPUs: slices.Repeat([]berth.GPU{{Product: n.GPUs[0].Product}}, len(n.GPUs))})
	}
	for _, line := range k.bare {
		k.skip("a node has no whole GPU", line)
	}
	kept := k.pods[:0]
	for _, p := range k.pods {
		if k.hold(&p, devices) {
			kept = append(kept, p)
		}
	}
	k.pods = kept
}

// hold adds what a pod holds by its claims; false: it holds no whole GPU.
func (k *dump) hold(p *pod, devices *dra.Dump) bool {
	claims := p.claimNames()
	if len(claims) == 0 {
		return true
	}
	held := devices.Held(p.namespace, claims)
	p.gpus += held.GPUs
	switch {
	case held.Parts:
		k.skip("holds parts of GPUs", p.line)
	case p.gpus == 0:
		k.skip("holds devices by a resource claim that is not in the file, is not allocated, or is of another driver's devices; they are in: "+kubectlCommand, p.line)
	case p.gpus > berth.MaxGPUs:
		k.skip("asks for more GPUs than a node may have", p.line)
	default:
		if held.Untold > 0 {
			k.skip("has a resource claim, too, that is not in the file, is not allocated, or is of another driver's devices", p.line)
		}
		return true
	}
	return false
}

func (k *dump) take(o *object, line int) error {
	k.last = later(k.last, o.latest)
	key := o.kind + " " + o.namespace + "/" + o.name
	switch {
	case o.name == "":
		k.skip("has no name", line)
	case k.seen[key]:
		k.skip("is told again", line)
	case o.kind == "Node":
		k.seen[key] = true
		return k.takeNode(o, line)
	default:
		kept, err := k.takePod(o, line)
		if kept {
			k.seen[key] = true
		}
		return err
	}
	return nil
}

func (k *dump) refuse(line int, field, format string, args ...any) error {
	return &workload.TraceError{File: k.file, Line: line, Field: field, Kind: workload.ErrValue, Reason: fmt.Sprintf(format, args...)}
}

// amount reads how many of a resource an object has or asks for.
func (k *dump) amount(o *object, line int, name, text string) (int, error) {
	v, err := strconv.Atoi(text)
	if err != nil || v < 0 || v > maxReplicas {
		return 0, k.refuse(line, name, "%.80q of %s %.80q is no whole number of 0 to %d", text, o.kind, o.name, maxReplicas)
	}
	return v, nil
}

// maxReplicas is more than a node has, shared or not.
const maxReplicas = 1 << 12

// takeNode keeps a node with GPUs. Replicas of a GPU count as one: they stand for parts.
func (k *dump) takeNode(o *object, line int) error {
	count, product := 0, ""
	for _, has := range o.capacity {
		name := has.name
		label, whole := gpuResources[name]
		v := 0
		if whole || isPart(name) {
			var err error
			if v, err = k.amount(o, line, name, has.amount); err != nil {
				return err
			}
		}
		switch {
		case whole && v > 0 && count > 0:
			return k.refuse(line, name, "node %.80q has GPUs of two makers", o.name)
		case whole && v > 0:
			count, product = v, o.labels[label]
		case v > 0:
			k.shared[o.name] = true
			k.skip(fmt.Sprintf("%q of a node are no whole GPUs", errtext.Short(name)), line)
		case !whole && !isPart(name):
			k.unread(name, line)
		}
	}
	if count == 0 {
		if k.bare == nil {
			k.bare = map[string]int{}
		}
		k.bare[o.name] = line
		return nil
	}
	labels := o.labels
	replicas, _ := strconv.Atoi(labels[replicasLabel])
	sharing := labels[sharingLabel]
	switch {
	case strings.Contains(product, migInfix):
		k.shared[o.name] = true
		k.skip("what the node calls GPUs are MIG instances: it is left out", line)
		return nil
	case replicas > 1, sharing != "" && sharing != "none", strings.HasSuffix(product, sharedSuffix):
		k.shared[o.name] = true
		product = strings.TrimSuffix(product, sharedSuffix)
		real, err := strconv.Atoi(labels[countLabel])
		if err != nil || real < 1 || real > count {
			real = count / max(replicas, 1)
		}
		k.skip("its GPUs are shared: replicas are parts of them, and it has as many as there are without", line)
		count = real
	case product == "":
		k.skip("no label names the product of its GPUs", line)
	}
	if count > berth.MaxGPUs {
		return k.refuse(line, "capacity", "node %.80q has %d GPUs, and %d is the most", o.name, count, berth.MaxGPUs)
	}
	gpu := berth.GPU{Product: cmp.Or(product, "gpu")}
	k.nodes = append(k.nodes, berth.Node{ID: berth.NodeID(o.name), GPUs: slices.Repeat([]berth.GPU{gpu}, count)})
	return nil
}

// unread tells of a resource of some device that is not read: its name has a domain.
func (k *dump) unread(name string, line int) {
	domain, _, extended := strings.Cut(name, "/")
	if extended && domain != "rdma" && !strings.HasSuffix(domain, "kubernetes.io") {
		k.skip(fmt.Sprintf("the resource %q is not read", errtext.Short(name)), line)
	}
}

// rankOf orders containers: those that come first start one after the other.
func rankOf(c container) int {
	if c.init {
		return 0
	}
	return 1
}

// takePod keeps a pod that holds GPUs. Those of its containers come together, and those of each
// that runs before them are the same ones.
func (k *dump) takePod(o *object, line int) (kept bool, err error) {
	p := pod{object: *o, line: line}
	before, parts := 0, false
	slices.SortStableFunc(p.containers, func(a, b container) int { return cmp.Compare(rankOf(a), rankOf(b)) })
	for _, c := range p.containers {
		gpus := 0
		for _, asks := range c.resources {
			switch _, whole := gpuResources[asks.name]; {
			case isPart(asks.name):
				parts = true
			case whole:
				v, err := k.amount(o, line, asks.name, asks.amount)
				if err != nil {
					return false, err
				}
				gpus = max(gpus, v)
			default:
				k.unread(asks.name, line)
			}
		}
		if c.ends {
			before = max(before, p.gpus+gpus)
		} else {
			p.gpus += gpus
		}
	}
	p.gpus = max(p.gpus, before)
	switch {
	case parts:
		k.skip("holds parts of GPUs", line)
	case p.gpus == 0 && len(o.claims) == 0:
		k.skip("holds no GPU", line)
	case p.gpus > berth.MaxGPUs:
		k.skip("asks for more GPUs than a node may have", line)
	default:
		if o.namespace == "" {
			k.skip("has no namespace: it counts as one of default", line)
		}
		k.pods = append(k.pods, p)
		return true, nil
	}
	return false, nil
}

// end is when a pod ended: zero where it has not. Known says whether the dump tells.
func (p *pod) end() (at time.Time, known bool) {
	switch over := p.phase == "Succeeded" || p.phase == "Failed"; {
	case !over && (p.parts == 0 || p.running > 0):
		return time.Time{}, true
	case over && p.finished.IsZero(): // evicted before its containers could say
		return p.changed, !p.changed.IsZero()
	}
	return p.finished, true
}

// ownerOf names what a pod is of a gang with: nothing, where it has no owner that makes gangs.
func ownerOf(p *pod) string {
	if p.owner == "" {
		return ""
	}
	return fmt.Sprintf("%s/%d", p.owner, p.gpus)
}

// addJobs makes jobs of the pods.
func (k *dump) addJobs() {
	slices.SortStableFunc(k.pods, func(a, b pod) int { return a.created.Compare(b.created) })
	gangs := map[string]int{}
	var groups [][]pod
	for _, p := range k.pods {
		if k.shared[p.node] || strings.HasSuffix(p.selector[productLabel], sharedSuffix) || strings.Contains(p.selector[productLabel], migInfix) {
			k.skip("holds parts of GPUs", p.line)
			continue
		}
		name := ownerOf(&p)
		at, known := gangs[name]
		if name == "" || !known || p.created.Sub(groups[at][0].created) > together {
			at = len(groups)
			groups = append(groups, nil)
			gangs[name] = at
		}
		groups[at] = append(groups[at], p)
	}
	known := slices.IndexFunc(k.pods, func(p pod) bool { return !p.created.IsZero() })
	for _, pods := range groups {
		k.addJob(pods, berth.TimeOf(k.pods[max(known, 0)].created))
	}
}

func (k *dump) addJob(pods []pod, epoch berth.Time) {
	p := &pods[0]
	created, started, ended, open := p.created, p.started, time.Time{}, false
	for i := range pods {
		if at := pods[i].started; at.IsZero() {
			k.skip("had not started", pods[i].line)
			return
		} else if at.After(started) {
			started = at
		}
		at, known := pods[i].end()
		if !known {
			k.skip("had ended, and the dump does not tell when", pods[i].line)
			return
		}
		open = open || at.IsZero()
		if at.After(ended) {
			ended = at
		}
	}
	if open {
		ended = k.last
	}
	switch {
	case created.IsZero():
		k.skip("its creation is not known", p.line)
		return
	case ended.Before(started):
		k.skip("ends before it starts", p.line)
		return
	}
	spec := berth.Job{
		ID: berth.JobID(p.namespace + "/" + p.name), Queue: berth.QueueID(cmp.Or(p.namespace, "default")),
		Groups: []berth.Group{{Members: len(pods), Claim: berth.Claim{GPUs: p.gpus}}},
	}
	for _, label := range []string{productLabel, amdLabel} {
		if product := p.selector[label]; product != "" {
			spec.Groups[0].Selector.Products = []string{product}
		}
	}
	r := workload.Ran{Line: p.line, Wait: max(0, berth.TimeOf(started).Sub(berth.TimeOf(created)))}
	a := sim.Arrival{At: berth.TimeOf(created) - epoch}
	if r.SoFar = max(1, berth.TimeOf(ended).Sub(berth.TimeOf(started))); !open {
		a.Runtime = r.SoFar
	}
	k.source.take(a, spec, r)
}
