package rig_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-sched/berth/kube/carry"
	"github.com/berth-sched/berth/kube/internal/fixture"
	"github.com/berth-sched/berth/kube/rig"
	"github.com/berth-sched/berth/kube/translate"
)

const rackLabel = "cloud.provider.com/topology-rack"

var errKilled = errors.New("the process is killed")

// A mortal is the connection of a process that is killed at a write: before the server has it, or
// after, with the answer lost. From then on nothing goes through.
type mortal struct {
	http.RoundTripper
	at   int
	done bool
	die  func()

	lock   sync.Mutex
	writes int
	dead   bool
}

// RoundTrip implements [http.RoundTripper].
func (m *mortal) RoundTrip(r *http.Request) (*http.Response, error) {
	m.lock.Lock()
	if r.Method != http.MethodGet && !m.dead && !strings.Contains(r.URL.Path, "/events") {
		m.writes++
		if m.writes == m.at {
			m.dead = true
			if m.done {
				m.lock.Unlock()
				if answer, err := m.RoundTripper.RoundTrip(r); err == nil {
					_, _ = io.Copy(io.Discard, answer.Body)
					_ = answer.Body.Close()
				}
				m.die()
				return nil, errKilled
			}
			m.die()
		}
	}
	dead := m.dead
	m.lock.Unlock()
	if dead {
		return nil, errKilled
	}
	return m.RoundTripper.RoundTrip(r)
}

// TestKilledBetweenAnyTwoWritesOnAServer kills the process at each write of a gang's binding,
// before the server has it and after, and has a new process go on: the gang is bound whole, on
// devices of its own, and what runs stays.
func TestKilledBetweenAnyTwoWritesOnAServer(t *testing.T) {
	r := start(t, rig.Options{Gates: []string{"GenericWorkload=true"}, Scheduler: true, Controllers: true, Kubelets: true})
	furnish(t, r, fixture.Fleet(4, 2, 8)...)
	options := translate.Options{Levels: translate.KueueLevels()[1:]}
	stop := run(t, r, options)
	require.NoError(t, r.Create(t.Context(), fixture.TemplateGang("else", "runs", 1, 8, "")...))
	eventually(t, time.Minute, "what runs is bound", func() bool { return len(boundPods(t, r, "else", "runs-")) == 1 })
	stop()
	before := boundPods(t, r, "else", "runs-")

	const pods = 3
	longest := time.Duration(0)
	at, kills := 1, 0
	for over := false; !over; at++ {
		for _, done := range []bool{false, true} {
			name := fmt.Sprintf("train%d%v", at, done)
			m := &mortal{at: at, done: done}
			killed := make(chan struct{})
			m.die = sync.OnceFunc(func() { close(killed) })
			stop := run(t, r, options, m)
			require.NoError(t, r.Create(t.Context(), fixture.TemplateGang("team", name, pods, 4, rackLabel)...))
			whole := func() bool { return len(boundPods(t, r, "team", name)) == pods }
			died := false
			for end := time.Now().Add(time.Minute); !died && !whole(); {
				select {
				case <-killed:
					died = true
				case <-time.After(50 * time.Millisecond):
				}
				require.True(t, time.Now().Before(end), "killed at write %d, done %v: neither killed nor bound", at, done)
			}
			stop()
			if died {
				kills++
			}
			over = over || !died
			began := time.Now()
			stop = run(t, r, options)
			eventually(t, time.Minute, name+" is bound whole", whole)
			longest = max(longest, time.Since(began))
			taken(t, r)
			require.Equal(t, before, boundPods(t, r, "else", "runs-"), "what runs stays")
			remove(t, r, "team", name, pods)
			stop()
		}
	}
	// The intent, a mark and an allocation of each claim, each pod; then comes a condition.
	require.Greater(t, at-1, 1+2*pods+pods)
	t.Logf("killed %d times, at each of %d writes: whole at most %v after the new process began", kills, at-2, longest.Round(10*time.Millisecond))
}

// remove deletes a gang, and waits until nothing is left of it.
func remove(t *testing.T, r *rig.Rig, namespace, name string, pods int) {
	t.Helper()
	zero := int64(0)
	require.NoError(t, r.Client.SchedulingV1beta1().PodGroups(namespace).Delete(t.Context(), name, metav1.DeleteOptions{}))
	for i := range pods {
		err := r.Client.CoreV1().Pods(namespace).Delete(t.Context(), fmt.Sprintf("%s-%d", name, i), metav1.DeleteOptions{GracePeriodSeconds: &zero})
		if !apierrors.IsNotFound(err) { // a controller may delete them with the PodGroup
			require.NoError(t, err)
		}
	}
	eventually(t, time.Minute, "its claims go", func() bool {
		for _, claim := range taken(t, r) {
			if strings.HasPrefix(claim, name) {
				return false
			}
		}
		return true
	})
}

// boundPods are the UIDs of pods that are bound, by name.
func boundPods(t *testing.T, r *rig.Rig, namespace, prefix string) map[string]types.UID {
	t.Helper()
	pods, err := r.Client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	bound := map[string]types.UID{}
	for _, p := range pods.Items {
		if strings.HasPrefix(p.Name, prefix) && p.Spec.NodeName != "" {
			bound[p.Name] = p.UID
		}
	}
	return bound
}

// TestAServerThatIsAwayForAMinute has the API server answer nobody for a minute, with a gang that
// runs, one that was just submitted, and one that comes afterwards: what runs goes on, and the
// others start once the server is back, without a restart of the process.
func TestAServerThatIsAwayForAMinute(t *testing.T) {
	r := start(t, rig.Options{Gates: []string{"GenericWorkload=true"}, Scheduler: true, Controllers: true, Kubelets: true})
	furnish(t, r, fixture.Fleet(4, 2, 8)...)
	run(t, r, translate.Options{Levels: translate.KueueLevels()[1:]})
	require.NoError(t, r.Create(t.Context(), fixture.TemplateGang("team", "runs", 2, 8, rackLabel)...))
	eventually(t, time.Minute, "it is bound", func() bool { return len(boundPods(t, r, "team", "runs")) == 2 })
	before := boundPods(t, r, "team", "runs")

	require.NoError(t, r.Create(t.Context(), fixture.TemplateGang("team", "meanwhile", 2, 4, rackLabel)...))
	thaw, err := r.Freeze("kube-apiserver")
	require.NoError(t, err)
	time.Sleep(time.Minute)
	require.NoError(t, thaw())
	began := time.Now()
	require.NoError(t, r.Create(t.Context(), fixture.TemplateGang("team", "after", 2, 4, rackLabel)...))
	eventually(t, 2*time.Minute, "both gangs are bound", func() bool {
		return len(boundPods(t, r, "team", "meanwhile")) == 2 && len(boundPods(t, r, "team", "after")) == 2
	})
	t.Logf("both gangs are bound %v after the server is back", time.Since(began).Round(100*time.Millisecond))
	require.Equal(t, before, boundPods(t, r, "team", "runs"), "what runs stays")
	require.Len(t, taken(t, r), 16+8+8)
}

// TestAGateOfSomebodyElse has a pod with the gate of somebody else beside that of berth: its gang
// holds nothing until that gate is gone.
func TestAGateOfSomebodyElse(t *testing.T) {
	r := start(t, rig.Options{Gates: []string{"GenericWorkload=true"}, Scheduler: true, Controllers: true})
	furnish(t, r, fixture.Fleet(2, 2, 8)...)
	run(t, r, translate.Options{Levels: translate.KueueLevels()[1:]})
	ctx := t.Context()
	gang := fixture.TemplateGang("team", "held", 2, 8, rackLabel)
	pod := gang[3].(*corev1.Pod)
	pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: "else.example/quota"})
	require.NoError(t, r.Create(ctx, gang...))
	require.NoError(t, r.Create(ctx, fixture.TemplateGang("team", "free", 1, 8, rackLabel)...))
	eventually(t, time.Minute, "the other is bound", func() bool { return len(boundPods(t, r, "team", "free")) == 1 })
	require.Len(t, taken(t, r), 8, "a gang of which a pod must not start yet holds nothing")

	remove(t, r, "team", "free", 1)
	open := fmt.Sprintf(`{"spec":{"schedulingGates":[{"name":%q}]}}`, translate.Gate)
	_, err := r.Client.CoreV1().Pods("team").Patch(ctx, pod.Name, types.MergePatchType, []byte(open), metav1.PatchOptions{})
	require.NoError(t, err)
	eventually(t, time.Minute, "it is bound whole", func() bool { return len(boundPods(t, r, "team", "held")) == 2 })
}

// TestAPodGroupIsScaledWhileItWaits has a gang that waits become larger, and then smaller than it
// was: it starts with as many pods as its PodGroup says in the end.
func TestAPodGroupIsScaledWhileItWaits(t *testing.T) {
	r := start(t, rig.Options{Gates: []string{"GenericWorkload=true"}, Scheduler: true, Controllers: true, Kubelets: true})
	furnish(t, r, fixture.Fleet(2, 2, 8)...)
	run(t, r, translate.Options{Levels: translate.KueueLevels()[1:]})
	ctx := t.Context()
	require.NoError(t, r.Create(ctx, fixture.TemplateGang("team", "first", 2, 8, "")...))
	eventually(t, time.Minute, "the fleet is full", func() bool { return len(boundPods(t, r, "team", "first")) == 2 })
	require.NoError(t, r.Create(ctx, fixture.TemplateGang("team", "scaled", 2, 4, "")...))
	scale := func(to int) {
		change := fmt.Sprintf(`{"spec":{"schedulingPolicy":{"gang":{"minCount":%d}}}}`, to)
		_, err := r.Client.SchedulingV1beta1().PodGroups("team").Patch(ctx, "scaled", types.MergePatchType, []byte(change), metav1.PatchOptions{})
		require.NoError(t, err)
	}
	scale(4)
	require.NoError(t, r.Create(ctx, fixture.TemplatePod("team", "scaled-2", "scaled", "scaled")))
	time.Sleep(time.Second)
	remove(t, r, "team", "first", 2)
	time.Sleep(2 * time.Second)
	require.Empty(t, boundPods(t, r, "team", "scaled"), "three pods of four are there")
	require.NoError(t, r.Create(ctx, fixture.TemplatePod("team", "scaled-3", "scaled", "scaled")))
	eventually(t, time.Minute, "all four are bound", func() bool { return len(boundPods(t, r, "team", "scaled")) == 4 })
	require.Len(t, taken(t, r), 16)
}

// TestADrainByTaint puts the taint of a drain, and a deadline, on a node under a gang that writes
// checkpoints: it is asked first, and starts again on other nodes.
func TestADrainByTaint(t *testing.T) {
	r := start(t, rig.Options{Gates: []string{"GenericWorkload=true"}, Scheduler: true, Controllers: true, Kubelets: true})
	furnish(t, r, fixture.Fleet(6, 2, 8)...) // of three racks one is free whatever stands beside it
	run(t, r, translate.Options{Levels: translate.KueueLevels()[1:]})
	ctx := t.Context()
	gang := fixture.TemplateGang("team", "train", 2, 8, rackLabel)
	gang[1].SetAnnotations(map[string]string{translate.CheckpointAnnotation: `{"supported":true,"cost":"1s"}`, translate.TopologyAnnotation: rackLabel})
	require.NoError(t, r.Create(ctx, gang...))
	eventually(t, time.Minute, "it is bound", func() bool { return len(boundPods(t, r, "team", "train")) == 2 })
	node := nodeOf(t, r, "team", "train-0")
	require.NoError(t, r.Create(ctx, fixture.TemplateGang("team", "beside", 1, 8, "")...)) // elsewhere, and not touched
	eventually(t, time.Minute, "the other is bound", func() bool { return len(boundPods(t, r, "team", "beside")) == 1 })
	beside := boundPods(t, r, "team", "beside")

	_, err := r.Client.CoreV1().Nodes().Patch(ctx, node, types.StrategicMergePatchType,
		fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}},"spec":{"taints":[{"key":%q,"effect":"NoSchedule"}]}}`,
			translate.DrainByAnnotation, time.Now().Add(20*time.Second).UTC().Format(time.RFC3339), translate.DrainTaint), metav1.PatchOptions{})
	require.NoError(t, err)
	asked := map[string]string{}
	eventually(t, time.Minute, "its pods are asked for a checkpoint", func() bool {
		for i := range 2 {
			name := fmt.Sprintf("train-%d", i)
			p, err := r.Client.CoreV1().Pods("team").Get(ctx, name, metav1.GetOptions{})
			require.NoError(t, err, "no pod goes before it has answered")
			if text := p.Annotations[translate.RequestAnnotation]; text != "" {
				asked[name] = text
			}
		}
		return len(asked) == 2
	})
	for name, text := range asked {
		var request carry.Request
		require.NoError(t, json.Unmarshal([]byte(text), &request))
		_, err := r.Client.CoreV1().Pods("team").Patch(ctx, name, types.MergePatchType,
			fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"%d"}}}`, translate.AnswerAnnotation, request.Order), metav1.PatchOptions{})
		require.NoError(t, err)
	}
	eventually(t, time.Minute, "its pods are gone", func() bool { return len(boundPods(t, r, "team", "train")) == 0 })
	for i := range 2 { // as its controller does
		eventually(t, time.Minute, "it is made anew", func() bool {
			return r.Create(ctx, fixture.TemplatePod("team", fmt.Sprintf("train-%d", i), "train", "train")) == nil
		})
	}
	eventually(t, time.Minute, "it is bound elsewhere", func() bool { return len(boundPods(t, r, "team", "train")) == 2 })
	for i := range 2 {
		require.NotEqual(t, node, nodeOf(t, r, "team", fmt.Sprintf("train-%d", i)))
	}
	require.Equal(t, beside, boundPods(t, r, "team", "beside"))
}

// nodeOf is the node on which a pod is.
func nodeOf(t *testing.T, r *rig.Rig, namespace, name string) string {
	t.Helper()
	p, err := r.Client.CoreV1().Pods(namespace).Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	return p.Spec.NodeName
}
