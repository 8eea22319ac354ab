package metrics

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// busy is a collector of a core that has seen a start, a preemption, a wait and some activity.
func busy(t *testing.T) (*Collector, *prometheus.Registry) {
	t.Helper()
	sched, err := core.New(berth.Config{Ledger: true})
	require.NoError(t, err)
	c := New("a", func() Log { return Log{Leads: true, Head: 70, Behind: 7, Compared: 3} })
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(c))

	now := berth.Time(1_000_000)
	tell := func(events ...berth.Event) {
		for _, e := range events {
			require.NoError(t, sched.Apply(now, e))
		}
	}
	pass := func() []berth.Order {
		orders, err := sched.Schedule(now)
		require.NoError(t, err)
		c.Pass(sched, orders, 2*time.Millisecond)
		return orders
	}
	job := func(id string, class berth.Class, gpus int) berth.JobSubmitted {
		return berth.JobSubmitted{Job: berth.Job{ID: berth.JobID(id), Queue: "q", Class: class, Groups: []berth.Group{{Members: 1, Claim: berth.WholeGPUs(gpus)}}}}
	}
	tell(
		berth.NodeJoined{Node: berth.Node{ID: "n", GPUs: slices.Repeat([]berth.GPU{{Product: "H100"}}, 8)}},
		berth.QueueSet{Queue: quota.Queue{Name: "q", Guarantee: quota.Amounts{quota.GPUMilli: 4000}, Limit: quota.Amounts{quota.GPUMilli: 8000}}},
		job("batch", berth.ClassBatch, 6),
	)
	bind := pass()[0].(berth.Bind)
	tell(berth.OrderReported{Order: bind.ID, Outcome: berth.OutcomeDone})
	now = now.Add(berth.Hour)
	tell(berth.ActivityReported{Job: "batch", Incarnation: bind.Incarnation, ActiveMilli: 500}, job("serving", berth.ClassLatencyCritical, 8))
	now = now.Add(berth.Hour)
	release := pass()[0].(berth.Release)
	tell(berth.OrderReported{Order: release.ID, Outcome: berth.OutcomeDone})
	pass()
	require.True(t, c.Due())
	c.See(sched)
	require.False(t, c.Due())
	return c, registry
}

func TestMetrics(t *testing.T) {
	c, registry := busy(t)
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP berth_gpu_seconds_total GPU time by queue, class and product: allocated, and active as it was reported. It falls when the ledger is settled.
# TYPE berth_gpu_seconds_total counter
berth_gpu_seconds_total{class="batch",kind="active",pool="a",product="H100",queue="q"} 10800
berth_gpu_seconds_total{class="batch",kind="allocated",pool="a",product="H100",queue="q"} 43200
berth_gpu_seconds_total{class="latency-critical",kind="active",pool="a",product="H100",queue="q"} 0
berth_gpu_seconds_total{class="latency-critical",kind="allocated",pool="a",product="H100",queue="q"} 0
# HELP berth_gpus GPUs by product and state: held, free or out-of-service.
# TYPE berth_gpus gauge
berth_gpus{pool="a",product="H100",state="free"} 0
berth_gpus{pool="a",product="H100",state="held"} 8
berth_gpus{pool="a",product="H100",state="out-of-service"} 0
# HELP berth_journal_behind_records Records of the log that this process has not followed yet.
# TYPE berth_journal_behind_records gauge
berth_journal_behind_records{pool="a"} 7
# HELP berth_orders_total Orders that were given, with those given again after a start.
# TYPE berth_orders_total counter
berth_orders_total{cause="fits",kind="bind",pool="a"} 1
berth_orders_total{cause="preempted",kind="release",pool="a"} 1
berth_orders_total{cause="victims-gone",kind="bind",pool="a"} 1
# HELP berth_preemptions_total Replicas that were ordered to give their places to another one.
# TYPE berth_preemptions_total counter
berth_preemptions_total{cause="preempted",pool="a"} 1
# HELP berth_queue_gpus_limit GPUs that a queue may use at most; a queue without a limit has none.
# TYPE berth_queue_gpus_limit gauge
berth_queue_gpus_limit{pool="a",queue="q"} 8
# HELP berth_waiting_replicas Replicas that wait for a place, by what stands in the way.
# TYPE berth_waiting_replicas gauge
berth_waiting_replicas{for="backoff",pool="a"} 0
berth_waiting_replicas{for="capacity",pool="a"} 0
berth_waiting_replicas{for="gated",pool="a"} 0
berth_waiting_replicas{for="quota",pool="a"} 1
berth_waiting_replicas{for="turn",pool="a"} 0
`), "berth_gpu_seconds_total", "berth_gpus", "berth_journal_behind_records", "berth_orders_total", "berth_preemptions_total",
		"berth_queue_gpus_limit", "berth_waiting_replicas"))

	families := gather(t, registry)
	require.EqualValues(t, 3, families["berth_pass_seconds"].count)
	require.EqualValues(t, 2, families["berth_wait_seconds"].count)
	require.InDelta(t, 3600, families["berth_wait_seconds"].sum, 0, "the first at once, the second an hour")

	c.See(nil)
	families = gather(t, registry)
	require.NotContains(t, families, "berth_gpus", "another process leads, and shows them")
	require.Contains(t, families, "berth_journal_head_records")
	problems, err := testutil.GatherAndLint(registry)
	require.NoError(t, err)
	require.Empty(t, problems)
}

// A family is what Prometheus has of one name.
type family struct {
	help   string
	labels []string
	count  uint64
	sum    float64
}

func gather(t *testing.T, registry *prometheus.Registry) map[string]family {
	t.Helper()
	list, err := registry.Gather()
	require.NoError(t, err)
	families := map[string]family{}
	for _, f := range list {
		is := family{help: f.GetHelp()}
		for _, m := range f.Metric {
			for _, l := range m.Label {
				is.labels = append(is.labels, l.GetName())
			}
			is.count += m.GetHistogram().GetSampleCount()
			is.sum += m.GetHistogram().GetSampleSum()
		}
		families[f.GetName()] = is
	}
	return families
}

var (
	names     = regexp.MustCompile(`\bberth_[a-z_]+`)
	groupings = regexp.MustCompile(`by \(([a-z_, ]*)\)`)
	matchers  = regexp.MustCompile(`\{([^}]*)\}`)
	labels    = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)`)
)

// The dashboard asks for metrics and labels that there are, and shows each metric that there is.
func TestDashboard(t *testing.T) {
	_, registry := busy(t)
	families := gather(t, registry)
	text, err := os.ReadFile("dashboard.json")
	require.NoError(t, err)
	var dashboard struct {
		Title, UID string
		Panels     []struct {
			Title, Type string
			Targets     []struct{ Expr string }
		}
		Templating struct {
			List []struct{ Name, Query string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &dashboard))
	require.NotEmpty(t, dashboard.UID)
	shown := map[string]bool{}
	for _, p := range dashboard.Panels {
		require.NotEmpty(t, p.Title)
		require.NotEmpty(t, p.Targets, p.Title)
		for _, target := range p.Targets {
			require.NotEmpty(t, target.Expr, p.Title)
			has := []string{"le"}
			for _, name := range names.FindAllString(target.Expr, -1) {
				f, ok := families[name]
				for _, suffix := range []string{"_bucket", "_sum", "_count"} {
					if base, cut := strings.CutSuffix(name, suffix); cut && !ok {
						f, ok, name = families[base], families[base].count > 0, base
					}
				}
				require.True(t, ok, "%s: no metric is called %s", p.Title, name)
				shown[name] = true
				has = append(has, f.labels...)
			}
			for _, asked := range asked(target.Expr) {
				require.Contains(t, append(has, "instance"), asked, "%s: %s", p.Title, target.Expr)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(families)) {
		require.NotEmpty(t, families[name].help, name)
		require.True(t, shown[name], "no panel shows %s", name)
	}
	require.Contains(t, dashboard.Templating.List[1].Query, "berth_pass_seconds_count")
}

// asked are the labels that an expression names.
func asked(expr string) (list []string) {
	for _, group := range groupings.FindAllStringSubmatch(expr, -1) {
		list = append(list, strings.FieldsFunc(group[1], func(r rune) bool { return r == ',' || r == ' ' })...)
	}
	for _, match := range matchers.FindAllStringSubmatch(expr, -1) {
		for _, label := range labels.FindAllStringSubmatch(match[1], -1) {
			list = append(list, label[1])
		}
	}
	return list
}
