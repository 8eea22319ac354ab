package cases

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A play is a scenario on one node in which pods have one GPU each.
type play struct{ queues, jobs, expect []string }

func (p *play) queue(name string, quota int) {
	p.queues = append(p.queues, fmt.Sprintf(`{"name":%q,"quota":%d,"limit":-1,"overQuotaWeight":1}`, name, quota))
}

// job adds a job of so many pods on node n, of which some run, and how many are to in the end.
func (p *play) job(name, queue string, priority, pods, run, end int) {
	var tasks []string
	for i := range pods {
		state := kaiPending
		if i < run {
			state = kaiRunning
		}
		tasks = append(tasks, fmt.Sprintf(`{"gpus":1,"state":%q,"node":"n"}`, state))
	}
	p.jobs = append(p.jobs, fmt.Sprintf(`{"name":%q,"queue":%q,"priority":%d,"preemptible":true,"minAvailable":1,"created":%d,"tasks":[%s]}`,
		name, queue, priority, len(p.jobs), strings.Join(tasks, ",")))
	state := map[int]string{0: kaiPending, pods: kaiRunning}[end]
	if state == "" {
		state = kaiPartial
	}
	p.expect = append(p.expect, fmt.Sprintf(`{"job":%q,"state":%q,"running_pods":%d,"gpus_placed":%d}`, name, state, end, end))
}

// rule is the one that the difference comes under if these pods run in the end.
func (p *play) rule(t *testing.T, ends map[string]int) string {
	t.Helper()
	on := map[string][]string{}
	for job, pods := range ends {
		on[job] = strings.Fields(strings.Repeat("n ", pods))
	}
	return ruled(t, fmt.Sprintf(`"nodes":[{"name":"n","gpus":3}],"queues":[%s],"jobs":[%s],"expect":[%s]`,
		strings.Join(p.queues, ","), strings.Join(p.jobs, ","), strings.Join(p.expect, ",")), on)
}

// A gang that runs grows by what others lose if the share of its queue or its priority allows it.
func TestKAIRuleElastic(t *testing.T) {
	for _, c := range []struct {
		name, queue     string
		quota, priority int
		grown, lentEnd  int
		want            string
	}{
		{"within its share", "a", 3, 0, 1, 1, ruleElastic},
		{"beyond its share", "a", 1, 0, 1, 1, ruleOverShare},
		{"of a higher priority", "b", 3, 1, 1, 1, ruleElastic},
		{"of no higher priority", "b", 3, 0, 1, 1, ""},
		{"has grown here too", "a", 3, 0, 2, 1, ""},
		{"others have lost here too", "a", 3, 0, 1, 0, ""},
	} {
		var p play
		p.queue("a", 3-c.quota)
		p.queue("b", c.quota)
		p.job("lent", c.queue, 0, 2, 2, 0)
		p.job("grows", "b", c.priority, 3, 1, 3)
		require.Equal(t, c.want, p.rule(t, map[string]int{"lent": 2 * c.lentEnd, "grows": c.grown}), c.name)
	}
}

// A gang that runs grows into what is idle once others have moved.
func TestKAIRuleMoves(t *testing.T) {
	for _, c := range []struct {
		name       string
		run, pods  int // of the gang that grows
		other      int // pods of the other in the end
		grown, had int
		want       string
	}{
		{"all fits", 1, 2, 1, 1, 1, ruleMoves},
		{"it does not run", 0, 2, 1, 0, 1, ""},
		{"the other loses", 1, 2, 0, 1, 1, ruleElastic},
		{"the other has lost", 1, 2, 1, 1, 0, ""},
		{"more than there is", 1, 3, 1, 1, 1, ""},
	} {
		var p play
		p.queue("a", 0)
		p.queue("b", 3)
		p.job("other", "a", 0, 1, 1, c.other)
		p.job("grows", "b", 0, c.pods, c.run, c.pods)
		require.Equal(t, c.want, p.rule(t, map[string]int{"other": c.had, "grows": c.grown}), c.name)
	}
}
