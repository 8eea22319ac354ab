#!/usr/bin/env bash
# Claim:    a DRA device selector that reads an attribute which one device of the node lacks fails the whole
#           claim, or does not: it depends on the order of devices in the ResourceSlice and on what is free.
# Version:  k8s.io/dynamic-resource-allocation v0.37.1, the allocator that kube-scheduler 1.37 calls.
# Expected: a device without the attribute does not match, as a node without a label does not match a selector.
# Seen:     while devices are tried in order, the first that lacks the attribute ends the search with a CEL error
#           although another device matches. The error is not ErrFailedAllocationOnNode, and so, by the package's
#           doc, not one node is passed over but the pod's scheduling attempt ends. An error beside a true in ||
#           counts for nothing.
# Matters:  a fleet of two GPU models, or of GPUs and MIG devices of one driver, has such attributes. A selector that
#           works on an empty node stops working once the devices in front are taken. has() or .? avoids it.
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
	k8s.io/dynamic-resource-allocation v0.37.1
)
END

cat > main.go <<'END'
package main

import (
	"context"
	"errors"
	"fmt"

	core "k8s.io/api/core/v1"
	api "k8s.io/api/resource/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

const driver = "gpu.example.com"

type classes struct{}

func (classes) List() ([]*api.DeviceClass, error) { return nil, nil }

func (classes) Get(name string) (*api.DeviceClass, error) {
	return &api.DeviceClass{ObjectMeta: meta.ObjectMeta{Name: name}}, nil
}

// allocate asks a node for one device that the selectors take. Devices named plain have the attribute model
// alone, devices named fabric have the attribute island too.
func allocate(title string, devices, taken []string, selectors ...string) {
	node := "node"
	slice := &api.ResourceSlice{Spec: api.ResourceSliceSpec{
		Driver: driver, NodeName: &node, Pool: api.ResourcePool{Name: node, ResourceSliceCount: 1},
	}}
	for _, name := range devices {
		model, island := "a", "x"
		attributes := map[api.QualifiedName]api.DeviceAttribute{"model": {StringValue: &model}}
		if name == "fabric" {
			attributes["island"] = api.DeviceAttribute{StringValue: &island}
		}
		slice.Spec.Devices = append(slice.Spec.Devices, api.Device{Name: name, Attributes: attributes})
	}
	state := structured.AllocatedState{AllocatedDevices: sets.New[structured.DeviceID]()}
	for _, name := range taken {
		state.AllocatedDevices.Insert(structured.MakeDeviceID(driver, node, name))
	}
	request := &api.ExactDeviceRequest{DeviceClassName: "any", AllocationMode: api.DeviceAllocationModeExactCount, Count: 1}
	for _, s := range selectors {
		request.Selectors = append(request.Selectors, api.DeviceSelector{CEL: &api.CELDeviceSelector{Expression: s}})
	}
	claim := &api.ResourceClaim{ObjectMeta: meta.ObjectMeta{Name: "claim", Namespace: "default"}}
	claim.Spec.Devices.Requests = []api.DeviceRequest{{Name: "gpu", Exactly: request}}

	ctx := context.Background()
	allocator, err := structured.NewAllocator(ctx, structured.Features{}, state, classes{}, []*api.ResourceSlice{slice},
		cel.NewCache(10, cel.Features{}))
	if err != nil {
		panic(err)
	}
	got, err := allocator.Allocate(ctx, &core.Node{ObjectMeta: meta.ObjectMeta{Name: node}}, []*api.ResourceClaim{claim})
	switch {
	case err != nil:
		fmt.Printf("%-45s an error, of this node alone: %v\n", title, errors.Is(err, structured.ErrFailedAllocationOnNode))
	case len(got) == 0:
		fmt.Printf("%-45s nothing\n", title)
	default:
		fmt.Printf("%-45s %s\n", title, got[0].Devices.Results[0].Device)
	}
}

func main() {
	const island = `device.attributes["gpu.example.com"].island == "x"`
	allocate("slice lists fabric, plain", []string{"fabric", "plain"}, nil, island)
	allocate("slice lists plain, fabric", []string{"plain", "fabric"}, nil, island)
	allocate("slice lists fabric (taken), plain", []string{"fabric", "plain"}, []string{"fabric"}, island)
	allocate("plain, fabric; island or model", []string{"plain", "fabric"}, nil,
		island+` || device.attributes["gpu.example.com"].model == "a"`)
	allocate("plain, fabric; .?island.orValue", []string{"plain", "fabric"}, nil,
		`device.attributes["gpu.example.com"].?island.orValue("") == "x"`)
	allocate("plain, fabric; has(island) as first selector", []string{"plain", "fabric"}, nil,
		`has(device.attributes["gpu.example.com"].island)`, island)
}
END

cat > seen <<'END'
slice lists fabric, plain                     fabric
slice lists plain, fabric                     an error, of this node alone: false
slice lists fabric (taken), plain             an error, of this node alone: false
plain, fabric; island or model                plain
plain, fabric; .?island.orValue               fabric
plain, fabric; has(island) as first selector  fabric
END

GOWORK=off GOFLAGS=-mod=mod go run . > now
cat now
diff seen now || { echo "this finding has changed: see the lines above" >&2; exit 1; }
