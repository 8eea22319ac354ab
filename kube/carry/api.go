package carry

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/berth-sched/berth/kube/translate"
)

// An API is what of a cluster orders are carried out with: no more rights than these are needed.
// Writes that return an object return it as it was written.
type API interface {
	Pod(ctx context.Context, key translate.Key) (*corev1.Pod, error)
	// PatchPod applies a JSON merge patch.
	PatchPod(ctx context.Context, key translate.Key, patch []byte) (*corev1.Pod, error)
	// DeletePod deletes the pod of that UID, with the grace that the pod asks for.
	DeletePod(ctx context.Context, key translate.Key, uid types.UID) error
	Claim(ctx context.Context, key translate.Key) (*resourcev1.ResourceClaim, error)
	UpdateClaim(ctx context.Context, claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error)
	UpdateClaimStatus(ctx context.Context, claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error)
	PodGroup(ctx context.Context, key translate.Key) (*schedulingv1beta1.PodGroup, error)
	PatchPodGroup(ctx context.Context, key translate.Key, patch []byte) (*schedulingv1beta1.PodGroup, error)
	UpdatePodGroupStatus(ctx context.Context, group *schedulingv1beta1.PodGroup) (*schedulingv1beta1.PodGroup, error)
}

// Kube is the API by the typed clients of client-go.
type Kube struct{ Client kubernetes.Interface }

var _ API = Kube{}

// Pod implements [API].
func (k Kube) Pod(ctx context.Context, key translate.Key) (*corev1.Pod, error) {
	return k.Client.CoreV1().Pods(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
}

// PatchPod implements [API].
func (k Kube) PatchPod(ctx context.Context, key translate.Key, patch []byte) (*corev1.Pod, error) {
	return k.Client.CoreV1().Pods(key.Namespace).Patch(ctx, key.Name, types.MergePatchType, patch, metav1.PatchOptions{})
}

// DeletePod implements [API].
func (k Kube) DeletePod(ctx context.Context, key translate.Key, uid types.UID) error {
	return k.Client.CoreV1().Pods(key.Namespace).Delete(ctx, key.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
}

// Claim implements [API].
func (k Kube) Claim(ctx context.Context, key translate.Key) (*resourcev1.ResourceClaim, error) {
	return k.Client.ResourceV1().ResourceClaims(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
}

// UpdateClaim implements [API].
func (k Kube) UpdateClaim(ctx context.Context, claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	return k.Client.ResourceV1().ResourceClaims(claim.Namespace).Update(ctx, claim, metav1.UpdateOptions{})
}

// UpdateClaimStatus implements [API].
func (k Kube) UpdateClaimStatus(ctx context.Context, claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	return k.Client.ResourceV1().ResourceClaims(claim.Namespace).UpdateStatus(ctx, claim, metav1.UpdateOptions{})
}

// PodGroup implements [API].
func (k Kube) PodGroup(ctx context.Context, key translate.Key) (*schedulingv1beta1.PodGroup, error) {
	return k.Client.SchedulingV1beta1().PodGroups(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
}

// PatchPodGroup implements [API].
func (k Kube) PatchPodGroup(ctx context.Context, key translate.Key, patch []byte) (*schedulingv1beta1.PodGroup, error) {
	return k.Client.SchedulingV1beta1().PodGroups(key.Namespace).Patch(ctx, key.Name, types.MergePatchType, patch, metav1.PatchOptions{})
}

// UpdatePodGroupStatus implements [API].
func (k Kube) UpdatePodGroupStatus(ctx context.Context, group *schedulingv1beta1.PodGroup) (*schedulingv1beta1.PodGroup, error) {
	return k.Client.SchedulingV1beta1().PodGroups(group.Namespace).UpdateStatus(ctx, group, metav1.UpdateOptions{})
}
