package translate

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	podresource "k8s.io/component-helpers/resource"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/nvmlsrc/dra"
)

// Driver is that of the devices that are placed.
const Driver = dra.Driver

// A node is what is known of a node by its name: the object, the slices, and what is on it.
type node struct {
	name   string
	object *corev1.Node
	slices map[string]*resourcev1.ResourceSlice
	pods   map[Key]*pod // that are bound there

	// What the slices say, once they were read. Whole pools alone count.
	stale    bool
	gpus     []berth.GPU
	names    [][]named // the devices of each GPU
	keys     []deviceKey
	unusable []bool // GPUs with a taint

	told   *berth.Node
	modes  map[int]berth.GPUMode // of GPUs, as the core has them; a GPU that is not in it is whole
	closed berth.Event           // NodeCordoned or NodeDraining that was told; nil: it is open
	seats  int                   // members that hold something there, and holders
}

// named is a device of a GPU.
type named struct {
	deviceKey
	device
}

func (c *Cluster) node(name string) *node {
	n := c.nodes[name]
	if n == nil {
		n = &node{name: name, slices: map[string]*resourcev1.ResourceSlice{}, pods: map[Key]*pod{}, modes: map[int]berth.GPUMode{}}
		c.nodes[name] = n
	}
	return n
}

func (c *Cluster) upsertSlice(o *resourcev1.ResourceSlice) {
	object := Object{"ResourceSlice", Key{Name: o.Name}}
	if o.Spec.NodeName == nil {
		told := list{object: object}
		told.note("spec.nodeName", "devices that are on no one node are not read")
		c.found(told)
		return
	}
	n := c.node(*o.Spec.NodeName)
	if !newer(n.slices[o.Name], o) {
		return
	}
	if before, is := c.slices[o.Name]; is && before != n.name {
		delete(c.nodes[before].slices, o.Name)
		c.restale(before)
	}
	n.slices[o.Name], c.slices[o.Name] = o, n.name
	c.restale(n.name)
}

func (c *Cluster) deleteSlice(o *resourcev1.ResourceSlice) {
	delete(c.findings, Object{"ResourceSlice", Key{Name: o.Name}})
	name, is := c.slices[o.Name]
	if !is || c.nodes[name].slices[o.Name].UID != o.UID {
		return
	}
	delete(c.slices, o.Name)
	delete(c.nodes[name].slices, o.Name)
	c.restale(name)
}

func (c *Cluster) restale(name string) {
	c.node(name).stale = true
	c.dirtyNodes[name] = true
}

// reread has all slices read again, as a taint rule changed.
func (c *Cluster) reread() {
	for name, n := range c.nodes {
		if len(n.slices) > 0 {
			c.restale(name)
		}
	}
}

// readDirty reads the slices of nodes of which some have changed. Claims of devices that appear or
// go are looked at again.
func (c *Cluster) readDirty() {
	for _, name := range slices.Sorted(maps.Keys(c.dirtyNodes)) {
		n := c.nodes[name]
		if n == nil || !n.stale {
			continue
		}
		n.stale = false
		c.read(n)
	}
}

func (c *Cluster) read(n *node) {
	for _, key := range n.keys {
		delete(c.devices, key)
		c.touchHolders(key)
	}
	n.gpus, n.names, n.keys, n.unusable = nil, nil, nil, nil
	findings := list{object: Object{"ResourceSlice", Key{Name: "of node " + n.name}}}
	reader := dra.NewReader("")
	for _, o := range n.whole(&findings) {
		o = withoutGuard(o)
		o.APIVersion, o.Kind = "resource.k8s.io/v1", "ResourceSlice"
		text, err := json.Marshal(o)
		if err == nil {
			_, err = reader.Take("ResourceSlice", text, 1, 1)
		}
		if err != nil {
			findings.note(o.Name, "%v", err)
			c.found(findings)
			return
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.rules)) {
		o := *c.rules[name]
		o.APIVersion, o.Kind = "resource.k8s.io/v1", "DeviceTaintRule"
		if text, err := json.Marshal(&o); err == nil {
			_, _ = reader.Take("DeviceTaintRule", text, 1, 1) // what it does not read it tells
		}
	}
	dump := reader.Dump()
	nodes, told := dump.Nodes()
	for _, s := range slices.Concat(dump.Skipped, told) {
		if !strings.Contains(s.Reason, "selects no device") { // it may be on another node
			findings.note("spec", "%s", s.Reason)
		}
	}
	c.found(findings)
	if len(nodes) != 1 || nodes[0].ID != berth.NodeID(n.name) {
		return
	}
	n.gpus = nodes[0].GPUs
	n.unusable = make([]bool, len(n.gpus))
	for i := range n.gpus {
		n.unusable[i], n.gpus[i].Failed = n.gpus[i].Failed, false
	}
	last := -1
	for i := range dump.Devices {
		d := &dump.Devices[i]
		if d.GPU != last { // in the order of the GPUs of Nodes
			last = d.GPU
			n.names = append(n.names, nil)
		}
		at := len(n.names) - 1
		key, where := deviceKey{d.Pool, d.Name}, device{n.name, at, d.Partition}
		n.names[at] = append(n.names[at], named{key, where})
		n.keys = append(n.keys, key)
		c.devices[key] = where
		c.touchHolders(key)
	}
}

// whole lists the slices of the pools of which all slices of the latest generation are there.
func (n *node) whole(findings *list) []*resourcev1.ResourceSlice {
	type pool struct {
		generation, want int64
		have             []*resourcev1.ResourceSlice
	}
	pools := map[string]*pool{}
	for _, name := range slices.Sorted(maps.Keys(n.slices)) {
		o := n.slices[name]
		spec := &o.Spec.Pool
		p := pools[spec.Name]
		switch {
		case p == nil || spec.Generation > p.generation:
			p = &pool{spec.Generation, spec.ResourceSliceCount, nil}
			pools[spec.Name] = p
		case spec.Generation < p.generation:
			continue
		}
		p.have = append(p.have, o)
	}
	var all []*resourcev1.ResourceSlice
	for _, name := range slices.Sorted(maps.Keys(pools)) {
		if p := pools[name]; int64(len(p.have)) == p.want {
			all = append(all, p.have...)
		} else {
			findings.note("spec.pool."+name, "not all slices of the pool are there: none of its devices counts")
		}
	}
	return all
}

// withoutGuard is a copy of a slice in which the taint of this program is not.
func withoutGuard(o *resourcev1.ResourceSlice) *resourcev1.ResourceSlice {
	is := func(t resourcev1.DeviceTaint) bool { return t.Key == GuardTaint }
	copied := *o
	copied.Spec.Devices = slices.Clone(o.Spec.Devices)
	for i := range copied.Spec.Devices {
		d := &copied.Spec.Devices[i]
		if slices.ContainsFunc(d.Taints, is) {
			d.Taints = slices.DeleteFunc(slices.Clone(d.Taints), is)
		}
	}
	return &copied
}

// describe is the node as it is now, and the event that closes it; nil: it is open.
func (c *Cluster) describe(n *node) (berth.Node, berth.Event) {
	findings := list{object: Object{"Node", Key{Name: n.name}}}
	d := berth.Node{ID: berth.NodeID(n.name), Labels: n.object.Labels, GPUs: slices.Clone(n.gpus)}
	for _, l := range c.options.Levels {
		domain := ""
		for _, key := range l.Keys {
			if domain = n.object.Labels[key]; domain != "" {
				break
			}
		}
		if domain == "" {
			domain = "node " + n.name
			findings.note("metadata.labels", "no label of the level %s: it has a domain of its own there", l.Name)
		}
		d.Domains = append(d.Domains, domain)
	}
	cpu, memory := n.object.Status.Allocatable.Cpu().MilliValue(), n.object.Status.Allocatable.Memory().Value()
	for _, key := range slices.SortedFunc(maps.Keys(n.pods), Key.compare) {
		p := n.pods[key]
		if p.seat != nil || p.over() {
			continue
		}
		used := podresource.PodRequests(p.object, podresource.PodResourcesOptions{})
		cpu -= used.Cpu().MilliValue()
		memory -= used.Memory().Value()
		if gpus := used["nvidia.com/gpu"]; !gpus.IsZero() && len(n.gpus) > 0 {
			findings.note("pod "+key.String(), "has GPUs of a device plugin on a node with DRA: they are not seen to be in use")
		}
	}
	d.CPUMilli, d.MemoryMiB = max(cpu, 0), max(memory, 0)>>20
	for i := range d.GPUs {
		d.GPUs[i].Clique = n.object.Labels[cliqueLabel]
	}
	d.Taints = taintsOf(n.object, &findings)
	closed := closedBy(n.object, &findings)
	c.found(findings)
	return d, closed
}

// closedBy is the event by which a node takes no new work; nil: it takes some. A drain tells the
// members that are there to go, too.
func closedBy(o *corev1.Node, findings *list) berth.Event {
	at := slices.IndexFunc(o.Spec.Taints, func(t corev1.Taint) bool { return t.Key == DrainTaint })
	if at < 0 {
		if o.Spec.Unschedulable {
			return berth.NodeCordoned{Node: berth.NodeID(o.Name), Reason: "cordoned"}
		}
		return nil
	}
	drain := berth.NodeDraining{Node: berth.NodeID(o.Name), Reason: cmp.Or(o.Spec.Taints[at].Value, "the taint "+DrainTaint)}
	if text := o.Annotations[DrainByAnnotation]; text != "" {
		by, err := time.Parse(time.RFC3339, text)
		if err != nil || by.UnixMilli() <= 0 {
			findings.note("metadata.annotations", "%s is no instant such as 2027-01-02T15:04:05Z: the drain has no deadline", DrainByAnnotation)
		} else {
			drain.Deadline = berth.TimeOf(by)
		}
	}
	return drain
}

// taintsOf are the taints that keep pods off. One key may have a taint of each effect: one counts.
func taintsOf(o *corev1.Node, findings *list) []berth.Taint {
	var taints []berth.Taint
	for _, t := range o.Spec.Taints {
		taint := berth.Taint{Key: t.Key, Value: t.Value, Effect: berth.TaintNoSchedule}
		switch at := slices.IndexFunc(taints, func(u berth.Taint) bool { return u.Key == t.Key }); {
		case t.Effect == corev1.TaintEffectPreferNoSchedule, t.Key == corev1.TaintNodeUnschedulable, t.Key == DrainTaint:
		case at < 0:
			taints = append(taints, taint)
		case taints[at] != taint:
			findings.note("spec.taints", "of two taints with the key %s the first counts", t.Key)
		}
	}
	slices.SortFunc(taints, func(a, b berth.Taint) int { return strings.Compare(a.Key, b.Key) })
	return taints
}

// shape is what may not change under members.
func shape(d *berth.Node) berth.Node {
	s := berth.Node{Pool: d.Pool, Domains: d.Domains, GPUs: slices.Clone(d.GPUs)}
	for i := range s.GPUs {
		g := &s.GPUs[i]
		g.Failed, g.UUID, g.PCI = false, "", ""
	}
	return s
}

// tellNode tells what is new about a node.
func (c *Cluster) tellNode(n *node) {
	id, inUse := berth.NodeID(n.name), n.seats > 0
	var closed berth.Event
	var want berth.Node
	switch {
	case n.object != nil:
		want, closed = c.describe(n)
	case n.told == nil || !inUse:
		if n.told != nil {
			c.tell(berth.NodeLost{Node: id, Reason: "its Node object is gone"})
			n.told, n.closed = nil, nil
		}
		delete(c.findings, Object{"Node", Key{Name: n.name}})
		if len(n.slices)+len(n.pods) == 0 {
			delete(c.nodes, n.name)
			delete(c.findings, Object{"ResourceSlice", Key{Name: "of node " + n.name}})
		}
		return
	default:
		want, closed = *n.told, berth.NodeCordoned{Node: id, Reason: "its Node object is gone"}
	}
	if n.told != nil && inUse {
		if now, was := shape(&want), shape(n.told); !reflect.DeepEqual(now, was) {
			want.Domains, want.GPUs = n.told.Domains, n.told.GPUs
			closed = berth.NodeCordoned{Node: id, Reason: "its devices or its domains have changed under members"}
		}
	}
	want.GPUs = slices.Clone(want.GPUs)
	failed := make([]bool, len(want.GPUs))
	for i := range want.GPUs {
		failed[i] = i < len(n.unusable) && n.unusable[i] && !c.gpuInUse(n, i)
		if n.told == nil {
			want.GPUs[i].Failed = failed[i]
		} else {
			want.GPUs[i].Failed = i < len(n.told.GPUs) && n.told.GPUs[i].Failed
		}
	}
	switch {
	case n.told == nil:
		c.tell(berth.NodeJoined{Node: want})
		clear(n.modes)
		for i := range want.GPUs {
			n.modes[i] = want.GPUs[i].Mode
		}
		for key := range c.waitingGangs { // each by itself
			c.dirtyGangs[key] = true
		}
		clear(c.waitingGangs)
		for _, key := range n.keys {
			c.touchHolders(key)
		}
	case !reflect.DeepEqual(want, *n.told):
		c.tell(berth.NodeUpdated{Node: want})
	}
	n.told = &want
	for i := range want.GPUs {
		switch {
		case failed[i] && !want.GPUs[i].Failed:
			c.tell(berth.GPUFailed{Node: id, GPU: i, Reason: "a device taint"})
		case !failed[i] && want.GPUs[i].Failed: // the taint is gone, or a claim holds it all the same
			c.tell(berth.GPURepaired{Node: id, GPU: i})
		default:
			continue
		}
		want.GPUs[i].Failed = failed[i]
	}
	switch {
	case closed == n.closed:
	case closed == nil:
		c.tell(berth.NodeUncordoned{Node: id})
	default:
		c.tell(closed)
	}
	n.closed = closed
}

// gpuInUse reports whether a claim has a device of a GPU, or is to have one.
func (c *Cluster) gpuInUse(n *node, gpu int) bool {
	return gpu < len(n.names) && slices.ContainsFunc(n.names[gpu], func(d named) bool {
		return len(c.held[d.deviceKey]) > 0 || c.promised[d.deviceKey] > 0
	})
}
