#!/usr/bin/env bash
# Claim:    Kubernetes 1.37 serves EvictionRequests behind a gate, and none of its controllers answers one.
# Version:  k8s.io/kubernetes v1.37.1.
# Expected: with EvictionRequestAPI on in all components, a request for the eviction of a pod has the pod leave: the comments of
#           the API tell of an evictionrequest-controller, which makes an Eviction, and of a default responder, which evicts.
# Seen:     the gate is known, the kinds are registered and are validated, and the controller manager has no controller for
#           them: what it has by that name evicts for taints. On a cluster with the gate on, a request for a pod that ran stayed
#           without a status, and no Eviction came, for as long as it was watched.
# Matters:  an orchestrator that asks for checkpoints this way waits for its deadline each time. The comments also say that pods of a
#           PodGroup are no target, so that gangs of the same release cannot be asked this way at all.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

{
	printf 'module finding\n\ngo 1.26.0\n\nrequire k8s.io/kubernetes v1.37.1\n\nreplace (\n'
	for module in api apiextensions-apiserver apimachinery apiserver cli-runtime client-go cloud-provider cluster-bootstrap code-generator \
		component-base component-helpers controller-manager cri-api cri-client cri-streaming csi-translation-lib dynamic-resource-allocation \
		endpointslice externaljwt kms kube-aggregator kube-controller-manager kube-proxy kube-scheduler kubectl kubelet metrics mount-utils \
		pod-security-admission sample-apiserver streaming; do
		printf '\tk8s.io/%s => k8s.io/%s v0.37.1\n' "$module" "$module"
	done
	printf ')\n'
} > go.mod

cat > main.go <<'END'
package main

import (
	"fmt"
	"slices"
	"strings"

	lifecycle "k8s.io/api/lifecycle/v1alpha1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/features"
)

func main() {
	gate := utilfeature.DefaultMutableFeatureGate
	if err := gate.Set(string(features.EvictionRequestAPI) + "=true"); err != nil {
		panic(err)
	}
	fmt.Println("the gate is known, and on:", gate.Enabled(features.EvictionRequestAPI))
	for _, kind := range []string{"EvictionRequest", "Eviction"} {
		fmt.Printf("%s is a kind: %v\n", kind, legacyscheme.Scheme.Recognizes(lifecycle.SchemeGroupVersion.WithKind(kind)))
	}
	all := app.KnownControllers()
	evict := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return !strings.Contains(name, "evict") })
	gated := 0
	for _, c := range app.NewControllerDescriptors() {
		if slices.Contains(c.GetRequiredFeatureGates(), features.EvictionRequestAPI) {
			gated++
		}
	}
	fmt.Printf("controllers: more than 40: %v; of that gate: %d; with evict in their names: %v\n", len(all) > 40, gated, evict)
}
END

cat > seen <<'END'
the gate is known, and on: true
EvictionRequest is a kind: true
Eviction is a kind: true
controllers: more than 40: true; of that gate: 0; with evict in their names: [device-taint-eviction-controller taint-eviction-controller]
END

GOWORK=off GOFLAGS=-mod=mod go run . > now
cat now
diff seen now || { echo "this finding has changed: see the lines above" >&2; exit 1; }
