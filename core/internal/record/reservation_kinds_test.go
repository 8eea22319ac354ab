package record

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// kindsFile has the kinds and their rules; admitsFile asks a rule which replicas it admits, and has
// to know more for it than records: what is due to each.
const (
	kindsFile  = "reservation_kinds.go"
	admitsFile = "../backlog/window.go"
)

// The table of kinds is what its comment says: each row has the cells of its rule, and each kind
// has a row.
func TestTheTableOfKindsIsTheRules(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), kindsFile, nil, parser.ParseComments)
	require.NoError(t, err)
	kinds, holders, takers := constants(file, "ReservationKind"), constants(file, "holder"), constants(file, "Taker")
	rows := tableOfKinds(file)
	head := rows[0]
	fields := reflect.TypeFor[rule]()
	require.Equal(t, 1+fields.NumField(), len(head), "a column for each field of a rule, and one for the kind")
	require.Len(t, rows[1:], len(kinds), "a row for each kind")
	for k, name := range kinds {
		want := []string{lowerFirst(name[len("kind"):])}
		r := reflect.ValueOf(ReservationKind(k).Rule())
		for i := range fields.NumField() {
			require.Equal(t, lowerFirst(fields.Field(i).Name), head[1+i], "the columns stand in the order of the fields")
			switch cell := r.Field(i); {
			case cell.Kind() == reflect.Bool && cell.Bool():
				want = append(want, "x")
			case cell.Kind() == reflect.Bool:
				want = append(want, "-")
			case cell.Type() == reflect.TypeFor[holder]():
				want = append(want, lowerFirst(holders[cell.Uint()]))
			default:
				want = append(want, lowerFirst(takers[cell.Uint()]))
			}
		}
		require.Equal(t, want, rows[1+k])
	}
}

// lowerFirst writes a name as the table does, whether other rooms use it or not.
func lowerFirst(name string) string { return strings.ToLower(name[:1]) + name[1:] }

// nameOf is the last name of an expression.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// constants lists the constants of a type by value: they begin with iota.
func constants(file *ast.File, typ string) []string {
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		if first := g.Specs[0].(*ast.ValueSpec); nameOf(first.Type) == typ {
			var names []string
			for _, s := range g.Specs {
				names = append(names, s.(*ast.ValueSpec).Names[0].Name)
			}
			return names
		}
	}
	return nil
}

// tableOfKinds has the cells of the table in the comment of ReservationKind, line by line.
func tableOfKinds(file *ast.File) [][]string {
	var rows [][]string
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.TYPE || g.Specs[0].(*ast.TypeSpec).Name.Name != "ReservationKind" {
			continue
		}
		for _, c := range g.Doc.List {
			if line, found := strings.CutPrefix(c.Text, "//\t"); found {
				rows = append(rows, strings.Fields(line))
			}
		}
	}
	return rows
}

// A place that is kept for a gang goes with it: it is of another kind when the gang waits there.
func TestAPlaceThatIsKeptArrivesWithItsGang(t *testing.T) {
	for kind := KindEnded; kind <= KindSpares; kind++ {
		r, arrived := kind.Rule(), kind
		if next, ok := ReservationAwaited.After(kind); ok {
			arrived = next
		}
		then := arrived.Rule()
		require.NotEqual(t, forMoving, then.holder, "kind %d arrives where nobody waits", kind)
		if r.holder != forMoving {
			require.Equal(t, kind, arrived)
			continue
		}
		require.Equal(t, forWaiting, then.holder)
		require.Equal(t, r.planned, then.planned, "what was planned is so after it")
		require.Equal(t, kind.Cause(), arrived.Cause())
	}
}
