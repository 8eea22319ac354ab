package tidy

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
)

// A write is a change of a field of a struct that others can see.
type write struct {
	// owner is the struct that has the field, and whole the struct that the field is, or
	// points to; each as its package below the module and its name, or empty.
	owner, whole string
	field        string
	// given is the type of that of which somebody gets the address.
	given string
	// by is the function that writes, as its package and its name.
	by string
	at token.Position
}

// String names the place and the field.
func (w write) String() string {
	return fmt.Sprintf("%s:%d: %s writes %s of %s", filepath.Base(w.at.Filename), w.at.Line, w.by,
		cmp.Or(w.field, "all"), cmp.Or(w.owner, w.whole))
}

// writes finds the writes of a package in the order of the source: by assignment, by ++ and +=,
// in a range, of an element, by delete, clear and copy, by the methods that change an ordered
// set or a rare part, and by the code that gets the address. The fields of a local copy are
// nobody's.
func writes(u unit) []write {
	var found []write
	for _, file := range u.files {
		for _, decl := range file.Decls {
			by := u.path + "." + declared(decl)
			ast.Inspect(decl, func(n ast.Node) bool {
				for _, target := range u.targets(n) {
					given := ""
					if _, ok := n.(*ast.UnaryExpr); ok {
						given, _ = named(u.info.TypeOf(target))
					}
					for _, w := range u.written(target) {
						w.given, w.by, w.at = given, by, u.fset.Position(target.Pos())
						found = append(found, w)
					}
				}
				return true
			})
		}
	}
	return found
}

// targets lists the expressions that a node changes.
func (u unit) targets(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			return n.Lhs
		}
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			return slices.DeleteFunc([]ast.Expr{n.Key, n.Value}, func(e ast.Expr) bool { return e == nil })
		}
	case *ast.IncDecStmt:
		return []ast.Expr{n.X}
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			return []ast.Expr{n.X}
		}
	case *ast.CallExpr:
		return u.targetsOfCall(n)
	}
	return nil
}

// targetsOfCall lists what a call changes of itself: what a builtin is given, an ordered set, or a
// rare part.
func (u unit) targetsOfCall(call *ast.CallExpr) []ast.Expr {
	if name, ok := call.Fun.(*ast.Ident); ok {
		if builtin, ok := u.info.Uses[name].(*types.Builtin); ok && slices.Contains([]string{"clear", "delete", "copy"}, builtin.Name()) {
			return call.Args[:1]
		}
		return nil
	}
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	method, ok := u.info.Uses[selector.Sel].(*types.Func)
	if !ok || method.Signature().Recv() == nil {
		return nil
	}
	changes := map[string][]string{
		"github.com/google/btree.BTreeG": {"ReplaceOrInsert", "Delete", "DeleteMin", "DeleteMax", "Clear"},
		rare:                             {"Set", "Note"},
	}
	if owner, _ := nameOf(method.Signature().Recv().Type()); slices.Contains(changes[owner], method.Name()) {
		return []ast.Expr{selector.X}
	}
	return nil
}

// rare is the type of a part that most records do not have: to write it is to write the part.
const rare = "core/internal/values.Rare"

// written lists the fields that change with an expression, from the last to the first: those
// of which it is a part too, as far as no pointer is between.
func (u unit) written(target ast.Expr) []write {
	var found []write
	shared := false // others see the change
	for {
		switch e := target.(type) {
		case *ast.ParenExpr:
			target = e.X
		case *ast.StarExpr:
			whole, _ := named(u.info.TypeOf(e))
			return append(found, write{whole: whole})
		case *ast.SliceExpr:
			target, shared = e.X, true
		case *ast.IndexExpr:
			if !isArray(u.info.TypeOf(e.X)) {
				shared = true
			}
			target = e.X
		case *ast.SelectorExpr:
			selection := u.info.Selections[e]
			if selection == nil || selection.Kind() != types.FieldVal {
				return found
			}
			steps, through := fieldsOn(selection)
			found = append(found, steps...)
			if through {
				return found
			}
			target = e.X
		case *ast.Ident:
			if !shared {
				return nil
			}
			return found
		default:
			return found
		}
	}
}

// fieldsOn lists the fields on the way of a selection through embedded structs, from the last
// to the first or to a pointer, and reports whether a pointer is on the way.
func fieldsOn(selection *types.Selection) (steps []write, through bool) {
	at := selection.Recv()
	for _, i := range selection.Index() {
		owner, pointer := named(at)
		if pointer {
			steps, through = nil, true
		}
		if p, ok := at.Underlying().(*types.Pointer); ok {
			at = p.Elem()
		}
		field := at.Underlying().(*types.Struct).Field(i)
		whole, _ := named(field.Type())
		steps = append(steps, write{owner: owner, whole: whole, field: field.Name()})
		at = field.Type()
	}
	slices.Reverse(steps)
	return steps, through
}

// named is nameOf, and the part instead of the type of a rare one.
func named(t types.Type) (name string, pointer bool) {
	if name, pointer = nameOf(t); name != rare || pointer {
		return name, pointer
	}
	part, _ := nameOf(types.Unalias(t).(*types.Named).TypeArgs().At(0))
	return cmp.Or(part, name), pointer
}

// nameOf returns the package and name of a type, or of what it points to, and whether it is a
// pointer.
func nameOf(t types.Type) (name string, pointer bool) {
	if t == nil {
		return "", false
	}
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t, pointer = types.Unalias(p.Elem()), true
	}
	n, ok := t.(*types.Named)
	if !ok || n.Obj().Pkg() == nil {
		return "", pointer
	}
	path, ours := below(n.Obj().Pkg().Path())
	if !ours {
		path = n.Obj().Pkg().Path()
	}
	return path + "." + n.Obj().Name(), pointer
}

func isArray(t types.Type) bool {
	_, ok := t.Underlying().(*types.Array)
	return ok
}
