package cases

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
)

// TestKueueTopologyCases replays the scenarios that lie beside the repository.
func TestKueueTopologyCases(t *testing.T) {
	path := filepath.Join("..", "..", "..", "shared", "data", "peers", "kueue_tas.json")
	list := judged(t, path)
	require.NotEmpty(t, list)
	atLeast(t, list, map[string]int{"all": 17})
}

// one reads a file with one scenario: a fleet of racks with two nodes of 2 CPUs each.
func one(t *testing.T, options, requests, expect string) Result {
	t.Helper()
	text := `{"tas_cases":[{"id":"t","levels":["rack","host"],"options":{` + options + `},"nodes":[
		{"name":"a1","path":["a","a1"],"capacity":{"cpu_milli":2000,"pods":10}},
		{"name":"a2","path":["a","a2"],"capacity":{"cpu_milli":2000,"pods":10}},
		{"name":"b1","path":["b","b1"],"capacity":{"cpu_milli":2000,"pods":1}},
		{"name":"b2","path":["b","b2"],"capacity":{"cpu_milli":1000,"pods":10}}],
		"requests":` + requests + `,"expect":` + expect + `}]}`
	set, err := Read("test", strings.NewReader(text))
	require.NoError(t, err)
	results := set.Run()
	require.Len(t, results, 1)
	return results[0]
}

func TestComparisons(t *testing.T) {
	const four = `[{"name":"w","count":4,"per_pod":{"cpu_milli":1000},"mode":"required","level":"rack"}]`
	for _, c := range []struct {
		name, requests, expect string
		agree                  bool
		detail                 string
	}{
		{"agrees", four, `[{"name":"w","assignment":[{"domain":["a1"],"count":2},{"domain":["a2"],"count":2}]}]`, true, ""},
		{"another count", four, `[{"name":"w","assignment":[{"domain":["a1"],"count":1},{"domain":["a2"],"count":3}]}]`, false, "w: a1=2 a2=2; Kueue: a1=1 a2=3"},
		{"another domain", four, `[{"name":"w","assignment":[{"domain":["a1"],"count":2},{"domain":["b1"],"count":2}]}]`, false, "Kueue: a1=2 b1=2"},
		{"should not be placed", four, `[{"name":"w","failure":{"kueue_message":"no"}}]`, false, "Kueue places it nowhere"},
		{"nothing expected", four, `[]`, false, "nothing is expected of w"},
		{
			"too many", `[{"name":"w","count":5,"per_pod":{"cpu_milli":1000},"mode":"required","level":"rack"}]`,
			`[{"name":"w","assignment":[{"domain":["a1"],"count":5}]}]`, false, "w: not placed",
		},
		{
			"pods are in the way", `[{"name":"w","count":2,"per_pod":{"cpu_milli":500},"mode":"required","level":"rack"},
				{"name":"x","count":10,"per_pod":{"cpu_milli":1},"mode":"required","level":"host"}]`,
			`[{"name":"w","assignment":[{"domain":["b2"],"count":2}]},{"name":"x","assignment":[{"domain":["a1"],"count":10}]}]`, true, "",
		},
		{
			"another resource", `[{"name":"w","count":1,"per_pod":{"x":1},"mode":"required","level":"rack"}]`,
			`[{"name":"w","failure":{"kueue_message":"no"}}]`, true, "",
		},
	} {
		r := one(t, "", c.requests, c.expect)
		require.Equal(t, c.agree, r.Agree, "%s: %s", c.name, r.Detail)
		require.Contains(t, r.Detail, c.detail, c.name)
	}
}

func TestFilesAreRecognised(t *testing.T) {
	for text, want := range map[string]error{
		`{"preemption_cases":[]}`:    nil,
		`{"cases":[],"format":"x"}`:  nil,
		`{"cases":{},"format":"x"}`:  ErrMalformed,
		`{"preemption_cases":{}}`:    ErrMalformed,
		`{"cases":[]}`:               ErrUnknown,
		`{"tas_cases":[{"id":"a"}]}`: nil,
	} {
		_, err := Read("test", strings.NewReader(text))
		require.ErrorIs(t, err, want, text)
	}
	_, err := Read("test", strings.NewReader(`[`))
	require.Error(t, err)
	_, err = Read("test", strings.NewReader(`{"tas_cases":3}`))
	require.ErrorIs(t, err, ErrMalformed)
	var where *Error
	require.ErrorAs(t, err, &where)
	require.Equal(t, "tas_cases", where.Field)

	set, err := Read("test", strings.NewReader(`{"tas_cases":[{"id":"a","taints":1},{"id":"b"}]}`))
	require.NoError(t, err)
	results := set.Run()
	require.Len(t, results, 2)
	require.False(t, results[0].Agree, "a field that is not understood is no agreement")
	require.Contains(t, results[0].Detail, "taints")
}

func TestVerdicts(t *testing.T) {
	results := []Result{{ID: "a", Agree: true}, {ID: "b", Agree: true, Rule: "r"}, {ID: "c"}, {ID: "d", Rule: "r"}, {ID: "e", Rule: "later"}, {ID: "f", Rule: "other"}}
	var got []Verdict
	list := map[string]Difference{"r": {Better: "ours", Why: "why"}, "later": {Better: "theirs", Awaits: "it"}}
	for _, j := range Judge(results, list) {
		got = append(got, j.Verdict)
	}
	require.Equal(t, []Verdict{Agrees, Agrees, Unexplained, Differs, NotYet, Unexplained}, got)
}

// The rule holds for outcomes that are closer together, and as even where that is asked for, and
// for no others.
func TestRuleCloser(t *testing.T) {
	c := &tasCase{Levels: []string{"rack", "host"}}
	for _, path := range [][2]string{{"a", "a1"}, {"a", "a2"}, {"a", "a3"}, {"b", "b1"}, {"b", "b2"}} {
		c.Nodes = append(c.Nodes, tasNode{Name: path[1], Path: path[:]})
	}
	on := func(hosts ...string) []map[string]int {
		counts := map[string]int{}
		for _, h := range hosts {
			counts[h]++
		}
		return []map[string]int{counts}
	}
	for _, x := range []struct {
		ours, theirs []map[string]int
		rule, even   string // without Balance, and with it at the level of the rack
	}{
		{on("a1", "a1"), on("a1", "a2"), ruleCloser, ruleCloser},
		{on("a1", "a2"), on("a1", "b1"), ruleCloser, ruleCloser},
		{on("b1", "b2", "b2"), on("a1", "a2", "b1"), ruleCloser, ruleCloser},
		{on("b1", "b1", "b2"), on("a1", "a2", "a3"), ruleCloser, ruleCloser},
		{on("a1", "a1", "a1", "b1"), on("a1", "a2", "b1", "b2"), ruleCloser, ""},
		{on("a1", "a1", "b1", "b1"), on("a1", "a2", "b1", "b2"), ruleCloser, ruleCloser},
		{on("a1", "b1"), on("a1", "a2"), "", ""},
		{on("a1", "b1", "b1"), on("a1", "a2", "a3"), "", ""},
		{on("a1"), on("b1"), "", ""},
		{on("a1"), on("nowhere"), "", ""},
	} {
		requests := []tasRequest{{Name: "w", Level: "rack"}}
		for _, balanced := range []bool{false, true} {
			c.Options.Balanced = balanced
			rule, _ := c.rule(requests, x.ours, x.theirs)
			require.Equal(t, map[bool]string{false: x.rule, true: x.even}[balanced], rule, "%v %v, balanced: %t", x.ours, x.theirs, balanced)
		}
	}
}

// What is asked for is checked in the placement itself.
func TestBrokenPlacements(t *testing.T) {
	c := &tasCase{Levels: []string{"rack", "host"}}
	for _, path := range [][2]string{{"a", "a1"}, {"a", "a2"}, {"b", "b1"}} {
		c.Nodes = append(c.Nodes, tasNode{Name: path[1], Path: path[:], Capacity: map[string]int64{"cpu_milli": 2000, "pods": 2}})
	}
	on := func(nodes ...berth.NodeID) *berth.Bind {
		b := &berth.Bind{}
		for i, n := range nodes {
			b.Members = append(b.Members, berth.MemberPlacement{Group: "w", Index: i, Node: n})
		}
		return b
	}
	ask := func(mode string, count int, slices ...tasSlice) []tasRequest {
		return []tasRequest{{Name: "w", Count: count, PerPod: map[string]int64{"cpu_milli": 1000}, Mode: mode, Level: "rack", Slices: slices}}
	}
	require.Empty(t, c.broken(on("a1", "a2"), ask("required", 2)))
	require.Empty(t, c.broken(on("a1", "b1"), ask("preferred", 2)))
	require.Contains(t, c.broken(on("a1", "b1"), ask("required", 2)), "several")
	require.Contains(t, c.broken(on("a1"), ask("preferred", 2)), "1 of 2")
	require.Contains(t, c.broken(on("a1", "a1", "a1"), ask("preferred", 3)), "more than")
	require.Contains(t, c.broken(on("nowhere"), ask("preferred", 1)), "no node")
	require.Contains(t, c.broken(on("a1", "b1", "a1", "a2"), ask("preferred", 4, tasSlice{Level: "rack", Size: 2})), "slice")
	require.Empty(t, c.broken(on("a1", "a2", "b1", "b1"), ask("preferred", 4, tasSlice{Level: "rack", Size: 2})))
}
