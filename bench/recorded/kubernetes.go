package recorded

import (
	"cmp"
	"encoding/json"
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
)

// An object is a Node or a Pod, as far as it is read. The fields are those of the API of
// Kubernetes, https://kubernetes.io/docs/reference/kubernetes-api/.
type object struct {
	Kind     string
	Metadata struct {
		Name, Namespace   string
		CreationTimestamp time.Time
		Labels            map[string]string
		OwnerReferences   []struct{ Kind, UID string }
	}
	Spec struct {
		NodeName                   string
		NodeSelector               map[string]string
		Containers, InitContainers []container
		ResourceClaims             []struct{}
	}
	Status struct {
		Phase, Reason     string
		StartTime         time.Time
		Capacity          map[string]string
		ContainerStatuses []struct {
			State struct {
				Terminated struct{ FinishedAt time.Time }
			}
		}
		Conditions []struct{ LastTransitionTime, LastHeartbeatTime time.Time }
	}
}

// An item is an object of so many bytes: where it begins, a decoder does not tell.
type item struct {
	object
	length int
}

func (i *item) UnmarshalJSON(text []byte) error {
	i.length = len(text)
	return json.Unmarshal(text, &i.object)
}

type container struct {
	RestartPolicy string
	Resources     struct{ Requests, Limits map[string]string }
}

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
		lines: input.NewLines(in, maxObject), source: source{file: file, Kind: "a dump of kubectl", taken: map[berth.JobID]bool{}},
		seen: map[string]bool{}, shared: map[string]bool{},
	}
	if err := k.read(); err != nil {
		return nil, err
	}
	k.addJobs()
	return &k.source, nil
}

type dump struct {
	source
	lines *input.Lines
	pods  []pod
	last  time.Time
	// seen are the objects that are kept, and shared the nodes of which a GPU is no whole one.
	seen, shared map[string]bool
}

// A pod holds GPUs.
type pod struct {
	object
	gpus, line int
}

func (k *dump) read() error {
	decoder := json.NewDecoder(k.lines)
	for documents := 0; ; documents++ {
		open, err := decoder.Token()
		switch {
		case errors.Is(err, io.EOF) && documents > 0:
			return nil
		case err != nil:
			return k.fault(decoder, err)
		case open != json.Delim('{'):
			return k.fault(decoder, errors.New("there is no object"))
		}
		if err := k.readList(decoder); err != nil {
			return err
		}
	}
}

// readList reads an object with items, behind its brace.
func (k *dump) readList(decoder *json.Decoder) error {
	items := false
	for decoder.More() {
		key, err := decoder.Token()
		switch {
		case err != nil:
		case key == "jobs", key == "sinfo", key == "nodes":
			err = errors.New("this is what a command of Slurm prints with --json; jobs are read from: " + workload.SacctCommand)
		case key == "items" && items:
			err = errors.New(`there are two "items"`)
		case key == "items":
			items = true
			if err := k.readItems(decoder); err != nil {
				return err
			}
		default:
			var other json.RawMessage
			err = decoder.Decode(&other)
		}
		if err != nil {
			return k.fault(decoder, err)
		}
	}
	if _, err := decoder.Token(); err != nil { // the brace
		return k.fault(decoder, err)
	}
	if !items {
		return k.fault(decoder, errors.New(`there are no "items": it is to be what "kubectl get nodes,pods -A -o json" prints`))
	}
	return nil
}

func (k *dump) readItems(decoder *json.Decoder) error {
	if open, err := decoder.Token(); err != nil || open != json.Delim('[') {
		return k.fault(decoder, cmp.Or(err, errors.New(`"items" is no list`)))
	}
	for o := new(item); decoder.More(); *o = (item{}) {
		if err := decoder.Decode(o); err != nil {
			return k.fault(decoder, err)
		}
		line, _ := k.lines.At(decoder.InputOffset() - int64(o.length))
		if err := k.take(&o.object, line); err != nil {
			return err
		}
	}
	if _, err := decoder.Token(); err != nil {
		return k.fault(decoder, err)
	}
	return nil
}

// fault says where the text makes no sense.
func (k *dump) fault(decoder *json.Decoder, err error) error {
	at, field, kind := decoder.InputOffset(), "", workload.ErrRow
	var syntax *json.SyntaxError
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		at = syntax.Offset
	case errors.As(err, &wrong):
		field = wrong.Field
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = errors.New("the text ends early")
	case errors.Is(err, workload.ErrLimit):
		kind = workload.ErrLimit
	}
	line, column := k.lines.At(at)
	return &workload.TraceError{File: k.file, Line: line, Column: column, Field: field, Kind: kind, Reason: err.Error()}
}

func (k *dump) take(o *object, line int) error {
	for _, at := range append(ends(o), o.Metadata.CreationTimestamp, o.Status.StartTime) {
		if at.After(k.last) {
			k.last = at
		}
	}
	key := o.Kind + " " + o.Metadata.Namespace + "/" + o.Metadata.Name
	switch {
	case o.Kind != "Node" && o.Kind != "Pod":
		k.skip(fmt.Sprintf("an object of kind %q is not read", errtext.Short(o.Kind)), line)
	case o.Metadata.Name == "":
		k.skip("has no name", line)
	case k.seen[key]:
		k.skip("is told again", line)
	case o.Kind == "Node":
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
		return 0, k.refuse(line, name, "%.80q of %s %.80q is no whole number of 0 to %d", text, o.Kind, o.Metadata.Name, maxReplicas)
	}
	return v, nil
}

// maxReplicas is more than a node has, shared or not.
const maxReplicas = 1 << 12

// takeNode keeps a node with GPUs. Replicas of a GPU count as one: they stand for parts.
func (k *dump) takeNode(o *object, line int) error {
	count, product := 0, ""
	for _, name := range sortedKeys(o.Status.Capacity) {
		label, whole := gpuResources[name]
		v := 0
		if whole || isPart(name) {
			var err error
			if v, err = k.amount(o, line, name, o.Status.Capacity[name]); err != nil {
				return err
			}
		}
		switch {
		case whole && v > 0 && count > 0:
			return k.refuse(line, name, "node %.80q has GPUs of two makers", o.Metadata.Name)
		case whole && v > 0:
			count, product = v, o.Metadata.Labels[label]
		case v > 0:
			k.shared[o.Metadata.Name] = true
			k.skip(fmt.Sprintf("%q of a node are no whole GPUs", errtext.Short(name)), line)
		case !whole && !isPart(name):
			k.unread(name, line)
		}
	}
	if count == 0 {
		k.skip("a node has no whole GPU", line)
		return nil
	}
	labels := o.Metadata.Labels
	replicas, _ := strconv.Atoi(labels[replicasLabel])
	sharing := labels[sharingLabel]
	switch {
	case strings.Contains(product, migInfix):
		k.shared[o.Metadata.Name] = true
		k.skip("what the node calls GPUs are MIG instances: it is left out", line)
		return nil
	case replicas > 1, sharing != "" && sharing != "none", strings.HasSuffix(product, sharedSuffix):
		k.shared[o.Metadata.Name] = true
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
		return k.refuse(line, "capacity", "node %.80q has %d GPUs, and %d is the most", o.Metadata.Name, count, berth.MaxGPUs)
	}
	gpu := berth.GPU{Product: cmp.Or(product, "gpu")}
	k.nodes = append(k.nodes, berth.Node{ID: berth.NodeID(o.Metadata.Name), GPUs: slices.Repeat([]berth.GPU{gpu}, count)})
	return nil
}

func sortedKeys(of map[string]string) []string {
	names := make([]string, 0, len(of))
	for name := range of {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// unread tells of a resource of some device that is not read: its name has a domain.
func (k *dump) unread(name string, line int) {
	domain, _, extended := strings.Cut(name, "/")
	if extended && domain != "rdma" && !strings.HasSuffix(domain, "kubernetes.io") {
		k.skip(fmt.Sprintf("the resource %q is not read", errtext.Short(name)), line)
	}
}

// takePod keeps a pod that holds GPUs. Those of its containers come together, and those of each
// that runs before them are the same ones.
func (k *dump) takePod(o *object, line int) (kept bool, err error) {
	p := pod{object: *o, line: line}
	before, parts := 0, false
	for i, c := range append(slices.Clone(o.Spec.InitContainers), o.Spec.Containers...) {
		gpus := 0
		for _, list := range []map[string]string{c.Resources.Requests, c.Resources.Limits} {
			for _, name := range sortedKeys(list) {
				switch _, whole := gpuResources[name]; {
				case isPart(name):
					parts = true
				case whole:
					v, err := k.amount(o, line, name, list[name])
					if err != nil {
						return false, err
					}
					gpus = max(gpus, v)
				default:
					k.unread(name, line)
				}
			}
		}
		if i < len(o.Spec.InitContainers) && c.RestartPolicy != "Always" {
			before = max(before, p.gpus+gpus)
		} else {
			p.gpus += gpus
		}
	}
	p.gpus = max(p.gpus, before)
	switch {
	case parts:
		k.skip("holds parts of GPUs", line)
	case p.gpus == 0 && len(o.Spec.ResourceClaims) > 0:
		k.skip("holds devices by a resource claim, which is not read", line)
	case p.gpus == 0:
		k.skip("holds no GPU", line)
	case p.gpus > berth.MaxGPUs:
		k.skip("asks for more GPUs than a node may have", line)
	default:
		if o.Metadata.Namespace == "" {
			k.skip("has no namespace: it counts as one of default", line)
		}
		k.pods = append(k.pods, p)
		return true, nil
	}
	return false, nil
}

// ends are the instants at which a part of a pod ended, or something changed about an object.
func ends(o *object) (list []time.Time) {
	for i := range o.Status.ContainerStatuses {
		list = append(list, o.Status.ContainerStatuses[i].State.Terminated.FinishedAt)
	}
	for _, c := range o.Status.Conditions {
		list = append(list, c.LastTransitionTime, c.LastHeartbeatTime)
	}
	return list
}

// end is when a pod ended: zero where it has not. Known says whether the dump tells.
func (p *pod) end() (at time.Time, known bool) {
	running := len(p.Status.ContainerStatuses) == 0
	for i := range p.Status.ContainerStatuses {
		finished := p.Status.ContainerStatuses[i].State.Terminated.FinishedAt
		running = running || finished.IsZero()
		if finished.After(at) {
			at = finished
		}
	}
	switch {
	case p.Status.Phase != "Succeeded" && p.Status.Phase != "Failed":
		if running {
			at = time.Time{}
		}
		return at, true
	case at.IsZero(): // evicted before its containers could say
		for _, c := range p.Status.Conditions {
			if c.LastTransitionTime.After(at) {
				at = c.LastTransitionTime
			}
		}
	}
	return at, !at.IsZero()
}

// ownerOf names what a pod is of a gang with: nothing, where it has no owner that makes gangs.
func ownerOf(p *pod) string {
	for _, owner := range p.Metadata.OwnerReferences {
		switch owner.Kind {
		case "ReplicaSet", "StatefulSet", "DaemonSet", "Node":
		default:
			return fmt.Sprintf("%s/%s/%d", owner.Kind, owner.UID, p.gpus)
		}
	}
	return ""
}

// addJobs makes jobs of the pods.
func (k *dump) addJobs() {
	slices.SortStableFunc(k.pods, func(a, b pod) int { return a.Metadata.CreationTimestamp.Compare(b.Metadata.CreationTimestamp) })
	gangs := map[string]int{}
	var groups [][]pod
	for _, p := range k.pods {
		if k.shared[p.Spec.NodeName] || strings.HasSuffix(p.Spec.NodeSelector[productLabel], sharedSuffix) || strings.Contains(p.Spec.NodeSelector[productLabel], migInfix) {
			k.skip("holds parts of GPUs", p.line)
			continue
		}
		name := ownerOf(&p)
		at, known := gangs[name]
		if name == "" || !known || p.Metadata.CreationTimestamp.Sub(groups[at][0].Metadata.CreationTimestamp) > together {
			at = len(groups)
			groups = append(groups, nil)
			gangs[name] = at
		}
		groups[at] = append(groups[at], p)
	}
	known := slices.IndexFunc(k.pods, func(p pod) bool { return !p.Metadata.CreationTimestamp.IsZero() })
	for _, pods := range groups {
		k.addJob(pods, berth.TimeOf(k.pods[max(known, 0)].Metadata.CreationTimestamp))
	}
}

func (k *dump) addJob(pods []pod, epoch berth.Time) {
	p := &pods[0]
	created, started, ended, open := p.Metadata.CreationTimestamp, p.Status.StartTime, time.Time{}, false
	for i := range pods {
		if at := pods[i].Status.StartTime; at.IsZero() {
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
		ID: berth.JobID(p.Metadata.Namespace + "/" + p.Metadata.Name), Queue: berth.QueueID(cmp.Or(p.Metadata.Namespace, "default")),
		Groups: []berth.Group{{Members: len(pods), Claim: berth.Claim{GPUs: p.gpus}}},
	}
	for _, label := range []string{productLabel, amdLabel} {
		if product := p.Spec.NodeSelector[label]; product != "" {
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
