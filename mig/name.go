package mig

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/internal/enum"
)

// An Attribute is what a profile has more or less than the plain one of its size.
type Attribute uint8

const (
	// AttributePlain is the profile as such.
	AttributePlain Attribute = iota
	// AttributeMedia, +me, has the JPEG and OFA engines, of which a GPU has few.
	AttributeMedia
	// AttributeMediaAll, +me.all, has all media engines of the GPU.
	AttributeMediaAll
	// AttributeGraphics, +gfx, can run graphics.
	AttributeGraphics
	// AttributeNoMedia, -me, has no media engine, and so leaves them to others.
	AttributeNoMedia

	attributes = iota
)

const attributeNames enum.Names = "Attribute: |+me|+me.all|+gfx|-me"

// String returns the attribute as the end of a profile's name, such as "+me"; it
// is empty for Plain.
func (a Attribute) String() string { return enum.Text(attributeNames, a) }

func (a Attribute) MarshalText() ([]byte, error) { return enum.Marshal(attributeNames, a, invalidText) }

func (a *Attribute) UnmarshalText(b []byte) error {
	return enum.Unmarshal(attributeNames, a, b, invalidText)
}

// A ProfileName is the name of a GPU instance profile, such as 1g.10gb+me, or of
// a partition mode, such as cpx_nps4; the latter has a Mode and nothing else. The
// zero value names no profile.
type ProfileName struct {
	// ComputeSlices is the number before the g, at least 1.
	ComputeSlices uint8
	// Attribute is the ending.
	Attribute Attribute
	// MemoryGB is the number before gb: GB as sold, rounded by NVIDIA. It names
	// the profile and measures nothing; Profile.MemoryMiB is what there is.
	MemoryGB uint16
	// PartitionMode is that of a GPU which is partitioned as a whole; the other fields are
	// zero then.
	PartitionMode PartitionMode
}

// String returns the name as the maker's tools write it.
func (n ProfileName) String() string {
	return string(n.append(make([]byte, 0, len("7g.278gb+me.all"))))
}

func (n ProfileName) append(b []byte) []byte {
	if n.PartitionMode != PartitionModeNone {
		return append(b, n.PartitionMode.String()...)
	}
	b = strconv.AppendUint(b, uint64(n.ComputeSlices), 10)
	b = append(b, "g."...)
	b = strconv.AppendUint(b, uint64(n.MemoryGB), 10)
	b = append(b, "gb"...)
	return append(b, n.Attribute.String()...)
}

// Compare orders names by mode, then compute slices, memory and attribute.
func (n ProfileName) Compare(m ProfileName) int {
	return cmp.Or(
		cmp.Compare(n.PartitionMode, m.PartitionMode),
		cmp.Compare(n.ComputeSlices, m.ComputeSlices),
		cmp.Compare(n.MemoryGB, m.MemoryGB),
		cmp.Compare(n.Attribute, m.Attribute),
	)
}

func (n ProfileName) valid() bool {
	if n.PartitionMode != PartitionModeNone {
		return n == ProfileName{PartitionMode: n.PartitionMode} && n.PartitionMode < modes
	}
	return n.ComputeSlices > 0 && n.Attribute < attributes
}

// ParseProfileName reads a name such as "1g.10gb", "1g.24gb-me" or "cpx_nps4". It
// takes just what String writes, so that a name has one text: lower case, no
// leading zeros, at most one attribute. Names of compute instances, such as
// "1c.3g.40gb", are refused: they divide an instance, not the GPU. The error is an
// *Error with ErrInvalid.
func ParseProfileName(text string) (ProfileName, error) {
	refuse := func(reason string) (ProfileName, error) {
		return ProfileName{}, &Error{Field: "profile name " + quote(text), Reason: reason, Kind: ErrInvalid}
	}
	if mode, ok := parseMode(text); ok {
		return ProfileName{PartitionMode: mode}, nil
	}
	slices, rest, ok := strings.Cut(text, "g.")
	if !ok {
		return refuse(`is no partition mode and has no "g."`)
	}
	if strings.Contains(slices, "c.") {
		return refuse("names a compute instance, not a GPU instance")
	}
	compute, ok := parseNumber(slices, 8)
	if !ok || compute == 0 {
		return refuse(`needs a number of compute slices from 1 to 255 before "g."`)
	}
	gigabytes, ending, ok := strings.Cut(rest, "gb")
	if !ok {
		return refuse(`has no "gb"`)
	}
	memory, ok := parseNumber(gigabytes, 16)
	if !ok {
		return refuse(`needs a number from 0 to 65535 between "g." and "gb"`)
	}
	attribute, ok := enum.Parse[Attribute](attributeNames, ending)
	if !ok {
		return refuse("ends in an attribute other than +me, +me.all, +gfx and -me")
	}
	return ProfileName{ComputeSlices: uint8(compute), MemoryGB: uint16(memory), Attribute: attribute}, nil
}

// MarshalText returns String, and an error for what names no profile.
func (n ProfileName) MarshalText() ([]byte, error) {
	if !n.valid() {
		return nil, &Error{Field: "profile name " + quote(n.String()), Reason: "names no profile", Kind: ErrInvalid}
	}
	return n.append(nil), nil
}

// UnmarshalText is ParseProfileName.
func (n *ProfileName) UnmarshalText(text []byte) error {
	parsed, err := ParseProfileName(string(text))
	if err == nil {
		*n = parsed
	}
	return err
}

// parseNumber reads a decimal number in its only spelling: no sign, no zeros in
// front.
func parseNumber(text string, bits int) (uint64, bool) {
	if len(text) > 1 && text[0] == '0' {
		return 0, false
	}
	number, err := strconv.ParseUint(text, 10, bits)
	return number, err == nil
}

// quote shows outside text in an error without letting it make the error long.
func quote(text string) string {
	const most = 64
	if len(text) > most {
		return strconv.Quote(text[:most]) + "..."
	}
	return strconv.Quote(text)
}
