package etcd_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/etcd"
	"github.com/berth-sched/berth/journal"
	"github.com/berth-sched/berth/quota"
)

// A shard is a pool of one node, the leader that it has at the moment, and what runs there.
type shard struct {
	*shards
	name    string
	gpus    int
	leader  *etcd.Leader
	intake  *etcd.Intake
	auditor *auditor
	runs    map[berth.OrderID]*routedRun
}

// A routedRun is a job that was started; it ends after so many rounds.
type routedRun struct {
	bind berth.Bind
	left int
}

// shards are two pools, and the router between them.
type shards struct {
	*testing.T
	client  *clientv3.Client
	wire    *wire
	prefix  string
	router  *etcd.Router
	pools   []*shard
	clock   journal.ManualClock
	started map[berth.JobID][]string // in which pools
	deaths  int
}

func newShards(t *testing.T) *shards {
	s := &shards{T: t, prefix: newPrefix(), started: map[berth.JobID][]string{}}
	s.client, s.wire = newClient(t, sharedServer(t))
	var err error
	s.router, err = etcd.NewRouter(s.client, s.prefix+"/jobs", 2*time.Second)
	require.NoError(t, err)
	for name, gpus := range map[string]int{"a": 4, "b": 8} {
		p := &shard{shards: s, name: name, gpus: gpus, runs: map[berth.OrderID]*routedRun{}}
		source, err := etcd.NewSource(s.client, p.at())
		require.NoError(t, err)
		p.auditor = newAuditor(t, source)
		s.pools = append(s.pools, p)
	}
	slices.SortFunc(s.pools, func(x, y *shard) int { return int(x.name[0]) - int(y.name[0]) })
	return s
}

func (p *shard) at() string { return p.prefix + "/" + p.name }

// turn is one round of the loop of the leader of a pool; there is one after it.
func (p *shard) turn() error {
	if p.leader == nil {
		store, err := seize(p.Context(), p.client, p.at())
		if err != nil {
			return err
		}
		d, err := journal.Open(p.Context(), store, journal.Options{Config: config, Clock: &p.clock, SnapshotRecords: 15})
		if err != nil {
			return err
		}
		p.leader = etcd.NewLeader(d, store)
		p.intake = p.router.Lead(p.leader, p.name)
		if err := p.report(); err != nil { // before the first Turn, which finds the queue
			return err
		}
	}
	orders, err := p.leader.Schedule(p.Context())
	if err != nil {
		return err
	}
	for _, order := range orders {
		bind := order.(berth.Bind)
		if p.runs[bind.ID] == nil {
			p.runs[bind.ID] = &routedRun{bind: bind, left: map[berth.JobID]int{"first": 5}[bind.Job] + 2}
			p.started[bind.Job] = append(p.started[bind.Job], p.name)
		}
	}
	if _, err := p.intake.Turn(p.Context()); err != nil {
		return err
	}
	return p.report()
}

// report tells the core what there is and what runs; what was told before it refuses.
func (p *shard) report() error {
	tell := func(e berth.Event) error {
		err := p.leader.Apply(e)
		if errors.Is(err, berth.ErrDuplicate) || errors.Is(err, berth.ErrStale) || errors.Is(err, berth.ErrUnknown) {
			return nil
		}
		return err
	}
	err := errors.Join(
		tell(berth.NodeJoined{Node: berth.Node{ID: "n", Domains: []string{"leaf"}, GPUs: slices.Repeat([]berth.GPU{{Product: "H100-80GB"}}, p.gpus)}}),
		tell(berth.QueueSet{Queue: quota.Queue{Name: "q"}}),
	)
	for id, r := range p.runs {
		err = errors.Join(err, tell(berth.OrderReported{Order: id, Outcome: berth.OutcomeDone}))
		if r.left--; r.left <= 0 {
			err = errors.Join(err, p.intake.End(p.Context(), r.bind.Job), tell(berth.JobFinished{Job: r.bind.Job, Incarnation: r.bind.Incarnation}))
		}
	}
	return err
}

// round has the client submit, as it does until it has an answer, and each pool turn; a leader that
// fails dies. Then no job is in two pools, as their logs have it.
func (s *shards) round(submit map[berth.JobID]int) {
	for _, id := range []berth.JobID{"first", "second", "third", "large"} {
		job := berth.Job{ID: id, Queue: "q", Groups: []berth.Group{{Members: 1, Claim: berth.WholeGPUs(submit[id])}}}
		_ = s.router.Submit(s.Context(), job, "a", "b") // where it fails, the next round asks again
	}
	for _, p := range s.pools {
		if err := p.turn(); err != nil {
			p.leader = nil
			s.deaths++
			s.wire.refuse.Store(nil)
		}
	}
	s.clock.Advance(berth.Second)
	in := map[berth.JobID]string{}
	for _, p := range s.pools {
		p.auditor.catchUp()
		for _, id := range p.auditor.core.JobIDs() {
			require.Empty(s, in[id], "%s is in two pools", id)
			in[id] = p.name
		}
	}
}

// run runs the whole: the first job fills pool a, the next ones go on to b, one of which does not
// fit into a at all.
func (s *shards) run() {
	jobs := map[berth.JobID]int{"first": 4, "second": 4, "third": 2, "large": 8}
	over := func() bool {
		for id := range jobs {
			if pool, known, err := s.router.Pool(s.Context(), id); pool != "" || !known || err != nil {
				return false
			}
		}
		return len(s.pools[0].auditor.core.JobIDs())+len(s.pools[1].auditor.core.JobIDs()) == 0
	}
	for rounds := 0; !over(); rounds++ {
		require.Less(s, rounds, 200)
		s.round(jobs)
	}
	s.round(jobs) // the client asks again, and nothing comes of it
	s.round(jobs)
	require.Len(s, s.started, len(jobs))
	for id, at := range s.started {
		require.Len(s, at, 1, "%s is started once", id)
	}
	require.Equal(s, []string{"a"}, s.started["first"])
	require.Equal(s, []string{"b"}, s.started["large"])
	for _, p := range s.pools {
		require.NoError(s, p.auditor.core.Check())
		require.NoError(s, p.auditor.checker.AgainstReport(p.auditor.core.Report()))
		require.NoError(s, p.auditor.checker.Quiescent(p.auditor.core.Now()))
	}
}

// A leader dies after each of the writes of the whole in turn, or the answer to it is lost: a job
// is in one pool at most at any time, and is started once. Without the variable of TestSoak it is
// every fifth write.
func TestNoJobIsInTwoPools(t *testing.T) {
	step := 5
	if os.Getenv("BERTH_TAKEOVERS") != "" {
		step = 1
	}
	dead := error(status.Error(codes.PermissionDenied, "the process is dead"))
	for _, lost := range []bool{false, true} {
		for at := 0; ; at += step {
			s := newShards(t)
			writes := 0
			harm := func() {
				switch writes++; {
				case writes-1 != at:
				case lost:
					s.wire.lose.Store(1)
				default:
					s.wire.refuse.Store(&dead)
				}
			}
			s.wire.before.Store(&harm)
			s.run()
			if t.Failed() {
				t.Fatalf("after write %d, answer lost: %v", at, lost)
			}
			if writes <= at {
				require.Greater(t, at, 40)
				t.Logf("%d writes, answers lost: %v", writes, lost)
				break
			}
			if !lost {
				require.LessOrEqual(t, s.deaths, 1)
			}
		}
	}
}

// A leader read where a job is, and sleeps while the next leader sends the job on. What it does
// when it wakes is refused.
func TestAFormerLeaderTouchesNoJob(t *testing.T) {
	s := newShards(t)
	jobs := map[berth.JobID]int{"first": 4, "second": 4, "third": 2, "large": 8}
	for range 3 {
		s.round(jobs)
	}
	a := s.pools[0]
	old := *a
	a.leader = nil // it sleeps
	for pool := "a"; pool != "b"; {
		s.round(jobs)
		var err error
		pool, _, err = s.router.Pool(t.Context(), "large")
		require.NoError(t, err)
	}
	require.ErrorIs(t, old.intake.End(t.Context(), "large"), journal.ErrFenced)
	require.NoError(t, old.leader.Apply(berth.JobFinished{Job: "first", Incarnation: 1}))
	_, err := old.leader.Schedule(t.Context())
	require.ErrorIs(t, err, journal.ErrFenced)
	s.run()
}

// What no leader could do anything with is not accepted, and Turn does not come too early.
func TestRouterRefuses(t *testing.T) {
	s := newShards(t)
	job := berth.Job{ID: "j", Queue: "q", Groups: []berth.Group{{Members: 1, Claim: berth.WholeGPUs(1)}}}
	for _, pools := range [][]string{nil, {""}, {"a", "a"}, {"a/b"}} {
		require.Error(t, s.router.Submit(t.Context(), job, pools...), fmt.Sprint(pools))
	}
	require.Error(t, s.router.Submit(t.Context(), berth.Job{}, "a"))
	_, err := etcd.NewRouter(s.client, "/", time.Second)
	require.Error(t, err)
	_, err = etcd.NewRouter(s.client, s.prefix, 0)
	require.Error(t, err)

	a := s.pools[0]
	require.NoError(t, a.turn())
	_, err = a.intake.Turn(t.Context())
	require.ErrorContains(t, err, "after Schedule")
	require.NoError(t, s.router.Submit(t.Context(), job, "a"))
	require.NoError(t, a.turn())
	refused, err := a.intake.Turn(t.Context())
	require.Error(t, err)
	require.Empty(t, refused)
}
