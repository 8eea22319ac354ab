package berth

import (
	"github.com/berth-sched/berth/internal/enum"
)

// An Xid is a kind of fault that NVIDIA's driver reports about a GPU, in the kernel's log
// and over NVML. [LookupXid] tells what is known of one.
type Xid struct {
	Number int `json:"number"`
	// Name is what NVIDIA calls it; empty: the number is not in the table.
	Name   string    `json:"name,omitempty"`
	Effect XidEffect `json:"effect"`
}

// An XidEffect is what a fault says about the GPU that it came from.
type XidEffect uint8

const (
	// XidSuspect may be the hardware's fault, or none: the message alone does not tell. It has
	// no effect on hardware that is trusted, but condemns a GPU in burn-in. Numbers that are
	// not in the table are suspect: new drivers bring new ones, many of which only inform, and
	// to take down a gang of thousands for one of those is the greater harm. An operator that
	// knows better tells GPUFailed.
	XidSuspect XidEffect = iota
	// XidApplication is the fault of the program that ran, or a consequence of one. It says
	// nothing against the GPU; that the program died is told with MemberFailed.
	XidApplication
	// XidCondemns is the fault of the GPU, or leaves it unusable until it is reset: the
	// event has the effect of GPUFailed.
	XidCondemns
)

const xidEffectNames enum.Names = "XidEffect: suspect|application|condemns"

// String is the word for it, as in JSON.
func (e XidEffect) String() string { return enum.Text(xidEffectNames, e) }

// MarshalText implements [encoding.TextMarshaler]. A value that is out of range is refused.
func (e XidEffect) MarshalText() ([]byte, error) { return enum.Marshal(xidEffectNames, e, invalidText) }

// UnmarshalText implements [encoding.TextUnmarshaler]. An unknown word is refused with an
// *[Error].
func (e *XidEffect) UnmarshalText(b []byte) error {
	return enum.Unmarshal(xidEffectNames, e, b, invalidText)
}

// LookupXid tells what is known of an Xid.
//
// Source: NVIDIA's catalogue of Xid errors for A100 and newer ("Analyzing Xid Errors with
// the Xid Catalog", docs.nvidia.com/deploy/xid-errors), its column of immediate actions.
// Where that is to reset the GPU or to restart the machine, the Xid condemns. Where it is
// to restart the application, the fault is the application's, but for contained memory
// errors: memory is hardware. The rest is suspect, as are faults of NVLink, of which the
// parts of the message that are not told here decide. Double bit errors (48) condemn: alone they
// ask for a reset, and with 63 or 64 for a drain and a reset, and the message that comes after
// them is not known yet. Departures: 43 and 45 are the application's, as for NVIDIA's device
// plugin for Kubernetes; and the loss of power (54) is the hardware's. That plugin passes over
// 109 as well, which the catalogue since R570 has reset the GPU.
func LookupXid(number int) Xid {
	name, effect := xidName(number)
	return Xid{Number: number, Name: name, Effect: effect}
}

func xidName(number int) (string, XidEffect) {
	switch number {
	case 8, 43:
		return "GPU stopped processing", XidApplication
	case 11, 25, 32:
		return "invalid or corrupted push buffer stream", XidApplication
	case 13:
		return "graphics engine exception", XidApplication
	case 31:
		return "GPU memory page fault", XidApplication
	case 39, 40, 41, 70, 71, 72, 75, 76, 77, 85, 126, 127, 128, 129, 130, 131, 132, 133, 134, 135:
		return "copy engine exception", XidApplication
	case 45:
		return "preemptive cleanup, due to previous errors", XidApplication
	case 60, 68, 82, 83, 84, 86, 88, 89, 96, 97, 98, 99, 100, 101, 102, 103, 104, 105, 139:
		return "video, image or flow engine exception", XidApplication
	case 69:
		return "graphics engine class error", XidApplication
	case 80:
		return "corrupted data sent to GPU", XidApplication
	}
	return hardwareXid(number)
}

func hardwareXid(number int) (string, XidEffect) {
	switch number {
	case 46:
		return "GPU stopped processing", XidCondemns
	case 48:
		return "double bit ECC error", XidCondemns
	case 54:
		return "auxiliary power is not connected", XidCondemns
	case 62:
		return "internal micro-controller halt", XidCondemns
	case 64:
		return "GPU memory remapping failure", XidCondemns
	case 79:
		return "GPU has fallen off the bus", XidCondemns
	case 95:
		return "uncontained memory error", XidCondemns
	case 109:
		return "context switch timeout", XidCondemns
	case 110:
		return "security fault", XidCondemns
	case 119:
		return "GSP RPC timeout", XidCondemns
	case 120:
		return "GSP error", XidCondemns
	case 136:
		return "link training failed", XidCondemns
	case 140:
		return "unrecovered ECC error", XidCondemns
	case 143:
		return "GPU initialization error", XidCondemns
	case 151:
		return "key rotation error", XidCondemns
	case 155:
		return "NVLink: error defined by software", XidCondemns
	case 156:
		return "resource retirement event", XidCondemns
	case 158:
		return "GPU fatal timeout", XidCondemns
	}
	return suspectXid(number)
}

func suspectXid(number int) (string, XidEffect) {
	switch number {
	case 63:
		return "GPU memory remapping event", XidSuspect
	case 74:
		return "NVLink error", XidSuspect
	case 92:
		return "high single-bit ECC error rate", XidSuspect
	case 94:
		return "contained memory error", XidSuspect
	case 121:
		return "C2C error", XidSuspect
	case 144, 145, 146, 147, 148, 149, 150:
		return "NVLink error of the fifth generation", XidSuspect
	case 154:
		return "GPU recovery action changed", XidSuspect
	case 157:
		return "resource retirement failure", XidSuspect
	case 159:
		return "C2C error on a request without data", XidSuspect
	case 160, 161:
		return "channel retirement", XidSuspect
	case 162, 163, 164, 165:
		return "power smoothing: engaged, disengaged or worn out", XidSuspect
	case 166, 170:
		return "NVLink error of confidential computing", XidSuspect
	case 167:
		return "PCIe fatal timeout", XidSuspect
	case 168:
		return "reduced GPU memory capacity", XidSuspect
	case 169:
		return "security processor halt", XidSuspect
	case 171, 172:
		return "details of a double bit ECC error", XidSuspect
	}
	return "", XidSuspect
}
