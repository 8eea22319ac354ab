// Command api lists what the packages of this module export, a name a line, and writes the
// lists into a folder: a file for each package.
//
// The lists that are committed beside it are the baseline that .ci/api compares with. Export
// data as apidiff writes it would not do for that: it is binary, it names the folders of the
// machine that wrote it, and it says nothing of JSON keys. What apidiff thinks of a change is
// printed by .ci/api.
package main

import (
	"errors"
	"fmt"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: api FOLDER")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "api:", err)
		os.Exit(1)
	}
}

// write lists every package into the folder. The lists are those of the machine that it runs
// on; the packages of this module export the same everywhere.
func write(folder string) error {
	const mode = packages.NeedName | packages.NeedTypes | packages.NeedImports | packages.NeedDeps | packages.NeedModule
	loaded, err := packages.Load(&packages.Config{Mode: mode}, "./...")
	if err != nil {
		return err
	}
	for _, p := range loaded {
		if len(p.Errors) > 0 {
			return fmt.Errorf("%s: %w", p.PkgPath, p.Errors[0])
		}
		if p.Module == nil {
			return errors.New("not in a module")
		}
		path := strings.TrimPrefix(strings.TrimPrefix(p.PkgPath, p.Module.Path), "/")
		if !public(path) || p.Name == "main" {
			continue
		}
		name := strings.ReplaceAll(path, "/", "-")
		if name == "" {
			name = p.Name
		}
		text := strings.Join(list(p.Types), "\n") + "\n"
		if err := os.WriteFile(filepath.Join(folder, name+".txt"), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// public reports whether a package is for embedders: experiments and examples are not.
func public(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return first != "bench" && first != "examples" && !slices.Contains(strings.Split(path, "/"), "internal")
}

// list names what a package exports: constants with their values, fields with their JSON
// keys, methods with the receivers that have them.
func list(p *types.Package) []string {
	var lines []string
	for _, name := range p.Scope().Names() {
		object := p.Scope().Lookup(name)
		if !object.Exported() {
			continue
		}
		switch object := object.(type) {
		case *types.TypeName:
			lines = append(lines, listType(object)...)
		case *types.Const:
			lines = append(lines, fmt.Sprintf("%s = %s", describe(object), object.Val().ExactString()))
		default:
			lines = append(lines, describe(object))
		}
	}
	slices.Sort(lines)
	return lines
}

// listType names a type, its exported fields, and the methods that it declares itself.
func listType(name *types.TypeName) []string {
	qualifier := types.RelativeTo(name.Pkg())
	if name.IsAlias() {
		return []string{describe(name)}
	}
	head := "type " + name.Name()
	var lines []string
	switch under := name.Type().Underlying().(type) {
	case *types.Struct:
		lines = append(lines, head+" struct")
		for i := range under.NumFields() {
			field := under.Field(i)
			if !field.Exported() {
				continue
			}
			line := fmt.Sprintf("%s, %s %s", head, field.Name(), types.TypeString(field.Type(), qualifier))
			if field.Embedded() {
				line += ", embedded"
			}
			if tag := under.Tag(i); tag != "" {
				line += " " + tag
			}
			lines = append(lines, line)
		}
	case *types.Interface:
		lines = append(lines, head+" interface")
		for method := range under.Methods() {
			lines = append(lines, head+", "+types.ObjectString(method, qualifier))
		}
	default:
		lines = append(lines, head+" "+types.TypeString(under, qualifier))
	}
	if named, ok := name.Type().(*types.Named); ok {
		for method := range named.Methods() {
			if method.Exported() {
				lines = append(lines, describe(method))
			}
		}
	}
	return lines
}

func describe(object types.Object) string {
	return types.ObjectString(object, types.RelativeTo(object.Pkg()))
}
