// Package pretend has an API server to test against: client-go's fake clientset, made to refuse
// what a real one refuses (a resourceVersion that is not the last one, another UID, a change of an
// allocation, a change of a gated pod that is not allowed), and to fail at a chosen write. A Turn
// stands in for scheduler, kubelet and controllers. Of each state it is checked that no device is
// held twice, by arithmetic of its own.
package pretend

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"sync"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// Resources that are kept.
var (
	Pods       = corev1.SchemeGroupVersion.WithResource("pods")
	Nodes      = corev1.SchemeGroupVersion.WithResource("nodes")
	ConfigMaps = corev1.SchemeGroupVersion.WithResource("configmaps")
	Claims     = resourcev1.SchemeGroupVersion.WithResource("resourceclaims")
	Slices     = resourcev1.SchemeGroupVersion.WithResource("resourceslices")
	PodGroups  = schedulingv1beta1.SchemeGroupVersion.WithResource("podgroups")
)

// A Change is what a watch tells.
type Change struct {
	Object metav1.Object
	Gone   bool
}

// A Server is an API server that is pretended.
type Server struct {
	Client *fake.Clientset
	// Fail says what becomes of a write by its number, from 1, across all clients; nil: it is done.
	Fail func(write int) Fault
	// Writes counts those of clients.
	Writes int
	// Broken is what was seen that must not be.
	Broken []string
	// Deleted are the pods that a client deleted.
	Deleted []string
	// Recreate has pods that are deleted made again, by their controller.
	Recreate bool

	lock    sync.Mutex
	version int
	made    int
	changes []Change
}

// A Fault is what becomes of a write.
type Fault struct {
	// Err is what the client gets; nil: no fault.
	Err error
	// Done: the write is done all the same.
	Done bool
}

// New makes a server that has objects.
func New(objects ...metav1.Object) *Server {
	s := &Server{Client: fake.NewClientset(), version: 100}
	s.Client.PrependReactor("*", "*", s.react)
	for _, o := range objects {
		s.Add(o)
	}
	return s
}

func resourceOf(o any) schema.GroupVersionResource {
	switch o.(type) {
	case *corev1.Pod:
		return Pods
	case *corev1.Node:
		return Nodes
	case *corev1.ConfigMap:
		return ConfigMaps
	case *resourcev1.ResourceClaim:
		return Claims
	case *resourcev1.ResourceSlice:
		return Slices
	case *schedulingv1beta1.PodGroup:
		return PodGroups
	}
	panic(fmt.Sprintf("pretend: objects of type %T are not kept", o))
}

// Add makes an object, as a user does.
func (s *Server) Add(o metav1.Object) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.store(o.(runtime.Object).DeepCopyObject(), true)
}

// Set changes an object, as a user or a controller does.
func (s *Server) Set(o metav1.Object) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.store(o.(runtime.Object).DeepCopyObject(), false)
}

// Remove ends an object at once.
func (s *Server) Remove(o metav1.Object) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.remove(o)
}

func (s *Server) remove(o metav1.Object) {
	if err := s.Client.Tracker().Delete(resourceOf(o), o.GetNamespace(), o.GetName()); err == nil {
		s.changes = append(s.changes, Change{o, true})
	}
}

// store keeps an object as its next version.
func (s *Server) store(o runtime.Object, create bool) {
	m, err := meta.Accessor(o)
	if err != nil {
		panic(err)
	}
	s.version++
	m.SetResourceVersion(strconv.Itoa(s.version))
	if create {
		err = s.Client.Tracker().Create(resourceOf(o), o, m.GetNamespace())
	} else {
		err = s.Client.Tracker().Update(resourceOf(o), o, m.GetNamespace())
	}
	if err != nil {
		panic(err)
	}
	s.changes = append(s.changes, Change{o.DeepCopyObject().(metav1.Object), false})
	s.check()
}

// Changes are those since the last call.
func (s *Server) Changes() []Change {
	s.lock.Lock()
	defer s.lock.Unlock()
	all := s.changes
	s.changes = nil
	return all
}

// Objects lists all objects of a kind, in order of name.
func Objects[T metav1.Object](s *Server, resource schema.GroupVersionResource, kind string) []T {
	s.lock.Lock()
	defer s.lock.Unlock()
	return objects[T](s, resource, kind)
}

func objects[T metav1.Object](s *Server, resource schema.GroupVersionResource, kind string) []T {
	found, err := s.Client.Tracker().List(resource, resource.GroupVersion().WithKind(kind), "")
	if err != nil {
		panic(err)
	}
	items, err := meta.ExtractList(found)
	if err != nil {
		panic(err)
	}
	var all []T
	for _, o := range items {
		all = append(all, o.DeepCopyObject().(T))
	}
	slices.SortFunc(all, func(a, b T) int {
		return slices.Compare([]string{a.GetNamespace(), a.GetName()}, []string{b.GetNamespace(), b.GetName()})
	})
	return all
}

// All lists all objects.
func (s *Server) All() (all []metav1.Object) {
	for _, o := range Objects[*corev1.Node](s, Nodes, "Node") {
		all = append(all, o)
	}
	for _, o := range Objects[*resourcev1.ResourceSlice](s, Slices, "ResourceSlice") {
		all = append(all, o)
	}
	for _, o := range Objects[*corev1.ConfigMap](s, ConfigMaps, "ConfigMap") {
		all = append(all, o)
	}
	for _, o := range Objects[*schedulingv1beta1.PodGroup](s, PodGroups, "PodGroup") {
		all = append(all, o)
	}
	for _, o := range Objects[*resourcev1.ResourceClaim](s, Claims, "ResourceClaim") {
		all = append(all, o)
	}
	for _, o := range Objects[*corev1.Pod](s, Pods, "Pod") {
		all = append(all, o)
	}
	return all
}

// react does the writes of clients.
func (s *Server) react(action clienttesting.Action) (bool, runtime.Object, error) {
	if verb := action.GetVerb(); verb == "get" || verb == "list" || verb == "watch" {
		return false, nil, nil
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	s.Writes++
	var fault Fault
	if s.Fail != nil {
		fault = s.Fail(s.Writes)
	}
	if fault.Err != nil && !fault.Done {
		return true, nil, fault.Err
	}
	o, err := s.write(action)
	if err == nil {
		err = fault.Err
	}
	return true, o, err
}

func (s *Server) write(action clienttesting.Action) (runtime.Object, error) {
	resource, group := action.GetResource(), action.GetResource().GroupResource()
	var name string
	switch a := action.(type) {
	case clienttesting.PatchAction:
		name = a.GetName()
	case clienttesting.DeleteAction:
		name = a.GetName()
	case clienttesting.UpdateAction:
		m, err := meta.Accessor(a.GetObject())
		if err != nil {
			return nil, err
		}
		name = m.GetName()
	default:
		return nil, fmt.Errorf("pretend: the verb %q is not done", action.GetVerb())
	}
	was, err := s.Client.Tracker().Get(resource, action.GetNamespace(), name)
	if err != nil {
		return nil, err
	}
	before, _ := meta.Accessor(was)
	conflict := func(why string) error { return apierrors.NewConflict(group, name, errors.New(why)) }
	var now runtime.Object
	switch a := action.(type) {
	case clienttesting.PatchAction:
		if a.GetPatchType() != types.MergePatchType {
			return nil, fmt.Errorf("pretend: patches of type %s are not done", a.GetPatchType())
		}
		text, err := json.Marshal(was)
		if err != nil {
			return nil, err
		}
		if text, err = jsonpatch.MergePatch(text, a.GetPatch()); err != nil {
			return nil, err
		}
		now = reflect.New(reflect.TypeOf(was).Elem()).Interface().(runtime.Object)
		if err := json.Unmarshal(text, now); err != nil {
			return nil, err
		}
	case clienttesting.DeleteAction:
		options := action.(clienttesting.DeleteActionImpl).DeleteOptions
		if p := options.Preconditions; p != nil && p.UID != nil && *p.UID != before.GetUID() {
			return nil, conflict("another UID")
		}
		pod := was.DeepCopyObject().(*corev1.Pod)
		s.Deleted = append(s.Deleted, pod.Name)
		pod.DeletionTimestamp = &metav1.Time{}
		*pod.DeletionTimestamp = pod.CreationTimestamp
		s.store(pod, false)
		return nil, nil
	case clienttesting.UpdateAction:
		now = a.GetObject().DeepCopyObject()
	}
	after, _ := meta.Accessor(now)
	switch {
	case after.GetUID() != before.GetUID():
		return nil, conflict("another UID")
	case after.GetResourceVersion() != before.GetResourceVersion():
		return nil, conflict("a stale resourceVersion")
	}
	if now, err = s.merged(was, now, action.GetSubresource()); err != nil {
		return nil, err
	}
	s.store(now, false)
	return now, nil
}

// merged is what a write to an object, or to its status, makes of it.
func (s *Server) merged(was, now runtime.Object, part string) (runtime.Object, error) {
	switch now := now.(type) {
	case *resourcev1.ResourceClaim:
		was := was.(*resourcev1.ResourceClaim)
		if part == "" {
			now.Status = was.Status
			return now, nil
		}
		status := was.DeepCopy()
		status.Status = now.Status
		if a, b := was.Status.Allocation, now.Status.Allocation; a != nil && b != nil && !reflect.DeepEqual(a, b) {
			return nil, apierrors.NewInvalid(schema.GroupKind{Kind: "ResourceClaim"}, now.Name, nil)
		}
		return status, nil
	case *schedulingv1beta1.PodGroup:
		was := was.(*schedulingv1beta1.PodGroup)
		if part == "" {
			now.Status = was.Status
			return now, nil
		}
		status := was.DeepCopy()
		status.Status = now.Status
		return status, nil
	case *corev1.Pod:
		was := was.(*corev1.Pod)
		now.Status = was.Status
		for _, g := range now.Spec.SchedulingGates {
			if !slices.Contains(was.Spec.SchedulingGates, g) {
				return nil, apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, now.Name, nil)
			}
		}
		if len(was.Spec.SchedulingGates) == 0 && !reflect.DeepEqual(was.Spec, now.Spec) {
			return nil, apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, now.Name, nil)
		}
		return now, nil
	}
	return now, nil
}

// check looks for what must not be: a device that two claims hold, or one twice; a pod past its
// gate of which a claim has nothing, or on another node than its claim.
func (s *Server) check() {
	holder := map[string]string{}
	claims := map[string]*resourcev1.ResourceClaim{}
	for _, c := range objects[*resourcev1.ResourceClaim](s, Claims, "ResourceClaim") {
		claims[c.Namespace+"/"+c.Name] = c
		if c.Status.Allocation == nil {
			continue
		}
		for _, r := range c.Status.Allocation.Devices.Results {
			device := r.Pool + "/" + r.Device
			if other, is := holder[device]; is {
				s.Broken = append(s.Broken, fmt.Sprintf("device %s is held by %s and %s", device, other, c.Name))
			}
			holder[device] = c.Name
		}
	}
	for _, p := range objects[*corev1.Pod](s, Pods, "Pod") {
		if len(p.Spec.SchedulingGates) > 0 || p.Spec.NodeName == "" {
			continue
		}
		for _, r := range p.Spec.ResourceClaims {
			c := claims[p.Namespace+"/"+*r.ResourceClaimName]
			if c == nil || c.Status.Allocation == nil {
				s.Broken = append(s.Broken, fmt.Sprintf("pod %s runs without its claim %s", p.Name, *r.ResourceClaimName))
			} else if c.Status.Allocation.Devices.Results[0].Pool != p.Spec.NodeName {
				s.Broken = append(s.Broken, fmt.Sprintf("pod %s runs on %s, and its claim holds devices elsewhere", p.Name, p.Spec.NodeName))
			}
		}
	}
}

// Turn stands in for the scheduler, which binds pods to where their claims are, and for kubelets
// and controllers, which end pods that are deleted and free their claims. It reports whether
// anything was done.
func (s *Server) Turn() bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	did := false
	claims := map[string]*resourcev1.ResourceClaim{}
	for _, c := range objects[*resourcev1.ResourceClaim](s, Claims, "ResourceClaim") {
		claims[c.Namespace+"/"+c.Name] = c
	}
	for _, p := range objects[*corev1.Pod](s, Pods, "Pod") {
		switch {
		case p.DeletionTimestamp != nil:
			did = true
			s.end(p, claims)
		case len(p.Spec.SchedulingGates) == 0 && p.Spec.NodeName == "":
			if node := s.nodeFor(p, claims); node != "" {
				p.Spec.NodeName, p.Status.Phase = node, corev1.PodRunning
				s.store(p, false)
				did = true
			}
		}
	}
	return did
}

// end removes a pod, then frees its claims, and has it made again.
func (s *Server) end(p *corev1.Pod, claims map[string]*resourcev1.ResourceClaim) {
	s.remove(p)
	for _, r := range p.Spec.ResourceClaims {
		if c := claims[p.Namespace+"/"+*r.ResourceClaimName]; c != nil && c.Status.Allocation != nil && slices.Contains(c.Finalizers, resourcev1.Finalizer) {
			c.Status = resourcev1.ResourceClaimStatus{}
			c.Finalizers = nil
			s.store(c, false)
		}
	}
	if s.Recreate {
		s.made++
		again := p.DeepCopy()
		again.ObjectMeta = metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, Labels: p.Labels, CreationTimestamp: p.CreationTimestamp}
		again.UID = types.UID(fmt.Sprintf("%s-%d", p.UID, s.made))
		again.Spec.NodeName, again.Spec.Affinity = "", nil
		again.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "berth-sched.github.io/gate"}}
		again.Status = corev1.PodStatus{Phase: corev1.PodPending}
		s.store(again, true)
	}
}

// nodeFor is the node that a pod is narrowed to, if its claims are there and reserved for it.
func (s *Server) nodeFor(p *corev1.Pod, claims map[string]*resourcev1.ResourceClaim) string {
	node := p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields[0].Values[0]
	for _, r := range p.Spec.ResourceClaims {
		c := claims[p.Namespace+"/"+*r.ResourceClaimName]
		switch {
		case c == nil, c.Status.Allocation == nil:
			return ""
		case c.Status.Allocation.AllocationTimestamp == nil, !slices.Contains(c.Finalizers, resourcev1.Finalizer), c.Status.Allocation.NodeSelector == nil,
			!slices.ContainsFunc(c.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool { return r.UID == p.UID }):
			s.Broken = append(s.Broken, fmt.Sprintf("the allocation of %s is not complete", c.Name))
			return ""
		}
	}
	return node
}
