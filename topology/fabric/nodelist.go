package fabric

import (
	"encoding/json"
	"errors"
	"io"
	"strconv"

	"github.com/berth-sched/berth/internal/input"
)

// ReadNodeList reads what "kubectl get nodes -o json" prints, a Kubernetes NodeList,
// as FromLabels reads the labels in it. Where no label says how many GPUs a node has,
// its capacity of nvidia.com/gpu does. File names the input in errors.
//
// What else the objects hold is skipped. The list is read node by node, so its size
// is limited by the number of nodes, and that of a node by 16 MiB.
func ReadNodeList(file string, r io.Reader, keys LabelKeys) (*Fabric, error) {
	lines := input.NewLines(r, maxBytes)
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
	lines   *input.Lines
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
		n.grow(int(n.decoder.InputOffset()) - n.size)
		if object.Kind != "" && object.Kind != "Node" {
			return n.refuse(ErrInvalid, n.line(), field, "the object is a %q, not a Node", shorten(object.Kind))
		}
		if err := n.add(n.line(), field, LabeledNode{Name: object.Metadata.Name, Labels: object.Metadata.Labels}); err != nil {
			return err
		}
		count, err := strconv.ParseUint(object.Status.Capacity["nvidia.com/gpu"], 10, 16)
		if last := n.rows[len(n.rows)-1]; err == nil && last.GPUs == 0 {
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
func (n *nodeListReader) line() int { return n.lineAt(n.decoder.InputOffset()) }

func (n *nodeListReader) lineAt(offset int64) int {
	line, _ := n.lines.At(offset)
	return line
}

// explain makes an *Error of whatever the decoder returned.
func (n *nodeListReader) explain(err error) error {
	var own *Error
	var syntax *json.SyntaxError
	var typed *json.UnmarshalTypeError
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &syntax):
		return n.refuse(ErrSyntax, n.lineAt(syntax.Offset), "", "%v", syntax)
	case errors.As(err, &typed):
		return n.refuse(ErrSyntax, n.line(), typed.Field, "a %s cannot be here", typed.Value)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return n.refuse(ErrSyntax, n.line(), "", "the input ends early")
	}
	return n.unread(n.line(), err)
}
