#!/usr/bin/env bash
# Claim:    the "18gb" of an H200's MIG profile 1g.18gb is no amount of memory in any unit: the instance has 16 GiB.
# Version:  github.com/NVIDIA/go-nvlib v0.13.0, which names profiles for NVIDIA's plugins. Sizes are those that nvidia-smi lists.
# Expected: 18 GB or 18 GiB, but for what error correction takes.
# Seen:     NVML gives no name. The library takes the instance's part of the GPU's memory, rounds it up to eighths, and names
#           that part of the whole GPU. On A100 and H100 the name is 2 to 5 % above the GiB that there are, for one slice of H200
#           and B200 it is 12 % above. In GB (10^9 bytes) the former have more than the name says, the latter less.
# Matters:  17.5 GB of weights fit a 1g.18gb by its name, and not in fact. A scheduler compares memory that was read from the
#           device, and takes a profile's name for a name. go-nvml's mock H200 has 18432 MiB in this profile, 2 GiB too many.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

cat > go.mod <<'END'
module finding

go 1.26.0

require (
	github.com/NVIDIA/go-nvlib v0.13.0
	github.com/NVIDIA/go-nvml v0.13.4-1
)
END

cat > main.go <<'END'
package main

import (
	"fmt"

	"github.com/NVIDIA/go-nvlib/pkg/nvlib/device"
	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

func main() {
	library := device.New(nvml.New())
	for _, g := range []struct {
		gpu      string
		totalMiB uint64
		g1, g2   uint64 // MiB of an instance of one slice, and of two
	}{
		{"A100 40 GB", 40960, 4864, 9856},
		{"H100 80 GB", 81559, 9984, 20096},
		{"H200", 143771, 16384, 33280},
		{"B200", 183359, 20992, 45312},
	} {
		for profile, mib := range []uint64{
			nvml.GPU_INSTANCE_PROFILE_1_SLICE: g.g1,
			nvml.GPU_INSTANCE_PROFILE_2_SLICE: g.g2,
		} {
			name, err := library.NewMigProfile(profile, profile, nvml.COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED, mib, g.totalMiB<<20)
			if err != nil {
				panic(err)
			}
			fmt.Printf("%-10s  %-8v %6.2f GiB %6.2f GB\n", g.gpu, name, float64(mib)/1024, float64(mib<<20)/1e9)
		}
	}
}
END

cat > seen <<'END'
A100 40 GB  1g.5gb     4.75 GiB   5.10 GB
A100 40 GB  2g.10gb    9.62 GiB  10.33 GB
H100 80 GB  1g.10gb    9.75 GiB  10.47 GB
H100 80 GB  2g.20gb   19.62 GiB  21.07 GB
H200        1g.18gb   16.00 GiB  17.18 GB
H200        2g.35gb   32.50 GiB  34.90 GB
B200        1g.23gb   20.50 GiB  22.01 GB
B200        2g.45gb   44.25 GiB  47.51 GB
END

GOWORK=off GOFLAGS=-mod=mod CGO_CFLAGS=-Wno-deprecated-declarations go run . > now
cat now
diff seen now || { echo "this finding has changed: see the lines above" >&2; exit 1; }
