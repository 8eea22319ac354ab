package study

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/bench/flagline"
)

func TestTables(t *testing.T) {
	table := NewTable("title", "name", "n", "x")
	table.Add("a", 1, 2.5)
	table.Add("bcd", nil, 12.25)
	var text, lines bytes.Buffer
	require.NoError(t, table.writeText(&text))
	require.Equal(t, "title\n  name  n     x\n  a     1  2.50\n  bcd   -  12.2\n\n", text.String())
	require.NoError(t, table.writeJSON(&lines))
	require.JSONEq(t, `{"title":"title","columns":["name","n","x"],"rows":[["a",1,2.5],["bcd",null,12.25]]}`, lines.String())
}

func TestEstimate(t *testing.T) {
	e := EstimateOf([]float64{1, 2, 3, 4})
	require.InDelta(t, 2.5, e.Mean, 1e-12)
	require.InDelta(t, 3.1824*1.2910/2, e.Half, 1e-3, "Student's t for three degrees of freedom")
	require.Equal(t, "2.50 ±2.05", e.String())
	require.Equal(t, "1.50", EstimateOf([]float64{1, 2}).String(), "no interval of two is told")
	require.Equal(t, "1.50", EstimateOf([]float64{1, 2}).Short())
}

func TestJain(t *testing.T) {
	require.InDelta(t, 1, Jain([]float64{2, 2, 2}), 1e-12)
	require.InDelta(t, 1.0/3, Jain([]float64{0, 5, 0}), 1e-12)
	require.InDelta(t, 36.0/42, Jain([]float64{1, 2, 3}), 1e-12)
	require.InDelta(t, 1, Jain([]float64{0, 0}), 1e-12)
}

// Every seed is played on every line, unless the context is cancelled before.
func TestPlayAll(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	runs, err := PlayAll(ctx, 2, 3, func(line, seed int) (int, error) { return 10*line + seed, nil })
	require.NoError(t, err)
	require.Equal(t, [][]int{{0, 1, 2}, {10, 11, 12}}, runs)
	_, err = PlayAll(ctx, 2, 3, func(line, seed int) (int, error) { return 0, fmt.Errorf("%d of %d", seed, line) })
	require.ErrorContains(t, err, "2 of 1")
	cancel()
	_, err = PlayAll(ctx, 2, 3, func(int, int) (int, error) { panic("it was cancelled") })
	require.ErrorIs(t, err, context.Canceled)
}

// Only what refuses options is misuse, whatever it says.
func TestMisused(t *testing.T) {
	err := fmt.Errorf("philly: %w", flagline.Misused("%d GPUs", 7))
	require.ErrorIs(t, err, flagline.ErrMisuse)
	require.EqualError(t, err, "philly: 7 GPUs")
	require.NotErrorIs(t, context.Canceled, flagline.ErrMisuse)
}

// sample has an option of each kind.
type sample struct {
	Output
	N     int
	X     float64
	Span  time.Duration
	Seeds []int64
	Loads []int
	Names []string
	File  string
	Loud  bool
}

func (s *sample) Flags(f *Flags) {
	f.Int(&s.N, "n", 1, 9, "a number")
	f.Float(&s.X, "x", 0, 1, "a part")
	f.Time(&s.Span, "span", time.Second, time.Hour, "a span")
	f.Seeds(&s.Seeds)
	f.Numbers(&s.Loads, "loads", 1, 200, "loads")
	f.Words(&s.Names, "names", "names")
	f.File(&s.File, "file", "a file", "nowhere to be had")
	f.Yes(&s.Loud, "loud", "loudly")
	f.Refuse(func() error {
		if s.N == 7 && s.Loud {
			return flagline.Misused("-n: 7 is never loud")
		}
		return nil
	})
}

func fine() sample {
	return sample{N: 3, X: 0.5, Span: time.Minute, Seeds: []int64{42, 43}, Loads: []int{90}, Names: []string{"a", "b"}, File: "f", Loud: true}
}

// What options hold is the default of their flags, and help says it.
func TestFlags(t *testing.T) {
	s := fine()
	require.NoError(t, Check(&s))
	require.Equal(t, fine(), s, "checking changes nothing")
	var help bytes.Buffer
	require.ErrorIs(t, NewFlags("sample", &s).Parse([]string{"-h"}, &help, ""), flag.ErrHelp)
	for _, text := range []string{"(default 3)", "(default 1m0s)", "(default 42,43)", "(default a,b)", `(default "f")`, "a file; nowhere to be had"} {
		require.Contains(t, help.String(), text)
	}
	args := []string{"-n=4", "-x=1", "-span=2s", "-seeds=7,42-44", "-loads=70,90", "-names=c", "-file=g", "-loud=false"}
	require.NoError(t, NewFlags("sample", &s).Parse(args, &help, ""))
	require.Equal(t, sample{N: 4, X: 1, Span: 2 * time.Second, Seeds: []int64{7, 42, 43, 44}, Loads: []int{70, 90}, Names: []string{"c"}, File: "g"}, s)
}

// What is out of its range is refused, whether a flag said so or a program; the flag is named.
func TestFlagsRefuse(t *testing.T) {
	for says, change := range map[string]func(*sample){
		"-n: 0 is not between 1 and 9":       func(s *sample) { s.N = 0 },
		"-x: NaN is not between 0 and 1":     func(s *sample) { s.X = math.NaN() },
		"-span: 1h0m1s is not between":       func(s *sample) { s.Span = time.Hour + time.Second },
		"-seeds: at least one is needed":     func(s *sample) { s.Seeds = nil },
		`-seeds: "5" is named twice`:         func(s *sample) { s.Seeds = []int64{5, 6, 5} },
		"-loads: 201 is not between 1":       func(s *sample) { s.Loads = []int{90, 201} },
		`-names: "a" is named twice`:         func(s *sample) { s.Names = []string{"a", "a"} },
		"-file is missing: a file; nowhere ": func(s *sample) { s.File = "" },
		"-n: 7 is never loud":                func(s *sample) { s.N = 7 },
	} {
		s := fine()
		change(&s)
		err := Check(&s)
		require.ErrorIs(t, err, flagline.ErrMisuse, says)
		require.ErrorContains(t, err, says)
	}
	for arg, says := range map[string]string{
		"-seeds=1-": "-seeds: \"1-\": \"1-\" is neither a number nor a range of them", "-seeds=3-1": "is no range of 1 to",
		"-seeds=1-999999": "is no range of 1 to", "-loads=9,x": `"x" is no number`, "-n=12": "-n: 12 is not between 1 and 9",
	} {
		s := fine()
		err := NewFlags("sample", &s).Parse([]string{arg}, &bytes.Buffer{}, "")
		require.ErrorIs(t, err, flagline.ErrMisuse, arg)
		require.ErrorContains(t, err, says)
	}
}

// A study has as many rows as lines or figures; programs get intervals in columns of their own.
func TestComparisons(t *testing.T) {
	figures := []Figure[int]{{"twice", func(r int) float64 { return float64(2 * r) }}, {"less", func(r int) float64 { return float64(-r) }}}
	lines, runs := []string{"a", "b"}, [][]int{{1, 2, 3}, {3, 4, 6}}
	var text, plain bytes.Buffer
	require.NoError(t, Output{}.To(&text).Print(ByLine("t", "line", lines, figures, runs)))
	require.Equal(t, "t\n  line  twice       less\n  a     4.00 ±4.97  -2.00 ±2.48\n  b     8.67 ±7.59  -4.33 ±3.79\n\n", text.String())
	require.NoError(t, Output{JSON: true}.To(&plain).Print(ByLine("t", "line", lines, figures[:1], runs)))
	require.Regexp(t, `"columns":\["line","twice","twice ±"\],"rows":\[\["a",4,4\.96\d*\],\["b",8\.66\d*,7\.58\d*\]\]`, plain.String())
	single := SideBySide("t", lines, figures, []int{1, 2})
	require.Equal(t, [][]any{{"twice", 2.0, 4.0}, {"less", -1.0, -2.0}}, single.Rows)
}
