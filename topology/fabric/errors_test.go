package fabric

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// A refusal is an input, and what a reader has to say about it.
type refusal struct {
	name, input string
	line        int
	field       string
	kind        error
	reason      string
}

func refuses(t *testing.T, read func(file string, r io.Reader) (*Fabric, error), cases []refusal) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f, err := read("some.file", strings.NewReader(c.input))
			require.Nil(t, f)
			var got *Error
			require.ErrorAs(t, err, &got)
			require.ErrorIs(t, err, c.kind)
			require.Equal(t, "some.file", got.File)
			require.Equal(t, c.line, got.Line, err)
			require.Equal(t, c.field, got.Field)
			require.Contains(t, got.Reason, c.reason)
		})
	}
}

func TestSlurmConfRefusals(t *testing.T) {
	long := strings.Repeat("s", 65)
	refuses(t, ReadSlurmConf, []refusal{
		{"empty", "", 0, "", ErrInvalid, "neither a SwitchName nor a BlockName"},
		{"comments alone", "# SwitchName=a Nodes=b\n", 0, "", ErrInvalid, "neither a SwitchName nor a BlockName"},
		{"no key", "SwitchName=a Nodes=b\n\nswitches", 3, "", ErrSyntax, "not of the form key=value"},
		{"no equals", "SwitchName=a Nodes b", 1, "", ErrSyntax, "not of the form key=value"},
		{"equals first", "=a", 1, "", ErrSyntax, "not of the form key=value"},
		{"first key", "Nodes=b SwitchName=a", 1, "nodes", ErrSyntax, "a line starts with SwitchName"},
		{"unknown key", "SwitchName=a Node=b", 1, "node", ErrSyntax, "a switch has Switches, Nodes and LinkSpeed"},
		{"key twice", "SwitchName=a nodes=b NODES=c", 1, "nodes", ErrDuplicate, "twice"},
		{"open quote", `SwitchName=a Nodes="b`, 1, "Nodes", ErrSyntax, "a quote is not closed"},
		{"many keys", "a=1 b=1 c=1 d=1 e=1 f=1 g=1 h=1 i=1", 1, "i", ErrSyntax, "more than 8 keys"},
		{"include", "SwitchName=a Nodes=b\nInclude /etc/slurm/more.conf", 2, "Include", ErrUnsupported, "other files are not read"},
		{"ring", "RingName=r Nodes=a[1-8]", 1, "ringname", ErrUnsupported, "rings and tori"},
		{"switches and blocks", "SwitchName=a Nodes=b\nBlockName=c Nodes=d", 2, "BlockName", ErrUnsupported, "both blocks and switches"},
		{"blocks and switches", "BlockName=c Nodes=d\nSwitchName=a Nodes=b", 2, "SwitchName", ErrUnsupported, "both blocks and switches"},
		{"sizes and switches", "SwitchName=a Nodes=b\nBlockSizes=4", 2, "BlockSizes", ErrUnsupported, "both blocks and switches"},
		{"speed", "SwitchName=a Nodes=b LinkSpeed=fast", 1, "LinkSpeed", ErrInvalid, "not a whole number of 32 bits"},
		{"no name", `SwitchName="" Nodes=b`, 1, "", ErrInvalid, "a name is empty"},
		{"long name", "SwitchName=" + long + " Nodes=b", 1, "", ErrLimit, "65 bytes"},
		{"bad name", "SwitchName=a[1-2] Nodes=b", 1, "", ErrInvalid, "a character that host lists cannot carry"},
		{"no UTF-8", "SwitchName=a Nodes=\xff", 1, "Nodes", ErrInvalid, "a character that host lists cannot carry"},
		{"escaped sign", `SwitchName=a Nodes=b\#c`, 1, "Nodes", ErrInvalid, "a character that host lists cannot carry"},
		{"switch twice", "SwitchName=a Nodes=b\nSwitchName=a Nodes=c", 2, "", ErrDuplicate, "described twice"},
		{"blank in a list", "SwitchName=a Nodes=b\nSwitchName=c Switches=a,\\\n  d", 2, "", ErrSyntax, `"d" is not of the form`},
		{"unknown switch", "SwitchName=c \\\n Switches=d", 1, "Switches", ErrUnknown, `"d" is described nowhere`},
		{"two parents", "SwitchName=a Nodes=b\nSwitchName=c Switches=a\nSwitchName=d Switches=a", 3, "Switches", ErrConflict, `below both "c" and "d"`},
		{"child twice", "SwitchName=a Nodes=b\nSwitchName=c Switches=a,a", 2, "Switches", ErrDuplicate, "twice below"},
		{"own child", "SwitchName=a Switches=a", 1, "", ErrInvalid, `"a" is above itself`},
		{"ring of switches", "SwitchName=x Nodes=n\nSwitchName=below Nodes=m\nSwitchName=a Switches=b,below\nSwitchName=b Switches=a", 3, "", ErrInvalid, `"a" is above itself`},
		{"node twice", "SwitchName=a Nodes=b,b", 1, "Nodes", ErrDuplicate, `"b" is named twice`},
		{"direct name taken", "SwitchName=a Nodes=b Switches=a-direct\nSwitchName=a-direct Nodes=c", 1, "", ErrConflict, `would be the domain "a-direct"`},
		{"ambiguous rails", "SwitchName=a+b Nodes=x\nSwitchName=a Nodes=y\nSwitchName=b Nodes=y", 2, "", ErrConflict, "ambiguous: a+b"},
		{"plus in rails", "SwitchName=a+b Nodes=x\nSwitchName=c Nodes=x", 1, "", ErrConflict, "ambiguous: a+b+c"},
		{"backwards", "SwitchName=a Nodes=n[3-1]", 1, "Nodes", ErrSyntax, `"3-1" runs backwards`},
		{"no number", "SwitchName=a Nodes=n[1-x]", 1, "Nodes", ErrSyntax, "neither a number nor a range"},
		{"empty brackets", "SwitchName=a Nodes=n[]", 1, "Nodes", ErrSyntax, "neither a number nor a range"},
		{"open bracket", "SwitchName=a Nodes=n[1-3", 1, "Nodes", ErrSyntax, "do not pair up"},
		{"close bracket", "SwitchName=a Nodes=n1]", 1, "Nodes", ErrSyntax, "do not pair up"},
		{"nested", "SwitchName=a Nodes=n[1[2]]", 1, "Nodes", ErrSyntax, "do not pair up"},
		{"nothing between commas", "SwitchName=a Nodes=n1,,n2", 1, "Nodes", ErrInvalid, "a name is empty"},
		{"bomb", "SwitchName=a Nodes=n[1-999999999]", 1, "Nodes", ErrLimit, "too many nodes"},
		{"product bomb", "SwitchName=a Nodes=n[1-9999][1-9999][1-9999]", 1, "Nodes", ErrLimit, "too many nodes"},
		{"many lists", strings.Repeat("SwitchName=a Nodes=n[1-300000]\n", 5), 2, "Nodes", ErrLimit, "too many nodes"},
		{"many nodes", "SwitchName=a Nodes=n[1-80000]", 1, "", ErrLimit, "stands for too much"},
		{"many nodes of blocks", "BlockName=a Nodes=n[1-262145]", 0, "", ErrLimit, "more than 262144 nodes"},
		{"long number", "SwitchName=a Nodes=n[1-9999999999999999999]", 1, "Nodes", ErrSyntax, "neither a number nor a range"},
		{"deep", deepTree(), 0, "", ErrLimit, "17 levels deep"},
		{"block key", "BlockName=a Switches=b", 1, "switches", ErrSyntax, "a block has Nodes"},
		{"no nodes in blocks", "BlockName=a\nBlockName=b Nodes=", 0, "", ErrInvalid, "no block has nodes"},
		{"block twice", "BlockName=a Nodes=x\nBlockName=a Nodes=y", 2, "", ErrDuplicate, "there twice"},
		{"node in two blocks", "BlockName=a Nodes=x\nBlockName=b Nodes=x", 2, "", ErrDuplicate, `in "a" and in "b"`},
		{"sizes twice", "BlockSizes=2\nBlockSizes=2", 2, "BlockSizes", ErrDuplicate, "twice"},
		{"sizes not alone", "BlockSizes=2 Nodes=a", 1, "nodes", ErrSyntax, "stands alone"},
		{"size no number", "BlockSizes=2,many", 1, "BlockSizes", ErrInvalid, `"many" is not a whole number`},
		{"size zero", "BlockName=a Nodes=x\nBlockSizes=0", 2, "BlockSizes", ErrInvalid, "not within"},
		{"size no power", "BlockName=a Nodes=x[1-9]\nBlockSizes=2,6", 2, "BlockSizes", ErrInvalid, "6 is not 2 times a power of two"},
		{"size below the first", "BlockName=a Nodes=x[1-9]\nBlockSizes=8,2,4", 2, "BlockSizes", ErrInvalid, "2 is not 8 times"},
		{"size far above the first", "BlockName=a Nodes=x[1-9]\nBlockSizes=1,65536", 2, "BlockSizes", ErrLimit, "65536 is more than 32768 times 1"},
	})
}

// deepTree has a switch more above each other than a fabric has levels.
func deepTree() string {
	var b strings.Builder
	for i, name := range numbered("s", maxLevels+1) {
		if i == 0 {
			b.WriteString("SwitchName=s0 Nodes=n\n")
			continue
		}
		b.WriteString("SwitchName=" + name + " Switches=" + numbered("s", i)[i-1] + "\n")
	}
	return b.String()
}

func TestTooManyRails(t *testing.T) {
	var b strings.Builder
	for _, name := range numbered("s", maxRails+1) {
		b.WriteString("SwitchName=" + name + " Nodes=n\n")
	}
	_, err := ReadSlurmConf("rails", strings.NewReader(b.String()))
	require.ErrorIs(t, err, ErrLimit)
	require.ErrorContains(t, err, "rails:65: Nodes: ")
}

func TestInputLimits(t *testing.T) {
	_, err := ReadSlurmConf("big", io.LimitReader(repeating("# nothing\n"), maxBytes+1))
	require.ErrorIs(t, err, ErrLimit)
	// A little gzip that becomes a lot.
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, err = io.CopyN(w, repeating("a,b,c,d\n"), maxBytes+1)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	_, err = ReadLingjun("big", &zipped)
	require.ErrorIs(t, err, ErrLimit)
	_, err = ReadLingjun("gzip", strings.NewReader("\x1f\x8bnonsense"))
	require.ErrorIs(t, err, ErrSyntax)

	broken := errors.New("no more")
	for _, read := range []func(string, io.Reader) (*Fabric, error){ReadSlurmConf, ReadTopograph, ReadLingjun} {
		_, err = read("broken", iotest.ErrReader(broken))
		require.ErrorIs(t, err, broken)
	}
	_, err = ReadNodeList("broken", iotest.ErrReader(broken), KueueKeys())
	require.ErrorIs(t, err, broken)
}

// repeating reads a text for ever.
func repeating(text string) io.Reader { return &endless{text: text} }

type endless struct {
	text string
	at   int
}

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = e.text[e.at]
		e.at = (e.at + 1) % len(e.text)
	}
	return len(p), nil
}

func TestSlurmYAMLRefusals(t *testing.T) {
	read := func(file string, r io.Reader) (*Fabric, error) { return ReadSlurmYAML(file, r, "") }
	refuses(t, read, []refusal{
		{"empty", "", 0, "", ErrSyntax, "empty"},
		{"not yaml", "a: [", 1, "", ErrSyntax, "did not find"},
		{"two documents", "- topology: a\n  flat: true\n---\n- topology: b", 3, "", ErrUnsupported, "more than one YAML document"},
		{"no sequence", "topology: a", 1, "", ErrSyntax, "a mapping, not a sequence"},
		{"no mapping", "- a", 1, "[0]", ErrSyntax, "a single value, not a mapping"},
		{"unknown key", "- topology: a\n  flat: true\n  round: true", 3, "[0].round", ErrSyntax, "not known"},
		{"key twice", "- topology: a\n  topology: b", 2, "[0].topology", ErrDuplicate, "twice"},
		{"name not first", "- flat: true\n  topology: a", 2, "[0].topology", ErrSyntax, "must be the first"},
		{"no name", "- flat: true", 1, "[0]", ErrInvalid, "no name"},
		{"null name", "- topology:\n  flat: true", 1, "[0].topology", ErrSyntax, "nothing"},
		{"no type", "- topology: a\n  flat: false", 1, "[0]", ErrInvalid, "no type"},
		{"two types", "- topology: a\n  flat: true\n  tree: {}", 3, "[0].tree", ErrConflict, "both flat and tree"},
		{"no boolean", "- topology: a\n  flat: 7", 2, "[0].flat", ErrInvalid, "neither true nor false"},
		{"name twice", "- topology: a\n  flat: true\n- topology: a\n  flat: true", 3, "[1]", ErrDuplicate, `"a" is there twice`},
		{"no default", "- topology: a\n  flat: true\n- topology: b\n  flat: true", 0, "", ErrUnknown, "there are a, b"},
		{"torus", "- topology: a\n  torus3d: {}", 2, "[0].torus3d", ErrUnsupported, "rings and tori"},
		{"alias", "- topology: a\n  tree: &x {switches: []}\n- topology: b\n  cluster_default: true\n  tree: *x", 5, "[1].tree", ErrSyntax, "an alias"},
		{"tree without", "- topology: a\n  tree: {}", 2, "[0].tree", ErrInvalid, "no switches"},
		{"tree key", "- topology: a\n  tree:\n    leaves: []", 3, "[0].tree.leaves", ErrSyntax, "switches alone"},
		{"switch key", "- topology: a\n  tree:\n    switches:\n    - switch: s\n      Nodes: x", 5, "[0].tree.switches[0].Nodes", ErrSyntax, "switch, children and nodes"},
		{"switch name", "- topology: a\n  tree:\n    switches:\n    - nodes: x", 4, "[0].tree.switches[0]", ErrInvalid, "no name"},
		{"hosts", "- topology: a\n  tree:\n    switches:\n    - switch: s\n      nodes: x[1-", 5, "[0].tree.switches[0].nodes", ErrSyntax, "do not pair up"},
		{"no hosts", "- topology: a\n  tree:\n    switches:\n    - switch: s\n      nodes: [x, y]", 5, "[0].tree.switches[0].nodes", ErrSyntax, "a sequence, not a text"},
		{"unknown child", "- topology: a\n  tree:\n    switches:\n    - switch: s\n      children: x", 5, "[0].tree.switches[0].children", ErrUnknown, "described nowhere"},
		{"no blocks", "- topology: a\n  block:\n    block_sizes: [4]", 3, "[0].block", ErrInvalid, "there are no blocks"},
		{"block key", "- topology: a\n  block:\n    sizes: [4]", 3, "[0].block.sizes", ErrSyntax, "block_sizes and blocks"},
		{"size", "- topology: a\n  block:\n    block_sizes: [four]", 3, "[0].block.block_sizes[0]", ErrInvalid, "not a whole number"},
		{"bad sizes", "- topology: a\n  block:\n    block_sizes:\n    - 1\n    - 3\n    blocks:\n    - {block: b, nodes: n}", 5, "[0].block.block_sizes", ErrInvalid, "3 is not"},
		{"block name", "- topology: a\n  block:\n    blocks:\n    - {nodes: n}", 4, "[0].block.blocks[0]", ErrInvalid, "no name"},
		{"block nodes", "- topology: a\n  block:\n    blocks:\n    - {block: n}\n    - {block: m, nodes: }", 0, "", ErrInvalid, "no block has nodes"},
		{"future kind", "- topology: a\n  hypercube: {}", 2, "[0].hypercube", ErrSyntax, "not known"},
		{"block item", "- topology: a\n  block:\n    blocks:\n    - {block: n, switch: b}", 4, "[0].block.blocks[0].switch", ErrSyntax, "block and nodes"},
	})
}

func TestTopographRefusals(t *testing.T) {
	refuses(t, ReadTopograph, []refusal{
		{"empty", "# nothing", 0, "", ErrSyntax, "empty"},
		{"no nodes", "switches:\n  a:\n    switches: [b]", 1, "", ErrInvalid, "no nodes"},
		{"unknown section", "switch: []", 1, "switch", ErrSyntax, "not known"},
		{"unknown switch key", "switches:\n  a:\n    leaves: []", 3, "switches.a.leaves", ErrSyntax, "not known"},
		{"unknown block key", "blocks:\n- on: a", 2, "blocks[0].on", ErrSyntax, "not known"},
		{"unknown node key", "nodes:\n  a:\n    gpus: 8", 3, "nodes.a.gpus", ErrSyntax, "not known"},
		{"unknown attribute", "nodes:\n  a:\n    attributes: {gpu: 8}", 3, "nodes.a.attributes.gpu", ErrSyntax, "not known"},
		{"unknown capacity key", "capacity_blocks:\n  a: {node: []}", 2, "capacity_blocks.a.node", ErrSyntax, "not known"},
		{"empty switch", "switches:\n  a:", 2, "switches.a", ErrSyntax, "nothing, not a mapping"},
		{"empty node", "nodes:\n  a:", 2, "nodes.a", ErrSyntax, "nothing, not a mapping"},
		{"other name", "nodes:\n  a: {name: b}", 2, "nodes.a.name", ErrConflict, `"b" is not the key "a"`},
		{"no switch name", "switches:\n- switches: [a]", 2, "switches[0]", ErrInvalid, "a name is empty"},
		{"two parents", "switches:\n  a: {switches: [x]}\n  b: {switches: [x]}", 3, "switches.b.switches", ErrConflict, `below both "a" and "b"`},
		{"ring", "switches:\n  a: {switches: [b]}\n  b: {switches: [a]}\nblocks:\n- {switch: a, nodes: [n]}", 2, "", ErrInvalid, `"a" is above itself`},
		{"two switches", "nodes: {n: {}}\nswitches:\n  a: {nodes: [n]}\n  b: {nodes: [n]}", 4, "switches.b.nodes", ErrDuplicate, `on both "a" and "b"`},
		{"two blocks", "blocks:\n- {switch: a, nodes: [n]}\n- {switch: a, nodes: [n]}", 3, "blocks[1]", ErrDuplicate, "in two blocks"},
		{"two capacity blocks", "capacity_blocks:\n- {name: a, nodes: [n]}\n- {name: b, nodes: [n]}", 3, "capacity_blocks[1]", ErrDuplicate, `"a" and "b"`},
		{"other capacity block", "nodes:\n  n: {capacity_block_id: a}\ncapacity_blocks:\n  b: {nodes: [n]}", 4, "capacity_blocks.b", ErrDuplicate, `"a" and "b"`},
		{"unknown node", "nodes: {n: {}}\ncapacity_blocks:\n  b: {nodes: [m]}", 3, "capacity_blocks.b", ErrUnknown, `"m" is not among`},
		{"unknown node of a switch", "nodes: {n: {}}\nswitches:\n  b: {nodes: [m]}", 3, "switches.b.nodes", ErrUnknown, `"m" is neither`},
		{"unknown capacity block", "nodes: {n: {}}\nswitches:\n  b: {capacity_blocks: [m]}", 3, "switches.b.capacity_blocks[0]", ErrUnknown, `"m" is described nowhere`},
		{"capacity block without name", "capacity_blocks:\n- {nodes: [a]}", 2, "capacity_blocks[0]", ErrInvalid, "no name"},
		{"alone and a switch", "nodes: {n: {}, m: {}}\nswitches:\n  n: {nodes: [m]}", 1, "", ErrConflict, "a switch has its name"},
		{"nodes no list", "blocks:\n- {switch: a, nodes: n}", 2, "blocks[0].nodes", ErrSyntax, "a single value, not a sequence"},
		{"bomb", "blocks:\n- {switch: a, nodes: ['n[1-100000000]']}", 2, "blocks[0].nodes[0]", ErrLimit, "too many nodes"},
		{"label", "blocks:\n- {switch: a, nodes: [n], labels: {x: {}}}", 2, "blocks[0].labels.x", ErrSyntax, "a mapping, not a text"},
	})
}

func TestLingjunRefusals(t *testing.T) {
	refuses(t, ReadLingjun, []refusal{
		{"empty", "", 0, "", ErrSyntax, "empty"},
		{"columns", "ip,DSW,PSW\n", 1, "ip", ErrSyntax, "the columns are"},
		{"other column", "ip,DSW,PSW,TOR\n", 1, "ASW", ErrSyntax, "the columns are"},
		{"fields", "ip,DSW,PSW,ASW\na,b,c,d\na,b,c\n", 3, "", ErrSyntax, "wrong number of fields"},
		{"quote", "ip,DSW,PSW,ASW\na,\"b,c,d\n", 2, "", ErrSyntax, "extraneous or missing"},
		{"no name", "ip,DSW,PSW,ASW\n,b,c,d\n", 2, "ip", ErrInvalid, "no name"},
		{"twice", "ip,DSW,PSW,ASW\na,b,c,d\nx,b,c,d\na,b,c,e\n", 4, "", ErrDuplicate, `"a" is there twice`},
		{"made-up name", "ip,DSW,PSW,ASW\na,b,c,\nx,b,c,c-direct\n", 3, "", ErrConflict, `the domain "c-direct"`},
	})
}

func TestNodeListRefusals(t *testing.T) {
	read := func(file string, r io.Reader) (*Fabric, error) { return ReadNodeList(file, r, KueueKeys()) }
	refuses(t, read, []refusal{
		{"empty", "", 1, "", ErrSyntax, "ends early"},
		{"cut", `{"kind": "List",` + "\n" + ` "items": [`, 2, "", ErrSyntax, "ends early"},
		{"not json", "{\n\nitems}", 3, "", ErrSyntax, "invalid character"},
		{"a list", "[]", 1, "", ErrSyntax, "expected here"},
		{"not a list of", `{"kind": "Node"}`, 0, "kind", ErrInvalid, `"Node", not a List`},
		{"no items", `{"kind": "List", "items": {}}`, 1, "", ErrSyntax, "expected here"},
		{"other objects", "{\"kind\": \"List\", \"items\": [\n{\"kind\": \"Pod\"}]}", 2, "items[0]", ErrInvalid, `"Pod", not a Node`},
		{"no name", "{\"kind\": \"List\", \"items\": [\n{\"kind\": \"Node\"}]}", 2, "items[0]", ErrInvalid, "no name"},
		{"type", "{\"kind\": \"List\", \"items\": [\n{\"metadata\": {\"name\": 7}}]}", 2, "metadata.name", ErrSyntax, "a number cannot be here"},
		{"count", "{\"kind\": \"List\", \"items\": [\n{\"metadata\": {\"name\": \"a\", \"labels\": {\"nvidia.com/gpu.count\": \"-1\"}}}]}", 2, "items[0]", ErrInvalid, "no number of GPUs"},
		{"more", `{"kind": "List"} {}`, 1, "", ErrSyntax, "something follows"},
	})
}
