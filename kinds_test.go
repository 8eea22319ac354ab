package berth_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/sample"
)

// sources are the files of the package but for tests.
func sources(t *testing.T) (files []*ast.File) {
	t.Helper()
	list, err := os.ReadDir(".")
	require.NoError(t, err)
	for _, file := range list {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file.Name(), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		files = append(files, parsed)
	}
	return files
}

// variants lists, from the source, the types with a marker method, which makes them
// variants of a sum.
func variants(t *testing.T, marker string) []string {
	t.Helper()
	var found []string
	for _, parsed := range sources(t) {
		for _, decl := range parsed.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv != nil && f.Name.Name == marker {
				found = append(found, f.Recv.List[0].Type.(*ast.Ident).Name)
			}
		}
	}
	require.NotEmpty(t, found)
	return found
}

// kindOf is the kind of a type by the rule for names: the type's in lower camel case.
func kindOf(name string) string {
	upper := 0
	for upper < len(name) && name[upper] >= 'A' && name[upper] <= 'Z' {
		upper++
	}
	if upper > 1 {
		upper-- // the last begins a word
	}
	return strings.ToLower(name[:upper]) + name[upper:]
}

// sampleOf is the sample of a type.
func sampleOf[I interface{ Kind() string }](t *testing.T, samples []I, name string) I {
	t.Helper()
	for _, value := range samples {
		if fmt.Sprintf("%T", value) == "berth."+name {
			return value
		}
	}
	require.FailNow(t, "no sample", "of %s; see package internal/sample and sampleOrders", name)
	panic("unreachable")
}

// A new event is its type, its line in the table of kinds, and its handler: this test
// names what is missing.
func TestEveryEventHasALineAndAHandler(t *testing.T) {
	for _, name := range variants(t, "event") {
		t.Run(name, func(t *testing.T) {
			b, err := berth.EncodeEvent(sampleOf(t, sample.Events(), name))
			require.NoError(t, err)
			e, err := berth.DecodeEvent(b)
			require.NoError(t, err)
			require.Equal(t, "berth."+name, fmt.Sprintf("%T", e))
			require.Equal(t, kindOf(name), e.Kind())
			sched, err := core.New(berth.Config{Levels: []string{"leaf"}})
			require.NoError(t, err)
			if err := sched.Apply(0, e); err != nil {
				require.NotContains(t, err.Error(), "is not one of the package's events")
			}
		})
	}
}

func TestEveryOrderHasALine(t *testing.T) {
	for _, name := range variants(t, "order") {
		t.Run(name, func(t *testing.T) {
			b, err := berth.EncodeOrder(sampleOf(t, sampleOrders(), name))
			require.NoError(t, err)
			o, err := berth.DecodeOrder(b)
			require.NoError(t, err)
			require.Equal(t, "berth."+name, fmt.Sprintf("%T", o))
			require.Equal(t, kindOf(name), o.Kind())
		})
	}
}

// What EncodeEvent writes is read in one pass: it allocates what the event consists of, and no more
// for a job of many groups than for each of them. The way that says what is wrong takes ten times
// as much.
func TestEventsAreReadInOnePass(t *testing.T) {
	for _, groups := range []int{1, 50} {
		job := berth.Job{ID: "train", Queue: "research"}
		for i := range groups {
			job.Groups = append(job.Groups, berth.Group{Name: fmt.Sprint("g", i), Members: 2, Claim: berth.Claim{GPUs: 8, CPUMilli: 1000}})
		}
		text, err := berth.EncodeEvent(berth.JobSubmitted{Job: job})
		require.NoError(t, err)
		require.LessOrEqual(t, testing.AllocsPerRun(100, func() {
			if _, err := berth.DecodeEvent(text); err != nil {
				panic(err)
			}
		}), float64(15+groups))
	}
}
