package fabric

import (
	"io"
	"strconv"
	"strings"
)

// maxSwitchName is the longest name of a switch that topology.conf(5) allows.
const maxSwitchName = 64

// ReadSlurmConf reads Slurm's topology.conf of topology/tree or topology/block; see
// the package comment for how the levels come about. File names the input in errors.
//
// Keys are matched without regard to case, values may be quoted, # starts a
// comment, and a line that ends in a backslash goes on in the next. Refused beside
// what is wrong by itself: Include, rings, and switches next to blocks
// (ErrUnsupported); a switch that is named as a child and never described
// (ErrUnknown), with two parents (ErrConflict) or above itself (ErrInvalid).
//
// Trees of switches that nothing joins are a fabric that is Apart. A switch may have both Nodes
// and Switches here, which Slurm itself refuses or reads in part, depending on its version.
func ReadSlurmConf(file string, r io.Reader) (*Fabric, error) {
	c := &confReader{source: newSource(file)}
	text, err := c.readAll(r)
	if err != nil {
		return nil, err
	}
	if err := c.lines(string(text)); err != nil {
		return nil, err
	}
	switch {
	case len(c.switches) == 0 && len(c.blocks) == 0:
		return nil, c.refuse(ErrInvalid, 0, "", "there is neither a SwitchName nor a BlockName")
	case len(c.blocks) > 0:
		return c.source.blocks(c.blocks, c.sizes, "BlockSizes")
	}
	return c.tree(c.switches)
}

// A confReader collects what the lines of a topology.conf say.
type confReader struct {
	*source
	switches []switchLine
	blocks   []block
	sizes    []sized
	sized    bool
}

// A switchLine describes one switch.
type switchLine struct {
	name            string
	line            int
	switches, nodes []string
	// Where to find the two lists, for errors.
	switchesLine, nodesLine   int
	switchesField, nodesField string
}

// readAll reads an input of at most maxBytes.
func (s *source) readAll(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err != nil {
		return nil, s.unread(0, err)
	}
	if len(text) > maxBytes {
		return nil, s.refuse(ErrLimit, 0, "", "the input has more than %d bytes", maxBytes)
	}
	s.grow(len(text))
	return text, nil
}

// lines joins continued lines, as Slurm does without a blank between them, and reads
// each as a whole. A line is known by the number of its first.
func (c *confReader) lines(text string) error {
	number, start, goesOn := 0, 0, false
	var joined strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		number++
		if !goesOn {
			start = number
			joined.Reset()
		}
		var part string
		part, goesOn = strings.CutSuffix(strings.TrimRight(uncomment(line), " \t\r"), `\`)
		joined.WriteString(part)
		if goesOn {
			continue
		}
		if err := c.line(start, joined.String()); err != nil {
			return err
		}
	}
	if goesOn {
		return c.line(start, joined.String())
	}
	return nil
}

// uncomment cuts off a comment; \# is no comment.
func uncomment(line string) string {
	for i := range len(line) {
		if line[i] == '#' && (i == 0 || line[i-1] != '\\') {
			return line[:i]
		}
	}
	return line
}

// maxPairs is more than any line has.
const maxPairs = 8

// A pair is one key=value, the key in lower case.
type pair struct{ key, value string }

// pairs splits a line into its keys and values.
func (c *confReader) pairs(number int, line string) ([]pair, error) {
	var pairs []pair
	for rest := strings.TrimSpace(line); rest != ""; rest = strings.TrimSpace(rest) {
		end := strings.IndexAny(rest, "= \t\"")
		if end < 0 {
			end = len(rest)
		}
		key := rest[:end]
		after, found := strings.CutPrefix(strings.TrimLeft(rest[end:], " \t"), "=")
		if key == "" || !found {
			if strings.EqualFold(key, "include") {
				return nil, c.refuse(ErrUnsupported, number, "Include", "other files are not read; give this package one file with everything in it")
			}
			return nil, c.refuse(ErrSyntax, number, "", "%q is not of the form key=value", shorten(rest))
		}
		var value string
		after = strings.TrimLeft(after, " \t")
		if quoted, isQuoted := strings.CutPrefix(after, `"`); isQuoted {
			if value, rest, found = strings.Cut(quoted, `"`); !found {
				return nil, c.refuse(ErrSyntax, number, key, "a quote is not closed")
			}
		} else {
			end := strings.IndexAny(after, " \t")
			if end < 0 {
				end = len(after)
			}
			value, rest = after[:end], after[end:]
		}
		if len(pairs) == maxPairs {
			return nil, c.refuse(ErrSyntax, number, key, "more than %d keys on a line", maxPairs)
		}
		pairs = append(pairs, pair{strings.ToLower(key), value})
	}
	return pairs, nil
}

// line reads one whole line.
func (c *confReader) line(number int, line string) error {
	pairs, err := c.pairs(number, line)
	if err != nil || len(pairs) == 0 {
		return err
	}
	for i, p := range pairs {
		for _, other := range pairs[:i] {
			if p.key == other.key {
				return c.refuse(ErrDuplicate, number, p.key, "the key is there twice")
			}
		}
	}
	switch pairs[0].key {
	case "switchname":
		return c.switchLine(number, pairs)
	case "blockname":
		return c.blockLine(number, pairs)
	case "blocksizes":
		return c.sizesLine(number, pairs)
	case "ringname", "torusname":
		return c.refuse(ErrUnsupported, number, pairs[0].key, "rings and tori are not trees of domains")
	}
	return c.refuse(ErrSyntax, number, pairs[0].key, "a line starts with SwitchName, BlockName or BlockSizes")
}

func (c *confReader) switchLine(number int, pairs []pair) error {
	if len(c.blocks) > 0 || c.sized {
		return c.refuse(ErrUnsupported, number, "SwitchName", "the file has both blocks and switches")
	}
	s := switchLine{
		name: pairs[0].value, line: number,
		switchesLine: number, nodesLine: number, switchesField: "Switches", nodesField: "Nodes",
	}
	var err error
	for _, p := range pairs[1:] {
		switch p.key {
		case "switches":
			s.switches, err = c.hosts(number, "Switches", p.value)
		case "nodes":
			s.nodes, err = c.hosts(number, "Nodes", p.value)
		case "linkspeed":
			if _, bad := strconv.ParseUint(p.value, 10, 32); bad != nil {
				err = c.refuse(ErrInvalid, number, "LinkSpeed", "%q is not a whole number of 32 bits", shorten(p.value))
			}
		default:
			err = c.refuse(ErrSyntax, number, p.key, "a switch has Switches, Nodes and LinkSpeed")
		}
		if err != nil {
			return err
		}
	}
	c.switches = append(c.switches, s)
	return nil
}

func (c *confReader) blockLine(number int, pairs []pair) error {
	if len(c.switches) > 0 {
		return c.refuse(ErrUnsupported, number, "BlockName", "the file has both blocks and switches")
	}
	b := block{name: pairs[0].value, line: number}
	if err := c.checkName(number, "BlockName", b.name); err != nil {
		return err
	}
	for _, p := range pairs[1:] {
		if p.key != "nodes" {
			return c.refuse(ErrSyntax, number, p.key, "a block has Nodes and nothing else")
		}
		var err error
		if b.nodes, err = c.hosts(number, "Nodes", p.value); err != nil {
			return err
		}
	}
	c.blocks = append(c.blocks, b)
	return nil
}

func (c *confReader) sizesLine(number int, pairs []pair) error {
	switch {
	case len(c.switches) > 0:
		return c.refuse(ErrUnsupported, number, "BlockSizes", "the file has both blocks and switches")
	case c.sized:
		return c.refuse(ErrDuplicate, number, "BlockSizes", "the key is there twice")
	case len(pairs) > 1:
		return c.refuse(ErrSyntax, number, pairs[1].key, "BlockSizes stands alone on its line")
	}
	c.sized = true
	for text := range strings.SplitSeq(pairs[0].value, ",") {
		size, err := strconv.Atoi(text)
		if err != nil {
			return c.refuse(ErrInvalid, number, "BlockSizes", "%q is not a whole number", shorten(text))
		}
		c.sizes = append(c.sizes, sized{size, number})
	}
	return nil
}

// tree makes a fabric of the switches of Slurm's topology/tree, of whichever file.
func (s *source) tree(lines []switchLine) (*Fabric, error) {
	g := newGraph(s)
	for _, l := range lines {
		if err := g.checkName(l.line, "", l.name); err != nil {
			return nil, err
		}
		if len(l.name) > maxSwitchName {
			return nil, g.refuse(ErrLimit, l.line, "", "the name of a switch has %d bytes, the limit is %d", len(l.name), maxSwitchName)
		}
		if _, taken := g.index[l.name]; taken {
			return nil, g.refuse(ErrDuplicate, l.line, "", "the switch %q is described twice", l.name)
		}
		if _, err := g.vertex(l.name, l.line); err != nil {
			return nil, err
		}
	}
	for at, l := range lines {
		for _, name := range l.switches {
			child, ok := g.index[name]
			if !ok {
				return nil, g.refuse(ErrUnknown, l.switchesLine, l.switchesField, "the switch %q is described nowhere", name)
			}
			if err := g.link(int32(at), child, l.switchesLine, l.switchesField); err != nil {
				return nil, err
			}
		}
		for _, name := range l.nodes {
			h, _, err := g.host(name, l.nodesLine)
			if err != nil {
				return nil, err
			}
			if err := g.attach(int32(at), h, l.nodesLine, l.nodesField); err != nil {
				return nil, err
			}
		}
	}
	f, err := g.fabric()
	if err == nil {
		f.Apart = g.apart(f)
	}
	return f, err
}

// apart reports whether the widest domains are several, and no node on two of them joins any.
func (g *graph) apart(f *Fabric) bool {
	several := false
	for i := range f.Nodes {
		widest := f.Nodes[i].Path[0]
		if _, one := g.index[widest]; !one {
			return false
		}
		several = several || widest != f.Nodes[0].Path[0]
	}
	return several
}
