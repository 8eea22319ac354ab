package input

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/internal/hostile"
	"github.com/berth-sched/berth/internal/jsontext"
)

func items(text string, most int) (list []string, err error) {
	err = Items(strings.NewReader(text), most, func([]byte, int) error { return nil }, func(item []byte, line, column int) error {
		list = append(list, fmt.Sprintf("%d:%d %s", line, column, item))
		return jsontext.New(item, line, column).Err()
	})
	return list, err
}

func TestItems(t *testing.T) {
	got, err := items("{\"kind\":\"List\",\"items\":[{\"a\":[\"}\\\"\"]},\n  1,null ]}\n{\"items\":[]} {\"items\":[\"x\"]}", 100)
	require.NoError(t, err)
	require.Equal(t, []string{`1:25 {"a":["}\""]}`, "2:3 1", "2:5 null", `3:24 "x"`}, got)
	for text, says := range map[string]string{
		``: "ends early", `[]`: "no object", `{"items":{}}`: "no list", `{"items":[1,2`: "ends early", `{"a":1}`: `no "items"`, `{"items":[],"items":[]}`: "two", `{"a" 1}`: "colon",
		`{"items":[1 2]}`: "comma", `{"a":[1,],"items":[]}`: "JSON", `{"a":1 "items":[]}`: "comma", `{1:2}`: "not a string", `{"items":["` + strings.Repeat("a", 200): "more than 100 bytes",
	} {
		_, err := items(text, 100)
		require.ErrorContains(t, err, says, text)
		var typed *jsontext.Error
		require.ErrorAs(t, err, &typed)
		require.NotZero(t, typed.Line)
	}
	stop := errors.New("stop")
	require.ErrorIs(t, Items(strings.NewReader(`{"a":1}`), 10, func([]byte, int) error { return stop }, nil), stop)
	require.ErrorIs(t, Items(strings.NewReader(`{"items":[1]}`), 10, nil, func([]byte, int, int) error { return stop }), stop)
}

func TestItemsCostLittle(t *testing.T) {
	for _, element := range []string{"1", "{}", "[]", `""`, "null", `{"a":1}`, `"\n"`} {
		text := hostile.List(`{"items":[`, element, (1<<20)/(len(element)+1), "]}")
		hostile.Bounded(t, element, text, 1<<20, func(text string) {
			require.NoError(t, Items(strings.NewReader(text), 1<<24, nil, func([]byte, int, int) error { return nil }))
		})
	}
}

func FuzzItems(f *testing.F) {
	f.Add(`{"kind":"List","items":[{"a":[1,"\u00e9"]},2.5e-3,null]} {"items":[]}`)
	f.Fuzz(func(t *testing.T, text string) {
		_, err := items(text, 1<<20)
		var typed *jsontext.Error
		require.True(t, err == nil || errors.As(err, &typed))
	})
}
