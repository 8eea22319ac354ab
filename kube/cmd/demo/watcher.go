package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/berth-sched/berth/kube/carry"
	"github.com/berth-sched/berth/kube/internal/fixture"
	"github.com/berth-sched/berth/kube/translate"
)

// A watcher sees claims and pods as they change, and checks them by arithmetic of its own. It is
// also the job controller: it answers requests for checkpoints, and makes pods of batch gangs anew.
type watcher struct {
	client kubernetes.Interface
	cancel context.CancelFunc

	lock    sync.Mutex
	changed chan struct{}
	node    map[string]string // of pods that are bound, by name
	pods    map[string]types.UID
	holds   map[string][]string // devices by claim
	asked   map[types.UID]bool
	gone    struct{ asked, unasked int }
	broken  []string
	answer  bool
	retired map[string]bool // groups of which pods are not made anew
	// seen counts allocations, written the writes of claims and pods, disturbed the pods that ran
	// and went while the program was killed.
	seen, written, disturbed, made int
}

func watch(client kubernetes.Interface) *watcher {
	ctx, cancel := context.WithCancel(context.Background())
	w := &watcher{
		client: client, cancel: cancel, changed: make(chan struct{}, 1),
		node: map[string]string{}, pods: map[string]types.UID{}, holds: map[string][]string{}, asked: map[types.UID]bool{}, retired: map[string]bool{},
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	see := func(f func(o any, gone bool)) cache.ResourceEventHandlerFuncs {
		do := func(o any, gone bool) {
			w.lock.Lock()
			w.written++
			f(o, gone)
			w.lock.Unlock()
			select {
			case w.changed <- struct{}{}:
			default:
			}
		}
		return cache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { do(o, false) },
			UpdateFunc: func(_, o any) { do(o, false) },
			DeleteFunc: func(o any) {
				if last, is := o.(cache.DeletedFinalStateUnknown); is {
					o = last.Obj
				}
				do(o, true)
			},
		}
	}
	_, _ = factory.Core().V1().Pods().Informer().AddEventHandler(see(func(o any, gone bool) { w.pod(ctx, o.(*corev1.Pod), gone) }))
	_, _ = factory.Resource().V1().ResourceClaims().Informer().AddEventHandler(see(func(o any, gone bool) { w.claim(o.(*resourcev1.ResourceClaim), gone) }))
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return w
}

func (w *watcher) pod(ctx context.Context, p *corev1.Pod, gone bool) {
	name := p.Namespace + "/" + p.Name
	if gone {
		if w.pods[name] == p.UID {
			delete(w.pods, name)
			delete(w.node, name)
		}
		batch := strings.HasPrefix(p.Name, "batch")
		switch {
		case batch && w.retired[*p.Spec.SchedulingGroup.PodGroupName]:
		case batch && w.asked[p.UID]:
			w.gone.asked++
		case batch:
			w.gone.unasked++
		case strings.HasPrefix(p.Name, "large"), strings.HasPrefix(p.Name, "mig-"):
			w.disturbed++
		}
		if group := p.Spec.SchedulingGroup; group != nil && (batch || strings.HasPrefix(p.Name, "hurt")) && !w.retired[*group.PodGroupName] && ctx.Err() == nil {
			w.made++ // under a name of its own, as a Job makes them; KWOK deletes by name
			again := fixture.TemplatePod(p.Namespace, fmt.Sprintf("%s-again%d", *group.PodGroupName, w.made), *group.PodGroupName, *group.PodGroupName)
			again.UID, again.ResourceVersion, again.CreationTimestamp = "", "", metav1.Time{}
			go func() { _, _ = w.client.CoreV1().Pods(p.Namespace).Create(ctx, again, metav1.CreateOptions{}) }()
		}
		return
	}
	w.pods[name] = p.UID
	if p.Spec.NodeName != "" {
		w.node[name] = p.Spec.NodeName
	}
	if text := p.Annotations[translate.RequestAnnotation]; text != "" && w.answer && p.Annotations[translate.AnswerAnnotation] == "" {
		var request carry.Request
		if json.Unmarshal([]byte(text), &request) == nil {
			w.asked[p.UID] = true
			patch := fmt.Sprintf(`{"metadata":{"uid":%q,"annotations":{%q:%q}}}`, p.UID, translate.AnswerAnnotation, strconv.FormatUint(uint64(request.Order), 10))
			go func() {
				_, _ = w.client.CoreV1().Pods(p.Namespace).Patch(ctx, p.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			}()
		}
	}
}

// claim notes what a claim holds, and looks for another that holds it too.
func (w *watcher) claim(c *resourcev1.ResourceClaim, gone bool) {
	name := c.Namespace + "/" + c.Name
	had := w.holds[name]
	delete(w.holds, name)
	if gone || c.Status.Allocation == nil {
		return
	}
	var now []string
	for _, d := range c.Status.Allocation.Devices.Results {
		now = append(now, d.Pool+"/"+d.Device)
	}
	if slices.Equal(had, now) {
		w.holds[name] = now
		return
	}
	w.seen++
	for other, held := range w.holds {
		for _, d := range now {
			if slices.Contains(held, d) {
				w.broken = append(w.broken, fmt.Sprintf("device %s is held by %s and %s", d, name, other))
			}
		}
	}
	w.holds[name] = now
}

// wait waits until something holds of what is seen.
func (w *watcher) wait(ctx context.Context, within time.Duration, is func(w *watcher) bool) error {
	end := time.After(within)
	for {
		w.lock.Lock()
		yes := is(w)
		w.lock.Unlock()
		if yes {
			return nil
		}
		select {
		case <-w.changed:
		case <-time.After(100 * time.Millisecond):
		case <-end:
			return fmt.Errorf("it did not come to pass within %v", within)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// bound counts the pods that are bound, by the beginning of their names; the lock is held.
func (w *watcher) bound(prefix string) (n int) {
	for name := range w.node {
		if strings.HasPrefix(name, team+"/"+prefix) {
			n++
		}
	}
	return n
}

// there counts the pods that are there, bound or not; the lock is held.
func (w *watcher) there(prefix string) (n int) {
	for name := range w.pods {
		if strings.HasPrefix(name, team+"/"+prefix) {
			n++
		}
	}
	return n
}

// retire chooses batch gangs that run, by name: their pods are not made anew.
func (w *watcher) retire(n int) {
	w.lock.Lock()
	defer w.lock.Unlock()
	for i := 0; len(w.retired) < n; i++ {
		if group := "batch" + strconv.Itoa(i); w.bound(group+"-") > 0 {
			w.retired[group] = true
		}
	}
}

func (w *watcher) countBound(prefix string) int {
	w.lock.Lock()
	defer w.lock.Unlock()
	return w.bound(prefix)
}

// on lists the nodes of pods, by the beginning of their names, in order.
func (w *watcher) on(prefix string) (nodes []string) {
	w.lock.Lock()
	defer w.lock.Unlock()
	for name, node := range w.node {
		if strings.HasPrefix(name, team+"/"+prefix) {
			nodes = append(nodes, node)
		}
	}
	slices.Sort(nodes)
	return nodes
}

// end deletes a gang and its pods.
func (w *watcher) end(ctx context.Context, group string) error {
	if err := w.client.SchedulingV1beta1().PodGroups(team).Delete(ctx, group, metav1.DeleteOptions{}); err != nil {
		return err
	}
	return w.endPods(ctx, group+"-")
}

// clear deletes all gangs and pods, and waits until no claim holds anything.
func (w *watcher) clear(ctx context.Context) error {
	w.lock.Lock()
	for name := range w.pods { // each by itself
		w.retired[strings.TrimPrefix(name[:strings.LastIndex(name, "-")], team+"/")] = true
	}
	w.lock.Unlock()
	if err := w.client.SchedulingV1beta1().PodGroups(team).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		return err
	}
	if err := w.endPods(ctx, ""); err != nil {
		return err
	}
	return w.wait(ctx, 2*time.Minute, func(w *watcher) bool { return len(w.pods) == 0 && len(w.holds) == 0 })
}

// endPods deletes pods at once.
func (w *watcher) endPods(ctx context.Context, prefix string) error {
	w.lock.Lock()
	var names []string
	for name := range w.pods {
		if strings.HasPrefix(name, team+"/"+prefix) {
			names = append(names, strings.TrimPrefix(name, team+"/"))
		}
	}
	w.lock.Unlock()
	zero := int64(0)
	for _, name := range names {
		if err := w.client.CoreV1().Pods(team).Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &zero}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

func (w *watcher) writes() int {
	w.lock.Lock()
	defer w.lock.Unlock()
	return w.written
}

func (w *watcher) victims() struct{ asked, unasked int } {
	w.lock.Lock()
	defer w.lock.Unlock()
	return w.gone
}

// racks counts those in which pods are.
func (w *watcher) racks(prefix string, perRack int) int {
	w.lock.Lock()
	defer w.lock.Unlock()
	racks := map[int]bool{}
	for name, node := range w.node {
		if strings.HasPrefix(name, team+"/"+prefix) {
			n, _ := strconv.Atoi(strings.TrimPrefix(node, "n"))
			racks[n/perRack] = true
		}
	}
	return len(racks)
}

// memorySlices are those that instances of a GPU take, from names such as
// gpu-3-mig-1g10gb-0-4: from slice 4 on as many as the profile has.
func (w *watcher) memorySlices() map[string][]int {
	sizes := map[string]int{"1g10gb": 1, "1g20gb": 2, "2g20gb": 2, "3g40gb": 4, "4g40gb": 4, "7g80gb": 8}
	taken := map[string][]int{}
	for _, devices := range w.holds {
		for _, d := range devices {
			gpu, instance, divided := strings.Cut(d, "-mig-")
			if !divided {
				continue
			}
			parts := strings.Split(instance, "-")
			start, _ := strconv.Atoi(parts[len(parts)-1])
			for i := range sizes[parts[0]] {
				taken[gpu] = append(taken[gpu], start+i)
			}
		}
	}
	return taken
}

// overlaps counts the memory slices that two instances take, and the GPUs that are held whole and
// divided at once.
func (w *watcher) overlaps() (n int) {
	w.lock.Lock()
	defer w.lock.Unlock()
	taken := w.memorySlices()
	for _, all := range taken {
		slices.Sort(all)
		n += len(all) - len(slices.Compact(all))
	}
	for _, devices := range w.holds {
		for _, d := range devices {
			if taken[d] != nil {
				n++
			}
		}
	}
	return n
}

// divided counts the GPUs of which instances are held.
func (w *watcher) divided() int {
	w.lock.Lock()
	defer w.lock.Unlock()
	return len(slices.Collect(maps.Keys(w.memorySlices())))
}

// stop ends the watch, and tells what was seen that must not be.
func (w *watcher) stop() []string {
	w.cancel()
	w.lock.Lock()
	defer w.lock.Unlock()
	return w.broken
}
