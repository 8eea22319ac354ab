package berth

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// The JSON of events, actions and configurations is stable: fields come in the order of
// the type's declaration, and what is written today is read tomorrow. Decoding is strict:
// an unknown kind or field is refused, because a fact that is half understood is worse
// than none.

// EncodeEvent returns the event's JSON, on one line.
func EncodeEvent(e Event) ([]byte, error) { return eventKinds.encode(e) }

// DecodeEvent reads what EncodeEvent wrote. It checks the form alone; whether
// the fact makes sense is for Apply to say.
func DecodeEvent(b []byte) (Event, error) { return eventKinds.decode(b) }

// EncodeAction returns the action's JSON, on one line.
func EncodeAction(a Action) ([]byte, error) { return actionKinds.encode(a) }

// DecodeAction reads what EncodeAction wrote.
func DecodeAction(b []byte) (Action, error) { return actionKinds.decode(b) }

// DecodeConfig reads a Config from JSON, strictly, and checks it.
func DecodeConfig(b []byte) (Config, error) {
	var c Config
	if err := decodeStrict("config", b, &c); err != nil {
		return Config{}, err
	}
	if err := c.check(); err != nil {
		err.Event = "config"
		return Config{}, err
	}
	return c, nil
}

// decodeStrict is unmarshalStrict, and turns what encoding/json says into an *Error.
func decodeStrict(what string, b []byte, v any) error {
	if err := unmarshalStrict(b, v); err != nil {
		return decodeError(what, err)
	}
	return nil
}

// unmarshalStrict unmarshals one JSON value with nothing after it and no unknown fields.
func unmarshalStrict(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errTrailing
	}
	return nil
}

var errTrailing = errors.New("has something after its end")

const unknownField = "is not a known field"

func decodeError(what string, err error) error {
	var typed *Error
	var mistyped *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	e := &Error{Event: what, Kind: ErrInvalid}
	switch field, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); {
	case errors.As(err, &typed):
		e.Field, e.Reason = typed.Event, typed.Reason
	case unknown:
		e.Field, e.Reason = strings.Trim(field, `"`), unknownField
	case errors.As(err, &mistyped):
		e.Field = mistyped.Field
		e.Reason = fmt.Sprintf("cannot be a JSON %s", mistyped.Value)
	case errors.As(err, &syntax):
		e.Reason = fmt.Sprintf("is not JSON at byte %d: %v", syntax.Offset, syntax)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		e.Reason = "ends before the JSON does"
	default:
		e.Reason = err.Error()
	}
	return e
}
