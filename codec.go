package berth

import (
	"encoding/json"

	"github.com/berth-sched/berth/internal/strict"
	"github.com/berth-sched/berth/quota"
)

// The JSON of events, orders and configurations is stable: fields come in the order of
// the type's declaration, and what is written today is read tomorrow. Decoding is strict,
// because an event that is half understood is worse than none: a kind or key that is
// unknown, doubled or wrongly cased is refused, and so are bytes that are not UTF-8. An event
// or order that leaves out a field is refused as well, at any depth, unless the field's tag has
// omitempty or omitzero: a GPU that was forgotten would be number 0. A field that a type gets
// later has such a tag, because texts of before lack it. The *Error names the whole path, such as
// "job.groups[0].claim.gpu", and the key that was meant where one is near; it repeats no more
// than 100 bytes of the input.
//
// Decoding costs O(len(b)). It allocates no more than 20 bytes for each of the text, garbage among
// them, and 128 KiB: a text that comes to more, as it has thousands of elements such as {} where
// there are structs, is refused with ErrLimit.

// EncodeEvent returns the event's JSON, on one line.
func EncodeEvent(e Event) ([]byte, error) { return eventKinds.encode(e) }

// DecodeEvent reads what EncodeEvent wrote. It checks the form alone; whether
// the event makes sense is for Apply to say. A field must be there unless its tag has omitempty
// or omitzero, because 0 is the first GPU of a node as well as what was forgotten.
func DecodeEvent(b []byte) (Event, error) { return eventKinds.decode(b) }

// EncodeOrder returns the order's JSON, on one line.
func EncodeOrder(o Order) ([]byte, error) { return orderKinds.encode(o) }

// DecodeOrder reads what [EncodeOrder] wrote. Any other bytes are refused with an *[Error].
func DecodeOrder(b []byte) (Order, error) { return orderKinds.decode(b) }

// forms are those of what stands by itself.
var forms = struct {
	config     *strict.Form[Config]
	policy     *strict.Form[Policy]
	job        *strict.Form[Job]
	node       *strict.Form[Node]
	queue      *strict.Form[quota.Queue]
	difference *strict.Form[settled]
	// fields are those of any object, each as it is written.
	fields *strict.Form[map[string]json.RawMessage]
}{
	config:     strict.FormOf[Config](strict.Readings{}),
	policy:     strict.FormOf[Policy](strict.Readings{}),
	job:        strict.FormOf[Job](strict.Readings{}),
	node:       strict.FormOf[Node](strict.Readings{}),
	queue:      strict.FormOf[quota.Queue](strict.Readings{}),
	difference: strict.FormOf[settled](strict.Readings{}),
	fields:     strict.FormOf[map[string]json.RawMessage](strict.Readings{}),
}

// DecodeConfig reads a Config from JSON, strictly, and checks it. What it refuses is an
// *[Error].
func DecodeConfig(b []byte) (Config, error) {
	return decodeChecked("config", forms.config, b, (*Config).check)
}

// DecodePolicy reads a Policy from JSON, strictly, and checks it.
func DecodePolicy(b []byte) (Policy, error) {
	return decodeChecked("policy", forms.policy, b, (*Policy).check)
}

// DecodeJob reads a Job from JSON, strictly. Like DecodeEvent it checks the form alone:
// most of what makes sense depends on the fleet.
func DecodeJob(b []byte) (Job, error) { return decodeChecked("job", forms.job, b, nil) }

// DecodeNode reads a Node from JSON, strictly. It checks the form alone.
func DecodeNode(b []byte) (Node, error) { return decodeChecked("node", forms.node, b, nil) }

// DecodeQueue reads a queue from JSON, strictly. It checks the form alone.
func DecodeQueue(b []byte) (quota.Queue, error) { return decodeChecked("queue", forms.queue, b, nil) }

// decodeChecked decodes a value of which errors are to say what it is, and has it checked.
func decodeChecked[V any](what string, form *strict.Form[V], b []byte, check func(*V) *Error) (V, error) {
	var none V
	v, err := form.Unmarshal(b)
	if err != nil {
		return none, decodeError(what, err)
	}
	if check != nil {
		if err := check(v); err != nil {
			err.Event = what
			return none, err
		}
	}
	return *v, nil
}
