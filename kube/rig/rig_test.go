package rig_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/berth-sched/berth/kube/carry"
	"github.com/berth-sched/berth/kube/internal/fixture"
	"github.com/berth-sched/berth/kube/internal/loop"
	"github.com/berth-sched/berth/kube/manifests"
	"github.com/berth-sched/berth/kube/rig"
	"github.com/berth-sched/berth/kube/translate"
)

// start starts a rig, where its binaries are built or BERTH_RIG says to build them.
func start(t *testing.T, o rig.Options) *rig.Rig {
	if !rig.Cached() && os.Getenv("BERTH_RIG") == "" {
		t.Skip("a stock Kubernetes is not built yet: BERTH_RIG=1 builds one, in some 20 minutes, once")
	}
	if testing.Verbose() {
		o.Log = os.Stderr
	}
	r, err := rig.Start(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(r.Stop)
	return r
}

// run runs an engine for a rig, as a process of its own would, over connections of these kinds,
// until the test is over or the function is called that is returned.
func run(t *testing.T, r *rig.Rig, options translate.Options, over ...*mortal) (stop func()) {
	cluster, err := translate.New(options)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	if testing.Verbose() {
		log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	client := asBerth(t, r, over...)
	ready, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		err := loop.Run(ctx, client, options.ConfigMap, loop.Options{
			Cluster: cluster, Carrier: &carry.Carrier{API: carry.Kube{Client: client}, Now: time.Now, Parallel: 16},
			Now: loop.Clock(), Log: log, Explained: 10,
		}, func() { close(ready) }, nil)
		if ctx.Err() == nil {
			t.Error(err)
		}
	}()
	stop = func() { cancel(); <-ended }
	t.Cleanup(stop)
	select {
	case <-ready:
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("the engine is not ready")
	}
	return stop
}

// furnish makes what each cluster of these tests has: the manifests, two namespaces, the classes of
// devices, and nodes.
func furnish(t *testing.T, r *rig.Rig, fleet ...metav1.Object) {
	for _, file := range []string{"rbac.yaml", "guard.yaml", "deployment.yaml"} {
		require.NoError(t, r.Apply(t.Context(), manifests.Files, file))
	}
	var objects []metav1.Object
	for _, name := range []string{"team", "else"} {
		objects = append(objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	for _, c := range rig.Classes() {
		objects = append(objects, c)
	}
	require.NoError(t, r.Create(t.Context(), append(objects, fleet...)...))
}

// asBerth is a client with the rights that the manifests give.
func asBerth(t *testing.T, r *rig.Rig, over ...*mortal) kubernetes.Interface {
	config := rest.CopyConfig(r.Config)
	config.Impersonate.UserName = "system:serviceaccount:berth-system:berth-kube"
	config.Impersonate.Groups = []string{"system:serviceaccounts", "system:authenticated"}
	for _, m := range over {
		config.Wrap(func(inner http.RoundTripper) http.RoundTripper {
			m.RoundTripper = inner
			return m
		})
	}
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	return client
}

// eventually waits until a condition holds.
func eventually(t *testing.T, within time.Duration, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(within); ; time.Sleep(50 * time.Millisecond) {
		if is() {
			return
		}
		if time.Now().After(end) {
			t.Fatal("it did not happen: " + what)
		}
	}
}

// taken lists the claim that holds each device, and fails if two do.
func taken(t *testing.T, r *rig.Rig) map[string]string {
	claims, err := r.Client.ResourceV1().ResourceClaims("").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	holder := map[string]string{}
	for _, c := range claims.Items {
		if c.Status.Allocation == nil {
			continue
		}
		for _, d := range c.Status.Allocation.Devices.Results {
			device := d.Pool + "/" + d.Device
			require.Empty(t, holder[device], "device %s is held by %s, too", device, c.Name)
			holder[device] = c.Name
		}
	}
	return holder
}

func (b *bindings) read(t *testing.T, r *rig.Rig, namespace string) {
	pods, err := r.Client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	b.node = map[string]string{}
	for _, p := range pods.Items {
		if p.Spec.NodeName != "" {
			b.node[p.Name] = p.Spec.NodeName
		}
	}
}

type bindings struct{ node map[string]string }

// TestTheStockSchedulerBindsWhatTheCoreChose is the point of all: a gang waits at its gate, gets
// its devices from the core, and the scheduler of the cluster, with all that it filters, binds its
// pods to where they are.
func TestTheStockSchedulerBindsWhatTheCoreChose(t *testing.T) {
	r := start(t, rig.Options{Gates: []string{"GenericWorkload=true"}, Scheduler: true, Controllers: true})
	ctx := t.Context()
	furnish(t, r, fixture.Fleet(4, 2, 8)...)
	run(t, r, translate.Options{Levels: translate.KueueLevels()[1:], ConfigMap: types.NamespacedName{Namespace: "berth-system", Name: "berth"}})

	began := time.Now()
	require.NoError(t, r.Create(ctx, fixture.TemplateGang("team", "train", 4, 4, "cloud.provider.com/topology-rack")...))
	var now bindings
	eventually(t, time.Minute, "four pods are bound", func() bool { now.read(t, r, "team"); return len(now.node) == 4 })
	t.Logf("four pods with four GPUs each, from the first object to the last bound: %v", time.Since(began))
	rack := map[byte]bool{}
	for _, node := range now.node {
		rack[(node[1]-'0')/2] = true
	}
	require.Len(t, rack, 1, "they are in one rack: %v", now.node)
	require.Len(t, taken(t, r), 16)

	t.Run("and another gang in the other rack, with the rest waiting", func(t *testing.T) {
		require.NoError(t, r.Create(ctx, fixture.TemplateGang("team", "second", 2, 8, "cloud.provider.com/topology-rack")...))
		eventually(t, time.Minute, "two more are bound", func() bool { now.read(t, r, "team"); return len(now.node) == 6 })
		require.NoError(t, r.Create(ctx, fixture.TemplateGang("team", "third", 1, 8, "")...))
		require.Len(t, taken(t, r), 32)
		eventually(t, time.Minute, "the third is told why it waits", func() bool {
			g, err := r.Client.SchedulingV1beta1().PodGroups("team").Get(ctx, "third", metav1.GetOptions{})
			require.NoError(t, err)
			return len(g.Status.Conditions) > 0 && g.Status.Conditions[0].Type == carry.ConditionType
		})
	})
	t.Run("which starts when a gang goes", func(t *testing.T) {
		for _, name := range []string{"second-0", "second-1"} {
			zero := int64(0)
			require.NoError(t, r.Client.CoreV1().Pods("team").Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &zero}))
		}
		require.NoError(t, r.Client.SchedulingV1beta1().PodGroups("team").Delete(ctx, "second", metav1.DeleteOptions{}))
		eventually(t, time.Minute, "the third is bound", func() bool { now.read(t, r, "team"); return now.node["third-0"] != "" })
		require.Len(t, taken(t, r), 24)
	})
}

// TestTheGuardKeepsClaimsOfOthersOff has a pod of somebody else ask for a GPU: the scheduler of the
// cluster gives it none, and a claim that tolerates the guard is refused.
func TestTheGuardKeepsClaimsOfOthersOff(t *testing.T) {
	r := start(t, rig.Options{Scheduler: true, Controllers: true})
	furnish(t, r, fixture.Fleet(1, 1, 8)...)
	ctx := t.Context()
	require.NoError(t, r.Create(ctx, fixture.Claim("else", "plain", 1), fixture.Pod("else", "plain", "plain")))
	for _, operator := range []resourcev1.DeviceToleration{{Operator: resourcev1.DeviceTolerationOpExists}, {Key: translate.GuardTaint, Operator: resourcev1.DeviceTolerationOpExists}} {
		claim := fixture.Claim("else", "sly", 1)
		claim.Spec.Devices.Requests[0].Exactly.Tolerations = []resourcev1.DeviceToleration{operator}
		eventually(t, 30*time.Second, "the policy is in force", func() bool {
			err := r.Create(ctx, claim)
			if err == nil {
				require.NoError(t, r.Client.ResourceV1().ResourceClaims("else").Delete(ctx, "sly", metav1.DeleteOptions{}))
			}
			return err != nil && strings.Contains(err.Error(), "must not tolerate")
		})
	}
	eventually(t, 30*time.Second, "the scheduler finds no device", func() bool {
		p, err := r.Client.CoreV1().Pods("else").Get(ctx, "plain", metav1.GetOptions{})
		require.NoError(t, err)
		return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Reason == corev1.PodReasonUnschedulable })
	})
	require.Empty(t, taken(t, r))
}

// TestPodsRunAndEndWithKWOK has KWOK in place of kubelets: pods run, and go when they are deleted.
func TestPodsRunAndEndWithKWOK(t *testing.T) {
	r := start(t, rig.Options{Scheduler: true, Controllers: true, Kubelets: true})
	furnish(t, r, fixture.Fleet(2, 1, 8)...)
	run(t, r, translate.Options{Levels: translate.KueueLevels()[1:]})
	ctx := t.Context()
	require.NoError(t, r.Create(ctx, fixture.Claim("team", "one", 8), fixture.Gated("team", "one", "", "one")))
	pod := func() *corev1.Pod {
		p, err := r.Client.CoreV1().Pods("team").Get(ctx, "one", metav1.GetOptions{})
		if err != nil {
			return nil
		}
		return p
	}
	eventually(t, time.Minute, "it runs", func() bool { p := pod(); return p != nil && p.Status.Phase == corev1.PodRunning })
	require.Len(t, taken(t, r), 8)
	require.NoError(t, r.Client.CoreV1().Pods("team").Delete(ctx, "one", metav1.DeleteOptions{}))
	eventually(t, time.Minute, "it is gone, and its devices are free", func() bool { return pod() == nil && len(taken(t, r)) == 0 })
}
