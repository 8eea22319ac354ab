package jsontext

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// unquote is Unescape for a string that may have characters beyond ASCII; false: it is not UTF-8,
// or an escape is none.
func unquote(raw []byte, keep bool) (text []byte, ok bool) {
	if !utf8.Valid(raw) {
		return nil, false
	}
	return Unescape(raw, keep)
}

// Unescape is what stands between the quotes of a string with escapes; false: an escape is none.
// Without keep it looks, and makes nothing. O(bytes).
func Unescape(raw []byte, keep bool) (text []byte, ok bool) {
	if keep {
		text = make([]byte, 0, len(raw)) // no escape is shorter than what it stands for
	}
	for len(raw) > 0 {
		if raw[0] != '\\' {
			if keep {
				text = append(text, raw[0])
			}
			raw = raw[1:]
			continue
		}
		if len(raw) < 2 {
			return nil, false
		}
		r, length := rune(0), 2
		if at := strings.IndexByte(`"\/bfnrt`, raw[1]); at >= 0 {
			r = rune("\"\\/\b\f\n\r\t"[at])
		} else if r, ok = hex4(raw); !ok {
			return nil, false
		} else if length = 6; utf16.IsSurrogate(r) { // half a character; alone it is none
			second, _ := hex4(raw[6:])
			if r = utf16.DecodeRune(r, second); r != utf8.RuneError {
				length = 12
			}
		}
		if keep {
			text = utf8.AppendRune(text, r)
		}
		raw = raw[length:]
	}
	return text, true
}

// hex4 is the character of an escape at the beginning, such as \u00fc.
func hex4(raw []byte) (r rune, ok bool) {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return 0, false
	}
	for _, c := range raw[2:6] {
		digit := strings.IndexByte("0123456789abcdef", c|0x20)
		if digit < 0 || c < '0' {
			return 0, false
		}
		r = r<<4 | rune(digit)
	}
	return r, true
}
