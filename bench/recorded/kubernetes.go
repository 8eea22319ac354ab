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
		NodeSelector map[string]string
		Containers   []struct {
			Resources struct{ Requests, Limits map[string]string }
		}
	}
	Status struct {
		Phase             string
		StartTime         time.Time
		Capacity          map[string]string
		ContainerStatuses []struct {
			State struct {
				Terminated struct{ FinishedAt time.Time }
			}
		}
	}
}

// The names that Kubernetes and NVIDIA's device plugin give.
const (
	gpuResource  = "nvidia.com/gpu"
	migResource  = "nvidia.com/mig-"
	productLabel = "nvidia.com/gpu.product"
)

// maxObject bounds an object in bytes; the API server takes some 1.5 MiB.
const maxObject = 16 << 20

// readKubernetes reads what "kubectl get nodes,pods -A -o json" prints. A pod that holds GPUs
// is a job of its namespace, from its creation to its end; one that runs, until the latest instant
// of the dump. Pods with one owner that is no Deployment, StatefulSet or DaemonSet, of one size and
// created within a minute, are a gang. Pods that are gone from the API server are not in the dump.
// Object by object is read, so that what is kept is the nodes and the pods with GPUs: O(bytes).
func readKubernetes(file string, in io.Reader) (*source, error) {
	k := &dump{lines: input.NewLines(in, maxObject), source: source{file: file, Kind: "a dump of kubectl"}}
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
}

// A pod holds GPUs.
type pod struct {
	object
	gpus, line int
}

func (k *dump) read() error {
	decoder := json.NewDecoder(k.lines)
	if err := k.toItems(decoder); err != nil {
		return err
	}
	for decoder.More() {
		line, _ := k.lines.At(decoder.InputOffset())
		var o object
		if err := decoder.Decode(&o); err != nil {
			return k.fault(decoder, err)
		}
		if err := k.take(&o, line); err != nil {
			return err
		}
	}
	if _, err := decoder.Token(); err != nil {
		return k.fault(decoder, err)
	}
	return nil
}

// toItems goes on to the list of items.
func (k *dump) toItems(decoder *json.Decoder) error {
	if _, err := decoder.Token(); err != nil { // the brace
		return k.fault(decoder, err)
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return k.fault(decoder, err)
		}
		if key == "items" {
			if open, err := decoder.Token(); err != nil || open != json.Delim('[') {
				return k.fault(decoder, cmp.Or(err, errors.New(`"items" is no list`)))
			}
			return nil
		}
		var other json.RawMessage
		if err := decoder.Decode(&other); err != nil {
			return k.fault(decoder, err)
		}
	}
	return k.fault(decoder, errors.New(`there are no "items": it is to be what "kubectl get nodes,pods -A -o json" prints`))
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
	amount := func(list map[string]string, name string) (int, error) {
		v, err := strconv.Atoi(cmp.Or(list[name], "0"))
		if err != nil || v < 0 || v > berth.MaxGPUs {
			return 0, &workload.TraceError{File: k.file, Line: line, Field: name, Kind: workload.ErrValue, Reason: fmt.Sprintf("%.80q of %s %.80q is no whole number of 0 to %d", list[name], o.Kind, o.Metadata.Name, berth.MaxGPUs)}
		}
		return v, nil
	}
	for _, at := range append(finished(o), o.Metadata.CreationTimestamp, o.Status.StartTime) {
		if at.After(k.last) {
			k.last = at
		}
	}
	switch o.Kind {
	case "Node":
		gpus, err := amount(o.Status.Capacity, gpuResource)
		if err != nil || gpus == 0 {
			return err
		}
		gpu := berth.GPU{Product: cmp.Or(o.Metadata.Labels[productLabel], "gpu")}
		k.nodes = append(k.nodes, berth.Node{ID: berth.NodeID(o.Metadata.Name), GPUs: slices.Repeat([]berth.GPU{gpu}, gpus)})
	case "Pod":
		p := pod{object: *o, line: line}
		for i := range o.Spec.Containers {
			r := o.Spec.Containers[i].Resources
			for _, list := range []map[string]string{r.Requests, r.Limits} {
				for name := range list {
					if strings.HasPrefix(name, migResource) {
						k.skip("holds parts of GPUs", line)
						return nil
					}
				}
			}
			requested, err := amount(r.Requests, gpuResource)
			limited, err2 := amount(r.Limits, gpuResource)
			if err := errors.Join(err, err2); err != nil {
				return err
			}
			p.gpus += max(requested, limited)
		}
		if p.gpus == 0 {
			k.skip("holds no GPU", line)
			return nil
		}
		k.pods = append(k.pods, p)
	}
	return nil
}

// finished are the ends of a pod's containers that are told.
func finished(o *object) (list []time.Time) {
	for i := range o.Status.ContainerStatuses {
		list = append(list, o.Status.ContainerStatuses[i].State.Terminated.FinishedAt)
	}
	return list
}

// gangOf names the gang of a pod: its own, where it has no owner that makes gangs.
func gangOf(p *pod) string {
	for _, owner := range p.Metadata.OwnerReferences {
		switch owner.Kind {
		case "ReplicaSet", "StatefulSet", "DaemonSet", "Node":
		default:
			minute := p.Metadata.CreationTimestamp.Truncate(time.Minute).Unix()
			return fmt.Sprintf("%s/%s/%d/%d", owner.Kind, owner.UID, minute, p.gpus)
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
		name := gangOf(&p)
		at, known := gangs[name]
		if name == "" || !known {
			at = len(groups)
			groups = append(groups, nil)
			gangs[name] = at
		}
		groups[at] = append(groups[at], p)
	}
	if len(k.pods) == 0 {
		return
	}
	known := slices.IndexFunc(k.pods, func(p pod) bool { return !p.Metadata.CreationTimestamp.IsZero() })
	epoch := berth.TimeOf(k.pods[max(known, 0)].Metadata.CreationTimestamp)
	for _, pods := range groups {
		k.addJob(pods, epoch)
	}
}

func (k *dump) addJob(pods []pod, epoch berth.Time) {
	p := &pods[0]
	created, started, ended := p.Metadata.CreationTimestamp, p.Status.StartTime, time.Time{}
	for i := range pods {
		if pods[i].Status.StartTime.After(started) {
			started = pods[i].Status.StartTime
		}
		for _, at := range finished(&pods[i].object) {
			if at.After(ended) {
				ended = at
			}
		}
	}
	r := row{line: p.line, wait: Unset}
	switch {
	case created.IsZero():
		k.skip("its creation is not known", p.line)
		return
	case started.IsZero():
		k.skip("had not started", p.line)
		return
	case ended.IsZero():
		k.Marks.Add(k.file, p.line, "ran on: played with the time until the latest instant of the dump")
		ended = k.last
	case ended.Before(started):
		k.skip("ends before it starts", p.line)
		return
	}
	r.wait = max(0, berth.TimeOf(started).Sub(berth.TimeOf(created)))
	spec := berth.Job{
		ID: berth.JobID(p.Metadata.Namespace + "/" + p.Metadata.Name), Queue: berth.QueueID(cmp.Or(p.Metadata.Namespace, "default")),
		Groups: []berth.Group{{Members: len(pods), Claim: berth.Claim{GPUs: p.gpus}}},
	}
	if product := p.Spec.NodeSelector[productLabel]; product != "" {
		spec.Groups[0].Selector.Products = []string{product}
	}
	a := sim.Arrival{At: berth.TimeOf(created) - epoch, Runtime: max(1, berth.TimeOf(ended).Sub(berth.TimeOf(started)))}
	k.source.take(a, spec, r)
}
