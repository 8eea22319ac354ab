package cases

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/quota"
)

// What the sums of each rule rule out: made-up ends, of which no scenario need tell. Three teams
// have a guarantee of two each; the first two are one department, and the third is another.
func TestExchanges(t *testing.T) {
	guarantee := func(n int64) quota.Amounts { return quota.Amounts{quota.GPUMilli: 1000 * n} }
	queues := []quota.Queue{
		{Name: "d", Guarantee: guarantee(4)},
		{Name: "e", Guarantee: guarantee(2)},
		{Name: "a", Parent: "d", Guarantee: guarantee(2)},
		{Name: "b", Parent: "d", Guarantee: guarantee(2)},
		{Name: "c", Parent: "e", Guarantee: guarantee(2)},
	}
	job := func(queue quota.QueueID, priority int32, had, wants, ours, theirs int64) exchanged {
		return exchanged{queue: queue, priority: priority, had: 1000 * had, wants: 1000 * wants, ours: 1000 * ours, theirs: 1000 * theirs}
	}
	for _, c := range []struct {
		name string
		jobs []exchanged
		want string
	}{
		{"theirs beyond the share of the queue", []exchanged{job("a", 0, 2, 3, 2, 3), job("b", 0, 2, 2, 2, 1), job("c", 0, 2, 2, 2, 2)}, ruleOverShare},
		{"of the department", []exchanged{job("a", 0, 1, 2, 1, 2), job("b", 0, 3, 3, 3, 3), job("c", 0, 2, 2, 2, 1)}, ruleOverShare},
		{"ours as well", []exchanged{job("a", 0, 2, 3, 3, 3), job("b", 0, 1, 1, 1, 0), job("b", 0, 1, 1, 0, 1), job("c", 0, 2, 2, 2, 2)}, ""},
		{"at the cost of its own", []exchanged{job("a", 0, 3, 3, 3, 0), job("a", 1, 0, 4, 0, 4), job("b", 0, 0, 2, 0, 0), job("c", 0, 2, 2, 2, 2)}, ""},
		{"what is beyond the share counts for nothing", []exchanged{job("a", 0, 0, 1, 1, 1), job("b", 0, 5, 5, 4, 3), job("c", 0, 1, 2, 1, 1)}, ruleLess},
		{"ours takes from a queue below its share", []exchanged{job("a", 0, 0, 2, 2, 0), job("b", 0, 2, 2, 1, 2), job("c", 0, 2, 2, 2, 2)}, ruleSwap},
		{"theirs only from others", []exchanged{job("a", 0, 0, 2, 0, 2), job("b", 0, 4, 4, 4, 2), job("c", 0, 2, 2, 2, 2)}, ""},
		{"theirs from both", []exchanged{job("a", -1, 1, 1, 1, 0), job("a", 0, 0, 2, 0, 2), job("b", 0, 3, 3, 3, 2), job("c", 0, 2, 2, 2, 2)}, ruleMixed},
		{"ours from its own in vain", []exchanged{job("a", -1, 1, 1, 0, 0), job("a", 0, 0, 2, 0, 2), job("b", 0, 3, 3, 3, 2), job("c", 0, 2, 2, 2, 2)}, ""},
		{"ours from another queue", []exchanged{job("a", 0, 0, 1, 1, 1), job("b", 0, 3, 3, 1, 3), job("b", 0, 1, 1, 1, 0), job("c", 0, 2, 2, 2, 2)}, ""},
		{"ours from a queue that gives nothing with theirs", []exchanged{job("a", 0, 0, 1, 1, 1), job("b", 0, 3, 3, 3, 2), job("c", 0, 2, 2, 0, 2)}, ""},
		{"ours less, and for nobody", []exchanged{job("a", 0, 0, 2, 0, 2), job("b", 0, 4, 4, 3, 2), job("c", 0, 2, 2, 2, 2)}, ""},
		{"fewer jobs of a higher priority", []exchanged{job("a", 2, 0, 2, 2, 2), job("a", 1, 2, 2, 0, 2), job("a", 0, 1, 1, 1, 0), job("a", 0, 1, 1, 1, 0), job("c", 0, 2, 2, 2, 2)}, ""},
		{"fewer jobs", []exchanged{job("a", 2, 0, 2, 2, 2), job("a", 0, 2, 2, 0, 2), job("a", 0, 1, 1, 1, 0), job("a", 0, 1, 1, 1, 0), job("c", 0, 2, 2, 2, 2)}, ruleGangs},
		{"less, for another", []exchanged{job("a", 2, 0, 2, 0, 2), job("a", 2, 0, 1, 1, 0), job("a", 0, 2, 2, 2, 0), job("a", 0, 1, 1, 0, 1), job("c", 0, 2, 2, 2, 2)}, ""},
	} {
		x, ok := newExchange(queues, 6000, c.jobs)
		require.True(t, ok)
		rule, sums := x.weigh()
		require.Equal(t, c.want, rule, "%s: %s", c.name, sums)
	}
}

// What is stopped for nothing has no reason, and what comes without a victim comes with Kueue too.
func TestKueueEnds(t *testing.T) {
	at := func(amount int64) map[string]int64 { return map[string]int64{"gpu": amount} }
	quota := map[string]kueueHave{"gpu": {Nominal: 2}}
	c := &kueueCase{
		Cohorts: []kueueCohort{{Name: "all"}}, Queues: []kueueQueue{{Name: "a", Cohort: "all", Quota: quota}, {Name: "b", Cohort: "all", Quota: quota}},
		Admitted: []kueueWorkload{{Name: "a1", Queue: "a", Usage: at(3)}, {Name: "a2", Queue: "a", Usage: at(1)}},
		Incoming: kueueWorkload{Queue: "b", Request: at(1)},
	}
	for _, x := range []struct {
		admitted     bool
		taken, asked int64
		mine, theirs []string
		want         string
	}{
		{true, 3, 1, []string{"a2"}, []string{"a1"}, ruleFairer},
		{false, 3, 3, []string{"a2"}, []string{"a1"}, ""},
		{true, 3, 1, []string{"a2"}, nil, ruleFairer},
		{true, 2, 1, []string{"a2"}, nil, ""},
	} {
		c.Admitted[0].Usage, c.Incoming.Request = at(x.taken), at(x.asked)
		rule, _ := c.rule(x.admitted, x.mine, x.theirs)
		require.Equal(t, x.want, rule, "%v", x)
	}
}
