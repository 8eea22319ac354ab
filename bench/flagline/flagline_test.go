package flagline_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/bench/flagline"
)

func TestParse(t *testing.T) {
	for _, c := range []struct{ arg, says string }{
		{"-seeds=2", ""},
		{"-sedes=2", `there is no flag -sedes; did you mean "-seeds"?; -help lists all`},
		{"-Seeds=2", `there is no flag -Seeds; did you mean "-seeds"?; -help lists all`},
		{"-bogus", "there is no flag -bogus; -help lists all"},
		{"-seeds", "-seeds: the value is missing"},
		{"-seeds=few", `-seeds: "few" is not a whole number`},
		{"-seeds=99999999999999999999", `-seeds: "99999999999999999999": value out of range`},
		{"-seed=-1", `-seed: "-1" is not a whole number without a sign`},
		{"-load=x", `-load: "x" is not a number`},
		{"-every=5", `-every: "5" is not a time such as 90s or 1h30m`},
		{"-short=maybe", `-short: "maybe" is not true or false`},
		{"-odd=x", `-odd: "x": none of those known`},
		{"---", "bad flag syntax: ---"},
	} {
		f := flag.NewFlagSet("p", flag.ContinueOnError)
		f.Int("seeds", 1, "")
		f.Uint64("seed", 1, "")
		f.Float64("load", 1, "")
		f.Duration("every", time.Second, "")
		f.Bool("short", false, "")
		f.Func("odd", "", func(string) error { return errors.New("none of those known") })
		var help bytes.Buffer
		err := flagline.Parse(f, []string{c.arg}, &help, "")
		if c.says == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, c.says)
		}
		require.Empty(t, help.String())
	}
}

func TestHelp(t *testing.T) {
	f := flag.NewFlagSet("p", flag.ContinueOnError)
	f.Int("seeds", 1, "runs drawn")
	var help bytes.Buffer
	require.ErrorIs(t, flagline.Parse(f, []string{"-help"}, &help, "What it does.\n\n"), flag.ErrHelp)
	require.Equal(t, "What it does.\n\n  -seeds int\n    \truns drawn (default 1)\n", help.String())
}

func TestStatus(t *testing.T) {
	parse := func(arg string) error {
		f := flag.NewFlagSet("p", flag.ContinueOnError)
		f.Int("seeds", 1, "")
		return flagline.Parse(f, []string{arg}, io.Discard, "")
	}
	for _, c := range []struct {
		err  error
		code int
		says string
	}{
		{nil, 0, ""},
		{parse("-help"), 0, ""},
		{parse("-seeds=2"), 0, ""},
		{parse("-seeds"), 2, "p: -seeds: the value is missing\n"},
		{parse("seeds"), 2, "p: \"seeds\" is no flag\n"},
		{fmt.Errorf("trace: %w", flagline.Misused("%d is too many", 7)), 2, "p: trace: 7 is too many\n"},
		{io.ErrUnexpectedEOF, 1, "p: unexpected EOF\n"},
	} {
		var stderr bytes.Buffer
		require.Equal(t, c.code, flagline.Status("p", c.err, &stderr))
		require.Equal(t, c.says, stderr.String())
	}
}
