package fabric

import (
	"slices"
	"strings"
)

// A row is a node as a table knows it: one name for every level, empty where the
// table has none.
type row struct {
	Node
	line int
}

// row keeps a row, if there is room for one more.
func (s *source) row(rows []*row, field string, r row) ([]*row, error) {
	if len(rows) >= maxNodes {
		return nil, s.refuse(ErrLimit, r.line, field, "there are more than %d nodes", maxNodes)
	}
	return append(rows, &r), s.spend(r.line, field, nodeCost+levelCost*len(r.Path))
}

// rows makes a fabric of a table. Levels that no row knows are left out; what is
// missing in a row is filled by the rule of the package comment. O(rows x levels).
func (s *source) rows(levels []string, rows []*row) (*Fabric, error) {
	if len(levels) > maxLevels {
		return nil, s.refuse(ErrLimit, 0, "levels", "%d levels, the limit is %d", len(levels), maxLevels)
	}
	known := make([]bool, len(levels))
	for _, r := range rows {
		for l, name := range r.Path {
			known[l] = known[l] || name != ""
		}
	}
	f := &Fabric{Nodes: make([]Node, 0, len(rows))}
	for l, name := range levels {
		if known[l] {
			f.Levels = append(f.Levels, name)
		}
	}
	slices.SortStableFunc(rows, func(a, b *row) int { return strings.Compare(a.Name, b.Name) })
	filler := map[string]bool{}
	for i, r := range rows {
		if i > 0 && rows[i-1].Name == r.Name {
			return nil, s.refuse(ErrDuplicate, r.line, "", "the node %q is there twice", r.Name)
		}
		path := make([]string, 0, len(f.Levels))
		for l, name := range r.Path {
			if known[l] {
				path = append(path, name)
			}
		}
		given := slices.Clone(path)
		fill(r.Name, path)
		if err := s.distinct(r, path, given, filler); err != nil {
			return nil, err
		}
		r.Path = path
		f.Nodes = append(f.Nodes, r.Node)
	}
	return f, nil
}

// fill gives a name to every level that has none: that of the next one below. What
// is missing at the bottom comes first: a leaf for the nodes that are known to be
// below some domain and no more, and for a node of which nothing is known the node.
func fill(node string, path []string) {
	if len(path) == 0 {
		return
	}
	last := len(path) - 1
	if path[last] == "" {
		path[last] = node
		for _, name := range slices.Backward(path[:last]) {
			if name != "" {
				path[last] = name + directSuffix
				break
			}
		}
	}
	for l := last - 1; l >= 0; l-- {
		if path[l] == "" {
			path[l] = path[l+1]
		}
	}
}

// distinct refuses a domain that some rows name and that others got by filling:
// they would be one place by accident.
func (s *source) distinct(r *row, path, given []string, filler map[string]bool) error {
	var key strings.Builder
	for l, name := range path {
		key.WriteString(name)
		key.WriteByte(0)
		isFiller, seen := filler[key.String()]
		if seen && isFiller != (given[l] == "") {
			return s.refuse(ErrConflict, r.line, "", "the node %q is in the domain %q, and a domain that another node lacks would be called so too", r.Name, name)
		}
		filler[key.String()] = given[l] == ""
	}
	return nil
}
