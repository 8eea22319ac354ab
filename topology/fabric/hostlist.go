package fabric

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxDigits of a number in a host list; all such numbers fit in an int64.
	maxDigits = 18
)

// expandHostlist reads a host list expression of Slurm, such as "login,r[1-2]n[01-16]",
// and returns the names in the order in which they are written; a bracket further
// to the right runs faster. Any number of brackets may stand anywhere in a name. A
// range is padded to the width of its lower end. Refusals: ErrSyntax, and ErrLimit
// where the names would take more than an input may.
//
// The format is that of slurm.conf(5), "hostlist expressions".
func expandHostlist(expression string) ([]string, error) {
	return newSource("").hosts(0, "", expression)
}

// hosts expands an expression at the cost of the source's budget. It is counted before a name is
// made.
func (s *source) hosts(line int, field, expression string) ([]string, error) {
	if expression == "" {
		return nil, nil // as Slurm has it
	}
	total := 0
	count := func(p *pattern) error {
		total += p.names
		return s.spend(line, field, p.names*(nameCost+p.length))
	}
	if err := s.patterns(line, field, expression, count); err != nil {
		return nil, err
	}
	names := make([]string, 0, total)
	expand := func(p *pattern) error {
		names = p.expand(names, nil, 0)
		return nil
	}
	return names, s.patterns(line, field, expression, expand)
}

// patterns hands over the names of an expression that commas outside of brackets part. A pattern
// is valid until the next.
func (s *source) patterns(line int, field, expression string, use func(*pattern) error) error {
	var p pattern
	for rest, more := expression, true; more; {
		var one string
		var err error
		if one, rest, more, err = s.cutHost(line, field, rest); err != nil {
			return err
		}
		if err := s.parse(&p, line, field, one); err != nil {
			return err
		}
		if err := use(&p); err != nil {
			return err
		}
	}
	return nil
}

// cutHost cuts off what stands before the first comma that is outside of brackets.
func (s *source) cutHost(line int, field, list string) (one, rest string, more bool, err error) {
	inside := false
	for i := range len(list) {
		switch c := list[i]; {
		case c == '[' && inside, c == ']' && !inside:
			return "", "", false, s.refuse(ErrSyntax, line, field, "the brackets of %q do not pair up", shorten(list))
		case c == '[' || c == ']':
			inside = c == '['
		case c == ',' && !inside:
			return list[:i], list[i+1:], true, nil
		}
	}
	if inside {
		return "", "", false, s.refuse(ErrSyntax, line, field, "the brackets of %q do not pair up", shorten(list))
	}
	return list, "", false, nil
}

// A pattern is a name with brackets, and how many names of which length it stands for.
type pattern struct {
	parts  []part
	names  int
	length int // of the longest
}

// A part is a text, and the bracket behind it: none where it has no spans.
type part struct {
	text  string
	spans []span
}

// A span is a range of numbers, printed with at least width digits.
type span struct {
	low, high int64
	width     int
}

// parse takes a name with brackets apart, and counts what it stands for.
func (s *source) parse(p *pattern, line int, field, one string) error {
	p.parts, p.names, p.length = p.parts[:0], 1, 0
	for whole := one; one != ""; {
		text, bracket, opened := strings.Cut(one, "[")
		if text != "" {
			if err := s.checkName(line, field, text); err != nil {
				return err
			}
		}
		p.length += len(text)
		part := part{text: text}
		one = ""
		if opened {
			var ranges string
			ranges, one, _ = strings.Cut(bracket, "]")
			spans, count, digits, err := s.spans(line, field, ranges)
			if err != nil {
				return err
			}
			if count > int64(s.budget/nameCost/p.names) {
				return s.refuse(ErrLimit, line, field, "%q stands for too many nodes", shorten(whole))
			}
			part.spans = spans
			p.names *= int(count)
			p.length += digits
		}
		if p.length > maxName {
			return s.refuse(ErrLimit, line, field, "a name has %d bytes, the limit is %d", p.length, maxName)
		}
		p.parts = append(p.parts, part)
	}
	if len(p.parts) == 0 {
		return s.checkName(line, field, "")
	}
	return nil
}

// spans parses what is between two brackets, counts its numbers, and the digits of the longest.
func (s *source) spans(line int, field, ranges string) (spans []span, total int64, most int, err error) {
	for part := range strings.SplitSeq(ranges, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		if !digits(from) || !digits(to) {
			return nil, 0, 0, s.refuse(ErrSyntax, line, field, "%q in brackets is neither a number nor a range of them", shorten(part))
		}
		// Both fit: digits takes no more than maxDigits.
		low, _ := strconv.ParseInt(from, 10, 64)
		high, _ := strconv.ParseInt(to, 10, 64)
		if low > high {
			return nil, 0, 0, s.refuse(ErrSyntax, line, field, "the range %q runs backwards", part)
		}
		if spans == nil {
			spans = make([]span, 0, strings.Count(ranges, ",")+1)
		}
		spans = append(spans, span{low, high, len(from)})
		most = max(most, len(from), len(to))
		if total += high - low + 1; total > costFree/nameCost+int64(s.size) {
			return nil, 0, 0, s.refuse(ErrLimit, line, field, "%q stands for too many nodes", shorten(ranges))
		}
	}
	return spans, total, most, nil
}

// expand appends the names of a pattern that begin with a prefix, from one of its parts on.
func (p *pattern) expand(names []string, prefix []byte, from int) []string {
	if from == len(p.parts) {
		return append(names, string(prefix))
	}
	at := &p.parts[from]
	if len(p.parts) == 1 && at.spans == nil {
		return append(names, at.text)
	}
	prefix = append(prefix, at.text...)
	if at.spans == nil {
		return p.expand(names, prefix, from+1)
	}
	for _, sp := range at.spans {
		for n := sp.low; n <= sp.high; n++ {
			var number [maxDigits]byte
			text := strconv.AppendInt(number[:0], n, 10)
			padded := prefix
			for range sp.width - len(text) {
				padded = append(padded, '0')
			}
			names = p.expand(names, append(padded, text...), from+1)
		}
	}
	return names
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return len(s) > 0 && len(s) <= maxDigits
}

// shorten keeps error texts readable, whatever is in the file.
func shorten(s string) string {
	if len(s) > 60 {
		return s[:60] + "..."
	}
	return s
}

// compressHostlist writes names as a host list that expandHostlist reads back as
// the same names, ordered and each once. Only the number at the end of a name is put
// in brackets, which is what every version of Slurm reads. O(n log n).
func compressHostlist(names []string) string {
	names = slices.Clone(names)
	slices.SortFunc(names, compareNatural)
	names = slices.Compact(names)
	var b strings.Builder
	for i := 0; i < len(names); {
		prefix := names[i][:len(names[i])-len(trailing(names[i]))]
		next := i + 1
		for next < len(names) && trailing(names[next]) != "" && strings.TrimSuffix(names[next], trailing(names[next])) == prefix {
			next++
		}
		if i > 0 {
			b.WriteByte(',')
		}
		if next == i+1 || trailing(names[i]) == "" {
			b.WriteString(names[i])
			i++
			continue
		}
		b.WriteString(prefix)
		b.WriteByte('[')
		writeRanges(&b, names[i:next], len(prefix))
		b.WriteByte(']')
		i = next
	}
	return b.String()
}

// writeRanges writes the numbers at the ends of names that are equal up to them.
func writeRanges(b *strings.Builder, names []string, prefix int) {
	for i := 0; i < len(names); {
		first := names[i][prefix:]
		number, _ := strconv.ParseInt(first, 10, 64)
		next := i + 1
		for next < len(names) && names[next][prefix:] == fmt.Sprintf("%0*d", len(first), number+int64(next-i)) {
			next++
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(first)
		if next > i+1 {
			b.WriteByte('-')
			b.WriteString(names[next-1][prefix:])
		}
		i = next
	}
}

// trailing returns the digits at the end of a name; none where there are more than
// a host list can count with.
func trailing(name string) string {
	at := len(name)
	for at > 0 && name[at-1] >= '0' && name[at-1] <= '9' {
		at--
	}
	if len(name)-at > maxDigits {
		return ""
	}
	return name[at:]
}

// compareNatural orders names as a reader does: where both have a number, by the
// number, so that rack9 stands before rack10. Names that differ in leading zeros
// alone are ordered as text, which makes the order total.
func compareNatural(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		if isDigit(x[0]) && isDigit(y[0]) {
			var p, q string
			p, x = cutNumber(x)
			q, y = cutNumber(y)
			if len(p) != len(q) {
				return len(p) - len(q)
			}
			if c := strings.Compare(p, q); c != 0 {
				return c
			}
			continue
		}
		if x[0] != y[0] {
			return int(x[0]) - int(y[0])
		}
		x, y = x[1:], y[1:]
	}
	if len(x) != len(y) {
		return len(x) - len(y)
	}
	return strings.Compare(a, b)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// cutNumber cuts off the number at the start, without its leading zeros.
func cutNumber(s string) (number, rest string) {
	end := 0
	for end < len(s) && isDigit(s[end]) {
		end++
	}
	return strings.TrimLeft(s[:end], "0"), s[end:]
}
