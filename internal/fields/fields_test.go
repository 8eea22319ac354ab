package fields_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/fields"
	"github.com/berth-sched/berth/mig"
)

// A value has a field of each sort that is walked.
type value struct {
	Text    string `json:"text"`
	Number  int
	Word    mig.ProfileName `json:"word,omitempty"`
	Ordinal berth.Ordinal   `json:"ordinal"`
	Pointer *berth.Share    `json:"pointer"`
	List    [][]string      `json:"list"`
	Pair    [2]bool
	Map     map[string]berth.MemberRef `json:"map"`
	Func    func()
	berth.ReplicaRef
}

// Every leaf of a filled value is set, and stands at a path.
func TestEveryLeafIsFilled(t *testing.T) {
	v := fields.Fill[value]()
	var inJSON []string
	for _, leaf := range fields.Leaves(&v) {
		require.Equal(t, leaf.IsData(), !leaf.Zero(), leaf.Path)
		inJSON = append(inJSON, leaf.JSON)
	}
	require.Equal(t, []string{
		"Text", "Number", "Word", "Ordinal", "Pointer.Mode", "Pointer.GPUMilli", "Pointer.MemoryMiB", "List[][]", "Pair[]",
		"Map[].key", "Map[].Group", "Map[].Index", "Func", "ReplicaRef.Job", "ReplicaRef.Replica",
	}, fields.Places(reflect.TypeFor[value]()))
	require.Subset(t, inJSON, []string{"text", "Number", "pointer.gpuMilli", "list[1][0]", "Pair[1]", `map["text-14"].index`, "job"})
}

// Each leaf can be changed, in the value and in no copy of it.
func TestEveryLeafIsChangedAlone(t *testing.T) {
	was := fields.Fill[value]()
	for i, leaf := range fields.Leaves(&was) {
		if !leaf.IsData() {
			continue
		}
		require.NotEmpty(t, leaf.Others("other"), leaf.Path)
		is := fields.Clone(was)
		require.Equal(t, was, is)
		changed := fields.Leaves(&is)[i]
		changed.Set(leaf.Others("other")[0])
		require.NotEqual(t, was, is, leaf.Path)
		if !strings.HasSuffix(leaf.Path, ".key") {
			changed.Set(leaf.Value())
			require.Equal(t, was, is, leaf.Path)
		}
	}
}

// What a copy by assignment shares is scribbled over, and nothing else.
func TestScribble(t *testing.T) {
	v := fields.Fill[value]()
	v.List = append(v.List, []string{"spare"})[:2]
	short, whole := v, fields.Clone(v)
	fields.Scribble(&short)
	require.Equal(t, whole.Text, v.Text)
	require.Equal(t, whole.Pair, v.Pair)
	require.Equal(t, whole.ReplicaRef, v.ReplicaRef)
	require.NotEqual(t, whole.Pointer, v.Pointer)
	require.NotEqual(t, whole.Map, v.Map)
	require.Equal(t, [][]string{nil, nil, nil}, v.List[:3])
}

// The functions that messages name are where they say.
func TestKeepersAreThere(t *testing.T) {
	for of, k := range fields.Keepers() {
		for _, place := range []string{k.Check, k.Copy} {
			if place == "" {
				continue
			}
			file, function, ok := strings.Cut(place, ": ")
			require.True(t, ok, place)
			text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(file)))
			require.NoError(t, err, of)
			require.Contains(t, string(text), "\n"+function+"(", of)
		}
	}
}
