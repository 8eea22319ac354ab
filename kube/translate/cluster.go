package translate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/mig"
)

// A Cluster is what was seen of a cluster, and what a core was told of it. Objects that it is given
// are kept, and not changed. Its methods are called from one goroutine at a time.
//
// Invariants, after each call:
//  1. A node is told if its Node object is there, or if a member or a claim holds something on it.
//  2. Each allocated device of a told node is held by a seat of a gang, or by a holder.
//  3. What an event says was not said before, or has changed since.
type Cluster struct {
	options Options
	synced  bool

	nodes  map[string]*node
	slices map[string]string // node by name of the slice
	claims map[Key]*claim
	pods   map[Key]*pod
	groups map[Key]*schedulingv1beta1.PodGroup
	rules  map[string]*resourcev1.DeviceTaintRule
	gangs  map[gangKey]*gang
	jobs   map[berth.JobID]*gang
	// holders are the claims of others that are told, holderOf their keys by job.
	holders  map[Key]*holder
	holderOf map[berth.JobID]Key
	// devices by pool and name, and which claims have them.
	devices map[deviceKey]device
	held    map[deviceKey][]Key
	// promised counts the seats that have a device, or are to have it.
	promised map[deviceKey]int
	// users are the pods that name a claim.
	users map[Key]map[Key]bool
	// seats by claim.
	seats map[Key]*seat

	configMap     *corev1.ConfigMap
	configChanged bool
	queues        map[berth.QueueID]queueTold
	policyTold    *berth.Policy

	// What may have to be told anew.
	dirtyNodes   map[string]bool
	dirtyClaims  map[Key]bool
	dirtyGangs   map[gangKey]bool
	waitingGangs map[gangKey]bool // for a node
	findings     map[Object][]Finding
	events       []berth.Event
}

// New makes a Cluster of which nothing was seen. It refuses options that contradict themselves.
func New(options Options) (*Cluster, error) {
	if err := options.check(); err != nil {
		return nil, err
	}
	return &Cluster{
		options: options,
		nodes:   map[string]*node{}, slices: map[string]string{}, claims: map[Key]*claim{}, pods: map[Key]*pod{},
		groups: map[Key]*schedulingv1beta1.PodGroup{}, rules: map[string]*resourcev1.DeviceTaintRule{},
		gangs: map[gangKey]*gang{}, jobs: map[berth.JobID]*gang{}, holders: map[Key]*holder{}, holderOf: map[berth.JobID]Key{},
		devices: map[deviceKey]device{}, held: map[deviceKey][]Key{}, promised: map[deviceKey]int{}, seats: map[Key]*seat{}, users: map[Key]map[Key]bool{},
		queues:     map[berth.QueueID]queueTold{},
		dirtyNodes: map[string]bool{}, dirtyClaims: map[Key]bool{}, dirtyGangs: map[gangKey]bool{}, waitingGangs: map[gangKey]bool{},
		findings: map[Object][]Finding{},
	}, nil
}

// Config is what the core is made with.
func (c *Cluster) Config() berth.Config {
	config := berth.Config{Policy: perClaim(c.options.Policy)}
	for _, l := range c.options.Levels {
		config.Levels = append(config.Levels, l.Name)
	}
	return config
}

// Upsert takes an object as it is now and returns the events that follow, none before Synced.
// Kinds: *Node, *Pod and *ConfigMap of core/v1, *ResourceSlice, *ResourceClaim and
// *DeviceTaintRule of resource.k8s.io/v1, *PodGroup of scheduling.k8s.io/v1beta1; others are passed
// over. Cost: what depends on the object, which for a pod is its gang and its node.
func (c *Cluster) Upsert(object metav1.Object) []berth.Event {
	key := keyOf(object)
	switch o := object.(type) {
	case *corev1.Node:
		n := c.node(o.Name)
		if newer(n.object, o) {
			n.object = o
			c.dirtyNodes[o.Name] = true
		}
	case *resourcev1.ResourceSlice:
		if o.Spec.Driver == Driver {
			c.upsertSlice(o)
		}
	case *resourcev1.ResourceClaim:
		c.upsertClaim(key, o)
	case *corev1.Pod:
		c.upsertPod(key, o)
	case *schedulingv1beta1.PodGroup:
		if newer(c.groups[key], o) {
			c.groups[key] = o
			c.dirtyGangs[gangKey{byGroup, key}] = true
		}
	case *resourcev1.DeviceTaintRule:
		if o.Spec.Taint.Key != GuardTaint && newer(c.rules[o.Name], o) {
			c.rules[o.Name] = o
			c.reread()
		}
	case *corev1.ConfigMap:
		if c.isConfig(key) && newer(c.configMap, o) {
			c.configMap, c.configChanged = o, true
		}
	}
	return c.settle()
}

// Refresh is Upsert for an object that was just written: unlike one of a watch it may be gone
// already, and is passed over unless that very object is kept.
func (c *Cluster) Refresh(object metav1.Object) []berth.Event {
	key := keyOf(object)
	var kept metav1.Object
	switch object.(type) {
	case *resourcev1.ResourceClaim:
		if cl := c.claims[key]; cl != nil {
			kept = cl.object
		}
	case *corev1.Pod:
		if p := c.pods[key]; p != nil {
			kept = p.object
		}
	case *schedulingv1beta1.PodGroup:
		if g := c.groups[key]; g != nil {
			kept = g
		}
	}
	if kept == nil || kept.GetUID() != object.GetUID() {
		return nil
	}
	return c.Upsert(object)
}

// Delete takes an object that is gone and returns the events that follow.
func (c *Cluster) Delete(object metav1.Object) []berth.Event {
	key := keyOf(object)
	switch o := object.(type) {
	case *corev1.Node:
		if n := c.nodes[o.Name]; n != nil && n.object != nil && n.object.UID == o.UID {
			n.object = nil
			c.dirtyNodes[o.Name] = true
		}
	case *resourcev1.ResourceSlice:
		c.deleteSlice(o)
	case *resourcev1.ResourceClaim:
		if cl := c.claims[key]; cl != nil && cl.object.UID == o.UID {
			c.deleteClaim(key)
		}
	case *corev1.Pod:
		if p := c.pods[key]; p != nil && p.object.UID == o.UID {
			c.deletePod(key)
		}
	case *schedulingv1beta1.PodGroup:
		if g := c.groups[key]; g != nil && g.UID == o.UID {
			delete(c.groups, key)
			c.dirtyGangs[gangKey{byGroup, key}] = true
		}
	case *resourcev1.DeviceTaintRule:
		if r := c.rules[o.Name]; r != nil && r.UID == o.UID {
			delete(c.rules, o.Name)
			c.reread()
		}
	case *corev1.ConfigMap:
		if c.isConfig(key) && c.configMap != nil && c.configMap.UID == o.UID {
			c.configMap, c.configChanged = nil, true
		}
	}
	return c.settle()
}

// Synced says that all objects that the first lists had were given, and returns the events of all
// of them. Until then a gang of which half of the pods were listed would look like half a gang.
func (c *Cluster) Synced() []berth.Event {
	c.synced, c.configChanged = true, true
	return c.settle()
}

// settle tells what has changed: first what ends, then queues and nodes, gangs, and claims of
// others. What a step changes for one before it is looked at again.
func (c *Cluster) settle() []berth.Event {
	if !c.synced {
		return nil
	}
	c.events = nil
	for round := 0; round < 8 && (len(c.dirtyNodes)+len(c.dirtyClaims)+len(c.dirtyGangs) > 0 || c.configChanged); round++ {
		c.readDirty()
		c.endHolders()
		gangs := take(c.dirtyGangs, gangKey.compare)
		for _, key := range gangs {
			if g := c.gangOf(key); g != nil && g.told != nil {
				c.follow(g)
			}
		}
		c.tellConfig()
		for _, name := range take(c.dirtyNodes, strings.Compare) {
			c.tellNode(c.node(name))
		}
		for _, key := range gangs {
			if g := c.gangOf(key); g != nil {
				c.begin(g)
			}
		}
		c.beginHolders() // what gangs hold is theirs
	}
	events := c.events
	c.events = nil
	return events
}

func (c *Cluster) tell(e berth.Event) { c.events = append(c.events, e) }

// Refused says that the core refused an event. The finding names it, and the event is told again
// when something about its object changes. A Finding is told for it.
func (c *Cluster) Refused(e berth.Event, err error) {
	o, field := Object{Kind: "Core"}, e.Kind()
	switch e := e.(type) {
	case berth.NodeJoined:
		o = Object{"Node", Key{Name: string(e.Node.ID)}}
		c.node(string(e.Node.ID)).told = nil
	case berth.NodeUpdated:
		o = Object{"Node", Key{Name: string(e.Node.ID)}}
	case berth.JobSubmitted:
		o = c.refusedJob(e.Job.ID)
	case berth.JobObserved:
		o = c.refusedJob(e.Job.ID)
	case berth.QueueSet:
		o = Object{"Queue", Key{Name: string(e.Queue.Name)}}
		delete(c.queues, e.Queue.Name)
	case berth.QueueRemoved:
		o = Object{"Queue", Key{Name: string(e.Queue)}}
	}
	told := list{o, slices.Clone(c.findings[o])}
	told.block(field, "the core refuses it: %v", err)
	c.found(told)
}

// refusedJob takes back that a job was told.
func (c *Cluster) refusedJob(id berth.JobID) Object {
	if g := c.jobs[id]; g != nil {
		c.forget(g)
		delete(c.dirtyGangs, g.key) // until something changes about it
		return g.key.object()
	}
	if key, is := c.holderOf[id]; is {
		c.dropHolder(key)
		return Object{"ResourceClaim", key}
	}
	return Object{"Job", Key{Name: string(id)}}
}

// Object is the object that stands for a job: its PodGroup, pod or claim.
func (c *Cluster) Object(id berth.JobID) (Object, types.UID, bool) {
	if g := c.jobs[id]; g != nil {
		o, uid := c.sourceOf(g)
		return o, uid, uid != ""
	}
	if key, is := c.holderOf[id]; is && c.claims[key] != nil {
		return Object{"ResourceClaim", key}, c.claims[key].object.UID, true
	}
	return Object{}, "", false
}

func keyOf(o metav1.Object) Key { return Key{o.GetNamespace(), o.GetName()} }

// newer reports whether an object is to be kept in place of another of its name: it is another
// object, or a later state of the same.
func newer[T interface {
	comparable
	metav1.Object
}](kept, o T) bool {
	var none T
	if kept == none || kept.GetUID() != o.GetUID() {
		return true
	}
	order, err := resourceversion.CompareResourceVersion(kept.GetResourceVersion(), o.GetResourceVersion())
	return err != nil || order < 0
}

// take empties a set, in order.
func take[K comparable](set map[K]bool, compare func(K, K) int) []K {
	keys := slices.SortedFunc(maps.Keys(set), compare)
	clear(set)
	return keys
}

// serial makes the ID of a job of what is named by the beginning of the UID of its object, since
// names are used again, and by how many jobs it had before.
func serial(name string, uid types.UID, before int) berth.JobID {
	id := fmt.Sprintf("%s@%.8s", name, uid)
	if before > 0 {
		id += fmt.Sprintf(".%d", before)
	}
	return berth.JobID(id)
}

// A deviceKey names a device of the driver.
type deviceKey struct{ pool, name string }

// A device is where a device is: the GPU by its position in the node, and the partition.
type device struct {
	node      string
	gpu       int
	partition mig.Placement
}

func (d device) compare(e device) int {
	return cmp.Or(strings.Compare(d.node, e.node), cmp.Compare(d.gpu, e.gpu), d.partition.Compare(e.partition))
}
