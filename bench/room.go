package bench

import (
	"encoding/binary"
	"slices"
)

// A room is what a node has left, apart from which node it is: all nodes with the same left are
// worth the same.
type room struct {
	model       int16
	cpu, memory int64
	left        []int16 // of each GPU, in ascending order
	takes       []take
	// worth is at the prices of that number.
	worth  int64
	priced uint32
	nodes  int // that are like this now
	moves  []move
}

// A take is how many of a typical kind a room takes. The first half of the kinds numbers those
// alone, the second half those in company.
type take struct {
	kind, count uint16
}

// A move is what comes of a room when a task of some kind takes a place there.
type move struct {
	outcomes []outcome
	// The best of them at the prices of that number: what is lost, and what the GPU has left
	// that a share gets.
	loss   int64
	left   int16
	priced uint32
}

// An outcome is what a room becomes if a share gets a GPU with so much left.
type outcome struct {
	room *room
	left int16
}

// roomsLimit bounds how many rooms are remembered apart from those that nodes are like.
const roomsLimit = 1 << 17

// rooms knows the rooms of a fleet.
type rooms struct {
	outlook *outlook
	known   map[string]*room
	key     []byte
	spare   [][]move // of rooms that no node is like any more
	// Of a fill.
	cpu, memory int64
	whole       int
	parts       []int16
	counts      []int32
	fits        []bool // by typical kind
}

// find returns the room with so much left, of which left is in ascending order.
func (rs *rooms) find(model int16, cpu, memory int64, left []int16) *room {
	key := binary.AppendVarint(rs.key[:0], int64(model))
	key = binary.AppendVarint(key, cpu)
	key = binary.AppendVarint(key, memory)
	for _, milli := range left {
		key = binary.LittleEndian.AppendUint16(key, uint16(milli))
	}
	rs.key = key
	if r := rs.known[string(key)]; r != nil {
		return r
	}
	if len(rs.known) >= roomsLimit {
		clear(rs.known)
	}
	r := &room{model: model, cpu: cpu, memory: memory, left: slices.Clone(left)}
	rs.measure(r)
	rs.known[string(key)] = r
	return r
}

// leave counts a node less, and keeps the memory for the moves of a room that has none.
func (rs *rooms) leave(r *room) {
	if r.nodes--; r.nodes == 0 && r.moves != nil {
		for i := range r.moves {
			r.moves[i] = move{outcomes: r.moves[i].outcomes[:0]}
		}
		rs.spare, r.moves = append(rs.spare, r.moves), nil
	}
}

// measure finds what a room takes of the typical kinds.
func (rs *rooms) measure(r *room) {
	kinds := len(rs.outlook.typical)
	rs.counts = slices.Grow(rs.counts[:0], 2*kinds)[:2*kinds]
	clear(rs.counts)
	if r.model != noModel {
		if rs.alone(r, rs.counts[:kinds]) {
			rs.company(r, rs.counts[kinds:])
		}
	}
	for i, count := range rs.counts {
		if count > 0 {
			r.takes = append(r.takes, take{uint16(i), uint16(min(count, 1<<16-1))})
		}
	}
}

// alone counts how many of each typical kind fit by themselves, and notes which kinds fit at all.
// It returns whether one with GPUs does.
func (rs *rooms) alone(r *room, counts []int32) bool {
	whole := 0
	for i := len(r.left) - 1; i >= 0 && r.left[i] == WholeGPU; i-- {
		whole++
	}
	rs.fits = slices.Grow(rs.fits[:0], len(counts))[:len(counts)]
	some := false
	for i := range rs.outlook.typical {
		e := &rs.outlook.typical[i]
		fit := int64(1)
		switch {
		case e.GPUs == 0:
		case !e.acceptsModel(r.model):
			fit = 0
		case e.Share():
			fit = 0
			for _, milli := range r.left {
				fit += int64(int(milli) / e.Milli)
			}
		default:
			fit = int64(whole / e.GPUs)
		}
		if e.CPUMilli > 0 {
			fit = min(fit, r.cpu/e.CPUMilli)
		}
		if e.MemoryMiB > 0 {
			fit = min(fit, r.memory/e.MemoryMiB)
		}
		rs.fits[i] = fit > 0
		if fit > 0 && e.GPUs > 0 {
			counts[i], some = int32(fit), true
		}
	}
	return some
}

// company counts how many of each typical kind are taken when the room is filled with sequences of
// tasks, in all of them together. In a sequence each task that fits gets a place, a share on the
// GPU where it leaves the least.
func (rs *rooms) company(r *room, counts []int32) {
	fills := rs.outlook.fills[r.model]
	for hand := range slices.Chunk(fills, outlookTasks) {
		rs.enter(r)
		for _, i := range hand {
			if rs.fits[i] && rs.put(&rs.outlook.typical[i]) {
				counts[i]++
				if rs.whole == 0 && len(rs.parts) == 0 {
					break
				}
			}
		}
	}
}

// enter begins a fill of a room.
func (rs *rooms) enter(r *room) {
	rs.cpu, rs.memory, rs.whole, rs.parts = r.cpu, r.memory, 0, rs.parts[:0]
	for _, milli := range r.left {
		switch milli {
		case 0:
		case WholeGPU:
			rs.whole++
		default:
			rs.parts = append(rs.parts, milli)
		}
	}
}

// put gives a task a place in the fill, if there is one.
func (rs *rooms) put(e *expected) bool {
	if e.CPUMilli > rs.cpu || e.MemoryMiB > rs.memory {
		return false
	}
	if e.Share() {
		if !rs.putShare(int16(e.Milli)) {
			return false
		}
	} else if e.GPUs > rs.whole {
		return false
	} else {
		rs.whole -= e.GPUs
	}
	rs.cpu -= e.CPUMilli
	rs.memory -= e.MemoryMiB
	return true
}

func (rs *rooms) putShare(milli int16) bool {
	best := -1
	for i, left := range rs.parts {
		if left >= milli && (best < 0 || left < rs.parts[best]) {
			best = i
		}
	}
	switch {
	case best >= 0 && rs.parts[best] == milli:
		rs.parts[best] = rs.parts[len(rs.parts)-1]
		rs.parts = rs.parts[:len(rs.parts)-1]
	case best >= 0:
		rs.parts[best] -= milli
	case rs.whole > 0:
		rs.whole--
		rs.parts = append(rs.parts, WholeGPU-milli)
	default:
		return false
	}
	return true
}
