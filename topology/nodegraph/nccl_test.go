package nodegraph

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Two cpus; below the first a switch with a second one in it, an NVLink pair, a NIC
// with two ports and one on the cpu itself; GPUs numbered against their order.
const tree = `<?xml version="1.0"?>
<system version="1">
  <cpu numaid="0" arch="x86_64">
    <pci busid="0000:0A:00.0" class="0x060400" link_speed="16 GT/s" link_width="16">
      <pci busid="0000:0B:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
        <gpu dev="1" sm="80"><nvlink target="0000:0e:00.0" count="6" tclass="0x030200"/><c2c/></gpu>
      </pci>
      <pci busid="0000:0c:00.0" class="0x060400">
        <pci busid="0000:0d:00.0" class="0x020000" link_speed="8 GT/s" link_width="8">
          <nic><net name="mlx5_0" speed="200000"/><net name="mlx5_1" speed="25000"/></nic>
        </pci>
        <pci busid="0000:0e:00.0" class="0x030200" link_speed="16 GT/s" link_width="16">
          <gpu dev="0"><nvlink target="0000:0B:00.0" count="6"/><nvlink target="0000:0E:00.0" count="2"/></gpu>
        </pci>
      </pci>
    </pci>
    <nic><net name="eth0" speed="100000"/></nic>
    <pci busid="0000:0f:00.0" class="0x010802"/>
  </cpu>
  <cpu numaid="1">
    <pci busid="0000:8a:00.0" class="0x030000" link_speed="Unknown speed" link_width="16"><gpu dev="2"/></pci>
    <pci busid="0000:8b:00.0" class="0x020700" link_speed="" link_width="0"><nic/></pci>
  </cpu>
</system>
`

func TestNCCL(t *testing.T) {
	spec, err := ParseNCCL("topo.xml", tree)
	require.NoError(t, err)
	require.Equal(t, []GPUSpec{
		{Bus: "0000:0e:00.0", NUMA: NUMANodeOf(0), PCIeMBps: 31_507},
		{Bus: "0000:0b:00.0", NUMA: NUMANodeOf(0), PCIeMBps: 31_507},
		{Bus: "0000:8a:00.0", NUMA: NUMANodeOf(1)},
	}, spec.GPUs)
	require.Equal(t, [][]Link{
		{{}, {PathNVLink, 6}, {Kind: PathSYS}},
		{{PathNVLink, 6}, {}, {Kind: PathSYS}},
		{{Kind: PathSYS}, {Kind: PathSYS}, {}},
	}, spec.Links)
	require.Equal(t, []NICSpec{
		{Name: "mlx5_0", NUMA: NUMANodeOf(0), MBps: 7_876, Paths: []PathKind{PathPIX, PathPXB, PathSYS}},
		{Name: "mlx5_1", NUMA: NUMANodeOf(0), MBps: 3_125, Paths: []PathKind{PathPIX, PathPXB, PathSYS}},
		{Name: "eth0", NUMA: NUMANodeOf(0), MBps: 12_500, Paths: []PathKind{PathPHB, PathPHB, PathSYS}},
		{Name: "0000:8b:00.0", NUMA: NUMANodeOf(1), Paths: []PathKind{PathSYS, PathSYS, PathPHB}},
	}, spec.NICs)
	g := graphOf(t, spec)
	require.Equal(t, []int{0, 1, 3}, g.Rails())

	for _, end := range []string{`<nvlink target="0000:0B:00.0" count="6"/>`, `<nvlink target="0000:0e:00.0" count="6" tclass="0x030200"/>`} {
		one := strings.Replace(tree, end, "", 1)
		require.NotEqual(t, tree, one)
		again, err := ParseNCCL("topo.xml", one)
		require.NoError(t, err)
		require.Equal(t, spec, again, "links told of at one end")
	}
}

// GPUs that name switches are joined by them.
func TestNCCLSwitched(t *testing.T) {
	link := `<nvlink target="ff" count="9" tclass="0x068000"/>`
	text := `<system><cpu numaid="-1">`
	for _, bus := range []string{"4", "3", "2", "1"} {
		text += `<pci busid="` + bus + `" class="0x030200"><gpu>` + link + link + `</gpu></pci>`
	}
	spec, err := ParseNCCL("", text+`</cpu></system>`)
	require.NoError(t, err)
	require.Equal(t, GPUSpec{Bus: "1"}, spec.GPUs[0], "by address where there are no indexes")
	spec.Product = "H200"
	g := graphOf(t, spec)
	require.Equal(t, Link{PathNVSwitch, 18}, g.Link(0, 3))
	require.Equal(t, int64(450_000), g.AllReduceMBps(0b1111))
}

// Trays of four GPUs behind switches, as NCCL dumps them: the NVLinks of one GPU are gone.
func TestNCCLOneGPUOffNVLink(t *testing.T) {
	text := "<system>\n"
	for gpu, bus := range []string{"0008:06:00.0", "0009:06:00.0", "0018:06:00.0", "0019:06:00.0"} {
		link := `<nvlink target="fffffff:ff:ff.0" count="18" tclass="0x068000"/>`
		if gpu == 1 {
			link = ""
		}
		text += `<cpu numaid="` + strconv.Itoa(gpu/2) + `" arch="arm64"><pci busid="` + bus + `" class="0x030200" link_speed="64.0 GT/s PCIe" link_width="16">` +
			"\n" + `<gpu dev="` + strconv.Itoa(gpu) + `" sm="103">` + link + `<c2c bw="44712" count="5"/></gpu></pci></cpu>` + "\n"
	}
	spec, err := ParseNCCL("tray.xml", text+"</system>")
	require.NoError(t, err)
	require.False(t, spec.NVLinksUntold)
	require.Equal(t, []Skip{{File: "tray.xml", Line: 3, Reason: "the element c2c in gpu is not read", Count: 4}}, spec.Skipped)
	spec.Product = "NVIDIA GB300"
	g := graphOf(t, spec)
	require.Equal(t, "NVS18", g.Link(0, 3).String())
	require.Equal(t, "SYS", g.Link(1, 3).String())
	one, _ := g.Best(g.All(), 1)
	require.Equal(t, set(1), one)
	require.Equal(t, int64(900_000), g.AllReduceMBps(set(0, 2, 3)))
}

// AMD's links join GPUs as NVLinks do.
func TestRCCLLinksJoin(t *testing.T) {
	buses := []string{"0000:05:00.0", "0000:26:00.0", "0000:46:00.0", "0000:65:00.0"}
	text := "<system>"
	for gpu, bus := range buses {
		text += `<cpu numaid="` + strconv.Itoa(gpu/2) + `"><pci busid="` + bus + `" class="0x038000" vendor="0x1002" link_speed="32.0 GT/s PCIe" link_width="16"><gpu dev="` + strconv.Itoa(gpu) + `" sm="94" gcn="gfx942">`
		for peer, target := range buses {
			if peer != gpu {
				text += `<xgmi target="` + target + `" count="1" tclass="0x038000"/>`
			}
		}
		text += "</gpu></pci></cpu>"
	}
	spec, err := ParseNCCL("rccl.xml", text+"</system>")
	require.NoError(t, err)
	require.Empty(t, spec.Skipped)
	spec.Product = "AMD Instinct MI300X"
	g := graphOf(t, spec)
	require.Equal(t, Link{PathNVLink, 1}, g.Link(0, 3))
	require.Equal(t, []uint64{0b1111}, g.islands)
	require.Equal(t, int64(64_000), g.AllReduceMBps(set(0, 1)))
}

// Files that are published for NCCL_TOPO_FILE have no NVLinks and no gpu: classes tell what is
// what, and nothing tells that the machine has no NVLinks.
func TestNCCLFileOfACloud(t *testing.T) {
	const text = `<system>
  <cpu numaid="0">
    <pci busid="ffff:ff:01.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0001:00:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16"/>
      <pci busid="0101:00:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16"/>
      <pci busid="0102:00:00.0" class="0x020000" link_speed="32.0 GT/s PCIe" link_width="16"/>
    </pci>
    <pci busid="0002:00:00.0" class="0x030000" vendor="0x10de"/>
    <pci busid="0003:00:00.0" class="0x030000" vendor="0x1a03"/>
    <pci busid="0004:00:00.0" class="0x010802"/>
  </cpu>
</system>`
	spec, err := ParseNCCL("cloud.xml", text)
	require.NoError(t, err)
	require.True(t, spec.NVLinksUntold)
	require.Len(t, spec.GPUs, 2, "a console of the board is none")
	require.Equal(t, "0002:00:00.0", spec.GPUs[1].Bus)
	require.Len(t, spec.NICs, 2)
	require.Equal(t, PathPIX, spec.NICs[1].Paths[0])

	dumped := strings.Replace(text, `class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16"/>`, `class="0x030200"><gpu dev="0" sm="90"/></pci>`, 1)
	dumped = strings.Replace(dumped, `vendor="0x10de"/>`, `vendor="0x10de"><gpu dev="1" sm="90"/></pci>`, 1)
	spec, err = ParseNCCL("dump.xml", dumped)
	require.NoError(t, err)
	require.False(t, spec.NVLinksUntold, "NCCL had asked the driver")
}

// Links to CPUs, as Power has them, join no GPUs.
func TestNCCLLinksToCPUs(t *testing.T) {
	text := "<system>"
	for cpu, pair := range [][2]string{{"0004:04:00.0", "0004:05:00.0"}, {"0035:03:00.0", "0035:04:00.0"}} {
		text += `<cpu numaid="` + strconv.Itoa(8*cpu) + `" arch="ppc64">` + "\n"
		for i, bus := range pair {
			text += `<pci busid="` + bus + `" class="0x030200"><gpu dev="` + strconv.Itoa(2*cpu+i) + `" sm="70">` +
				`<nvlink target="` + pair[1-i] + `" count="3" tclass="0x030200"/><nvlink target="0004:00:01.0" count="3" tclass="0x068001"/></gpu></pci>` + "\n"
		}
		text += "</cpu>"
	}
	spec, err := ParseNCCL("power.xml", text+"</system>")
	require.NoError(t, err)
	require.Equal(t, [][]Link{
		{{}, {PathNVLink, 3}, {Kind: PathSYS}, {Kind: PathSYS}},
		{{PathNVLink, 3}, {}, {Kind: PathSYS}, {Kind: PathSYS}},
		{{Kind: PathSYS}, {Kind: PathSYS}, {}, {PathNVLink, 3}},
		{{Kind: PathSYS}, {Kind: PathSYS}, {PathNVLink, 3}, {}},
	}, spec.Links)
	require.Equal(t, []Skip{{File: "power.xml", Line: 2, Reason: "NVLinks to a CPU join no GPUs", Count: 4}}, spec.Skipped)
}

func TestNCCLRefusals(t *testing.T) {
	deep := strings.Repeat(`<pci busid="a">`, maxDepth+1)
	many := ""
	for i := range maxGPUs + 1 {
		many += `<pci busid="` + strconv.Itoa(i) + `" class="0x0302"/>`
	}
	for _, bad := range []struct {
		text, field string
		kind        error
	}{
		{`<graphs version="1"></graphs>`, "graphs", ErrNCCLGraph},
		{`<html/>`, "html", ErrSyntax},
		{``, "", ErrSyntax},
		{`<system>`, "", ErrSyntax},
		{`<system><cpu numaid="0" numaid="1"/></system>`, "", ErrSyntax},
		{`<system></cpu>`, "", ErrSyntax},
		{`<system/><system/>`, "system", ErrSyntax},
		{`<?xml version="1.0" encoding="latin1"?><system/>`, "", ErrSyntax},
		{`<system/>`, "system", ErrInvalid},
		{`<system><cpu/></system>`, "cpu.numaid", ErrSyntax},
		{`<system><cpu numaid="4096"/></system>`, "cpu.numaid", ErrSyntax},
		{`<system><pci busid="a"/></system>`, "pci", ErrInvalid},
		{`<system><cpu numaid="0"><gpu/></cpu></system>`, "gpu", ErrInvalid},
		{`<system><cpu numaid="0"><pci/></cpu></system>`, "pci.busid", ErrSyntax},
		{`<system><cpu numaid="0"><pci busid="a" link_speed="8.x GT/s"/></cpu></system>`, "pci.link_speed", ErrSyntax},
		{`<system><cpu numaid="0"><pci busid="a" link_speed="8 GT/s" link_width="many"/></cpu></system>`, "pci.link_width", ErrSyntax},
		{`<system><cpu numaid="0"><pci busid="a"><gpu dev="x"/></pci></cpu></system>`, "gpu.dev", ErrSyntax},
		{`<system><cpu numaid="0"><pci busid="a"><gpu/><gpu/></pci></cpu></system>`, "gpu", ErrInvalid},
		{`<system><cpu numaid="0"><pci busid="a"><gpu/><nic/></pci></cpu></system>`, "nic", ErrInvalid},
		{`<system><cpu numaid="0"><pci busid="a"><gpu/></pci><pci busid="A"><gpu/></pci></cpu></system>`, "pci.busid", ErrInvalid},
		{`<system><cpu numaid="0"><pci busid="a"><gpu dev="0"/></pci><pci busid="b"><gpu dev="0"/></pci></cpu></system>`, "gpu.dev", ErrInvalid},
		{`<system><cpu numaid="0"><pci busid="a"><gpu dev="0"/></pci><pci busid="b"><gpu/></pci></cpu></system>`, "gpu.dev", ErrInvalid},
		{`<system><cpu numaid="0"><pci busid="a"><gpu><nvlink count="0"/></gpu></pci></cpu></system>`, "nvlink.count", ErrSyntax},
		{`<system><cpu numaid="0"><pci busid="a"><gpu><nvlink count="60" tclass="0x068000"/><nvlink count="60" tclass="0x068000"/></gpu></pci></cpu></system>`, "nvlink.count", ErrInvalid},
		{`<system><cpu numaid="0"><pci busid="a"><gpu><nvlink target="b" count="1"/></gpu></pci><pci busid="b"><gpu><nvlink target="a" count="2"/></gpu></pci></cpu></system>`, "nvlink.count", ErrInvalid},
		{`<system><cpu numaid="0"><nic><net/></nic></cpu></system>`, "net.name", ErrSyntax},
		{`<system><cpu numaid="0"><nic><net name="a" speed="fast"/></nic></cpu></system>`, "net.speed", ErrSyntax},
		{`<system><cpu numaid="0">` + deep, "pci", ErrTooLarge},
		{`<system><cpu numaid="0">` + strings.Repeat(`<pci busid="a"/>`, maxPCIs+1), "pci", ErrTooLarge},
		{`<system><cpu numaid="0">` + many, "gpu", ErrTooLarge},
		{`<system><cpu numaid="0">` + strings.Repeat(`<nic><net name="a"/></nic>`, maxNICs+1), "nic", ErrTooLarge},
	} {
		spec, err := ParseNCCL("topo.xml", bad.text)
		require.Zero(t, spec)
		var typed *Error
		require.ErrorAs(t, err, &typed, bad.text)
		require.NotEmpty(t, typed.Reason)
		require.NotZero(t, typed.Line)
		require.ErrorIs(t, err, bad.kind, bad.text)
		require.Equal(t, bad.field, typed.Field, bad.text)
	}
	_, err := ParseNCCL("topo.xml", "<system>\n  <cpu numaid=\"0\">\n    <pci busid=\"a\">\n      <gpu dev=\"x\"/>")
	require.EqualError(t, err, `nodegraph: topo.xml:4:7: gpu.dev: not an index: "x"`)
}

func FuzzParseNCCL(f *testing.F) {
	f.Add(tree)
	f.Add(`<system><cpu numaid="0"><pci busid="a" class="0x030200"/><pci busid="b" class="0x0207"/></cpu></system>`)
	f.Add(`<graphs version="1"/>`)
	f.Fuzz(func(t *testing.T, text string) {
		requireParsed(t, text, ParseNCCL)
	})
}
