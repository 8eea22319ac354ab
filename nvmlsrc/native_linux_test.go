//go:build linux && cgo

package nvmlsrc

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/mig"
)

// Where a child finds the library to open, and what it is to do with it.
const (
	libraryVariable = "BERTH_TEST_NVML_LIBRARY"
	taskVariable    = "BERTH_TEST_NVML_TASK"
)

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
	switch os.Getenv(taskVariable) {
	case "monitor":
		childMonitors(t, source)
		return
	case "divide":
		childDivides(t, source)
		return
	case "path":
		v, err := source.Inventory()
		require.NoError(t, err)
		fmt.Printf("child: %v\n", v.PCIe[0][1])
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
	if node, err := v.Node("n"); err == nil && node.GPUs[0].Mode == berth.GPUModeMIG {
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

// childMonitors tells of two observations: the first, and the first after it in which there is
// activity, or a reason why there is none. On a busy machine a reading may come too soon after the
// one before, which was late, to measure activity between them; it says nothing of it then.
func childMonitors(t *testing.T, source *Source) {
	monitor, err := source.Monitor(MonitorConfig{Node: "n", GPUs: []GPU{{UUID: "GPU-0", Product: "P"}, {UUID: "GPU-1", Product: "P"}}, Interval: 3 * MinInterval, Processes: true})
	require.NoError(t, err)
	tell := func(i int, o Reading) {
		for _, event := range o.Events {
			fmt.Printf("child: %d event %+v\n", i, event)
		}
		for _, gap := range o.Gaps {
			fmt.Printf("child: %d gap %v\n", i, gap)
		}
		fmt.Printf("child: %d %+v\n", i, o.GPUs[0])
	}
	o, err := monitor.Next(t.Context())
	require.NoError(t, err)
	tell(0, o)
	for measured := false; !measured; {
		o, err = monitor.Next(t.Context())
		require.NoError(t, err)
		require.Empty(t, o.Events, "they come with the first reading alone")
		measured = len(o.GPUs[0].Activity) > 0 || slices.ContainsFunc(o.Gaps, func(e *Error) bool { return e.GPU == 0 && e.Query == queryActivity })
	}
	tell(1, o)
	require.NoError(t, source.Close())
	fmt.Println("child: done")
}

// childDivides creates and destroys instances of a GPU.
func childDivides(t *testing.T, source *Source) {
	v, err := source.Inventory()
	require.NoError(t, err)
	say := func(what string, at string, do func(GPU, mig.Placement) error) {
		fmt.Printf("child: %s %s: %v\n", what, at, do(v.GPUs[0], must(mig.ParsePlacement(at))))
	}
	d := source.Partitioner()
	create := func(gpu GPU, at mig.Placement) error {
		_, err := d.create(gpu, at)
		return err
	}
	say("create", "1g.6gb@3:1", create)
	say("create", "1g.6gb@2:1", create)
	say("destroy", "1g.6gb@0:1", d.destroy)
	say("destroy", "2g.12gb@2:2", d.destroy)
	require.NoError(t, source.Close())
	fmt.Println("child: done")
}

// inChild opens the pretend library, compiled with the flags, in a process of its
// own and returns what that says. What is no flag is set in the child's environment.
func inChild(t *testing.T, flags ...string) []string { return childDoing(t, "", flags...) }

// childDoing is inChild for another task than an inventory.
func childDoing(t *testing.T, task string, flags ...string) []string {
	t.Helper()
	return childStarted(t, task, flags...)()
}

// childStarted starts the process of childDoing, and returns its lines once it has ended. Several
// processes wait side by side.
func childStarted(t *testing.T, task string, flags ...string) (lines func() []string) {
	t.Helper()
	var settings []string
	flags = slices.DeleteFunc(slices.Clone(flags), func(flag string) bool {
		if !strings.HasPrefix(flag, "-") {
			settings = append(settings, flag)
		}
		return !strings.HasPrefix(flag, "-")
	})
	library := pretendLibrary(t, flags...)
	child := exec.Command(os.Args[0], "-test.run=^TestChild$", "-test.v")
	if to := flag.Lookup("test.gocoverdir"); to != nil && to.Value.String() != "" {
		child.Args = append(child.Args, "-test.gocoverdir="+to.Value.String()) // what the child covers counts too
	}
	child.Env = append(append(os.Environ(), settings...), libraryVariable+"="+library, taskVariable+"="+task)
	var output bytes.Buffer
	child.Stdout, child.Stderr = &output, &output
	require.NoError(t, child.Start())
	wait := sync.OnceValue(child.Wait)
	t.Cleanup(func() { _ = wait() }) // a test that fails leaves none behind
	return func() (lines []string) {
		t.Helper()
		require.NoError(t, wait(), "the process ended with\n%s", &output)
		for line := range strings.Lines(output.String()) {
			if said, ok := strings.CutPrefix(strings.TrimSpace(line), "child: "); ok {
				lines = append(lines, said)
			}
		}
		return lines
	}
}

// compiled are the pretend libraries of this process, by the flags that they were compiled with.
var compiled = map[string][]byte{}

// pretendLibrary is a file with the pretend library. One without a function is a copy of one
// with it in which the function has another name: to compile each anew takes the most of
// the time of these tests.
func pretendLibrary(t *testing.T, flags ...string) string {
	t.Helper()
	var lacks []string
	flags = slices.DeleteFunc(slices.Clone(flags), func(flag string) bool {
		symbol, isSymbol := strings.CutPrefix(flag, "-DNO_nvml")
		if isSymbol {
			lacks = append(lacks, "\x00nvml"+symbol+"\x00")
		}
		return isSymbol
	})
	library, key := filepath.Join(t.TempDir(), "libnvidia-ml.so.1"), strings.Join(flags, " ")
	if compiled[key] == nil {
		arguments := append([]string{"-shared", "-fPIC", "-w", "-s", "-Wl,-Bsymbolic", "-o", library, filepath.Join("testdata", "nvml.c")}, flags...)
		output, err := exec.Command("cc", arguments...).CombinedOutput()
		require.NoError(t, err, "cc: %s", output)
		compiled[key], err = os.ReadFile(library)
		require.NoError(t, err)
	}
	contents := compiled[key]
	for _, name := range lacks {
		require.Equal(t, 1, bytes.Count(contents, []byte(name)), "the library has one %q", name)
		contents = bytes.Replace(contents, []byte(name), []byte("\x00lack"+name[len("\x00nvml"):]), 1)
	}
	require.NoError(t, os.WriteFile(library, contents, 0o700))
	return library
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
		`{Index:0 Failure:<nil> Product:Pretend GPU UUID:GPU-0 PCI:0000:41:00.0 PCIDeviceID:0 MemoryMiB:5120 ComputeMajor:8 ComputeMinor:6 DeviceMinor:7 NUMANode:unknown CPUs: ` +
			`MIG:{Capable:true Enabled:false Pending:true Report:{Device: PCIDeviceID:0 GPUSMs:0 Profiles:[]} Instances:[]} NVLink:{Peers:[1] Fabric: Direct:1 Switched:0} Processes:[20 30]}`,
		`{Index:1 Failure:<nil> Product:Pretend GPU UUID:GPU-1 PCI:0000:42:00.0 PCIDeviceID:0 MemoryMiB:5120 ComputeMajor:8 ComputeMinor:6 DeviceMinor:6 NUMANode:unknown CPUs: ` +
			`MIG:{Capable:true Enabled:false Pending:true Report:{Device: PCIDeviceID:0 GPUSMs:0 Profiles:[]} Instances:[]} NVLink:{Peers:[0] Fabric: Direct:1 Switched:0} Processes:[20 30]}`,
		"done",
	}, inChild(t))
}

// The driver's levels of common ancestors are nvidia-smi's words.
func TestPretendPaths(t *testing.T) {
	needCompiler(t)
	for level, word := range map[string]string{"0": "PIX", "10": "PIX", "20": "PXB", "30": "PHB", "40": "NODE", "50": "SYS"} {
		require.Equal(t, []string{word}, childDoing(t, "path", "LEVEL="+level), level)
	}
}

// Clients of MPS are listed apart from the others, by drivers that do so.
func TestPretendMPS(t *testing.T) {
	needCompiler(t)
	require.Contains(t, inChild(t, "-DMPS=0")[1], "Processes:[20 25 30]")
	require.Contains(t, inChild(t, "-DNO_"+symMPSProcesses)[1], "Processes:[20 30]")
	require.Contains(t, inChild(t, "-DMPS=4"), "gap nvmlsrc: gpus[0]: processes: no permission: the user may not ask this (NVML code 4)")
}

const (
	profileOf1g = "{NVMLIndex:0 Name:%s ID:14 SliceCount:1 InstanceCount:4 MultiprocessorCount:14 CopyEngineCount:1 DecoderCount:1 " +
		"EncoderCount:0 JPEGCount:0 OFACount:0 MemoryMiB:5888 Placements:[{Start:0 Size:1} {Start:1 Size:1} {Start:2 Size:1} {Start:3 Size:1}]}"
	profileOf4g = "{NVMLIndex:3 Name:%s ID:0 SliceCount:4 InstanceCount:1 MultiprocessorCount:56 CopyEngineCount:4 DecoderCount:4 " +
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
	require.Contains(t, lines[3], "table Pretend GPU@999.1- 1g.6gb {Name:1g.6gb ID:14 NVMLIndex:0 ComputeSlices:1 MemorySlices:1 MemoryMiB:5888 SMs:14")
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

// A driver that lacks any one function ends no process: it costs that query, or
// the session where there is none without it.
func TestMissingSymbols(t *testing.T) {
	needCompiler(t)
	for _, symbol := range []string{symInit, symShutdown, symCount, symDevice} {
		require.Equal(t, []string{"open nvmlsrc: driver: missing in this driver: " + symbol}, inChild(t, "-DNO_"+symbol))
	}
	type question struct {
		query  Query
		symbol string
	}
	gaps := func(task string, questions ...question) []string {
		flags := []string{"-DNO_" + symMemoryReserved} // the first of two ways to ask for the memory
		for _, q := range questions {
			flags = append(flags, "-DNO_"+q.symbol)
		}
		lines := childDoing(t, task, flags...)
		require.Equal(t, "done", lines[len(lines)-1])
		return lines
	}
	independent := []question{
		{queryProduct, symProduct},
		{queryUUID, symUUID},
		{queryPCI, symPCI},
		{queryMemory, symMemory},
		{queryComputeCapability, symComputeCapability},
		{queryMinor, symMinor},
		{queryMIG, symMIG},
		{queryNVLink, symLinkState},
		{queryProcesses, symProcesses},
		{queryAncestors, symAncestor},
	}
	for _, questions := range [][]question{independent, {{queryNVLink, symLinkEnd}}, {{queryNVLink, symLinkPCI}}} {
		lines := gaps("", questions...)
		for _, q := range questions {
			require.Contains(t, lines, fmt.Sprintf("gap nvmlsrc: gpus[1]: %s: missing in this driver: %s", q.query, q.symbol))
		}
	}
	// In MIG mode the profiles and the instances are what the GPU cannot do without.
	for symbol, query := range map[string]Query{
		symPlacements: queryMIGPlacements, symInstances: queryMIGInstances, symInstance: queryMIGInstances,
		symMIGDeviceCount: queryMIGDevices, symMIGDevice: queryMIGDevices, symInstanceID: queryMIGDevices,
	} {
		lines := inChild(t, "-DMIG=1", "-DA30", "-DNO_"+symbol)
		require.Contains(t, lines, fmt.Sprintf("gap nvmlsrc: gpus[1]: %s: missing in this driver: %s", query, symbol))
		require.Equal(t, query == queryMIGInstances, strings.Contains(lines[1], "Failure:nvmlsrc"), symbol)
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
		lines := inChild(t, "INIT="+code)
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

const healthOf0 = "{GPU:0 UUID:GPU-0 Failure:<nil> Recovery:drain-and-reset ECC:{Volatile:2 Aggregate:5} " +
	"Rows:{Corrected:1 Uncorrected:2 Pending:true Failed:false} Pages:{SingleBit:0 DoubleBit:0 Pending:false} Repairs:{ChannelPending:false TPCPending:false Unrepairable:false SRAMThreshold:false} Links:{Active:1 Inactive:2 Lost:0 Errors:110 NewErrors:0} Fabric:0 " +
	"Clocks:SW power cap Activity:[%s] Processes:%s MemoryUsedMiB:512 TemperatureC:45 PowerMilliwatts:123456}"

// All of a GPU's health comes through the binding as the library tells it, and so do
// its events.
func TestPretendHealth(t *testing.T) {
	needCompiler(t)
	const activity = "{UUID:GPU-0 Milli:423 Source:sm-activity}"
	plain := childStarted(t, "monitor")
	divided := childStarted(t, "monitor", "-DMIG=1")
	lacking := childStarted(t, "monitor", "-DRECOVERY_CODE=3", "-DNO_COUNTERS", "-DGPM=0", "-DEVENTS=1")
	var nonsense [4]func() []string
	for i, flag := range [...]string{"-DACTIVE=0.0/0.0", "-DGPM_DENIED", "-DWAIT=15", "-DPROCESSES_COME"} {
		nonsense[i] = childStarted(t, "monitor", flag)
	}
	require.Equal(t, []string{
		"0 event {Node:n GPU:1 Xid:79 Reason:}",
		"0 gap nvmlsrc: xids: unknown GPU: Xid 31 of a GPU that is not in the inventory",
		"0 " + fmt.Sprintf(healthOf0, "", "[]"),
		"1 " + fmt.Sprintf(healthOf0, activity, "[{PID:20 Milli:70} {PID:30 Milli:400}]"),
		"done",
	}, plain())

	// In MIG mode each MIG device is measured.
	require.Contains(t, divided()[3], "Activity:[{UUID:MIG-10 Milli:423 Source:sm-activity} {UUID:MIG-12 Milli:423 Source:sm-activity}]")

	// What the GPU does not have is no gap.
	require.Equal(t, []string{
		"0 gap nvmlsrc: xids: not supported by this GPU: not supported (NVML code 3)",
		"0 " + strings.NewReplacer("Errors:110", "Errors:0", "drain-and-reset", "none").Replace(fmt.Sprintf(healthOf0, "{UUID:GPU-0 Milli:370 Source:utilization}", "[]")),
	}, lacking()[:2])

	// Neither is a driver that answers nonsense believed.
	for i, gap := range [...]string{
		"1 gap nvmlsrc: gpus[0]: activity: driver failure: the driver says that the activity is no number",
		"1 gap nvmlsrc: gpus[0]: activity: no permission: the user may not ask this (NVML code 4)",
		"1 gap nvmlsrc: xids: lost: the GPU fell off the bus or does not answer (NVML code 15)",
		"1 gap nvmlsrc: gpus[0]: processActivity: driver failure: processes came while it told of them",
	} {
		require.Contains(t, nonsense[i](), gap)
	}
}

// A driver without one of the functions of health, activity and events costs that, and no
// more.
func TestMissingSymbolsOfHealth(t *testing.T) {
	needCompiler(t)
	most := childStarted(t, "monitor", "-DNO_"+symFields, "-DNO_"+symECC, "-DNO_"+symRows, "-DNO_"+symLinkErrors,
		"-DNO_"+symClockEvents, "-DNO_"+symMemoryReserved, "-DNO_"+symTemperature, "-DNO_"+symPower, "-DNO_"+symWatchWait, "-DNO_"+symGPMMetrics, "-DNO_"+symProcessUse)
	watch := [...]string{symWatchCreate, symWatchRegister, symWatchSupported, symWatchFree}
	var unwatched [len(watch)]func() []string
	for i, symbol := range watch {
		unwatched[i] = childStarted(t, "monitor", "-DNO_"+symbol)
	}
	measure := [...]string{symGPMSupport, symGPMAlloc, symGPMFree, symGPMSample, symGPMSampleMIG}
	var unmeasured [len(measure)]func() []string
	for i, symbol := range measure {
		unmeasured[i] = childStarted(t, "monitor", "-DNO_"+symbol, "-DNO_"+symUtilization, "-DNO_"+symClockEvents, "-DNO_"+symClockThrottle)
	}

	lines := most()
	for _, gap := range []string{
		"xids: missing in this driver: " + symWatchWait,
		"gpus[0]: recoveryAction: missing in this driver: " + symFields,
		"gpus[0]: ecc: missing in this driver: " + symECC,
		"gpus[0]: remappedRows: missing in this driver: " + symRows,
		"gpus[0]: nvlinkErrors: missing in this driver: " + symLinkErrors,
		"gpus[0]: temperature: missing in this driver: " + symTemperature,
		"gpus[0]: power: missing in this driver: " + symPower,
		"gpus[0]: activity: missing in this driver: " + symGPMMetrics,
		"gpus[0]: processActivity: missing in this driver: " + symProcessUse,
	} {
		require.Contains(t, lines, "0 gap nvmlsrc: "+gap)
	}
	require.Contains(t, lines[len(lines)-2], "Clocks:idle Activity:[{UUID:GPU-0 Milli:370 Source:utilization}] Processes:[] MemoryUsedMiB:1024", "the older names serve")
	require.Equal(t, "done", lines[len(lines)-1])
	for i, symbol := range watch {
		require.Equal(t, "0 gap nvmlsrc: xids: missing in this driver: "+symbol, unwatched[i]()[0])
	}
	for i, symbol := range measure {
		lines := unmeasured[i]()
		require.Contains(t, lines, "1 gap nvmlsrc: gpus[0]: activity: missing in this driver: "+symbol)
		require.Contains(t, lines, "1 gap nvmlsrc: gpus[0]: utilization: missing in this driver: "+symUtilization)
		require.Contains(t, lines, "1 gap nvmlsrc: gpus[0]: clockReasons: missing in this driver: "+symClockThrottle)
	}
}

// An instance gets the compute instance that has all of it: of those with as many slices
// the one with the most SMs. What is destroyed loses its compute instances first.
func TestPretendDivider(t *testing.T) {
	needCompiler(t)
	require.Equal(t, []string{
		"lib: GPU instance of profile 14 at 3:1",
		"lib: compute instance of profile 7 on 9",
		"create 1g.6gb@3:1: <nil>",
		"create 1g.6gb@2:1: nvmlsrc: gpus[0]: migCreate: in use: there is no room for it beside the others (NVML code 23)",
		"lib: no compute instance 7 any more",
		"lib: no instance 8 any more",
		"destroy 1g.6gb@0:1: <nil>",
		"lib: no compute instance 7 any more",
		"lib: no instance 1 any more",
		"destroy 2g.12gb@2:2: <nil>",
		"done",
	}, childDoing(t, "divide", "-DMIG=1"))
	lines := childDoing(t, "divide", "-DMIG=1", "-DNO_COMPUTES")
	require.Contains(t, lines, "create 1g.6gb@3:1: nvmlsrc: gpus[0]: migCompute: not supported by this GPU: not supported (NVML code 3)")
	require.Contains(t, lines, "lib: no instance 9 any more")
	lines = childDoing(t, "divide", "-DMIG=1", "-DBUSY")
	require.Contains(t, lines, "destroy 1g.6gb@0:1: nvmlsrc: gpus[0]: migDestroy: in use: somebody uses it (NVML code 19)")
	lines = childDoing(t, "divide", "-DMIG=1", "-DA30", "-DUSER=4")
	require.Contains(t, lines, "create 1g.6gb@3:1: nvmlsrc: gpus[0]: migCreate: no permission: the user may not ask this (NVML code 4)")
	for symbol, query := range map[string]Query{
		symInstanceCreate: queryMIGCreate, symInstanceByID: queryMIGCompute, symComputeProfile: queryMIGCompute, symComputeCreate: queryMIGCompute,
		symInstanceDestroy: queryMIGDestroy, symComputes: queryMIGDestroy, symComputeDestroy: queryMIGDestroy,
	} {
		lines := childDoing(t, "divide", "-DMIG=1", "-DNO_"+symbol)
		text := strings.Join(lines, "\n")
		require.Contains(t, text, fmt.Sprintf("gpus[0]: %s: missing in this driver: %s", query, symbol))
		require.Equal(t, "done", lines[len(lines)-1])
	}
}
