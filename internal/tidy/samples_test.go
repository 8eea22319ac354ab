package tidy

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A sample is the body of a small file, and what must be said about it.
type sample struct{ text, want string }

// bad breaks exactly one rule a sample, in exactly one place.
var bad = []sample{
	{`import _ "os"`, `imports "os"`},
	{`import _ "net"`, `imports "net"`},
	{`import _ "net/http"`, `imports "net/http"`},
	{`import _ "sync"`, `imports "sync"`},
	{`import _ "sync/atomic"`, `imports "sync/atomic"`},
	{`import _ "math/rand"`, `imports "math/rand"`},
	{`import _ "math/rand/v2"`, `imports "math/rand/v2"`},
	{`import _ "crypto/rand"`, `imports "crypto/rand"`},
	{`import _ "hash/maphash"`, `imports "hash/maphash"`},
	{`import _ "unsafe"`, `imports "unsafe"`},
	{`import _ "runtime"`, `imports "runtime"`},
	{`import _ "reflect"`, `imports "reflect"`},
	{`import _ "log"`, `imports "log"`},
	{`import . "fmt"; func f() string { return Sprint(1) }`, `with a dot`},

	{`import "time"; func f() time.Time { return time.Now() }`, "uses time.Now"},
	{`import "time"; func f(t time.Time) time.Duration { return time.Since(t) }`, "uses time.Since"},
	{`import "time"; func f(t time.Time) time.Duration { return time.Until(t) }`, "uses time.Until"},
	{`import "time"; func f() { time.Sleep(1) }`, "uses time.Sleep"},
	{`import "time"; func f() { time.After(1) }`, "uses time.After"},
	{`import "time"; func f() { time.Tick(1) }`, "uses time.Tick"},
	{`import "time"; func f() { time.NewTimer(1) }`, "uses time.NewTimer"},
	{`import clock "time"; func f() any { return clock.Now }`, "uses time.Now"},
	{`import "time"; func f(t time.Time) time.Time { return t.In(time.Local) }`, "uses time.Local"},
	{`import "fmt"; func f() { fmt.Println() }`, "uses fmt.Println"},
	{`func f() { println() }`, "calls println"},

	{`func f() { go f() }`, "starts a goroutine"},
	{`func f() { select {} }`, "select statement"},
	{`func f() { _ = make(chan int) }`, "channel type"},
	{`type t struct { c <-chan int }`, "channel type"},
	{`import "time"; func f(t *time.Ticker) { <-t.C }`, "receives from a channel"},

	{`func init() {}`, "init function"},
	{`var state int`, "package-level variable state"},
	{`var table = map[string]int{}`, "package-level variable table"},
	{`var ErrNot = 3`, "package-level variable ErrNot"},
	{`import "errors"; var refused = errors.New("x")`, "package-level variable refused"},
	{`var _ = f(); func f() int { return 1 }`, "package-level variable _"},
	{`import "errors"; var ErrX = errors.New("x"); func f() { ErrX = nil }`, "writes to or takes"},
	{`import "errors"; var ErrX = errors.New("x"); func f() *error { return &ErrX }`, "writes to or takes"},
	{`import "io"; func f() { io.EOF = nil }`, "writes to or takes"},
	{"//go:linkname f runtime.f\nfunc f() {}", "//go:linkname"},
	{`func f()`, "without a body"},

	{`func f(m map[int]int) { for range m {} }`, "ranges over a map"},
	{`type t map[int]int; func f(m t) { for k := range m { _ = k } }`, "ranges over a map"},
	{`type t struct { m map[int]int }; func f(x *t) { for _, v := range x.m { _ = v } }`, "ranges over a map"},
	{`func g() map[int]int { return nil }; func f() { for range g() {} }`, "ranges over a map"},
	{`func f[M map[int]int](m M) { for range m {} }`, "ranges over a map"},
	{`func f[M ~map[K]V, K comparable, V any](m M) { for range m {} }`, "ranges over a map"},
	{`import "go/constant"; var _ constant.Value`, `imports "go/constant"`},
	{`import "maps"; func f(m map[int]int) { for range maps.Keys(m) {} }`, "uses maps.Keys"},
	{`import "maps"; func f(m map[int]int) { for range maps.All(m) {} }`, "uses maps.All"},
	{`import ("maps"; "slices"); func f(m map[int]int) []int { return slices.Collect(maps.Values(m)) }`, "uses maps.Values"},
	{`import "maps"; func f(m map[int]int) any { keys := maps.Keys(m); return keys }`, "uses maps.Keys"},

	{`type t struct { x float64 }`, "floating point"},
	{`func f(x float32) {}`, "floating point"},
	{`type share float64`, "floating point"},
	{`const half = 0.5`, "floating point"},
	{`const million = 1e6`, "floating point"},
	{`func f(a int64) { _ = float64(a) }`, "floating point"},
	{`import "math"; func f() { _ = math.Sqrt(2) }`, "floating point"},
	{`func f(c complex128) {}`, "floating point"},
	{`import "time"; func f(d time.Duration) { _ = d.Hours() }`, "floating point"},
}

// good comes close to breaking a rule and does not.
var good = []sample{
	{`import "time"; func f() time.Time { return time.UnixMilli(0).UTC() }`, ""},
	{`import "time"; func f(t time.Time) int64 { return t.Add(3 * time.Second).UnixMilli() }`, ""},
	{`import "fmt"; func f() string { return fmt.Sprintf("%d", 3) }`, ""},
	{`import "errors"; var ErrX = errors.New("x"); func f() error { return ErrX }`, ""},
	{`import "fmt"; var errX = fmt.Errorf("x: %w", nil)`, ""},
	{`import "fmt"; type t int; func (t) String() string { return "" }; var _ fmt.Stringer = t(0)`, ""},
	{`func f(s []int, n int) { for range s {}; for range n {}; for range "text" {} }`, ""},
	{`import ("maps"; "slices"); func f(m map[int]int) []int { return slices.Sorted(maps.Keys(m)) }`, ""},
	{`import ("maps"; "slices"); func f(m map[int]int) { for range slices.Sorted(maps.Keys(m)) {} }`, ""},
	{`func f(m map[int]int) { m[1]++; delete(m, 2) }`, ""},
	{`func f() { var state int; state = 3; _ = &state }`, ""},
	{`import "math"; func f() int { return math.MaxInt32 }`, ""},
	{`type t struct{}; func (t) init() {}`, ""},
	{`type clock struct{}; func (clock) Now() int { return 0 }; func f(time clock) int { return time.Now() }`, ""},
}

func TestArrowsCatch(t *testing.T) {
	for _, arrow := range []struct {
		from, to string
		allowed  bool
	}{
		{"topology", module + "/mig", false},
		{"mig", module, false},
		{"quota", module + "/gang", false},
		{"quota", module + "/internal/pq", true},
		{"gang", module + "/topology", true},
		{"gang", module + "/mig", true},
		{"gang", module + "/quota", false},
		{"gang", module + "/preempt", false},
		{"preempt", module, false},
		{"preempt", module + "/gang", false},
		{"", module + "/preempt", true},
		{"", module + "/nvmlsrc", false},
		{"", module + "/bench/workload", false},
		{"internal/pq", module + "/bench", false},
		{"internal/pq", module, false},
		{"internal/pq", module + "/topology", false},
		{"internal/input", "compress/gzip", true},
		{"internal/pq", module + "/internal/input", false},
		{"core", module + "/internal/input", false},
		{"topology/fabric", module + "/internal/input", true},
		{"internal/pq", "os", false},
		{"", module + "/internal/drawn", false},
		{"bench", module + "/internal/drawn", false},
		{"internal/drawn", "os", true},
		{"nvmlsrc", module, true},
		{"nvmlsrc", "os", true},
		{"nvmlsrc", module + "/bench", false},
		{"nvmlsrc", module + "/internal/pq", true},
		{"internal/tidy", module + "/nvmlsrc", false},
		{"bench/simulator", module + "/bench/checker", true},
		{"examples/fleet", module + "/nvmlsrc", true},
		{"examples/fleet", module + "/bench/workload", true},
		{"", "github.com/google/btree", true},
		{"", "github.com/google/btreeish", false},
		{"", "github.com/NVIDIA/go-nvml/pkg/nvml", false},
		{"", "github.com/stretchr/testify/require", false},
		{"topology", "gonum.org/v1/gonum/graph", false},
		{"mig", "golang.org/x/exp/constraints", false},
		{"topology/nodegraph", module + "/topology", true},
		{"topology/nodegraph", module + "/topology/fabric", false},
		{"", module + "/topology/fabric", false},
	} {
		why := mayImport(arrow.from, arrow.to)
		require.Equal(t, arrow.allowed, why == "", "%s -> %s: %s", display(arrow.from), arrow.to, why)
	}
}
