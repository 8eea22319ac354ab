package nodegraph

import (
	"fmt"
	"math/bits"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/internal/drawn"
)

// fmpm is what NVIDIA's client prints: partitions by the physical IDs of their GPUs.
func fmpm(active int, partitions ...[]int) string {
	var list []string
	for id, modules := range partitions {
		var gpus []string
		for _, m := range modules {
			gpus = append(gpus, fmt.Sprintf("            {\n               \"physicalId\" : %d,\n               \"uuid\" : \"\",\n               \"pciBusId\" : \"00000000:00:00.0\",\n               \"numNvLinksAvailable\" : 18,\n               \"maxNumNvLinks\" : 18,\n               \"nvlinkLineRateMBps\" : 26562\n            }", m))
		}
		is := 0
		if id == active {
			is = 1
		}
		list = append(list, fmt.Sprintf("      {\n         \"partitionId\" : %d,\n         \"isActive\" : %d,\n         \"numGpus\" : %d,\n         \"gpuInfo\" : [\n%s\n         ]\n      }", id, is, len(modules), strings.Join(gpus, ",\n")))
	}
	return fmt.Sprintf("{\n   \"version\" : 16909068,\n   \"numPartitions\" : %d,\n   \"maxNumPartitions\" : 15,\n   \"partitionInfo\" : [\n%s\n   ]\n}\n", len(partitions), strings.Join(list, ",\n"))
}

// The partitions of eight GPUs: all, halves, pairs, and each alone.
var ofEight = [][]int{{1, 2, 3, 4, 5, 6, 7, 8}, {1, 2, 3, 4}, {5, 6, 7, 8}, {1, 3}, {2, 4}, {5, 7}, {6, 8}, {1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}}

// The modules of the GPUs in the order of their PCI addresses, which is another.
var modulesOfEight = []int{3, 1, 4, 2, 7, 5, 8, 6}

func TestFabricPartitions(t *testing.T) {
	partitions, told, err := ParseFabricPartitions("fm.json", fmpm(4, ofEight...))
	require.NoError(t, err)
	require.Empty(t, told)
	require.Len(t, partitions, 15)
	require.Equal(t, FabricPartition{ID: 4, Active: true, GPUs: []FabricGPU{{PhysicalID: 2, NVLinks: 18}, {PhysicalID: 4, NVLinks: 18}}}, partitions[4])

	allowed, err := NewAllowedSets(partitions, modulesOfEight)
	require.NoError(t, err)
	require.Equal(t, set(2, 3), allowed.Active())
	require.True(t, allowed.Allows(set(0, 1)), "modules 3 and 1")
	require.False(t, allowed.Allows(set(1, 3)), "modules 1 and 2 are in no partition alone")
	require.False(t, allowed.Allows(0))
	id, is := allowed.ID(set(4, 5, 6, 7))
	require.True(t, is)
	require.Equal(t, 2, id)

	g := switched(t, "NVIDIA H100 80GB HBM3", "NV18", 8)
	two, score := g.BestOf(g.All()&^allowed.Active(), 2, allowed)
	require.Equal(t, set(0, 1), two, "so that the other half stays whole")
	require.Equal(t, int64(450_000), score.AllReduceMBps)
	one, _ := g.BestOf(set(0, 1, 3, 4, 5), 1, allowed)
	require.Equal(t, set(3), one, "not of a pair that is whole")
	none, score := g.BestOf(set(0, 2, 4, 6), 2, allowed)
	require.Zero(t, none)
	require.Zero(t, score)
	three, _ := g.BestOf(g.All(), 3, allowed)
	require.Zero(t, three)
	require.Zero(t, testing.AllocsPerRun(10, func() { g.BestOf(g.All(), 2, allowed) }))
}

// What is chosen is allowed and free, and none of the others is worth more.
func TestBestOfIsAllowedAndBest(t *testing.T) {
	drawn.Check(t, func(rt *rapid.T) {
		g := graphOf(t, drawSpec(rt, 2, 8, []string{"SYS", "PIX", "NV1", "NV4"}))
		modules := rapid.Permutation([]int{1, 2, 3, 4, 5, 6, 7, 8}[:g.GPUs()]).Draw(rt, "modules")
		var partitions []FabricPartition
		seen := map[uint64]bool{}
		for id, set := range rapid.SliceOfN(rapid.Uint64Range(1, g.All()), 1, 12).Draw(rt, "sets") {
			if seen[set] {
				continue
			}
			seen[set] = true
			partition := FabricPartition{ID: id}
			for _, gpu := range members(set) {
				partition.GPUs = append(partition.GPUs, FabricGPU{PhysicalID: modules[gpu]})
			}
			partitions = append(partitions, partition)
		}
		allowed, err := NewAllowedSets(partitions, modules)
		require.NoError(rt, err)
		free := rapid.Uint64Range(0, g.All()).Draw(rt, "free")
		k := rapid.IntRange(0, g.GPUs()).Draw(rt, "k")
		got, score := g.BestOf(free, k, allowed)
		require.True(rt, got == 0 || allowed.Allows(got) && got&^free == 0 && bits.OnesCount64(got) == k)
		for set := range seen {
			if set&^free == 0 && bits.OnesCount64(set) == k {
				require.NotZero(rt, got)
				require.LessOrEqual(rt, score.Compare(g.Score(set)), 0)
			}
		}
	})
}

func TestFabricRefusals(t *testing.T) {
	good := fmpm(1, []int{1, 2}, []int{1}, []int{2})
	for _, bad := range [][2]string{
		{good, ""},
		{good, "[]"},
		{good, "{}"},
		{good, `{"partitionInfo":[1]}`},
		{good, `{"partitionInfo":[{}]}`},
		{good, `{"partitionInfo":[{"partitionId":3,"numGpus":2,"gpuPhysicalIds":[4,6]}]}`},
		{`"partitionId" : 0`, `"partitionId" : 1`},
		{`"partitionId" : 0,`, ``},
		{`"isActive" : 0`, `"isActive" : 2`},
		{`"numGpus" : 2`, `"numGpus" : 3`},
		{`"physicalId" : 1,`, ``},
		{`"physicalId" : 1`, `"physicalId" : "one"`},
		{`"numPartitions" : 3`, `"numPartitions" : 4`},
		{`"isActive" : 0,`, `"isActive" : 0, "isActive" : 0,`},
	} {
		text := strings.Replace(good, bad[0], bad[1], 1)
		require.NotEqual(t, good, text)
		partitions, _, err := ParseFabricPartitions("fm.json", text)
		require.Nil(t, partitions)
		var typed *Error
		require.ErrorAs(t, err, &typed, bad[1])
		require.NotZero(t, typed.Line)
	}
	_, told, err := ParseFabricPartitions("fm.json", strings.Replace(good, `"uuid"`, `"guid"`, 1))
	require.NoError(t, err)
	require.Equal(t, []Skip{{File: "fm.json", Line: 13, Reason: "the key guid of a GPU of a partition is not read", Count: 1}}, told)

	gpu := func(modules ...int) (list []FabricGPU) {
		for _, m := range modules {
			list = append(list, FabricGPU{PhysicalID: m})
		}
		return list
	}
	for name, bad := range map[string]struct {
		partitions []FabricPartition
		modules    []int
	}{
		"no such module": {[]FabricPartition{{GPUs: gpu(9)}}, []int{1, 2}},
		"module twice":   {[]FabricPartition{{GPUs: gpu(1, 1)}}, []int{1, 2}},
		"no GPUs":        {[]FabricPartition{{}}, []int{1, 2}},
		"same GPUs":      {[]FabricPartition{{GPUs: gpu(1, 2)}, {ID: 1, GPUs: gpu(2, 1)}}, []int{1, 2}},
		"two are active": {[]FabricPartition{{Active: true, GPUs: gpu(1, 2)}, {ID: 1, Active: true, GPUs: gpu(2)}}, []int{1, 2}},
		"modules":        {nil, []int{1, 1}},
		"many":           {nil, make([]int, maxGPUs+1)},
	} {
		_, err := NewAllowedSets(bad.partitions, bad.modules)
		var typed *Error
		require.ErrorAs(t, err, &typed, name)
	}
}

func FuzzParseFabricPartitions(f *testing.F) {
	f.Add(fmpm(0, []int{1, 2}, []int{1}))
	f.Fuzz(func(t *testing.T, text string) {
		partitions, _, err := ParseFabricPartitions("file", text)
		var typed *Error
		if err != nil {
			require.ErrorAs(t, err, &typed)
			return
		}
		for _, partition := range partitions {
			require.NotEmpty(t, partition.GPUs)
		}
	})
}
