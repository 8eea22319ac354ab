package jsontext

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/internal/hostile"
)

func skipAll(text string) error {
	c := New([]byte(text), 1, 1)
	c.Skip()
	c.End()
	return c.Err()
}

// doubled are the keys that are there twice, which encoding/json takes.
func isDoubled(err error) bool { return err != nil && strings.Contains(err.Error(), "there twice") }

// What is JSON is what encoding/json takes, but for keys that are there twice, what is not UTF-8,
// and what is too deep.
func TestJSONIsThatOfTheLibrary(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, ` [1, -2.5e+3 ,0] `, `{"a":{"b":[null,true,false,"\u00e9\"x"]}}`, `"é"`, `0`, `-0`, `1E9`,
		``, `{`, `[1,]`, `[,1]`, `{"a"}`, `{"a":}`, `{"a":1,}`, `01`, `1.`, `-`, `1e`, `tru`, `nul`, `"\x"`, `"\u00G0"`, `"\u12"`, `"\ud83d\ude00\uD800"`, "\"\n\"", `"a`, `[1 2]`, `{"a":1 "b":2}`, `1 2`, `{a:1}`, `}`, `]`, `:`, "\x00", "[1]\x00",
	} {
		require.Equal(t, json.Valid([]byte(text)), skipAll(text) == nil, "%q: %v", text, skipAll(text))
	}
	drawn.Check(t, func(rt *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{"{", "}", "[", "]", ",", ":", `"a"`, `"b"`, "1", "-", ".5", "e3", "null", "true", " ", "\n", `\`, `"`}))
		text := strings.Join(parts.Draw(rt, "parts"), "")
		err := skipAll(text)
		if json.Valid([]byte(text)) != (err == nil) && !isDoubled(err) {
			rt.Fatalf("%q: %v", text, err)
		}
	})
}

func TestErrorsSayWhere(t *testing.T) {
	c := New([]byte("{\"a\": 1,\n \"b\": [2,\n\"x\"]}"), 7, 3)
	c.Object(func(key []byte) {
		if string(key) == "b" {
			c.List(func(int) { c.Int() })
		}
	})
	require.EqualError(t, c.Err(), "line 9:1: b: not a number")
	c = New([]byte(`{"a":x}`), 7, 3)
	c.Skip()
	require.EqualError(t, c.Err(), `line 7:8: a: not JSON: 'x'`)
	require.EqualError(t, skipAll(`{"a":1,"a":2}`), "line 1:12: a: it is there twice")
	many := ""
	for i := range 40 {
		many += fmt.Sprintf(`"k%d":0,`, i)
	}
	require.True(t, isDoubled(skipAll("{"+many+`"k7":1}`)))
	require.NoError(t, skipAll("{"+many+`"k77":1}`))
	var typed *Error
	require.ErrorAs(t, skipAll(strings.Repeat("[", mostDepth+1)), &typed)
	require.True(t, typed.TooLarge)
}

func TestValues(t *testing.T) {
	c := New([]byte(`{"t":"a\u00e9","i":-12,"b":true,"n":null,"l":[1,2],"o":{"x":1},"more":[[]]}`), 1, 1)
	var got []any
	c.Object(func(key []byte) {
		switch string(key) {
		case "t":
			got = append(got, c.Text())
		case "i":
			got = append(got, c.Int())
		case "b":
			got = append(got, c.Bool())
		case "n":
			got = append(got, c.Text())
		case "l":
			c.List(func(i int) { got = append(got, i, c.Int()) })
		}
	})
	c.End()
	require.NoError(t, c.Err())
	require.Equal(t, []any{"aé", int64(-12), true, "", 0, int64(1), 1, int64(2)}, got)
	for _, read := range []func(c *Cursor){
		func(c *Cursor) { c.Text() }, func(c *Cursor) { c.Bool() }, func(c *Cursor) { c.List(func(int) {}) }, func(c *Cursor) { c.Object(func([]byte) {}) },
	} {
		c := New([]byte("12"), 1, 1)
		read(c)
		require.Error(t, c.Err())
	}
	for text, want := range map[string]int64{"32": 320, "2.56": 25, "-1.5": -15, "16.0": 160} {
		c := New([]byte(text), 1, 1)
		require.Equal(t, want, c.Tenths(), text)
		require.NoError(t, c.Err())
	}
	for _, text := range []string{"1e3", "9999999999999", `"1"`} {
		c := New([]byte(text), 1, 1)
		c.Tenths()
		require.Error(t, c.Err(), text)
	}
	c = New([]byte("[1]"), 1, 1)
	c.FailTooLarge("much")
	var large *Error
	require.ErrorAs(t, c.Err(), &large)
	require.True(t, large.TooLarge)
	c = New([]byte("99999999999999999999"), 1, 1)
	c.Int()
	require.Error(t, c.Err())
}

func TestReadingCostsLittle(t *testing.T) {
	for _, element := range []string{"1", "{}", "[]", `""`, "null", `{"a":1}`, `"\n"`, "[[]]", "é"} {
		text := hostile.List(`[`, element, (1<<20)/(len(element)+1), "]")
		hostile.Bounded(t, element, text, 1<<20, func(text string) { _ = skipAll(text) })
	}
	var keys strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&keys, `"%x":0,`, i)
	}
	hostile.Bounded(t, "keys", "{"+keys.String()+`"x":0}`, 1<<20, func(text string) { require.NoError(t, skipAll(text)) })
}

func FuzzCursor(f *testing.F) {
	f.Add(`{"items":[{"a":[1,"\u00e9"]},2.5e-3,null]}`)
	f.Fuzz(func(t *testing.T, text string) {
		err := skipAll(text)
		require.True(t, err != nil || json.Valid([]byte(text)), "%q", text)
		var typed *Error
		require.True(t, err == nil || errors.As(err, &typed))
	})
}
