package fabric

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
)

// ReadNodeList reads what "kubectl get nodes -o json" prints, a Kubernetes NodeList,
// as FromLabels reads the labels in it. Where no label says how many GPUs a node has,
// its capacity of nvidia.com/gpu does. File names the input in errors.
//
// What else the objects hold is skipped. The list is read node by node, so its size
// is limited by the number of nodes alone.
func ReadNodeList(file string, r io.Reader, keys LabelKeys) (*Fabric, error) {
	lines := &lineReader{r: r}
	n := nodeListReader{labelReader: newLabelReader(file, keys), lines: lines, decoder: json.NewDecoder(lines)}
	if err := n.list(); err != nil {
		return nil, n.explain(err)
	}
	if n.kind != "List" && n.kind != "NodeList" {
		return nil, n.refuse(ErrInvalid, 0, "kind", "the input is a %q, not a List or a NodeList", shorten(n.kind))
	}
	return n.fabric()
}

type nodeListReader struct {
	*labelReader
	lines   *lineReader
	decoder *json.Decoder
	kind    string
}

// A nodeObject is the part of a Node of Kubernetes that matters here.
type nodeObject struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name   string            `json:"name"`
		Labels map[string]string `json:"labels"`
	} `json:"metadata"`
	Status struct {
		Capacity map[string]string `json:"capacity"`
	} `json:"status"`
}

// list reads the one object, and of its keys kind and items.
func (n *nodeListReader) list() error {
	if err := n.expect('{'); err != nil {
		return err
	}
	for n.decoder.More() {
		key, err := n.decoder.Token()
		if err != nil {
			return err
		}
		switch key {
		case "kind":
			err = n.decoder.Decode(&n.kind)
		case "items":
			err = n.items()
		default:
			var skipped json.RawMessage
			err = n.decoder.Decode(&skipped)
		}
		if err != nil {
			return err
		}
	}
	if _, err := n.decoder.Token(); err != nil {
		return err
	}
	if _, err := n.decoder.Token(); !errors.Is(err, io.EOF) {
		if err != nil {
			return err
		}
		return n.refuse(ErrSyntax, n.line(), "", "something follows the list")
	}
	return nil
}

func (n *nodeListReader) items() error {
	if err := n.expect('['); err != nil {
		return err
	}
	for i := 0; n.decoder.More(); i++ {
		var object nodeObject
		if err := n.decoder.Decode(&object); err != nil {
			return err
		}
		field := "items[" + strconv.Itoa(i) + "]"
		if object.Kind != "" && object.Kind != "Node" {
			return n.refuse(ErrInvalid, n.line(), field, "the object is a %q, not a Node", shorten(object.Kind))
		}
		if err := n.add(n.line(), field, LabeledNode{Name: object.Metadata.Name, Labels: object.Metadata.Labels}); err != nil {
			return err
		}
		count, err := strconv.ParseUint(object.Status.Capacity["nvidia.com/gpu"], 10, 16)
		if last := &n.rows[len(n.rows)-1]; err == nil && last.GPUs == 0 {
			last.GPUs = int(count)
		}
	}
	_, err := n.decoder.Token()
	return err
}

func (n *nodeListReader) expect(delimiter json.Delim) error {
	token, err := n.decoder.Token()
	if err == nil && token != delimiter {
		return n.refuse(ErrSyntax, n.line(), "", "%q is expected here", delimiter.String())
	}
	return err
}

// line returns the line that the decoder has come to: an object is reported by the
// line of its end.
func (n *nodeListReader) line() int { return n.lines.at(n.decoder.InputOffset()) }

// explain makes an *Error of whatever the decoder returned.
func (n *nodeListReader) explain(err error) error {
	var own *Error
	var syntax *json.SyntaxError
	var typed *json.UnmarshalTypeError
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &syntax):
		return n.refuse(ErrSyntax, n.lines.at(syntax.Offset), "", "%v", syntax)
	case errors.As(err, &typed):
		return n.refuse(ErrSyntax, n.line(), typed.Field, "a %s cannot be here", typed.Value)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return n.refuse(ErrSyntax, n.line(), "", "the input ends early")
	}
	return n.refuse(err, n.line(), "", "reading failed: %v", err)
}

// A lineReader remembers where the lines of what it reads begin.
type lineReader struct {
	r      io.Reader
	offset int64
	starts []int64 // of the second line and those after it
}

func (l *lineReader) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	for i, c := range p[:n] {
		if c == '\n' {
			l.starts = append(l.starts, l.offset+int64(i)+1)
		}
	}
	l.offset += int64(n)
	return n, err
}

// at returns the number of the line in which an offset is.
func (l *lineReader) at(offset int64) int {
	i, exact := slices.BinarySearch(l.starts, offset)
	if exact {
		i++
	}
	return i + 1
}
