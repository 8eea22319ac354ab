package cases

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
)

// judged replays a file and returns the judgements by ID.
func judged(t *testing.T, path string) map[string]Judgement {
	t.Helper()
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		t.Skipf("the scenarios are not at %s", path)
	}
	require.NoError(t, err)
	defer file.Close()
	set, err := Read(path, file)
	require.NoError(t, err)
	differences, err := Differences()
	require.NoError(t, err)
	list := map[string]Judgement{}
	for _, j := range Judge(set.Run(), differences) {
		require.NotContains(t, list, j.ID)
		list[j.ID] = j
	}
	return list
}

// atLeast checks that nothing is unexplained, and that of each kind, and of all, no
// fewer scenarios agree than did.
func atLeast(t *testing.T, list map[string]Judgement, agree map[string]int) {
	t.Helper()
	have := map[string]int{}
	for id, j := range list {
		if j.Verdict == Unexplained {
			t.Errorf("%s is %s: %s", id, j.Verdict, j.Detail)
		}
		if j.Agree {
			have[j.Kind]++
			have["all"]++
		}
	}
	for kind, least := range agree {
		require.GreaterOrEqual(t, have[kind], least, "scenarios of kind %s that agree", kind)
	}
}

func shared(file string) string {
	return filepath.Join("..", "..", "..", "shared", "data", "peers", file)
}

// TestKAICases and TestKueuePreemptionCases replay the scenarios that lie beside the
// repository.
func TestKAICases(t *testing.T) {
	atLeast(t, judged(t, shared("kai.json")), map[string]int{
		"quota": 15, "preempt": 12, "gang": 4, "reclaim": 35, "hierarchy": 2, "stability": 2, "fairness": 14, "elastic": 6,
		"subgroups": 9, "consolidation": 11, "topology": 13, "mig": 5, "fraction": 23, "order": 4, "all": 155,
	})
}

func TestKueuePreemptionCases(t *testing.T) {
	atLeast(t, judged(t, shared("kueue_preemption.json")), map[string]int{"classical": 10, "fair": 6, "flap": 1, "all": 17})
}

// What the words of a scenario become, where no scenarios lie beside the repository.
func TestOwnKAICases(t *testing.T) {
	list := judged(t, filepath.Join("testdata", "kai.json"))
	for id, want := range map[string]struct {
		verdict    Verdict
		kind, rule string
	}{
		"quota-first":        {Agrees, "gang", ""},
		"firm-cannot-borrow": {Agrees, "fraction", ""},
		"limit":              {Agrees, "elastic", ""},
		"instances":          {Agrees, "mig", ""},
		"nested":             {Agrees, "topology", ""},
		"companions":         {Agrees, "fraction", ""},
		"siblings":           {Agrees, "fairness", ""},
		"priority":           {Agrees, "fairness", ""},
		"one-of-two":         {Agrees, "topology", ""},
		"older-queue":        {Agrees, "fairness", ""},
		"broken-gang":        {Agrees, "preempt", ""},
		"owner-returns":      {Agrees, "reclaim", ""},
		"moves":              {Agrees, "order", ""},
		"shrinks":            {Agrees, "reclaim", ""},
		"rigid-first":        {Agrees, "reclaim", ""},
		"grows":              {Agrees, "reclaim", ""},
		"grows-by-priority":  {Differs, "preempt", ruleElastic},
		"firm-over-quota":    {Agrees, "fairness", ""},
		"sibling":            {Differs, "reclaim", ruleOverShare},
		"names":              {Differs, "order", ruleAlike},
		"asserted":           {Differs, "subgroups", ruleAsserted},
		"narrow-whole":       {Differs, "topology", ruleWhole},
		"consolidates":       {NotYet, "consolidation", ruleMoves},
		"alone":              {Differs, "reclaim", ruleOverShare},
		"full":               {Unexplained, "order", ""},
		"wrong":              {Unexplained, "order", ""},
		"no-word":            {Differs, "mig", ruleOutOfModel},
		"stray":              {Unexplained, "not understood", ""},
	} {
		j, has := list[id]
		require.True(t, has, id)
		require.Equal(t, want.verdict, j.Verdict, "%s: %s", id, j.Detail)
		require.Equal(t, want.rule, j.Rule, "%s: %s", id, j.Detail)
		require.Equal(t, want.kind, j.Kind, id)
	}
	require.Len(t, list, 28)
	var where *Error
	require.ErrorAs(t, list["stray"].Err, &where)
	require.Equal(t, "stray", where.Case)
	require.Equal(t, "jobs[0].queue", where.Field)
	require.ErrorIs(t, where, ErrMalformed)
	require.ErrorIs(t, list["no-word"].Err, ErrOutOfModel)
}

func TestOwnKueuePreemptionCases(t *testing.T) {
	list := judged(t, filepath.Join("testdata", "kueue_preemption.json"))
	for id, want := range map[string]struct {
		verdict    Verdict
		kind, rule string
	}{
		"nobody-borrows": {Agrees, "classical", ""},
		"reclaims":       {Agrees, "fair", ""},
		"room":           {Differs, "fair", ruleLess},
		"two-trees":      {Agrees, "fair", ""},
		"circle":         {Unexplained, "", ""},
		"swap":           {Agrees, "flap", ""},
	} {
		j, has := list[id]
		require.True(t, has, id)
		require.Equal(t, want.verdict, j.Verdict, "%s: %s", id, j.Detail)
		require.Equal(t, want.rule, j.Rule, "%s: %s", id, j.Detail)
		require.Equal(t, want.kind, j.Kind, id)
	}
	require.ErrorIs(t, list["circle"].Err, ErrMalformed)
}

// Every rule of the list is that of some scenario here, which the core has been asked, and says
// which decision is better, and why. A rule that nothing shows any more goes.
func TestEveryRuleShows(t *testing.T) {
	shown := map[string]bool{}
	for _, file := range []string{"kai.json", "kueue_preemption.json", "kueue_tas.json"} {
		for id, j := range judged(t, filepath.Join("testdata", file)) {
			if shown[j.Rule] = true; j.Verdict == NotYet {
				require.Equal(t, "theirs", j.Better, id)
			}
		}
	}
	for _, c := range kueueRuleCases {
		shown[c.rule] = true // TestKueueRules asks the core
	}
	list, err := Differences()
	require.NoError(t, err)
	for rule, d := range list {
		require.True(t, shown[rule], "no scenario shows the rule %q", rule)
		require.Contains(t, []string{"ours", "neither", "theirs"}, d.Better, rule)
		require.NotEmpty(t, d.Why, rule)
		require.True(t, d.Awaits == "" || d.Better == "theirs", rule)
		delete(shown, rule)
	}
	delete(shown, "")
	require.Empty(t, shown, "rules that are not in the list")
}

// What is malformed is told with the scenario and the field.
func TestMalformedKAI(t *testing.T) {
	const fine = `"id":"x","rounds":1,"stable_rounds":1,"nodes":[{"name":"n","gpus":1}],"queues":[{"name":"q","quota":1,"limit":-1}],` +
		`"jobs":[{"name":"j","queue":"q","preemptible":true,"tasks":[{"gpus":1,"state":"pending"}]}],` +
		`"expect":[{"job":"j","state":"running","running_pods":1,"gpus_placed":1}]`
	for _, c := range []struct{ from, to, field, reason string }{
		{"", "", "", ""},
		{`"rounds":1`, `"rounds":1000`, "rounds", "1000"},
		{`"rounds":1`, `"rounds":"1"`, "rounds", "cannot be a JSON string"},
		{`"rounds":1`, `"turns":1`, "turns", "not a known field"},
		{`"gpus":1}],"queues"`, `"gpus":-1}],"queues"`, "nodes[0].gpus", "-1"},
		{`{"name":"n","gpus":1}`, `{"name":"n","gpus":1},{"name":"n","gpus":1}`, "nodes[1].name", "doubled"},
		{`"limit":-1`, `"limit":-1,"parent":"p"`, "queues[0].parent", "p"},
		{`"limit":-1`, `"limit":1e99`, "queues[0]", "range"},
		{`"queue":"q"`, `"queue":"p"`, "jobs[0].queue", "p"},
		{`"tasks":[{"gpus":1,"state":"pending"}]`, `"tasks":[]`, "jobs[0].tasks", "0"},
		{`"state":"pending"`, `"state":"running","node":"m"`, "jobs[0].tasks[0].node", "m"},
		{`"state":"pending"`, `"state":"odd"`, "jobs[0].tasks[0].state", "odd"},
		{`"gpus":1,"state":"pending"`, `"gpus":2,"node":"n","state":"running"`, "jobs[0].tasks[0]", "nothing left"},
		{
			`"gpus":1,"state":"pending"`, `"gpus":0.4,"node":"n","state":"running","gpuGroups":["0"]},{"gpus":0.4,"node":"n","state":"running","gpuGroups":["0"]},{"gpus":0.4,"node":"n","state":"running","gpuGroups":["0"]`,
			"jobs[0].tasks[2]", "nothing left",
		},
		{`"job":"j"`, `"job":"k"`, "expect[0].job", "k"},
		{`"state":"running"`, `"state":"odd"`, "expect[0].state", "odd"},
	} {
		text := fine
		if c.from != "" {
			require.Contains(t, text, c.from)
			text = strings.Replace(text, c.from, c.to, 1)
		}
		set, err := Read("test", strings.NewReader(`{"format":"kai_cases v1","cases":[{`+text+`}]}`))
		require.NoError(t, err)
		r := set.Run()[0]
		if c.from == "" {
			require.True(t, r.Agree, r.Detail)
			continue
		}
		require.False(t, r.Agree, c.to)
		var where *Error
		require.ErrorAs(t, r.Err, &where, c.to)
		require.Equal(t, c.field, where.Field, c.to)
		require.ErrorIs(t, where, ErrMalformed)
		require.Equal(t, "x", where.Case, c.to)
		require.Contains(t, where.Error(), c.reason)
	}
}

// Every field that the file calls a requirement is compared.
func TestKAIOutcomes(t *testing.T) {
	c := &kaiCase{Nodes: []kaiNode{
		{Name: "a", Labels: map[string]string{"rack": "r"}}, {Name: "b", Labels: map[string]string{"rack": "r"}}, {Name: "c", Labels: map[string]string{"rack": "s"}},
	}}
	have := kaiOutcome{state: kaiPartial, pods: 2, gpus: 1.5, nodes: []string{"a", "b"}}
	same := kaiExpect{State: kaiPartial, Running: 2, GPUs: 1.5, SameDomain: "rack"}
	require.Empty(t, have.differs(&same, c))
	for _, x := range []struct {
		change func(*kaiExpect)
		want   string
	}{
		{func(e *kaiExpect) { e.State = kaiRunning }, "is partial"},
		{func(e *kaiExpect) { e.Running = 3 }, "2 pods"},
		{func(e *kaiExpect) { e.GPUs = 2 }, "1.5 GPUs"},
		{func(e *kaiExpect) { e.Node = "a" }, "on a b"},
	} {
		other := same
		x.change(&other)
		require.Contains(t, have.differs(&other, c), x.want)
	}
	have.nodes[1] = "c"
	require.Contains(t, have.differs(&same, c), "several domains")
}

// What is not preemptible here is of the class that is not preempted.
func TestKAIClasses(t *testing.T) {
	c := &kaiCase{Queues: []kaiQueue{{Name: "q"}}, Jobs: []kaiJob{{Name: "j", Queue: "q", Tasks: []kaiTask{{GPUs: 1}}}}}
	for preemptible, class := range map[bool]berth.Class{false: berth.ClassLatencyCritical, true: berth.ClassBatch} {
		c.Jobs[0].Preemptible = preemptible
		gangs, err := c.gangs(0)
		require.Nil(t, err)
		require.Equal(t, class, gangs[0].job.Class)
	}
}

// FuzzRead: any bytes are refused with a typed error, or every scenario in them has a
// result.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"kai.json", "kueue_preemption.json"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(f, err)
		f.Add(string(text))
	}
	f.Add(`{"tas_cases":[{"id":"a","levels":["rack","host"],"options":{"balanced":true},"nodes":[{"name":"x","path":["r","x"],"capacity":{"gpu":2,"pods":3}}],` +
		`"requests":[{"name":"w","count":2,"per_pod":{"gpu":1},"mode":"preferred","level":"rack","slices":[{"level":"host","size":2}]}],` +
		`"expect":[{"name":"w","assignment":[{"domain":["x"],"count":2}]}]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		set, err := Read("fuzz", strings.NewReader(text))
		if err != nil {
			require.True(t, errors.Is(err, ErrMalformed) || errors.Is(err, ErrUnknown), err)
			return
		}
		for _, r := range set.Run() {
			require.Equal(t, r.Agree, r.Detail == "")
			if r.Err != nil {
				var where *Error
				require.ErrorAs(t, r.Err, &where)
			}
		}
	})
}
