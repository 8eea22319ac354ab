package main

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// An area is what a mark covers.
type area struct{ left, top, right, bottom int }

func (a area) meets(b area) bool {
	return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom
}

func (a area) holds(b area) bool {
	return a.left <= b.left && b.right <= a.right && a.top <= b.top && b.bottom <= a.bottom
}

func (m *mark) area() area {
	switch m.kind {
	case text:
		left, width := m.x, m.style.width(m.text)
		if m.middle {
			left -= width / 2
		}
		return area{left, m.y - m.style.size*4/5, left + width, m.y + m.style.size/5}
	case curve: // its control points are straight below and above its ends
		return area{min(m.x, m.w), m.y, max(m.x, m.w) + 1, m.h}
	}
	return area{m.x, m.y, m.x + m.w, m.y + m.h}
}

func areas(marks []mark) []area {
	list := make([]area, len(marks))
	for i := range marks {
		list[i] = marks[i].area()
	}
	return list
}

// apart requires that no two marks overlap: from the top down, each is held against those
// that begin before it ends.
func apart(t *testing.T, marks []mark) {
	t.Helper()
	list := areas(marks)
	slices.SortFunc(list, func(a, b area) int { return cmp.Compare(a.top, b.top) })
	for i, a := range list {
		for _, b := range list[i+1:] {
			if b.top >= a.bottom {
				break
			}
			require.False(t, a.meets(b), "marks overlap: %+v and %+v", a, b)
		}
	}
}

// Nothing lies on what it should not: texts on texts, sets on sets, steps on sets, and
// nothing outside of the page or of its set.
func TestNothingOverlaps(t *testing.T) {
	eachGraph(t, func(t *testing.T, g *graph) {
		f := compose(g)
		page := area{0, 0, f.width, f.height}
		var texts, sets, curves []mark
		for _, group := range f.groups {
			for i, m := range group.marks {
				if !page.holds(m.area()) || group.title != "" && !group.marks[0].area().holds(m.area()) {
					require.Fail(t, "outside", "%s: %+v", group.title, m)
				}
				switch {
				case m.kind == text:
					texts = append(texts, m)
				case m.kind == curve && group.title == "" && m.h != m.y: // those of the legend are level
					curves = append(curves, m)
				case group.title != "" && i == 0:
					sets = append(sets, m)
				}
			}
		}
		require.Len(t, sets, g.sets)
		across := areas(curves)
		for _, text := range areas(texts) {
			require.False(t, slices.ContainsFunc(across, text.meets), "a step runs across the text at %+v", text)
		}
		apart(t, texts)
		apart(t, sets)
		for i := range sets {
			require.False(t, slices.ContainsFunc(across, sets[i].area().meets), "a step runs across the set at %+v", sets[i])
		}
		steps := 0
		for _, row := range g.rows {
			for _, s := range row {
				steps += len(s.steps)
			}
		}
		if g.lines() {
			curves = slices.DeleteFunc(curves, func(m mark) bool { return strings.HasSuffix(m.class, " stub") })
			require.Len(t, curves, steps)
		} else {
			require.Empty(t, curves)
		}
	})
}

// A drawing is well-formed, is the same each time, and tells every set, every profile
// and the counts.
func TestSVG(t *testing.T) {
	eachGraph(t, func(t *testing.T, g *graph) {
		var b, again bytes.Buffer
		writeSVG(&b, g)
		other, err := newGraph(g.product, g.profiles)
		require.NoError(t, err)
		writeSVG(&again, other)
		require.True(t, bytes.Equal(b.Bytes(), again.Bytes()), "not the same twice")

		var words, titles []string
		element := ""
		for d := xml.NewDecoder(&b); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			switch token := token.(type) {
			case xml.StartElement:
				element = token.Name.Local
				require.NotEqual(t, "script", element)
			case xml.EndElement:
				element = ""
			case xml.CharData:
				switch element {
				case "text":
					words = append(words, string(token))
				case "title":
					titles = append(titles, string(token))
				}
			}
		}
		all := strings.Join(words, " ")
		require.Contains(t, all, g.product.Name)
		require.Contains(t, all, g.summary())
		require.Contains(t, all, g.product.Confidence().String())
		for _, p := range g.product.Profiles {
			require.Contains(t, words, p.Name.String())
		}
		for _, row := range g.rows {
			for _, s := range row {
				require.Contains(t, words, strconv.Itoa(s.number))
				require.Contains(t, all, strings.Join(g.parts(s), " + "))
				require.Contains(t, titles, g.detail(s))
			}
		}
	})
}

// White letters on the colours, and lines of the colours on the page by day and night,
// have the contrast that WCAG 2 asks for: 4.5 and 3.
func TestContrast(t *testing.T) {
	for _, colour := range palette {
		require.GreaterOrEqual(t, contrast(t, "#ffffff", colour), 4.5, colour)
		require.GreaterOrEqual(t, contrast(t, day[0].(string), colour), 3.0, colour)
		require.GreaterOrEqual(t, contrast(t, night[0].(string), colour), 3.0, colour)
	}
	for _, colours := range [][]any{day, night} {
		for _, ink := range colours[1:4] { // titles, notes, warnings
			for _, ground := range []any{colours[0], colours[4], colours[6]} { // page, set, full set
				require.GreaterOrEqual(t, contrast(t, ground.(string), ink.(string)), 4.5, "%s on %s", ink, ground)
			}
		}
	}
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		value, err := strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8)
		require.NoError(t, err)
		c := float64(value) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}
