package loop_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/kube/carry"
	"github.com/berth-sched/berth/kube/internal/fixture"
	"github.com/berth-sched/berth/kube/internal/loop"
	"github.com/berth-sched/berth/kube/internal/pretend"
	"github.com/berth-sched/berth/kube/translate"
)

// A world is a server, and an engine as a process that may be killed.
type world struct {
	t      testing.TB
	server *pretend.Server
	engine *loop.Engine
	// successor leads in place of engine, which does not know it.
	successor *loop.Engine
	options   translate.Options
	now       berth.Time
	said      []string
	terms     int
	// before is called before each write; nil: nothing is.
	before func()
	// dead: the process was killed in the middle of something.
	dead bool
}

var errKilled = errors.New("the process is killed")

func newWorld(t testing.TB, objects ...metav1.Object) *world {
	w := &world{t: t, server: pretend.New(objects...), now: berth.TimeOf(fixture.Born.Time).Add(berth.Hour)}
	w.options.Levels = translate.KueueLevels()[1:]
	return w
}

// stoppable is an API of which a write can be kept waiting.
type stoppable struct {
	carry.API
	w *world
}

func (s stoppable) stop() {
	if s.w.before != nil {
		s.w.before()
	}
}

func (s stoppable) PatchPod(ctx context.Context, key translate.Key, patch []byte) (*corev1.Pod, error) {
	s.stop()
	return s.API.PatchPod(ctx, key, patch)
}

func (s stoppable) UpdateClaim(ctx context.Context, claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	s.stop()
	return s.API.UpdateClaim(ctx, claim)
}

func (s stoppable) UpdateClaimStatus(ctx context.Context, claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	s.stop()
	return s.API.UpdateClaimStatus(ctx, claim)
}

func (s stoppable) PatchPodGroup(ctx context.Context, key translate.Key, patch []byte) (*schedulingv1beta1.PodGroup, error) {
	s.stop()
	return s.API.PatchPodGroup(ctx, key, patch)
}

func (s stoppable) UpdatePodGroupStatus(ctx context.Context, group *schedulingv1beta1.PodGroup) (*schedulingv1beta1.PodGroup, error) {
	s.stop()
	return s.API.UpdatePodGroupStatus(ctx, group)
}

// start starts a process.
func (w *world) start() {
	w.terms++
	w.options.Term = fmt.Sprint("term", w.terms)
	cluster, err := translate.New(w.options)
	require.NoError(w.t, err)
	w.dead = false
	carrier := &carry.Carrier{
		API: stoppable{carry.Kube{Client: w.server.Client}, w}, Now: func() time.Time { return w.now.Std() }, Pause: time.Nanosecond,
		May: func() bool { return !w.dead },
	}
	w.engine, err = loop.New(loop.Options{
		Cluster: cluster, Carrier: carrier, Now: func() berth.Time { return w.now },
		Go:        func(f func() func()) { f()() },
		Log:       slog.New(slog.NewTextHandler(io.Discard, nil)),
		Explained: 100,
		Said: func(o translate.Object, _ string, _ bool, reason, text string) {
			w.said = append(w.said, fmt.Sprintf("%v: %s: %s", o, reason, text))
		},
	})
	require.NoError(w.t, err)
	w.server.Changes()
	for _, o := range w.server.All() {
		w.engine.Upsert(o)
	}
	w.engine.Synced()
}

// run goes on for a while, a second at a time, or until the process is killed.
func (w *world) run(seconds int) {
	w.t.Helper()
	for range seconds {
		w.now = w.now.Add(berth.Second)
		for range 100 {
			_, err := w.engine.Turn()
			require.NoError(w.t, err)
			if w.dead {
				return
			}
			moved := w.server.Turn()
			changes := w.server.Changes()
			for _, c := range changes {
				if c.Gone {
					w.engine.Delete(c.Object)
				} else {
					w.engine.Upsert(c.Object)
				}
			}
			if !moved && len(changes) == 0 {
				break
			}
		}
		require.NoError(w.t, w.engine.Core().Check())
		require.Empty(w.t, w.server.Broken)
	}
}

func (w *world) pods() []*corev1.Pod {
	return pretend.Objects[*corev1.Pod](w.server, pretend.Pods, "Pod")
}

// bound counts the pods of a gang that are bound, and those that are past their gates.
func (w *world) bound(gang string) (bound, past int) {
	for _, p := range w.pods() {
		if g := p.Spec.SchedulingGroup; g == nil || *g.PodGroupName != gang {
			continue
		}
		if p.Spec.NodeName != "" {
			bound++
		}
		if len(p.Spec.SchedulingGates) == 0 {
			past++
		}
	}
	return bound, past
}

func TestAGangIsBoundToWhatTheCoreChose(t *testing.T) {
	w := newWorld(t, append(fixture.Fleet(4, 2, 8), fixture.Gang("team", "train", 2, 8, "cloud.provider.com/topology-rack")...)...)
	w.start()
	w.run(3)
	bound, _ := w.bound("train")
	require.Equal(t, 2, bound)
	x, err := w.engine.Core().Explain(w.engine.Core().JobIDs()[0])
	require.NoError(t, err)
	require.Equal(t, berth.ReplicaRunning, x.Replicas[0].State)
	for _, m := range x.Replicas[0].Members {
		p := w.pods()[m.Index]
		require.Equal(t, string(m.Node), p.Spec.NodeName)
		require.Equal(t, m.GPUs.Len(), len(pretend.Objects[*resourcev1.ResourceClaim](w.server, pretend.Claims, "ResourceClaim")[m.Index].Status.Allocation.Devices.Results))
	}
	w.run(15)
	g := pretend.Objects[*schedulingv1beta1.PodGroup](w.server, pretend.PodGroups, "PodGroup")[0]
	require.Len(t, g.Status.Conditions, 1)
	require.Equal(t, "Running", g.Status.Conditions[0].Reason)
	require.Empty(t, w.server.Deleted)
}

// crash plays a story with a process that is killed at a write, and a new one that goes on. It
// reports how many writes there were without being killed.
func crash(t *testing.T, at int, done bool, story func(w *world)) int {
	w := newWorld(t, fixture.Fleet(4, 2, 8)...)
	for _, o := range fixture.Gang("else", "runs", 1, 8, "") {
		w.server.Add(o)
	}
	w.start()
	w.run(2)
	before := w.server.Writes
	w.server.Fail = func(n int) pretend.Fault {
		if at != 0 && n-before == at {
			w.dead = true
			return pretend.Fault{Err: errKilled, Done: done}
		}
		return pretend.Fault{}
	}
	story(w)
	writes := w.server.Writes - before
	if w.dead {
		w.start()
		w.run(40)
	}
	require.Empty(t, w.server.Broken)
	bound, _ := w.bound("runs")
	require.Equal(t, 1, bound, "what runs goes on")
	require.NotContains(t, w.server.Deleted, "runs-0")
	return writes
}

// TestKilledBetweenAnyTwoWrites kills the process at each write of a gang's binding, before the
// write and after it.
func TestKilledBetweenAnyTwoWrites(t *testing.T) {
	story := func(w *world) {
		for _, o := range fixture.Gang("team", "train", 3, 4, "cloud.provider.com/topology-rack") {
			w.server.Add(o)
		}
		w.run(5)
	}
	check := func(w *world) {
		bound, past := w.bound("train")
		require.Equal(t, 3, bound)
		require.Equal(t, 3, past)
	}
	n := crash(t, 0, false, func(w *world) { story(w); check(w) })
	require.Equal(t, 1+3*2+3+1, n, "the intent, claims, pods, and a condition")
	for at := 1; at <= n; at++ {
		for _, done := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d done %v", at, done), func(t *testing.T) {
				var last *world
				crash(t, at, done, func(w *world) { last = w; story(w) })
				check(last)
			})
		}
	}
}

// TestAFormerLeaderDoesNoHarm stops a process before each write of a gang's binding, has another
// one lead and place the gang, and lets the former one go on, which still believes that it leads.
func TestAFormerLeaderDoesNoHarm(t *testing.T) {
	for at := 1; ; at++ {
		w := newWorld(t, fixture.Fleet(4, 2, 8)...)
		w.start()
		w.run(2)
		for _, o := range fixture.Gang("team", "train", 3, 4, "cloud.provider.com/topology-rack") {
			w.server.Add(o)
		}
		writes, met := 0, false
		w.before = func() {
			if writes++; met || writes != at {
				return
			}
			met = true
			former := w.engine
			w.server.Add(fixture.Claim("team", "small", 1)) // so that the new one chooses otherwise
			w.server.Add(fixture.Gated("team", "small", "", "small"))
			w.start()
			w.run(3)
			w.successor, w.engine = w.engine, former
		}
		w.run(1)
		if !met {
			require.Equal(t, 1+3*2+3, at-1)
			return
		}
		w.engine = w.successor
		w.start() // a third one begins from what there is
		w.run(60)
		bound, past := w.bound("train")
		require.Equal(t, []int{3, 3}, []int{bound, past}, "stopped before write %d", at)
		require.Empty(t, w.server.Broken)
		require.Empty(t, w.server.Deleted)
	}
}

// TestPreemptionByCheckpoint has a gang of a higher class take the place of one that writes a
// checkpoint first.
func TestPreemptionByCheckpoint(t *testing.T) {
	w := newWorld(t, fixture.Fleet(2, 1, 8)...)
	w.options.Classes = map[string]berth.Class{"serving": berth.ClassLatencyCritical}
	w.server.Recreate = true
	low := fixture.Gang("team", "low", 2, 8, "")
	low[0].SetAnnotations(map[string]string{translate.CheckpointAnnotation: `{"supported":true}`})
	for _, o := range low {
		w.server.Add(o)
	}
	w.start()
	w.run(3)
	high := fixture.Gang("team", "high", 2, 8, "")
	high[0].(*schedulingv1beta1.PodGroup).Spec.PriorityClassName = "serving"
	for _, o := range high {
		w.server.Add(o)
	}
	w.run(3)
	bound, _ := w.bound("low")
	require.Equal(t, 2, bound, "it is asked first")
	var request string
	for _, p := range w.pods() {
		if *p.Spec.SchedulingGroup.PodGroupName == "low" {
			request = p.Annotations[translate.RequestAnnotation]
			require.NotEmpty(t, request)
			var order int
			_, err := fmt.Sscanf(request, `{"order":%d,`, &order)
			require.NoError(t, err)
			p.Annotations[translate.AnswerAnnotation] = fmt.Sprint(order)
			w.server.Set(p)
		}
	}
	w.run(5)
	bound, _ = w.bound("high")
	require.Equal(t, 2, bound)
	slices.Sort(w.server.Deleted)
	require.Equal(t, []string{"low-0", "low-1"}, w.server.Deleted)
}

func TestAServerThatHasNoTimeIsAskedAgain(t *testing.T) {
	w := newWorld(t, append(fixture.Fleet(4, 2, 8), fixture.Gang("team", "train", 2, 8, "")...)...)
	w.server.Fail = func(n int) pretend.Fault {
		switch n % 4 {
		case 1:
			return pretend.Fault{Err: apierrors.NewTooManyRequests("busy", 0)}
		case 2:
			return pretend.Fault{Err: apierrors.NewInternalError(errors.New("out of order")), Done: true}
		case 3:
			return pretend.Fault{Err: apierrors.NewServerTimeout(pretend.Pods.GroupResource(), "patch", 0)}
		}
		return pretend.Fault{}
	}
	w.start()
	w.run(3)
	bound, _ := w.bound("train")
	require.Equal(t, 2, bound)
}

func TestAPodThatIsDeletedByHandTakesTheGangBack(t *testing.T) {
	w := newWorld(t, append(fixture.Fleet(2, 1, 8), fixture.Gang("team", "train", 2, 8, "")...)...)
	w.server.Recreate = true
	w.start()
	w.run(3)
	p := w.pods()[0]
	p.DeletionTimestamp = &fixture.Born
	w.server.Set(p)
	w.run(30)
	bound, _ := w.bound("train")
	require.Equal(t, 2, bound, "it starts anew")
	require.Equal(t, []string{"train-1"}, w.server.Deleted, "the other one was stopped by order")
}

func TestAClaimThatSomebodyElseAllocatesIsLeftToThem(t *testing.T) {
	w := newWorld(t, append(fixture.Fleet(1, 1, 8), fixture.PodGroup("team", "train", 1, ""), fixture.Gated("team", "train-0", "train", "train-0"))...)
	w.server.Add(fixture.Claim("team", "train-0", 4))
	w.start()
	claim := pretend.Objects[*resourcev1.ResourceClaim](w.server, pretend.Claims, "ResourceClaim")[0]
	w.server.Set(fixture.Allocate(claim, "n0", nil, "gpu-7"))
	w.run(10)
	bound, past := w.bound("train")
	require.Zero(t, bound+past)
	claim = pretend.Objects[*resourcev1.ResourceClaim](w.server, pretend.Claims, "ResourceClaim")[0]
	require.Equal(t, "gpu-7", claim.Status.Allocation.Devices.Results[0].Device)
	claim.Status.Allocation = nil
	w.server.Set(claim)
	w.run(400)
	bound, _ = w.bound("train")
	require.Equal(t, 1, bound)
}
