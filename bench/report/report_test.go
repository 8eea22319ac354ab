package report_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/report"
	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/quota"
)

// bench is a core with a collector, driven by hand.
type bench struct {
	*testing.T
	core *core.Core
	*report.Collector
}

// newBench has a fleet of two nodes with four GPUs each, and a queue.
func newBench(t *testing.T) *bench {
	sched, err := core.New(berth.Config{})
	require.NoError(t, err)
	b := &bench{T: t, core: sched, Collector: report.NewCollector(func() berth.Scheduler { return sched })}
	gpu := berth.GPU{Product: "T4", MemoryMiB: 16384}
	for _, id := range []berth.NodeID{"n1", "n2"} {
		b.tell(0, berth.NodeJoined{Node: berth.Node{ID: id, GPUs: []berth.GPU{gpu, gpu, gpu, gpu}, CPUMilli: 8000}})
	}
	b.tell(0, berth.QueueSet{Queue: quota.Queue{Name: "q"}})
	return b
}

func (b *bench) tell(now berth.Time, e berth.Event) {
	err := b.core.Apply(now, e)
	require.NoError(b, err)
	b.Applied(now, e, err)
}

// pass runs a pass and reports all its orders as done.
func (b *bench) pass(now berth.Time) []berth.Order {
	actions := b.orders(now)
	for _, a := range actions {
		if h := a.Header(); h.Deadline != 0 {
			b.tell(now, berth.OrderReported{Order: h.ID, Outcome: berth.OutcomeDone})
		}
	}
	return actions
}

func (b *bench) orders(now berth.Time) []berth.Order {
	actions, err := b.core.Schedule(now)
	require.NoError(b, err)
	b.Scheduled(now, actions)
	return actions
}

func (b *bench) finish(now berth.Time) *report.Run {
	run, err := b.Finish(now)
	require.NoError(b, err)
	return run
}

func job(id berth.JobID, members, gpus int) berth.Job {
	return berth.Job{ID: id, Queue: "q", Groups: []berth.Group{{Members: members, Claim: berth.Claim{GPUs: gpus}}}}
}

const hour = berth.Time(berth.Hour)

// TestFiguresByHand follows two jobs that cannot run at the same time, with
// figures that can be worked out in the head.
func TestFiguresByHand(t *testing.T) {
	b := newBench(t)
	b.tell(0, berth.JobSubmitted{Job: job("first", 2, 3)})
	b.tell(0, berth.JobSubmitted{Job: job("second", 1, 4)})
	b.tell(0, berth.JobSubmitted{Job: job("third", 1, 4)})
	b.pass(0)
	b.tell(hour, berth.JobFinished{Job: "first", Incarnation: 1})
	b.pass(hour)
	b.tell(hour, berth.JobSubmitted{Job: job("fourth", 1, 2)})
	b.tell(2*hour, berth.JobFinished{Job: "second", Incarnation: 1})
	b.tell(2*hour, berth.JobCancelled{Job: "fourth"})
	b.pass(2 * hour)
	b.tell(2*hour, berth.JobSubmitted{Job: job("fifth", 2, 4)})
	b.Applied(2*hour, berth.JobCancelled{Job: "nobody"}, errors.New("refused"))
	b.pass(2 * hour)
	run := b.finish(4 * hour)

	require.Len(t, run.Rows, 1)
	row := run.Rows[0]
	require.Equal(t, report.Batch, row.Category)
	require.Equal(t, 5, row.Submitted)
	require.Equal(t, 3, row.Placed)
	require.Equal(t, 1, row.Waiting)
	require.Equal(t, 1, row.Withdrawn)
	require.Zero(t, row.Again)
	require.Equal(t, 3, row.Ended(), "first, second and fourth")
	require.Equal(t, 1, row.Running)
	require.Equal(t, 2*berth.Hour, row.WaitingFor)
	require.Equal(t, []berth.Duration{0, berth.Hour, berth.Hour}, row.Waits)
	require.Equal(t, []berth.Duration{2 * berth.Hour}, row.SoFar)
	require.Equal(t, 2*berth.Hour, row.Quantile(0.8), "of all four that did not give up")
	require.InDelta(t, 6+8+2*4, row.GPUHours, 1e-9)
	require.InDelta(t, 8000, run.Capacity, 1e-9)
	require.InDelta(t, (6+8+2*4)*1000/4.0, run.Held, 1e-9)
	require.EqualValues(t, 8000, run.Peak)
	require.Equal(t, 1, run.Refused)
	require.Equal(t, 4, run.Passes)
	require.Equal(t, 3, run.Orders)

	require.Len(t, run.Longest, 1)
	require.Equal(t, berth.JobID("fifth"), run.Longest[0].Job)
	require.Equal(t, 2*berth.Hour, run.Longest[0].For)
	require.NotEmpty(t, run.Longest[0].Reason.Text)
}

func TestLostGangsStartAgain(t *testing.T) {
	b := newBench(t)
	b.tell(0, berth.JobSubmitted{Job: job("gang", 2, 4)})
	b.pass(0)
	b.tell(hour, berth.NodeLost{Node: "n1"})
	b.pass(hour) // the rest of it is released
	b.tell(2*hour, berth.NodeJoined{Node: berth.Node{ID: "n1", GPUs: make4("T4"), CPUMilli: 8000}})
	b.pass(2 * hour)
	run := b.finish(3 * hour)
	require.Equal(t, 1, run.Rows[0].Placed)
	require.Equal(t, 1, run.Rows[0].Again)
	require.Equal(t, 1, run.Rows[0].Failed)
	require.Zero(t, run.Rows[0].Evicted)
	require.Equal(t, []berth.Duration{0}, run.Rows[0].Waits, "the first wait alone")
	require.InDelta(t, (8000+4000+8000)/3.0, run.Capacity, 1e-9)
	require.InDelta(t, 8+8, run.Rows[0].GPUHours, 1e-9)
}

// TestEvicted: a job of a higher class takes the place of another, which is told as an eviction,
// and what its life did not bring as lost.
func TestEvicted(t *testing.T) {
	b := newBench(t)
	b.tell(0, berth.JobSubmitted{Job: job("low", 2, 4)})
	b.pass(0)
	high := job("high", 1, 4)
	high.Class = berth.ClassLatencyCritical
	b.tell(hour, berth.JobSubmitted{Job: high})
	b.pass(hour) // releases it
	b.Stopped(hour, "low", berth.Hour, berth.Hour/4)
	b.pass(hour)
	run := b.finish(2 * hour)
	row := run.Rows[1]
	require.Equal(t, report.Batch, row.Category)
	require.Equal(t, 1, row.Evicted)
	require.Zero(t, row.Failed)
	require.Equal(t, 1, row.Waiting)
	require.Equal(t, berth.Hour, row.WaitingFor)
	require.InDelta(t, 6, row.LostGPUHours, 1e-9)
}

func make4(product string) []berth.GPU {
	gpu := berth.GPU{Product: product, MemoryMiB: 16384}
	return []berth.GPU{gpu, gpu, gpu, gpu}
}

// TestServices scales a service up beyond the fleet and down again: those that
// were never placed leave first.
func TestServices(t *testing.T) {
	b := newBench(t)
	service := job("svc", 1, 2)
	service.Class, service.Service = berth.ClassLatencyCritical, &berth.Service{Replicas: 3}
	b.tell(0, berth.JobSubmitted{Job: service})
	b.pass(0)
	b.tell(hour, berth.JobScaled{Job: "svc", Replicas: 6})
	b.pass(hour)
	b.tell(2*hour, berth.JobScaled{Job: "svc", Replicas: 5})
	b.pass(2 * hour)
	b.tell(2*hour, berth.JobScaled{Job: "svc", Replicas: 2})
	b.pass(2 * hour)
	b.pass(3 * hour)
	row := b.finish(3 * hour).Rows[0]
	require.Equal(t, report.Inference, row.Category)
	require.Equal(t, 6, row.Submitted)
	require.Equal(t, 4, row.Placed)
	require.Equal(t, 2, row.Withdrawn)
	require.Zero(t, row.Waiting)
	require.Equal(t, []berth.Duration{0, 0, 0, 0}, row.Waits)
	require.InDelta(t, 6+8+4, row.GPUHours, 1e-9)
}

// TestBooksMatchTheCores: whatever goes wrong in a run, orders and reports add up
// to what the core holds. Finish says so.
func TestBooksMatchTheCores(t *testing.T) {
	for seed := range drawn.Seeds(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			day := workload.Reference{Seed: seed, Nodes: 40, LoadPercent: 130}
			sched, err := core.New(day.Config())
			require.NoError(t, err)
			var s *sim.Simulation
			c := report.NewCollector(func() berth.Scheduler { return s.Scheduler() })
			s = sim.New(sched, day.Workload(), sim.Options{
				StartDelay: 10 * berth.Second, StopDelay: 5 * berth.Second, Seed: seed,
				Faults: sim.Faults{
					BindFail: 0.05, BindPartial: 0.05, ReleaseFail: 0.2, ReleasePartial: 0.2, ReportLost: 0.02,
					ReportLate: 0.05, ReportDouble: 0.05, MemberDie: 0.005, NodeLost: 0.002, GPUFail: 0.002, Cordon: 0.002, Restore: 0.0005,
				},
				Applied: c.Applied, Scheduled: c.Scheduled,
			})
			end := berth.Time(0).Add(day.Length())
			require.NoError(t, s.Run(end))
			run, err := c.Finish(end)
			require.NoError(t, err)
			waiting := 0
			for _, row := range run.Rows {
				waiting += row.Waiting
				require.LessOrEqual(t, row.Placed+row.Withdrawn, row.Submitted)
			}
			counts := s.Core().Report().Replicas
			require.Equal(t, counts.Pending, waiting)
			require.Positive(t, run.Rows[0].Again)
		})
	}
}

// TestUnreportedOrders: a member that died while it was being started holds its GPU until the
// Bind is over, be it by its deadline or by the end of the job; and an unreported Repartition
// takes nothing from a member that is being started.
func TestUnreportedOrders(t *testing.T) {
	share := job("share", 1, 0)
	share.Groups[0].Claim.Share = &berth.Share{GPUMilli: 250, MemoryMiB: 1000}
	died := berth.MemberFailed{Job: "one", Incarnation: 1, Members: []berth.MemberRef{{}}}
	for name, c := range map[string]struct {
		job  berth.Job
		tell []berth.Event
		at   berth.Time
		held int
	}{
		"dies":        {job("one", 1, 1), []berth.Event{died}, berth.Time(2 * berth.Minute), 0},
		"cancelled":   {job("one", 1, 1), []berth.Event{died, berth.JobCancelled{Job: "one"}}, 1, 0},
		"finished":    {job("one", 1, 1), []berth.Event{died, berth.JobFinished{Job: "one", Incarnation: 1}}, 1, 0},
		"repartition": {share, nil, berth.Time(5 * berth.Minute), 250},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.tell(0, berth.JobSubmitted{Job: c.job})
			require.NotEmpty(t, b.orders(0))
			for _, e := range c.tell {
				b.tell(1, e)
			}
			require.Empty(t, b.orders(c.at))
			require.EqualValues(t, c.held, b.core.Report().GPUs.HeldMilli)
			b.finish(c.at)
		})
	}
}

// TestScaledAwayWhileDead: a replica of which all members died while they were being started goes
// without a Release when its service is scaled down.
func TestScaledAwayWhileDead(t *testing.T) {
	b := newBench(t)
	service := job("svc", 1, 2)
	service.Class, service.Service = berth.ClassLatencyCritical, &berth.Service{Replicas: 2}
	b.tell(0, berth.JobSubmitted{Job: service})
	require.Len(t, b.orders(0), 2)
	b.tell(1, berth.MemberFailed{Job: "svc", Replica: 1, Incarnation: 1, Members: []berth.MemberRef{{}}})
	b.tell(1, berth.JobScaled{Job: "svc", Replicas: 1})
	require.Empty(t, b.orders(1))
	b.tell(2, berth.JobScaled{Job: "svc", Replicas: 2})
	require.Len(t, b.orders(2), 1)
	row := b.finish(2).Rows[0]
	require.Zero(t, row.Waiting)
	require.Equal(t, 3, row.Placed, "the replica that came is another one")
}

// TestFinishTellsOfAMismatch: a collector that was not shown an order says so.
func TestFinishTellsOfAMismatch(t *testing.T) {
	b := newBench(t)
	b.tell(0, berth.JobSubmitted{Job: job("one", 1, 1)})
	_, err := b.core.Schedule(0)
	require.NoError(t, err)
	b.orders(hour)
	_, err = b.Finish(2 * hour)
	require.ErrorContains(t, err, "add up to 0 of 8000 milli-GPU held, and the core has 1000")
}

func TestLongRunsAreThinned(t *testing.T) {
	b := newBench(t)
	b.tell(0, berth.JobSubmitted{Job: job("one", 1, 1)})
	b.pass(0)
	for i := range 5000 {
		b.pass(berth.Time(i) * hour)
	}
	run := b.finish(5000 * hour)
	require.Less(t, len(run.Samples), 600)
	require.Greater(t, len(run.Samples), 150)
	require.Zero(t, run.Samples[0].At)
	require.Equal(t, 5000*hour, run.Samples[len(run.Samples)-1].At)
}

func TestCategoryOf(t *testing.T) {
	share := berth.Job{Class: berth.ClassInteractive, Groups: []berth.Group{{Members: 1, Claim: berth.Claim{Share: &berth.Share{GPUMilli: 5}}}}}
	service := job("s", 64, 8)
	service.Service, service.Class = &berth.Service{}, berth.ClassLatencyCritical
	host := job("h", 1, 0)
	for want, j := range map[report.Category]berth.Job{
		report.NotebookShare: share, report.Inference: service, report.HostOnly: host,
		report.Batch: job("b", 63, 1), report.Gang64: job("g", 127, 1), report.Gang128: job("g", 16, 8),
		report.Gang256: job("g", 32, 8), report.Gang512: job("g", 1000, 8),
	} {
		require.Equal(t, want, report.CategoryOf(&j))
		require.NotContains(t, want.String(), "Category")
	}
	require.Equal(t, "Category(99)", report.Category(99).String())
}

func TestQuantileIsTheNearestRank(t *testing.T) {
	r := report.Row{}
	require.Zero(t, r.Quantile(0.5))
	for i := range 100 {
		r.Waits = append(r.Waits, berth.Duration(i+1))
	}
	for p, want := range map[float64]berth.Duration{0: 1, 0.01: 1, 0.5: 50, 0.99: 99, 0.991: 100, 1: 100} {
		require.Equal(t, want, r.Quantile(p), p)
	}
}

func TestSpan(t *testing.T) {
	for d, want := range map[berth.Duration]string{
		0: "0s", 30: "30ms", 12 * berth.Second: "12s", 130 * berth.Second: "2m10s", 185 * berth.Minute: "3h05m",
		49 * berth.Hour: "2d01h", -berth.Minute: "-1m00s",
	} {
		require.Equal(t, want, report.Span(d))
	}
}

// TestPageStandsAlone: the page is well-formed, asks for nothing from elsewhere,
// and shows hostile names as text.
func TestPageStandsAlone(t *testing.T) {
	b := newBench(t)
	evil := job(`<script>alert("x")</script>`, 1, 1)
	b.tell(0, berth.JobSubmitted{Job: evil})
	b.tell(0, berth.JobSubmitted{Job: job("waits & <script>", 9, 1)})
	b.tell(0, berth.NodeCordoned{Node: "n2"})
	b.tell(0, berth.GPUFailed{Node: "n1", GPU: 3})
	b.pass(0)
	run := b.finish(hour)
	run.Title, run.Subtitle = "A <fleet>", "one & only"
	var page strings.Builder
	require.NoError(t, report.WritePage(&page, run))
	require.NotContains(t, page.String(), "<script")
	var slower strings.Builder
	run.Wall = 88 * time.Second
	require.NoError(t, report.WritePage(&slower, run))
	require.Equal(t, page.String(), slower.String(), "a page does not depend on the machine that made it")
	require.NotRegexp(t, regexp.MustCompile(`(src|href)="(http|//|[a-z]+\.)|url\(|@import`), page.String())
	require.Contains(t, page.String(), "&lt;script&gt;")
	require.Contains(t, page.String(), "A &lt;fleet&gt;")
	require.Contains(t, page.String(), "prefers-color-scheme: dark")
	require.Equal(t, 4, strings.Count(page.String(), "<svg "))
	require.Contains(t, page.String(), `<td>00:00</td><td>waits &amp; &lt;script&gt;</td>`)
	for _, picture := range regexp.MustCompile(`(?s)<svg .*?</svg>`).FindAllString(page.String(), -1) {
		require.NotContains(t, picture, "NaN")
		require.NotContains(t, picture, "Inf")
		d := xml.NewDecoder(strings.NewReader(picture))
		for {
			_, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
		}
	}
}

// TestEmptyRun: nothing at all happened, and both reports say so without an error.
func TestEmptyRun(t *testing.T) {
	sched, err := core.New(berth.Config{})
	require.NoError(t, err)
	run, err := report.NewCollector(func() berth.Scheduler { return sched }).Finish(0)
	require.NoError(t, err)
	require.NoError(t, report.WritePage(io.Discard, run))
	var table strings.Builder
	require.NoError(t, report.WriteTable(&table, run))
	require.NotContains(t, table.String(), "NaN")
}

func TestTable(t *testing.T) {
	b := newBench(t)
	b.tell(0, berth.JobSubmitted{Job: job("one", 1, 4)})
	b.tell(0, berth.JobSubmitted{Job: job("two", 2, 4)})
	b.pass(0)
	run := b.finish(1500 * hour)
	var table strings.Builder
	require.NoError(t, report.WriteTable(&table, run))
	lines := strings.Split(table.String(), "\n")
	require.Equal(t, []string{"batch", "2", "0", "1", "1", "62d12h", "0", "0", "0s", "62d12h", "62d12h", "6,000", "0"}, strings.Fields(lines[1]))
	require.Contains(t, table.String(), "50.0 % on average of 8 GPUs")
	require.Contains(t, table.String(), "longest wait      two (batch), for 62d12h: ")
	require.NotContains(t, table.String(), "wall-clock", "nobody timed it")
}
