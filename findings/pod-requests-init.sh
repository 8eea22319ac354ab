#!/usr/bin/env bash
# Claim:    the order of a pod's init containers changes how many GPUs the pod requests.
# Version:  k8s.io/component-helpers v0.37.1; kube-scheduler 1.37 counts what its PodRequests returns.
# Expected: a pod requests what its containers request, whatever order they are written in.
# Seen:     an init container with 8 GPUs makes a pod of 8, for its whole life, though its container has 1. A sidecar (an init
#           container that restarts always) with 1 GPU, written before it, makes it 9; written behind it, 8.
# Matters:  on nodes of 8 GPUs the pod with 9 never runs, and two lines changed places. A tool that sums up a dump of pods has
#           to walk init containers in order, and counts 8 GPUs as held long after the one that wanted them is gone.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

cat > go.mod <<'END'
module finding

go 1.26.0

require (
	k8s.io/api v0.37.1
	k8s.io/apimachinery v0.37.1
	k8s.io/component-helpers v0.37.1
)
END

cat > main.go <<'END'
package main

import (
	"fmt"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	helpers "k8s.io/component-helpers/resource"
)

const gpus = core.ResourceName("nvidia.com/gpu")

func container(n int64) core.Container {
	return core.Container{Resources: core.ResourceRequirements{
		Requests: core.ResourceList{gpus: *resource.NewQuantity(n, resource.DecimalSI)},
	}}
}

func sidecar(n int64) core.Container {
	c, always := container(n), core.ContainerRestartPolicyAlways
	c.RestartPolicy = &always
	return c
}

func show(title string, init ...core.Container) {
	pod := &core.Pod{Spec: core.PodSpec{InitContainers: init, Containers: []core.Container{container(1)}}}
	requested := helpers.PodRequests(pod, helpers.PodResourcesOptions{})[gpus]
	fmt.Printf("%-35s %v\n", title, requested.String())
}

func main() {
	show("container 1")
	show("init 8, container 1", container(8))
	show("init 8, sidecar 1, container 1", container(8), sidecar(1))
	show("sidecar 1, init 8, container 1", sidecar(1), container(8))
}
END

cat > seen <<'END'
container 1                         1
init 8, container 1                 8
init 8, sidecar 1, container 1      8
sidecar 1, init 8, container 1      9
END

GOWORK=off GOFLAGS=-mod=mod go run . > now
cat now
diff seen now || { echo "this finding has changed: see the lines above" >&2; exit 1; }
