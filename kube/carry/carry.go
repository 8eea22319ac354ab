package carry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/kube/translate"
)

// A Carrier carries out orders. Its methods may be called from several goroutines at once, for
// different jobs.
type Carrier struct {
	API API
	// Now is the wall clock, for the instant of an allocation.
	Now func() time.Time
	// Parallel is how many objects of one order are written at a time; 0: one.
	Parallel int
	// Pause is how long to wait before a write is tried again that the server had no time for;
	// twice as long each time, up to sixteen times. Zero: 100 ms.
	Pause time.Duration
	// May is asked before each write: whether this process leads; nil: it does.
	May func() bool
}

// Errors that no second attempt mends. Test for them with errors.Is.
var (
	// ErrGone: the object is gone, or another has its name.
	ErrGone = errors.New("carry: the object is gone")
	// ErrTaken: the claim was allocated by somebody else, or the gate removed.
	ErrTaken = errors.New("carry: somebody else was first")
	// ErrFenced: this process does not lead any more.
	ErrFenced = errors.New("carry: this process does not lead")
)

// A Result is how an order went.
type Result struct {
	// Failed are the members that could not be started, with the reason of the first.
	Failed []berth.MemberRef
	Err    error
	// Undone: nothing was started, and nothing is left of what was begun. Without Undone and with
	// an error it is not known what is left: the order is not over.
	Undone bool
	// Written are the objects as they were written last, for translate.Cluster.Refresh.
	Written []metav1.Object
}

// written collects what is written.
type written struct {
	lock sync.Mutex
	all  []metav1.Object
}

func (w *written) add(o metav1.Object) {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.all = append(w.all, o)
}

// Bind carries out a plan until the context ends. Cost: three requests a pod, four a claim.
func (c *Carrier) Bind(ctx context.Context, plan *translate.Plan) Result {
	var w written
	err := c.intend(ctx, plan, &w)
	if err == nil {
		err = c.each(ctx, len(plan.Seats), func(i int) error {
			s := &plan.Seats[i]
			for k := range s.Claims {
				if err := c.allocate(ctx, plan, s, &s.Claims[k], &w); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil {
		if errors.Is(err, ErrFenced) {
			return Result{Err: err, Written: w.all}
		}
		undone := c.undo(plan, &w)
		return Result{Err: err, Undone: undone, Written: w.all}
	}
	var lock sync.Mutex
	var result Result
	stopped := c.each(ctx, len(plan.Seats), func(i int) error {
		err := c.release(ctx, plan, &plan.Seats[i], &w)
		if errors.Is(err, ErrGone) || errors.Is(err, ErrTaken) || apierrors.IsInvalid(err) {
			lock.Lock()
			defer lock.Unlock()
			result.Failed = append(result.Failed, plan.Seats[i].Member)
			result.Err = err
			return nil // the others go on
		}
		return err
	})
	if stopped != nil {
		result.Failed, result.Err = nil, stopped
	}
	result.Written = w.all
	return result
}

// each runs a function for each of n things, several at a time, until one fails.
func (c *Carrier) each(ctx context.Context, n int, do func(i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wait sync.WaitGroup
	next := make(chan int)
	for range min(max(c.Parallel, 1), n) {
		wait.Go(func() {
			for i := range next {
				if err := do(i); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	wait.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// try repeats a read and a write until the write is done, or cannot be. A conflict is looked at
// again at once; where the server has no time, later.
func (c *Carrier) try(ctx context.Context, once func() error) error {
	pause := c.Pause
	if pause == 0 {
		pause = 100 * time.Millisecond
	}
	for most := 16 * pause; ; pause = min(2*pause, most) {
		if c.May != nil && !c.May() {
			return ErrFenced
		}
		err := once()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return errors.Join(ctx.Err(), err)
		case apierrors.IsNotFound(err):
			return ErrGone
		case errors.Is(err, ErrGone), errors.Is(err, ErrTaken), errors.Is(err, ErrFenced), apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err):
			return err
		case apierrors.IsConflict(err):
			continue
		}
		if seconds, is := apierrors.SuggestsClientDelay(err); is {
			pause = max(pause, time.Duration(seconds)*time.Second)
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(pause):
		}
	}
}

// A patch is a JSON merge patch of an object as it was read: of another, or of a later state, the
// server refuses it.
func patch(o metav1.Object, annotations map[string]any, spec map[string]any) []byte {
	p := map[string]any{"metadata": map[string]any{"uid": o.GetUID(), "resourceVersion": o.GetResourceVersion(), "annotations": annotations}}
	if spec != nil {
		p["spec"] = spec
	}
	b, err := json.Marshal(p)
	if err != nil {
		panic(err) // values of the API
	}
	return b
}

// intend writes the intent.
func (c *Carrier) intend(ctx context.Context, plan *translate.Plan, w *written) error {
	text := plan.Intent().Text()
	return c.try(ctx, func() error {
		var o, now metav1.Object
		var err error
		if plan.Source.Kind == "PodGroup" {
			o, err = c.API.PodGroup(ctx, plan.Source.Key)
		} else {
			o, err = c.API.Pod(ctx, plan.Source.Key)
		}
		switch {
		case err != nil:
			return err
		case o.GetUID() != plan.UID:
			return ErrGone
		case o.GetAnnotations()[translate.IntentAnnotation] == text:
			return nil
		case plan.Order == 0:
			return nil // a former process wrote it; what is allocated follows from the claims
		}
		change := patch(o, map[string]any{translate.IntentAnnotation: text}, nil)
		if plan.Source.Kind == "PodGroup" {
			now, err = c.API.PatchPodGroup(ctx, plan.Source.Key, change)
		} else {
			now, err = c.API.PatchPod(ctx, plan.Source.Key, change)
		}
		if err == nil {
			w.add(now)
		}
		return err
	})
}

// allocate gives a claim its devices.
func (c *Carrier) allocate(ctx context.Context, plan *translate.Plan, s *translate.Seat, a *translate.Allocation, w *written) error {
	key := translate.Key{Namespace: s.Pod.Namespace, Name: a.Claim}
	marked := false
	return c.try(ctx, func() error {
		o, err := c.API.Claim(ctx, key)
		mark := ""
		if err == nil {
			mark = o.Annotations[translate.HolderAnnotation]
		}
		switch {
		case err != nil:
			return err
		case marked && mark != plan.Holder():
			return fmt.Errorf("%w: claim %v was taken back", ErrTaken, key)
		case o.UID != a.UID || o.DeletionTimestamp != nil:
			return ErrGone
		case o.Status.Allocation != nil:
			if a.Is(o.Status.Allocation) && (mark == plan.Holder() || mark != "" && plan.Order == 0) {
				return nil
			}
			return fmt.Errorf("%w: claim %v has devices", ErrTaken, key)
		case !slices.ContainsFunc(o.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool { return r.UID != s.UID }):
		default:
			return fmt.Errorf("%w: claim %v is reserved", ErrTaken, key)
		}
		if mark != plan.Holder() || !slices.Contains(o.Finalizers, resourcev1.Finalizer) {
			ours := o.DeepCopy()
			if ours.Annotations == nil {
				ours.Annotations = map[string]string{}
			}
			ours.Annotations[translate.HolderAnnotation] = plan.Holder()
			if !slices.Contains(ours.Finalizers, resourcev1.Finalizer) {
				ours.Finalizers = append(ours.Finalizers, resourcev1.Finalizer)
			}
			if o, err = c.API.UpdateClaim(ctx, ours); err != nil {
				return err
			}
			marked = true
			w.add(o)
		}
		if c.May != nil && !c.May() {
			return ErrFenced
		}
		given := o.DeepCopy()
		given.Status.Allocation = c.allocation(o, s, a)
		given.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: s.Pod.Name, UID: s.UID}}
		if o, err = c.API.UpdateClaimStatus(ctx, given); err == nil {
			w.add(o)
		}
		return err
	})
}

// allocation is what the scheduler of the cluster would have written: complete, so that it stays.
func (c *Carrier) allocation(o *resourcev1.ResourceClaim, s *translate.Seat, a *translate.Allocation) *resourcev1.AllocationResult {
	now := metav1.NewTime(c.Now())
	r := &resourcev1.AllocationResult{AllocationTimestamp: &now, NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{only(s.Node)}}}
	for _, d := range a.Devices {
		r.Devices.Results = append(r.Devices.Results, resourcev1.DeviceRequestAllocationResult{Request: d.Request, Driver: translate.Driver, Pool: d.Pool, Device: d.Name})
	}
	for _, config := range o.Spec.Devices.Config {
		r.Devices.Config = append(r.Devices.Config, resourcev1.DeviceAllocationConfiguration{
			Source: resourcev1.AllocationConfigSourceClaim, Requests: config.Requests, DeviceConfiguration: config.DeviceConfiguration,
		})
	}
	return r
}

// only is a term for one node.
func only(node string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}}}
}

// release lets a pod past its gate.
func (c *Carrier) release(ctx context.Context, plan *translate.Plan, s *translate.Seat, w *written) error {
	return c.try(ctx, func() error {
		o, err := c.API.Pod(ctx, s.Pod)
		if err != nil {
			return err
		}
		if o.UID != s.UID {
			return ErrGone
		}
		var others []corev1.PodSchedulingGate
		for _, g := range o.Spec.SchedulingGates {
			if g.Name != translate.Gate {
				others = append(others, g)
			}
		}
		switch {
		case len(others) < len(o.Spec.SchedulingGates):
		case o.Annotations[translate.MemberAnnotation] == plan.Holder():
			return nil
		default:
			return fmt.Errorf("%w: the gate of pod %v is gone", ErrTaken, s.Pod)
		}
		now, err := c.API.PatchPod(ctx, s.Pod, patch(o, map[string]any{translate.MemberAnnotation: plan.Holder()},
			map[string]any{"schedulingGates": others, "affinity": narrowed(o.Spec.Affinity, s.Node)}))
		if err == nil {
			w.add(now)
		}
		return err
	})
}

// narrowed is an affinity that allows one node of those that it allowed. While a pod is gated, what
// it requires may be added to, and not changed.
func narrowed(a *corev1.Affinity, node string) *corev1.Affinity {
	a = a.DeepCopy()
	if a == nil {
		a = &corev1.Affinity{}
	}
	if a.NodeAffinity == nil {
		a.NodeAffinity = &corev1.NodeAffinity{}
	}
	required := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if required == nil {
		required = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{}}}
		a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = required
	}
	for i := range required.NodeSelectorTerms {
		t := &required.NodeSelectorTerms[i]
		t.MatchFields = append(t.MatchFields, only(node).MatchFields...)
	}
	return a
}

// undoTime is for how long a Bind that failed is undone after its time; what is not undone by then
// is undone by the Release that follows.
const undoTime = 10 * time.Second

// undo takes back what was allocated for a plan of which no pod was let past its gate.
func (c *Carrier) undo(plan *translate.Plan, w *written) bool {
	ctx, cancel := context.WithTimeout(context.Background(), undoTime)
	defer cancel()
	return c.each(ctx, len(plan.Seats), func(i int) error { return c.undoSeat(ctx, &plan.Seats[i], plan.Holder(), w) }) == nil
}

func (c *Carrier) undoSeat(ctx context.Context, s *translate.Seat, holder string, w *written) error {
	for _, a := range s.Claims {
		if err := c.deallocate(ctx, translate.Key{Namespace: s.Pod.Namespace, Name: a.Claim}, holder, w); err != nil {
			return err
		}
	}
	return nil
}

// Undo deallocates claims that this process, or a former one, was allocating for pods that wait.
func (c *Carrier) Undo(ctx context.Context, claims []translate.Key) Result {
	var w written
	err := c.each(ctx, len(claims), func(i int) error { return c.deallocate(ctx, claims[i], "", &w) })
	return Result{Err: err, Undone: err == nil, Written: w.all}
}

// deallocate takes the devices of a claim away, and its mark; empty: any mark.
func (c *Carrier) deallocate(ctx context.Context, key translate.Key, holder string, w *written) error {
	err := c.try(ctx, func() error {
		o, err := c.API.Claim(ctx, key)
		if err != nil {
			return err
		}
		mark := o.Annotations[translate.HolderAnnotation]
		if mark == "" || holder != "" && mark != holder {
			return nil
		}
		if o.Status.Allocation != nil || len(o.Status.ReservedFor) > 0 {
			free := o.DeepCopy()
			free.Status.Allocation, free.Status.ReservedFor, free.Status.Devices = nil, nil, nil
			if o, err = c.API.UpdateClaimStatus(ctx, free); err != nil {
				return err
			}
			w.add(o)
		}
		bare := o.DeepCopy()
		delete(bare.Annotations, translate.HolderAnnotation)
		bare.Finalizers = slices.DeleteFunc(bare.Finalizers, func(f string) bool { return f == resourcev1.Finalizer })
		if o, err = c.API.UpdateClaim(ctx, bare); err == nil {
			w.add(o)
		}
		return err
	})
	if errors.Is(err, ErrGone) {
		return nil
	}
	return err
}

// Release stops members: it deletes their pods, or, of pods that wait at their gates, deallocates
// their claims. What it started may take long: the pods and claims tell when the members are gone.
func (c *Carrier) Release(ctx context.Context, seats []translate.Seat) Result {
	var w written
	err := c.each(ctx, len(seats), func(i int) error {
		s := &seats[i]
		gated := false
		err := c.try(ctx, func() error {
			o, err := c.API.Pod(ctx, s.Pod)
			switch {
			case err != nil:
				return err
			case o.UID != s.UID, o.DeletionTimestamp != nil:
				return nil
			}
			if gated = slices.ContainsFunc(o.Spec.SchedulingGates, func(g corev1.PodSchedulingGate) bool { return g.Name == translate.Gate }); gated {
				return nil
			}
			return c.API.DeletePod(ctx, s.Pod, s.UID)
		})
		if err == nil && gated {
			err = c.undoSeat(ctx, s, "", &w)
		}
		if errors.Is(err, ErrGone) {
			return nil
		}
		return err
	})
	return Result{Err: err, Written: w.all}
}

// A Request is the value of translate.RequestAnnotation.
type Request struct {
	Order berth.OrderID `json:"order"`
	// Deadline by which the checkpoint has to be written.
	Deadline time.Time `json:"deadline"`
}

// Request asks the pods of members for a checkpoint; nil withdraws that.
func (c *Carrier) Request(ctx context.Context, seats []translate.Seat, request *Request) Result {
	var w written
	var value any
	if request != nil {
		b, err := json.Marshal(request)
		if err != nil {
			return Result{Err: err}
		}
		value = string(b)
	}
	err := c.each(ctx, len(seats), func(i int) error {
		s := &seats[i]
		err := c.try(ctx, func() error {
			o, err := c.API.Pod(ctx, s.Pod)
			switch {
			case err != nil:
				return err
			case o.UID != s.UID:
				return ErrGone
			}
			was, is := o.Annotations[translate.RequestAnnotation]
			if value == nil && !is || is && was == value {
				return nil
			}
			o, err = c.API.PatchPod(ctx, s.Pod, patch(o, map[string]any{translate.RequestAnnotation: value}, nil))
			if err == nil {
				w.add(o)
			}
			return err
		})
		if errors.Is(err, ErrGone) {
			return nil
		}
		return err
	})
	return Result{Err: err, Written: w.all}
}

// Answered says what an answer says about a request: whether it is one, and whether the checkpoint
// is written.
func Answered(answer string, order berth.OrderID) (answered, written bool) {
	id := strconv.FormatUint(uint64(order), 10)
	return answer == id || answer == "failed:"+id, answer == id
}

// ConditionType is that of the condition of a PodGroup that says where it stands.
const ConditionType = "berth-sched.github.io/Placed"

// Explain writes the condition of a PodGroup, if it says something else than is there.
func (c *Carrier) Explain(ctx context.Context, key translate.Key, uid types.UID, condition metav1.Condition) Result {
	var w written
	err := c.try(ctx, func() error {
		o, err := c.API.PodGroup(ctx, key)
		switch {
		case err != nil:
			return err
		case o.UID != uid:
			return ErrGone
		}
		now := o.DeepCopy()
		if !set(&now.Status.Conditions, condition, metav1.NewTime(c.Now())) {
			return nil
		}
		if o, err = c.API.UpdatePodGroupStatus(ctx, now); err == nil {
			w.add(o)
		}
		return err
	})
	return Result{Err: err, Written: w.all}
}

// set puts a condition in place of the one of its type. False: it says the same.
func set(all *[]metav1.Condition, condition metav1.Condition, now metav1.Time) bool {
	at := slices.IndexFunc(*all, func(was metav1.Condition) bool { return was.Type == condition.Type })
	if at < 0 {
		condition.LastTransitionTime = now
		*all = append(*all, condition)
		return true
	}
	was := &(*all)[at]
	condition.LastTransitionTime = was.LastTransitionTime
	if was.Status != condition.Status {
		condition.LastTransitionTime = now
	}
	same := *was == condition
	*was = condition
	return !same
}
