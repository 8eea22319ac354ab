package script

import (
	"bytes"
	"fmt"
	"strings"
)

// Run runs a script and returns it with what its commands print now. It stops at
// the first command that fails (see Session.Do), and the error names the line.
func Run(script []byte) ([]byte, error) {
	s := NewSession()
	var out bytes.Buffer
	number := 0
	for line := range bytes.Lines(script) {
		number++
		text := strings.TrimRight(string(line), "\r\n")
		if strings.HasPrefix(text, "  ") {
			continue // what the command above printed when it was written
		}
		out.WriteString(text)
		out.WriteByte('\n')
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		printed, err := s.Do(text)
		out.WriteString(printed)
		if err != nil {
			return out.Bytes(), fmt.Errorf("line %d: %s: %w", number, text, err)
		}
	}
	return out.Bytes(), nil
}
