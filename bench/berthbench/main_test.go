package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// call runs the program.
func call(args ...string) (status int, stdout, stderr string) {
	var out, err bytes.Buffer
	status = run(args, &out, &err)
	return status, out.String(), err.String()
}

func TestUsage(t *testing.T) {
	status, out, _ := call("-h")
	require.Zero(t, status)
	for _, e := range experiments {
		require.Contains(t, out, e.summary)
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{nil, "usage"},
		{[]string{"moon"}, `no experiment "moon"`},
		{[]string{"philly"}, "-file is missing: philly_jobs_sia.csv.gz"},
		{[]string{"philly", "-file", "x", "-gpus", "7"}, "-gpus: 7 is not between"},
		{[]string{"philly", "-file", "x", "-policies", "best"}, `there is no "best"; there are FIFO, EASY, LAS, cells, berth, untold`},
		{[]string{"cases"}, "-file is missing"},
		{[]string{"cases", "stray"}, `"stray" is no flag`},
		{[]string{"optimum", "-unknown"}, "berthbench optimum: there is no flag -unknown; -help lists all\n"},
		{[]string{"day", "-seds", "3"}, "berthbench day: there is no flag -seds; did you mean \"-seeds\"?; -help lists all\n"},
		{[]string{"day", "-seeds", "few"}, "berthbench day: -seeds: \"few\" is not a whole number\n"},
		{[]string{"openb"}, "-dir is missing"},
		{[]string{"openb", "-dir", "x", "-load", "1"}, "-load: 1 is not between 100 and 1000"},
		{[]string{"steady"}, "-dir is missing"},
		{[]string{"week"}, "-jobs is missing"},
		{[]string{"week", "-jobs", "x", "-gpus", "-1"}, "-gpus: -1 is not between 0 and"},
		{[]string{"day", "-seeds", "0"}, "-seeds: 0 is not between 1 and 100"},
		{[]string{"expected", "-most", "0"}, "-most: 0 is not between 1 and 100000"},
		{[]string{"scale", "-time", "0s"}, "-time: 0s is not between"},
		{[]string{"openb", "-seeds", "1-"}, "neither a number nor a range"},
		{[]string{"openb", "-seeds", "3-1"}, "no range"},
		{[]string{"openb", "-seeds", "1-999999"}, "no range"},
		{[]string{"openb", "-mix", "none"}, "neither oracle nor online"},
		{[]string{"openb", "-dir", "x", "-policies", "all,fgd"}, `"fgd" is named twice`},
		{[]string{"preempt", "-elastic", "101"}, "-elastic: 101 is not between 0 and 100"},
	} {
		status, out, err := call(c.args...)
		require.Equal(t, 2, status, c.args)
		require.Contains(t, err, c.says, c.args)
		require.Empty(t, out, c.args)
	}
	for _, e := range experiments {
		status, out, err := call(e.name, "-bogus")
		require.Equal(t, 2, status)
		require.Empty(t, out)
		require.Equal(t, 1, strings.Count(err, "\n"), err)
	}
}

// The status says whether an experiment was asked properly, and whether it found something wrong.
func TestStatus(t *testing.T) {
	write := func(expect string) string {
		path := filepath.Join(t.TempDir(), "cases.json")
		require.NoError(t, os.WriteFile(path, []byte(`{"tas_cases":[{"id":"x","levels":["host"],"options":{},
			"nodes":[{"name":"a","path":["a"],"capacity":{"cpu_milli":1000,"pods":9}}],
			"requests":[{"name":"w","count":1,"per_pod":{"cpu_milli":1000},"mode":"required","level":"host"}],
			"expect":[{"name":"w",`+expect+`}]}]}`), 0o600))
		return path
	}
	agrees := write(`"assignment":[{"domain":["a"],"count":1}]`)
	status, out, _ := call("cases", "-file", agrees)
	require.Zero(t, status)
	require.Contains(t, out, "agree")
	status, out, _ = call("cases", "-json", "-file", agrees)
	require.Zero(t, status)
	for line := range strings.Lines(out) {
		require.True(t, json.Valid([]byte(line)))
	}
	differs := write(`"failure":{"kueue_message":"no"}`)
	status, _, err := call("cases", "-file", differs)
	require.Zero(t, status, "it ran")
	require.Contains(t, err, "found: 1 of 1 scenarios")
	status, _, err = call("cases", "-verify", "-file", differs)
	require.Equal(t, 1, status)
	require.Contains(t, err, "1 of 1 scenarios")
}

// Every experiment says what it is and what its flags are.
func TestHelp(t *testing.T) {
	for _, e := range experiments {
		status, help, err := call(e.name, "-h")
		require.Zero(t, status, e.name)
		require.Empty(t, err, e.name)
		require.Contains(t, help, e.help, e.name)
		require.Contains(t, help, e.name, "by its name")
		require.Contains(t, help, "-json", e.name)
	}
	for _, name := range []string{"preempt", "philly"} {
		_, help, _ := call(name, "-h")
		require.Contains(t, help, "not measure", name)
	}
}
