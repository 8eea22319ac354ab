package loop

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/berth-sched/berth"
)

// A queue has what the engine is to do next, without a bound: a watch does not wait. What it holds
// is what the caches of the watches hold anyway.
type queue struct {
	lock sync.Mutex
	all  []func()
	news chan struct{}
}

func (q *queue) push(f func()) {
	q.lock.Lock()
	q.all = append(q.all, f)
	q.lock.Unlock()
	select {
	case q.news <- struct{}{}:
	default:
	}
}

func (q *queue) take() []func() {
	q.lock.Lock()
	defer q.lock.Unlock()
	all := q.all
	q.all = nil
	return all
}

// Clock is a clock for Options.Now: the wall at the start, and from then on what nobody sets.
func Clock() func() berth.Time {
	base, began := berth.TimeOf(time.Now()), time.Now()
	return func() berth.Time { return base.Add(berth.DurationOf(time.Since(began))) }
}

// Run watches a cluster and runs an engine for it until the context ends. Options.Go is set by it.
// Ready is called once all that was there is told. When a turn is over, turned is called by the
// goroutine that owns the engine. Either may be nil.
func Run(ctx context.Context, client kubernetes.Interface, config types.NamespacedName, o Options, ready func(), turned func(*Engine)) error {
	q := &queue{news: make(chan struct{}, 1)}
	o.Go = func(f func() func()) { go func() { q.push(f()) }() }
	e, err := New(o)
	if err != nil {
		return err
	}
	if err := watch(ctx, client, config, e, q); err != nil {
		return err
	}
	e.Synced()
	if ready != nil {
		ready()
	}
	for {
		for _, f := range q.take() {
			f()
		}
		wait, err := e.Turn()
		if err != nil {
			return fmt.Errorf("loop: %w", err)
		}
		if turned != nil {
			turned(e)
		}
		timer := time.NewTimer(max(wait, time.Millisecond))
		select {
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-q.news:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// watch starts the watches, and tells the engine what there is.
func watch(ctx context.Context, client kubernetes.Interface, config types.NamespacedName, e *Engine, q *queue) error {
	slim := informers.WithTransform(func(o any) (any, error) {
		if m, is := o.(metav1.Object); is {
			m.SetManagedFields(nil)
		}
		return o, nil
	})
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, slim)
	watched := []cache.SharedIndexInformer{
		factory.Core().V1().Nodes().Informer(),
		factory.Core().V1().Pods().Informer(),
		factory.Resource().V1().ResourceSlices().Informer(),
		factory.Resource().V1().ResourceClaims().Informer(),
		factory.Resource().V1().DeviceTaintRules().Informer(),
	}
	groups, err := serves(client, "scheduling.k8s.io/v1beta1", "podgroups")
	if err != nil {
		return err
	}
	if groups {
		watched = append(watched, factory.Scheduling().V1beta1().PodGroups().Informer())
	} else {
		e.o.Log.Info("the cluster serves no PodGroup: gangs are those by label")
	}
	factories := []informers.SharedInformerFactory{factory}
	if config.Name != "" {
		one := informers.NewSharedInformerFactoryWithOptions(client, 0, slim, informers.WithNamespace(config.Namespace),
			informers.WithTweakListOptions(func(o *metav1.ListOptions) {
				o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, config.Name).String()
			}))
		watched = append(watched, one.Core().V1().ConfigMaps().Informer())
		factories = append(factories, one)
	}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { q.push(func() { e.Upsert(o.(metav1.Object)) }) },
		UpdateFunc: func(_, o any) { q.push(func() { e.Upsert(o.(metav1.Object)) }) },
		DeleteFunc: func(o any) {
			if last, is := o.(cache.DeletedFinalStateUnknown); is {
				o = last.Obj
			}
			q.push(func() { e.Delete(o.(metav1.Object)) })
		},
	}
	var synced []cache.InformerSynced
	for _, w := range watched {
		registered, err := w.AddEventHandler(handler)
		if err != nil {
			return fmt.Errorf("loop: %w", err)
		}
		synced = append(synced, registered.HasSynced)
	}
	for _, f := range factories {
		f.Start(ctx.Done())
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return context.Cause(ctx)
	}
	for _, f := range q.take() {
		f()
	}
	return nil
}

// serves reports whether a cluster has a resource.
func serves(client kubernetes.Interface, version, resource string) (bool, error) {
	_, lists, err := client.Discovery().ServerGroupsAndResources()
	for _, l := range lists {
		if l.GroupVersion == version {
			return slices.ContainsFunc(l.APIResources, func(r metav1.APIResource) bool { return r.Name == resource }), nil
		}
	}
	if err != nil {
		return false, fmt.Errorf("loop: what the cluster serves: %w", err)
	}
	return false, nil
}
