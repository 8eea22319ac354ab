package mig

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/internal/drawn"
)

// reportOf returns what the driver of a GPU would report if the table were right:
// in the order of NVML's constants, as one question a constant gives it.
func reportOf(p Product) Report {
	r := Report{Device: p.DeviceNames[0], PCIDeviceID: p.PCIDeviceIDs[0]}
	for _, profile := range p.Profiles {
		reported := ReportedProfile{
			NVMLIndex: profile.NVMLIndex, Name: "MIG " + profile.Name.String(), ID: profile.ID,
			SliceCount: profile.ComputeSlices, InstanceCount: profile.MaxCount,
			MultiprocessorCount: profile.SMs, MemoryMiB: profile.MemoryMiB,
			CopyEngineCount: profile.Engines.Copy, DecoderCount: profile.Engines.NVDEC,
			EncoderCount: profile.Engines.NVENC, JPEGCount: profile.Engines.JPEG, OFACount: profile.Engines.OFA,
		}
		for _, start := range slices.Backward(profile.Starts) {
			reported.Placements = append(reported.Placements, ReportedPlacement{start, profile.MemorySlices})
		}
		r.Profiles = append(r.Profiles, reported)
	}
	slices.SortFunc(r.Profiles, func(a, b ReportedProfile) int { return a.NVMLIndex - b.NVMLIndex })
	return r
}

func migProducts() []Product {
	return slices.DeleteFunc(Products(), func(p Product) bool { return p.Uniform })
}

// A GPU that is as its table says gives the table back, whether the table is found
// by PCI device ID, by name, or not at all.
func TestReportGivesTheTableBack(t *testing.T) {
	for _, table := range migProducts() {
		for _, how := range []string{"by ID", "by name", "unknown", "without names"} {
			r := reportOf(table)
			switch how {
			case "by ID":
				r.Device = "some engineering sample"
			case "by name":
				r.PCIDeviceID = 0
			case "unknown":
				r.PCIDeviceID, r.Device, r.GPUSMs = 0, table.Name, table.GPUSMs
			case "without names":
				for i := range r.Profiles {
					r.Profiles[i].Name = ""
				}
			}
			p, err := ProductFromReport(r)
			require.NoError(t, err)
			for i, want := range table.Profiles {
				got := p.Profiles[i]
				require.Equal(t, ConfidenceMeasured, got.Evidence.Starts)
				require.Equal(t, ConfidenceMeasured, got.Evidence.ID)
				if how != "without names" {
					require.Equal(t, ConfidenceMeasured, got.Evidence.Name)
				}
				got.Evidence = want.Evidence
				require.Equal(t, want, got, "%s %s", table.Name, how)
			}
			require.Equal(t, table.Name, p.Name)
			require.Equal(t, ConfidenceMeasured, p.Confidence())
			require.Equal(t, table.GPUSMs, p.GPUSMs)
			require.Equal(t, table.limits(), p.limits())
			require.Equal(t, table.MemorySlices, p.MemorySlices)
			require.Equal(t, table.MemoryMiB, p.MemoryMiB)
		}
	}
}

// The placements that real GPUs printed, as their drivers would report them under
// the names that the listing gives: the lattice is that of the table.
func TestReportOfPrintedPlacements(t *testing.T) {
	heading := regexp.MustCompile(`^\[(.*)\]$`)
	printed := regexp.MustCompile(`^GPU +0 Profile ID +(\d+) Placements? ?: ?\{([\d,]+)\}:(\d+)$`)
	placements := map[string]map[int][]ReportedPlacement{}
	var devices []string
	for line := range strings.Lines(string(shared(t, "mig/lgipp.txt"))) {
		line = strings.TrimSpace(line)
		if found := heading.FindStringSubmatch(line); found != nil {
			devices = strings.Split(found[1], " | ")
		} else if found := printed.FindStringSubmatch(line); found != nil {
			id, _ := strconv.Atoi(found[1])
			size, _ := strconv.Atoi(found[3])
			for _, device := range devices {
				if placements[device] == nil {
					placements[device] = map[int][]ReportedPlacement{}
				}
				for text := range strings.SplitSeq(found[2], ",") {
					start, _ := strconv.Atoi(text)
					placements[device][id] = append(placements[device][id], ReportedPlacement{start, size})
				}
			}
		}
	}
	require.Len(t, placements, 5)
	for device, byID := range placements {
		table, ok := LookupDevice(device)
		require.True(t, ok, device)
		r := reportOf(table)
		r.Device, r.PCIDeviceID = device, 0
		for i := range r.Profiles {
			r.Profiles[i].Placements = byID[r.Profiles[i].ID]
			require.NotEmpty(t, r.Profiles[i].Placements)
		}
		p, err := ProductFromReport(r)
		require.NoError(t, err)
		got, err := NewLattice(p)
		require.NoError(t, err)
		want, err := NewLattice(table)
		require.NoError(t, err)
		require.Equal(t, want.sets, got.sets)
		require.Equal(t, want.placements, got.placements)
	}
}

// What is reported wins over the table.
func TestWhatIsReportedWins(t *testing.T) {
	table, _ := Lookup("H100-80GB")
	r := reportOf(table)
	r.PCIDeviceID = 0x233110DE // the PCIe model, with fewer SMs than the table says
	sms := map[int]int{19: 14, 20: 14, 15: 14, 14: 30, 9: 46, 5: 60, 0: 114}
	for i := range r.Profiles {
		reported := &r.Profiles[i]
		reported.MultiprocessorCount = sms[reported.ID]
		switch reported.ID {
		case 19:
			reported.MemoryMiB = 9728 // differs by driver
			reported.Name = "1g.10gb"
		case 15:
			reported.Name = "MIG 1g.20gb"
			reported.Placements = []ReportedPlacement{{4, 2}, {0, 2}, {4, 2}} // 2 and 6 are gone, 4 is told twice
		case 0:
			reported.JPEGCount = 8
		}
	}
	p, err := ProductFromReport(r)
	require.NoError(t, err)
	require.Equal(t, "H100-80GB", p.Name)
	require.Equal(t, 114, p.SMs)
	require.Zero(t, p.GPUSMs, "the table is of another model")
	require.Equal(t, 8, p.Engines.JPEG)
	require.EqualValues(t, 9728, p.Profiles[0].MemoryMiB)
	require.Equal(t, []int{0, 4}, p.Profiles[2].Starts)
	require.Equal(t, []uint32{0x233110DE}, p.PCIDeviceIDs)
	l, err := NewLattice(p)
	require.NoError(t, err)
	require.Equal(t, 2, l.Free(0, 2))

	r.GPUSMs = 114
	p, err = ProductFromReport(r)
	require.NoError(t, err)
	require.Equal(t, 114, p.GPUSMs)
}

// The table adds what the driver does not tell, and says how sure that is.
func TestTheTableAddsWhatIsNotReported(t *testing.T) {
	table, _ := Lookup("A30")
	r := reportOf(table)
	for i := range r.Profiles {
		reported := &r.Profiles[i]
		reported.Name, reported.Placements = "", nil
		reported.CopyEngineCount, reported.DecoderCount, reported.JPEGCount, reported.OFACount = 0, 0, 0, 0
		reported.MultiprocessorCount, reported.MemoryMiB = 0, 0
	}
	// And not the whole GPU, so that the bounds are the table's.
	r.Profiles = slices.DeleteFunc(r.Profiles, func(p ReportedProfile) bool { return p.SliceCount == 4 })
	p, err := ProductFromReport(r)
	require.NoError(t, err)
	require.Len(t, p.Profiles, 4)
	for i := range p.Profiles {
		want := table.Profiles[i]
		want.Evidence.ID = ConfidenceMeasured
		require.Equal(t, want, p.Profiles[i])
	}
	require.Equal(t, ConfidenceDocumented, p.Confidence())
	require.Equal(t, table.limits(), p.limits())
	require.Equal(t, 4, p.MemorySlices)
	require.Equal(t, 56, p.GPUSMs)
	// Nothing of it is the table's memory.
	p.Profiles[0].Starts[0] = 3
	again, err := ProductFromReport(r)
	require.NoError(t, err)
	require.Zero(t, again.Profiles[0].Starts[0])
}

func TestFromReportRefuses(t *testing.T) {
	for _, test := range []struct {
		field  string
		change func(*Report)
	}{
		{"profiles", func(r *Report) { r.Profiles = nil }},
		{"name", func(r *Report) { r.Device, r.PCIDeviceID = "", 0 }},
		{"profiles[1].id", func(r *Report) { r.Profiles[1].ID = r.Profiles[0].ID }},
		{"profiles[2].nvml", func(r *Report) { r.Profiles[2].NVMLIndex = r.Profiles[0].NVMLIndex }},
		{"profiles[2].name", func(r *Report) { r.Profiles[2].Name = "MIG 4g" }},
		{"profiles[2].name", func(r *Report) { r.Profiles[2].Name, r.Profiles[2].NVMLIndex = "", 99 }},
		{"profiles[2].placements", func(r *Report) { r.Profiles[2].Placements, r.Profiles[2].NVMLIndex = nil, 99 }},
		{"profiles[0].placements", func(r *Report) { r.Profiles[0].Placements[1].Size = 2 }},
		{"profiles[0].memorySlices", func(r *Report) { r.Profiles[0].Placements = []ReportedPlacement{{0, -1}} }},
		{"memorySlices", func(r *Report) { r.Profiles[0].Placements = []ReportedPlacement{{0, math.MaxInt}} }},
		{"profiles[0].starts[3]", func(r *Report) { r.Profiles[0].Placements[1].Start = math.MaxInt }},
		{"profiles[0].computeSlices", func(r *Report) { r.Profiles[0].SliceCount = 0 }},
		{"profiles[0].SMs", func(r *Report) { r.Profiles[0].MultiprocessorCount = -1 }},
		{"profiles[0].memoryMiB", func(r *Report) { r.Profiles[0].MemoryMiB = -1 }},
		{"profiles[2].name", func(r *Report) { r.Profiles[1].Name = r.Profiles[0].Name }}, // of the product: it is sorted
	} {
		table, _ := Lookup("A30")
		r := reportOf(table)
		test.change(&r)
		_, err := ProductFromReport(r)
		var refusal *Error
		require.ErrorAs(t, err, &refusal, test.field)
		require.ErrorIs(t, err, ErrInvalid)
		require.Equal(t, test.field, refusal.Field)
		require.NotEmpty(t, refusal.Reason)
	}
}

// The order in which NVML is asked does not matter.
func TestReportOrderDoesNotMatter(t *testing.T) {
	table, _ := Lookup("RTX PRO 6000")
	want, err := ProductFromReport(reportOf(table))
	require.NoError(t, err)
	drawn.Check(t, func(t *rapid.T) {
		r := reportOf(table)
		r.Profiles = rapid.Permutation(r.Profiles).Draw(t, "profiles")
		p, err := ProductFromReport(r)
		require.NoError(t, err)
		require.Equal(t, want, p)
	})
}

// An AMD product has no NVML to report it, and its table serves no report.
func TestReportIsNotOfAPartitionMode(t *testing.T) {
	table, _ := Lookup("MI300X")
	r := reportOf(table)
	r.Profiles[0].Name = ""
	_, err := ProductFromReport(r)
	require.ErrorIs(t, err, ErrInvalid)
}

// Any JSON that is a report gives a product that has a lattice, or a typed error.
func FuzzFromReport(f *testing.F) {
	for _, p := range migProducts() {
		text, err := json.Marshal(reportOf(p))
		require.NoError(f, err)
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var r Report
		if json.Unmarshal(text, &r) != nil {
			return
		}
		p, err := ProductFromReport(r)
		if err == nil {
			_, err = NewLattice(p)
		}
		if err != nil {
			var refusal *Error
			require.ErrorAs(t, err, &refusal)
			require.NotEmpty(t, refusal.Reason)
		}
	})
}
