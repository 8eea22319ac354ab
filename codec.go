package berth

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// The JSON of a sum type is an object with one key, the kind, as in
//
//	{"nodeLost":{"node":"n7","reason":"power"}}
//
// It is stable: fields come in the order of the type's declaration, and what is
// written today is read tomorrow. Decoding is strict: an unknown kind or field
// is refused, because a fact that is half understood is worse than none.

// eventJSON is the envelope of an event. Exactly one field is set.
type eventJSON struct {
	NodeJoined         *NodeJoined         `json:"nodeJoined,omitempty"`
	NodeUpdated        *NodeUpdated        `json:"nodeUpdated,omitempty"`
	NodeCordoned       *NodeCordoned       `json:"nodeCordoned,omitempty"`
	NodeUncordoned     *NodeUncordoned     `json:"nodeUncordoned,omitempty"`
	NodeDraining       *NodeDraining       `json:"nodeDraining,omitempty"`
	NodeLost           *NodeLost           `json:"nodeLost,omitempty"`
	GPUFailed          *GPUFailed          `json:"gpuFailed,omitempty"`
	XidReported        *XidReported        `json:"xidReported,omitempty"`
	GPURepaired        *GPURepaired        `json:"gpuRepaired,omitempty"`
	GPUPartitioned     *GPUPartitioned     `json:"gpuPartitioned,omitempty"`
	MIGTableSet        *MIGTableSet        `json:"migTableSet,omitempty"`
	ReservationSet     *ReservationSet     `json:"reservationSet,omitempty"`
	ReservationRemoved *ReservationRemoved `json:"reservationRemoved,omitempty"`
	QueueSet           *QueueSet           `json:"queueSet,omitempty"`
	QueueRemoved       *QueueRemoved       `json:"queueRemoved,omitempty"`
	JobSubmitted       *JobSubmitted       `json:"jobSubmitted,omitempty"`
	JobObserved        *JobObserved        `json:"jobObserved,omitempty"`
	JobScaled          *JobScaled          `json:"jobScaled,omitempty"`
	JobCancelled       *JobCancelled       `json:"jobCancelled,omitempty"`
	JobFinished        *JobFinished        `json:"jobFinished,omitempty"`
	MemberFailed       *MemberFailed       `json:"memberFailed,omitempty"`
	ActionReported     *ActionReported     `json:"actionReported,omitempty"`
	ActivityReported   *ActivityReported   `json:"activityReported,omitempty"`
	CheckpointWritten  *CheckpointWritten  `json:"checkpointWritten,omitempty"`
	LedgerSettled      *LedgerSettled      `json:"ledgerSettled,omitempty"`
	PolicyChanged      *PolicyChanged      `json:"policyChanged,omitempty"`
}

// actionJSON is the envelope of an action. Exactly one field is set.
type actionJSON struct {
	Bind              *Bind              `json:"bind,omitempty"`
	Release           *Release           `json:"release,omitempty"`
	Drop              *Drop              `json:"drop,omitempty"`
	Repartition       *Repartition       `json:"repartition,omitempty"`
	RequestCheckpoint *RequestCheckpoint `json:"requestCheckpoint,omitempty"`
	Withdraw          *Withdraw          `json:"withdraw,omitempty"`
}

// EncodeEvent returns the event's JSON, on one line.
func EncodeEvent(e Event) ([]byte, error) {
	w, ok := wrapEvent(e)
	if !ok {
		return nil, &Error{Event: "event", Kind: ErrInvalid, Reason: fmt.Sprintf("%T is not an event", e)}
	}
	return json.Marshal(w)
}

// DecodeEvent reads what EncodeEvent wrote. It checks the form alone; whether
// the fact makes sense is for Apply to say.
func DecodeEvent(b []byte) (Event, error) {
	var w eventJSON
	if err := decodeStrict("event", b, &w); err != nil {
		return nil, err
	}
	e, n := unwrapEvent(&w)
	if n != 1 {
		return nil, &Error{Event: "event", Kind: ErrInvalid, Reason: fmt.Sprintf("names %d kinds of event instead of one", n)}
	}
	return e, nil
}

// EncodeAction returns the action's JSON, on one line.
func EncodeAction(a Action) ([]byte, error) {
	w, ok := wrapAction(a)
	if !ok {
		return nil, &Error{Event: "action", Kind: ErrInvalid, Reason: fmt.Sprintf("%T is not an action", a)}
	}
	return json.Marshal(w)
}

// DecodeAction reads what EncodeAction wrote.
func DecodeAction(b []byte) (Action, error) {
	var w actionJSON
	if err := decodeStrict("action", b, &w); err != nil {
		return nil, err
	}
	a, n := unwrapAction(&w)
	if n != 1 {
		return nil, &Error{Event: "action", Kind: ErrInvalid, Reason: fmt.Sprintf("names %d kinds of action instead of one", n)}
	}
	return a, nil
}

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

func wrapEvent(e Event) (w eventJSON, ok bool) {
	switch e := e.(type) {
	case NodeJoined:
		w.NodeJoined = &e
	case NodeUpdated:
		w.NodeUpdated = &e
	case NodeCordoned:
		w.NodeCordoned = &e
	case NodeUncordoned:
		w.NodeUncordoned = &e
	case NodeDraining:
		w.NodeDraining = &e
	case NodeLost:
		w.NodeLost = &e
	case GPUFailed:
		w.GPUFailed = &e
	case XidReported:
		w.XidReported = &e
	case GPURepaired:
		w.GPURepaired = &e
	case GPUPartitioned:
		w.GPUPartitioned = &e
	case MIGTableSet:
		w.MIGTableSet = &e
	case ReservationSet:
		w.ReservationSet = &e
	case ReservationRemoved:
		w.ReservationRemoved = &e
	case QueueSet:
		w.QueueSet = &e
	case QueueRemoved:
		w.QueueRemoved = &e
	case JobSubmitted:
		w.JobSubmitted = &e
	case JobObserved:
		w.JobObserved = &e
	case JobScaled:
		w.JobScaled = &e
	case JobCancelled:
		w.JobCancelled = &e
	case JobFinished:
		w.JobFinished = &e
	case MemberFailed:
		w.MemberFailed = &e
	case ActionReported:
		w.ActionReported = &e
	case ActivityReported:
		w.ActivityReported = &e
	case CheckpointWritten:
		w.CheckpointWritten = &e
	case LedgerSettled:
		w.LedgerSettled = &e
	case PolicyChanged:
		w.PolicyChanged = &e
	default:
		return w, false
	}
	return w, true
}

// unwrapEvent returns the last event that is set, and how many are.
func unwrapEvent(w *eventJSON) (e Event, n int) {
	take(&e, &n, w.NodeJoined)
	take(&e, &n, w.NodeUpdated)
	take(&e, &n, w.NodeCordoned)
	take(&e, &n, w.NodeUncordoned)
	take(&e, &n, w.NodeDraining)
	take(&e, &n, w.NodeLost)
	take(&e, &n, w.GPUFailed)
	take(&e, &n, w.XidReported)
	take(&e, &n, w.GPURepaired)
	take(&e, &n, w.GPUPartitioned)
	take(&e, &n, w.MIGTableSet)
	take(&e, &n, w.ReservationSet)
	take(&e, &n, w.ReservationRemoved)
	take(&e, &n, w.QueueSet)
	take(&e, &n, w.QueueRemoved)
	take(&e, &n, w.JobSubmitted)
	take(&e, &n, w.JobObserved)
	take(&e, &n, w.JobScaled)
	take(&e, &n, w.JobCancelled)
	take(&e, &n, w.JobFinished)
	take(&e, &n, w.MemberFailed)
	take(&e, &n, w.ActionReported)
	take(&e, &n, w.ActivityReported)
	take(&e, &n, w.CheckpointWritten)
	take(&e, &n, w.LedgerSettled)
	take(&e, &n, w.PolicyChanged)
	return e, n
}

func wrapAction(a Action) (w actionJSON, ok bool) {
	switch a := a.(type) {
	case Bind:
		w.Bind = &a
	case Release:
		w.Release = &a
	case Drop:
		w.Drop = &a
	case Repartition:
		w.Repartition = &a
	case RequestCheckpoint:
		w.RequestCheckpoint = &a
	case Withdraw:
		w.Withdraw = &a
	default:
		return w, false
	}
	return w, true
}

func unwrapAction(w *actionJSON) (a Action, n int) {
	take(&a, &n, w.Bind)
	take(&a, &n, w.Release)
	take(&a, &n, w.Drop)
	take(&a, &n, w.Repartition)
	take(&a, &n, w.RequestCheckpoint)
	take(&a, &n, w.Withdraw)
	return a, n
}

// take stores *v in dst if v is set. V is one of the variants of the sum I.
func take[I any, V any](dst *I, n *int, v *V) {
	if v != nil {
		*dst = any(*v).(I)
		*n++
	}
}

// decodeStrict unmarshals one JSON value with nothing after it and no unknown
// fields, and turns what encoding/json says into an *Error.
func decodeStrict(what string, b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return decodeError(what, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return &Error{Event: what, Kind: ErrInvalid, Reason: "has something after its end"}
	}
	return nil
}

func decodeError(what string, err error) error {
	var typed *Error
	var mistyped *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	e := &Error{Event: what, Kind: ErrInvalid}
	switch field, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); {
	case errors.As(err, &typed):
		e.Field, e.Reason = typed.Event, typed.Reason
	case unknown:
		e.Field, e.Reason = strings.Trim(field, `"`), "is not a known field"
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
