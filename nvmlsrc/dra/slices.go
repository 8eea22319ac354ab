package dra

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/internal/jsontext"
	"github.com/berth-sched/berth/mig"
)

// A pool is the devices of a driver and a pool of one generation.
type pool struct {
	name       string
	generation int64
	want, have int        // slices
	devices    [][]Device // by slice
	sets       map[string]counts
	line       int
}

// A count is of a counter; counts are sorted by name.
type count struct {
	name  string
	value int64
}

type counts []count

func (l counts) of(name string) (int64, bool) {
	i, found := slices.BinarySearchFunc(l, name, func(c count, name string) int { return strings.Compare(c.name, name) })
	if !found {
		return 0, false
	}
	return l[i].value, true
}

// A slice is a ResourceSlice as it is read.
type slice struct {
	driver, node, pool string
	generation         int64
	want               int
	known              bool
	devices            []Device
	sets               map[string]counts
}

// slice reads a ResourceSlice.
func (r *Reader) slice(c *jsontext.Cursor) error {
	s, line := slice{}, c.Line()
	c.Object(func(key []byte) {
		switch string(key) {
		case "apiVersion":
			s.known = version(c)
		case "spec":
			r.spec(c, &s, line)
		default:
			r.unread(c, key, "a ResourceSlice", " kind metadata ")
		}
	})
	c.End()
	switch {
	case c.Failed():
		return c.Err()
	case !s.known:
		r.skip(line, otherVersion)
	case s.driver != Driver:
		r.skip(line, "devices of the driver ", strconv.Quote(s.driver[:min(len(s.driver), 60)]), " are not read")
	case s.pool == "":
		c.Fail("a ResourceSlice without spec.pool.name")
	case s.want < 1:
		r.skip(line, "a ResourceSlice that does not say of how many its pool is counts as one of one")
		fallthrough
	default:
		r.keep(&s, line)
	}
	return c.Err()
}

func (r *Reader) spec(c *jsontext.Cursor, s *slice, line int) {
	c.Object(func(key []byte) {
		switch string(key) {
		case "driver":
			s.driver = c.Text()
		case "nodeName":
			s.node = c.Text()
		case "pool":
			c.Object(func(key []byte) {
				switch string(key) {
				case "name":
					s.pool = c.Text()
				case "generation":
					s.generation = c.Int()
				case "resourceSliceCount":
					s.want = int(min(max(c.Int(), 0), 1<<20))
				default:
					r.unread(c, key, "a pool", " ")
				}
			})
		case "devices":
			c.List(func(i int) {
				if i == maxDevices {
					c.Fail("more than %d devices in a ResourceSlice", maxDevices)
					return
				}
				r.device(c, s, line)
			})
		case "sharedCounters":
			c.List(func(i int) {
				if i == maxSets {
					c.Fail("more than %d sets of counters in a ResourceSlice", maxSets)
					return
				}
				name, l := r.counterSet(c, "name")
				if s.sets == nil {
					s.sets = map[string]counts{}
				}
				if _, twice := s.sets[name]; twice && !c.Failed() {
					c.Fail("two sets of counters are called %.60q", name)
				}
				s.sets[name] = l
			})
		case "allNodes", "nodeSelector", "perDeviceNodeSelection":
			c.Skip() // a device without a node is told
		default:
			r.unread(c, key, "the spec of a ResourceSlice", " ")
		}
	})
}

// counterSet reads a set of counters, or what a device takes of one.
func (r *Reader) counterSet(c *jsontext.Cursor, nameKey string) (name string, l counts) {
	c.Object(func(key []byte) {
		switch {
		case string(key) == nameKey:
			name = c.Text()
		case string(key) == "counters":
			c.Object(func(key []byte) {
				if len(l) == maxCounter {
					c.Fail("more than %d counters in a set", maxCounter)
					return
				}
				if v, ok := r.value(c); ok {
					l = append(l, count{string(key), v})
				}
			})
		default:
			r.unread(c, key, "a set of counters", " ")
		}
	})
	if name == "" && !c.Failed() {
		c.Fail("a set of counters without %s", nameKey)
	}
	slices.SortFunc(l, func(a, b count) int { return strings.Compare(a.name, b.name) })
	return name, l
}

// value reads {"value": "16Gi"}, or the quantity by itself.
func (r *Reader) value(c *jsontext.Cursor) (v int64, ok bool) {
	if c.Kind() != '{' {
		return r.quantity(c)
	}
	c.Object(func(key []byte) {
		if string(key) == "value" {
			v, ok = r.quantity(c)
			return
		}
		r.unread(c, key, "a capacity", " requestPolicy ")
	})
	return v, ok
}

// quantity reads a whole quantity of Kubernetes. One that is none is told.
func (r *Reader) quantity(c *jsontext.Cursor) (int64, bool) {
	if c.Kind() == 0 && !c.Failed() {
		return c.Int(), !c.Failed()
	}
	text := string(c.Bytes())
	number := strings.TrimRight(text, "KMGTPEkmi")
	v, err := strconv.ParseInt(number, 10, 64)
	unit := int64(0)
	switch text[len(number):] {
	case "":
		unit = 1
	case "k":
		unit = 1000
	case "M":
		unit = 1000_000
	case "G":
		unit = 1000_000_000
	case "Ki":
		unit = 1 << 10
	case "Mi":
		unit = 1 << 20
	case "Gi":
		unit = 1 << 30
	case "Ti":
		unit = 1 << 40
	}
	if err != nil || unit == 0 || v < 0 || v > (1<<62)/max(unit, 1) {
		if !c.Failed() {
			r.skip(c.Line(), "a quantity that is no whole one is not read: ", strconv.Quote(text[:min(len(text), 40)]))
		}
		return 0, false
	}
	return v * unit, true
}

// raw is a device as it stands in the text.
type raw struct {
	Device
	kind, profile string
	sets          int
	untyped       bool
}

// device reads a device. In v1beta1 what it is stands in basic.
func (r *Reader) device(c *jsontext.Cursor, s *slice, line int) {
	d := raw{Device: Device{NUMA: -1, GPU: -1, Line: c.Line()}}
	if c.Kind() != '{' {
		c.Fail("not a device")
		return
	}
	c.Object(func(key []byte) {
		switch string(key) {
		case "name":
			d.Name = c.Text()
		case "basic":
			c.Object(func(key []byte) { r.part(c, &d, key) })
		default:
			r.part(c, &d, key)
		}
	})
	if c.Failed() {
		return
	}
	if d.Name == "" {
		c.Fail("a device without a name")
		return
	}
	if r.settle(&d) {
		s.devices = append(s.devices, d.Device)
	}
}

// part reads a part of a device.
func (r *Reader) part(c *jsontext.Cursor, d *raw, key []byte) {
	switch string(key) {
	case "attributes":
		c.Object(func(key []byte) { r.attribute(c, d, strings.TrimPrefix(string(key), Driver+"/")) })
	case "capacity":
		c.Object(func(key []byte) {
			switch string(key) {
			case "memory", Driver + "/memory":
				if v, ok := r.value(c); ok {
					d.MemoryMiB = v >> 20
				}
			default:
				r.unread(c, bytes.TrimPrefix(key, []byte(Driver+"/")), "the capacity of a device", " multiprocessors copyEngines decoders encoders jpegEngines ofaEngines ")
			}
		})
	case "consumesCounters":
		c.List(func(int) {
			if d.sets++; d.sets > 2 {
				c.Fail("a device takes of more than 2 sets of counters")
				return
			}
			d.set, d.uses = r.counterSet(c, "counterSet")
			if d.Dynamic {
				r.skip(c.Line(), "of the sets of counters that a device takes of the last one counts")
			}
			d.Dynamic = true
		})
	case "taints":
		c.List(func(i int) {
			if i == maxTaints {
				c.Fail("more than %d taints of a device", maxTaints)
				return
			}
			r.taint(c, d)
		})
	case "nodeName":
		d.Node = c.Text()
	case "allowMultipleAllocations":
		d.Shared = c.Bool()
	case "nodeSelector", "allNodes":
		if c.Kind() == '{' || c.Kind() == 't' {
			r.skip(c.Line(), "a device that is on no one node is not read")
			d.untyped = true
		}
		c.Skip()
	default:
		r.unread(c, key, "a device", " bindsToNode bindingConditions bindingFailureConditions nodeAllocatableResourceMappings ")
	}
}

// knownAttributes are those of the driver that say nothing here.
const knownAttributes = " brand architecture cudaComputeCapability cudaDriverVersion driverVersion addressingMode parentUUID " +
	"resource.kubernetes.io/pcieRoot minor index gpuModuleID partition1 partition2 partition4 partition8 partition16 "

// attribute reads {"string": "gpu"} and the like.
func (r *Reader) attribute(c *jsontext.Cursor, d *raw, name string) {
	var text string
	number := int64(-1)
	c.Object(func(key []byte) {
		switch string(key) {
		case "string", "version":
			text = c.Text()
		case "int":
			number = c.Int()
		default:
			r.unread(c, key, "an attribute", " bool strings ints versions bools ")
		}
	})
	switch name {
	case "type":
		d.kind = text
	case "productName":
		d.Product = text
	case "uuid":
		d.UUID = text
	case "profile":
		d.profile = text
	case "resource.kubernetes.io/pciBusID", "pcieBusID", "pciBusID":
		d.PCI = text
	case "resource.kubernetes.io/numaNode", "numaNode":
		d.NUMA = int(min(max(number, -1), 1<<20))
	default:
		if !strings.Contains(knownAttributes, " "+name+" ") {
			r.skip(c.Line(), "the attribute ", name[:min(len(name), 60)], " of a device is not read")
		}
	}
}

// taint reads a taint. One without an effect on scheduling, and of an unknown one, is told.
func (r *Reader) taint(c *jsontext.Cursor, d *raw) {
	var key, effect string
	c.Object(func(k []byte) {
		switch string(k) {
		case "key":
			key = c.Text()
		case "effect":
			effect = c.Text()
		default:
			r.unread(c, k, "a taint", " value timeAdded ")
		}
	})
	switch {
	case c.Failed():
	case effect == "None":
		r.skip(c.Line(), "a taint without effect says nothing: ", strconv.Quote(key[:min(len(key), 60)]))
	case effect == "NoSchedule" || effect == "NoExecute":
		d.Tainted = true
	default:
		r.skip(c.Line(), "a taint of an effect that is not known counts as NoSchedule: ", strconv.Quote(effect[:min(len(effect), 40)]))
		d.Tainted = true
	}
}

// settle finds out which GPU or partition a device is.
func (r *Reader) settle(d *raw) bool {
	number, rest, _ := strings.Cut(strings.TrimPrefix(d.Name, "gpu-"), "-")
	gpu, err := strconv.ParseUint(number, 10, 16)
	switch {
	case d.untyped:
		return false
	case d.kind == "":
		r.skip(d.Line, "a device without the attribute type is not read")
		return false
	case d.kind != "gpu" && d.kind != "mig":
		r.skip(d.Line, "a device of the type ", strconv.Quote(d.kind[:min(len(d.kind), 40)]), " is not read")
		return false
	case err != nil || !strings.HasPrefix(d.Name, "gpu-") || (d.kind == "gpu") != (rest == ""):
		r.skip(d.Line, "a device whose name tells no number of its GPU is not read: ", strconv.Quote(d.Name[:min(len(d.Name), 60)]))
		return false
	}
	d.GPU = int(gpu)
	if d.kind == "gpu" {
		return true
	}
	return r.place(d)
}

// place finds out where a partition is: by its counters, or by the last number of its name, which
// is that of its first memory slice (gpu-0-mig-1g10gb-19-0: profile 19 from slice 0).
func (r *Reader) place(d *raw) bool {
	name, err := mig.ParseProfileName(d.profile)
	if err != nil {
		r.skip(d.Line, "a partition of a profile that is none is not read: ", strconv.Quote(d.profile[:min(len(d.profile), 40)]))
		return false
	}
	product := r.dump.models.of(d.Product)
	if product == nil {
		r.skip(d.Line, "a partition of a product that package mig does not have is not read: ", strconv.Quote(d.Product[:min(len(d.Product), 60)]))
		return false
	}
	at := slices.IndexFunc(product.Profiles, func(p mig.Profile) bool { return p.Name == name })
	if at < 0 {
		r.skip(d.Line, "a partition of a profile that package mig does not have for its product is not read: ", strconv.Quote(d.profile))
		return false
	}
	profile := &product.Profiles[at]
	last, err := strconv.ParseUint(d.Name[strings.LastIndexByte(d.Name, '-')+1:], 10, 8)
	start, size := int(last), profile.MemorySlices
	if strings.Count(d.Name, "-") < 5 || err != nil {
		start = -1
	}
	if d.Dynamic {
		taken := start
		if taken, size = d.uses.slices(); taken != start && start >= 0 {
			r.skip(d.Line, "the name of a partition and its counters tell different places: the counters count")
		}
		start = taken
	}
	if start < 0 || size != profile.MemorySlices || !slices.Contains(profile.Starts, start) {
		r.skip(d.Line, "a partition at a place that package mig does not have is not read: ", strconv.Quote(d.Name[:min(len(d.Name), 60)]))
		return false
	}
	d.Partition = mig.Placement{Profile: name, Start: uint8(start), Size: uint8(size)}
	return true
}

// slices are the memory slices that are taken, by the first and how many; -1: they do not lie one
// behind the other.
func (l counts) slices() (start, size int) {
	mask := uint64(0)
	for _, c := range l {
		if number, is := strings.CutPrefix(c.name, "memory-slice-"); is && c.value > 0 {
			i, err := strconv.ParseUint(number, 10, 8)
			if err != nil || i >= mig.MaxMemorySlices {
				return -1, 0
			}
			mask |= 1 << i
		}
	}
	for start = 0; mask != 0 && mask&1 == 0; mask >>= 1 {
		start++
	}
	for ; mask&1 == 1; mask >>= 1 {
		size++
	}
	if mask != 0 || size == 0 {
		return -1, 0
	}
	return start, size
}

// keep adds a slice to its pool. The latest generation of a pool counts.
func (r *Reader) keep(s *slice, line int) {
	p := r.pools[s.pool]
	switch {
	case p == nil:
		p = &pool{name: s.pool}
		r.pools[s.pool] = p
		r.order = append(r.order, p)
		fallthrough
	case s.generation > p.generation:
		if p.have > 0 {
			r.skip(p.line, "a ResourceSlice of a generation that is over is not read")
		}
		*p = pool{name: s.pool, generation: s.generation, want: s.want, sets: map[string]counts{}, line: line}
	case s.generation < p.generation:
		r.skip(line, "a ResourceSlice of a generation that is over is not read")
		return
	}
	p.have++
	kept := s.devices[:0]
	for _, d := range s.devices {
		d.Pool = s.pool
		if d.Node = cmp.Or(d.Node, s.node); d.Node == "" {
			r.skip(d.Line, "a device that is on no one node is not read")
			continue
		}
		kept = append(kept, d)
	}
	p.devices = append(p.devices, kept)
	for name, l := range s.sets { // each by itself
		if _, twice := p.sets[name]; twice {
			r.skip(line, "a set of counters is told again")
			continue
		}
		p.sets[name] = l
	}
}
