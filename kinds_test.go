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
)

// variants lists, from the source, the types with a marker method, which makes them
// variants of a sum.
func variants(t *testing.T, marker string) []string {
	t.Helper()
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	var found []string
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file.Name(), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
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

// bodyOf is the JSON of the least of a type that can be written.
func bodyOf(name string) string {
	switch name {
	case "OrderReported":
		return `{"outcome":"done"}`
	case "GPUPartitioned", "Repartition":
		return `{"mode":"whole"}`
	}
	return `{}`
}

// A new event is its type, its line in the table of kinds, and its handler: this test
// names what is missing.
func TestEveryEventHasALineAndAHandler(t *testing.T) {
	for _, name := range variants(t, "event") {
		t.Run(name, func(t *testing.T) {
			e, err := berth.DecodeEvent(fmt.Appendf(nil, `{%q:%s}`, kindOf(name), bodyOf(name)))
			require.NoError(t, err)
			require.Equal(t, "berth."+name, fmt.Sprintf("%T", e))
			require.Equal(t, kindOf(name), e.Kind())
			_, err = berth.EncodeEvent(e)
			require.NoError(t, err)
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
			a, err := berth.DecodeOrder(fmt.Appendf(nil, `{%q:%s}`, kindOf(name), bodyOf(name)))
			require.NoError(t, err)
			require.Equal(t, "berth."+name, fmt.Sprintf("%T", a))
			require.Equal(t, kindOf(name), a.Kind())
			_, err = berth.EncodeOrder(a)
			require.NoError(t, err)
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
