package main

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/nvmlsrc"
	"github.com/berth-sched/berth/topology/nodegraph"
)

// writeTable writes what a person wants to know, section by section.
func writeTable(w io.Writer, m *machine) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", m.name, m.products())
	if m.Driver != "" {
		fmt.Fprintf(&b, ", driver %s", m.Driver)
	}
	b.WriteString("\n")
	for _, section := range []struct{ title, text string }{
		{"", m.gpuSection()},
		{"UUIDs, as nvidia-smi -L", m.uuidSection()},
		{"Health", m.healthSection()},
		{"Paths between GPUs, as nvidia-smi topo -m", m.linkSection()},
		{"Paths from GPUs to NICs", m.nicPathSection()},
		{"NICs", m.nicSection()},
		{"", m.profileSections()},
		{"MIG instances, as nvidia-smi mig -lgi", m.instanceSection()},
		{"Found", m.findingSection()},
		{"Not answered", strings.Join(m.gaps(), "\n")},
	} {
		text := strings.TrimRight(section.text, "\n")
		if text == "" {
			continue
		}
		b.WriteString("\n")
		if section.title != "" {
			b.WriteString(section.title + "\n")
		}
		b.WriteString(text + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// busID is nvidia-smi's form of a PCI address.
func busID(pci string) string {
	if pci == "" {
		return "N/A"
	}
	return fmt.Sprintf("%16s", strings.ToUpper(strings.Repeat("0", max(0, len("00000000:00:00.0")-len(pci)))+pci))
}

func capability(g *nvmlsrc.GPU) string {
	if g.ComputeMajor == 0 {
		return ""
	}
	return fmt.Sprintf("%d.%d", g.ComputeMajor, g.ComputeMinor)
}

// orNA is a number, or what nvidia-smi says where there is none.
func orNA(o berth.Ordinal) string {
	if o == (berth.Ordinal{}) {
		return "N/A"
	}
	return o.String()
}

func (m *machine) gpuSection() string {
	t := newGrid(">GPU", "Product Name", "Bus-Id", ">Minor", ">FB Memory", ">CC", ">NUMA", "NVLink", "MIG Mode", "Processes")
	for i := range m.GPUs {
		g := &m.GPUs[i]
		mode := "N/A"
		if g.MIG.Capable {
			mode = map[bool]string{true: "Enabled", false: "Disabled"}[g.MIG.Enabled]
			if g.MIG.Pending != g.MIG.Enabled {
				mode += ", other pending"
			}
		}
		if g.Failure != nil {
			mode = "out of work"
		}
		links := ""
		switch {
		case g.NVLink.Switched > 0:
			links = fmt.Sprintf("%d to switch", g.NVLink.Switched)
		case g.NVLink.Direct > 0:
			links = fmt.Sprintf("%d direct", g.NVLink.Direct)
		}
		memory := "N/A"
		if g.MemoryMiB > 0 {
			memory = fmt.Sprintf("%d MiB", g.MemoryMiB)
		}
		t.row(fmt.Sprint(i), product(g), busID(g.PCI), orNA(g.DeviceMinor), memory, capability(g), orNA(g.NUMANode), links, mode, list(g.Processes))
	}
	text := t.String()
	if fabrics := m.fabrics(); len(fabrics) > 0 {
		text += "NVLink fabric: " + strings.Join(fabrics, ", ") + " (cluster.clique)\n"
	}
	return text
}

// fabrics lists the partitions of fabrics that span machines, each once.
func (m *machine) fabrics() []string {
	var fabrics []string
	for i := range m.GPUs {
		if f := m.GPUs[i].NVLink.Fabric; f != "" && !slices.Contains(fabrics, f) {
			fabrics = append(fabrics, f)
		}
	}
	return fabrics
}

// list joins process IDs.
func list(pids []int) string {
	var texts []string
	for _, pid := range pids {
		texts = append(texts, fmt.Sprint(pid))
	}
	if len(texts) > 3 {
		texts = append(texts[:2], fmt.Sprintf("and %d more", len(pids)-2))
	}
	return strings.Join(texts, ", ")
}

func (m *machine) uuidSection() string {
	var b strings.Builder
	for i := range m.GPUs {
		g := &m.GPUs[i]
		fmt.Fprintf(&b, "GPU %d: %s (UUID: %s)\n", i, product(g), g.UUID)
		device := 0
		for _, instance := range g.MIG.Instances {
			for _, uuid := range instance.UUIDs {
				fmt.Fprintf(&b, "  MIG %-11s Device %2d: (UUID: %s)\n", instance.Placement.Profile, device, uuid)
				device++
			}
		}
	}
	return b.String()
}

func (m *machine) healthSection() string {
	t := newGrid(">GPU", ">Temp", ">Power", ">FB Used", ">ECC vol.", ">aggr.", "Remapped Rows", "NVLink Errors", "Clocks", "Recovery Action")
	for i := range m.health.GPUs {
		h := &m.health.GPUs[i]
		if h.Failure != nil {
			continue
		}
		rows := fmt.Sprintf("%d corr., %d unc.", h.Rows.Corrected, h.Rows.Uncorrected)
		if h.Rows.Pending {
			rows += ", pending"
		}
		if h.Rows.Failed {
			rows += ", failed"
		}
		errors := ""
		if h.Links.Active > 0 {
			errors = fmt.Sprint(h.Links.Errors)
		}
		t.row(fmt.Sprint(i), fmt.Sprintf("%d C", h.TemperatureC), fmt.Sprintf("%.0f W", float64(h.PowerMilliwatts)/1000),
			fmt.Sprintf("%d MiB", h.MemoryUsedMiB), fmt.Sprint(h.ECC.Volatile), fmt.Sprint(h.ECC.Aggregate), rows, errors,
			h.Clocks.String(), h.Recovery.String())
	}
	return t.String()
}

func (m *machine) linkSection() string {
	if len(m.GPUs) < 2 {
		return ""
	}
	cells := m.cells()
	headings := []string{""}
	for i := range m.GPUs {
		headings = append(headings, m.deviceName(i))
	}
	t := newGrid(append(headings, "CPU Affinity", ">NUMA Affinity")...)
	for i := range m.GPUs {
		cpus, numa := m.affinity(i)
		t.row(append(append([]string{m.deviceName(i)}, cells[i][:len(m.GPUs)]...), cpus, numa)...)
	}
	return t.String()
}

func (m *machine) nicPathSection() string {
	if len(m.NICs) == 0 || len(m.GPUs) == 0 {
		return ""
	}
	cells := m.cells()
	headings := []string{""}
	for i := range m.NICs {
		headings = append(headings, fmt.Sprintf("NIC%d", i))
	}
	t := newGrid(headings...)
	for i := range m.GPUs {
		t.row(append([]string{m.deviceName(i)}, cells[i][len(m.GPUs):]...)...)
	}
	return t.String()
}

func (m *machine) nicSection() string {
	t := newGrid("", "Name", "Bus-Id", ">NUMA", ">Rate", "State", ">Rail", "Nearest GPUs")
	for i := range m.NICs {
		nic := &m.NICs[i]
		state, rate, rail := "down", "", ""
		if nic.Active {
			state = "active"
		}
		if nic.MbitPerSecond > 0 {
			rate = fmt.Sprintf("%g Gb/s", float64(nic.MbitPerSecond)/1000)
		}
		if nic.Rail != (berth.Ordinal{}) {
			rail = fmt.Sprint(nic.Rail)
		}
		t.row(fmt.Sprintf("NIC%d", i), nic.Name, busID(nic.PCI), orNA(nic.NUMANode), rate, state, rail, nearest(nic.Paths))
	}
	return t.String()
}

// nearest names the GPUs to which a NIC has the shortest path.
func nearest(paths []nodegraph.PathKind) string {
	best := slices.Max(append([]nodegraph.PathKind{nodegraph.PathNone}, paths...))
	if best <= nodegraph.PathSYS {
		return "none"
	}
	var set berth.GPUSet
	for i, kind := range paths {
		if kind == best {
			one, _ := berth.NewGPUSet(i) // a machine may have more GPUs than a set
			set |= one
		}
	}
	return fmt.Sprintf("%v (%v)", set, best)
}

// profilesOf is how a GPU divides: as its driver reports it or, where that says too
// little, as package mig has it.
func profilesOf(g *nvmlsrc.GPU) []mig.Profile {
	table, err := mig.ProductFromReport(g.MIG.Report)
	if err != nil {
		table, _ = mig.LookupDevice(g.Product)
	}
	return table.Profiles
}

// profileSections lists the profiles, once for all GPUs that divide alike.
func (m *machine) profileSections() string {
	var b strings.Builder
	var done berth.GPUSet
	for i := range m.GPUs {
		profiles := profilesOf(&m.GPUs[i])
		if done.Has(i) || !m.GPUs[i].MIG.Capable || len(profiles) == 0 {
			continue
		}
		var alike berth.GPUSet
		for j := range m.GPUs {
			if m.GPUs[j].MIG.Capable && reflect.DeepEqual(profilesOf(&m.GPUs[j]), profiles) {
				one, _ := berth.NewGPUSet(j)
				alike |= one
			}
		}
		done |= alike
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "MIG profiles of GPU %v, as nvidia-smi mig -lgip and -lgipp\n", alike)
		b.WriteString(profileGrid(profiles))
	}
	return b.String()
}

func profileGrid(profiles []mig.Profile) string {
	t := newGrid("Name", ">ID", ">Instances", ">Memory", ">SM", ">DEC", ">ENC", ">CE", ">JPEG", ">OFA", "Placements")
	for _, p := range profiles {
		var starts []string
		for _, start := range p.Starts {
			starts = append(starts, fmt.Sprint(start))
		}
		t.row("MIG "+p.Name.String(), fmt.Sprint(p.ID), fmt.Sprint(p.MaxCount), fmt.Sprintf("%.2f GiB", float64(p.MemoryMiB)/1024), fmt.Sprint(p.SMs),
			fmt.Sprint(p.Engines.NVDEC), fmt.Sprint(p.Engines.NVENC), fmt.Sprint(p.Engines.Copy), fmt.Sprint(p.Engines.JPEG), fmt.Sprint(p.Engines.OFA),
			fmt.Sprintf("{%s}:%d", strings.Join(starts, ","), p.MemorySlices))
	}
	return t.String()
}

func (m *machine) instanceSection() string {
	t := newGrid(">GPU", "Name", ">Profile ID", ">Instance ID", "Placement", "Processes")
	for i := range m.GPUs {
		for _, instance := range m.GPUs[i].MIG.Instances {
			t.row(fmt.Sprint(i), "MIG "+instance.Placement.Profile.String(), fmt.Sprint(instance.Profile), fmt.Sprint(instance.ID),
				fmt.Sprintf("%d:%d", instance.Start, instance.Size), list(instance.Processes))
		}
	}
	return t.String()
}

func (m *machine) findingSection() string {
	var b strings.Builder
	for _, f := range m.health.Findings {
		b.WriteString(f.String() + "\n")
	}
	return b.String()
}
