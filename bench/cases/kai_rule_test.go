package cases

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
)

// ruled replays nothing: it says what runs where at the end, job by job, each pod with
// one GPU, and returns the rule that the difference comes under.
func ruled(t *testing.T, text string, ends map[string][]string) string {
	t.Helper()
	set, err := Read("test", strings.NewReader(`{"format":"kai_cases v1","cases":[{"id":"x","rounds":1,"stable_rounds":1,`+text+`}]}`))
	require.NoError(t, err)
	c, ok := set.cases[0].(*kaiCase)
	require.True(t, ok, "%v", set.cases[0])
	w, wrong := c.world()
	require.Nil(t, wrong)
	w.running = map[berth.JobID]map[berth.MemberRef]berth.MemberPlacement{}
	for job, nodes := range ends {
		var members []berth.MemberPlacement
		for i, n := range nodes {
			members = append(members, berth.MemberPlacement{Group: "g0", Index: i, Node: berth.NodeID(n)})
		}
		w.observe(berth.JobID(job), members)
	}
	require.NotEmpty(t, w.compare(), "nothing differs")
	rule, _ := c.rule(w)
	return rule
}

func TestKAIRules(t *testing.T) {
	job := func(name, queue string, pods int, state string) string {
		return fmt.Sprintf(`{"name":%q,"queue":%q,"preemptible":true,"minAvailable":1,"created":-1,"tasks":[%s]}`,
			name, queue, strings.TrimSuffix(strings.Repeat(`{"gpus":1,"state":"`+state+`","node":"n"},`, pods), ","))
	}
	expect := func(name, state string, pods int) string {
		return fmt.Sprintf(`{"job":%q,"state":%q,"running_pods":%d,"gpus_placed":%d}`, name, state, pods, pods)
	}
	const queues = `"queues":[{"name":"a","quota":2,"limit":-1},{"name":"b","quota":4,"limit":-1},{"name":"c","quota":8,"limit":-1}]`
	fleet := func(gpus int) string {
		return fmt.Sprintf(`"nodes":[{"name":"n","gpus":%d},{"name":"m","gpus":1}],`, gpus)
	}

	// Nobody served, and room: no reason known.
	require.Empty(t, ruled(t, fleet(5)+queues+`,"jobs":[`+job("x", "a", 1, "pending")+`],"expect":[`+expect("x", "running", 1)+`]`, nil))
	// Something that runs is expected to go, for nobody, and was left alone.
	gone := fleet(5) + queues + `,"jobs":[` + job("x", "a", 1, "running") + `],"expect":[` + expect("x", "pending", 0) + `]`
	require.Empty(t, ruled(t, gone, map[string][]string{"x": {"n"}}))
	// Instances are no GPUs: a job that grows by one has no reason.
	const devices = `"nodes":[{"name":"n","gpus":0,"mig":{"nvidia.com/mig-1g.10gb":2},"migStrategy":"mixed"}],"queues":[{"name":"a","quota":2,"limit":-1}],` +
		`"jobs":[{"name":"x","queue":"a","preemptible":true,"minAvailable":1,"tasks":[{"gpus":0,"mig":{"nvidia.com/mig-1g.10gb":1},"state":"running","node":"n"},{"gpus":0,"mig":{"nvidia.com/mig-1g.10gb":1},"state":"pending"}]}],` +
		`"expect":[{"job":"x","state":"running","running_pods":2,"gpus_placed":0}]`
	require.Empty(t, ruled(t, devices, map[string][]string{"x": {"n"}}))

	// A node that is filled, where KAI breaks a larger one, and the other way round.
	place := func(node string) string {
		return fleet(5) + queues + `,"jobs":[` + job("x", "a", 1, "pending") + `],"expect":[{"job":"x","state":"running","running_pods":1,"gpus_placed":1,"node":"` + node + `"}]`
	}
	require.Equal(t, ruleWhole, ruled(t, place("n"), map[string][]string{"x": {"m"}}))
	require.Empty(t, ruled(t, place("m"), map[string][]string{"x": {"n"}}))
	alike := strings.Replace(place("m"), `{"name":"n","gpus":5}`, `{"name":"n","gpus":1}`, 1)
	require.Equal(t, ruleAlike, ruled(t, alike, map[string][]string{"x": {"n"}}))
}

// What KAI's own test asserts holds or does not, line by line.
func TestKAIRuleAsserted(t *testing.T) {
	const text = `"nodes":[{"name":"n","gpus":2},{"name":"m","gpus":2}],"queues":[{"name":"a","quota":2,"limit":-1}],` +
		`"jobs":[{"name":"x-y","queue":"a","preemptible":true,"minAvailable":1,"tasks":[{"gpus":1,"state":"pending"},{"gpus":1,"state":"pending"}]}],` +
		`"expect":[{"job":"x-y","state":"pending","running_pods":0,"gpus_placed":0}],"kai_asserted":[%s]`
	for _, c := range []struct {
		lines string
		nodes []string
		want  string
	}{
		{`"task x-y-0: binding node=\"n\"","task x-y-1: pending node=\"\""`, []string{"n"}, ruleAsserted},
		{`"task x-y-0: binding node=\"n\"","task x-y-1: pending node=\"\""`, []string{"m"}, ""},
		{`"task x-y-0: binding node=\"\"","task x-y-1: pending node=\"\""`, []string{"m"}, ruleAsserted},
		{`"task x-y-0: binding node=\"n\"","task x-y-1: pending node=\"\""`, []string{"n", "n"}, ""},
		{`"job x-y: running node=\"n\""`, []string{"n", "n"}, ruleAsserted},
		{`"job x-y: running node=\"n\""`, []string{"n"}, ""},
		{`"job x-y: releasing node=\"n\""`, []string{"n"}, ""},
		{`"task x-y-2: binding node=\"n\""`, []string{"n"}, ""},
		{`"task x-y-z: binding node=\"n\""`, []string{"n"}, ""},
		{`"job other: running node=\"n\""`, []string{"n"}, ""},
		{`"nonsense"`, []string{"n"}, ""},
		{``, []string{"n"}, ""},
	} {
		require.Equal(t, c.want, ruled(t, fmt.Sprintf(text, c.lines), map[string][]string{"x-y": c.nodes}), "%s %v", c.lines, c.nodes)
	}
}

// Guarantees of children are cut to what their parent has; what is unlimited is the fleet, or
// what is below it if that is more.
func TestKAIGuarantees(t *testing.T) {
	c := &kaiCase{
		Nodes: []kaiNode{{Name: "n", GPUs: 10}},
		Queues: []kaiQueue{
			{Name: "tight", Quota: 3, Limit: -1},
			{Name: "a", Parent: "tight", Quota: 4, Limit: -1},
			{Name: "b", Parent: "tight", Quota: 2, Limit: -1},
			{Name: "b1", Parent: "b", Quota: 2, Limit: -1},
			{Name: "open", Quota: -1, Limit: -1},
			{Name: "c", Parent: "open", Quota: 2, Limit: 1},
			{Name: "d", Parent: "open", Quota: 12, Limit: -1},
			{Name: "e", Parent: "d", Quota: -1, Limit: -1},
		},
	}
	require.Nil(t, c.check())
	require.Equal(t, []int64{3000, 2000, 1000, 1000, 13000, 1000, 12000, 10000}, c.guarantees())
}
