// Package strict decodes JSON that has to be exactly what it is to be: one value, nothing after
// it, no unknown fields.
package strict

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// UnknownField is the reason for which a field is refused that nobody knows.
const UnknownField = "is not a known field"

var errTrailing = errors.New("has something after its end")

// Unmarshal is json.Unmarshal that refuses unknown fields.
func Unmarshal(b []byte, v any) error {
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

// Describe says of an error of Unmarshal which field it is about, if it is about one, and what
// is wrong.
func Describe(err error) (field, reason string) {
	var mistyped *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch name, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); {
	case unknown:
		return strings.Trim(name, `"`), UnknownField
	case errors.As(err, &mistyped):
		return mistyped.Field, fmt.Sprintf("cannot be a JSON %s", mistyped.Value)
	case errors.As(err, &syntax):
		return "", fmt.Sprintf("is not JSON at byte %d: %v", syntax.Offset, syntax)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "", "ends before the JSON does"
	}
	return "", err.Error()
}
