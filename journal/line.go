package journal

import (
	"bytes"
	"fmt"
	"hash/crc64"
	"strconv"

	"github.com/berth-sched/berth"
)

// A line behind the first, and a record of a log, begin with their number and their sum, which
// covers all before them too:
//
//	{"number":7,"sum":"0c8a5d1b9e60f2a4","now":1000,"event":{...}}
//
// What follows is the body.
const (
	numberKey = `{"number":`
	sumKey    = `,"sum":"`
)

// sumOf goes on with a sum.
func sumOf(before Sum, text []byte) Sum {
	return Sum(crc64.Update(uint64(before), crc64.MakeTable(crc64.ECMA), text))
}

// next is the position behind one more record.
func (p Position) next(body []byte) Position {
	var digits [20]byte
	p.Number++
	sum := sumOf(p.Sum, append(strconv.AppendUint(digits[:0], p.Number, 10), ','))
	return Position{p.Number, sumOf(sum, body)}
}

// appendLine appends the line, without its end, that goes behind a position with a body, which ends
// in the brace, and returns the position behind it.
func (p Position) appendLine(line, body []byte) ([]byte, Position) {
	p = p.next(body)
	line = strconv.AppendUint(append(line, numberKey...), p.Number, 10)
	line = p.Sum.append(append(line, sumKey...))
	return append(append(line, '"', ','), body...), p
}

// cutLine takes a line apart: the position that it says it makes, and its body.
func cutLine(line []byte) (says Position, body []byte, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte(numberKey))
	if !ok {
		return says, nil, false
	}
	digits, rest, _ := bytes.Cut(rest, []byte(sumKey))
	number, err := strconv.ParseUint(string(digits), 10, 64)
	if err != nil || len(rest) < sumDigits+3 || rest[sumDigits] != '"' || rest[sumDigits+1] != ',' {
		return says, nil, false
	}
	says.Number = number
	if says.Sum.UnmarshalText(rest[:sumDigits]) != nil {
		return says, nil, false
	}
	return says, rest[sumDigits+2:], true
}

// follow checks that a line stands behind a position, and returns its body and the position behind
// it: the one that it says, if it is at fault.
func (p Position) follow(line []byte) (body []byte, next Position, bad *Error) {
	says, body, ok := cutLine(line)
	if !ok {
		return nil, p, &Error{Kind: ErrMalformed, Reason: "does not begin with its number and its sum"}
	}
	switch next = p.next(body); {
	case says.Number <= p.Number:
		return body, says, damaged("number", fmt.Sprintf("is %d behind %d: it stands here twice, or in the wrong place", says.Number, p.Number))
	case says.Number > p.Number+1:
		return body, says, damaged("number", fmt.Sprintf("is %d behind %d: what was between them is missing", says.Number, p.Number))
	case says != next:
		return body, says, damaged("sum", fmt.Sprintf("is %v, not %v: this is not what was written here, or not behind what stands before it", says.Sum, next.Sum))
	}
	return body, next, nil
}

func damaged(field, reason string) *Error {
	return &Error{Field: field, Reason: reason, Kind: ErrDamaged}
}

// eventBody appends the body of an event.
func eventBody(to []byte, now berth.Time, e berth.Event) ([]byte, error) {
	text, err := berth.EncodeEvent(e)
	if err != nil {
		return to, err
	}
	to = strconv.AppendInt(append(to, `"now":`...), int64(now), 10)
	return append(append(append(to, `,"event":`...), text...), '}'), nil
}

// passBody appends the body of a pass, which gave so many orders with that sum.
func passBody(to []byte, now berth.Time, orders int, digest Sum) []byte {
	to = strconv.AppendInt(append(to, `"now":`...), int64(now), 10)
	to = strconv.AppendInt(append(to, `,"pass":true,"orders":`...), int64(orders), 10)
	return append(digest.append(append(to, `,"digest":"`...)), '"', '}')
}

// stateBody appends the body of a State record.
func stateBody(to []byte, state Sum) []byte {
	return append(state.append(append(to, `"state":"`...)), '"', '}')
}

// orderBody appends the body of an order.
func orderBody(to, order []byte) []byte {
	return append(append(append(to, `"order":`...), order...), '}')
}

// with is the digest of one order more.
func (s Sum) with(order []byte) Sum { return sumOf(sumOf(s, order), []byte{'\n'}) }

// digestOf is the sum of orders, as their JSON, a line each.
func digestOf(orders []berth.Order) (digest Sum, err error) {
	for _, order := range orders {
		text, err := berth.EncodeOrder(order)
		if err != nil {
			return 0, err
		}
		digest = digest.with(text)
	}
	return digest, nil
}

// scorerName is the name of a configuration's scorer; empty: it has none.
func scorerName(c berth.Config) string {
	if c.Scorer == nil {
		return ""
	}
	return c.Scorer.Name()
}
