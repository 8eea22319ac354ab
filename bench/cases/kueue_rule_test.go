package cases

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// kueueText writes a scenario of one cohort. A queue is "name nominal weight within reclaim",
// a workload "name queue priority units", with the time of its admission and, after a
// slash, of its submission; the one that comes is the last.
func kueueText(algorithm string, queues, workloads []string, victims ...string) string {
	var list, running, expect []string
	for _, q := range queues {
		f := strings.Fields(q)
		list = append(list, fmt.Sprintf(`{"name":%q,"cohort":"all","weight":%s,"quota":{"f/gpu":{"nominal":%s}},"policy":{"within_queue":%q,"reclaim_within_cohort":%q}}`, f[0], f[2], f[1], f[3], f[4]))
	}
	for i, w := range workloads {
		f := strings.Fields(w)
		admitted, queued, told := strings.Cut(f[4], "/")
		if !told {
			queued = "0"
		}
		what := "usage"
		if i == len(workloads)-1 {
			what = "request"
		}
		running = append(running, fmt.Sprintf(`{"name":%q,"queue":%q,"priority":%s,%q:{"f/gpu":%s},"admitted_at":%s,"queued_at":%s}`,
			f[0], f[1], f[2], what, f[3], admitted, queued))
	}
	for _, v := range victims {
		expect = append(expect, fmt.Sprintf(`{"workload":%q}`, v))
	}
	last := len(running) - 1
	return fmt.Sprintf(`{"preemption_cases":[{"id":"x","algorithm":%q,"cohorts":[{"name":"all","quota":{}}],"queues":[%s],"admitted":[%s],"incoming":%s,"expect_victims":[%s]}]}`,
		algorithm, strings.Join(list, ","), strings.Join(running[:last], ","), running[last], strings.Join(expect, ","))
}

func kueueResult(t *testing.T, text string) Result {
	t.Helper()
	set, err := Read("test", strings.NewReader(text))
	require.NoError(t, err)
	return set.Run()[0]
}

// A kueueRuleCase is a scenario, what Kueue stops in it, and the rule by which the core does not.
type kueueRuleCase struct {
	name              string
	queues, workloads []string
	victims           []string
	rule, detail      string
}

var (
	oneQueue  = []string{"a 4 1 LowerPriority Any"}
	twoQueues = []string{"a 2 1 LowerPriority Any", "b 2 1 LowerPriority Any"}
)

var kueueRuleCases = []kueueRuleCase{
	{"agrees", twoQueues, []string{"a1 a 0 2 0", "a2 a 0 1 1", "b1 b 0 1 2", "in b 0 1 0"}, []string{"a2"}, "", ""},
	{"nobody is to go", twoQueues, []string{"a1 a 0 2 0", "b1 b 0 1 0", "in b 0 1 0"}, []string{"a1"}, ruleFairer, "stops nobody"},
	{"would have 3 of 2", twoQueues, []string{"a1 a 0 2 0", "b1 b 0 2 0", "in b 0 1 0"}, []string{"a1"}, ruleOverShare, "stops nobody"},
	{"no more than its own", []string{"a 2 1 Never Any", "b 1 1 Never Any", "c 1 1 Never Any"}, []string{"a1 a 0 1 0", "a2 a 0 1 1", "b1 b 0 1 0", "b2 b 0 1 1", "in c 0 1 0"}, []string{"a2"}, ruleFairer, "stops b2"},
	{"a smaller one of the queue would do", []string{"a 3 1 Never Any", "b 3 1 Never Any"}, []string{"a1 a 0 1 0", "a2 a 0 2 1", "a3 a 0 3 2", "in b 0 1 0"}, []string{"a1"}, "", ""},
	{"the smaller one of the queue", []string{"a 3 1 Never Any", "b 3 1 Never Any"}, []string{"a1 a 0 1 0", "a2 a 0 2 1", "a3 a 1 3 2", "in b 0 1 0"}, []string{"a3"}, ruleFairer, "stops a1"},
	{"a job larger than the difference", []string{"a 3 1 Never Any", "b 3 1 Never Any", "c 3 1 Never Any"}, []string{"a1 a 0 3 0", "b1 b 0 3 0", "b2 b 0 2 1", "in a 0 2 0"}, nil, ruleSwap, "stops b2"},
	{"gets its part to the last GPU", []string{"a 3 1 Never Any", "b 3 1 Never Any", "c 3 1 Never Any"}, []string{"a1 a 0 3 0", "b1 b 0 4 0", "b2 b 0 1 1", "in a 0 2 0"}, nil, ruleFairer, "stops b2"},
	{"what is lent first", twoQueues, []string{"a1 a 0 2 0", "a2 a 0 1 1", "b1 b -1 1 0", "in b 0 1 0"}, []string{"b1"}, ruleFairer, "stops a2"},
	{"less of what ranks no higher", oneQueue, []string{"a1 a 0 2 0", "a2 a 0 1 0", "a3 a 0 1 0", "in a 1 1 0"}, []string{"a1"}, ruleLess, "stops a2"},
	{"less of what ranks higher", oneQueue, []string{"a1 a 0 3 0", "a2 a 1 1 0", "in a 2 1 0"}, []string{"a1"}, ruleSmaller, "stops a2"},
	{"the lower ones", oneQueue, []string{"a1 a 0 2 0", "a2 a 0 1 0", "a3 a -1 1 0", "in a 1 2 0"}, []string{"a1"}, ruleLower, "stops a2 a3"},
	{"one for two", oneQueue, []string{"a1 a 0 2 0", "a2 a 0 1 1", "a3 a 0 1 1", "in a 1 2 0"}, []string{"a2", "a3"}, ruleGangs, "stops a1"},
	{"the queue that has more", []string{"a 1 1 Never Any", "b 1 1 Never Any", "c 2 1 Never Any"}, []string{"a1 a 0 1 0", "a2 a 0 1 1", "b1 b 0 1 0", "b2 b 0 1 1", "in c 0 1 0"}, []string{"b2", "a2"}, ruleFairer, "stops b2"},
	{"the queue that is further over", []string{"a 1 1 Never Any", "b 1 1 Never Any", "c 4 1 Never Any"}, []string{"a1 a 0 1 0", "a2 a 0 1 1", "b1 b 0 1 0", "b2 b 0 1 1", "b3 b 0 1 1", "c1 c 0 1 0", "in c 0 1 0"}, []string{"a2"}, ruleFairer, "stops b2"},
	{"from both sides", twoQueues, []string{"a1 a -1 1 0", "b1 b 0 2 0", "b2 b 0 1 1", "in a 0 2 0"}, []string{"a1", "b2"}, ruleMixed, "stops nobody"},
	{"wrong", oneQueue, []string{"a1 a 0 2 0", "a2 a 1 2 0", "in a 2 2 0"}, []string{"a2"}, ruleLower, "stops a1"},
	{"no reason", oneQueue, []string{"a1 a 0 2 0", "a2 a 0 2 1", "in a 2 2 0"}, []string{"a1"}, "", "stops a2"},
	{"a reason for nobody", oneQueue, []string{"a1 a 0 2 0", "a2 a 0 2 1", "in a 2 2 0"}, nil, "", "stops a2"},
}

// Each rule is told by what is stopped.
func TestKueueRules(t *testing.T) {
	for _, c := range kueueRuleCases {
		r := kueueResult(t, kueueText(kueueFair, c.queues, c.workloads, c.victims...))
		require.NoError(t, r.Err, c.name)
		require.Equal(t, c.rule, r.Rule, "%s: %s", c.name, r.Detail)
		require.Contains(t, r.Detail, c.detail, c.name)
	}
}

// A job that the policy of a queue spares is left alone.
func TestKueuePolicy(t *testing.T) {
	for _, c := range []struct {
		name, algorithm   string
		queues, workloads []string
		victims           []string
	}{
		{"never within the queue", kueueFair, []string{"a 2 1 Never Any"}, []string{"a1 a 0 2 0", "in a 1 2 0"}, nil},
		{"lower", kueueFair, []string{"a 2 1 LowerPriority Never"}, []string{"a1 a 0 2 0", "in a 1 2 0"}, []string{"a1"}},
		{"equal", kueueFair, []string{"a 2 1 LowerPriority Never"}, []string{"a1 a 1 2 0/5", "in a 1 2 0"}, nil},
		{"equal and newer", kueueFair, []string{"a 2 1 LowerOrNewerEqualPriority Never"}, []string{"a1 a 1 2 0/5", "in a 1 2 0"}, []string{"a1"}},
		{"equal and older", kueueFair, []string{"a 2 1 LowerOrNewerEqualPriority Never"}, []string{"a1 a 1 2 0", "in a 1 2 0"}, nil},
		{"never from others", kueueFair, []string{"a 0 1 Never Any", "b 2 1 Never Never"}, []string{"a1 a 0 2 0", "in b 1 2 0"}, nil},
		{"lower of others", kueueFair, []string{"a 0 1 Never Any", "b 2 1 Never LowerPriority"}, []string{"a1 a 0 2 0", "in b 1 2 0"}, []string{"a1"}},
		{"not lower", kueueFair, []string{"a 0 1 Never Any", "b 2 1 Never LowerPriority"}, []string{"a1 a 1 2 0", "in b 1 2 0"}, nil},
		{"any", kueueFair, []string{"a 0 1 Never Any", "b 2 1 Never Any"}, []string{"a1 a 1 2 0", "in b 1 2 0"}, []string{"a1"}},
		{"the last first", kueueFair, []string{"a 1 1 Never Any", "b 1 1 Never Any"}, []string{"a1 a 0 1 0", "a2 a 0 1 -3", "in b 0 1 0"}, []string{"a1"}},
		{"then the lower", kueueFair, []string{"a 1 1 Never Any", "b 1 1 Never Any"}, []string{"a1 a 1 1 0", "a2 a 0 1 0", "in b 0 1 0"}, []string{"a2"}},
		{"then the smaller name", kueueFair, []string{"a 1 1 Never Any", "b 1 1 Never Any"}, []string{"a1 a 0 1 0", "a2 a 0 1 0", "in b 0 1 0"}, []string{"a1"}},
		{"a queue that borrows takes from none", "classical", []string{"a 0 1 Never Any", "b 2 1 Never Any", "c 2 1 Never Any"}, []string{"a1 a 0 4 0", "in b 1 3 0"}, nil},
	} {
		r := kueueResult(t, kueueText(c.algorithm, c.queues, c.workloads, c.victims...))
		require.NoError(t, r.Err, c.name)
		require.True(t, r.Agree, "%s: %s", c.name, r.Detail)
	}

	// Without fair sharing a workload that borrows may take from those up to a priority.
	text := kueueText("classical", []string{"a 0 1 Never Any", "b 2 1 Never Any", "c 2 1 Never Any"}, []string{"a1 a 0 4 0", "in b 1 3 0"}, "a1")
	require.False(t, kueueResult(t, text).Agree)
	const never = `"within_queue":"Never","reclaim_within_cohort":"Any"`
	for threshold, agree := range map[string]bool{"null": true, "0": true, "-1": false} {
		borrows := strings.ReplaceAll(text, never, never+`,"borrow_within_cohort":{"policy":"LowerPriority","max_priority_threshold":`+threshold+`}`)
		require.Equal(t, agree, kueueResult(t, borrows).Agree, threshold)
	}
	r := kueueResult(t, strings.ReplaceAll(text, never, `"within_queue":1`))
	var where *Error
	require.ErrorAs(t, r.Err, &where)
	require.Equal(t, "queues[0].policy", where.Field)

	// What is being evicted goes first, whatever its age and priority.
	text = kueueText(kueueFair, []string{"a 0 1 Never Any", "b 1 1 Never Any", "c 1 1 Never Any"}, []string{"a1 a 1 1 -9", "a2 a 0 1 0", "in b 0 1 0"}, "a1")
	require.False(t, kueueResult(t, text).Agree)
	require.True(t, kueueResult(t, strings.Replace(text, `"admitted_at":-9`, `"admitted_at":-9,"evicted":true`, 1)).Agree)
}
