package translate

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/limits"
	"github.com/berth-sched/berth/topology/fabric"
)

// domain is that of all labels, annotations and gates of this program.
const domain = "berth-sched.github.io/"

// Gate is the scheduling gate by which a pod says that berth is to place it.
const Gate = domain + "gate"

// Labels, annotations and taints that users write.
const (
	// QueueLabel of a PodGroup or a pod names its queue. Without it the queue has the name of the
	// namespace, and is made when the first gang needs it.
	QueueLabel = domain + "queue"
	// UserLabel of a PodGroup or a pod names the user of the gang, for caps on the jobs of users.
	// Without it that is the namespace.
	UserLabel = domain + "user"
	// GangLabel of pods names their gang within the namespace, where the cluster serves no
	// PodGroup; [SizeAnnotation] then says how many pods it has.
	GangLabel = domain + "gang"
	// SizeAnnotation is the number of pods of a gang by label.
	SizeAnnotation = domain + "gang-size"
	// TopologyAnnotation of a PodGroup, or of pods, is the key of the node label that all pods of
	// the gang agree in. A PodGroup says so by schedulingConstraints too, which an API server drops
	// without the gate TopologyAwareWorkloadScheduling.
	TopologyAnnotation = domain + "topology"
	// CheckpointAnnotation of a PodGroup or a pod is a [berth.Checkpoint] as JSON, such as
	// {"supported":true,"cost":"1m0s"}.
	CheckpointAnnotation = domain + "checkpoint"
	// DrainTaint is the key of a taint of a node, of any effect and value: gangs are to leave the
	// node, each after a checkpoint if it writes any, as soon as there is another place for it.
	DrainTaint = domain + "drain"
	// DrainByAnnotation of a node with that taint is the instant by which it has to be empty, in
	// the form of RFC 3339; without it nothing is stopped for which there is no other place.
	DrainByAnnotation = domain + "drain-by"
	// RuntimeAnnotation is how long the gang is expected to run, such as "2h0m0s".
	RuntimeAnnotation = domain + "expected-runtime"
)

// Annotations that this program writes.
const (
	// IntentAnnotation of a PodGroup, or of the first pod of a gang without one, is an [Intent].
	IntentAnnotation = domain + "intent"
	// MemberAnnotation of a pod without its gate names its job, incarnation and term.
	MemberAnnotation = domain + "member"
	// HolderAnnotation of a claim that this program is allocating, or has allocated, is the same.
	HolderAnnotation = domain + "holder"
	// RequestAnnotation of a pod asks it for a checkpoint; the answer is in AnswerAnnotation.
	RequestAnnotation = domain + "checkpoint-request"
	// AnswerAnnotation of a pod, or of its PodGroup for all pods, is the number of the request,
	// or "failed:" and the number.
	AnswerAnnotation = domain + "checkpoint-answer"
)

// GuardTaint is the key of the device taint that keeps claims of others off: it counts as none.
const GuardTaint = domain + "guard"

// OthersQueue is the queue of claims that this program did not allocate.
const OthersQueue berth.QueueID = "claims of others"

// A DeviceKind says what a request for a DeviceClass asks for.
type DeviceKind uint8

const (
	// WholeGPU is a GPU that is not divided.
	WholeGPU DeviceKind = iota
	// Instance is a MIG instance; a CEL selector names its profile.
	Instance
)

// A Level is a level of the topology, with the keys of its labels.
type Level = fabric.LevelKeys

// Options say how a cluster is read. The zero value is valid.
type Options struct {
	// Levels are the levels of the topology, from the widest to the narrowest, with the keys of
	// the node labels that name a node's domain. A node without any of the keys of a level
	// stands in a domain of its own there. See [KueueLevels], [TopographLevels], [CliqueLevel].
	Levels []Level
	// Classes are the classes of jobs by the name of their PriorityClass; others are batch.
	Classes map[string]berth.Class
	// DeviceClasses say what requests ask for; nil: those of NVIDIA's driver, gpu.nvidia.com and
	// mig.nvidia.com.
	DeviceClasses map[string]DeviceKind
	// ConfigMap has the queues, as a JSON list of [quota.Queue] with the key "queues", and a
	// [berth.Policy] with the key "policy". Without a name there is none.
	ConfigMap types.NamespacedName
	// Term is a text that no other process has, so that what one writes is told from what another
	// does that leads at the same time, or leads no more.
	Term string
	// Policy holds until the ConfigMap has one. Its Geometry is overwritten: instances come and
	// go with their claims.
	Policy berth.Policy
}

// KueueLevels are block and rack, by the labels of the examples of Kueue.
func KueueLevels() []Level { return fabric.KueueKeys().Levels }

// TopographLevels are the levels of every generation of NVIDIA topograph. Those that no node of a
// cluster has cost a domain for each node: leave them out.
func TopographLevels() []Level { return fabric.TopographKeys().Levels }

// CliqueLevel is the NVLink domain by the label of GPU Feature Discovery.
func CliqueLevel() Level {
	return Level{Name: "clique", Keys: []string{cliqueLabel}}
}

const (
	cliqueLabel = "nvidia.com/gpu.clique"
	hostLabel   = "kubernetes.io/hostname"
)

func (o *Options) check() error {
	seen := map[string]bool{"fleet": true, "node": true}
	for i, l := range o.Levels {
		if l.Name == "" || seen[l.Name] || len(l.Keys) == 0 {
			return fmt.Errorf("translate: levels[%d]: %q is no name, is taken, or has no keys", i, l.Name)
		}
		seen[l.Name] = true
	}
	if (o.ConfigMap.Name == "") != (o.ConfigMap.Namespace == "") {
		return errors.New("translate: configMap: a name and a namespace go together")
	}
	return nil
}

// perClaim has instances come and go with their claims, as a DRA driver makes them. To divide a
// GPU costs nothing then, and nobody has to be asked.
func perClaim(p berth.Policy) berth.Policy {
	p.Geometry = []berth.Geometry{{Kind: berth.GeometryPerClaim, Cost: berth.Millisecond, Interval: berth.Millisecond, PerHour: limits.MaxPerHour}}
	return p
}

// levelOf is the level of the topology that a label key names.
func (o *Options) levelOf(key string) (string, bool) {
	if key == hostLabel {
		return "node", true
	}
	for _, l := range o.Levels {
		for _, k := range l.Keys {
			if k == key {
				return l.Name, true
			}
		}
	}
	return "", false
}

func (o *Options) kindOf(class string) (DeviceKind, bool) {
	if o.DeviceClasses != nil {
		kind, is := o.DeviceClasses[class]
		return kind, is
	}
	switch class {
	case "gpu.nvidia.com":
		return WholeGPU, true
	case "mig.nvidia.com":
		return Instance, true
	}
	return 0, false
}
