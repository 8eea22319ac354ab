package dra

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/mig"
)

// Dump is what was taken so far. It looks at everything together: which devices there are, whether
// their counters allow what package mig does, and whether what is allocated can be. The API server
// looks at none of that (an allocation of a device that does not exist is bound as any other).
func (r *Reader) Dump() *Dump {
	d := r.dump
	agreed, many := map[string]bool{}, 0
	for _, p := range r.order {
		for _, list := range p.devices {
			many += len(list)
		}
	}
	d.Devices = make([]Device, 0, many)
	for _, p := range r.order {
		if p.have != p.want && p.want > 0 {
			r.skip(p.line, "a pool of which not all ResourceSlices are there")
		}
		r.counters(p, agreed)
		for _, list := range p.devices {
			d.Devices = append(d.Devices, list...)
		}
	}
	slices.SortStableFunc(d.Devices, func(a, b Device) int {
		return cmp.Or(strings.Compare(a.Node, b.Node), cmp.Compare(a.GPU, b.GPU), cmp.Compare(a.Partition.Size, b.Partition.Size), a.Partition.Compare(b.Partition))
	})
	kept := d.Devices[:0]
	for _, device := range d.Devices {
		key := deviceKey{device.Pool, device.Name}
		if _, twice := d.byName[key]; twice {
			r.skip(device.Line, "a device is told again")
			continue
		}
		d.byName[key] = len(kept)
		kept = append(kept, device)
	}
	d.Devices = kept
	r.applyRules()
	r.allocations()
	d.Skipped = d.skipped
	return d
}

// allocations looks for devices that do not exist, and for those that two claims hold.
func (r *Reader) allocations() {
	d := r.dump
	holder := map[deviceKey]int{}
	for i := range d.Claims {
		claim := &d.Claims[i]
		for _, result := range claim.Results {
			key := deviceKey{result.Pool, result.Device}
			at, exists := d.byName[key]
			switch {
			case result.Driver != Driver:
				r.skip(claim.Line, "a claim holds a device of the driver ", strconv.Quote(result.Driver[:min(len(result.Driver), 60)]))
			case result.Admin:
				r.skip(claim.Line, "access for an administrator holds nothing")
			case !exists && len(d.Devices) > 0:
				r.skip(claim.Line, "a claim holds a device that no ResourceSlice has")
			case !exists || result.Part || d.Devices[at].Shared:
			default:
				if _, held := holder[key]; held {
					r.skip(claim.Line, "two claims hold one device, or one claim holds it twice")
				}
				holder[key] = i
			}
		}
	}
}

// counters checks the sets of counters of a pool against what takes of them, and against the
// layouts of package mig.
func (r *Reader) counters(p *pool, agreed map[string]bool) {
	d := r.dump
	bySet := map[string][]*Device{}
	var order []string
	for _, list := range p.devices {
		for i := range list {
			device := &list[i]
			if !device.Dynamic {
				continue
			}
			if bySet[device.set] == nil {
				order = append(order, device.set)
			}
			bySet[device.set] = append(bySet[device.set], device)
		}
	}
	for _, name := range order {
		devices := bySet[name]
		limits, told := p.sets[name]
		if !told {
			r.skip(devices[0].Line, "a device takes of a set of counters that is not there")
			continue
		}
		for _, device := range devices {
			for _, use := range device.uses {
				if limit, is := limits.of(use.name); !is || use.value > limit {
					r.skip(device.Line, "a device takes more of a counter than there is")
					break
				}
			}
		}
		form := formOf(limits, devices)
		same, known := agreed[form]
		if !known {
			same = d.agree(limits, devices)
			agreed[form] = same
		}
		if !same {
			r.skip(devices[0].Line, "the counters of a GPU allow other sets of partitions than package mig: its table counts")
		}
	}
}

// formOf is a text that is the same for GPUs with the same counters and partitions.
func formOf(limits counts, devices []*Device) string {
	var b strings.Builder
	add := func(l counts) {
		for _, c := range l {
			b.WriteString(c.name)
			b.WriteByte('=')
			b.WriteString(strconv.FormatInt(c.value, 10))
			b.WriteByte(',')
		}
		b.WriteByte(';')
	}
	add(limits)
	for _, device := range devices {
		b.WriteString(device.Product)
		b.WriteString(device.Partition.String())
		add(device.uses)
	}
	return b.String()
}

// agree reports whether the counters allow the sets of partitions that package mig does: those that
// are told, of which there may be fewer than the product has. At most as many sets as a lattice may
// have are looked at. O(layouts x partitions x counters).
func (d *Dump) agree(limits counts, devices []*Device) bool {
	var parts []*Device
	for _, device := range devices {
		if device.Partition.Size > 0 {
			parts = append(parts, device)
		}
	}
	if len(parts) == 0 {
		return true
	}
	model := d.models.of(parts[0].Product)
	if model == nil || len(parts) > mig.MaxPlacements || model.divided() == nil {
		return false
	}
	left, same := make([]int64, len(limits)), true
	for i, limit := range limits {
		left[i] = limit.value
	}
	uses := make([][]int64, len(parts)) // of each counter
	for j, part := range parts {
		uses[j] = make([]int64, len(limits))
		for i, limit := range limits {
			uses[j][i], _ = part.uses.of(limit.name)
		}
	}
	take := func(of []int64, sign int64) (fits bool) {
		fits = true
		for i := range left {
			left[i] -= sign * of[i]
			fits = fits && left[i] >= 0
		}
		return fits
	}
	// Each set is reached once, by its partitions in order, and only through sets that both allow.
	var extend func(from int, s mig.State)
	extend = func(from int, s mig.State) {
		for j := from; j < len(parts) && same; j++ {
			next, allowed := model.lattice.Toggle(s, model.number[parts[j].Partition])
			if fits := take(uses[j], 1); fits != allowed {
				same = false
			} else if fits {
				extend(j+1, next)
			}
			take(uses[j], -1)
		}
	}
	extend(0, 0)
	return same
}

// Held is what the claims of a pod hold.
type Held struct {
	// GPUs are whole ones.
	GPUs int
	// Parts says that there are partitions or shares, too.
	Parts bool
	// Untold is how many of its claims are not in the file, or hold nothing yet, or devices of
	// other drivers alone.
	Untold int
}

// Held adds up what the claims of these names in a namespace hold. O(devices).
func (d *Dump) Held(namespace string, claims []string) Held {
	var held Held
	for _, name := range claims {
		at, is := d.ofClaim[[2]string{namespace, name}]
		if !is || !d.Claims[at].Allocated {
			held.Untold++
			continue
		}
		ours := false
		for _, result := range d.Claims[at].Results {
			if result.Driver != Driver || result.Admin {
				continue
			}
			ours = true
			device, exists := d.byName[deviceKey{result.Pool, result.Device}]
			switch {
			case result.Part, exists && (d.Devices[device].Shared || d.Devices[device].Partition.Size > 0),
				!exists && strings.Contains(result.Device, "-mig-"):
				held.Parts = true
			default:
				held.GPUs++
			}
		}
		if !ours {
			held.Untold++
		}
	}
	return held
}

// Nodes are the nodes of the devices, in the order of their names, as the core takes them: their
// GPUs in the order of their numbers, by the names that the driver has for products. A GPU with a
// taint takes no work (Failed): which claims tolerate it is not evaluated. One that a claim has
// partitions of is in GPUModeMIG with these, and so is one of which partitions exist that are not
// made on demand. Nodes of more GPUs than the core takes, of several products, and instances that
// cannot exist together are left out, and told: the second list.
func (d *Dump) Nodes() ([]berth.Node, []Skip) {
	told := slices.Clone(d.skipped)[:0:0]
	allocated := map[int]bool{}
	for i := range d.Claims {
		for _, result := range d.Claims[i].Results {
			if at, exists := d.byName[deviceKey{result.Pool, result.Device}]; exists && result.Driver == Driver && !result.Admin {
				allocated[at] = true
			}
		}
	}
	var nodes []berth.Node
	for at := 0; at < len(d.Devices); {
		end := at
		for end < len(d.Devices) && d.Devices[end].Node == d.Devices[at].Node {
			end++
		}
		node := berth.Node{ID: berth.NodeID(d.Devices[at].Node)}
		var reason string
		if node.GPUs, reason = d.gpus(at, end, allocated); reason != "" {
			told.Add(d.file, d.Devices[at].Line, reason)
		} else {
			nodes = append(nodes, node)
		}
		at = end
	}
	return nodes, told
}

// gpus are those of a node, from its part of the list of devices.
func (d *Dump) gpus(from, end int, allocated map[int]bool) (gpus []berth.GPU, reason string) {
	last := -1
	for at := from; at < end; at++ {
		device := &d.Devices[at]
		if device.GPU != last {
			last = device.GPU
			gpus = append(gpus, berth.GPU{Product: cmp.Or(device.Product, "gpu"), PCI: device.PCI, NUMANode: berth.OrdinalOf(device.NUMA)})
			if model := d.models.of(device.Product); model != nil {
				gpus[len(gpus)-1].MIGTable = model.Name
				gpus[len(gpus)-1].MemoryMiB = model.MemoryMiB
			}
		}
		gpu := &gpus[len(gpus)-1]
		if device.Tainted {
			gpu.Failed = true
		}
		switch {
		case device.Partition.Size == 0:
			gpu.UUID = device.UUID
			gpu.MemoryMiB = cmp.Or(device.MemoryMiB, gpu.MemoryMiB)
		case !device.Dynamic || allocated[at]:
			gpu.Mode = berth.GPUModeMIG
			gpu.Instances = append(gpu.Instances, device.Partition)
		}
		switch {
		case len(gpus) > berth.MaxGPUs:
			return nil, "a node has more GPUs than the core takes: it is left out"
		case gpu.Product != gpus[0].Product:
			return nil, "a node has GPUs of several products: it is left out"
		}
	}
	for i := range gpus {
		gpus[i].MemoryMiB = gpus[0].MemoryMiB
		if len(gpus[i].Instances) == 0 {
			continue
		}
		lattice := d.models.of(gpus[i].Product).divided()
		if lattice == nil {
			return nil, "a node has partitions of a product that does not divide: it is left out"
		}
		if _, err := lattice.StateOf(gpus[i].Instances); err != nil {
			return nil, "a node has partitions that cannot exist together: it is left out"
		}
	}
	return gpus, ""
}
