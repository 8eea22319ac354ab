package fabric

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// WithIslands returns a copy of a fabric with a level more, the accelerator domains
// of its nodes: where NVLink ends is a place like any other to a search. The level
// stands as far down as the accelerator domains allow: below a level each of whose
// domains holds all of every accelerator domain that it meets, and above one whose
// domains lie in one of them each. A node without an accelerator domain is in one of
// its own, named after the next level below.
//
// ErrConflict where there is no such place, or a made-up name is taken; ErrInvalid
// where the level's name is, and those of broken invariants. BlockSizes are dropped, for
// the levels are no longer those of Slurm. O(nodes x levels).
func (f *Fabric) WithIslands(level string) (*Fabric, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	at := len(f.Levels)
	for ; at > 0 && !f.holdsIslands(at); at-- {
	}
	if node, ok := f.splitIsland(at); ok {
		return nil, &Error{Field: "nodes", Kind: ErrConflict, Reason: fmt.Sprintf(
			"the accelerator domain of %q, %q, crosses the domains of the level %s", node.Name, node.Accelerator, f.Levels[at])}
	}
	if len(f.Levels) == maxLevels {
		return nil, &Error{Field: "levels", Kind: ErrLimit, Reason: fmt.Sprintf("the fabric has %d levels already", maxLevels)}
	}
	with := f.clone()
	with.BlockSizes = nil
	with.Apart = f.Apart && at > 0
	with.Levels = slices.Insert(with.Levels, at, level)
	madeUp := map[string]bool{}
	for i := range with.Nodes {
		n := &with.Nodes[i]
		name := n.Accelerator
		switch {
		case name != "":
		case at < len(n.Path):
			name = n.Path[at]
		default:
			name = n.Name
		}
		n.Path = slices.Insert(n.Path, at, name)
		key := pathKey(n.Path[:at+1])
		if is, seen := madeUp[key]; seen && is != (n.Accelerator == "") {
			return nil, &Error{Field: "nodes", Kind: ErrConflict, Reason: fmt.Sprintf(
				"the node %q has no accelerator domain, and one has the name %q that its own would get", n.Name, name)}
		}
		madeUp[key] = n.Accelerator == ""
	}
	if err := with.check(); err != nil {
		return nil, err
	}
	return with, nil
}

// holdsIslands reports whether nodes of one accelerator domain agree in their path
// down to a number of levels.
func (f *Fabric) holdsIslands(levels int) bool {
	where := map[string][]string{}
	for _, n := range f.Nodes {
		if n.Accelerator == "" {
			continue
		}
		path, seen := where[n.Accelerator]
		if seen && !slices.Equal(path, n.Path[:levels]) {
			return false
		}
		where[n.Accelerator] = n.Path[:levels]
	}
	return true
}

// splitIsland finds a node in a domain of a level that meets two accelerator
// domains, or one and nodes without.
func (f *Fabric) splitIsland(level int) (Node, bool) {
	if level == len(f.Levels) {
		return Node{}, false // below the narrowest level there are nodes alone
	}
	owner := map[string]string{}
	for _, n := range f.Nodes {
		key := pathKey(n.Path[:level+1])
		if other, seen := owner[key]; seen && other != n.Accelerator {
			return n, true
		}
		owner[key] = n.Accelerator
	}
	return Node{}, false
}

// Qualify returns a copy of a fabric in which a name stands for one domain: a name
// that several have gets that of the parent in front, joined by the separator, as in
// P8-S14. The writers for Slurm need that. Names that a level has from the one below
// it by filling stay the same. ErrConflict where names are still not unique, and
// those of broken invariants. O(nodes x levels).
func (f *Fabric) Qualify(separator string) (*Fabric, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	q := f.clone()
	q.qualify(f.repeated(), separator)
	if again := q.repeated(); len(again) > 0 {
		return nil, &Error{Field: "nodes", Kind: ErrConflict, Reason: fmt.Sprintf("%q still names several domains", slices.Sorted(maps.Keys(again))[0])}
	}
	return q, nil
}

// repeated finds the names that stand for several domains.
func (f *Fabric) repeated() map[string]bool {
	place, repeated := map[string]string{}, map[string]bool{}
	see := func(name, key string) {
		if other, seen := place[name]; seen && other != key {
			repeated[name] = true
		}
		place[name] = key
	}
	for _, n := range f.Nodes {
		key := ""
		for _, name := range fold(n.Path) {
			if len(n.Rails) > 0 && name == n.railDomain() {
				for _, rail := range n.Rails {
					see(rail, key+rail+"\x00")
				}
			}
			key += name + "\x00"
			see(name, key)
		}
	}
	return repeated
}

// qualify renames the domains of repeated names, from the widest down.
func (f *Fabric) qualify(repeated map[string]bool, separator string) {
	for i := range f.Nodes {
		n := &f.Nodes[i]
		was, rails := slices.Clone(n.Path), n.railDomain()
		for l := range n.Path {
			switch {
			case l > 0 && was[l] == was[l-1]:
				n.Path[l] = n.Path[l-1]
			case l == 0: // the widest have no parent
			case len(n.Rails) > 0 && was[l] == rails:
				for r, rail := range n.Rails {
					if repeated[rail] {
						n.Rails[r] = n.Path[l-1] + separator + rail
					}
				}
				n.Path[l] = n.railDomain()
			case repeated[was[l]]:
				n.Path[l] = n.Path[l-1] + separator + was[l]
			}
		}
	}
}

// fold leaves out of a path what is there by filling alone: levels that have the
// name of the one below them.
func fold(path []string) []string { return slices.Compact(slices.Clone(path)) }

func pathKey(path []string) string { return strings.Join(path, "\x00") }
