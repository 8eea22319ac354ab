package tidy

import (
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The fleet and the quota tree are changed through the doors of the books, so that one room can
// answer for what is held and charged.
func TestBooksAloneChangeFleetAndQuota(t *testing.T) {
	h := look(t)
	for name := range doors {
		for _, fault := range h.sortedOut(t, name) {
			t.Error(fault)
		}
	}
	var found []finding
	for _, u := range h.units {
		if u.path != booksPath {
			found = append(found, changes(u)...)
		}
	}
	unexpected(t, found, notByBooks)
}

// A finding is what a function does that it should not, unless a table excepts it.
type finding struct{ key, text string }

// unexpected fails for each finding that is not excepted, and for each exception that excepts
// nothing or has no reason.
func unexpected(t *testing.T, found []finding, exceptions map[string]string) {
	t.Helper()
	used := map[string]bool{}
	for _, f := range found {
		if used[f.key] = true; exceptions[f.key] == "" {
			t.Errorf("%s (%q)", f.text, f.key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(exceptions)) {
		assert.True(t, used[key], "the exception for %q is not needed", key)
	}
}

// sortedOut names the exported methods by pointer of a type of which the table does not say
// whether they change it, and those of the table that do not exist.
func (h *house) sortedOut(t *testing.T, name string) []string {
	dot := strings.LastIndex(name, ".")
	return sortedOut(h.unit(t, name[:dot]).pkg, name, doors[name])
}

func sortedOut(p *types.Package, name string, methods doorsOf) []string {
	said := map[string]int{}
	for _, method := range slices.Concat(methods.changes, methods.asks) {
		said[method]++
	}
	var faults []string
	of := p.Scope().Lookup(name[strings.LastIndex(name, ".")+1:]).Type()
	for selection := range types.NewMethodSet(types.NewPointer(of)).Methods() {
		method := selection.Obj()
		if _, pointer := named(method.Type().(*types.Signature).Recv().Type()); !pointer || !method.Exported() {
			continue
		}
		if said[method.Name()] != 1 {
			faults = append(faults, fmt.Sprintf("%s.%s is said to change it, or to ask it, %d times: say it once", name, method.Name(), said[method.Name()]))
		}
		delete(said, method.Name())
	}
	for _, method := range slices.Sorted(maps.Keys(said)) {
		faults = append(faults, fmt.Sprintf("%s has no method %s", name, method))
	}
	return faults
}

// changes finds the calls of methods that change a type behind doors, outside its package. A
// method that is named without being called counts.
func changes(u unit) []finding {
	var found []finding
	u.eachUse(func(by string, name *ast.Ident, object types.Object) {
		method, ok := object.(*types.Func)
		if !ok || method.Pkg() == u.pkg || method.Signature().Recv() == nil {
			return
		}
		of, _ := named(method.Signature().Recv().Type())
		if slices.Contains(doors[of].changes, method.Name()) {
			found = append(found, finding{by, fmt.Sprintf("%s: %s calls %s of %s", u.line(name), by, method.Name(), of)})
		}
	})
	return found
}

// eachUse calls use for each name in the order of the source, with the function around it and
// what it stands for.
func (u unit) eachUse(use func(by string, name *ast.Ident, object types.Object)) {
	for _, file := range u.files {
		for _, decl := range file.Decls {
			by := u.path + "." + declared(decl)
			ast.Inspect(decl, func(n ast.Node) bool {
				if name, ok := n.(*ast.Ident); ok && u.info.Uses[name] != nil {
					use(by, name, u.info.Uses[name])
				}
				return true
			})
		}
	}
}

// line is where a node stands, as "file:line".
func (u unit) line(n ast.Node) string {
	at := u.fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d", filepath.Join(u.path, filepath.Base(at.Filename)), at.Line)
}

// What the host has for members is counted by resource everywhere: only the contract, where it is
// written and read, has a field for each.
func TestHostResourcesAreNamedByTheContractAlone(t *testing.T) {
	seen := map[string]bool{}
	for _, u := range look(t).units {
		for _, f := range hostNames(u) {
			if seen[f.key] = true; !slices.Contains(hostFiles, f.key) {
				t.Error(f.text)
			}
		}
	}
	require.Len(t, seen, len(hostFiles), "the files that name the host's resources: %v", seen)
}

// hostNames finds the fields that stand for one resource of a host, where they are used and where
// they are declared; the key is the file.
func hostNames(u unit) []finding {
	var found []finding
	for name, object := range u.info.Defs {
		if isHostField(object) {
			found = append(found, hostName(u, name, "declares"))
		}
	}
	slices.SortFunc(found, func(a, b finding) int { return strings.Compare(a.text, b.text) })
	u.eachUse(func(by string, name *ast.Ident, object types.Object) {
		if isHostField(object) {
			found = append(found, hostName(u, name, by+" uses"))
		}
	})
	return found
}

func hostName(u unit, name *ast.Ident, does string) finding {
	file, _, _ := strings.Cut(u.line(name), ":")
	return finding{file, fmt.Sprintf("%s: %s %s", u.line(name), does, name.Name)}
}

// isHostField reports whether an object is a field for CPU or memory of a host. That of a GPU, or
// of a part of one, has the same name as the latter.
func isHostField(object types.Object) bool {
	field, ok := object.(*types.Var)
	if !ok || !field.IsField() || field.Name() != "CPUMilli" && field.Name() != "MemoryMiB" {
		return false
	}
	if field.Name() == "CPUMilli" {
		return true
	}
	scope := field.Pkg().Scope()
	for _, name := range scope.Names() {
		of, ok := scope.Lookup(name).(*types.TypeName)
		if !ok {
			continue
		}
		record, ok := of.Type().Underlying().(*types.Struct)
		if !ok {
			continue
		}
		for other := range record.Fields() {
			if other == field {
				path, _ := named(of.Type())
				return !slices.Contains(deviceMemory, path) && !slices.Contains(deviceMemory, path[:strings.Index(path, ".")])
			}
		}
	}
	return true
}

// A room assigns its own fields, and the parts of records that are its own.
func TestFieldsAreWrittenByTheirOwners(t *testing.T) {
	h := look(t)
	for _, fault := range h.unowned() {
		t.Error(fault)
	}
	rooms := owned()
	for _, name := range settings(h.unit(t, "").pkg) {
		rooms[name] = ""
	}
	var found []finding
	for _, u := range h.units {
		found = append(found, foreign(u, rooms, parts)...)
	}
	unexpected(t, found, notByOwners)
}

// owned maps the struct of each room to its package.
func owned() map[string]string {
	structs := map[string]string{}
	for _, r := range slices.Concat(floors...) {
		if r.owner != "" {
			structs[r.path+"."+r.owner] = r.path
		}
	}
	return structs
}

// settings lists the structs of the contract of which a Config is made. They are large, so the
// rooms read them by their address, and nobody changes them in place.
func settings(contract *types.Package) []string {
	var names []string
	for left := []types.Type{contract.Scope().Lookup("Config").Type()}; len(left) > 0; {
		at := left[0]
		left = left[1:]
		name, _ := named(at)
		if record, ok := at.Underlying().(*types.Struct); ok && !slices.Contains(names, name) {
			names = append(names, name)
			for field := range record.Fields() {
				left = append(left, field.Type())
			}
		}
	}
	return names
}

// unowned names the parts of records without an owner, and the owned structs and parts that do
// not exist.
func (h *house) unowned() []string {
	exist := map[string]bool{}
	var faults []string
	for _, u := range h.units {
		if !isRoom(u.path) {
			continue
		}
		for _, name := range u.pkg.Scope().Names() {
			full := u.path + "." + name
			exist[full] = true
			if strings.HasSuffix(name, "Part") && len(parts[full]) == 0 {
				faults = append(faults, fmt.Sprintf("the part %s has no owner", full))
			}
		}
	}
	for _, full := range slices.Sorted(maps.Keys(parts)) {
		if !exist[full] {
			faults = append(faults, fmt.Sprintf("there is no part %s", full))
		}
	}
	for _, full := range slices.Sorted(maps.Keys(owned())) {
		if !exist[full] {
			faults = append(faults, fmt.Sprintf("there is no room %s", full))
		}
	}
	return faults
}

// foreign finds the writes of a package to fields of rooms, and to parts, that are not its own.
// Rooms maps each struct to its package; to be given the address of one of the contract's is no
// write. The key of one is the function that writes, and the room or the part.
func foreign(u unit, rooms map[string]string, parts map[string][]string) []finding {
	var found []finding
	seen := map[string]bool{}
	note := func(w write, of string) {
		f := finding{w.by + ": " + of, w.String()}
		if !seen[f.text] {
			seen[f.text] = true
			found = append(found, f)
		}
	}
	for _, w := range writes(u) {
		if contract, ok := rooms[w.given]; ok && contract == "" {
			continue
		}
		if room, ok := rooms[w.owner]; ok && room != u.path {
			note(w, w.owner)
		}
		for _, part := range []string{w.owner, w.whole} {
			if owners, ok := parts[part]; ok && !slices.Contains(owners, u.path) {
				note(w, part)
				break
			}
		}
	}
	return found
}

func isRoom(path string) bool {
	return slices.ContainsFunc(slices.Concat(floors...), func(r room) bool { return r.path == path })
}
