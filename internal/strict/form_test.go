package strict

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A Wide has a field of each sort that a form reads.
type wide struct {
	outer
	Small  int8              `json:"small,omitempty"`
	Big    uint64            `json:"big"`
	On     bool              `json:"on"`
	Names  []string          `json:"names"`
	Kinds  map[kind][]inner  `json:"kinds"`
	To     **int             `json:"to"`
	Number number            `json:"number"`
	Word   word              `json:"word"`
	Words  map[string]*inner `json:"words"`
	Bytes  []byte            `json:"bytes"`
}

type kind string

// A number reads its own JSON, and a word its own text.
type number struct{ n int }

func (n *number) UnmarshalJSON(b []byte) error {
	if n.n = len(b); n.n > 5 {
		return &ownError{"is long"}
	}
	return nil
}

type word struct{ text string }

func (w *word) UnmarshalText(b []byte) error {
	if w.text = string(b); w.text == "no" {
		return &ownError{"is no"}
	}
	return nil
}

const plain = `{"name":"a","inner":{"n":-7},"rows":[{"n":1},{},{"n":2}],"free":{"a":1,"b":2},"next":{"name":"ü"},"Later":[{}, "x]"],"part":1,` +
	`"small":-128,"big":7, "on" : true ,"names":["x","y"],"kinds":{"k":[{"n":3}],"l":[]},"to":5,"number":12,"word":"yes","words":{"a":null,"b":{"n":1}},"bytes":"AQI="}`

// What is plain a form reads by itself, and like Unmarshal.
func TestAFormReadsLikeUnmarshal(t *testing.T) {
	form := FormOf[wide](Readings{})
	var want wide
	require.NoError(t, Unmarshal([]byte(plain), &want))
	got, ok := form.Plain([]byte(plain))
	require.True(t, ok)
	require.Equal(t, want, *got)
}

// same asserts that a form takes and refuses a text as Unmarshal does, and says the same of it.
func same[T any](t *testing.T, form *Form[T], text string) {
	t.Helper()
	var want T
	refusal := unmarshal([]byte(text), &want, form.complete, 0)
	got, err := form.Unmarshal([]byte(text))
	require.Equal(t, refusal, err, text)
	if refusal == nil {
		require.Equal(t, want, *got, text)
	} else {
		_, ok := form.Plain([]byte(text))
		require.False(t, ok, text)
	}
}

// Each text that differs from a right one in some bytes is read as Unmarshal reads it.
func TestAFormRefusesWhatUnmarshalRefuses(t *testing.T) {
	refusesLikeUnmarshal(t, FormOf[wide](Readings{}))
}

// A complete form differs from Unmarshal in what it misses alone, and says itself what that is.
func TestACompleteFormRefusesWhatIsLeftOut(t *testing.T) {
	form := CompleteFormOf[wide](Readings{})
	refusesLikeUnmarshal(t, form)
	type row struct {
		N    int            `json:"n"`
		Size int            `json:"size,omitempty"`
		Rows []row          `json:"rows"`
		By   map[string]row `json:"by,omitzero"`
		At   *Part          `json:"at"`
		Part
	}
	const whole = `"rows":null,"at":null,"part":1`
	rows := CompleteFormOf[row](Readings{})
	for _, c := range []struct{ text, field, reason string }{
		{`{"n":0,` + whole + `}`, "", ""},
		{`{"n":0,"size":null,` + whole + `}`, "", ""},
		{`{` + whole + `}`, "n", "is missing"},
		{`{"n":null,` + whole + `}`, "n", "is null"},
		{`{"n":0,"rows":[],"part":1}`, "at", "is missing"},
		{`{"n":0,"rows":[],"at":null}`, "part", "is missing"},
		{`{"n":0,"rows":[],"at":{},"part":1}`, "at.part", "is missing"},
		{`{"n":0,"at":null,"part":1,"rows":[{"n":1,` + whole + `},{` + whole + `}]}`, "rows[1].n", "is missing"},
		{`{"n":0,"at":null,"part":1,"rows":[null]}`, "rows[0]", "is null"},
		{`{"n":0,"by":{"a":{}},` + whole + `}`, `by["a"].n`, "is missing"},
		{`{"n":0,"by":{"a":null},` + whole + `}`, `by["a"]`, "is null"},
		{`null`, "", "is null"},
	} {
		same(t, rows, c.text)
		_, err := rows.Unmarshal([]byte(c.text))
		if c.reason == "" {
			require.NoError(t, err)
			continue
		}
		field, reason := Describe(err, (*ownError).because)
		require.Equal(t, [2]string{c.field, c.reason}, [2]string{field, reason}, c.text)
	}
}

func refusesLikeUnmarshal(t *testing.T, form *Form[wide]) {
	t.Helper()
	for i := range plain {
		same(t, form, plain[:i])
		same(t, form, plain[:i]+plain[i+1:])
		for _, c := range []string{`"`, `\`, `0`, `9`, `.`, `e`, `-`, `,`, `:`, `{`, `}`, `[`, `]`, ` `, "\x00", "\x1f", "\xff", `null`, `1e3`, `"no"`, `{}`, `"n":1,`} {
			same(t, form, plain[:i]+c+plain[i:])
			same(t, form, plain[:i]+c+plain[i+1:])
		}
	}
	for _, text := range []string{
		``, ` `, `null`, `{}`, `[]`, `{"big":18446744073709551615}`, `{"big":18446744073709551616}`, `{"part":9223372036854775807}`, `{"part":9223372036854775808}`, `{"part":-9223372036854775808}`, `{"big":-1}`, `{"small":128}`, `{"small":-129}`, `{"part":01}`, `{"part":-}`, `{"part":- 1}`, `{"part":1.0}`,
		`{"name":"\u00fc"}`, `{"name":"a\"b"}`, `{"name":"\ud800"}`, `{"name":null,"rows":null,"next":null,"free":null,"to":null,"number":null,"word":null,"Later":null}`,
		`{"number":{"a":1,"a":2}}`, `{"number":123456}`, `{"word":"no"}`, `{"word":1}`, `{"Later":{]}}`, `{"Later":}`, `{"words":{"a":{},"a":{}}}`, `{"names":["x",]}`, `{"names":[,"x"]}`,
		`{"bytes":""}`, `{"bytes":null}`, `{"bytes":"AQ"}`, `{"bytes":"AQI"}`, `{"bytes":"A QI="}`, `{"bytes":[1,2]}`, `{"name":"a"}x`, `{"name":"a"} `, `{"name":"a"}{}`, `{,"name":"a"}`, `{"name":"a",}`, `{"name" "a"}`, `{"next":` + strings.Repeat(`{"next":`, 300) + `{}` + strings.Repeat(`}`, 301),
	} {
		same(t, form, text)
	}
}

// An entry that stands far from where it is declared is found, and found twice.
func TestAFormReadsFieldsInAnyOrder(t *testing.T) {
	var fields []string
	for key, value := range map[string]string{"name": `"a"`, "part": "1", "on": "true", "big": "2", "names": `["x"]`, "inner": `{"n":1}`, "to": "3"} {
		fields = append(fields, `"`+key+`":`+value)
	}
	form := FormOf[wide](Readings{})
	r := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		r.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
		text := "{" + strings.Join(fields, ",") + "}"
		same(t, form, text)
		_, ok := form.Plain([]byte(text))
		require.True(t, ok)
		same(t, form, "{"+strings.Join(append(fields, fields[0]), ",")+"}")
	}
}

// What no form reads is left to Unmarshal.
func TestAFormLeavesWhatItDoesNotKnow(t *testing.T) {
	type rare struct {
		F float64        `json:"f"`
		A [2]int         `json:"a"`
		Q int            `json:"q,string"`
		I any            `json:"i"`
		M map[int]string `json:"m"`
	}
	for _, text := range []string{`{"f":1.5}`, `{"a":[1,2]}`, `{"q":"1"}`, `{"i":[]}`, `{"m":{"1":"x"}}`, `{}`} {
		same(t, FormOf[rare](Readings{}), text)
	}
}

func TestSingle(t *testing.T) {
	key, body, ok := Single([]byte(` {"a" : {"b":1}}`))
	require.True(t, ok)
	require.Equal(t, [2]string{"a", ` {"b":1}`}, [2]string{string(key), string(body)})
	for _, text := range []string{``, `{`, `{}`, `{"a"`, `{"a":`, `{"a":}`[:5], `{"a":1`, `[1]`, `{"a\x":1}`, `{"a":1} `} {
		_, _, ok := Single([]byte(text))
		require.False(t, ok, text)
	}
}

// Whatever text comes, a form takes what Unmarshal takes, and nothing else.
func FuzzForm(f *testing.F) {
	f.Add([]byte(plain))
	form := FormOf[wide](Readings{})
	f.Fuzz(func(t *testing.T, b []byte) {
		got, ok := form.Plain(b)
		if !ok {
			return
		}
		var want wide
		require.NoError(t, Unmarshal(b, &want))
		require.True(t, json.Valid(b))
		require.True(t, reflect.DeepEqual(want, *got))
	})
}

// A long list is copied few times, and equal texts of what is shared are read once.
func TestAFormReadsLongListsAtLittleCost(t *testing.T) {
	long := []byte("[" + strings.Repeat(`{"n":1},`, 9999) + `{"n":2}]`)
	form := FormOf[[]inner](Readings{})
	require.Less(t, testing.AllocsPerRun(3, func() {
		list, ok := form.Plain(long)
		require.True(t, ok && len(*list) == 10_000 && cap(*list) < 12_000)
	}), 20.0)

	type sharer struct {
		Rows []inner `json:"rows"`
	}
	many := []byte(`[` + strings.Repeat(`{"rows":[{"n":1},{"n":2}]},{"rows": [{"n":3}] },{"rows":[]},{"rows":null},`, 500) + `{"rows":[{"n":4}]}]`)
	sharing := FormOf[[]sharer](Sharing[[]inner](Readings{}))
	require.Less(t, testing.AllocsPerRun(3, func() {
		list, ok := sharing.Plain(many)
		require.True(t, ok)
		require.Same(t, &(*list)[0].Rows[0], &(*list)[4].Rows[0])
	}), 60.0)
	got, _ := sharing.Plain(many)
	want, _ := FormOf[[]sharer](Readings{}).Plain(many)
	require.Equal(t, want, got)
	odd := FormOf[wide](Sharing[[]inner](Sharing[[]string](Readings{})))
	for i := range plain { // as without sharing, whatever comes
		for _, c := range []string{`"`, `\`, `,`, `{`, `]`} {
			same(t, odd, plain[:i]+c+plain[i:])
		}
	}
}

// A form reads by itself whatever is right of a type that has nothing rare: escapes in any text,
// and null where there may be none. So what is right is never decoded without a bound.
func TestAFormReadsAllThatIsRight(t *testing.T) {
	form := FormOf[wide](Readings{})
	for _, text := range []string{
		`{"name":"\u00fc \ud83d\ude00 \ud83d \udE00x \"\\\/\b\f\n\r\t","n\u0061mes":["\u003ca\u003e"]}`,
		`{"name":null,"inner":null,"rows":[null],"free":{"\u0061":null},"small":null,"big":null,"on":null,"word":null,"number":null,"words":{"a":null},"bytes":null}`,
		`{"number":"\n","word":"\n"}`,
	} {
		same(t, form, text)
		_, plain := form.Plain([]byte(text))
		require.True(t, plain, text)
	}
	for _, text := range []string{`{"name":"\x"}`, `{"name":"\u00f"}`, `{"name":"\`, `{"name":"\u`, `{"name":"\"}`} {
		same(t, form, text)
	}
}

// A value may take so much memory, and no more: it is refused at the element with which it does.
func TestAFormBoundsWhatAValueTakes(t *testing.T) {
	type row struct {
		Many [100]int64 `json:"-"`
		N    int        `json:"n"`
	}
	form := FormOf[[]row](Readings{})
	long := func(element string) error {
		_, err := form.Unmarshal([]byte("[" + strings.Repeat(element+",", 10_000) + "{}]"))
		return err
	}
	require.NoError(t, long(`{"n":1`+strings.Repeat(" ", 200)+`}`))
	for _, element := range []string{"{}", "null", `{"n":1}`} {
		err := long(element)
		require.True(t, IsTooLarge(err), "%v", err)
		field, reason := Describe(err, (*ownError).because)
		require.Regexp(t, `^\[\d+\]`, field)
		require.Contains(t, reason, "comes to more than the text may fill")
	}
	require.False(t, IsTooLarge(Unmarshal([]byte(`{"m":1}`), &row{})))
}

// Of fields of one name a form reads the one that is embedded the least deeply, as Unmarshal does.
func TestAFormReadsTheNearestField(t *testing.T) {
	type older struct {
		Name string `json:"name"`
		outer
	}
	form := FormOf[older](Readings{})
	for _, text := range []string{`{"name":"a","part":3,"rows":[{"n":1}]}`, `{"name":1}`, `{"name":"a","name":"b"}`} {
		same(t, form, text)
	}
	got, plain := form.Plain([]byte(`{"name":"a"}`))
	require.True(t, plain)
	require.Equal(t, older{Name: "a"}, *got)
}
