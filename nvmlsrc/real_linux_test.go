//go:build linux && cgo

package nvmlsrc

import (
	"context"
	"encoding/csv"
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/mig"
)

// smiFields are what TestRealDriver asks nvidia-smi for.
var smiFields = []string{
	"index", "name", "uuid", "pci.bus_id", "memory.total", "compute_cap", "mig.mode.current", "driver_version",
	"ecc.errors.uncorrected.aggregate.total",
}

// A real machine says the same through this package as through nvidia-smi. The test only
// reads, and changes nothing.
func TestRealDriver(t *testing.T) {
	if _, err := exec.LookPath("nvidia-smi"); err != nil {
		t.Skip("needs a machine with an NVIDIA driver")
	}
	text, err := exec.Command("nvidia-smi", "--query-gpu="+strings.Join(smiFields, ","), "--format=csv,noheader,nounits").Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() != 2 { // that would be a field it does not know
		t.Skipf("nvidia-smi finds no driver: %s", text)
	}
	require.NoError(t, err, "nvidia-smi: %s", text)
	lines := csv.NewReader(strings.NewReader(string(text)))
	lines.TrimLeadingSpace = true
	rows, err := lines.ReadAll()
	require.NoError(t, err)

	source, err := Open()
	require.NoError(t, err)
	defer source.Close()
	v, err := source.Inventory()
	require.NoError(t, err)
	require.Len(t, v.GPUs, len(rows))
	monitor, err := source.Monitor(MonitorConfig{GPUs: v.GPUs, Interval: MinInterval})
	require.NoError(t, err)
	defer monitor.Close()
	_, err = monitor.Next(context.Background())
	require.NoError(t, err)
	time.Sleep(2 * MinInterval) // how busy a GPU is shows between two readings
	reading, err := monitor.Next(context.Background())
	require.NoError(t, err)
	for _, gap := range append(v.Gaps, reading.Gaps...) {
		t.Log(gap)
	}
	for _, f := range reading.Findings {
		t.Log(f)
	}
	for i, row := range rows {
		g, h := &v.GPUs[i], &reading.GPUs[i]
		t.Logf("%+v", *g)
		t.Logf("%+v", *h)
		said := func(field string) string {
			for at, name := range smiFields {
				if name == field && !strings.HasPrefix(row[at], "[") { // [N/A], [Not Supported]
					return row[at]
				}
			}
			return ""
		}
		same := func(field, ours string) {
			if text := said(field); text != "" {
				require.Equal(t, text, ours, field)
			}
		}
		require.Nil(t, g.Failure)
		require.Nil(t, h.Failure)
		same("index", strconv.Itoa(g.Index))
		same("name", g.Product)
		same("uuid", g.UUID)
		same("pci.bus_id", "0000"+strings.ToUpper(g.PCI))
		same("memory.total", strconv.FormatInt(g.MemoryMiB, 10))
		same("compute_cap", strconv.Itoa(g.ComputeMajor)+"."+strconv.Itoa(g.ComputeMinor))
		same("mig.mode.current", map[bool]string{true: "Enabled", false: "Disabled"}[g.MIG.Enabled])
		same("driver_version", v.Driver)
		same("ecc.errors.uncorrected.aggregate.total", strconv.FormatUint(h.ECC.Aggregate, 10))
		if g.MIG.Capable {
			requireKnownDivision(t, g)
		}
	}
}

// requireKnownDivision requires that what the driver reports of a GPU's profiles is what
// package mig has built in for the product, if it has that.
func requireKnownDivision(t *testing.T, g *GPU) {
	built, known := mig.LookupDevice(g.Product)
	if !known || len(g.MIG.Report.Profiles) == 0 {
		t.Logf("GPU %d: built in: %t; reported: %d profiles", g.Index, known, len(g.MIG.Report.Profiles))
		return
	}
	reported, err := mig.ProductFromReport(g.MIG.Report)
	require.NoError(t, err)
	t.Logf("reported %+v", reported)
	t.Logf("built in %+v", built)
	for _, p := range reported.Profiles {
		var ours mig.Profile
		for _, q := range built.Profiles {
			if q.Name == p.Name {
				ours = q
			}
		}
		require.Equal(t, p, ours, p.Name)
	}
}
