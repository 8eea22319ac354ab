package tidy

import (
	"go/ast"
	"go/types"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// link is a name in brackets that go doc turns into a link: of this package or, with a dot before
// it, of another; and behind a dot a method or a field.
var link = regexp.MustCompile(`(?:^|[^\w\]])\[\*?([a-z]\w*\.)?([A-Z]\w*)(\.\w+)?\]`)

// Each link in a comment of the packages that decide leads somewhere: no comment names what is
// gone, or what no page of documentation shows.
func TestLinksInCommentsLeadSomewhere(t *testing.T) {
	packages, read := look(t).packagesByName(), 0
	for _, u := range looked.units {
		for _, file := range u.files {
			for _, group := range file.Comments {
				text := group.Text()
				read += len(link.FindAllString(text, -1))
				for _, name := range deadLinks(text, u.pkg, packages) {
					t.Errorf("%s: %s leads nowhere", u.line(group), name)
				}
			}
		}
	}
	require.Greater(t, read, 100)
}

func TestDeadLinksAreFound(t *testing.T) {
	packages := look(t).packagesByName()
	for text, want := range map[string][]string{
		"[Fleet.Place] and [*Fleet], [Group.Members], [mig.Lattice.Plan]":   nil,
		"of [time.Time], a[Index] and [lower]":                              nil,
		"[core.Example] is elsewhere\n\n[core.Example]: https://pkg.go.dev": nil,
		"as [Flet] does":          {"[Flet]"},
		"by [Fleet.Put]":          {"[Fleet.Put]"},
		"by [mig.Lattice.after].": {"[mig.Lattice.after]"},
		"[mig.Grid]":              {"[mig.Grid]"},
	} {
		require.Equal(t, want, deadLinks(text, packages["gang"], packages), text)
	}
}

// deadLinks lists the links of a comment in a package that lead nowhere. Those to packages of
// others, and those that the comment itself gives an address, are not looked at.
func deadLinks(text string, of *types.Package, packages map[string]*types.Package) (dead []string) {
	for _, m := range link.FindAllStringSubmatch(text, -1) {
		name := m[0][strings.IndexByte(m[0], '['):]
		in := of
		if m[1] != "" {
			in = packages[strings.TrimSuffix(m[1], ".")]
		}
		if in == nil || strings.Contains(text, "\n"+name+": ") {
			continue
		}
		if !shown(in, m[2], strings.TrimPrefix(m[3], ".")) {
			dead = append(dead, name)
		}
	}
	return dead
}

// shown reports whether a package has an exported name and, if one is given, a member of it.
func shown(in *types.Package, name, member string) bool {
	found := in.Scope().Lookup(name)
	if found == nil || member == "" {
		return found != nil
	}
	object, _, _ := types.LookupFieldOrMethod(found.Type(), true, in, member)
	return object != nil && ast.IsExported(member)
}
