package translate_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/kube/internal/fixture"
	"github.com/berth-sched/berth/kube/translate"
)

// testingT is a test, or a drawn one.
type testingT interface {
	require.TestingT
	Helper()
}

// A world is a cluster as it is seen, and a core that is told of it.
type world struct {
	t       testingT
	cluster *translate.Cluster
	core    *core.Core
	now     berth.Time
	refused []string
	told    []string // kinds of events
}

func newWorld(t testingT, options translate.Options, first ...metav1.Object) *world {
	if options.Levels == nil {
		options.Levels = translate.KueueLevels()[1:]
	}
	cluster, err := translate.New(options)
	require.NoError(t, err)
	sched, err := core.New(cluster.Config())
	require.NoError(t, err)
	w := &world{t: t, cluster: cluster, core: sched, now: berth.TimeOf(fixture.Born.Time).Add(berth.Hour)}
	for _, o := range first {
		require.Empty(t, cluster.Upsert(o))
	}
	w.apply(cluster.Synced())
	return w
}

func (w *world) apply(events []berth.Event) {
	w.t.Helper()
	w.told = nil
	for _, e := range events {
		w.told = append(w.told, e.Kind())
		if err := w.core.Apply(w.now, e); err != nil {
			w.refused = append(w.refused, err.Error())
			w.cluster.Refused(e, err)
		}
	}
	require.NoError(w.t, w.core.Check())
}

func (w *world) see(objects ...metav1.Object) {
	w.t.Helper()
	var told []string
	for _, o := range objects {
		w.apply(w.cluster.Upsert(o))
		told = append(told, w.told...)
	}
	w.told = told
}

func (w *world) gone(o metav1.Object) {
	w.t.Helper()
	w.apply(w.cluster.Delete(o))
}

// pass runs a pass and has its Binds started; it returns their plans.
func (w *world) pass() (plans []translate.Plan, others []berth.Order) {
	w.t.Helper()
	w.now = w.now.Add(berth.Second)
	orders, err := w.core.Schedule(w.now)
	require.NoError(w.t, err)
	for _, o := range orders {
		b, is := o.(berth.Bind)
		if !is {
			others = append(others, o)
			continue
		}
		plan, err := w.cluster.Plan(&b)
		require.NoError(w.t, err)
		w.apply(w.cluster.Start(&b, &plan))
		plans = append(plans, plan)
	}
	return plans, others
}

// carryOut has the API say what a plan says, and the pods bound, and reports it.
func (w *world) carryOut(plan translate.Plan, objects ...metav1.Object) []metav1.Object {
	w.t.Helper()
	var now []metav1.Object
	for _, s := range plan.Seats {
		p := find[*corev1.Pod](objects, s.Pod).DeepCopy()
		for _, a := range s.Claims {
			c := find[*resourcev1.ResourceClaim](objects, translate.Key{Namespace: s.Pod.Namespace, Name: a.Claim})
			var names []string
			for _, d := range a.Devices {
				require.Equal(w.t, s.Node, d.Pool)
				names = append(names, d.Name)
			}
			c = fixture.Allocate(c, s.Node, p, names...)
			c.Annotations = map[string]string{translate.HolderAnnotation: plan.Holder()}
			now = append(now, next(c))
		}
		p.Annotations = map[string]string{translate.MemberAnnotation: plan.Holder()}
		p.Spec.SchedulingGates, p.Spec.NodeName = nil, s.Node
		now = append(now, next(p))
	}
	w.see(now...)
	if plan.Order != 0 {
		w.apply([]berth.Event{berth.OrderReported{Order: plan.Order, Outcome: berth.OutcomeDone}})
	}
	return now
}

func find[T metav1.Object](objects []metav1.Object, key translate.Key) T {
	for _, o := range objects {
		if one, is := o.(T); is && one.GetNamespace() == key.Namespace && one.GetName() == key.Name {
			return one
		}
	}
	panic("no " + key.String())
}

// next is an object as its next version.
func next[T interface {
	metav1.Object
	runtime.Object
}](o T) T {
	o = o.DeepCopyObject().(T)
	n, _ := strconv.Atoi(o.GetResourceVersion())
	o.SetResourceVersion(strconv.Itoa(n + 1))
	return o
}

// changed is the next version of an object, changed.
func changed[T interface {
	metav1.Object
	runtime.Object
}](o T, change func(T)) T {
	o = next(o)
	change(o)
	return o
}

func (w *world) state(job string) string {
	for _, id := range w.core.JobIDs() {
		if strings.HasPrefix(string(id), job+"@") {
			s, _ := w.core.Job(id)
			return s.Replicas[0].State.String()
		}
	}
	return "unknown"
}

func (w *world) findings() (all []string) {
	for _, f := range w.cluster.Findings() {
		all = append(all, f.String())
	}
	return all
}

func nodesOf(plan translate.Plan) (nodes []string) {
	for _, s := range plan.Seats {
		nodes = append(nodes, s.Node)
	}
	return nodes
}

func TestAGangIsToldOnceItIsWholeAndPlacedInItsRack(t *testing.T) {
	w := newWorld(t, translate.Options{}, fixture.Fleet(4, 2, 8)...)
	gang := fixture.Gang("team", "train", 2, 8, "cloud.provider.com/topology-rack")
	for _, o := range gang[:len(gang)-1] {
		w.see(o)
		require.Empty(t, w.told, "%s", o.GetName())
	}
	require.Contains(t, w.findings(), "PodGroup team/train: : 1 of 2 pods are there to be placed")
	w.see(gang[len(gang)-1])
	require.Equal(t, []string{"queueSet", "jobSubmitted"}, w.told)
	require.Empty(t, w.findings())

	plans, _ := w.pass()
	require.Len(t, plans, 1)
	require.Equal(t, []string{"n0", "n1"}, nodesOf(plans[0]))
	require.Equal(t, translate.Object{Kind: "PodGroup", Key: translate.Key{Namespace: "team", Name: "train"}}, plans[0].Source)
	require.Len(t, plans[0].Seats[0].Claims[0].Devices, 8)
	require.Equal(t, translate.Device{Request: "gpus", Pool: "n0", Name: "gpu-3"}, plans[0].Seats[0].Claims[0].Devices[3])
	w.carryOut(plans[0], gang...)
	require.Equal(t, "running", w.state("team/train"))
	require.Empty(t, w.refused)
}

func TestAPodByItselfAndAGangByLabel(t *testing.T) {
	w := newWorld(t, translate.Options{}, fixture.Fleet(1, 1, 8)...)
	w.see(fixture.Claim("team", "c", 1), fixture.Gated("team", "one", "", "c"))
	require.Equal(t, "pending", w.state("pod team/one"))
	for i := range 2 {
		p := fixture.Gated("team", fmt.Sprintf("w-%d", i), "")
		p.Labels = map[string]string{translate.GangLabel: "w", translate.UserLabel: "ada"}
		p.Annotations = map[string]string{
			translate.SizeAnnotation: "2", translate.TopologyAnnotation: "cloud.provider.com/topology-rack",
			translate.CheckpointAnnotation: `{"supported":true,"cost":"1m0s"}`, translate.RuntimeAnnotation: "2h0m0s",
		}
		w.see(p)
	}
	require.Equal(t, "pending", w.state("gang team/w"))
	s, _ := w.core.Job(w.core.JobIDs()[0])
	require.Equal(t, "rack", s.Job.Topology.Required)
	require.Equal(t, berth.Checkpoint{Supported: true, Cost: berth.Minute}, s.Job.Checkpoint)
	require.Equal(t, 2*berth.Hour, s.Job.ExpectedRuntime)
	require.Equal(t, "ada", s.Job.User)
	s, _ = w.core.Job(w.core.JobIDs()[1])
	require.Equal(t, "team", s.Job.User)
	require.Empty(t, w.refused)
}

func TestDevicesOfOthersAreTaken(t *testing.T) {
	w := newWorld(t, translate.Options{}, fixture.Fleet(1, 1, 8)...)
	pod := fixture.Pod("else", "theirs", "x")
	held := fixture.Allocate(fixture.Claim("else", "x", 6), "n0", pod, "gpu-0", "gpu-1", "gpu-2", "gpu-3", "gpu-4", "gpu-5")
	w.see(held)
	require.Equal(t, []string{"jobObserved"}, w.told)
	w.see(fixture.Gang("team", "four", 1, 4, "")...)
	plans, _ := w.pass()
	require.Empty(t, plans)
	w.see(changed(held, func(c *resourcev1.ResourceClaim) { c.Status.Allocation = nil }))
	require.Equal(t, []string{"jobFinished"}, w.told)
	plans, _ = w.pass()
	require.Len(t, plans, 1)
	require.Empty(t, w.refused)
}

func TestAHostThatOthersUseHasLess(t *testing.T) {
	w := newWorld(t, translate.Options{}, fixture.Node("n0"))
	p := fixture.Pod("else", "daemon")
	p.Spec.NodeName = "n0"
	w.see(p)
	require.Equal(t, []string{"nodeUpdated"}, w.told)
	n, _ := w.core.Node("n0")
	require.Equal(t, int64(63_000), n.Node.CPUMilli)
	require.Equal(t, int64(511<<10), n.Node.MemoryMiB)
	w.gone(p)
	n, _ = w.core.Node("n0")
	require.Equal(t, int64(64_000), n.Node.CPUMilli)
}

func TestANodeIsCordonedTaintedAndLost(t *testing.T) {
	n := fixture.Node("n0")
	w := newWorld(t, translate.Options{}, n, fixture.Slice("n0", 8))
	n = changed(n, func(n *corev1.Node) {
		n.Spec.Unschedulable = true
		n.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}}
	})
	w.see(n)
	require.Equal(t, []string{"nodeCordoned"}, w.told)
	n = changed(n, func(n *corev1.Node) {
		n.Spec.Unschedulable = false
		n.Spec.Taints = []corev1.Taint{{Key: "team", Value: "a", Effect: corev1.TaintEffectNoSchedule}}
	})
	w.see(n)
	require.Equal(t, []string{"nodeUpdated", "nodeUncordoned"}, w.told)
	gang := fixture.Gang("team", "t", 1, 1, "")
	w.see(gang...)
	plans, _ := w.pass()
	require.Empty(t, plans, "the taint is not tolerated")
	w.gone(n)
	require.Equal(t, []string{"nodeLost"}, w.told)
	require.Empty(t, w.refused)
}

// TestANodeIsDrainedByATaint has a taint and an annotation say that a node has to be empty, and by
// when, and that it has not any more.
func TestANodeIsDrainedByATaint(t *testing.T) {
	n := fixture.Node("n0", "cloud.provider.com/topology-rack", "r0")
	w := newWorld(t, translate.Options{}, n, fixture.Slice("n0", 8))
	for _, step := range []struct {
		name     string
		change   func(n *corev1.Node)
		told     []string
		drains   bool
		finding  bool
		deadline string
	}{
		{"a taint", func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: translate.DrainTaint, Effect: corev1.TaintEffectNoSchedule}}
		}, []string{"nodeDraining"}, true, false, ""},
		{"again, with a cordon", func(n *corev1.Node) { n.Spec.Unschedulable = true }, nil, true, false, ""},
		{"a deadline", func(n *corev1.Node) {
			n.Annotations = map[string]string{translate.DrainByAnnotation: "2026-12-01T06:00:00Z"}
		}, []string{"nodeDraining"}, true, false, "2026-12-01T06:00:00Z"},
		{"a deadline that is none", func(n *corev1.Node) {
			n.Annotations = map[string]string{translate.DrainByAnnotation: "in an hour"}
		}, []string{"nodeDraining"}, true, true, ""},
		{"and one before all time", func(n *corev1.Node) {
			n.Annotations = map[string]string{translate.DrainByAnnotation: "0001-01-01T00:00:00Z"}
		}, nil, true, true, ""},
		{"the cordon alone", func(n *corev1.Node) { n.Spec.Taints, n.Annotations = nil, nil }, []string{"nodeCordoned"}, false, false, ""},
		{"nothing", func(n *corev1.Node) { n.Spec.Unschedulable = false }, []string{"nodeUncordoned"}, false, false, ""},
	} {
		n = changed(n, step.change)
		w.see(n)
		require.Equal(t, step.told, w.told, step.name)
		require.Equal(t, step.finding, len(w.findings()) > 0, "%s: %v", step.name, w.findings())
		view, _ := w.core.Node("n0")
		require.Equal(t, step.drains, view.Draining, step.name)
		by := ""
		if view.DrainBy != 0 {
			by = view.DrainBy.Std().UTC().Format(time.RFC3339)
		}
		require.Equal(t, step.deadline, by, step.name)
	}
	require.Empty(t, w.refused)
}

func TestANodeStaysUntilItsPodsAreGone(t *testing.T) {
	first := fixture.Fleet(1, 1, 8)
	w := newWorld(t, translate.Options{}, first...)
	gang := fixture.Gang("team", "t", 1, 8, "")
	w.see(gang...)
	plans, _ := w.pass()
	now := w.carryOut(plans[0], gang...)
	w.gone(first[0])
	require.Equal(t, []string{"nodeCordoned"}, w.told)
	w.gone(first[1])
	require.Empty(t, w.told, "the slices go with it, and the members hold their devices all the same")
	require.Equal(t, "running", w.state("team/t"))

	t.Run("and comes back", func(t *testing.T) {
		back := fixture.Node("n0", "cloud.provider.com/topology-rack", "r0")
		back.UID = "another"
		w.see(fixture.Slice("n0", 8), back)
		require.Equal(t, []string{"nodeUncordoned"}, w.told)
		require.Equal(t, "running", w.state("team/t"))
		w.gone(back)
	})
	pod := find[*corev1.Pod](now, translate.Key{Namespace: "team", Name: "t-0"})
	w.gone(pod)
	require.Equal(t, "running", w.state("team/t"), "the claim still has the devices")
	claim := find[*resourcev1.ResourceClaim](now, translate.Key{Namespace: "team", Name: "t-0"})
	w.gone(claim)
	require.Equal(t, []string{"memberFailed", "nodeLost"}, w.told)
	require.Equal(t, "pending", w.state("team/t"))
	require.Empty(t, w.refused)
}

func TestAPodThatTerminatesHoldsItsDevices(t *testing.T) {
	w := newWorld(t, translate.Options{}, fixture.Fleet(1, 1, 8)...)
	gang := fixture.Gang("team", "t", 1, 8, "")
	w.see(gang...)
	plans, _ := w.pass()
	now := w.carryOut(plans[0], gang...)
	pod := find[*corev1.Pod](now, translate.Key{Namespace: "team", Name: "t-0"})
	w.see(changed(pod, func(p *corev1.Pod) { p.DeletionTimestamp = &fixture.Born }))
	require.Empty(t, w.told)
	require.Equal(t, "running", w.state("team/t"))
}

func TestAGangThatSucceedsIsFinished(t *testing.T) {
	w := newWorld(t, translate.Options{}, fixture.Fleet(2, 1, 8)...)
	gang := fixture.Gang("team", "t", 2, 8, "")
	w.see(gang...)
	plans, _ := w.pass()
	now := w.carryOut(plans[0], gang...)
	for i := range 2 {
		key := translate.Key{Namespace: "team", Name: fmt.Sprintf("t-%d", i)}
		w.see(changed(find[*corev1.Pod](now, key), func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }))
		require.Empty(t, w.told, "the claim has its devices yet")
		w.see(changed(find[*resourcev1.ResourceClaim](now, key), func(c *resourcev1.ResourceClaim) { c.Status.Allocation = nil }))
	}
	require.Equal(t, []string{"jobFinished"}, w.told)
	require.Equal(t, "unknown", w.state("team/t"))
	require.Empty(t, w.refused)
}

func TestWhatIsNotTranslatedIsTold(t *testing.T) {
	w := newWorld(t, translate.Options{}, fixture.Fleet(1, 1, 8)...)
	all := fixture.Claim("team", "all", 1)
	all.Spec.Devices.Requests[0].Exactly.AllocationMode = resourcev1.DeviceAllocationModeAll
	cel := fixture.Claim("team", "cel", 1)
	cel.Spec.Devices.Requests[0].Exactly.Selectors = []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: "device.capacity['x'].isGreaterThan(1)"}}}
	spread := fixture.Gated("team", "spread", "")
	spread.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{WhenUnsatisfiable: corev1.DoNotSchedule}}
	queue := fixture.Gated("team", "queue", "")
	queue.Labels = map[string]string{translate.QueueLabel: "nowhere"}
	w.see(all, cel, fixture.Gated("team", "all", "", "all"), fixture.Gated("team", "cel", "", "cel"), spread, queue)
	require.Equal(t, []string{
		`Pod team/all: : the pod all cannot be placed: see there`,
		`Pod team/cel: : the pod cel cannot be placed: see there`,
		`Pod team/queue: metadata.labels: there is no queue "nowhere"`,
		`Pod team/spread: : the pod spread cannot be placed: see there`,
	}, w.findings())
	require.Empty(t, w.core.JobIDs())
}

func TestQueuesAndPolicyAreOfTheConfigMap(t *testing.T) {
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "berth", Name: "berth", UID: "1", ResourceVersion: "1"}}
	config.Data = map[string]string{
		"queues": `[{"name":"org"},{"name":"team","parent":"org","guarantee":{"gpuMilli":8000}}]`,
		"policy": `{"bindTimeout":"3m0s"}`,
	}
	options := translate.Options{ConfigMap: types.NamespacedName{Namespace: "berth", Name: "berth"}}
	w := newWorld(t, options, append(fixture.Fleet(1, 1, 8), config)...)
	require.Empty(t, w.refused)
	require.Equal(t, 3*berth.Minute, w.core.Config().Policy.BindTimeout)
	_, is := w.core.Queue("team")
	require.True(t, is)

	w.see(changed(config, func(c *corev1.ConfigMap) { c.Data["queues"] = `[{"name":"org","colour":"red"}]` }))
	require.Empty(t, w.told)
	require.Len(t, w.findings(), 1)
	require.Contains(t, w.findings()[0], "colour")
	config = next(next(config))
	config.Data = map[string]string{"queues": `[{"name":"org"}]`}
	w.see(config)
	require.Equal(t, []string{"policyChanged", "queueRemoved"}, w.told)
	require.Empty(t, w.findings())
	require.Empty(t, w.refused)
}

func TestInstancesArePlacedByTheLattice(t *testing.T) {
	first := []metav1.Object{fixture.Node("n0")}
	for _, s := range fixture.Partitionable("n0", 2) {
		first = append(first, s)
	}
	w := newWorld(t, translate.Options{Levels: []translate.Level{}}, first...)
	require.Empty(t, w.findings())
	var objects []metav1.Object
	for i, profile := range []string{"3g.40gb", "3g.40gb", "1g.10gb"} {
		name := fmt.Sprintf("i%d", i)
		objects = append(objects, fixture.InstanceClaim("team", name, profile), fixture.Gated("team", name, "", name))
	}
	w.see(objects...)
	held := map[string]bool{}
	var now []metav1.Object
	for range 6 {
		plans, others := w.pass()
		for _, o := range others {
			if r, is := o.(berth.Repartition); is {
				w.cluster.Repartitioned(&r)
			}
			w.apply([]berth.Event{berth.OrderReported{Order: o.Header().ID, Outcome: berth.OutcomeDone}})
		}
		for _, plan := range plans {
			d := plan.Seats[0].Claims[0].Devices[0]
			require.False(t, held[d.Name])
			require.Contains(t, d.Name, "-mig-")
			held[d.Name] = true
			now = append(now, w.carryOut(plan, objects...)...)
		}
	}
	require.Len(t, held, 3)
	require.Empty(t, w.refused)

	t.Run("and found again after a restart", func(t *testing.T) {
		again := newWorld(t, translate.Options{Levels: []translate.Level{}}, append(first, now...)...)
		require.Empty(t, again.refused)
		require.Equal(t, 3, again.core.Report().Replicas.Running)
	})
}

func TestARestartFindsWhatRunsAndFinishesWhatWasAllocated(t *testing.T) {
	fleet := fixture.Fleet(3, 1, 8)
	w := newWorld(t, translate.Options{}, fleet...)
	runs, waits, begun := fixture.Gang("team", "runs", 1, 8, ""), fixture.Gang("team", "waits", 1, 8, ""), fixture.Gang("team", "begun", 2, 4, "")
	w.see(runs...)
	plans, _ := w.pass()
	now := append([]metav1.Object{runs[0]}, w.carryOut(plans[0], runs...)...)
	w.see(begun...)
	plans, _ = w.pass()
	carried := w.carryOut(plans[0], begun...)
	intent := changed(begun[0].(*schedulingv1beta1.PodGroup), func(g *schedulingv1beta1.PodGroup) {
		in := plans[0].Intent()
		g.Annotations = map[string]string{translate.IntentAnnotation: in.Text()}
	})

	for _, test := range []struct {
		name     string
		objects  []metav1.Object
		state    string
		leftover int
		plans    int
	}{
		{"nothing but the intent", append([]metav1.Object{intent}, begun[1:]...), "pending", 0, 0},
		{"half of the claims", []metav1.Object{intent, begun[2], begun[4], carried[0], begun[3]}, "unknown", 1, 0},
		{"all claims", []metav1.Object{intent, begun[2], begun[4], carried[0], carried[2]}, "running", 0, 1},
		{"all claims and a pod", []metav1.Object{intent, carried[1], begun[4], carried[0], carried[2]}, "running", 0, 1},
		{"all", append([]metav1.Object{intent}, carried...), "running", 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			again := newWorld(t, translate.Options{}, slices.Concat(fleet, now, waits, test.objects)...)
			require.Empty(t, again.refused)
			require.Equal(t, "running", again.state("team/runs"))
			require.Equal(t, "pending", again.state("team/waits"))
			require.Equal(t, test.state, again.state("team/begun"), "%v", again.findings())
			require.Len(t, again.cluster.Leftovers(), test.leftover)
			require.Len(t, again.cluster.Unfinished(), test.plans)
		})
	}
}

// BenchmarkPartitionable is what a node costs when it is first seen: 8 GPUs that divide.
func BenchmarkPartitionable(b *testing.B) {
	slices := fixture.Partitionable("n0", 8)
	b.ReportAllocs()
	for b.Loop() {
		w := newWorld(b, translate.Options{Levels: []translate.Level{}})
		for _, s := range slices {
			w.cluster.Upsert(s)
		}
		w.cluster.Upsert(fixture.Node("n0"))
	}
}
