package translate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/quota"
)

// A gangKey names what a gang is made of.
type gangKey struct {
	by byte
	Key
}

const (
	byGroup byte = 'g' // a PodGroup
	byLabel byte = 'l' // GangLabel
	byPod   byte = 'p' // a pod by itself
)

func (k gangKey) compare(l gangKey) int { return cmp.Or(cmp.Compare(k.by, l.by), k.Key.compare(l.Key)) }

func (k gangKey) object() Object {
	switch k.by {
	case byGroup:
		return Object{"PodGroup", k.Key}
	case byLabel:
		return Object{"Gang", k.Key}
	}
	return Object{"Pod", k.Key}
}

// name is the job's name, which its ID begins with.
func (k gangKey) name() string {
	switch k.by {
	case byLabel:
		return "gang " + k.Key.String()
	case byPod:
		return "pod " + k.Key.String()
	}
	return k.Key.String()
}

func gangOf(key Key, o *corev1.Pod) gangKey {
	if g := o.Spec.SchedulingGroup; g != nil && g.PodGroupName != nil {
		return gangKey{byGroup, Key{key.Namespace, *g.PodGroupName}}
	}
	if name := o.Labels[GangLabel]; name != "" {
		return gangKey{byLabel, Key{key.Namespace, name}}
	}
	return gangKey{byPod, key}
}

// A gang is pods that start together, and the job that the core was told of.
type gang struct {
	key  gangKey
	pods map[Key]*pod
	told *told
	had  int // jobs that were told of before
}

// told is a job of a gang.
type told struct {
	id  berth.JobID
	job berth.Job
	// slots are the pods of the members, in the order of groups and indexes; nil: there is none.
	slots []slot
	// incarnation of the life that has these seats.
	incarnation berth.Incarnation
	order       berth.OrderID
	seats       map[berth.MemberRef]*seat
}

type slot struct {
	member berth.MemberRef
	pod    *pod
}

// A seat is a member that is being started or runs, or that has ended and is not reported yet: what
// it holds is in use.
type seat struct {
	Seat
	gang      gangKey
	placement berth.MemberPlacement
	succeeded bool
}

func (c *Cluster) gang(key gangKey) *gang {
	g := c.gangs[key]
	if g == nil {
		g = &gang{key: key, pods: map[Key]*pod{}}
		c.gangs[key] = g
	}
	return g
}

// gangOf is a gang that is there; one of which nothing is left is forgotten.
func (c *Cluster) gangOf(key gangKey) *gang {
	g := c.gangs[key]
	if g == nil && key.by == byGroup && c.groups[key.Key] != nil {
		return c.gang(key)
	}
	if g != nil && g.told == nil && len(g.pods) == 0 && (key.by != byGroup || c.groups[key.Key] == nil) {
		delete(c.gangs, key)
		delete(c.findings, key.object())
		return nil
	}
	return g
}

// sourceOf is the object that stands for a gang: its PodGroup, or its first pod.
func (c *Cluster) sourceOf(g *gang) (Object, types.UID) {
	if g.key.by == byGroup {
		if o := c.groups[g.key.Key]; o != nil {
			return Object{"PodGroup", g.key.Key}, o.UID
		}
		return Object{"PodGroup", g.key.Key}, ""
	}
	if pods := g.inOrder(); len(pods) > 0 {
		return Object{"Pod", pods[0].key}, pods[0].object.UID
	}
	return g.key.object(), ""
}

// inOrder lists the pods by the index that their controller gave them, and by name.
func (g *gang) inOrder() []*pod {
	return slices.SortedFunc(maps.Values(g.pods), func(a, b *pod) int {
		return cmp.Or(cmp.Compare(indexOf(a.object), indexOf(b.object)), a.key.compare(b.key))
	})
}

func indexOf(o *corev1.Pod) int {
	for _, key := range []string{"batch.kubernetes.io/job-completion-index", "apps.kubernetes.io/pod-index"} {
		if i, err := strconv.Atoi(o.Labels[key]); err == nil {
			return i
		}
	}
	return 0
}

// begin tells a gang that the core does not know: as one that runs, where members hold something,
// or as one that waits, once it is whole.
func (c *Cluster) begin(g *gang) {
	if g.told != nil {
		c.fill(g)
		return
	}
	pods := g.inOrder()
	if len(pods) == 0 {
		c.found(list{object: g.key.object()})
		return
	}
	placed := slices.ContainsFunc(pods, func(p *pod) bool { return !p.over() && c.placed(p) })
	gated := slices.DeleteFunc(pods, func(p *pod) bool { return !p.gated() })
	if placed {
		c.observe(g)
		return
	}
	findings := list{object: g.key.object()}
	size := c.sizeOf(g, &findings)
	switch {
	case findings.blocks(), size == 0:
	case len(gated) < size:
		findings.note("", "%d of %d pods are there to be placed", len(gated), size)
	default:
		if slices.ContainsFunc(gated, c.unclean) {
			findings.note("", "what was begun before is being undone")
			break
		}
		job, slots, ready := c.describeJob(g, gated, size, &findings)
		if !ready || findings.blocks() || !c.queueIs(job.Queue, g, &findings) {
			break
		}
		job.ID = serial(g.key.name(), c.uidOf(g), g.had)
		g.had++
		g.told = &told{id: job.ID, job: job, slots: slots, seats: map[berth.MemberRef]*seat{}}
		c.jobs[job.ID] = g
		c.tell(berth.JobSubmitted{Job: job})
	}
	c.found(findings)
}

// uidOf is the UID by which the jobs of a gang are told from those of another of its name.
func (c *Cluster) uidOf(g *gang) types.UID {
	_, uid := c.sourceOf(g)
	return uid
}

// sizeOf is the number of pods with which a gang starts; 0: not known yet.
func (c *Cluster) sizeOf(g *gang, findings *list) int {
	switch g.key.by {
	case byGroup:
		o := c.groups[g.key.Key]
		switch {
		case o == nil:
			findings.note("", "its pods name a PodGroup that is not there")
			return 0
		case o.Spec.SchedulingPolicy.Gang == nil:
			return 1
		}
		return int(o.Spec.SchedulingPolicy.Gang.MinCount)
	case byLabel:
		if len(g.pods) == 0 {
			return 0
		}
		first := g.inOrder()[0]
		n, err := strconv.Atoi(first.object.Annotations[SizeAnnotation])
		if err != nil || n < 1 {
			findings.block("metadata.annotations", "the pod %s does not say of how many pods its gang is: %s", first.key.Name, SizeAnnotation)
			return 0
		}
		return n
	}
	return 1
}

// describeJob is the job of a gang of these pods, of which least are enough; false: not all claims
// are there yet.
func (c *Cluster) describeJob(g *gang, pods []*pod, least int, findings *list) (berth.Job, []slot, bool) {
	first := pods[0].object
	about, group := first.Annotations, c.groups[g.key.Key]
	labels, class, priority := first.Labels, first.Spec.PriorityClassName, first.Spec.Priority
	job := berth.Job{Tenant: berth.TenantID(g.key.Namespace)}
	if g.key.by == byGroup && group != nil {
		about, labels = merged(about, group.Annotations), merged(labels, group.Labels)
		class, priority = cmp.Or(group.Spec.PriorityClassName, class), cmp.Or(group.Spec.Priority, priority)
		c.describeGroup(group, &job, findings)
	}
	if key := about[TopologyAnnotation]; key != "" {
		c.require(key, "metadata.annotations", &job, findings)
	}
	job.Queue = berth.QueueID(cmp.Or(labels[QueueLabel], g.key.Namespace))
	job.User = cmp.Or(labels[UserLabel], g.key.Namespace)
	job.Class = c.options.Classes[class]
	if priority != nil {
		job.Priority = *priority
	}
	if text := about[CheckpointAnnotation]; text != "" {
		d := json.NewDecoder(strings.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(&job.Checkpoint); err != nil {
			findings.block("metadata.annotations", "%s: %v", CheckpointAnnotation, err)
		}
	}
	if text := about[RuntimeAnnotation]; text != "" {
		d, err := berth.ParseDuration(text)
		if err != nil {
			findings.block("metadata.annotations", "%s: %v", RuntimeAnnotation, err)
		}
		job.ExpectedRuntime = d
	}
	slots, ready := c.groupsOf(pods, &job, findings)
	all := g.key.by == byGroup && group != nil && group.Spec.DisruptionMode != nil && group.Spec.DisruptionMode.All != nil
	switch surplus := len(pods) - least; {
	case surplus <= 0 || all:
	case len(job.Groups) == 1:
		job.Groups[0].MinMembers = least
	default:
		findings.note("spec.schedulingPolicy.gang.minCount", "of pods of several kinds all have to start: %d", len(pods))
	}
	return job, slots, ready
}

// groupsOf divides pods into groups of those that ask for the same, in the order of the first pods.
func (c *Cluster) groupsOf(pods []*pod, job *berth.Job, findings *list) (slots []slot, ready bool) {
	ready = true
	var members [][]*pod
	for _, p := range pods {
		t := c.termsOf(p)
		c.found(t.findings)
		if t.findings.blocks() {
			findings.block("", "the pod %s cannot be placed: see there", p.key.Name)
		}
		ready = ready && t.ready
		at := slices.IndexFunc(job.Groups, t.fits)
		if at < 0 {
			at = len(job.Groups)
			job.Groups = append(job.Groups, berth.Group{Claim: t.claim, Selector: t.selector})
			members = append(members, nil)
		}
		job.Groups[at].Members++
		members[at] = append(members[at], p)
	}
	for i := range job.Groups {
		if len(job.Groups) > 1 {
			job.Groups[i].Name = "kind-" + strconv.Itoa(i)
		}
		for index, p := range members[i] {
			slots = append(slots, slot{berth.MemberRef{Group: job.Groups[i].Name, Index: index}, p})
		}
	}
	return slots, ready
}

// fits reports whether a pod is of the kind of a group.
func (t *terms) fits(g berth.Group) bool {
	return reflect.DeepEqual(g.Claim, t.claim) && reflect.DeepEqual(g.Selector, t.selector)
}

func (c *Cluster) describeGroup(o *schedulingv1beta1.PodGroup, job *berth.Job, findings *list) {
	if s := o.Spec.SchedulingConstraints; s != nil {
		for _, t := range s.Topology {
			c.require(t.Key, "spec.schedulingConstraints.topology", job, findings)
		}
	}
	if len(o.Spec.ResourceClaims) > 0 {
		findings.block("spec.resourceClaims", "claims of a PodGroup are not allocated")
	}
	if o.Spec.ParentCompositePodGroupName != nil {
		findings.note("spec.parentCompositePodGroupName", "the PodGroup starts by itself")
	}
	if p := o.Spec.PreemptionPolicy; p != nil && *p == schedulingv1beta1.PreemptNever {
		findings.note("spec.preemptionPolicy", "Never is not kept: the policy of berth and quota decide")
	}
}

func (c *Cluster) require(key, field string, job *berth.Job, findings *list) {
	level, is := c.options.levelOf(key)
	if !is {
		findings.block(field, "the key %q is that of no level", key)
	}
	job.Topology.Required = level
}

// queueIs reports whether the queue of a gang is there. That of a namespace is made.
func (c *Cluster) queueIs(queue berth.QueueID, g *gang, findings *list) bool {
	if _, is := c.queues[queue]; is {
		return true
	}
	if queue == berth.QueueID(g.key.Namespace) {
		c.setQueue(quota.Queue{Name: queue}, false)
		return true
	}
	findings.block("metadata.labels", "there is no queue %q", queue)
	return false
}

// merged are labels or annotations, of which those of the second are stronger.
func merged(a, b map[string]string) map[string]string {
	m := maps.Clone(a)
	if m == nil {
		m = map[string]string{}
	}
	maps.Copy(m, b)
	return m
}

// placed reports whether a pod is past its gate, or is to be let past it: the intent of its gang
// names it, and a pod that it names is past its gate, or all of them have what they ask for.
func (c *Cluster) placed(p *pod) bool {
	if !p.gated() {
		return p.object.Annotations[MemberAnnotation] != "" && len(p.object.Spec.SchedulingGates) == 0
	}
	g := c.gang(p.gang)
	in, is := c.intentOf(g)
	if !is || in.Nodes[p.object.UID] == "" || !c.allocated(p) {
		return false
	}
	complete := 0
	for _, q := range g.pods { // in any order
		switch {
		case in.Nodes[q.object.UID] == "":
		case q.object.Annotations[MemberAnnotation] == in.holder():
			return true
		case c.allocated(q):
			complete++
		}
	}
	return complete == len(in.Nodes)
}

// allocated reports whether all claims of a pod were allocated by this program.
func (c *Cluster) allocated(p *pod) bool {
	return len(p.claims) == len(p.object.Spec.ResourceClaims) && !slices.ContainsFunc(p.claims, func(key Key) bool {
		cl := c.claims[key]
		return cl == nil || cl.object.Status.Allocation == nil || cl.object.Annotations[HolderAnnotation] == ""
	})
}

// intentOf is the intent of a gang: that of its PodGroup, or of any of its pods.
func (c *Cluster) intentOf(g *gang) (Intent, bool) {
	var text string
	if g.key.by == byGroup {
		if o := c.groups[g.key.Key]; o != nil {
			text = o.Annotations[IntentAnnotation]
		}
	} else {
		for _, p := range g.inOrder() {
			if text = p.object.Annotations[IntentAnnotation]; text != "" {
				break
			}
		}
	}
	var in Intent
	if text == "" || json.Unmarshal([]byte(text), &in) != nil {
		return Intent{}, false
	}
	return in, true
}

// unclean reports whether a pod that waits has a claim that was begun to be allocated.
func (c *Cluster) unclean(p *pod) bool {
	return slices.ContainsFunc(p.claims, func(key Key) bool {
		cl := c.claims[key]
		return cl != nil && (cl.object.Status.Allocation != nil || cl.object.Annotations[HolderAnnotation] != "")
	})
}

// observe tells a gang that runs, as it is found: of each group the members that are there are
// enough. Pods that were not placed with them grow into it.
func (c *Cluster) observe(g *gang) {
	findings := list{object: g.key.object()}
	defer func() { c.found(findings) }()
	in, _ := c.intentOf(g)
	var pods []*pod
	for _, p := range g.inOrder() {
		if !p.over() && (p.gated() || c.placed(p)) {
			pods = append(pods, p)
		}
	}
	job, slots, _ := c.describeJob(g, pods, len(pods), &findings)
	if !c.queueIs(job.Queue, g, &findings) {
		return
	}
	running := berth.ObservedReplica{Incarnation: cmp.Or(in.Incarnation, 1)}
	seats := map[berth.MemberRef]*seat{}
	counts := map[string]int{}
	for _, s := range slots {
		if !c.placed(s.pod) {
			continue
		}
		one, ok := c.seatOf(s, in)
		if !ok {
			findings.note("", "the pod %s holds something on a node that is not known", s.pod.key.Name)
			c.waitingGangs[g.key] = true
			return
		}
		one.gang = g.key
		seats[s.member] = one
		counts[s.member.Group]++
		running.Members = append(running.Members, one.placement)
		running.Started = max(running.Started, berth.TimeOf(s.pod.object.CreationTimestamp.Time))
	}
	groups := job.Groups
	job.Groups = nil
	for _, group := range groups {
		n := counts[group.Name]
		if n == 0 {
			findings.note("", "pods of another kind than those that run wait until these have ended")
			continue
		}
		if group.MinMembers = 0; n < group.Members {
			group.MinMembers = n
		}
		job.Groups = append(job.Groups, group)
	}
	slots = slices.DeleteFunc(slots, func(s slot) bool { return counts[s.member.Group] == 0 })
	job.ID = serial(g.key.name(), c.uidOf(g), g.had)
	g.had++
	g.told = &told{id: job.ID, job: job, slots: slots, incarnation: running.Incarnation, seats: map[berth.MemberRef]*seat{}}
	c.jobs[job.ID] = g
	for _, s := range slots { // what was told as that of others
		for _, key := range s.pod.claims {
			if seats[s.member] != nil && c.holders[key] != nil {
				c.endHolder(key)
			}
		}
	}
	c.take(g, seats)
	for i := range running.Members {
		c.inMode(&running.Members[i])
	}
	c.tell(berth.JobObserved{Job: job, Running: []berth.ObservedReplica{running}})
}

// seatOf is what the pod of a slot holds already.
func (c *Cluster) seatOf(s slot, in Intent) (*seat, bool) {
	p := s.pod
	one := &seat{Seat: Seat{Member: s.member, Pod: p.key, UID: p.object.UID}}
	one.placement.Group, one.placement.Index = s.member.Group, s.member.Index
	one.Node = cmp.Or(p.object.Spec.NodeName, in.Nodes[p.object.UID], narrowedTo(p.object))
	for _, key := range p.claims {
		cl := c.claims[key]
		if cl == nil {
			continue
		}
		a, is := allocationOf(cl.object)
		if !is {
			continue
		}
		one.Claims = append(one.Claims, a)
		for _, d := range heldBy(cl.object) {
			where, known := c.devices[d]
			if !known {
				return nil, false
			}
			one.Node = cmp.Or(one.Node, where.node)
			one.placement.GPUs |= 1 << where.gpu
			if where.partition != (mig.Placement{}) {
				one.placement.Instance = where.partition
			}
		}
	}
	one.placement.Node = berth.NodeID(one.Node)
	return one, one.Node != "" && c.node(one.Node).told != nil
}

// take seats members of a gang.
func (c *Cluster) take(g *gang, seats map[berth.MemberRef]*seat) {
	for ref, s := range seats { // each by itself
		g.told.seats[ref] = s
		c.node(s.Node).seats++
		c.dirtyNodes[s.Node] = true
		for _, a := range s.Claims {
			key := Key{s.Pod.Namespace, a.Claim}
			c.seats[key] = s
			c.dirtyClaims[key] = true
			for _, d := range a.Devices {
				c.promised[deviceKey{d.Pool, d.Name}]++
			}
		}
		if p := c.pods[s.Pod]; p != nil && p.object.UID == s.UID {
			p.seat = s
		}
	}
}

// leave ends that a member holds something.
func (c *Cluster) leave(g *gang, ref berth.MemberRef) {
	s := g.told.seats[ref]
	if s == nil {
		return
	}
	delete(g.told.seats, ref)
	c.node(s.Node).seats--
	c.dirtyNodes[s.Node] = true
	for _, a := range s.Claims {
		key := Key{s.Pod.Namespace, a.Claim}
		for _, d := range a.Devices {
			if k := (deviceKey{d.Pool, d.Name}); c.promised[k] > 1 {
				c.promised[k]--
			} else {
				delete(c.promised, k)
			}
		}
		if c.seats[key] == s {
			delete(c.seats, key)
			c.dirtyClaims[key] = true
		}
	}
	if p := c.pods[s.Pod]; p != nil && p.seat == s {
		p.seat = nil
	}
	c.dirtyGangs[g.key] = true
}

// follow tells what became of a gang that the core knows.
func (c *Cluster) follow(g *gang) {
	t := g.told
	for i := range t.slots {
		if p := t.slots[i].pod; p != nil && c.pods[p.key] != p {
			t.slots[i].pod = nil
		}
	}
	lost, succeeded := berth.MemberFailed{Job: t.id, Incarnation: t.incarnation}, 0
	for _, ref := range t.refs() {
		s := t.seats[ref]
		p := c.pods[s.Pod]
		gone := p == nil || p.object.UID != s.UID
		s.succeeded = s.succeeded || !gone && p.object.Status.Phase == corev1.PodSucceeded
		if !gone && !p.over() || c.holds(s) {
			continue
		}
		if s.succeeded {
			succeeded++
			continue
		}
		lost.Members = append(lost.Members, ref)
		lost.Reason = "a pod is gone"
		if !gone {
			lost.Reason = "a pod has failed"
		}
	}
	switch {
	case succeeded > 0 && succeeded+len(lost.Members) == len(t.seats):
		c.tell(berth.JobFinished{Job: t.id, Incarnation: t.incarnation, Failed: len(lost.Members) > 0})
		c.forget(g)
		return
	case len(lost.Members) > 0:
		c.tell(lost)
		for _, ref := range lost.Members {
			c.leave(g, ref)
		}
	}
	group := c.groups[g.key.Key]
	if len(t.seats) > 0 {
		return
	}
	if len(g.pods) == 0 && (g.key.by != byGroup || group == nil) || group != nil && g.key.by == byGroup && !strings.Contains(string(t.id), fmt.Sprintf("@%.8s", group.UID)) {
		c.tell(berth.JobCancelled{Job: t.id})
		c.forget(g)
		return
	}
	c.renew(g)
}

// renew tells a gang that waits anew if it is another than was told: with more pods, or another
// minimum.
func (c *Cluster) renew(g *gang) {
	pods := slices.DeleteFunc(g.inOrder(), func(p *pod) bool { return !p.gated() })
	findings := list{object: g.key.object()}
	size := c.sizeOf(g, &findings)
	if size == 0 || len(pods) < size {
		return // its pods may be on their way: see Short
	}
	job, _, ready := c.describeJob(g, pods, size, &findings)
	job.ID = g.told.id
	if ready && !reflect.DeepEqual(job, g.told.job) {
		c.tell(berth.JobCancelled{Job: g.told.id})
		c.forget(g)
		c.dirtyGangs[g.key] = true
	}
}

// fill gives pods that have no slot the free slots of their kind.
func (c *Cluster) fill(g *gang) {
	t := g.told
	seated := map[Key]bool{}
	for _, s := range t.slots {
		if s.pod != nil {
			seated[s.pod.key] = true
		}
	}
	findings := list{object: g.key.object()}
	for _, p := range g.inOrder() {
		if seated[p.key] || !p.gated() {
			continue
		}
		terms := c.termsOf(p)
		c.found(terms.findings)
		if !terms.ready || terms.findings.blocks() {
			continue
		}
		at := slices.IndexFunc(t.slots, func(s slot) bool {
			return s.pod == nil && t.seats[s.member] == nil && slices.ContainsFunc(t.job.Groups, func(group berth.Group) bool {
				return group.Name == s.member.Group && terms.fits(group)
			})
		})
		if at < 0 {
			findings.note("", "the pod %s waits: its gang has all members that it had when it was told", p.key.Name)
			continue
		}
		t.slots[at].pod = p
	}
	c.found(findings)
}

// holds reports whether a claim of a seat is still allocated.
func (c *Cluster) holds(s *seat) bool {
	return slices.ContainsFunc(s.Claims, func(a Allocation) bool {
		cl := c.claims[Key{s.Pod.Namespace, a.Claim}]
		return cl != nil && cl.object.UID == a.UID && cl.object.Status.Allocation != nil
	})
}

// refs lists the members that have seats, in order.
func (t *told) refs() []berth.MemberRef {
	return slices.SortedFunc(maps.Keys(t.seats), func(a, b berth.MemberRef) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), cmp.Compare(a.Index, b.Index))
	})
}

// forget ends that the core knows a gang.
func (c *Cluster) forget(g *gang) {
	for _, ref := range g.told.refs() {
		c.leave(g, ref)
	}
	delete(c.jobs, g.told.id)
	g.told = nil
	c.dirtyGangs[g.key] = true
}

// narrowedTo is the node that a pod was narrowed to; empty: to none.
func narrowedTo(o *corev1.Pod) string {
	a := o.Spec.Affinity
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return ""
	}
	for _, t := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, f := range t.MatchFields {
			if f.Key == "metadata.name" && len(f.Values) == 1 {
				return f.Values[0]
			}
		}
	}
	return ""
}
