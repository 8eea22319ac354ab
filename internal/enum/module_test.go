package enum_test

import (
	"encoding"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/nvmlsrc"
	"github.com/berth-sched/berth/preempt"
	"github.com/berth-sched/berth/quota"
	"github.com/berth-sched/berth/topology/nodegraph"
)

// An enumeration is a type of which all is known by its texts.
type enumeration struct {
	of        reflect.Type
	most      int // its last value
	text      func(int) string
	marshal   func(int) ([]byte, error)
	unmarshal func(string) (int, error)
	foreign   bool // its words are those of a maker's tools, or of Kubernetes
}

func of[E interface {
	~uint8
	fmt.Stringer
	encoding.TextMarshaler
}, P interface {
	*E
	encoding.TextUnmarshaler
}](most E) enumeration {
	return enumeration{
		of: reflect.TypeFor[E](), most: int(most),
		text:    func(i int) string { return E(i).String() },
		marshal: func(i int) ([]byte, error) { return E(i).MarshalText() },
		unmarshal: func(s string) (int, error) {
			v := most + 1
			err := P(&v).UnmarshalText([]byte(s))
			if err != nil && v != most+1 {
				panic("a refused text changed the value")
			}
			return int(v), err
		},
	}
}

func foreign(e enumeration) enumeration {
	e.foreign = true
	return e
}

func enumerations() []enumeration {
	return []enumeration{
		of(berth.ClassLatencyCritical), of(berth.ChooseSoonest), of(berth.DependencyAny), of(berth.ShareTimeSlice), of(berth.GPUModeTimeSlice), of(berth.ReplicaReleasing),
		of(berth.OutcomePartial), of(berth.FaultNode), of(berth.LocalityLoose), of(berth.GeometryPerClaim), of(berth.PreemptionOff),
		foreign(of(berth.TaintNoSchedule)), foreign(of(berth.TolerationExists)),
		of(berth.DefragmentationOff),
		of(berth.IdleStop), of(berth.XidCondemns),
		of(gang.BottleneckFragmentation), of(gang.PartitioningPerClaim), of(gang.LocalityLoose),
		of(countable.Resource(countable.NumResources - 1)),
		foreign(of(mig.AttributeNoMedia)), foreign(of(mig.PartitionModeCPXNPS4)), of(mig.ConfidenceMeasured),
		foreign(of(nodegraph.PathNVSwitch)),
		of(nvmlsrc.ActivitySourceUtilization), of(nvmlsrc.RecoverySystemReboot),
		of(preempt.ResultExhausted),
		of(quota.VerdictNonPreemptible), of(quota.ReclaimBelowGuarantee),
	}
}

// Every enumeration prints what it reads, in words joined by hyphens, and refuses the rest in an
// error that says its name. Fields of hosts are named as in JSON.
func TestEveryEnumerationHasTexts(t *testing.T) {
	words := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$|^cpuMilli$|^memoryMiB$`)
	for _, e := range enumerations() {
		t.Run(e.of.String(), func(t *testing.T) {
			seen := map[string]bool{}
			for i := range e.most + 1 {
				text := e.text(i)
				require.False(t, seen[text], text)
				seen[text] = true
				if !e.foreign {
					require.Regexp(t, words, text)
				}
				b, err := e.marshal(i)
				if i == 0 && text == "unset" {
					_, unread := e.unmarshal(text)
					require.ErrorContains(t, err, "is not set")
					require.ErrorContains(t, unread, e.of.Name())
					continue
				}
				require.NoError(t, err)
				require.Equal(t, text, string(b))
				back, err := e.unmarshal(text)
				require.NoError(t, err)
				require.Equal(t, i, back)
			}
			for _, i := range []int{e.most + 1, 200, 255} {
				require.Equal(t, fmt.Sprintf("%s(%d)", e.of.Name(), i), e.text(i))
				_, err := e.marshal(i)
				require.ErrorContains(t, err, e.of.Name())
			}
			for _, text := range []string{"nonsense", "Class(9)", "0", e.text(0) + "|" + e.text(1), e.text(e.most) + " ", strings.Repeat("z", 10_000)} {
				_, err := e.unmarshal(text)
				require.ErrorContains(t, err, e.of.Name())
				require.Less(t, len(err.Error()), 400)
				require.LessOrEqual(t, strings.Count(err.Error(), "z"), 100)
			}
			v := reflect.New(e.of)
			require.Error(t, json.Unmarshal([]byte(`1`), v.Interface()), "no number takes the place of a text")
		})
	}
}

// The test above knows all enumerations: the exported types of the packages that an embedder
// imports which are a small number. Module kube is another, and its words are of its own.
func TestEveryEnumerationIsTested(t *testing.T) {
	var found, known []string
	for _, e := range enumerations() {
		known = append(known, e.of.String())
	}
	root := filepath.Join("..", "..")
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		switch {
		case entry.IsDir() && (slices.Contains([]string{"bench", "examples", "berthtest", "internal", "kube", ".git"}, rel) || entry.Name() == "internal"):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok && spec.Name.IsExported() {
				if small, ok := spec.Type.(*ast.Ident); ok && small.Name == "uint8" {
					found = append(found, file.Name.Name+"."+spec.Name.Name)
				}
			}
			return true
		})
		return nil
	}))
	require.ElementsMatch(t, found, known)
}
