package scale

// A builder is told when a state cannot be built: a test, a benchmark, or a [Taker]. Fatal does
// not return.
type builder interface {
	Helper()
	Fatal(args ...any)
}

func must(tb builder, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
