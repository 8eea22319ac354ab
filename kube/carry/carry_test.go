package carry_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/kube/carry"
	"github.com/berth-sched/berth/kube/internal/fixture"
	"github.com/berth-sched/berth/kube/internal/pretend"
	"github.com/berth-sched/berth/kube/translate"
)

// gang is a server with a gang of two pods with two GPUs each, and a plan for it.
func gang() (*pretend.Server, *carry.Carrier, *translate.Plan) {
	objects := fixture.Gang("team", "g", 2, 2, "")
	s := pretend.New(objects...)
	plan := &translate.Plan{
		Job: "team/g@1", Order: 7, Incarnation: 1, Term: "t",
		Source: translate.Object{Kind: "PodGroup", Key: translate.Key{Namespace: "team", Name: "g"}}, UID: objects[0].GetUID(),
	}
	for i, device := range []string{"gpu-0", "gpu-2"} {
		claim, pod := objects[1+2*i], objects[2+2*i]
		plan.Seats = append(plan.Seats, translate.Seat{
			Member: berth.MemberRef{Index: i}, Pod: translate.Key{Namespace: "team", Name: pod.GetName()}, UID: pod.GetUID(), Node: "n0",
			Claims: []translate.Allocation{{Claim: claim.GetName(), UID: claim.GetUID(), Devices: []translate.Device{
				{Request: "gpus", Pool: "n0", Name: device}, {Request: "gpus", Pool: "n0", Name: device[:4] + string(device[4]+1)},
			}}},
		})
	}
	return s, &carry.Carrier{API: carry.Kube{Client: s.Client}, Now: time.Now, Pause: time.Nanosecond, Parallel: 4}, plan
}

func claims(s *pretend.Server) []*resourcev1.ResourceClaim {
	return pretend.Objects[*resourcev1.ResourceClaim](s, pretend.Claims, "ResourceClaim")
}

func pods(s *pretend.Server) []*corev1.Pod {
	return pretend.Objects[*corev1.Pod](s, pretend.Pods, "Pod")
}

func TestBindAgainWritesNothing(t *testing.T) {
	s, c, plan := gang()
	r := c.Bind(t.Context(), plan)
	require.NoError(t, r.Err)
	require.Empty(t, r.Failed)
	require.Equal(t, 1+2*2+2, s.Writes)
	require.True(t, s.Turn(), "the pods are bound")
	r = c.Bind(t.Context(), plan)
	require.NoError(t, r.Err)
	require.Equal(t, 1+2*2+2, s.Writes)
	require.Empty(t, s.Broken)
}

func TestBindThatFindsAClaimTakenTakesAllBack(t *testing.T) {
	s, c, plan := gang()
	theirs := fixture.Allocate(claims(s)[1], "n0", nil, "gpu-5")
	s.Set(theirs)
	r := c.Bind(t.Context(), plan)
	require.ErrorIs(t, r.Err, carry.ErrTaken)
	require.True(t, r.Undone)
	now := claims(s)
	require.Nil(t, now[0].Status.Allocation)
	require.Empty(t, now[0].Finalizers)
	require.Empty(t, now[0].Annotations)
	require.Equal(t, "gpu-5", now[1].Status.Allocation.Devices.Results[0].Device, "it is theirs")
	require.False(t, slices.ContainsFunc(pods(s), func(p *corev1.Pod) bool { return len(p.Spec.SchedulingGates) == 0 }))
}

func TestBindReportsAPodThatIsGoneAndLetsTheOthersGo(t *testing.T) {
	s, c, plan := gang()
	c.Parallel = 1
	s.Fail = func(n int) pretend.Fault {
		if n == 1+2*2+1 { // all claims are allocated: the first gate is being removed
			return pretend.Fault{Err: errors.New("no answer")}
		}
		return pretend.Fault{}
	}
	plan.Seats[1].UID = "the one that is gone"
	r := c.Bind(t.Context(), plan)
	require.ErrorIs(t, r.Err, carry.ErrGone)
	require.Equal(t, []berth.MemberRef{{Index: 1}}, r.Failed)
	require.Empty(t, pods(s)[0].Spec.SchedulingGates)
	require.NotEmpty(t, pods(s)[1].Spec.SchedulingGates)
}

func TestReleaseKeepsAPodAtItsGate(t *testing.T) {
	s, c, plan := gang()
	require.NoError(t, c.Bind(t.Context(), plan).Err)
	gated := pods(s)[0]
	gated.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: translate.Gate}} // as if it had not been let go
	s.Set(gated)
	require.NoError(t, c.Release(t.Context(), plan.Seats).Err)
	require.Equal(t, []string{"g-1"}, s.Deleted)
	require.Nil(t, claims(s)[0].Status.Allocation)
	require.NoError(t, c.Release(t.Context(), plan.Seats).Err)
	require.Equal(t, []string{"g-1"}, s.Deleted, "it is on its way")
}

func TestARequestIsWithdrawn(t *testing.T) {
	s, c, plan := gang()
	require.NoError(t, c.Request(t.Context(), plan.Seats, &carry.Request{Order: 9, Deadline: fixture.Born.Time}).Err)
	require.JSONEq(t, `{"order":9,"deadline":"2026-11-30T00:00:00Z"}`, pods(s)[1].Annotations[translate.RequestAnnotation])
	require.NoError(t, c.Request(t.Context(), plan.Seats, nil).Err)
	require.NotContains(t, pods(s)[1].Annotations, translate.RequestAnnotation)
	for answer, want := range map[string][2]bool{"9": {true, true}, "failed:9": {true, false}, "8": {}, "": {}} {
		answered, written := carry.Answered(answer, 9)
		require.Equal(t, want, [2]bool{answered, written}, "%q", answer)
	}
}
