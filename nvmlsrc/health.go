package nvmlsrc

import (
	"fmt"
	"strings"

	"github.com/berth-sched/berth/internal/enum"
)

// A Health is how one GPU does. What its driver or its generation cannot tell is zero.
type Health struct {
	// GPU is the index, and UUID the name of the GPU.
	GPU  int
	UUID string
	// Failure says why the GPU takes no work: it does not answer. The rest is zero then.
	Failure *Error
	// Recovery is what the driver asks for.
	Recovery RecoveryAction
	ECC      ECC
	Rows     RemappedRows
	// Pages and Repairs are from reports of nvidia-smi alone.
	Pages   RetiredPages
	Repairs Repairs
	Links   NVLinkHealth
	// Fabric is what the fabric manager says of the GPU's way to others.
	Fabric FabricHealth
	// Clocks says why the clocks are lower than they could be.
	Clocks ClockReasons
	// Activity of the GPU or, in MIG mode, of each instance with a MIG device. It is
	// missing where nothing could be measured, as at the first reading.
	Activity []Activity
	// Processes are those that were at work since the reading before, in order of PID, where
	// MonitorConfig.Processes asks for them. One that is not listed did nothing. Nil: that is not
	// known, as at the first reading, in MIG mode, and from reports of nvidia-smi.
	Processes []ProcessActivity
	// MemoryUsedMiB leaves out what the driver reserves for itself, as nvidia-smi does, unless
	// the driver is too old to tell the two apart.
	MemoryUsedMiB int64
	// TemperatureC of the chip in degrees Celsius, and PowerMilliwatts that the board
	// draws.
	TemperatureC, PowerMilliwatts int
}

// An Activity is how busy a GPU or an instance of it was between two readings.
type Activity struct {
	// UUID of the GPU or of the MIG device.
	UUID string
	// Milli is how busy, in thousandths.
	Milli int
	// Source says what was measured.
	Source ActivitySource
}

// A ProcessActivity is how busy a process kept a GPU.
type ProcessActivity struct {
	// PID of the process, in the driver's PID namespace.
	PID int
	// Milli is the part of the time in which a kernel of the process ran, in thousandths: the most
	// that one of the driver's samples told. As with ActivitySourceUtilization, a kernel on one SM
	// of many counts in full.
	Milli int
}

// An ActivitySource is a way of measuring how busy a GPU is.
type ActivitySource uint8

const (
	// ActivitySourceUnset, the zero value: nobody said what was measured.
	ActivitySourceUnset ActivitySource = iota
	// ActivitySourceSM is the part of the SMs that were busy, from the counters that
	// Hopper and later GPUs have (GPM). It is what berth.ActivityReported is about.
	ActivitySourceSM
	// ActivitySourceUtilization is the part of the time in which some kernel ran, which other GPUs
	// tell instead. A kernel on one SM of many counts in full, so that it is an upper
	// bound of ActivitySourceSM; and an instance has none.
	ActivitySourceUtilization
)

const activitySourceNames enum.Names = "ActivitySource: unset|sm-activity|utilization"

func (s ActivitySource) String() string {
	return enum.Text(activitySourceNames, s)
}

func (s ActivitySource) MarshalText() ([]byte, error) {
	return enum.Marshal(activitySourceNames, s, invalidText)
}

func (s *ActivitySource) UnmarshalText(b []byte) error {
	return enum.Unmarshal(activitySourceNames, s, b, invalidText)
}

// ECC counts memory errors that could not be corrected.
type ECC struct {
	// Volatile errors since the driver was loaded or the GPU reset.
	Volatile uint64
	// Aggregate errors in the life of the GPU.
	Aggregate uint64
}

// RemappedRows is what became of rows of memory that had errors: Ampere and later GPUs map them
// to spare ones.
type RemappedRows struct {
	// Corrected and Uncorrected count the rows that are mapped elsewhere, by the errors
	// that they had.
	Corrected, Uncorrected int
	// Pending: a row will be mapped elsewhere when the GPU is reset.
	Pending bool
	// Failed: there was no spare row left.
	Failed bool
}

// RetiredPages is what became of pages of memory that had errors: GPUs before Ampere retire them.
type RetiredPages struct {
	// SingleBit and DoubleBit count the pages by the errors that they had.
	SingleBit, DoubleBit int
	// Pending: a page will be retired when the GPU is reset.
	Pending bool
}

// Repairs are what is to be mended by a reset, or cannot be: Blackwell and later GPUs tell.
type Repairs struct {
	// ChannelPending and TPCPending: a channel of memory, or a cluster of SMs, will be replaced by
	// a spare one when the GPU is reset.
	ChannelPending, TPCPending bool
	// Unrepairable: there is memory that no spare one can replace.
	Unrepairable bool
	// SRAMThreshold: more errors in caches than a GPU may have that is to stay.
	SRAMThreshold bool
}

// NVLinkHealth is how the NVLinks of a GPU do.
type NVLinkHealth struct {
	// Active links, and Inactive ones: a card without a bridge has links that lead
	// nowhere.
	Active, Inactive int
	// Lost is how many links are down of those that a Monitor has seen up.
	Lost int
	// Errors counts how often a link had to send anew or to recover, and packets with
	// a wrong checksum, over all links since the driver was loaded; NewErrors those
	// since the Monitor's last reading.
	Errors, NewErrors uint64
}

// A FabricHealth has NVML's bits: what is asked, and yes or no, side by side. Zero says that
// nothing is told, as before Hopper.
type FabricHealth uint32

// fabricQuestions are those of nvmlGpuFabricInfo_v3_t, each with the place of its bits, how many
// they are, and the answer that is a fault.
// The element is that of nvidia-smi's report, where it is known.
var fabricQuestions = [...]struct {
	shift, width, fault int
	says, element       string
}{
	{0, 2, 1, "reduced bandwidth", "bandwidth"},
	{2, 2, 1, "a route is being recovered", "route_recovery_in_progress"},
	{4, 2, 1, "a route is unhealthy", "route_unhealthy"},
	{6, 2, 1, "recovering from an access timeout", "access_timeout_recovery"},
	{8, 4, -1, "incorrect configuration", "incorrect_configuration"}, // all answers but 0, nothing told, and 1, none
	{14, 2, 2, "the fabric manager is not connected", ""},
}

// bad says what is wrong; empty: nothing that is known. A yes or no that is neither counts as a
// fault: NVML's answers to each question grow with drivers.
func (f FabricHealth) bad() string {
	var says []string
	for _, q := range fabricQuestions {
		switch answer := int(f) >> q.shift & (1<<q.width - 1); {
		case q.fault < 0 && answer > 1:
			says = append(says, fmt.Sprintf("%s %d", q.says, answer))
		case answer == q.fault:
			says = append(says, q.says)
		case q.fault > 0 && answer > 2:
			says = append(says, fmt.Sprintf("%s: an answer that is not known, %d", q.says, answer))
		}
	}
	return strings.Join(says, ", ")
}

// A RecoveryAction is what the driver says must be done with a GPU.
type RecoveryAction uint8

// The actions, in the order of NVML's constants.
const (
	// RecoveryNone: the GPU is well, or the driver does not say.
	RecoveryNone RecoveryAction = iota
	// RecoveryReset: the GPU takes no work until it is reset.
	RecoveryReset
	// RecoveryReboot: the machine must be restarted.
	RecoveryReboot
	// RecoveryDrainP2P: traffic between GPUs has to stop, then it recovers.
	RecoveryDrainP2P
	// RecoveryDrainAndReset: what runs may go on, nothing new should start, and the
	// GPU should be reset when it is idle.
	RecoveryDrainAndReset
	// RecoveryIMEX: the domain of machines that share memory over NVLink must be set up anew.
	RecoveryIMEX
	// RecoveryBusReset: the PCIe bus of the GPU must be reset. Since NVML 615, as the next.
	RecoveryBusReset
	// RecoverySystemReboot: the whole system must be restarted.
	RecoverySystemReboot
)

// recoveryUnknown stands for the numbers that a RecoveryAction cannot hold.
const recoveryUnknown RecoveryAction = 255

// recoveryOf is the action of a number of NVML's. The enumeration grows with drivers: a number that
// is not known is kept, and printed with it.
func recoveryOf(number uint32) RecoveryAction {
	return RecoveryAction(min(number, uint32(recoveryUnknown)))
}

// takesWork reports whether a GPU may go on until it is convenient to do what is asked for. An
// action that is not known counts as a bad one: every one that was added so far was.
func (a RecoveryAction) takesWork() bool {
	return a == RecoveryNone || a == RecoveryDrainP2P || a == RecoveryDrainAndReset
}

const recoveryActionNames enum.Names = "RecoveryAction: none|gpu-reset|node-reboot|drain-p2p|drain-and-reset|" +
	"recover-imex-domain|bus-reset|system-reboot"

func (a RecoveryAction) String() string {
	return enum.Text(recoveryActionNames, a)
}

func (a RecoveryAction) MarshalText() ([]byte, error) {
	return enum.Marshal(recoveryActionNames, a, invalidText)
}

func (a *RecoveryAction) UnmarshalText(b []byte) error {
	return enum.Unmarshal(recoveryActionNames, a, b, invalidText)
}

// ClockReasons is a set of reasons why clocks are lower than they could be, with NVML's
// values.
type ClockReasons uint64

// The reasons, as nvidia-smi -q lists them.
const (
	ClockReasonIdle               ClockReasons = 1 << 0
	ClockReasonApplicationSetting ClockReasons = 1 << 1
	ClockReasonSoftwarePowerCap   ClockReasons = 1 << 2
	ClockReasonHardwareSlowdown   ClockReasons = 1 << 3
	ClockReasonSyncBoost          ClockReasons = 1 << 4
	ClockReasonSoftwareThermal    ClockReasons = 1 << 5
	ClockReasonHardwareThermal    ClockReasons = 1 << 6
	ClockReasonHardwarePowerBrake ClockReasons = 1 << 7
	ClockReasonDisplaySetting     ClockReasons = 1 << 8
	clocksHardware                             = ClockReasonHardwareSlowdown | ClockReasonHardwareThermal | ClockReasonHardwarePowerBrake
	clocksReasonsKnown                         = ClockReasonDisplaySetting<<1 - 1
)

// clockReasons are the reasons with their names for people, and the ends of those of their elements
// in nvidia-smi's report.
var clockReasons = [...]struct {
	bit           ClockReasons
	name, element string
}{
	{ClockReasonIdle, "idle", "gpu_idle"},
	{ClockReasonApplicationSetting, "applications clocks setting", "applications_clocks_setting"},
	{ClockReasonSoftwarePowerCap, "SW power cap", "sw_power_cap"},
	{ClockReasonHardwareSlowdown, "HW slowdown", "hw_slowdown"},
	{ClockReasonSyncBoost, "sync boost", "sync_boost"},
	{ClockReasonSoftwareThermal, "SW thermal slowdown", "sw_thermal_slowdown"},
	{ClockReasonHardwareThermal, "HW thermal slowdown", "hw_thermal_slowdown"},
	{ClockReasonHardwarePowerBrake, "HW power brake slowdown", "hw_power_brake_slowdown"},
	{ClockReasonDisplaySetting, "display clock setting", "display_clocks_setting"},
}

// throttled reports whether the GPU is slowed down because it is too hot, or gets too
// little power from outside: by its hardware, or by the driver before that has to. A cap
// on power that the operator has set is no such reason.
func (r ClockReasons) throttled() bool { return r&(clocksHardware|ClockReasonSoftwareThermal) != 0 }

// String lists the reasons in the words of nvidia-smi; "none" without any.
func (r ClockReasons) String() string {
	var names []string
	for _, reason := range clockReasons {
		if r&reason.bit != 0 {
			names = append(names, reason.name)
		}
	}
	if rest := r &^ clocksReasonsKnown; rest != 0 {
		names = append(names, fmt.Sprintf("%#x", uint64(rest)))
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
