// Command sizes prints how large the packages that decide are: lines of each, its files, its
// largest file and its longest function, without tests and generated files. Given a revision, it
// prints those alone that have grown since, and by how much. It is for a reviewer, and fails for no
// size: a limit would be met by bending code.
//
//	go run ./internal/sizes
//	go run ./internal/sizes -since HEAD~20
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"log"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

// deciding are the packages that decide, and all below them.
var deciding = []string{".", "countable", "topology", "mig", "quota", "gang", "preempt", "core"}

// A size is that of one package, in lines with their comments.
type size struct {
	lines, files, largest, longest int
	file, function                 string
}

func main() {
	log.SetFlags(0)
	since := flag.String("since", "", "print what has grown since this `revision`")
	flag.Parse()
	now, err := measure(".")
	if err != nil {
		log.Fatal(err)
	}
	var before map[string]size
	if *since != "" {
		if before, err = measureRevision(*since); err != nil {
			log.Fatal(err)
		}
	}
	if err := print(os.Stdout, now, before); err != nil {
		log.Fatal(err)
	}
}

// print writes a table of sizes; with those of before, of the packages alone that have more lines.
func print(out io.Writer, now, before map[string]size) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "package\tlines\tgrown by\tfiles\tlargest file\tlongest function")
	for _, name := range slices.Sorted(maps.Keys(now)) {
		s, grown := now[name], "-"
		if before != nil {
			by := s.lines - before[name].lines
			if by <= 0 {
				continue
			}
			grown = fmt.Sprint(by)
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%d\t%s %d\t%s %d\n", name, s.lines, grown, s.files, s.file, s.largest, s.function, s.longest)
	}
	return w.Flush()
}

// measureRevision measures the tree of a revision.
func measureRevision(revision string) (map[string]size, error) {
	dir, err := os.MkdirTemp("", "sizes")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	archive := exec.Command("git", "archive", "--output", filepath.Join(dir, "tree.tar"), revision)
	unpack := exec.Command("tar", "-xf", filepath.Join(dir, "tree.tar"), "-C", dir)
	for _, command := range []*exec.Cmd{archive, unpack} {
		if said, err := command.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%v: %w: %s", command.Args, err, said)
		}
	}
	return measure(dir)
}

// measure measures the packages that decide in a tree, by their folders.
func measure(root string) (map[string]size, error) {
	sizes := map[string]size{}
	return sizes, filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, file)
		name = filepath.ToSlash(name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && !decides(name):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		s := sizes[path.Dir(name)]
		if err := s.add(file); err != nil {
			return err
		}
		sizes[path.Dir(name)] = s
		return nil
	})
}

// decides reports whether a folder is one of those of packages that decide.
func decides(folder string) bool {
	return slices.ContainsFunc(deciding[1:], func(d string) bool { return folder == d || strings.HasPrefix(folder, d+"/") })
}

// add adds a file, unless it is generated.
func (s *size) add(name string) error {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(file) {
		return err
	}
	lines := fset.File(file.Pos()).LineCount()
	s.lines, s.files = s.lines+lines, s.files+1
	if lines > s.largest {
		s.largest, s.file = lines, filepath.Base(name)
	}
	for _, declared := range file.Decls {
		function, ok := declared.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if long := fset.Position(function.End()).Line - fset.Position(function.Pos()).Line + 1; long > s.longest {
			s.longest, s.function = long, function.Name.Name
		}
	}
	return nil
}
