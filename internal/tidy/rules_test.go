package tidy

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
)

// A unit is one type-checked package of the core.
type unit struct {
	path  string // below the module
	fset  *token.FileSet
	files []*ast.File
	pkg   *types.Package
	info  *types.Info
}

// An inspector looks through one unit and collects what breaks a rule.
type inspector struct {
	unit
	found []string
	seen  map[string]bool
}

// inspect returns the violations of the rules of the core in a package, each as
// "file:line: what". The types must be complete: an unresolved one hides maps.
func inspect(u unit) []string {
	in := &inspector{unit: u, seen: map[string]bool{}}
	for _, file := range u.files {
		in.imports(file)
		in.comments(file)
		for _, decl := range file.Decls {
			in.declaration(decl)
		}
		in.statements(file)
		in.floats(file)
	}
	return in.found
}

// report notes a violation once a line, however many nodes of it show it.
func (in *inspector) report(at token.Pos, format string, args ...any) {
	position := in.fset.Position(at)
	text := fmt.Sprintf("%s:%d: %s", filepath.Base(position.Filename), position.Line, fmt.Sprintf(format, args...))
	if in.path != "" {
		text = in.path + "/" + text
	}
	if !in.seen[text] {
		in.seen[text] = true
		in.found = append(in.found, text)
	}
}

func (in *inspector) imports(file *ast.File) {
	for _, spec := range file.Imports {
		target := strings.Trim(spec.Path.Value, `"`)
		if why := mayImport(in.path, target); why != "" {
			in.report(spec.Pos(), "%s", why)
		}
		if spec.Name != nil && spec.Name.Name == "." {
			in.report(spec.Pos(), "imports %q with a dot", target)
		}
	}
}

// comments finds directives that change what the other rules see.
func (in *inspector) comments(file *ast.File) {
	for _, group := range file.Comments {
		for _, comment := range group.List {
			for _, directive := range []string{"//go:linkname", "//go:build", "//go:cgo_", "//go:embed"} {
				if strings.HasPrefix(comment.Text, directive) {
					in.report(comment.Pos(), "has the directive %s", directive)
				}
			}
		}
	}
}

// declaration finds init functions and package-level variables.
func (in *inspector) declaration(decl ast.Decl) {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if decl.Recv == nil && decl.Name.Name == "init" {
			in.report(decl.Pos(), "has an init function")
		}
		if decl.Body == nil {
			in.report(decl.Pos(), "declares the function %s without a body", decl.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			if value, ok := spec.(*ast.ValueSpec); ok && decl.Tok == token.VAR {
				in.variables(value)
			}
		}
	}
}

func (in *inspector) variables(spec *ast.ValueSpec) {
	for i, name := range spec.Names {
		qualified := strings.TrimPrefix(in.path+"."+name.Name, ".")
		switch {
		case name.Name == "_" && spec.Type != nil: // var _ Interface = T{}
		case variables[qualified] != "":
		case i < len(spec.Values) && in.isSentinel(name, spec.Values[i]):
		default:
			in.report(name.Pos(), "has the package-level variable %s", name.Name)
		}
	}
}

// isSentinel reports whether a variable is an error value made once: named Err…
// and initialised by errors.New or fmt.Errorf.
func (in *inspector) isSentinel(name *ast.Ident, value ast.Expr) bool {
	call, ok := value.(*ast.CallExpr)
	if !ok || !strings.HasPrefix(name.Name, "Err") && !strings.HasPrefix(name.Name, "err") {
		return false
	}
	switch in.callee(call) {
	case "errors.New", "fmt.Errorf":
		return true
	}
	return false
}

// statements finds what a pure function does not do.
func (in *inspector) statements(file *ast.File) {
	var parents []ast.Node
	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil {
			parents = parents[:len(parents)-1]
			return true
		}
		in.concurrency(n)
		switch n := n.(type) {
		case *ast.RangeStmt:
			if isMap(in.info.TypeOf(n.X)) {
				in.report(n.Pos(), "ranges over a map")
			}
			for _, target := range []ast.Expr{n.Key, n.Value} {
				if n.Tok == token.ASSIGN && target != nil {
					in.write(target)
				}
			}
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				for _, target := range n.Lhs {
					in.write(target)
				}
			}
		case *ast.IncDecStmt:
			in.write(n.X)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				in.write(n.X) // the address is enough to write
			}
		case *ast.CallExpr:
			in.builtins(n)
		case *ast.Ident:
			in.use(n, parents)
		}
		parents = append(parents, n)
		return true
	})
}

func (in *inspector) concurrency(n ast.Node) {
	switch n := n.(type) {
	case *ast.GoStmt:
		in.report(n.Pos(), "starts a goroutine")
	case *ast.SelectStmt:
		in.report(n.Pos(), "has a select statement")
	case *ast.ChanType:
		in.report(n.Pos(), "has a channel type")
	case *ast.SendStmt:
		in.report(n.Pos(), "sends on a channel")
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			in.report(n.Pos(), "receives from a channel")
		}
	}
}

// use checks what a name stands for, whatever the file calls its package.
func (in *inspector) use(name *ast.Ident, parents []ast.Node) {
	object := in.info.Uses[name]
	if object == nil || object.Pkg() == nil || object.Parent() != object.Pkg().Scope() {
		return
	}
	switch full := object.Pkg().Path() + "." + object.Name(); {
	case full == "time.UnixMilli" && inUTC(parents):
	case impure[full]:
		in.report(name.Pos(), "uses %s", full)
	case full == "maps.Keys" || full == "maps.Values" || full == "maps.All":
		if !in.sorted(parents) {
			in.report(name.Pos(), "uses %s other than inside slices.Sorted", full)
		}
	}
}

// inUTC reports whether UTC is called on what the innermost call returns.
func inUTC(parents []ast.Node) bool {
	at := len(parents) - 1
	for ; at > 0; at-- {
		if _, ok := parents[at].(*ast.CallExpr); ok {
			method, ok := parents[at-1].(*ast.SelectorExpr)
			return ok && method.Sel.Name == "UTC"
		}
	}
	return false
}

// sorted reports whether the innermost call around a name, which is the call of
// the name itself, is the argument of a function that sorts.
func (in *inspector) sorted(parents []ast.Node) bool {
	calls := 0
	for _, parent := range slices.Backward(parents) {
		call, ok := parent.(*ast.CallExpr)
		if !ok {
			if _, selector := parent.(*ast.SelectorExpr); selector && calls == 0 {
				continue
			}
			return false
		}
		if calls++; calls == 2 {
			name := in.callee(call)
			return name == "slices.Sorted" || name == "slices.SortedFunc"
		}
	}
	return false
}

func (in *inspector) builtins(call *ast.CallExpr) {
	name, ok := call.Fun.(*ast.Ident)
	if !ok {
		return
	}
	if builtin, ok := in.info.Uses[name].(*types.Builtin); ok {
		switch builtin.Name() {
		case "print", "println":
			in.report(call.Pos(), "calls %s", builtin.Name())
		case "clear", "delete", "copy":
			in.write(call.Args[0])
		}
	}
}

// write finds writes to package-level variables, through fields and elements
// too. State belongs to a value that the caller holds.
func (in *inspector) write(target ast.Expr) {
	switch target := target.(type) {
	case *ast.Ident:
		object, ok := in.info.Uses[target].(*types.Var)
		if ok && !object.IsField() && object.Pkg() != nil && object.Parent() == object.Pkg().Scope() {
			in.report(target.Pos(), "writes to or takes the address of the package-level variable %s", target.Name)
		}
	case *ast.SelectorExpr:
		if _, qualified := in.info.Selections[target]; qualified {
			in.write(target.X)
		} else {
			in.write(target.Sel)
		}
	case *ast.IndexExpr:
		in.write(target.X)
	case *ast.SliceExpr:
		in.write(target.X)
	case *ast.StarExpr:
		in.write(target.X)
	case *ast.ParenExpr:
		in.write(target.X)
	}
}

// floats finds every expression and every type that is a floating-point or
// complex number.
func (in *inspector) floats(file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		var typ types.Type
		switch n := n.(type) {
		case *ast.Ident:
			if object := in.info.ObjectOf(n); object != nil {
				typ = object.Type()
			}
		case ast.Expr:
			typ = in.info.TypeOf(n)
		}
		if isFloat(typ) {
			in.report(n.Pos(), "uses floating point")
		}
		return true
	})
}

// callee returns "package.Function" of a call, or "".
func (in *inspector) callee(call *ast.CallExpr) string {
	fun := call.Fun
	if index, ok := fun.(*ast.IndexExpr); ok {
		fun = index.X
	}
	selector, ok := fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	object := in.info.Uses[selector.Sel]
	if object == nil || object.Pkg() == nil || object.Parent() != object.Pkg().Scope() {
		return ""
	}
	return object.Pkg().Path() + "." + object.Name()
}

// isMap reports whether ranging over the type would, or for a type parameter
// could, range over a map.
func isMap(typ types.Type) bool {
	if typ == nil {
		return false
	}
	switch t := typ.Underlying().(type) {
	case *types.Map:
		return true
	case *types.Interface: // the constraint of a type parameter
		for embedded := range t.EmbeddedTypes() {
			if isMap(embedded) {
				return true
			}
		}
	case *types.Union:
		for term := range t.Terms() {
			if isMap(term.Type()) {
				return true
			}
		}
	}
	return false
}

func isFloat(typ types.Type) bool {
	if typ == nil {
		return false
	}
	basic, ok := typ.Underlying().(*types.Basic)
	return ok && basic.Info()&(types.IsFloat|types.IsComplex) != 0
}
