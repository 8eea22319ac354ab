package nodegraph

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/internal/drawn"
)

// A format is good files of a reader, and where their parts are.
type format struct {
	name  string
	parse func(file, text string) (Spec, error)
	good  []string
	// renamed finds names, which end with the first group that matches, and removed the parts that
	// may be missing or there twice. Of swapped the two groups change places.
	renamed, removed, swapped *regexp.Regexp
	// free is a part without which there is nothing to tell; empty: no such part.
	free string
}

var xmlNames, xmlAttributes, xmlPairs = regexp.MustCompile(` (\w+)="|</?(\w+)`), regexp.MustCompile(` \w+="[^"]*"`), regexp.MustCompile(`( \w+="[^"]*")( \w+="[^"]*")`)

var jsonNames, jsonMembers, jsonPairs = regexp.MustCompile(`"(\w+)" ?:|: "(\w+)"`), regexp.MustCompile(`\s*"\w+" ?: [^,{}\[\]]+,`), regexp.MustCompile(`(\s*"\w+" ?: [^,{}\[\]]+,)(\s*"\w+" ?: [^,{}\[\]]+,)`)

var formats = []format{
	{"nvidia-smi", ParseMatrix, []string{cube}, regexp.MustCompile(`\b((?:GPU|NIC|PHB|PIX|SYS|NV|X|CPU Affinity|NUMA Affinity|NIC Legend)\d*)\b`), regexp.MustCompile(`\t *\w+ *|[^\n]+\n`), regexp.MustCompile(`(\n[^\n]+)(\n[^\n]+)`), ""},
	{"rocm-smi", ParseROCm, []string{rocmPairs}, regexp.MustCompile(`([\w ]*\w+)`), regexp.MustCompile(` +\w+ *|[^\n]+\n`), regexp.MustCompile(`(\n[^\n]+)(\n[^\n]+)`), ""},
	{"NCCL", ParseNCCL, []string{tree}, xmlNames, xmlAttributes, xmlPairs, ""},
	{"hwloc", ParseHwloc, []string{hwlocPair, hwlocSwitches(9, 9, 9, 8)}, xmlNames, xmlAttributes, xmlPairs, " subtype="},
	{"amd-smi", ParseAMDTopology, []string{amdTopology(3, func(a, b int) int { return a ^ b - 2 })}, jsonNames, jsonMembers, jsonPairs, ""},
	{"amd-smi static", readAMD, []string{amdGPUs(2, "AMD Instinct MI300A")}, jsonNames, jsonMembers, jsonPairs, ""},
	{"fmpm", readFabric, []string{fmpm(1, []int{1, 2}, []int{1}, []int{2})}, jsonNames, jsonMembers, jsonPairs, ""},
}

// readAMD and readFabric put what readers of other things read into a Spec, each value by itself,
// to compare it.
func readAMD(file, text string) (Spec, error) {
	gpus, told, err := ParseAMDGPUs(file, text)
	s := Spec{Skipped: told}
	for _, g := range gpus {
		s.GPUs = append(s.GPUs, GPUSpec{Bus: g.Bus, NUMA: g.NUMA, PCIeMBps: g.PCIeMBps}, GPUSpec{Bus: g.UUID}, GPUSpec{Bus: g.Product, PCIeMBps: g.VRAMMiB},
			GPUSpec{Bus: g.ComputePartition, PCIeMBps: int64(g.Partition)}, GPUSpec{Bus: g.MemoryPartition, PCIeMBps: 1 + int64(g.Index)})
	}
	return s, err
}

func readFabric(file, text string) (Spec, error) {
	partitions, told, err := ParseFabricPartitions(file, text)
	s := Spec{Skipped: told}
	for _, partition := range partitions {
		s.GPUs = append(s.GPUs, GPUSpec{Bus: fmt.Sprint(partition.ID, partition.Active)})
		for _, g := range partition.GPUs {
			s.GPUs = append(s.GPUs, GPUSpec{Bus: g.Bus, PCIeMBps: int64(g.NVLinks)}, GPUSpec{Bus: g.UUID, PCIeMBps: 1 + int64(g.PhysicalID)})
		}
	}
	return s, err
}

// pick is one of the matches.
func pick(r *rand.Rand, all [][]int) []int { return all[r.IntN(len(all))] }

// change does something to a part of a text.
func (f *format) change(r *rand.Rand, text string) (what, changed string) {
	switch what = []string{"rename", "rename all", "remove", "double", "swap"}[r.IntN(5)]; what {
	case "rename", "rename all":
		at := pick(r, f.renamed.FindAllStringSubmatchIndex(text, -1))
		end := at[len(at)-1]
		if end < 0 {
			end = at[3]
		}
		begin := end - len(regexp.MustCompile(`\w+$`).FindString(text[:end]))
		if what == "rename" {
			return what, text[:end] + "x" + text[end:]
		}
		return what, regexp.MustCompile(`\b`+text[begin:end]+`\b`).ReplaceAllString(text, text[begin:end]+"x")
	case "swap":
		at := pick(r, f.swapped.FindAllStringSubmatchIndex(text, -1))
		return what, text[:at[2]] + text[at[4]:at[5]] + text[at[2]:at[3]] + text[at[5]:]
	}
	at := pick(r, f.removed.FindAllStringIndex(text, -1))
	for f.free != "" && strings.HasPrefix(text[at[0]:], f.free) {
		at = pick(r, f.removed.FindAllStringIndex(text, -1))
	}
	if what == "remove" {
		return what, text[:at[0]] + text[at[1]:]
	}
	return what, text[:at[1]] + text[at[0]:]
}

// knowsLess reports whether a Spec says nothing that another does not say.
func knowsLess(got, want Spec) bool {
	got.Skipped, want.Skipped = nil, nil
	if len(got.GPUs) != len(want.GPUs) || len(got.NICs) != len(want.NICs) {
		return false
	}
	got.GPUs, got.NICs = slices.Clone(got.GPUs), slices.Clone(got.NICs)
	for i := range got.GPUs {
		g, w := &got.GPUs[i], want.GPUs[i]
		g.Bus = first(g.Bus, w.Bus)
		g.NUMA = first(g.NUMA, w.NUMA)
		g.PCIeMBps = first(g.PCIeMBps, w.PCIeMBps)
	}
	for i := range got.NICs {
		got.NICs[i].MBps = first(got.NICs[i].MBps, want.NICs[i].MBps)
		got.NICs[i].NUMA = first(got.NICs[i].NUMA, want.NICs[i].NUMA)
	}
	got.Product = first(got.Product, want.Product)
	return equalSpecs(got, want)
}

func first[T comparable](a, b T) T {
	if a != *new(T) {
		return a
	}
	return b
}

func equalSpecs(a, b Spec) bool {
	a.Skipped, b.Skipped = nil, nil
	return reflect.DeepEqual(a, b)
}

// A good file in which names are changed, and parts are missing, there twice or in another order:
// what comes out is the same, or knows less, or it is refused, or says what is passed over.
func TestChangedFilesGiveTheSameOrAreTold(t *testing.T) {
	for _, f := range formats {
		t.Run(f.name, func(t *testing.T) {
			outcomes := map[string]int{}
			for seed := range drawn.Seeds(400) {
				r := rand.New(rand.NewPCG(seed, 0))
				good := f.good[r.IntN(len(f.good))]
				want, err := f.parse("", good)
				require.NoError(t, err)
				what, text := f.change(r, good)
				got, err := f.parse("", text)
				outcome := "same"
				switch {
				case err != nil:
					outcome = "refused"
				case slices.ContainsFunc(got.Skipped, func(s Skip) bool { return !told(want, s.Reason) }):
					outcome = "told"
				case equalSpecs(got, want):
				case knowsLess(got, want) && !strings.HasPrefix(what, "rename"):
					outcome = "less"
				default:
					t.Fatalf("seed %d: %s: nothing is told\n%s\n%+v\n%+v", seed, what, diffOf(good, text), want, got)
				}
				outcomes[outcome]++
			}
			if drawn.Many() {
				for _, outcome := range []string{"same", "refused", "told"} {
					require.NotZero(t, outcomes[outcome], outcome)
				}
			}
			t.Log(outcomes)
		})
	}
}

// diffOf is where two texts differ.
func diffOf(a, b string) string {
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	from := max(0, at-60)
	return a[from:min(len(a), at+60)] + "\n-----\n" + b[from:min(len(b), at+60)]
}

// Each thing that a reader of a table or of NCCL's XML passes over is told by its reason.
func TestReadersTellWhatTheyPassOver(t *testing.T) {
	const guess = "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tSYS\t0-7\nGPU1\tSYS\t X \t8-15\n"
	const display = `<system><cpu numaid="0"><pci busid="1" class="0x030200" vendor="0x10de"/></cpu></system>`
	for _, c := range []struct {
		parse           func(file, text string) (Spec, error)
		good, from, to  string
		says            string
		differsInResult bool
	}{
		{ParseMatrix, cube, "NUMA Affinity\n", "NUMA Affinity\tColour\n", "the column Colour is not read", false},
		{ParseMatrix, cube, "0-19\t0\n", "0-19\t0\t\tN/A\tblue\n", "cells behind those of the headings are not read", false},
		{ParseMatrix, cube, "\n\nNIC Legend", "\nNIC9\tPIX\n\nNIC Legend", "a row that no heading announces is not read", false},
		{ParseMatrix, cube, "NIC Legend:", "Legend of NICs:", "the name of a NIC outside of the NIC legend is not read", true},
		{ParseMatrix, cube, "  NIC3: mlx5_3\n", "", "no legend names a NIC: it keeps the number of its column", true},
		{ParseMatrix, cube, "  NIC1: mlx5_1\n", "  HCA1: mlx5_1\n", "an entry of the NIC legend that is of no NIC is not read, nor what comes after it", true},
		{ParseMatrix, cube, "0-19\t0\n", "0-19\n", "a row ends before its NUMA node, which is not known then", true},
		{ParseMatrix, guess, "8-15", "8-15", "no NUMA node is told: those of equal CPU Affinity count as one", false},
		{ParseROCm, rocmPairs, "GPU[1]\t\t: (Topology) Numa Node: 0", "GPU[1]\t\t: (Topology) Memory: 0", "a line that tells no NUMA node is not read in the section \"Numa Nodes\"", true},
		{ParseROCm, rocmPairs, "GPU[1]\t\t: (Topology) Numa Node: 0\n", "", "no NUMA node is told of a GPU: its paths over PCIe count as SYS", true},
		{ParseROCm, rocmPairs, "= Hops between", "= Leaps between", "the section \"Leaps between two GPUs\" is not read", false},
		{ParseROCm, rocmPairs, "= Hops between", "= Leaps between", "no hops are told: each XGMI counts as a link of its own", false},
		{ParseNCCL, tree, `<gpu dev="1" sm="80">`, `<gpu dev="1" sm="80" colour="1">`, "the attribute colour of gpu is not read", false},
		{ParseNCCL, tree, `class="0x010802"/>`, `/>`, "a pci that holds nothing and has no class is not read", false},
		{ParseNCCL, tree, `    <nic><net name="eth0" speed="100000"/></nic>`, `    <nic></nic>`, "a nic that is on no pci and has no net is not read", true},
		{ParseNCCL, tree, ` speed="25000"`, ``, "the speed of a NIC is not told: that of its PCIe link counts", true},
		{ParseNCCL, tree, ` link_speed="8 GT/s"`, ``, "the PCIe link of a NIC is not told: it counts as wide enough", true},
		{ParseNCCL, display, `class="0x030200" vendor="0x10de"/>`, `class="0x030000"/>`, "a display of no known vendor counts as a GPU", false},
		{ParseNCCL, display, `vendor="0x10de"/>`, `vendor="0x10de"/><pci busid="2" class="0x030000" vendor="0x1a03"/>`, "a display or an accelerator that is none of NVIDIA's or AMD's GPUs is not read", false},
	} {
		want, err := c.parse("", c.good)
		require.NoError(t, err)
		text := strings.Replace(c.good, c.from, c.to, 1)
		require.True(t, text != c.good || c.from == c.to, c.from)
		got, err := c.parse("", text)
		require.NoError(t, err, c.to)
		require.True(t, told(got, c.says), "%s: %v", c.to, got.Skipped)
		require.True(t, c.from == c.to || !told(want, c.says), c.says)
		require.Equal(t, c.differsInResult, !equalSpecs(want, got), c.says)
	}
}
