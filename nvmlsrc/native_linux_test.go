//go:build linux && cgo

package nvmlsrc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// Where TestPretendLibrary's child finds the library to open.
const libraryVariable = "BERTH_TEST_NVML_LIBRARY"

// TestChild is not a test by itself: it is what the test below runs in a process
// of its own, because a process keeps the first driver library it loads, and
// because a missing function would end it.
func TestChild(t *testing.T) {
	library := os.Getenv(libraryVariable)
	if library == "" {
		t.Skip("runs only as a child of the tests with a pretend library")
	}
	source, err := Config{Library: library, Sys: fstest.MapFS{}}.Open()
	if err != nil {
		fmt.Printf("child: open %v\n", err)
		return
	}
	v, err := source.Inventory()
	require.NoError(t, err)
	fmt.Printf("child: driver %q\n", v.Driver)
	for _, g := range v.GPUs {
		fmt.Printf("child: %+v\n", g)
	}
	for _, gap := range v.Gaps {
		if !errors.Is(gap, ErrSysfs) { // the child has no sysfs
			fmt.Printf("child: gap %v\n", gap)
		}
	}
	require.NoError(t, source.Close())
	source, err = Config{Library: library}.Open()
	require.NoError(t, err, "opening once more")
	require.NoError(t, source.Close())
	fmt.Println("child: done")
}

// inChild opens the pretend library, compiled with the flags, in a process of its
// own and returns what that says.
func inChild(t *testing.T, flags ...string) []string {
	t.Helper()
	library := filepath.Join(t.TempDir(), "libnvidia-ml.so.1")
	arguments := append([]string{"-shared", "-fPIC", "-w", "-o", library, filepath.Join("testdata", "nvml.c")}, flags...)
	output, err := exec.Command("cc", arguments...).CombinedOutput()
	require.NoError(t, err, "cc: %s", output)
	child := exec.Command(os.Args[0], "-test.run=^TestChild$", "-test.v")
	child.Env = append(os.Environ(), libraryVariable+"="+library)
	output, err = child.CombinedOutput()
	require.NoError(t, err, "the process ended with\n%s", output)
	var lines []string
	for line := range strings.Lines(string(output)) {
		if said, ok := strings.CutPrefix(strings.TrimSpace(line), "child: "); ok {
			lines = append(lines, said)
		}
	}
	return lines
}

func needCompiler(t *testing.T) {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("no C compiler to build the pretend library with")
	}
}

func TestPretendLibrary(t *testing.T) {
	needCompiler(t)
	require.Equal(t, []string{
		`driver "999.1"`,
		`{Index:0 Failure:<nil> Product:Pretend GPU UUID:GPU-0 PCI:0000:41:00.0 MemoryMiB:5120 ComputeMajor:8 ComputeMinor:6 DeviceMinor:7 NUMANode:-1 ` +
			`MIG:{Capable:true Enabled:false Pending:true} NVLink:{Peers:[1] Fabric: Direct:1 Switched:0} Processes:[20 30]}`,
		`{Index:1 Failure:<nil> Product:Pretend GPU UUID:GPU-1 PCI:0000:42:00.0 MemoryMiB:5120 ComputeMajor:8 ComputeMinor:6 DeviceMinor:6 NUMANode:-1 ` +
			`MIG:{Capable:true Enabled:false Pending:true} NVLink:{Peers:[0] Fabric: Direct:1 Switched:0} Processes:[20 30]}`,
		"done",
	}, inChild(t))
}

// The versioned question about the fabric comes first, the old one stands in for
// it, and a driver with neither has no GPU that registers.
func TestPretendFabric(t *testing.T) {
	needCompiler(t)
	const versioned, plain = "-DNO_nvmlDeviceGetGpuFabricInfoV", "-DNO_nvmlDeviceGetGpuFabricInfo"
	require.Contains(t, inChild(t, "-DSWITCHED")[1], "Peers:[1] Fabric:00000000-0000-0000-0000-000000000002.2 Direct:0 Switched:1")
	require.Contains(t, inChild(t, "-DSWITCHED", versioned)[1], "Peers:[1] Fabric:00000000-0000-0000-0000-000000000001.1 Direct:0 Switched:1")
	require.Contains(t, inChild(t, "-DSWITCHED", versioned, plain)[1], "Peers:[1] Fabric: Direct:0 Switched:1")
}

// A driver that lacks any one function ends no process: it costs that fact, or
// the session where there is none without it.
func TestMissingSymbols(t *testing.T) {
	needCompiler(t)
	for _, symbol := range []string{symInit, symShutdown, symCount, symDevice} {
		require.Equal(t, []string{"open nvmlsrc: driver: missing in this driver: " + symbol}, inChild(t, "-DNO_"+symbol))
	}
	for symbol, fact := range map[string]Fact{
		symProduct: FactProduct, symUUID: FactUUID, symPCI: FactPCI, symMemory: FactMemory,
		symComputeCapability: FactComputeCapability, symMinor: FactMinor, symMIG: FactMIG,
		symLinkState: FactNVLink, symLinkEnd: FactNVLink, symLinkPCI: FactNVLink, symProcesses: FactProcesses,
	} {
		lines := inChild(t, "-DNO_"+symbol)
		require.Equal(t, []string{
			fmt.Sprintf("gap nvmlsrc: gpus[0]: %s: missing in this driver: %s", fact, symbol),
			fmt.Sprintf("gap nvmlsrc: gpus[1]: %s: missing in this driver: %s", fact, symbol),
			"done",
		}, lines[3:], symbol)
	}
	require.Contains(t, inChild(t, "-DNO_"+symVersion), "gap nvmlsrc: driver: missing in this driver: "+symVersion)
}

// A library whose session does not start, and a file that is none.
func TestSessionThatFails(t *testing.T) {
	needCompiler(t)
	for code, kind := range map[string]error{
		"9": ErrNoDriver, "4": ErrNoPermission, "18": ErrDriver, "999": ErrDriver, "12345": ErrDriver,
	} {
		lines := inChild(t, "-DINIT="+code)
		require.Len(t, lines, 1)
		require.Contains(t, lines[0], "open nvmlsrc: driver: "+kind.Error())
		require.Contains(t, lines[0], "(NVML code "+code+")")
	}
	_, err := Config{Library: filepath.Join(t.TempDir(), "none.so")}.Open()
	require.ErrorIs(t, err, ErrNoDriver)
	require.NotErrorIs(t, err, ErrUnsupportedPlatform)
	file := filepath.Join(t.TempDir(), "text.so")
	require.NoError(t, os.WriteFile(file, []byte("not a library"), 0o600))
	_, err = Config{Library: file}.Open()
	require.ErrorIs(t, err, ErrNoDriver)
}
