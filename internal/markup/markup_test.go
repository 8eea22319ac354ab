package markup

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/internal/hostile"
)

// A teller writes down what it is told, and passes over elements called over.
type teller []string

func (t *teller) Begin(e Element) error {
	*t = append(*t, fmt.Sprintf("%d:%d %s", e.Line, e.Column, e.Name))
	if e.Name == "over" {
		return ErrPassOver
	}
	return nil
}

func (t *teller) Text(at Place, text string) error {
	*t = append(*t, fmt.Sprintf("%d:%d %q", at.Line, at.Column, text))
	return nil
}

func (t *teller) End(at Place) error {
	*t = append(*t, fmt.Sprintf("%d:%d end", at.Line, at.Column))
	return nil
}

func TestWalkTellsWhatStandsWhere(t *testing.T) {
	var told teller
	require.NoError(t, Walk("<?xml version=\"1.0\"?>\n<!DOCTYPE a>\n<a b='1'>\n <over>x<c/></over> y <n:c/>\n</a>", &told))
	require.Equal(t, teller{"3:1 a", "4:2 over", `4:20 "y"`, "4:23 n:c", "4:29 end", "5:1 end"}, told)

	e := Element{}
	_, there := e.Attribute("b")
	require.False(t, there)
}

func TestWalkRefuses(t *testing.T) {
	for text, reason := range map[string]string{
		"<a>":                              "line 1:4: the text ends within a",
		"</a>":                             "line 1:1: the end of a, which has no beginning",
		"<a><b></a></b>":                   "line 1:7: the end of a, within b",
		"<a b='1' c='' b='2'/>":            "line 1:1: a has the attribute b twice",
		"<a>\n<b c=></a>":                  "line 2: XML: unquoted or missing attribute value in element",
		"<?xml encoding='latin1'?><a>":     `line 1:1: xml: encoding "latin1" declared but Decoder.CharsetReader is nil`,
		strings.Repeat("<a>", MostDepth+1): "line 1:301: more than 100 elements in each other",
		"<over>" + strings.Repeat("<a>", MostDepth):                       "line 1:304: more than 100 elements in each other",
		"<r>" + strings.Repeat("<a/>", MostElements):                      "line 1:1048576: more than 262144 elements",
		"<a" + strings.Repeat(" b=''", MostAttributes+1) + "/>":           "line 1:1: more than 64 attributes of a",
		"<" + strings.Repeat("a", 1000) + "></" + strings.Repeat("b", 50): "",
	} {
		var told teller
		err := Walk(text, &told)
		var typed *Error
		require.ErrorAs(t, err, &typed, "%.40s", text)
		if reason != "" {
			require.EqualError(t, err, reason)
		}
		require.Less(t, len(err.Error()), 200)
		require.Equal(t, strings.Contains(reason, "more than"), typed.TooLarge)
	}
	stop := errors.New("stop")
	require.Equal(t, stop, Walk("<a/>", stopper{stop}))
}

// A stopper ends the walk at once.
type stopper struct{ err error }

func (s stopper) Begin(Element) error      { return s.err }
func (s stopper) Text(Place, string) error { return s.err }
func (s stopper) End(Place) error          { return s.err }

func TestWalkCostsWhatTheTextIsLong(t *testing.T) {
	const length = 1 << 18
	for _, part := range []string{"<a/>", "<a></a>", "<a b=''/>", "<a b='' c='' d='' e=''/>", "x<a/>", "<over/>", "<!---->", "x&lt;", "x "} {
		text := "<r>" + strings.Repeat(part, length/len(part)) + "</r>"
		hostile.Bounded(t, part, text, 8<<20, func(text string) { _ = Walk(text, stopper{}) })
	}
}
