package strict

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An own is written by itself, as JSON, as text, or as pointers do it.
type (
	own   struct{ text string }
	said  struct{ text string }
	byPtr struct{ N int }
	zeros struct{ n int }
)

func (o own) MarshalJSON() ([]byte, error)  { return []byte(o.text), nil }
func (s said) MarshalText() ([]byte, error) { return []byte(s.text), nil }
func (*byPtr) MarshalJSON() ([]byte, error) { return []byte(`"by pointer"`), nil }
func (z zeros) IsZero() bool                { return z.n == 7 }

type inside struct {
	In   string `json:"in"`
	More []int  `json:"more,omitempty"`
}

type scribbled struct {
	inside
	Own      own               `json:"own"`
	Said     said              `json:"said,omitzero"`
	ByPtr    byPtr             `json:"byPtr"`
	To       *inner            `json:"to"`
	ToZero   *inner            `json:"toZero,omitempty"`
	List     []said            `json:"list"`
	Nil      []int             `json:"nil"`
	Empty    []int             `json:"empty,omitempty"`
	Zero     []int             `json:"zero,omitzero"`
	Bytes    []byte            `json:"bytes"`
	Map      map[string]*inner `json:"map"`
	NoMap    map[string]int    `json:"noMap,omitempty"`
	Int      int8              `json:"int"`
	Uint     uint64            `json:"uint,omitempty"`
	On       bool              `json:"on"`
	Off      bool              `json:"off,omitempty"`
	Struct   inner             `json:"struct,omitzero"`
	Kept     inner             `json:"kept,omitempty"`
	Raw      json.RawMessage   `json:"raw"`
	Hidden   int               `json:"-"`
	Untagged string
}

// rareFields has what has no way of its own.
type rareFields struct {
	F float64        `json:"f"`
	A [2]int         `json:"a,omitempty"`
	Q int            `json:"q,string"`
	I any            `json:"i"`
	M map[int]string `json:"m"`
	Z zeros          `json:"z,omitzero"`
	T time.Time      `json:"t"`
}

func writesLike[T any](t *testing.T, v T) {
	t.Helper()
	want, failure := json.Marshal(&v)
	got, err := PenOf[T](Writings{}).Append([]byte("before "), &v)
	require.Equal(t, failure, err)
	if failure == nil {
		require.Equal(t, "before "+string(want), string(got))
	}
}

func TestAPenWritesLikeMarshal(t *testing.T) {
	for _, text := range []string{"", "plain", `"`, `\`, "<a & b>", "\x00\x1f\x7f", "ü\u2028", "\xff", "\u0080"} {
		writesLike(t, text)
		writesLike(t, said{text})
		writesLike(t, map[string]string{text: text, "b": "", "a": ""})
	}
	for _, text := range []string{"7", "-7", "0", "[]", "[1,-2]", "[1,2", "1,2]", "[1,]", "[,1]", "07", "-", "", `{"b" : "<"}`, "null", "1.5", "x"} {
		writesLike(t, own{text})
	}
	n := inner{1}
	writesLike(t, scribbled{Own: own{"1"}})
	writesLike(t, scribbled{
		inside: inside{"<", []int{1, 2}}, Own: own{"[3]"}, Said: said{"x"}, To: &n, ToZero: &n, List: []said{{"a"}, {"b"}}, Nil: []int{1}, Empty: []int{}, Zero: []int{},
		Bytes: []byte("bytes"), Map: map[string]*inner{"b": &n, "a": nil}, NoMap: map[string]int{"x": 1}, Int: math.MinInt8, Uint: math.MaxUint64, On: true, Off: true, Struct: n,
		Raw: json.RawMessage(`{"a": "<"}`), Untagged: "u",
	})
	writesLike(t, rareFields{F: 1.5, Q: 1, I: n, M: map[int]string{1: "x"}, Z: zeros{7}})
	writesLike(t, rareFields{Z: zeros{1}})
	writesLike(t, outer{Next: &outer{Name: "inner", Next: &outer{}}, Rows: []inner{{1}, {2}}})
}

// What a pen writes a form reads.
func TestAPenWritesWhatAFormReads(t *testing.T) {
	want := outer{Name: "ä", Rows: []inner{{1}}, Free: map[string]int{"a": 1}, Later: json.RawMessage("1"), Part: Part{2}}
	type without struct { // Own of outer takes nothing
		Name  string          `json:"name"`
		Rows  []inner         `json:"rows"`
		Free  map[string]int  `json:"free"`
		Next  *without        `json:"next"`
		Later json.RawMessage `json:"later"`
	}
	v := without{Name: want.Name, Rows: want.Rows, Free: want.Free, Next: &without{Later: want.Later}, Later: want.Later}
	text, err := PenOf[without](Writings{}).Append(nil, &v)
	require.NoError(t, err)
	got, ok := FormOf[without](Readings{}).Plain(text)
	require.True(t, ok)
	got.Next.Later, v.Next.Later = nil, nil
	require.Equal(t, v, *got)
}

// A text that is written in parts, of whatever size, is the one that is written at once.
func TestATextIsWrittenInParts(t *testing.T) {
	n := inner{1}
	for _, v := range []scribbled{
		{Own: own{"1"}},
		{Own: own{"1"}, Empty: []int{1}, Untagged: "u"},
		{inside: inside{"<", []int{1, 2}}, Own: own{"[3]"}, To: &n, List: []said{{"a"}, {"b"}, {"c"}}, Nil: []int{}, Zero: []int{1, 2, 3, 4, 5}, Raw: json.RawMessage(`{"a": "<"}`)},
	} {
		inParts(t, &v)
	}
	inParts(t, &struct {
		First []int `json:"first,omitempty"`
		Last  []int `json:"last,omitempty"`
	}{Last: []int{1, 22, 333, 4444}})
	inParts(t, &struct{}{})
	inParts(t, &rareFields{M: map[int]string{1: "x"}})
	inParts(t, &[]int{1, 2, 3})
}

func inParts[T any](t *testing.T, v *T) {
	t.Helper()
	want, err := json.Marshal(v)
	require.NoError(t, err)
	pen := PenOf[T](Writings{})
	for size := range len(want) + 2 {
		text := pen.Text(v)
		got, more := []byte(nil), true
		for more {
			had := len(got)
			got, more, err = text.Next(got, size)
			require.NoError(t, err)
			require.True(t, !more || len(got)-had >= size, "a part is short of %d bytes", size)
			require.LessOrEqual(t, len(got), len(want))
		}
		require.Equal(t, string(want), string(got))
	}
	_, _, err = PenOf[own](Writings{}).Text(&own{"wrong"}).Next(nil, 1)
	require.Error(t, err)
}
