package storetest

import (
	"errors"
	"math/rand/v2"
)

// A Disk is one file on a disk that remembers which writes have been synced. Writes that were not
// can be read until the power fails: then each of them is there, is not, or is there in part,
// whatever their order.
type Disk struct {
	// durable is what survives the loss of power, and cached what is read.
	durable, cached []byte
	// dirty are the writes since the last sync.
	dirty []write
	// room is how large the file may become; 0: there is no end.
	room int
	// short: the next write is cut to so many bytes, with an error. Off is -1.
	short int
	// dies: the power fails at the so manyth write or sync from now on. Off is 0.
	dies int
	rand *rand.Rand
}

type write struct {
	at   int
	data []byte
}

// What a Disk answers.
var (
	errNoSpace = errors.New("no space left on device")
	errShort   = errors.New("short write")
	errPower   = errors.New("the power has failed")
)

// sector is what a disk writes whole, or not at all.
const sector = 512

// NewDisk makes an empty one. The seed draws what survives a loss of power.
func NewDisk(seed uint64) *Disk {
	return &Disk{short: -1, rand: rand.New(rand.NewPCG(seed, 0))}
}

// WriteAt writes a part of the file.
func (d *Disk) WriteAt(data []byte, at int) error {
	var err error
	switch {
	case d.step():
		err = errPower // and the write was under way
	case d.short >= 0:
		data, err = data[:min(d.short, len(data))], errShort
		d.short = -1
	case d.room > 0 && at+len(data) > d.room:
		data, err = data[:max(0, min(len(data), d.room-at))], errNoSpace
	}
	data = append([]byte(nil), data...)
	d.cached = put(d.cached, write{at, data})
	d.dirty = append(d.dirty, write{at, data})
	if errors.Is(err, errPower) {
		d.PowerLoss()
	}
	return err
}

// Sync makes all writes durable.
func (d *Disk) Sync() error {
	if d.step() {
		d.PowerLoss()
		return errPower
	}
	d.durable = append([]byte(nil), d.cached...)
	d.dirty = nil
	return nil
}

// Truncate shortens the file, durably.
func (d *Disk) Truncate(size int) {
	d.cached = d.cached[:min(size, len(d.cached))]
	d.durable = append([]byte(nil), d.cached...)
	d.dirty = nil
}

// step counts down to the loss of power.
func (d *Disk) step() bool {
	if d.dies == 0 {
		return false
	}
	d.dies--
	return d.dies == 0
}

// PowerLoss drops, of what was not synced, what the seed draws: of each write all, none, or some of
// its sectors.
func (d *Disk) PowerLoss() {
	for _, i := range d.rand.Perm(len(d.dirty)) {
		w := d.dirty[i]
		switch d.rand.IntN(3) {
		case 0:
			d.durable = put(d.durable, w)
		case 1:
			for from := 0; from < len(w.data); from += sector {
				if d.rand.IntN(2) == 0 {
					d.durable = put(d.durable, write{w.at + from, w.data[from:min(len(w.data), from+sector)]})
				}
			}
		}
	}
	d.cached, d.dirty, d.dies, d.short = append([]byte(nil), d.durable...), nil, 0, -1
}

// put writes into bytes, and what lies between their end and the write is zeros.
func put(to []byte, w write) []byte {
	if end := w.at + len(w.data); end > len(to) {
		to = append(to, make([]byte, end-len(to))...)
	}
	copy(to[w.at:], w.data)
	return to
}
