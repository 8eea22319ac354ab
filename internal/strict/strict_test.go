package strict

import (
	"testing"

	"github.com/stretchr/testify/require"
)

type inner struct {
	N int `json:"n"`
}

type outer struct {
	Name  string `json:"name"`
	Inner inner  `json:"inner"`
}

func TestUnmarshalTakesOneValue(t *testing.T) {
	var v outer
	require.NoError(t, Unmarshal([]byte(` {"name":"a","inner":{"n":7}}`+"\n"), &v))
	require.Equal(t, outer{Name: "a", Inner: inner{N: 7}}, v)
}

// What is refused is described by the field that is wrong, where one is, and by what is wrong.
func TestUnmarshalRefusesAndDescribes(t *testing.T) {
	for _, test := range []struct{ text, field, reason string }{
		{`{"nome":"a"}`, "nome", UnknownField},
		{`{"inner":{"m":7}}`, "m", UnknownField},
		{`{"inner":{"n":"seven"}}`, "inner.n", "cannot be a JSON string"},
		{`{"name":}`, "", "is not JSON at byte 9: invalid character '}' looking for beginning of value"},
		{``, "", "ends before the JSON does"},
		{`{"name":"a`, "", "ends before the JSON does"},
		{`{} {}`, "", "has something after its end"},
		{`{} x`, "", "has something after its end"},
	} {
		err := Unmarshal([]byte(test.text), &outer{})
		require.Error(t, err, test.text)
		field, reason := Describe(err)
		require.Equal(t, [2]string{test.field, test.reason}, [2]string{field, reason}, test.text)
	}
}
