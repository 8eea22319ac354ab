package nodegraph

import (
	"strconv"

	"github.com/berth-sched/berth/internal/enum"
	"github.com/berth-sched/berth/internal/errtext"
)

// A PathKind says what the path between two devices of a node goes through, in the
// words of nvidia-smi. Among the kinds of PCIe a larger one is nearer.
type PathKind uint8

const (
	// PathNone: no path, or a device and itself.
	PathNone PathKind = iota
	// PathSYS: PCIe and the link between NUMA nodes. Old tables call it SOC.
	PathSYS
	// PathNODE: PCIe and the link between host bridges of one NUMA node.
	PathNODE
	// PathPHB: PCIe through one host bridge, typically a CPU.
	PathPHB
	// PathPXB: several PCIe switches, and no host bridge.
	PathPXB
	// PathPIX: a single PCIe switch.
	PathPIX
	// PathNVLink: links that go straight from one GPU to the other.
	PathNVLink
	// PathNVSwitch: links into a switch that both GPUs hang on. A GPU shares its links
	// among all its peers.
	PathNVSwitch
)

// isNV reports whether the path is made of NVLinks.
func (k PathKind) isNV() bool { return k == PathNVLink || k == PathNVSwitch }

const kindNames enum.Names = "PathKind: none|SYS|NODE|PHB|PXB|PIX|NV|NVS"

func (k PathKind) String() string { return enum.Text(kindNames, k) }

func (k PathKind) MarshalText() ([]byte, error) { return enum.Marshal(kindNames, k, invalidText) }

func (k *PathKind) UnmarshalText(b []byte) error { return enum.Unmarshal(kindNames, k, b, invalidText) }

// A Link is the best path between two GPUs.
type Link struct {
	Kind PathKind
	// Count of NVLinks side by side, 1 to MaxLinks; zero for the other kinds. With
	// NVSwitch it is the links of either GPU into the switch.
	Count int
}

// MaxLinks is the most NVLinks that a Link may have.
const MaxLinks = 64

// String is nvidia-smi's word for the link, such as PIX or NV12. A link through a
// switch, which nvidia-smi does not tell from a direct one, is NVS18.
func (l Link) String() string {
	if l.Kind.isNV() {
		return l.Kind.String() + strconv.Itoa(l.Count)
	}
	return l.Kind.String()
}

// ParseLink is the reverse of String; it knows the old word SOC for SYS too.
func ParseLink(text string) (Link, error) {
	for kind := PathNone; kind <= PathPIX; kind++ {
		if text == kind.String() {
			return Link{Kind: kind}, nil
		}
	}
	if text == "SOC" {
		return Link{Kind: PathSYS}, nil
	}
	for _, kind := range []PathKind{PathNVSwitch, PathNVLink} {
		prefix := kind.String()
		if len(text) <= len(prefix) || text[:len(prefix)] != prefix {
			continue
		}
		count, ok := digits(text[len(prefix):])
		if !ok || count < 1 || count > MaxLinks {
			return Link{}, &Error{Field: strconv.Quote(errtext.Short(text)), Reason: "a count of NVLinks goes from 1 to " + strconv.Itoa(MaxLinks), Kind: ErrInvalid}
		}
		return Link{Kind: kind, Count: count}, nil
	}
	return Link{}, &Error{Field: strconv.Quote(errtext.Short(text)), Reason: "not a link: want SYS, NODE, PHB, PXB, PIX or NV and a number", Kind: ErrSyntax}
}

// digits reads a number of at most nine digits without a sign.
func digits(text string) (int, bool) {
	if text == "" || len(text) > 9 {
		return 0, false
	}
	n := 0
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return 0, false
		}
		n = n*10 + int(text[i]-'0')
	}
	return n, true
}
