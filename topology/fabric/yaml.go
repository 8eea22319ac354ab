package fabric

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A yamlNode is a place in a YAML document, and how to get there from its root.
type yamlNode struct {
	*yaml.Node
	path string
}

// yaml reads an input that holds one YAML document. An empty one is refused.
func (s *source) yaml(r io.Reader) (yamlNode, error) {
	text, err := s.readAll(r)
	if err != nil {
		return yamlNode{}, err
	}
	if err := s.spend(0, "", valueCost*countValues(text)); err != nil {
		return yamlNode{}, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document, second yaml.Node
	if err := decoder.Decode(&document); err != nil {
		return yamlNode{}, s.yamlError(err)
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		if err != nil {
			return yamlNode{}, s.yamlError(err)
		}
		return yamlNode{}, s.refuse(ErrUnsupported, second.Line, "", "the file holds more than one YAML document")
	}
	if document.Kind != yaml.DocumentNode || len(document.Content) != 1 {
		return yamlNode{}, s.refuse(ErrSyntax, 0, "", "the file is empty")
	}
	return yamlNode{Node: document.Content[0]}, nil
}

// countValues is the most values that a YAML text can have, but for a few: each begins behind a
// sign, or is a key before one. Signs within texts are counted, too.
func countValues(text []byte) (n int) {
	for i, c := range text {
		switch c {
		case ',', '[', '{', '&', '*', '!':
			n++
		case '#':
			n += 3 // comments are kept, too, in more room than values
		case ':', '-', '?':
			if i+1 == len(text) || strings.IndexByte(" \t\r\n\"'[{", text[i+1]) >= 0 || i > 0 && (text[i-1] == '"' || text[i-1] == '\'') {
				n++
			}
		}
	}
	return n
}

// yamlError finds the line in what the library says, which is text alone.
func (s *source) yamlError(err error) error {
	if errors.Is(err, io.EOF) {
		return s.refuse(ErrSyntax, 0, "", "the file is empty")
	}
	reason := strings.TrimPrefix(err.Error(), "yaml: ")
	number, rest, found := strings.Cut(strings.TrimPrefix(reason, "line "), ": ")
	line, bad := strconv.Atoi(number)
	if !found || bad != nil {
		return s.refuse(ErrSyntax, 0, "", "%s", reason)
	}
	return s.refuse(ErrSyntax, line, "", "%s", rest)
}

// An entry is one key of a mapping.
type entry struct {
	key   string
	line  int
	value yamlNode
}

// mapping returns the entries of a mapping in the order of the file. Keys are
// scalars and there once.
func (s *source) mapping(n yamlNode) ([]entry, error) {
	if n.Kind != yaml.MappingNode {
		return nil, s.refuse(ErrSyntax, n.Line, n.path, "this is %s, not a mapping of keys to values", kindName(n))
	}
	entries := make([]entry, 0, len(n.Content)/2)
	seen := make(map[string]bool, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode {
			return nil, s.refuse(ErrSyntax, key.Line, n.path, "a key is %s", kindName(yamlNode{Node: key}))
		}
		path := key.Value
		if n.path != "" {
			path = n.path + "." + key.Value
		}
		if seen[key.Value] {
			return nil, s.refuse(ErrDuplicate, key.Line, path, "the key is there twice")
		}
		seen[key.Value] = true
		entries = append(entries, entry{key.Value, key.Line, yamlNode{n.Content[i+1], path}})
	}
	return entries, nil
}

// sequence returns the items of a sequence.
func (s *source) sequence(n yamlNode) ([]yamlNode, error) {
	if n.Kind != yaml.SequenceNode {
		return nil, s.refuse(ErrSyntax, n.Line, n.path, "this is %s, not a sequence", kindName(n))
	}
	items := make([]yamlNode, len(n.Content))
	for i, item := range n.Content {
		items[i] = yamlNode{item, fmt.Sprintf("%s[%d]", n.path, i)}
	}
	return items, nil
}

// text returns a scalar as it is written; null is none.
func (s *source) text(n yamlNode) (string, error) {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return "", s.refuse(ErrSyntax, n.Line, n.path, "this is %s, not a text or a number", kindName(n))
	}
	return n.Value, nil
}

// truth returns a boolean. Slurm's examples write True, which YAML 1.2 knows too.
func (s *source) truth(n yamlNode) (bool, error) {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!bool" {
		switch strings.ToLower(n.Value) {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
	}
	return false, s.refuse(ErrInvalid, n.Line, n.path, "this is neither true nor false")
}

// unknownKey refuses a key that the format does not have.
func (s *source) unknownKey(e entry, known string) error {
	return s.refuse(ErrSyntax, e.line, e.value.path, "the key is not known; there are %s", known)
}

func isNull(n yamlNode) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

func kindName(n yamlNode) string {
	switch {
	case isNull(n):
		return "nothing"
	case n.Kind == yaml.ScalarNode:
		return "a single value"
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a sequence"
	case n.Kind == yaml.AliasNode:
		// Refused on purpose: a few aliases of aliases make a file without end.
		return "an alias, which is not supported"
	}
	return "something else"
}
