package main

// A style is how a text is set: a class of the style sheet, with its size.
type style struct {
	class string
	// size in pixels.
	size int
	bold bool
}

var (
	titleStyle = style{"title", 24, true}
	bodyStyle  = style{"body", 13, false}
	headStyle  = style{"head", 13, true}
	nameStyle  = style{"name", 13, true}
	noteStyle  = style{"note", 11, false}
	warnStyle  = style{"warn", 11, true}
	goodStyle  = style{"good", 11, true}
	cellStyle  = style{"cell", 10, true}
)

// A mark is one thing that is drawn. Coordinates are whole pixels, from the upper left.
type mark struct {
	kind  kind
	class string
	// fill or stroke by the number of a profile; none if negative.
	profile int
	// x, y, w and h are the bounds of a rectangle. A text starts at x, or has its
	// middle there, and stands on the line y. A curve leads from x, y to w, h.
	x, y, w, h int
	text       string
	style      style
	middle     bool
}

type kind uint8

const (
	rectangle kind = iota
	text
	curve
)

// A group is marks that belong together, with what a browser shows when the pointer
// rests on them.
type group struct {
	title string
	marks []mark
}

// A figure is what is drawn, from back to front.
type figure struct {
	width, height int
	title         string
	description   string
	groups        []group
}

func (g *group) rectangle(class string, profile, x, y, w, h int) {
	g.marks = append(g.marks, mark{kind: rectangle, class: class, profile: profile, x: x, y: y, w: w, h: h})
}

func (g *group) text(s style, x, y int, words string) {
	g.marks = append(g.marks, mark{kind: text, class: s.class, profile: none, x: x, y: y, text: words, style: s})
}

func (g *group) centred(s style, x, y int, words string) {
	g.text(s, x, y, words)
	g.marks[len(g.marks)-1].middle = true
}

func (g *group) curve(class string, profile, x, y, toX, toY int) {
	g.marks = append(g.marks, mark{kind: curve, class: class, profile: profile, x: x, y: y, w: toX, h: toY})
}

// none is the profile of a mark that has the colours of the page.
const none = -1

// width returns how wide a text is, in pixels. Fonts differ, and which one a reader has
// is not known: this is that of a wide one, so that what fits here fits everywhere.
func (s style) width(words string) int {
	thousandths := 0
	for _, r := range words {
		thousandths += advance(r)
	}
	if s.bold {
		thousandths += thousandths / 10
	}
	return (thousandths*s.size + 999) / 1000
}

// advance returns the width of a character in thousandths of the size of the font.
func advance(r rune) int {
	switch r {
	case ' ', '.', ',', ':', ';', 'i', 'j', 'l', 'I', '|', '\'':
		return 330
	case 'f', 'r', 't', '-', '/', '(', ')':
		return 410
	case 'm', 'w', 'M', 'W', '%', '@', '→':
		return 980
	case '×', '+', '=':
		return 840
	}
	if r >= 'A' && r <= 'Z' {
		return 730
	}
	return 630
}

// wrap breaks words into lines no wider than the width, if no word alone is.
func (s style) wrap(words []string, between string, width int) []string {
	var lines []string
	line := ""
	for i, word := range words {
		if i+1 < len(words) {
			word += between
		}
		switch {
		case line == "":
			line = word
		case s.width(line+" "+word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}
