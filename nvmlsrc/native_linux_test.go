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

	"github.com/berth-sched/berth"
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
	for _, table := range v.Tables() {
		for _, p := range table.Profiles {
			fmt.Printf("child: table %s %s %+v\n", strings.TrimRight(table.Name, "0123456789abcdef"), p.Name, p)
		}
	}
	if node, err := v.Node("n"); err == nil && node.GPUs[0].Mode == berth.ModeMIG {
		fmt.Printf("child: node %v %v\n", node.GPUs[0].Failed, node.GPUs[1].Instances)
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
		`{Index:0 Failure:<nil> Product:Pretend GPU UUID:GPU-0 PCI:0000:41:00.0 PCIDeviceID:0 MemoryMiB:5120 ComputeMajor:8 ComputeMinor:6 DeviceMinor:7 NUMANode:-1 CPUs: ` +
			`MIG:{Capable:true Enabled:false Pending:true Report:{Device: PCIDeviceID:0 GPUSMs:0 Profiles:[]} Instances:[]} NVLink:{Peers:[1] Fabric: Direct:1 Switched:0} Processes:[20 30]}`,
		`{Index:1 Failure:<nil> Product:Pretend GPU UUID:GPU-1 PCI:0000:42:00.0 PCIDeviceID:0 MemoryMiB:5120 ComputeMajor:8 ComputeMinor:6 DeviceMinor:6 NUMANode:-1 CPUs: ` +
			`MIG:{Capable:true Enabled:false Pending:true Report:{Device: PCIDeviceID:0 GPUSMs:0 Profiles:[]} Instances:[]} NVLink:{Peers:[0] Fabric: Direct:1 Switched:0} Processes:[20 30]}`,
		"done",
	}, inChild(t))
}

const (
	profileOf1g = "{NVML:0 Name:%s ID:14 SliceCount:1 InstanceCount:4 MultiprocessorCount:14 CopyEngineCount:1 DecoderCount:1 " +
		"EncoderCount:0 JPEGCount:0 OFACount:0 MemoryMiB:5888 Placements:[{Start:0 Size:1} {Start:1 Size:1} {Start:2 Size:1} {Start:3 Size:1}]}"
	profileOf4g = "{NVML:3 Name:%s ID:0 SliceCount:4 InstanceCount:1 MultiprocessorCount:56 CopyEngineCount:4 DecoderCount:4 " +
		"EncoderCount:0 JPEGCount:1 OFACount:1 MemoryMiB:24064 Placements:[{Start:0 Size:4}]}"
	instancesOf0 = "Instances:[{ID:1 Profile:5 Start:2 Size:2 Placement:2g.12gb@2:2 UUIDs:[MIG-12] Processes:[]} " +
		"{ID:7 Profile:14 Start:1 Size:1 Placement:1g.6gb@1:1 UUIDs:[MIG-10] Processes:[30]} " +
		"{ID:8 Profile:14 Start:0 Size:1 Placement:1g.6gb@0:1 UUIDs:[] Processes:[]}]"
	nodeOfInstances = "node false [1g.6gb@0:1 1g.6gb@1:1 2g.12gb@2:2]"
)

// A GPU in MIG mode tells how it divides and which instances there are, with the
// names of profiles where the driver has the versioned question and those of package
// mig where it has not.
func TestPretendMIG(t *testing.T) {
	needCompiler(t)
	lines := inChild(t, "-DMIG=1")
	require.Contains(t, lines[1], "Failure:<nil>")
	require.Contains(t, lines[1], fmt.Sprintf(profileOf1g, "MIG 1g.6gb"))
	require.Contains(t, lines[1], fmt.Sprintf(profileOf4g, "MIG 4g.24gb"))
	require.Contains(t, lines[1], instancesOf0)
	require.Contains(t, lines[2], "UUIDs:[MIG-22]")
	require.Len(t, lines, 8, "no gaps")
	require.Contains(t, lines[3], "table Pretend GPU@999.1- 1g.6gb {Name:1g.6gb ID:14 NVML:0 ComputeSlices:1 MemorySlices:1 MemoryMiB:5888 SMs:14")
	require.Equal(t, nodeOfInstances, lines[6])

	const versioned = "-DNO_" + symProfileVersioned
	lines = inChild(t, "-DMIG=1", "-DA30", versioned)
	require.Contains(t, lines[1], fmt.Sprintf(profileOf1g, ""))
	require.Contains(t, lines[1], instancesOf0)
	require.Contains(t, lines[3], "table A30@999.1- 1g.6gb {Name:1g.6gb ID:14")
	require.Equal(t, nodeOfInstances, lines[6])

	lines = inChild(t, "-DMIG=1", versioned)
	require.Contains(t, lines[1], "Failure:nvmlsrc: gpus[0]: migInstances: unknown GPU: no table says how the GPU divides", "nobody names its profiles")
}

// Outside MIG mode only the plain question has an answer.
func TestPretendProfilesOutsideMIGMode(t *testing.T) {
	needCompiler(t)
	lines := inChild(t, "-DMIG=0", "-DA30")
	require.Contains(t, lines[1], fmt.Sprintf(profileOf1g, ""))
	require.Contains(t, lines[1], "Instances:[]")
	require.Contains(t, lines[3], "table A30@999.1- 1g.6gb")
	require.Len(t, lines, 7, "no gaps")
}

// An ordinary user learns neither placements nor instances: the GPUs are in MIG mode
// and take no work, so there is no node.
func TestPretendUserInMIGMode(t *testing.T) {
	needCompiler(t)
	lines := inChild(t, "-DMIG=1", "-DA30", "-DUSER=4")
	require.Contains(t, lines[1], "Failure:nvmlsrc: gpus[0]: migInstances: no permission")
	require.Equal(t, []string{
		"gap nvmlsrc: gpus[0]: migPlacements: no permission: the user may not ask this (NVML code 4)",
		"gap nvmlsrc: gpus[0]: migInstances: no permission: the user may not ask this (NVML code 4)",
		"gap nvmlsrc: gpus[1]: migPlacements: no permission: the user may not ask this (NVML code 4)",
		"gap nvmlsrc: gpus[1]: migInstances: no permission: the user may not ask this (NVML code 4)",
		"done",
	}, lines[3:])
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
	// In MIG mode the profiles and the instances are what the GPU cannot do without.
	for symbol, fact := range map[string]Fact{
		symPlacements: FactMIGPlacements, symInstances: FactMIGInstances, symInstance: FactMIGInstances,
		symMIGDeviceCount: FactMIGDevices, symMIGDevice: FactMIGDevices, symInstanceID: FactMIGDevices,
	} {
		lines := inChild(t, "-DMIG=1", "-DA30", "-DNO_"+symbol)
		require.Contains(t, lines, fmt.Sprintf("gap nvmlsrc: gpus[1]: %s: missing in this driver: %s", fact, symbol))
		require.Equal(t, fact == FactMIGInstances, strings.Contains(lines[1], "Failure:nvmlsrc"), symbol)
		require.Equal(t, "done", lines[len(lines)-1])
	}
	lines := inChild(t, "-DMIG=1", "-DNO_"+symProfile, "-DNO_"+symProfileVersioned)
	require.Contains(t, lines, "gap nvmlsrc: gpus[0]: migProfiles: missing in this driver: "+symProfile)
	require.Contains(t, lines[1], "Failure:nvmlsrc: gpus[0]: migInstances: not supported by this GPU: the profiles to ask for are not known")
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
