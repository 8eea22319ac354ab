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
