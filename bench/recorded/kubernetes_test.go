package recorded

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// node and pod are objects of a dump.
func node(name, labels, capacity string) string {
	return fmt.Sprintf(`{"kind": "Node", "metadata": {"name": %q, "labels": {%s}}, "status": {"capacity": {"cpu": "96", %s}}}`, name, labels, capacity)
}

func pod8(name, created, rest string) string {
	return fmt.Sprintf(`{"kind": "Pod", "metadata": {"name": %q, "namespace": "a", "creationTimestamp": "2026-03-02T%sZ"}, "spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": "8"}}}]}, %s}`, name, created, rest)
}

// done is the status of a pod that started and ended.
func done(phase, started, ended string) string {
	return fmt.Sprintf(`"status": {"phase": %q, "startTime": "2026-03-02T%sZ", "containerStatuses": [{"state": {"terminated": {"finishedAt": "2026-03-02T%sZ"}}}]}`, phase, started, ended)
}

func list(objects ...string) string {
	return "{\"kind\": \"List\", \"items\": [\n" + strings.Join(objects, ",\n") + "\n]}\n"
}

const h100 = `"nvidia.com/gpu.product": "H100"`

// fleet says what nodes a dump has.
func fleet(w *Week) (lines []string) {
	for i := range w.Nodes {
		lines = append(lines, fmt.Sprintf("%s %d %s", w.Nodes[i].ID, len(w.Nodes[i].GPUs), w.Nodes[i].GPUs[0].Product))
	}
	return lines
}

// What a node calls a GPU need not be one.
func TestNodesOfADump(t *testing.T) {
	good := pod8("p", "08:00:00", done("Succeeded", "08:00:10", "09:00:00"))
	for _, c := range []struct {
		name, node  string
		fleet, told []string
	}{
		{
			"replicas of time slices", node("n", `"nvidia.com/gpu.product": "A10-SHARED", "nvidia.com/gpu.count": "2", "nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.sharing-strategy": "time-slicing"`, `"nvidia.com/gpu": "8"`),
			[]string{"n 2 A10"},
			[]string{"jobs:2: its GPUs are shared: replicas are parts of them, and it has as many as there are without"},
		},
		{
			"replicas, more than a node may have GPUs", node("n", `"nvidia.com/gpu.product": "A100", "nvidia.com/gpu.replicas": "10"`, `"nvidia.com/gpu": "80"`),
			[]string{"n 8 A100"},
			[]string{"jobs:2: its GPUs are shared: replicas are parts of them, and it has as many as there are without"},
		},
		{
			"MPS", node("n", `"nvidia.com/gpu.product": "A100", "nvidia.com/gpu.count": "1", "nvidia.com/gpu.replicas": "2", "nvidia.com/gpu.sharing-strategy": "mps"`, `"nvidia.com/gpu": "2"`),
			[]string{"n 1 A100"},
			[]string{"jobs:2: its GPUs are shared: replicas are parts of them, and it has as many as there are without"},
		},
		{"one replica is a GPU", node("n", h100+`, "nvidia.com/gpu.replicas": "1", "nvidia.com/gpu.sharing-strategy": "none"`, `"nvidia.com/gpu": "8"`), []string{"n 8 H100"}, nil},
		{"shared by another name", node("n", h100, `"nvidia.com/gpu": "0", "nvidia.com/gpu.shared": "8"`), nil, []string{`jobs:2: "nvidia.com/gpu.shared" of a node are no whole GPUs`, "jobs:2: a node has no whole GPU"}},
		{
			"MIG, single strategy", node("n", `"nvidia.com/gpu.product": "A100-SXM4-40GB-MIG-1g.5gb", "nvidia.com/gpu.count": "56"`, `"nvidia.com/gpu": "56"`),
			nil,
			[]string{"jobs:2: what the node calls GPUs are MIG instances: it is left out"},
		},
		{"MIG, mixed strategy", node("n", h100, `"nvidia.com/gpu": "4", "nvidia.com/mig-1g.10gb": "7"`), []string{"n 4 H100"}, []string{`jobs:2: "nvidia.com/mig-1g.10gb" of a node are no whole GPUs`}},
		{"AMD", node("n", `"amd.com/gpu.product-name": "MI300X"`, `"amd.com/gpu": "8"`), []string{"n 8 MI300X"}, nil},
		{"another maker", node("n", "", `"habana.ai/gaudi": "8"`), nil, []string{`jobs:2: the resource "habana.ai/gaudi" is not read`, "jobs:2: a node has no whole GPU"}},
		{"a resource that is misspelt", node("n", h100, `"nvidia.com/gpus": "8"`), nil, []string{`jobs:2: the resource "nvidia.com/gpus" is not read`, "jobs:2: a node has no whole GPU"}},
		{"no product", node("n", "", `"nvidia.com/gpu": "8"`), []string{"n 8 gpu"}, []string{"jobs:2: no label names the product of its GPUs"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, err := read(list(c.node, node("m", h100, `"nvidia.com/gpu": "8"`), good), "", "")
			require.NoError(t, err)
			require.Equal(t, append(c.fleet, "m 8 H100"), fleet(w))
			require.Equal(t, c.told, told(w))
		})
	}
}

// What a pod holds, until when, and with which others it is a gang.
func TestPodsOfADump(t *testing.T) {
	m := node("m", h100, `"nvidia.com/gpu": "8"`)
	owned := func(name, created, kind string) string {
		return strings.Replace(pod8(name, created, done("Succeeded", "08:02:00", "09:00:00")), `"creation`, fmt.Sprintf(`"ownerReferences": [{"kind": %q, "uid": "u"}], "creation`, kind), 1)
	}
	for _, c := range []struct {
		name       string
		objects    []string
		jobs, told []string
	}{
		{
			"evicted, which it tells by its phase, and when by a condition or not at all",
			[]string{
				m, pod8("p1", "08:00:00", `"status": {"phase": "Failed", "reason": "Evicted", "startTime": "2026-03-02T08:00:10Z"}`),
				pod8("p2", "08:00:00", `"status": {"phase": "Failed", "reason": "Evicted", "startTime": "2026-03-02T08:00:10Z", "conditions": [{"lastTransitionTime": "2026-03-02T08:30:10Z"}]}`),
				pod8("p3", "08:05:00", done("Succeeded", "08:05:10", "10:00:00")),
			},
			[]string{"a/p2 at 0s: 1x8, waits 10s, for 30m0s", "a/p3 at 5m0s: 1x8, waits 10s, for 1h54m50s"},
			[]string{"jobs:3: had ended, and the dump does not tell when"},
		},
		{
			"a pod of which one container has ended runs on",
			[]string{
				m, pod8("p1", "08:00:00", `"status": {"phase": "Running", "startTime": "2026-03-02T08:00:10Z", "containerStatuses": [{"state": {"running": {}}}, {"state": {"terminated": {"finishedAt": "2026-03-02T08:00:20Z"}}}]}`),
				pod8("p2", "08:00:00", done("Succeeded", "08:00:10", "09:00:00")),
			},
			[]string{"a/p1 at 0s: 1x8, waits 10s, for 59m50s", "a/p2 at 0s: 1x8, waits 10s, for 59m50s"},
			[]string{"jobs:3: had not ended: played with the time until the latest instant of the file"},
		},
		{
			"claims of devices",
			[]string{
				m, pod8("p2", "08:00:00", done("Succeeded", "08:00:10", "09:00:00")),
				`{"kind": "Pod", "metadata": {"name": "p1", "namespace": "a"}, "spec": {"resourceClaims": [{"name": "gpus"}], "containers": [{}]}, "status": {}}`,
				`{"kind": "ResourceClaim", "metadata": {"name": "c"}}`,
			},
			[]string{"a/p2 at 0s: 1x8, waits 10s, for 59m50s"},
			[]string{"jobs:5: an object of another version than resource.k8s.io/v1, v1beta2 and v1beta1 is not read", "jobs:4: holds devices by a resource claim that is not in the file, is not allocated, or is of another driver's devices; they are in: " + kubectlCommand},
		},
		{
			"two seconds apart over the minute are one gang, and a minute more is not",
			[]string{m, owned("t-0", "08:00:59", "PyTorchJob"), owned("t-1", "08:01:01", "PyTorchJob"), owned("t-2", "08:02:02", "PyTorchJob")},
			nil,
			[]string{"jobs:3: cannot have run: more GPUs than the 8 of the fleet"},
		},
		{
			"on a shared node, and on whole ones of AMD",
			[]string{
				m, node("s", `"nvidia.com/gpu.replicas": "8"`, `"nvidia.com/gpu": "8"`), node("x", "", `"amd.com/gpu": "8"`),
				strings.Replace(pod8("p1", "08:00:00", done("Succeeded", "08:00:10", "09:00:00")), `"spec": {`, `"spec": {"nodeName": "s", `, 1),
				strings.Replace(pod8("p2", "08:00:00", done("Succeeded", "08:00:10", "09:00:00")), "nvidia.com", "amd.com", 1),
			},
			[]string{"a/p2 at 0s: 1x8, waits 10s, for 59m50s"},
			[]string{
				"jobs:3: its GPUs are shared: replicas are parts of them, and it has as many as there are without",
				"jobs:4: no label names the product of its GPUs", "jobs:5: holds parts of GPUs",
			},
		},
		{
			"init containers hold what the others do",
			[]string{
				m, strings.Replace(pod8("p1", "08:00:00", done("Succeeded", "08:00:10", "09:00:00")), `"spec": {`, `"spec": {"initContainers": [{"resources": {"limits": {"nvidia.com/gpu": "8"}}}], `, 1),
				strings.Replace(strings.Replace(pod8("p2", "08:00:00", done("Succeeded", "08:00:10", "09:00:00")), `"8"`, `"2"`, 1), `"spec": {`, `"spec": {"initContainers": [{"restartPolicy": "Always", "resources": {"limits": {"nvidia.com/gpu": "1"}}}], `, 1),
			},
			[]string{"a/p1 at 0s: 1x8, waits 10s, for 59m50s", "a/p2 at 0s: 1x3, waits 10s, for 59m50s"},
			nil,
		},
		{
			"the same pod twice",
			[]string{m, pod8("p1", "08:00:00", done("Succeeded", "08:00:10", "09:00:00")), pod8("p1", "08:00:00", done("Succeeded", "08:00:10", "09:00:00")), m},
			[]string{"a/p1 at 0s: 1x8, waits 10s, for 59m50s"},
			[]string{"jobs:4: is told again (2 times)"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, err := read(list(c.objects...), "", "")
			if len(c.jobs) == 0 {
				c.jobs = []string{"a/t-2 at 1m3s: 1x8, waits 0s, for 58m0s"}
			}
			require.Equal(t, c.jobs, played(t, w, err))
			require.Equal(t, c.told, told(w))
		})
	}
}

// Two lists may follow each other, as where two commands wrote to one file.
func TestTwoDumps(t *testing.T) {
	nodes, pods := list(node("m", h100, `"nvidia.com/gpu": "8"`)), list(pod8("p1", "08:00:00", done("Succeeded", "08:00:10", "09:00:00")))
	w, err := read(nodes+pods, "", "")
	require.Equal(t, []string{"a/p1 at 0s: 1x8, waits 10s, for 59m50s"}, played(t, w, err))
	require.Equal(t, []string{"m 8 H100"}, fleet(w))
	for text, why := range map[string]string{
		nodes + "{}": `no "items"`, nodes + "[]": "no object", nodes + "{": "ends early",
		`{"items": [], "items": []}`:                                     `two "items"`,
		list(node("n", "", `"nvidia.com/gpu": "8", "amd.com/gpu": "8"`)): "two makers",
		list(node("n", h100, `"nvidia.com/gpu": "128"`)):                 "128 GPUs",
	} {
		_, err := read(text, "", "")
		require.ErrorContains(t, err, why)
	}
}

// Pods that hold devices by claims are jobs, on nodes that tell of their GPUs in ResourceSlices, in
// whatever order the objects come.
func TestDevicesOfClaims(t *testing.T) {
	gpu := func(i int) string {
		return fmt.Sprintf(`{"name": "gpu-%d", "attributes": {"type": {"string": "gpu"}, "productName": {"string": "NVIDIA H100 80GB HBM3"}}}`, i)
	}
	slice := `{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "spec": {"driver": "gpu.nvidia.com", "nodeName": "n1", "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1}, "devices": [` +
		gpu(0) + "," + gpu(1) + "," + gpu(2) + "," + gpu(3) + "]}}"
	claim := func(name string, gpus ...int) string {
		var results []string
		for _, i := range gpus {
			results = append(results, fmt.Sprintf(`{"request": "r", "driver": "gpu.nvidia.com", "pool": "n1", "device": "gpu-%d"}`, i))
		}
		return fmt.Sprintf(`{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": %q, "namespace": "a"}, "status": {"allocation": {"devices": {"results": [%s]}}}}`, name, strings.Join(results, ","))
	}
	pod := func(name, spec, status string) string {
		return fmt.Sprintf(`{"kind": "Pod", "metadata": {"name": %q, "namespace": "a", "creationTimestamp": "2026-03-02T08:00:00Z"}, "spec": {"containers": [{}], "resourceClaims": [%s]}, "status": {%s "phase": "Succeeded", "startTime": "2026-03-02T08:00:10Z", "containerStatuses": [{"state": {"terminated": {"finishedAt": "2026-03-02T09:00:00Z"}}}]}}`, name, spec, status)
	}
	w, err := read(list(
		`{"kind": "Node", "metadata": {"name": "n1"}, "status": {"capacity": {"cpu": "96"}}}`,
		pod("named", `{"name": "x", "resourceClaimName": "mine"}`, ""),
		pod("made", `{"name": "x", "resourceClaimTemplateName": "t"}`, `"resourceClaimStatuses": [{"name": "x", "resourceClaimName": "made-x-1"}],`),
		pod("asks", ``, `"extendedResourceClaimStatus": {"resourceClaimName": "ext"},`),
		claim("mine", 0, 1), claim("made-x-1", 2), claim("ext", 3), slice,
	), "", "")
	require.NoError(t, err)
	require.Empty(t, w.Skipped)
	require.Equal(t, []string{"n1 4 NVIDIA H100 80GB HBM3"}, fleet(w))
	gpus := map[string]int{}
	for i := range w.Jobs {
		gpus[string(w.Jobs[i].Spec.ID)] = w.Jobs[i].GPUs
	}
	require.Equal(t, map[string]int{"a/named": 2, "a/made": 1, "a/asks": 1}, gpus)
}
