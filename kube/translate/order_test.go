package translate_test

import (
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/kube/internal/fixture"
	"github.com/berth-sched/berth/kube/translate"
)

// drawObjects draws a cluster: nodes of which some divide, gangs, some of which are elastic, pods
// by themselves, claims of others, pods that use the hosts.
func drawObjects(t *rapid.T) (objects []metav1.Object, elastic bool) {
	nodes := rapid.IntRange(1, 4).Draw(t, "nodes")
	for i := range nodes {
		name := fmt.Sprintf("n%d", i)
		n := fixture.Node(name, "cloud.provider.com/topology-rack", fmt.Sprintf("r%d", i%2))
		if rapid.Bool().Draw(t, "cordoned") {
			n.Spec.Unschedulable = true
		}
		if rapid.Bool().Draw(t, "drained") {
			n.Spec.Taints = []corev1.Taint{{Key: translate.DrainTaint, Effect: corev1.TaintEffectNoSchedule}}
		}
		objects = append(objects, n)
		if rapid.Bool().Draw(t, "divides") {
			for _, s := range fixture.Partitionable(name, 2) {
				objects = append(objects, s)
			}
		} else {
			s := fixture.Slice(name, 4)
			if rapid.Bool().Draw(t, "tainted") {
				s.Spec.Devices[0].Taints = []resourcev1.DeviceTaint{{Key: "broken", Effect: resourcev1.DeviceTaintEffectNoSchedule}}
			}
			objects = append(objects, s)
		}
		if rapid.Bool().Draw(t, "others") {
			p := fixture.Pod("else", "p"+name, "c"+name)
			p.Spec.NodeName = name
			objects = append(objects, p, fixture.Allocate(fixture.Claim("else", "c"+name, 1), name, p, rapid.SampledFrom([]string{"gpu-0", "gpu-1"}).Draw(t, "device")))
		}
	}
	for i := range rapid.IntRange(0, 4).Draw(t, "gangs") {
		pods := rapid.IntRange(1, 3).Draw(t, "pods")
		gang := fixture.Gang("team", fmt.Sprintf("g%d", i), pods, rapid.IntRange(1, 2).Draw(t, "gpus"), rapid.SampledFrom([]string{"", "cloud.provider.com/topology-rack"}).Draw(t, "topology"))
		if pods > 1 && rapid.Bool().Draw(t, "elastic") {
			gang[0] = fixture.PodGroup("team", fmt.Sprintf("g%d", i), 1, "")
			elastic = true
		}
		objects = append(objects, gang...)
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "pods") {
		name := fmt.Sprintf("one%d", i)
		objects = append(objects, fixture.Gated("team", name, "", name), fixture.InstanceClaim("team", name, "1g.10gb"))
	}
	return objects, elastic
}

var serials = regexp.MustCompile(`(@[0-9a-f]{8})\.[0-9]+`)

// seen is what a core knows in the end, and what it orders then.
func (w *world) seen(elastic bool) string {
	report := w.core.Report()
	if elastic { // a gang may have been told again, with more pods
		report.Totals = berth.Totals{}
	}
	text := fmt.Sprintf("%+v\n", report)
	for s := range w.core.Jobs() {
		text += fmt.Sprintf("%+v\n", s)
	}
	for s := range w.core.Nodes() {
		text += fmt.Sprintf("%+v\n", s)
	}
	text += fmt.Sprintf("%v\n", w.findings())
	orders, err := w.core.Schedule(w.now.Add(berth.Second))
	require.NoError(w.t, err)
	text += fmt.Sprintf("%+v\n", orders)
	return serials.ReplaceAllString(text, "$1")
}

func TestItMakesNoDifferenceInWhichOrderObjectsCome(t *testing.T) {
	drawn.Check(t, func(rt *rapid.T) {
		objects, elastic := drawObjects(rt)
		options := translate.Options{Levels: translate.KueueLevels()[1:]}
		want := newWorld(rt, options, objects...).seen(elastic)
		shuffled := rapid.Permutation(objects).Draw(rt, "order")
		listed := rapid.IntRange(0, len(shuffled)).Draw(rt, "listed")
		w := newWorld(rt, options, shuffled[:listed]...)
		w.see(shuffled[listed:]...)
		require.Equal(rt, want, w.seen(elastic))
	})
}

func TestWhatIsDeletedLeavesNothing(t *testing.T) {
	drawn.Check(t, func(rt *rapid.T) {
		objects, _ := drawObjects(rt)
		w := newWorld(rt, translate.Options{Levels: translate.KueueLevels()[1:]}, objects...)
		for _, o := range rapid.Permutation(objects).Draw(rt, "order") {
			w.gone(o)
		}
		require.Empty(rt, w.core.JobIDs())
		require.Zero(rt, w.core.Report().Nodes.All)
		require.Empty(rt, w.findings())
	})
}

func TestAnOlderObjectIsPassedOver(t *testing.T) {
	n := fixture.Node("n0")
	w := newWorld(t, translate.Options{}, changed(n, func(n *corev1.Node) { n.Spec.Unschedulable = true }))
	w.see(n)
	require.Empty(t, w.told)
	require.Empty(t, w.cluster.Refresh(fixture.Pod("team", "gone")))
	require.True(t, slices.ContainsFunc(w.core.Report().Queues, func(q berth.QueueReport) bool { return q.Queue == translate.OthersQueue }))
}
