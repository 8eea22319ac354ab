package strict

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type inner struct {
	N int `json:"n"`
}

type outer struct {
	Name  string         `json:"name"`
	Inner inner          `json:"inner"`
	Rows  []inner        `json:"rows"`
	Free  map[string]int `json:"free"`
	Next  *outer         `json:"next"`
	Own   never          `json:"own"`
	Later json.RawMessage
	Part
	Hidden int `json:"-"`
}

type Part struct {
	Part int `json:"part"`
}

type never struct{}

func (*never) UnmarshalText([]byte) error { return &ownError{"is never right"} }

// An ownError is how a type refuses its own text.
type ownError struct{ reason string }

func (e *ownError) Error() string { return "never: " + e.reason }

func (e *ownError) because() string { return e.reason }

func TestUnmarshalTakesOneValue(t *testing.T) {
	var v outer
	require.NoError(t, Unmarshal([]byte(` {"name":"a","inner":{"n":7}}`+"\n"), &v))
	require.Equal(t, outer{Name: "a", Inner: inner{N: 7}}, v)
}

// What is refused is described by the field that is wrong, where one is, and by what is wrong.
func TestUnmarshalRefusesAndDescribes(t *testing.T) {
	for _, test := range []struct{ text, field, reason string }{
		{`{"nome":"a"}`, "nome", UnknownField + `; did you mean "name"?`},
		{`{"Name":"a"}`, "Name", UnknownField + `; did you mean "name"?`},
		{`{"inner":{"m":7}}`, "inner.m", UnknownField},
		{`{"inner":{"N":7}}`, "inner.N", UnknownField + `; did you mean "n"?`},
		{`{"name":"a", "name":"b"}`, "name", "comes twice"},
		{`{"name":"a", "n\u0061me":"b"}`, "name", "comes twice"},
		{`{"rows":[{}, {"n":1,"m":[{"]":"}"}]}]}`, "rows[1].m", UnknownField},
		{`{"rows":[{}, {"n":"x"}]}`, "rows[1].n", "cannot be a JSON string"},
		{`{"free":{"a":1,"b":true}}`, `free["b"]`, "cannot be a JSON bool"},
		{`{"free":{"a":1,"a":1}}`, `free["a"]`, "comes twice"},
		{`{"part":1,"part":1}`, "part", "comes twice"},
		{`{"Hidden":1}`, "Hidden", UnknownField},
		{`{"next":{"next":{"nam":"x"}}}`, "next.next.nam", UnknownField + `; did you mean "name"?`},
		{`{"own":"x"}`, "own", "is never right"},
		{"{\"name\":\"\xff\"}", "name", "is not UTF-8 at byte 11"},
		{"{\"free\":{\"\xff\":1}}", `free["\xff"]`, "is not UTF-8 at byte 12"},
		{`{"inner":{"n":"seven"}}`, "inner.n", "cannot be a JSON string"},
		{`{"name":}`, "", "is not JSON at byte 9: invalid character '}' looking for beginning of value"},
		{``, "", "ends before the JSON does"},
		{`{"name":"a`, "", "ends before the JSON does"},
		{`{} {}`, "", "has something after its end"},
		{`{} x`, "", "has something after its end"},
	} {
		err := Unmarshal([]byte(test.text), &outer{})
		require.Error(t, err, test.text)
		field, reason := Describe(err, (*ownError).because)
		require.Equal(t, [2]string{test.field, test.reason}, [2]string{field, reason}, test.text)
	}
}

// What is left raw is looked at by those that decode it; what follows it is looked at.
func TestRawValuesAreSteppedOver(t *testing.T) {
	for _, raw := range []string{`{"a":1,"a":[{"}":"]\""}]}`, `[1, {}, "x"]`, `"\""`, `-1.5e3`, `null`} {
		var v outer
		require.NoError(t, Unmarshal([]byte(`{"Later" : `+raw+` , "name":"n"}`), &v), raw)
		require.Equal(t, raw, string(v.Later))
		field, _ := Describe(Unmarshal([]byte(`{"Later" : `+raw+` , "nom":"n"}`), &v), (*ownError).because)
		require.Equal(t, "nom", field)
	}
}

// However much of a text is wrong, its refusal repeats little of it.
func TestRefusalsAreShort(t *testing.T) {
	huge := strings.Repeat("z", 1<<20)
	for _, text := range []string{
		`{"` + huge + `":1}`, `{"free":{"` + huge + `":"x"}}`, `{"inner":` + strings.Repeat("9", 1<<20) + `}`, `{"name":"` + huge,
		`{"rows":[{"n":1` + strings.Repeat("0", 1<<20) + `}]}`, `{"own":"` + huge + `"}`, huge, `{"name":"` + huge + `"} ` + huge,
		`{"own":` + strings.Repeat(`{"z":`, 5000) + `{"z":1,"z":1}` + strings.Repeat(`}`, 5000) + `}`,
	} {
		err := Unmarshal([]byte(text), &outer{})
		require.Error(t, err)
		require.Less(t, len(err.Error()), 200)
		require.LessOrEqual(t, strings.Count(err.Error(), "z")+strings.Count(err.Error(), "9")+strings.Count(err.Error(), "0"), 100)
	}
}

func TestHas(t *testing.T) {
	for _, path := range []string{"", "name", "inner.n", "rows[3].n", `free["x.y"]`, "next.next.rows[0]", "part", "own", "Later"} {
		require.True(t, Has(reflect.TypeFor[outer](), path), path)
	}
	for _, path := range []string{"nome", "inner.m", "rows.n", "rows[0].m", "free[0]", `rows["x"]`, "Hidden", "Part", "name.x", "rows[0"} {
		require.False(t, Has(reflect.TypeFor[outer](), path), path)
	}
}

// Whatever encoding/json takes and refuses, the walk beside it comes to an end.
func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte(`{"name":"a","inner":{"n":7},"rows":[{"n":1}],"free":{"a":1},"next":{},"Later":[{}],"part":1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var v, w outer
		err := Unmarshal(b, &v)
		if err == nil {
			require.NoError(t, json.Unmarshal(b, &w))
			require.Equal(t, w, v)
			return
		}
		require.Less(t, len(err.Error()), 600)
	})
}
