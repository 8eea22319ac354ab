package berth

// The JSON of events, orders and configurations is stable: fields come in the order of
// the type's declaration, and what is written today is read tomorrow. Decoding is strict:
// an unknown kind or field is refused, because an event that is half understood is worse
// than none.

// EncodeEvent returns the event's JSON, on one line.
func EncodeEvent(e Event) ([]byte, error) { return eventKinds.encode(e) }

// DecodeEvent reads what [EncodeEvent] wrote. It checks the form alone; whether the event makes
// sense is for Apply to say. Any other bytes are refused with an *[Error].
func DecodeEvent(b []byte) (Event, error) { return eventKinds.decode(b) }

// EncodeOrder returns the order's JSON, on one line.
func EncodeOrder(a Order) ([]byte, error) { return orderKinds.encode(a) }

// DecodeOrder reads what [EncodeOrder] wrote. Any other bytes are refused with an *[Error].
func DecodeOrder(b []byte) (Order, error) { return orderKinds.decode(b) }

// DecodeConfig reads a Config from JSON, strictly, and checks it. What it refuses is an
// *[Error].
func DecodeConfig(b []byte) (Config, error) {
	var c Config
	if err := decodeStrict("config", b, &c); err != nil {
		return Config{}, err
	}
	if err := c.Check(); err != nil {
		err.Event = "config"
		return Config{}, err
	}
	return c, nil
}
