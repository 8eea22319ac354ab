package rig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	"github.com/berth-sched/berth/kube/translate"
)

// Apply creates the objects of a file of YAML, as kubectl create does.
func (r *Rig) Apply(ctx context.Context, file fs.FS, name string) error {
	text, err := fs.ReadFile(file, name)
	if err != nil {
		return fmt.Errorf("rig: %w", err)
	}
	client, err := dynamic.NewForConfig(r.Config)
	if err != nil {
		return fmt.Errorf("rig: %w", err)
	}
	groups, err := restmapper.GetAPIGroupResources(r.Client.Discovery())
	if err != nil {
		return fmt.Errorf("rig: %w", err)
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		var o unstructured.Unstructured
		if err := documents.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("rig: %s: %w", name, err)
		}
		kind := o.GroupVersionKind()
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return fmt.Errorf("rig: %s: %w", name, err)
		}
		if _, err := client.Resource(mapping.Resource).Namespace(o.GetNamespace()).Create(ctx, &o, metav1.CreateOptions{FieldValidation: "Strict"}); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("rig: %s: %s %s: %w", name, kind.Kind, o.GetName(), err)
		}
	}
}

// Classes are the DeviceClasses of NVIDIA's driver.
func Classes() (all []*resourcev1.DeviceClass) {
	for _, of := range []struct{ name, kind string }{{"gpu.nvidia.com", "gpu"}, {"mig.nvidia.com", "mig"}} {
		c := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: of.name}}
		c.Spec.Selectors = []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{
			Expression: fmt.Sprintf("device.driver == %q && device.attributes[%q].type == %q", translate.Driver, translate.Driver, of.kind),
		}}}
		all = append(all, c)
	}
	return all
}

// Create makes objects, several at a time; those that are there stay. A Node becomes ready, and one
// is not kept from pods by the taints of a node that has no kubelet.
func (r *Rig) Create(ctx context.Context, objects ...metav1.Object) error {
	const workers = 16
	var wait sync.WaitGroup
	next, errs := make(chan metav1.Object), make(chan error, workers)
	for range workers {
		wait.Go(func() {
			for o := range next {
				if err := r.create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
					select {
					case errs <- fmt.Errorf("rig: %T %s: %w", o, o.GetName(), err):
					default:
					}
				}
			}
		})
	}
	for _, o := range objects {
		next <- o
	}
	close(next)
	wait.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}

func (r *Rig) create(ctx context.Context, o metav1.Object) error {
	o = copied(o)
	var err error
	one := metav1.CreateOptions{}
	switch o := o.(type) {
	case *corev1.Namespace:
		_, err = r.Client.CoreV1().Namespaces().Create(ctx, o, one)
	case *corev1.Node:
		if _, err = r.Client.CoreV1().Nodes().Create(ctx, o, one); err == nil { // the server adds the taint of a node without a kubelet
			_, err = r.Client.CoreV1().Nodes().Patch(ctx, o.Name, types.MergePatchType, []byte(`{"spec":{"taints":null}}`), metav1.PatchOptions{})
		}
	case *corev1.Pod:
		_, err = r.Client.CoreV1().Pods(o.Namespace).Create(ctx, o, one)
	case *corev1.ConfigMap:
		_, err = r.Client.CoreV1().ConfigMaps(o.Namespace).Create(ctx, o, one)
	case *resourcev1.ResourceSlice:
		_, err = r.Client.ResourceV1().ResourceSlices().Create(ctx, o, one)
	case *resourcev1.ResourceClaim:
		_, err = r.Client.ResourceV1().ResourceClaims(o.Namespace).Create(ctx, o, one)
	case *resourcev1.ResourceClaimTemplate:
		_, err = r.Client.ResourceV1().ResourceClaimTemplates(o.Namespace).Create(ctx, o, one)
	case *resourcev1.DeviceClass:
		_, err = r.Client.ResourceV1().DeviceClasses().Create(ctx, o, one)
	case *resourcev1.DeviceTaintRule:
		_, err = r.Client.ResourceV1().DeviceTaintRules().Create(ctx, o, one)
	case *schedulingv1beta1.PodGroup:
		_, err = r.Client.SchedulingV1beta1().PodGroups(o.Namespace).Create(ctx, o, one)
	default:
		return fmt.Errorf("objects of this type are not made")
	}
	return err
}

// copied is an object as a user would make it.
func copied(o metav1.Object) metav1.Object {
	o = o.(runtime.Object).DeepCopyObject().(metav1.Object)
	o.SetUID("")
	o.SetResourceVersion("")
	o.SetCreationTimestamp(metav1.Time{})
	return o
}
