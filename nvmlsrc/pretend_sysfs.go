package nvmlsrc

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
	"testing/fstest"
)

// A place is where a device of a pretended machine hangs.
type place struct {
	domain uint32 // PCI
	numa   int
	cpus   string
	path   string // in sysfs, down to the port that the device is at
}

// A pretendNIC is an RDMA adapter, or one port of it.
type pretendNIC struct {
	name string
	at   address
	place
	gbit int
}

// behind is a port of a host bridge.
func (p place) behind(root, port uint32) place {
	p.path = fmt.Sprintf("devices/pci%04x:%02x/%s", p.domain, root, address{domain: p.domain, bus: root, device: port})
	return p
}

// below is a port of a switch that hangs at the place so far, and whose own end is on
// the bus.
func (p place) below(bus, port uint32) place {
	up, down := address{domain: p.domain, bus: bus}, address{domain: p.domain, bus: bus + 1, device: port}
	p.path = path.Join(p.path, up.String(), down.String())
	return p
}

// sysfs is the part of sysfs that tells where GPUs and NICs hang.
func (p *FakeMachine) sysfs() fstest.MapFS {
	files := fstest.MapFS{}
	for _, g := range p.gpus {
		g.place.describe(files, g.at, "0x10de", "0x030200")
	}
	for _, n := range p.nics {
		device := n.describe(files, n.at, "0x15b3", "0x020700")
		text := func(name, content string) {
			files[path.Join(device, "infiniband", n.name, name)] = &fstest.MapFile{Data: []byte(content + "\n")}
		}
		text("ports/1/rate", fmt.Sprintf("%d Gb/sec (4X)", n.gbit))
		text("ports/1/state", "4: ACTIVE")
		text("ports/1/link_layer", "InfiniBand")
		symlink(files, "class/infiniband/"+n.name, path.Join(device, "infiniband", n.name))
	}
	return files
}

// describe writes what sysfs has of each PCI device, and returns its folder.
func (p place) describe(files fstest.MapFS, at address, vendor, class string) string {
	device := path.Join(p.path, at.String())
	for name, content := range map[string]string{
		"numa_node": fmt.Sprint(p.numa), "local_cpulist": p.cpus, "vendor": vendor, "class": class,
	} {
		files[path.Join(device, name)] = &fstest.MapFile{Data: []byte(content + "\n")}
	}
	symlink(files, "bus/pci/devices/"+at.String(), device)
	return device
}

// symlink makes a symbolic link, which sysfs keeps relative.
func symlink(files fstest.MapFS, name, target string) {
	up := strings.Repeat("../", strings.Count(name, "/"))
	files[name] = &fstest.MapFile{Data: []byte(up + target), Mode: fs.ModeSymlink | 0o777}
}
