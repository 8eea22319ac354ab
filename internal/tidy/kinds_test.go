package tidy

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A union is a struct that stands for several kinds of things.
type union struct {
	// record is the struct and tag the type of the field that says which kind it is.
	record, tag string
	// told are the methods of the tag that tell kinds apart, only the fields that have a value in
	// some kinds alone, and orNil those that are nil in some.
	told, only, orNil []string
	// alone are fields of others that have the one thing of a kind.
	alone []string
	// file is the only one that asks for the kind.
	file string
}

// Kinds of reservation are told apart in one file, from the table in its comment: no other
// compares a kind, or what belongs to some kinds alone.
func TestKindsAreToldApartInOneFile(t *testing.T) {
	asked := 0
	var elsewhere []finding
	for _, u := range look(t).units {
		for _, f := range kindsAsked(u, reservations) {
			if strings.HasPrefix(f.text, reservations.file+":") {
				asked++
			} else {
				elsewhere = append(elsewhere, f)
			}
		}
	}
	require.Positive(t, asked, "the test sees the questions where they belong")
	unexpected(t, elsewhere, notByKinds)
}

// kindsAsked finds where a package asks for the kind of a union; the key is the function.
func kindsAsked(u unit, of union) []finding {
	var found []finding
	for _, file := range u.files {
		for _, decl := range file.Decls {
			by := u.path + "." + declared(decl)
			ast.Inspect(decl, func(n ast.Node) bool {
				if what := u.asksKind(n, of); what != "" {
					found = append(found, finding{by, fmt.Sprintf("%s: %s asks by %s for the kind of %s", u.line(n), by, what, of.record)})
				}
				return true
			})
		}
	}
	return found
}

// asksKind says by what a node asks for the kind of a union; "": by nothing.
func (u unit) asksKind(n ast.Node, of union) string {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		if n.Op != token.EQL && n.Op != token.NEQ {
			return ""
		}
		if u.comparesKind(n.X, n.Y, of) || u.comparesKind(n.Y, n.X, of) {
			return types.ExprString(n)
		}
	case *ast.SwitchStmt:
		if n.Tag != nil && u.isKind(n.Tag, of) {
			return "switch " + types.ExprString(n.Tag)
		}
	case *ast.SelectorExpr:
		selection := u.info.Selections[n]
		if selection == nil || selection.Kind() == types.FieldVal || !slices.Contains(of.told, n.Sel.Name) {
			return ""
		}
		if receiver, _ := named(selection.Recv()); receiver == of.tag {
			return types.ExprString(n)
		}
	}
	return ""
}

func (u unit) isKind(e ast.Expr, of union) bool {
	name, _ := named(u.info.TypeOf(e))
	return name == of.tag
}

// comparesKind reports whether an expression, compared with another, tells the kind of a union.
func (u unit) comparesKind(e, other ast.Expr, of union) bool {
	if u.isKind(e, of) {
		return true
	}
	selector, ok := ast.Unparen(e).(*ast.SelectorExpr)
	if !ok || u.info.Selections[selector] == nil {
		return false
	}
	field, withNil := selector.Sel.Name, u.info.Types[other].IsNil()
	if slices.Contains(of.alone, field) {
		return !withNil
	}
	owner, _ := named(u.info.Selections[selector].Recv())
	return owner == of.record && (slices.Contains(of.only, field) || withNil && slices.Contains(of.orNil, field))
}

func TestKindsCatch(t *testing.T) {
	of := union{"p.box", "p.kind", []string{"rule"}, []string{"lid"}, []string{"of"}, []string{"first"}, "kinds.go"}
	const boxes = `package p
		type kind uint8
		const (round kind = iota; flat)
		func (k kind) rule() bool { return false }
		func (k kind) name() string { return "" }
		type box struct { kind kind; lid, of *int; size int }
		type cup struct { lid *int; first *box }
		`
	for text, want := range map[string]string{
		"func f(b *box) bool { return b.kind == round }":             "p/f.go:8: p.f asks by b.kind == round for the kind of p.box",
		"func f(b *box) bool { return 1 != b.kind }":                 "asks by 1 != b.kind",
		"func f(b *box) { switch b.kind { case flat: } }":            "asks by switch b.kind",
		"func f(b *box) { switch k := flat; { case b.kind == k: } }": "asks by b.kind == k",
		"func f(b *box) bool { return b.lid != nil }":                "asks by b.lid != nil",
		"func f(b *box) bool { return nil == (b.lid) }":              "asks by nil == (b.lid)",
		"func f(b *box) bool { return b.kind.rule() }":               "asks by b.kind.rule",
		"var f = kind.rule":                                                     "asks by kind.rule",
		"func f(b *box) bool { return b.of == nil }":                            "asks by b.of == nil",
		"func f(b *box, c cup) bool { return b == c.first }":                    "asks by b == c.first",
		"func f(b *box, c cup) bool { return b.of == c.lid || c.first == nil }": "",
		"func f(b *box, c cup) bool { return b.size == 3 || c.lid == nil }":     "",
		"func f(b *box) string { b.kind = flat; return b.kind.name() }":         "",
		"func f(b *box) *int { return b.lid }":                                  "",
	} {
		u, err := newLoader(nil).check(module+"/p", map[string]any{"f.go": boxes + text})
		require.NoError(t, err, text)
		found := kindsAsked(u, of)
		if want == "" {
			require.Empty(t, found, text)
			continue
		}
		require.Len(t, found, 1, text)
		require.Contains(t, found[0].text, want)
		require.Contains(t, []string{"p.f", "p.a declaration"}, found[0].key)
	}
}
