package mig

import (
	"cmp"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// A Mask is a set of memory slices of one GPU: bit i is slice i.
type Mask uint32

// Overlaps tells whether the two have a slice in common.
func (m Mask) Overlaps(n Mask) bool { return m&n != 0 }

// String lists the slices as ranges, such as "0-3,6"; it is "none" for no slice.
func (m Mask) String() string {
	if m == 0 {
		return "none"
	}
	var b []byte
	for rest := uint32(m); rest != 0; {
		first := bits.TrailingZeros32(rest)
		length := bits.TrailingZeros32(^(rest >> first))
		if len(b) > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(first), 10)
		if length > 1 {
			b = append(b, '-')
			b = strconv.AppendInt(b, int64(first+length-1), 10)
		}
		rest &^= (1<<length - 1) << first
	}
	return string(b)
}

// A Placement is an instance of a profile at a place of a GPU's axis of memory
// slices. It is a small comparable value, and prints and parses as
// 3g.40gb@4:4, which is its form in JSON too.
type Placement struct {
	Profile ProfileName
	// Start is the first memory slice.
	Start uint8
	// Size is the number of memory slices.
	Size uint8
}

// Mask returns the memory slices that the placement takes. Slices past the last
// that a Mask holds are left out.
func (p Placement) Mask() Mask {
	return Mask((uint64(1)<<min(p.Size, MaxMemorySlices) - 1) << p.Start)
}

// Compare orders placements by start, then size, then profile name.
func (p Placement) Compare(q Placement) int {
	return cmp.Or(cmp.Compare(p.Start, q.Start), cmp.Compare(p.Size, q.Size), p.Profile.Compare(q.Profile))
}

// String returns the profile, the start and the size, such as 3g.40gb@4:4.
func (p Placement) String() string {
	return string(p.append(make([]byte, 0, len("7g.278gb+me.all@10:12"))))
}

func (p Placement) append(b []byte) []byte {
	b = append(p.Profile.append(b), '@')
	b = strconv.AppendUint(b, uint64(p.Start), 10)
	b = append(b, ':')
	return strconv.AppendUint(b, uint64(p.Size), 10)
}

// ParsePlacement reads what Placement.String writes, and nothing else. The error
// is an *Error with ErrInvalid. Whether a product has such a placement is for a
// Lattice to say.
func ParsePlacement(text string) (Placement, error) {
	refuse := func(reason string) (Placement, error) {
		return Placement{}, &Error{Field: "placement " + quote(text), Reason: reason, Kind: ErrInvalid}
	}
	name, place, ok := strings.Cut(text, "@")
	if !ok {
		return refuse(`has no "@"`)
	}
	profile, err := ParseProfileName(name)
	if err != nil {
		return Placement{}, err
	}
	before, after, ok := strings.Cut(place, ":")
	if !ok {
		return refuse(`has no ":" after the "@"`)
	}
	start, startOK := parseNumber(before, 8)
	size, sizeOK := parseNumber(after, 8)
	if !startOK || !sizeOK || size == 0 || start+size > MaxMemorySlices {
		return refuse("needs a start and a size within " + strconv.Itoa(MaxMemorySlices) + ` memory slices after the "@"`)
	}
	return Placement{Profile: profile, Start: uint8(start), Size: uint8(size)}, nil
}

// MarshalText returns String, and an error for what cannot be parsed back.
func (p Placement) MarshalText() ([]byte, error) {
	if !p.Profile.valid() || p.Size == 0 || int(p.Start)+int(p.Size) > MaxMemorySlices {
		return nil, &Error{Field: "placement " + quote(p.String()), Reason: "is no placement", Kind: ErrInvalid}
	}
	return p.append(nil), nil
}

// UnmarshalText is ParsePlacement.
func (p *Placement) UnmarshalText(text []byte) error {
	parsed, err := ParsePlacement(string(text))
	if err == nil {
		*p = parsed
	}
	return err
}

// A Layout is a set of placements on one GPU, in ascending order, so that equal
// sets are equal lists. A Lattice tells whether a layout is valid.
type Layout []Placement

// String returns the placements with spaces between; "empty" for none.
func (l Layout) String() string {
	if len(l) == 0 {
		return "empty"
	}
	var b []byte
	for i, placement := range l {
		if i > 0 {
			b = append(b, ' ')
		}
		b = placement.append(b)
	}
	return string(b)
}

// Profiles returns the names of the profiles in ascending order, one for each
// placement: the layout without its places.
func (l Layout) Profiles() []ProfileName {
	names := make([]ProfileName, len(l))
	for i, placement := range l {
		names[i] = placement.Profile
	}
	slices.SortFunc(names, ProfileName.Compare)
	return names
}
