package mig

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// shared returns a file of the reference data, or skips the test.
func shared(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("../../shared/data/" + name)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the reference data ../shared/data/" + name + " is not beside the repository")
	}
	require.NoError(t, err)
	return data
}

func TestProducts(t *testing.T) {
	var names []string
	devices := map[uint32]string{}
	for _, p := range Products() {
		names = append(names, p.Name)
		found, ok := Lookup(p.Name)
		require.True(t, ok)
		require.Equal(t, p, found)
		for _, id := range p.PCIDeviceIDs {
			require.Empty(t, devices[id], "%#x is in two tables", id)
			devices[id] = p.Name
			found, ok := LookupPCI(id)
			require.True(t, ok)
			require.Equal(t, p.Name, found.Name)
		}
		require.NotEmpty(t, p.Sources)
		require.NotZero(t, p.Confidence())
	}
	require.Equal(t, []string{
		"A30", "A100-40GB", "A100-80GB", "PG506-96GB", "H100-80GB", "H100-94GB", "H100-96GB", "H20-96GB", "GH200-144GB", "H200-141GB",
		"B200-180GB", "GB200-186GB", "B300-269GB", "GB300-278GB", "RTX PRO 6000", "MI300X",
	}, names)
	_, ok := Lookup("RTX PRO 5000")
	require.False(t, ok, "its placements are not known")
	_, ok = LookupPCI(0)
	require.False(t, ok)
}

// Boards with the memory of the GH200 are of other dies, or have other SMs.
func TestBoardsOf96GB(t *testing.T) {
	for id, want := range map[uint32]struct {
		name, architecture, capability string
		sms                            int
	}{
		0x234210DE: {"H100-96GB", "Hopper", "9.0", 132},
		0x232910DE: {"H20-96GB", "Hopper", "9.0", 78},
		0x20B610DE: {"PG506-96GB", "Ampere", "8.0", 124},
	} {
		p, ok := LookupPCI(id)
		require.True(t, ok)
		require.Equal(t, []any{want.name, want.architecture, want.capability, want.sms}, []any{p.Name, p.Architecture, p.ComputeCapability, p.GPUSMs})
	}
	p, _ := LookupDevice("NVIDIA H20")
	require.Equal(t, "H20-96GB", p.Name)
}

// A change of a table that was handed out changes no other.
func TestTablesAreNotShared(t *testing.T) {
	first := Products()
	for i := range first {
		for j := range first[i].Profiles {
			first[i].Profiles[j].Starts[0] = 9
			first[i].Profiles[j].ID = -1
		}
		first[i].PCIDeviceIDs[0] = 0
	}
	for _, p := range Products() {
		for _, profile := range p.Profiles {
			require.Zero(t, profile.Starts[0])
			require.GreaterOrEqual(t, profile.ID, 0)
		}
		require.NotZero(t, p.PCIDeviceIDs[0])
	}
}

// Facts of a table that must fit together, and the count that a driver reports,
// which the rule must give by itself.
func TestTablesAreConsistent(t *testing.T) {
	for _, p := range Products() {
		t.Run(p.Name, func(t *testing.T) {
			l, err := NewLattice(p)
			require.NoError(t, err)
			ids, nvml := map[int]bool{}, map[int]bool{}
			whole := p.Profiles[len(p.Profiles)-1]
			require.Equal(t, p.MemorySlices, whole.MemorySlices)
			require.Equal(t, p.ComputeSlices, whole.ComputeSlices)
			require.Equal(t, p.Engines, whole.Engines)
			require.True(t, p.Uniform || p.MemoryGB == int(whole.Name.MemoryGB))
			require.True(t, p.GPUSMs == 0 || p.GPUSMs >= p.SMs)
			for i, profile := range p.Profiles {
				require.False(t, ids[profile.ID], "%s: its ID is taken", profile.Name)
				require.False(t, nvml[profile.NVMLIndex], "%s: its NVML number is taken", profile.Name)
				ids[profile.ID], nvml[profile.NVMLIndex] = true, true
				require.Equal(t, profile.MaxCount, l.Free(0, i), "%s", profile.Name)
				e := profile.Evidence
				require.NotZero(t, e.Name)
				require.NotZero(t, e.ID)
				require.NotZero(t, e.Starts)
				require.NotZero(t, e.Engines)
				require.Equal(t, profile.MemoryMiB == 0, e.Memory == ConfidenceUnknown, "%s", profile.Name)
				require.Equal(t, profile.SMs == 0, e.SMs == ConfidenceUnknown, "%s", profile.Name)
				require.True(t, p.Uniform || profile.MemoryMiB%64 == 0, "%s: GPUs print sixteenths of a GiB", profile.Name)
				if p.Uniform {
					continue
				}
				require.EqualValues(t, profile.Name.ComputeSlices, profile.ComputeSlices)
				// As sold in GB, as printed in GiB: never more, and not much less.
				gib := float64(profile.MemoryMiB) / 1024
				require.LessOrEqual(t, gib, float64(profile.Name.MemoryGB)+0.5)
				if profile.MemoryMiB > 0 {
					require.Greater(t, gib, 0.85*float64(profile.Name.MemoryGB), "%s", profile.Name)
				}
			}
		})
	}
}

// No layout of a known product fails by its SMs alone, as Product.Confidence says.
func TestSMsDecideNothing(t *testing.T) {
	for _, p := range Products() {
		with, err := NewLattice(p)
		require.NoError(t, err)
		p.SMs = 0
		without, err := NewLattice(p)
		require.NoError(t, err)
		require.Equal(t, with.States(), without.States(), p.Name)
	}
}

func TestConfidence(t *testing.T) {
	for name, confidence := range map[string]Confidence{
		"A30": ConfidenceDocumented, "A100-40GB": ConfidenceMeasured, "A100-80GB": ConfidenceDerived, "H100-80GB": ConfidenceMeasured, "H200-141GB": ConfidenceDerived,
		"B200-180GB": ConfidenceMeasured, "GB200-186GB": ConfidenceAnalogous, "B300-269GB": ConfidenceAnalogous, "RTX PRO 6000": ConfidenceMeasured,
	} {
		p, _ := Lookup(name)
		require.Equal(t, confidence, p.Confidence(), name)
	}
	require.Equal(t, ConfidenceUnknown, Product{}.Confidence())
	for c := range Confidence(confidences) {
		text, err := c.MarshalText()
		require.NoError(t, err)
		var again Confidence
		require.NoError(t, again.UnmarshalText(text))
		require.Equal(t, c, again)
	}
	_, err := Confidence(confidences).MarshalText()
	require.ErrorIs(t, err, ErrInvalid)
	require.ErrorIs(t, new(Confidence).UnmarshalText([]byte("sure")), ErrInvalid)
}

func TestProductJSON(t *testing.T) {
	for _, p := range Products() {
		text, err := json.Marshal(p)
		require.NoError(t, err)
		var again Product
		require.NoError(t, json.Unmarshal(text, &again))
		require.Equal(t, p, again)
	}
	p, _ := Lookup("A30")
	text, err := json.Marshal(p.Profiles[1])
	require.NoError(t, err)
	require.JSONEq(t, `{
		"name": "1g.6gb+me", "id": 21, "nvml": 7, "computeSlices": 1, "memorySlices": 1, "memoryMiB": 5952, "sms": 14,
		"engines": {"copy": 1, "nvdec": 1, "jpeg": 1, "ofa": 1}, "starts": [0, 1, 2, 3], "maxCount": 1,
		"evidence": {"name": "measured", "id": "measured", "starts": "measured", "memory": "measured",
			"sms": "measured", "engines": "measured"}
	}`, string(text))
}

// only keeps the profiles that a line of mig_counts.txt is about. The bounds of
// the whole GPU stay.
func only(p Product, label string) Product {
	var kept []Profile
	one := false
	for _, profile := range p.Profiles {
		plain := profile.Name.Attribute == AttributePlain
		// The second plain 1g has twice the memory of the first.
		double := plain && profile.ComputeSlices == 1 && one
		one = one || plain && profile.ComputeSlices == 1
		switch {
		case strings.HasPrefix(label, "all"):
		case strings.HasPrefix(label, "6"):
			if !plain {
				continue
			}
		default: // "classic 5", "base"
			if !plain || double {
				continue
			}
		}
		kept = append(kept, profile)
	}
	p.Profiles = kept
	return p
}

// The figures of a count made apart from this module over the published tables:
// layouts (the empty one among them), maximal layouts, multisets of profiles.
func TestCounts(t *testing.T) {
	for _, line := range []struct {
		product, label string
		counts         counts
	}{
		{"A30", "base", counts{7, 26, 5, 10, 4}},
		{"A30", "all", counts{13, 76, 17, 20, 8}},
		{"A100-40GB", "classic 5", counts{14, 298, 19, 38, 14}},
		{"A100-40GB", "6", counts{18, 723, 78, 78, 38}},
		{"A100-40GB", "all", counts{25, 2319, 239, 128, 64}},
		{"H100-80GB", "classic 5", counts{14, 298, 19, 38, 14}},
		{"H100-80GB", "6", counts{18, 723, 78, 78, 38}},
		{"H100-80GB", "all", counts{25, 2319, 239, 128, 64}},
		{"B200-180GB", "all", counts{25, 2319, 239, 128, 64}},
		{"RTX PRO 6000", "base", counts{7, 26, 5, 10, 4}},
		{"RTX PRO 6000", "all", counts{30, 717, 302, 115, 64}},
	} {
		p, _ := Lookup(line.product)
		l, err := NewLattice(only(p, line.label))
		require.NoError(t, err)
		got, _ := latticeCounts(l)
		require.Equal(t, line.counts, got, "%s, %s", line.product, line.label)
	}
}

// The whole file, also what it counts under weaker rules, which the twin knows.
func TestCountsFile(t *testing.T) {
	data := shared(t, "mig/mig_counts.txt")
	heading := regexp.MustCompile(
		`^(.{12}) (.*?) +placements= *(\d+) +validSets\(incl empty\)= *(\d+) +maximalSets= *(\d+)` +
			` +distinctMultisets= *(\d+) +maximalMultisets= *(\d+) binding=`)
	checked := 0
	var product, label string
	var want counts
	var listed []string
	check := func() {
		if product == "" {
			return
		}
		p, ok := Lookup(product)
		require.True(t, ok, product)
		p = only(p, label)
		w := newTwin(p)
		w.counters = strings.Contains(label, "counters")
		w.maxCount = strings.Contains(label, "maxCount")
		got, multisets := w.counts()
		require.Equal(t, want, got, "%s, %s", product, label)
		if len(listed) > 0 {
			require.Equal(t, listed, multisets, "%s, %s", product, label)
		}
		if w.counters {
			l, err := NewLattice(p)
			require.NoError(t, err)
			got, multisets := latticeCounts(l)
			require.Equal(t, want, got, "%s, %s", product, label)
			if len(listed) > 0 {
				require.Equal(t, listed, multisets, "%s, %s", product, label)
			}
		}
		checked++
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		found := heading.FindStringSubmatch(lines.Text())
		if found == nil {
			require.True(t, strings.HasPrefix(lines.Text(), "      "), lines.Text())
			listed = append(listed, strings.TrimSpace(lines.Text()))
			continue
		}
		check()
		product, label, listed = strings.TrimSpace(found[1]), found[2], nil
		for i, field := range []*int{
			&want.placements, &want.layouts, &want.maximal, &want.multisets, &want.maximalMultisets,
		} {
			*field, _ = strconv.Atoi(found[3+i])
		}
	}
	require.NoError(t, lines.Err())
	check()
	require.Equal(t, 24, checked)
}

// The tables hold what the reference data says, but for what it does not know.
func TestTablesAgreeWithTheReference(t *testing.T) {
	type profile struct {
		Name          string
		ID            int
		ComputeSlices int
		MemorySlices  int
		MemoryGiB     *float64
		SM            *int
		Engines       Engines
		Placements    []int
		MaxCount      int
		NVML          int `json:"nvmlProfileConst"`
		Unsure        string
	}
	var reference struct {
		Products []struct {
			Product           string
			Architecture      string
			ComputeCapability string
			MemoryGB          int
			ComputeSlices     int
			MemorySlices      *int
			PCIDeviceIDs      []string
			Profiles          []profile
		}
	}
	require.NoError(t, json.Unmarshal(shared(t, "mig_profiles.json"), &reference))
	// The reference has boards of 96 GB in one table, whatever their die and their SMs.
	tables := slices.DeleteFunc(Products(), func(p Product) bool { return p.Name == "PG506-96GB" || p.Name == "H20-96GB" })
	for _, want := range reference.Products {
		if want.MemorySlices == nil {
			continue // placements not known
		}
		require.NotEmpty(t, tables, want.Product)
		p := tables[0]
		tables = tables[1:]
		require.True(t, strings.HasPrefix(want.Product, p.Name), "%s, %s", want.Product, p.Name)
		require.Equal(t, want.Architecture, p.Architecture)
		require.Equal(t, want.ComputeCapability, p.ComputeCapability)
		require.Equal(t, want.MemoryGB, p.MemoryGB)
		require.Equal(t, want.ComputeSlices, p.ComputeSlices)
		require.Equal(t, *want.MemorySlices, p.MemorySlices)
		var devices []uint32
		for _, text := range want.PCIDeviceIDs {
			device, err := strconv.ParseUint(text, 0, 32)
			require.NoError(t, err)
			devices = append(devices, uint32(device))
		}
		if p.Name == "H100-96GB" {
			devices = slices.DeleteFunc(devices, func(id uint32) bool { return !slices.Contains(p.PCIDeviceIDs, id) })
		}
		require.Equal(t, devices, p.PCIDeviceIDs)
		require.Len(t, p.Profiles, len(want.Profiles))
		for i, w := range want.Profiles {
			got := p.Profiles[i]
			at := p.Name + " " + w.Name
			require.Equal(t, w.Name, got.Name.String(), at)
			require.Equal(t, w.ID, got.ID, at)
			require.Equal(t, w.NVML, got.NVMLIndex, at)
			require.Equal(t, w.ComputeSlices, got.ComputeSlices, at)
			require.Equal(t, w.MemorySlices, got.MemorySlices, at)
			require.Equal(t, w.Engines, got.Engines, at)
			require.Equal(t, w.Placements, got.Starts, at)
			require.Equal(t, w.MaxCount, got.MaxCount, at)
			require.Equal(t, w.SM == nil, got.SMs == 0, at)
			if w.SM != nil {
				require.Equal(t, *w.SM, got.SMs, at)
			}
			require.Equal(t, w.MemoryGiB == nil, got.MemoryMiB == 0, at)
			if w.MemoryGiB != nil { // printed with two decimals
				require.LessOrEqual(t, math.Abs(*w.MemoryGiB*1024-float64(got.MemoryMiB)), 0.0051*1024, at)
			}
			if w.Unsure != "" {
				e := got.Evidence
				require.Less(t, min(e.ID, e.Starts, e.Memory, e.SMs, e.Engines), ConfidenceMeasured, at)
			}
		}
	}
	for _, p := range tables {
		require.True(t, p.Uniform, "%s divides by MIG and is not in the reference", p.Name)
	}
}
