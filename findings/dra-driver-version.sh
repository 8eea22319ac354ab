#!/usr/bin/env bash
# Claim:    versions of NVIDIA's driver such as 535.104.05 and 580.65.06 are no versions for DRA, others are.
# Version:  k8s.io/dynamic-resource-allocation v0.37.1.
# Expected: a driver's version, three numbers and two dots, is what a version attribute and semver() are for.
# Seen:     Semantic Versioning forbids leading zeroes, and NVIDIA writes the last number with two digits. So semver("535.104.05")
#           and an attribute of this value end in a CEL error, which fails the claim; 550.54.15 works. With semver(text, true)
#           the literal works, the attribute has no such way out.
# Matters:  "at least driver X" is the commonest selector after the model. Whether it works depends on the release that X is,
#           so it passes on one node pool and fails on another. The driver that publishes devices
#           has to drop the zero.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

cat > go.mod <<'END'
module finding

go 1.26.0

require (
	k8s.io/api v0.37.1
	k8s.io/dynamic-resource-allocation v0.37.1
)
END

cat > main.go <<'END'
package main

import (
	"context"
	"fmt"
	"strings"

	api "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
)

// matches asks whether a device with a driver of this version is newer than what the selector says.
func matches(published, selector string) string {
	const compare = `device.attributes["gpu.example.com"].driverVersion.isGreaterThan(%s)`
	compiled := cel.GetCompiler(cel.Features{}).CompileCELExpression(fmt.Sprintf(compare, selector), cel.Options{})
	if compiled.Error != nil {
		return "does not compile: " + compiled.Error.Error()
	}
	ok, _, err := compiled.DeviceMatches(context.Background(), cel.Device{
		Driver:     "gpu.example.com",
		Attributes: map[api.QualifiedName]api.DeviceAttribute{"driverVersion": {VersionValue: &published}},
	})
	if err != nil {
		_, reason, _ := strings.Cut(err.Error(), "number ")
		return "error: " + reason
	}
	return fmt.Sprint(ok)
}

func main() {
	for _, version := range []string{"550.54.15", "535.104.05", "580.65.06"} {
		fmt.Printf("%-10s  as attribute            %s\n", version, matches(version, `semver("525.0.0")`))
		fmt.Printf("%-10s  as semver(text)         %s\n", version, matches("600.0.0", fmt.Sprintf("semver(%q)", version)))
		fmt.Printf("%-10s  as semver(text, true)   %s\n", version, matches("600.0.0", fmt.Sprintf("semver(%q, true)", version)))
	}
}
END

cat > seen <<'END'
550.54.15   as attribute            true
550.54.15   as semver(text)         true
550.54.15   as semver(text, true)   true
535.104.05  as attribute            error: must not contain leading zeroes "05"
535.104.05  as semver(text)         error: must not contain leading zeroes "05"
535.104.05  as semver(text, true)   true
580.65.06   as attribute            error: must not contain leading zeroes "06"
580.65.06   as semver(text)         error: must not contain leading zeroes "06"
580.65.06   as semver(text, true)   true
END

GOWORK=off GOFLAGS=-mod=mod go run . > now
cat now
diff seen now || { echo "this finding has changed: see the lines above" >&2; exit 1; }
