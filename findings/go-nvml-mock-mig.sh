#!/usr/bin/env bash
# Claim:    the mock GPUs of go-nvml divide in ways that real GPUs do not, and their profile IDs are others.
# Version:  github.com/NVIDIA/go-nvml v0.13.4-1, packages pkg/nvml/mock/dgxa100, dgxh100, dgxh200, dgxb200.
# Expected: the vendor's mocks place MIG instances as the vendor's driver does.
# Seen:     the A100 has the places that nvidia-smi mig -lgipp lists for an A100. On H100, H200 and B200 a 3g instance takes 3
#           memory slices (4 on GPUs), 7g takes 7 (8 on GPUs), and the profile of one compute slice with twice the memory takes
#           one slice at any of seven starts (two slices at 0, 2, 4 or 6 on GPUs). On all four, Id is the number of the constant:
#           0 for 1g. On GPUs, where nvidia-smi mig -lgip lists IDs, 0 is the whole GPU, and 1g is 19.
# Matters:  a test against these mocks passes while the scheduler puts a 1g instance into the fourth slice of a 3g one, which
#           hardware refuses; and a test that keeps Id instead of the constant is right on the mock alone.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

cat > go.mod <<'END'
module finding

go 1.24

require github.com/NVIDIA/go-nvml v0.13.4-1
END

cat > main.go <<'END'
package main

import (
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxa100"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxb200"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxh100"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxh200"
)

func must(ret nvml.Return) {
	if ret != nvml.SUCCESS {
		panic(ret)
	}
}

func main() {
	profiles := []struct {
		constant int
		name     string
	}{
		{nvml.GPU_INSTANCE_PROFILE_1_SLICE, "1g"},
		{nvml.GPU_INSTANCE_PROFILE_1_SLICE_REV2, "1g, memory x 2"},
		{nvml.GPU_INSTANCE_PROFILE_3_SLICE, "3g"},
		{nvml.GPU_INSTANCE_PROFILE_7_SLICE, "7g"},
	}
	for _, box := range []nvml.Interface{dgxa100.New(), dgxh100.New(), dgxh200.New(), dgxb200.New()} {
		gpu, ret := box.DeviceGetHandleByIndex(0)
		must(ret)
		name, ret := gpu.GetName()
		must(ret)
		fmt.Println(name)
		for _, p := range profiles {
			info, ret := gpu.GetGpuInstanceProfileInfo(p.constant)
			must(ret)
			places, ret := gpu.GetGpuInstancePossiblePlacements(&info)
			must(ret)
			fmt.Printf("  %-15s id %d, start and size:", p.name, info.Id)
			for _, at := range places {
				fmt.Printf(" %d+%d", at.Start, at.Size)
			}
			fmt.Println()
		}
	}
}
END

cat > seen <<'END'
Mock NVIDIA A100-SXM4-40GB
  1g              id 0, start and size: 0+1 1+1 2+1 3+1 4+1 5+1 6+1
  1g, memory x 2  id 9, start and size: 0+2 2+2 4+2 6+2
  3g              id 2, start and size: 0+4 4+4
  7g              id 4, start and size: 0+8
NVIDIA H100 80GB HBM3
  1g              id 0, start and size: 0+1 1+1 2+1 3+1 4+1 5+1 6+1
  1g, memory x 2  id 9, start and size: 0+1 1+1 2+1 3+1 4+1 5+1 6+1
  3g              id 2, start and size: 0+3 4+3
  7g              id 4, start and size: 0+7
NVIDIA H200 141GB HBM3e
  1g              id 0, start and size: 0+1 1+1 2+1 3+1 4+1 5+1 6+1
  1g, memory x 2  id 9, start and size: 0+1 1+1 2+1 3+1 4+1 5+1 6+1
  3g              id 2, start and size: 0+3 4+3
  7g              id 4, start and size: 0+7
NVIDIA B200 180GB HBM3e
  1g              id 0, start and size: 0+1 1+1 2+1 3+1 4+1 5+1 6+1
  1g, memory x 2  id 9, start and size: 0+1 1+1 2+1 3+1 4+1 5+1 6+1
  3g              id 2, start and size: 0+3 4+3
  7g              id 4, start and size: 0+7
END

GOWORK=off GOFLAGS=-mod=mod CGO_CFLAGS=-Wno-deprecated-declarations go run . > now
cat now
diff seen now || { echo "this finding has changed: see the lines above" >&2; exit 1; }
