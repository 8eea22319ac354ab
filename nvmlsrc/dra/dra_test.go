package dra

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/hostile"
	"github.com/berth-sched/berth/mig"
)

const h100 = "NVIDIA H100 80GB HBM3"

// engines are counters as the driver writes them; a partition takes of its memory slices, too.
func engines(sms int, e mig.Engines, first, size int) string {
	text := fmt.Sprintf(`"multiprocessors": {"value": "%d"}, "copy-engines": {"value": "%d"}, "decoders": {"value": "%d"}, "encoders": {"value": "%d"}, "jpeg-engines": {"value": "%d"}, "ofa-engines": {"value": "%d"}`,
		sms, e.Copy, e.NVDEC, e.NVENC, e.JPEG, e.OFA)
	for i := range size {
		text += fmt.Sprintf(`, "memory-slice-%d": {"value": "1"}`, first+i)
	}
	return text
}

// partitionable are the slices of a node with GPUs that are divided on demand: counters in one, the
// devices of each GPU in one of their own.
func partitionable(t testing.TB, node string, gpus int, version string) []string {
	product, known := mig.LookupDevice(h100)
	require.True(t, known)
	lattice, err := mig.NewLattice(product)
	require.NoError(t, err)
	basic, end := "", ""
	if version == "v1beta1" {
		basic, end = `"basic": {`, "}"
	}
	object := func(name, body string) string {
		return fmt.Sprintf(`{"apiVersion": "resource.k8s.io/%s", "kind": "ResourceSlice", "metadata": {"name": "%s-%s"}, "spec": {%s, "driver": "gpu.nvidia.com", "nodeName": "%[2]s", "pool": {"name": "%[2]s", "generation": 1, "resourceSliceCount": %[5]d}}}`,
			version, node, name, body, gpus+1)
	}
	var sets, slicesOf []string
	for i := range gpus {
		whole := engines(product.SMs, product.Engines, 0, product.MemorySlices)
		sets = append(sets, fmt.Sprintf(`{"name": "gpu-%d-counter-set", "counters": {%s}}`, i, whole))
		device := func(name, attributes, counters string) string {
			return fmt.Sprintf(`{"name": "%s", %s"attributes": {%s, "productName": {"string": "%s"}, "resource.kubernetes.io/pciBusID": {"string": "0000:%02d:00.0"}, "resource.kubernetes.io/numaNode": {"int": %d}}, "capacity": {"memory": {"value": "81152Mi"}}, "consumesCounters": [{"counterSet": "gpu-%d-counter-set", "counters": {%s}}]%s}`,
				name, basic, attributes, h100, 10+i, i/4, i, counters, end)
		}
		devices := []string{device(fmt.Sprintf("gpu-%d", i), fmt.Sprintf(`"type": {"string": "gpu"}, "uuid": {"string": "GPU-%d"}`, i), whole)}
		for _, p := range lattice.Placements() {
			profile, _ := product.Profile(p.Profile)
			devices = append(devices, device(
				fmt.Sprintf("gpu-%d-mig-%s-%d-%d", i, strings.NewReplacer(".", "", "+", "").Replace(p.Profile.String()), profile.ID, p.Start),
				fmt.Sprintf(`"type": {"string": "mig"}, "profile": {"string": "%s"}, "parentUUID": {"string": "GPU-%d"}`, p.Profile, i),
				engines(profile.SMs, profile.Engines, int(p.Start), int(p.Size)),
			))
		}
		slicesOf = append(slicesOf, object(fmt.Sprint(i), `"devices": [`+strings.Join(devices, ",\n")+"]"))
	}
	return append([]string{object("counters", `"sharedCounters": [`+strings.Join(sets, ",")+"]")}, slicesOf...)
}

// claimOf is a claim that holds devices of a pool.
func claimOf(name, pool string, devices ...string) string {
	var results []string
	for _, d := range devices {
		results = append(results, fmt.Sprintf(`{"request": "gpus", "driver": "gpu.nvidia.com", "pool": "%s", "device": "%s"}`, pool, d))
	}
	return fmt.Sprintf(`{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "%s", "namespace": "a"},
 "spec": {"devices": {"requests": [{"name": "gpus", "exactly": {"deviceClassName": "gpu.nvidia.com", "allocationMode": "ExactCount", "count": %d}}]}},
 "status": {"allocation": {"devices": {"results": [%s]}, "nodeSelector": {}, "allocationTimestamp": "2026-11-01T00:00:00Z"}, "reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}]}}`,
		name, len(devices), strings.Join(results, ", "))
}

func list(objects ...string) string {
	return `{"apiVersion": "v1", "kind": "List", "items": [` + "\n" + strings.Join(objects, ",\n") + "\n]}\n"
}

func read(t testing.TB, text string) *Dump {
	d, err := Read("dump.json", strings.NewReader(text))
	require.NoError(t, err)
	return d
}

func reasons(skips []Skip) (list []string) {
	for _, s := range skips {
		list = append(list, s.Reason)
	}
	return list
}

// Partitions and counters of all versions of the API are the layouts of package mig, and nodes that
// the core takes.
func TestPartitionableDevices(t *testing.T) {
	var first []berth.Node
	for _, version := range []string{"v1", "v1beta2", "v1beta1"} {
		objects := append(partitionable(t, "n1", 4, version), claimOf("half", "n1", "gpu-2-mig-3g40gb-9-4", "gpu-2-mig-1g10gb-19-0"), claimOf("whole", "n1", "gpu-0", "gpu-3"))
		d := read(t, list(objects...))
		require.Empty(t, d.Skipped, version)
		product, _ := mig.LookupDevice(h100)
		lattice, err := mig.NewLattice(product)
		require.NoError(t, err)
		require.Len(t, d.Devices, 4*(1+len(lattice.Placements())))
		nodes, told := d.Nodes()
		require.Empty(t, told)
		require.Len(t, nodes, 1)
		require.Len(t, nodes[0].GPUs, 4)
		gpu := nodes[0].GPUs[2]
		require.Equal(t, berth.GPUModeMIG, gpu.Mode)
		require.Equal(t, "[1g.10gb@0:1 3g.40gb@4:4]", fmt.Sprint(gpu.Instances))
		require.Equal(t, "H100-80GB", gpu.MIGTable)
		require.Equal(t, berth.GPU{Product: h100, MemoryMiB: 81152, UUID: "GPU-3", PCI: "0000:13:00.0", NUMANode: berth.OrdinalOf(0), MIGTable: "H100-80GB"}, nodes[0].GPUs[3])
		c, err := core.New(berth.Config{})
		require.NoError(t, err)
		err = c.Apply(1, berth.NodeJoined{Node: nodes[0]})
		require.NoError(t, err)
		require.Equal(t, Held{Parts: true}, d.Held("a", []string{"half"}))
		require.Equal(t, Held{GPUs: 2, Untold: 1}, d.Held("a", []string{"whole", "none"}))
		if first == nil {
			first = nodes
		}
		require.Equal(t, first, nodes, version)
	}
}

// Counters that allow other sets than package mig are told.
func TestCountersAreCheckedAgainstTheLattice(t *testing.T) {
	const says = "the counters of a GPU allow other sets of partitions than package mig: its table counts"
	good := list(partitionable(t, "n1", 1, "v1")...)
	for from, to := range map[string]string{
		`"multiprocessors": {"value": "16"}`:                                                  `"multiprocessors": {"value": "32"}`,
		`{"counterSet": "gpu-0-counter-set", "counters": {"multiprocessors": {"value": "60"}`: `{"counterSet": "gpu-0-counter-set", "counters": {"multiprocessors": {"value": "100"}`,
	} {
		text := strings.ReplaceAll(good, from, to)
		require.NotEqual(t, good, text)
		require.Contains(t, reasons(read(t, text).Skipped), says)
	}
}

func TestWhatIsNotReadIsTold(t *testing.T) {
	good := list(append(partitionable(t, "n1", 1, "v1"), claimOf("c", "n1", "gpu-0"))...)
	require.Empty(t, read(t, good).Skipped)
	for _, c := range []struct{ from, to, says string }{
		{`"kind": "ResourceClaim"`, `"kind": "DeviceShape"`, "an object of another kind than ResourceSlice, ResourceClaim, DeviceTaintRule and DeviceClass is not read"},
		{`resource.k8s.io/v1"`, `resource.k8s.io/v1alpha3"`, "an object of another version than resource.k8s.io/v1, v1beta2 and v1beta1 is not read"},
		{`"driver": "gpu.nvidia.com", "nodeName"`, `"driver": "gpu.intel.com", "nodeName"`, `devices of the driver "gpu.intel.com" are not read`},
		{`"resourceSliceCount": 2`, `"resourceSliceCount": 3`, "a pool of which not all ResourceSlices are there"},
		{`"generation": 1`, `"generation": 2`, "a ResourceSlice of a generation that is over is not read"},
		{`"type": {"string": "gpu"}, `, ``, "a device without the attribute type is not read"},
		{`"type": {"string": "gpu"}`, `"type": {"string": "vfio"}`, `a device of the type "vfio" is not read`},
		{`"name": "gpu-0"`, `"name": "card0"`, `a device whose name tells no number of its GPU is not read: "card0"`},
		{`"profile": {"string": "1g.10gb"}`, `"profile": {"string": "1g.11gb"}`, `a partition of a profile that package mig does not have for its product is not read: "1g.11gb"`},
		{`"profile": {"string": "1g.10gb"}`, `"profile": {"string": "tiny"}`, `a partition of a profile that is none is not read: "tiny"`},
		{`mig-1g10gb-19-0`, `mig-1g10gb-19-3`, "the name of a partition and its counters tell different places: the counters count"},
		{`"memory-slice-4": {"value": "1"}, "memory-slice-5"`, `"memory-slice-4": {"value": "0"}, "memory-slice-5"`, "a device takes more of a counter than there is"},
		{`"name": "gpu-0-counter-set"`, `"name": "gpu-9-counter-set"`, "a device takes of a set of counters that is not there"},
		{`"capacity": {"memory": {"value": "81152Mi"}}`, `"capacity": {"memory": {"value": "many"}}`, `a quantity that is no whole one is not read: "many"`},
		{`"capacity": {"memory"`, `"power": 1, "capacity": {"memory"`, "the key power of a device is not read"},
		{`"capacity": {"memory"`, `"taints": [{"key": "a", "effect": "None"}], "capacity": {"memory"`, `a taint without effect says nothing: "a"`},
		{`"capacity": {"memory"`, `"taints": [{"key": "a", "effect": "Later"}], "capacity": {"memory"`, `a taint of an effect that is not known counts as NoSchedule: "Later"`},
		{`"capacity": {"memory"`, `"allNodes": true, "capacity": {"memory"`, "a device that is on no one node is not read"},
		{`"exactly": {`, `"exactly": {"selectors": [{"cel": {"expression": "true"}}], `, "the CEL selectors of a request are not evaluated"},
		{`"exactly": {`, `"exactly": {"tolerations": [{"operator": "Exists"}], `, "the tolerations of a request are not evaluated"},
		{`"exactly": {`, `"exactly": {"capacity": {"requests": {"memory": "1Gi"}}, `, "the capacity that a request asks for is not evaluated"},
		{`"exactly": {`, `"firstAvailable": [{"name": "big"}], "exactly": {`, "the alternatives of a request (firstAvailable) are not evaluated: what is allocated counts"},
		{`"devices": {"requests"`, `"devices": {"constraints": [{"matchAttribute": "a/b"}], "requests"`, "constraints among the devices of a claim are not evaluated"},
		{`"device": "gpu-0"}`, `"device": "gpu-7"}`, "a claim holds a device that no ResourceSlice has"},
		{`"device": "gpu-0"}`, `"device": "gpu-0"}, {"driver": "gpu.nvidia.com", "pool": "n1", "device": "gpu-0"}`, "two claims hold one device, or one claim holds it twice"},
		{`"device": "gpu-0"}`, `"device": "gpu-0", "adminAccess": true}`, "access for an administrator holds nothing"},
		{`"resource": "pods"`, `"resource": "jobs"`, `a claim that is reserved for something else than pods: "jobs"`},
	} {
		text := strings.Replace(good, c.from, c.to, 1)
		require.NotEqual(t, good, text, c.from)
		d := read(t, text)
		require.Contains(t, reasons(d.Skipped), c.says)
		require.NotZero(t, d.Skipped[0].Line)
	}
}

func TestNodesOfTaintsSharesAndPartitionsThatExist(t *testing.T) {
	one := func(devices string) string {
		return list(`{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","spec":{"driver":"gpu.nvidia.com","nodeName":"n1","pool":{"name":"n1","resourceSliceCount":1},"devices":[` + devices + `]}}`)
	}
	gpu := func(i int, more string) string {
		return fmt.Sprintf(`{"name":"gpu-%d","attributes":{"type":{"string":"gpu"},"productName":{"string":"%s"}}%s}`, i, h100, more)
	}
	d := read(t, one(gpu(0, "")+","+gpu(1, `,"taints":[{"key":"k","effect":"NoExecute"}]`)+","+gpu(3, `,"allowMultipleAllocations":true`)))
	require.Empty(t, d.Skipped)
	nodes, told := d.Nodes()
	require.Empty(t, told)
	require.Equal(t, []bool{false, true, false}, []bool{nodes[0].GPUs[0].Failed, nodes[0].GPUs[1].Failed, nodes[0].GPUs[2].Failed})
	d = read(t, strings.Replace(one(gpu(0, `,"allowMultipleAllocations":true`)), "\n]}", ",\n"+claimOf("c", "n1", "gpu-0")+",\n"+claimOf("d", "n1", "gpu-0")+"\n]}", 1))
	require.Empty(t, d.Skipped, "shares of one GPU")
	require.Equal(t, Held{Parts: true}, d.Held("a", []string{"c"}))

	for _, part := range []string{`"shareID": "s"`, `"consumedCapacity": {"memory": "1Gi"}`} {
		text := strings.Replace(claimOf("c", "n1", "gpu-0"), `"device": "gpu-0"`, `"device": "gpu-0", `+part, 1)
		require.Equal(t, Held{Parts: true}, read(t, list(text)).Held("a", []string{"c"}), "without slices, too")
	}
	require.Equal(t, Held{GPUs: 1}, read(t, list(claimOf("c", "n1", "gpu-0"))).Held("a", []string{"c"}))
	require.Equal(t, Held{Parts: true}, read(t, list(claimOf("c", "n1", "gpu-0-mig-1g10gb-19-0"))).Held("a", []string{"c"}))

	instance := `{"name":"gpu-0-mig-3g40gb-9-4","attributes":{"type":{"string":"mig"},"profile":{"string":"3g.40gb"},"uuid":{"string":"MIG-1"},"productName":{"string":"` + h100 + `"}}}`
	nodes, told = read(t, one(instance)).Nodes()
	require.Empty(t, told)
	require.Equal(t, "[3g.40gb@4:4]", fmt.Sprint(nodes[0].GPUs[0].Instances))
	twice := strings.NewReplacer("3g40gb-9-4", "2g20gb-14-4", "3g.40gb", "2g.20gb").Replace(instance)
	nodes, told = read(t, one(instance+","+twice)).Nodes()
	require.Empty(t, nodes)
	require.Equal(t, []string{"a node has partitions that cannot exist together: it is left out"}, reasons(told))
	nodes, told = read(t, one(gpu(0, "")+","+strings.Replace(gpu(1, ""), h100, "Tesla T4", 1))).Nodes()
	require.Empty(t, nodes)
	require.Equal(t, []string{"a node has GPUs of several products: it is left out"}, reasons(told))
}

func TestRefusals(t *testing.T) {
	good := list(append(partitionable(t, "n1", 1, "v1"), claimOf("c", "n1", "gpu-0"))...)
	for _, bad := range []struct {
		from, to string
		kind     error
	}{
		{good, "", ErrSyntax},
		{good, "{}", ErrSyntax},
		{good, `{"items":[1,1,1]}`, ErrSyntax},
		{`"devices": [{`, `"devices": [1,{`, ErrSyntax},
		{`"name": "gpu-0"`, `"name": ""`, ErrSyntax},
		{`"name": "gpu-0"`, `"name": 7`, ErrSyntax},
		{`"name": "gpu-0-counter-set"`, `"name": ""`, ErrSyntax},
		{`"pool": {"name": "n1"`, `"pool": {"name": ""`, ErrSyntax},
		{`"device": "gpu-0"}`, `"device": ""}`, ErrSyntax},
		{`"resource": "pods", "name": "p"`, `"resource": "pods"`, ErrSyntax},
		{`"kind": "ResourceClaim"`, `"kind": "ResourceClaim", "kind": "ResourceClaim"`, ErrSyntax},
		{`"devices": [{`, `"devices": [` + strings.Repeat(`{"name":"a"},`, maxDevices) + `{`, ErrSyntax},
	} {
		text := strings.Replace(good, bad.from, bad.to, 1)
		require.NotEqual(t, good, text)
		_, err := Read("dump.json", strings.NewReader(text))
		require.ErrorIs(t, err, bad.kind, bad.to)
		var typed *Error
		require.ErrorAs(t, err, &typed)
		require.NotZero(t, typed.Line)
		require.Equal(t, "dump.json", typed.File)
	}
}

// What a dump allocates is bounded by its length, whatever it holds.
func TestHostileDumpsCostLittle(t *testing.T) {
	const begin = `{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","spec":{"driver":"gpu.nvidia.com","nodeName":"n","pool":{"name":"p","resourceSliceCount":1},`
	const claim = `{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":"c"},`
	for _, c := range []struct{ begin, element, end string }{
		{`{"items":[`, `1`, `]}`},
		{`{"items":[`, `{}`, `]}`},
		{`{"items":[`, `{"kind":"ResourceSlice"}`, `]}`},
		{`{"items":[`, `{"kind":"ResourceClaim"}`, `]}`},
		{`{"items":[` + begin + `"devices":[`, `1`, `]}}]}`},
		{`{"items":[` + begin + `"devices":[`, `{}`, `]}}]}`},
		{`{"items":[` + begin + `"sharedCounters":[`, `{}`, `]}}]}`},
		{`{"items":[` + begin + `"devices":[{"name":"gpu-0","taints":[`, `{}`, `]}]}}]}`},
		{`{"items":[` + begin + `"devices":[{"name":"gpu-0","consumesCounters":[`, `{}`, `]}]}}]}`},
		{`{"items":[` + claim + `"status":{"reservedFor":[`, `{}`, `]}}]}`},
		{`{"items":[` + claim + `"status":{"reservedFor":[`, `{"name":"a","resource":"pods"}`, `]}}]}`},
		{`{"items":[` + claim + `"status":{"allocation":{"devices":{"results":[`, `{}`, `]}}}}]}`},
		{`{"items":[` + claim + `"spec":{"devices":{"requests":[`, `{}`, `]}}}]}`},
		{`{"items":[` + claim + `"spec":{"devices":{"constraints":[`, `1`, `]}}}]}`},
		{`{"items":[`, claim[:len(claim)-1] + `}`, `]}`},
		{`{"items":[`, begin + `"devices":[` + hostile.List("", `{"name":"gpu-0","attributes":{"type":{"string":"gpu"}}}`, maxDevices, "") + `]}}`, `]}`},
	} {
		text := hostile.List(c.begin, c.element, max(1, (1<<20)/(len(c.element)+1)), c.end)
		hostile.Bounded(t, c.begin+c.element[:min(len(c.element), 40)], text, 1<<20, func(text string) {
			_, err := Read("f", strings.NewReader(text))
			requireTyped(t, err)
		})
	}
	// Each GPU is of another product, or has counters of its own.
	var products, counters strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&products, `%s"devices":[{"name":"gpu-0-mig-1g10gb-19-0","attributes":{"type":{"string":"mig"},"profile":{"string":"1g.10gb"},"productName":{"string":"a%d"}}}]}},`, begin, i)
		fmt.Fprintf(&counters, `%s"sharedCounters":[{"name":"%d","counters":{"memory-slice-0":{"value":"%[2]d"}}}],"devices":[{"name":"gpu-%[2]d-mig-1g10gb-19-0","attributes":{"type":{"string":"mig"},"profile":{"string":"1g.10gb"},"productName":{"string":"%s"}},"consumesCounters":[{"counterSet":"%[2]d","counters":{"memory-slice-0":{"value":"1"}}}]}]}},`, begin, i+1, h100)
	}
	for name, text := range map[string]string{"products": products.String(), "counters": counters.String()} {
		hostile.Bounded(t, name, `{"items":[`+strings.TrimSuffix(text, ",")+`]}`, 4<<20, func(text string) {
			d, err := Read("f", strings.NewReader(text))
			require.NoError(t, err)
			d.Nodes()
		})
	}
}

func requireTyped(t *testing.T, err error) {
	var e *Error
	require.True(t, err == nil || errors.As(err, &e), "%v", err)
}

func FuzzRead(f *testing.F) {
	f.Add(list(partitionable(f, "n", 1, "v1")[:1]...))
	f.Add(list(claimOf("c", "n1", "gpu-0")))
	f.Add(`{"items":[{"apiVersion":"resource.k8s.io/v1beta1","kind":"ResourceSlice","spec":{"driver":"gpu.nvidia.com","nodeName":"n","pool":{"name":"p"},"devices":[{"name":"gpu-0","basic":{"attributes":{"type":{"string":"gpu"}},"capacity":{"memory":{"value":"16Gi"}}}}]}}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Read("f", strings.NewReader(text))
		requireTyped(t, err)
		if err != nil {
			return
		}
		nodes, _ := d.Nodes()
		require.True(t, slices.IsSortedFunc(nodes, func(a, b berth.Node) int { return strings.Compare(string(a.ID), string(b.ID)) }))
	})
}

// A rule taints what it selects as the slice of a device would; one that is not evaluated is told.
func TestTaintRulesAndClasses(t *testing.T) {
	gpu := func(i int) string {
		return fmt.Sprintf(`{"name": "gpu-%d", "attributes": {"type": {"string": "gpu"}, "productName": {"string": "%s"}}}`, i, h100)
	}
	slice := func(node string) string {
		return fmt.Sprintf(`{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "%s"}, "spec": {"driver": "gpu.nvidia.com", "nodeName": "%[1]s", "pool": {"name": "%[1]s", "generation": 1, "resourceSliceCount": 1}, "devices": [%s, %s]}}`,
			node, gpu(0), gpu(1))
	}
	rule := func(version, selector, effect string) string {
		return fmt.Sprintf(`{"apiVersion": "resource.k8s.io/%s", "kind": "DeviceTaintRule", "metadata": {"name": "r"}, "spec": {%s"taint": {"key": "example.com/broken", "value": "yes", "effect": "%s"}}, "status": {"conditions": []}}`,
			version, selector, effect)
	}
	for _, c := range []struct {
		object, failed string
		says           []string
	}{
		{rule("v1beta2", `"deviceSelector": {"driver": "gpu.nvidia.com", "pool": "n1", "device": "gpu-1"}, `, "NoSchedule"), "n1/1", nil},
		{rule("v1alpha3", `"deviceSelector": {"device": "gpu-0"}, `, "NoExecute"), "n1/0 n2/0", nil},
		{rule("v1", `"deviceSelector": {"pool": "n2"}, `, "NoExecute"), "n2/0 n2/1", nil},
		{rule("v1", `"deviceSelector": {}, `, "NoSchedule"), "n1/0 n1/1 n2/0 n2/1", nil},
		{rule("v1", `"deviceSelector": {"pool": "n2"}, `, "None"), "", []string{`a taint without effect says nothing: "example.com/broken"`}},
		{rule("v1", ``, "NoSchedule"), "", []string{"a DeviceTaintRule without a selector taints no device"}},
		{rule("v1", `"deviceSelector": null, `, "NoSchedule"), "", []string{"a DeviceTaintRule without a selector taints no device"}},
		{rule("v1", `"deviceSelector": {"pool": "n3"}, `, "NoSchedule"), "", []string{"a DeviceTaintRule selects no device of the file"}},
		{rule("v1", `"deviceSelector": {"driver": "gpu.intel.com"}, `, "NoSchedule"), "", []string{`a DeviceTaintRule is of devices of the driver "gpu.intel.com"`}},
		{rule("v1alpha3", `"deviceSelector": {"deviceClassName": "mig"}, `, "NoSchedule"), "", []string{"a DeviceTaintRule that selects by a DeviceClass, by CEL or by something else that is not read is not evaluated: it taints no device here"}},
		{rule("v1alpha3", `"deviceSelector": {"selectors": [{"cel": {"expression": "true"}}]}, `, "NoSchedule"), "", []string{"a DeviceTaintRule that selects by a DeviceClass, by CEL or by something else that is not read is not evaluated: it taints no device here"}},
		{rule("v2", `"deviceSelector": {}, `, "NoSchedule"), "", []string{"a DeviceTaintRule of another version than resource.k8s.io/v1, v1beta2 and v1alpha3 is not read"}},
		{rule("v1", `"deviceSelector": {"node": "n1"}, `, "NoSchedule"), "", []string{
			"the key node of the selector of a DeviceTaintRule is not read",
			"a DeviceTaintRule that selects by a DeviceClass, by CEL or by something else that is not read is not evaluated: it taints no device here",
		}},
		{`{"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {"selectors": [{"cel": {"expression": "true"}}], "extendedResourceName": "nvidia.com/gpu"}}`, "", []string{
			"the CEL selectors of a DeviceClass are not evaluated: what is allocated counts",
			`the extended resource of a DeviceClass is not read: "nvidia.com/gpu"`,
		}},
		{`{"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "any"}, "spec": {"config": []}}`, "", nil},
	} {
		for _, objects := range [][]string{{slice("n1"), slice("n2"), c.object}, {c.object, slice("n1"), slice("n2")}, {c.object, slice("n1"), slice("n2"), c.object}} {
			d := read(t, list(objects...))
			require.ElementsMatch(t, c.says, reasons(d.Skipped), c.object)
			nodes, told := d.Nodes()
			require.Empty(t, told)
			var failed []string
			for _, n := range nodes {
				for i := range n.GPUs {
					if n.GPUs[i].Failed {
						failed = append(failed, fmt.Sprintf("%s/%d", n.ID, i))
					}
				}
			}
			require.Equal(t, c.failed, strings.Join(failed, " "), c.object)
		}
	}
}
