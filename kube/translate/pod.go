package translate

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	podresource "k8s.io/component-helpers/resource"

	"github.com/berth-sched/berth"
)

// A pod is a pod of the cluster.
type pod struct {
	key    Key
	object *corev1.Pod
	gang   gangKey // zero: it is not ours
	claims []Key   // those that are known to exist
	node   string  // that it is bound to
	terms  *terms  // nil: to be read anew
	seat   *seat
}

// terms are what a pod asks for as a member.
type terms struct {
	claim    berth.Claim
	selector berth.Selector
	ready    bool // its claims are there
	findings list
}

// Ours reports whether a pod was made for this program to place, or was placed by it.
func Ours(o *corev1.Pod) bool {
	_, member := o.Annotations[MemberAnnotation]
	return member || slices.ContainsFunc(o.Spec.SchedulingGates, func(g corev1.PodSchedulingGate) bool { return g.Name == Gate })
}

// Gated reports whether a pod has the gate of this program, and alone: it can be placed.
func (p *pod) gated() bool {
	g := p.object.Spec.SchedulingGates
	return len(g) == 1 && g[0].Name == Gate && p.object.DeletionTimestamp == nil && !p.over()
}

// over reports whether all containers of a pod have ended.
func (p *pod) over() bool {
	return p.object.Status.Phase == corev1.PodSucceeded || p.object.Status.Phase == corev1.PodFailed
}

func (c *Cluster) upsertPod(key Key, o *corev1.Pod) {
	p := c.pods[key]
	if p != nil && !newer(p.object, o) {
		return
	}
	if p != nil && p.object.UID != o.UID {
		c.deletePod(key)
		p = nil
	}
	if p == nil {
		p = &pod{key: key}
		c.pods[key] = p
	}
	p.object, p.terms = o, nil
	if Ours(o) {
		p.gang = gangOf(key, o)
		c.gang(p.gang).pods[key] = p
		c.dirtyGangs[p.gang] = true
		c.nameClaims(p)
	}
	if p.node != o.Spec.NodeName {
		p.node = o.Spec.NodeName
		c.node(p.node).pods[key] = p
	}
	if p.node != "" && !Ours(o) || p.seat != nil && p.over() {
		c.dirtyNodes[p.node] = true
	}
}

func (c *Cluster) deletePod(key Key) {
	p := c.pods[key]
	delete(c.pods, key)
	for _, cl := range p.claims {
		delete(c.users[cl], key)
		if len(c.users[cl]) == 0 {
			delete(c.users, cl)
		}
	}
	if p.node != "" {
		delete(c.node(p.node).pods, key)
		c.dirtyNodes[p.node] = true
	}
	if p.gang != (gangKey{}) {
		delete(c.gang(p.gang).pods, key)
		c.dirtyGangs[p.gang] = true
	}
}

// nameClaims notes which claims a pod names. A claim that is made of a template has its name in the
// status of the pod, once it is made.
func (c *Cluster) nameClaims(p *pod) {
	for _, r := range p.object.Spec.ResourceClaims {
		name := r.ResourceClaimName
		for _, s := range p.object.Status.ResourceClaimStatuses {
			if s.Name == r.Name && name == nil {
				name = s.ResourceClaimName
			}
		}
		if name == nil {
			continue
		}
		key := Key{p.key.Namespace, *name}
		if !slices.Contains(p.claims, key) {
			p.claims = append(p.claims, key)
		}
		if c.users[key] == nil {
			c.users[key] = map[Key]bool{}
		}
		c.users[key][p.key] = true
	}
}

// termsOf are what a pod asks for.
func (c *Cluster) termsOf(p *pod) *terms {
	if p.terms != nil {
		return p.terms
	}
	t := &terms{findings: list{object: Object{"Pod", p.key}}, ready: len(p.claims) == len(p.object.Spec.ResourceClaims)}
	var a ask
	for _, key := range p.claims {
		switch cl := c.claims[key]; {
		case cl == nil:
			t.ready = false
		case len(c.users[key]) > 1:
			t.findings.block("spec.resourceClaims", "the claim %s is that of several pods", key.Name)
		default:
			a.read(&c.options, cl.object, &t.findings)
		}
	}
	t.claim = a.claim(&t.findings)
	host := podresource.PodRequests(p.object, podresource.PodResourcesOptions{})
	t.claim = t.claim.WithHost(host.Cpu().MilliValue(), (host.Memory().Value()+1<<20-1)>>20)
	t.selector = berth.Selector{Products: a.products, Labels: maps.Clone(p.object.Spec.NodeSelector)}
	t.affinity(p.object.Spec.Affinity)
	for _, s := range p.object.Spec.TopologySpreadConstraints {
		if s.WhenUnsatisfiable == corev1.DoNotSchedule {
			t.findings.block("spec.topologySpreadConstraints", "a constraint that must hold is not kept")
		}
	}
	for _, tol := range p.object.Spec.Tolerations {
		if tol.Effect != corev1.TaintEffectNoSchedule && tol.Effect != "" {
			continue
		}
		to := berth.Toleration{Key: tol.Key, Value: tol.Value}
		if tol.Operator == corev1.TolerationOpExists {
			to.Operator = berth.TolerationExists
		} else if tol.Operator != "" && tol.Operator != corev1.TolerationOpEqual {
			t.findings.note("spec.tolerations", "the operator %s is not read", tol.Operator)
			continue
		}
		t.selector.Tolerations = append(t.selector.Tolerations, to)
	}
	p.terms = t
	return t
}

// affinity adds what must hold of a node. Preferences are passed over, as are the terms by which
// this program narrowed the pod to one node.
func (t *terms) affinity(a *corev1.Affinity) {
	if a == nil {
		return
	}
	if a.PodAffinity != nil && len(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0 ||
		a.PodAntiAffinity != nil && len(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0 {
		t.findings.block("spec.affinity", "affinity between pods that must hold is not kept")
	}
	if a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return
	}
	const field = "spec.affinity.nodeAffinity"
	either := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	if len(either) != 1 {
		t.findings.block(field, "several terms, of which one must hold, are not read")
		return
	}
	for _, e := range either[0].MatchExpressions {
		if e.Operator != corev1.NodeSelectorOpIn || len(e.Values) != 1 {
			t.findings.block(field, "an expression other than In with one value is not read: %s %s", e.Key, e.Operator)
			continue
		}
		if t.selector.Labels == nil {
			t.selector.Labels = map[string]string{}
		}
		if was, is := t.selector.Labels[e.Key]; is && was != e.Values[0] {
			t.findings.block(field, "the label %s is to have two values", e.Key)
		}
		t.selector.Labels[e.Key] = e.Values[0]
	}
}
