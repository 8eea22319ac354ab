package cases

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
)

// A play is a scenario on one node in which pods have one GPU each.
type play struct{ queues, jobs, expect []string }

func (p *play) queue(name, parent string, quota int) {
	p.queues = append(p.queues, fmt.Sprintf(`{"name":%q,"parent":%q,"quota":%d,"limit":-1,"overQuotaWeight":1}`, name, parent, quota))
}

// job adds a job of so many pods, of which some run, and how many are to in the end.
func (p *play) job(name, queue string, firm bool, pods, run, end int) {
	var tasks []string
	for i := range pods {
		state := kaiPending
		if i < run {
			state = kaiRunning
		}
		tasks = append(tasks, fmt.Sprintf(`{"gpus":1,"state":%q,"node":"n"}`, state))
	}
	p.jobs = append(p.jobs, fmt.Sprintf(`{"name":%q,"queue":%q,"preemptible":%t,"minAvailable":1,"created":%d,"tasks":[%s]}`,
		name, queue, !firm, len(p.jobs), strings.Join(tasks, ",")))
	state := map[int]string{0: kaiPending, pods: kaiRunning}[end]
	if state == "" {
		state = kaiPartial
	}
	p.expect = append(p.expect, fmt.Sprintf(`{"job":%q,"state":%q,"running_pods":%d,"gpus_placed":%d}`, name, state, end, end))
}

// rule is the one that the difference comes under if these pods run in the end.
func (p *play) rule(t *testing.T, ends map[string]int, stopped map[berth.JobID]berth.JobID) string {
	t.Helper()
	on := map[string][]string{}
	for job, pods := range ends {
		on[job] = strings.Fields(strings.Repeat("n ", pods))
	}
	return ruledFor(t, fmt.Sprintf(`"nodes":[{"name":"n","gpus":8}],"queues":[%s],"jobs":[%s],"expect":[%s]`,
		strings.Join(p.queues, ","), strings.Join(p.jobs, ","), strings.Join(p.expect, ",")), on, stopped)
}

// What is not preemptible is given back if it is over the quota of its queue, and for
// another queue alone.
func TestKAIRuleFirm(t *testing.T) {
	for _, c := range []struct {
		name, queue string
		quota       int
		firm        bool
		want        string
	}{
		{"over", "b", 1, true, ruleFirm},
		{"within", "b", 2, true, ""},
		{"one queue", "a", 1, true, ""},
		{"preemptible", "b", 1, false, ""},
	} {
		var p play
		p.queue("a", "", c.quota)
		p.queue("b", "", 8)
		p.job("x", "a", c.firm, 2, 2, 2)
		p.job("y", c.queue, false, 1, 0, 0)
		require.Equal(t, c.want, p.rule(t, map[string]int{"y": 1}, map[berth.JobID]berth.JobID{"x": "y"}), c.name)
	}
}

// A queue has its own back from a sibling, if the one above both has all that it is due.
func TestKAIRuleSibling(t *testing.T) {
	for quota, want := range map[int]string{3: ruleSibling, 4: ""} {
		var p play
		p.queue("d", "", quota)
		p.queue("e", "", 1)
		p.queue("a", "d", 1)
		p.queue("b", "d", 2)
		p.queue("c", "e", 1)
		p.job("x", "b", false, 3, 3, 3)
		p.job("z", "c", false, 2, 2, 0)
		p.job("y", "a", false, 1, 0, 1)
		ends := map[string]int{"y": 1, "z": 2}
		require.Equal(t, want, p.rule(t, ends, map[berth.JobID]berth.JobID{"x": "y"}), "quota %d", quota)
		// Stopped for nobody.
		require.Empty(t, p.rule(t, ends, nil))
	}
}

// A gang that runs grows by what another loses.
func TestKAIRuleElastic(t *testing.T) {
	for end, want := range map[int]string{0: ruleElastic, 1: ""} {
		var p play
		p.queue("a", "", 0)
		p.queue("b", "", 8)
		p.job("lent", "a", false, 1, 1, end)
		p.job("grows", "b", false, 2, 1, 2)
		rule := p.rule(t, map[string]int{"lent": 1, "grows": 1}, nil)
		if want == "" { // with idle GPUs it needs nobody's
			require.NotEqual(t, ruleElastic, rule)
			continue
		}
		require.Equal(t, want, rule)
	}
}

// Less was stopped for the same, or for somebody else.
func TestKAIRuleFewer(t *testing.T) {
	var p play
	p.queue("a", "", 0)
	p.queue("b", "", 2)
	p.job("x", "a", false, 1, 1, 0)
	p.job("y", "a", false, 1, 1, 0)
	p.job("z", "b", false, 1, 0, 1)
	stopped := map[berth.JobID]berth.JobID{"x": "z"}
	require.Equal(t, ruleFewer, p.rule(t, map[string]int{"y": 1, "z": 1}, stopped))
	require.NotEqual(t, ruleFewer, p.rule(t, map[string]int{"y": 1, "z": 1}, nil), "nobody was stopped")
	require.NotEqual(t, ruleFewer, p.rule(t, map[string]int{"y": 1}, stopped), "nor does it run")
}
