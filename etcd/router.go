package etcd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/journal"
)

// remember is for how long the name of a job that is over is known, at least.
const remember = 24 * time.Hour

// A Router takes jobs that may go to several pools. The rule: a job goes to the first of its pools.
// Where all of it has been pending for After, it goes on to the next one, and in the last it stays.
// A pool that refuses the job is passed in the same way.
//
// A job is never in two pools. It has one record in etcd, below the pool that it is in, and nobody
// touches the job or the record but the leader of that pool: the record is the baton. To pass it on
// the leader notes in it that the job is leaving, cancels the job, waits until that is durable and
// the core knows the job no more, and only then puts the record below the next pool. The leader
// there submits the job. Whatever dies in between, the next leader of the pool finds the record as
// it is and goes on. A former leader that sleeps and wakes can do neither: its records are guarded
// by its key in the election, as its log is. So no transaction over two logs is needed, and no
// process that routes.
//
// A record lives until [Intake.End]; its name is known for a day longer. Methods of a Router may be
// called from any goroutine and in any process.
type Router struct {
	client *clientv3.Client
	keys   keys
	after  time.Duration
}

// The keys of a Router are, below its prefix:
//
//	in/POOL/JOB    the record of a job
//	name/JOB       the pool; nothing: the job is over

// A Route is the record of a job.
type Route struct {
	Job berth.Job
	// Pools in the order in which the job tries them, and At the one that it is in.
	Pools []string
	At    int
	// Leaving: it is about to go to the next one.
	Leaving bool
}

// NewRouter makes a Router of the jobs below a prefix, which is that of no pool. A job goes on
// after having been pending for the time after.
func NewRouter(client *clientv3.Client, prefix string, after time.Duration) (*Router, error) {
	k, err := keysOf(prefix)
	if err == nil && after <= 0 {
		err = fmt.Errorf("etcd: jobs cannot go on after %v", after)
	}
	return &Router{client: client, keys: k, after: after}, err
}

func (r *Router) in(pool string) string       { return r.keys.prefix + "in/" + pool + "/" }
func (r *Router) name(job berth.JobID) string { return r.keys.prefix + "name/" + string(job) }
func (r *Router) record(o *Route) string      { return r.in(o.Pools[o.At]) + string(o.Job.ID) }

// Submit accepts a job; when it returns nil that is durable. A job of a name that is known, or was
// within a day, is accepted already: a client that got no answer asks again.
func (r *Router) Submit(ctx context.Context, job berth.Job, pools ...string) error {
	for i, pool := range pools {
		if pool == "" || strings.Contains(pool, "/") || slices.Contains(pools[:i], pool) {
			return fmt.Errorf("etcd: job %s: the pool %q is no name, or is given twice", job.ID, pool)
		}
	}
	if len(pools) == 0 || job.ID == "" {
		return fmt.Errorf("etcd: job %q may go to no pool", job.ID)
	}
	route := Route{Job: job, Pools: pools}
	text, err := route.encode()
	if err != nil {
		return err
	}
	key := r.record(&route)
	if _, err := decodeRoute([]byte(key), []byte(text)); err != nil {
		return err // no leader could read it
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	_, err = r.client.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision(r.name(job.ID)), "=", 0)).
		Then(clientv3.OpPut(key, text), clientv3.OpPut(r.name(job.ID), pools[0])).Commit()
	if err != nil {
		return fmt.Errorf("etcd: job %s: %w", job.ID, err)
	}
	return nil
}

// Pool is the pool that a job is in: none where it is over. It is not known where it was never
// submitted, or is over for more than a day.
func (r *Router) Pool(ctx context.Context, job berth.JobID) (pool string, known bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	resp, err := r.client.Get(ctx, r.name(job))
	if err != nil || len(resp.Kvs) == 0 {
		return "", false, err
	}
	return string(resp.Kvs[0].Value), true, nil
}

// savedRoute is a Route in etcd: the job is in the form that a log has it in.
type savedRoute struct {
	Event   json.RawMessage `json:"event"`
	Pools   []string        `json:"pools"`
	At      int             `json:"at,omitempty"`
	Leaving bool            `json:"leaving,omitempty"`
}

func (o *Route) encode() (string, error) {
	event, err := berth.EncodeEvent(berth.JobSubmitted{Job: o.Job})
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(savedRoute{event, o.Pools, o.At, o.Leaving})
	return string(text), err
}

func decodeRoute(key, text []byte) (Route, error) {
	var s savedRoute
	bad := fmt.Errorf("etcd: %s is no record of a job", key)
	if err := json.Unmarshal(text, &s); err != nil {
		return Route{}, fmt.Errorf("%w: %w", bad, err)
	}
	event, err := berth.DecodeEvent(s.Event)
	if err != nil {
		return Route{}, fmt.Errorf("%w: %w", bad, err)
	}
	submitted, ok := event.(berth.JobSubmitted)
	if !ok || s.At < 0 || s.At >= len(s.Pools) {
		return Route{}, bad
	}
	return Route{Job: submitted.Job, Pools: s.Pools, At: s.At, Leaving: s.Leaving}, nil
}

// An Intake is a Router as the leader of a pool has it. Its loop becomes:
//
//	intake := router.Lead(leader, "pool-a")
//	for {
//		orders, err := leader.Schedule(ctx)
//		...          // hand the orders on; of a Drop call intake.End
//		refused, err := intake.Turn(ctx)
//		...          // then wait for what comes, and look at Turn twice a second, say
//	}
//
// Before the core is told that a job is over, by JobFinished or as its client cancels it, call
// [Intake.End]: else the next leader takes it for a job that was never submitted.
//
// An error is one after which the leader leads no more, as those of Schedule; after
// [journal.ErrFull] nothing has changed, and it can be called again. A record that this release
// cannot read, as a newer one wrote it, is such an error: a member of the newer release is to lead.
type Intake struct {
	*Router
	leader *Leader
	pool   string
	routes map[berth.JobID]*routed
	read   int64 // the revision up to which records were read
	lease  clientv3.LeaseID
	since  time.Time
}

// A routed is a record as it was read, or written.
type routed struct {
	Route
	revision int64
	due      berth.Time // when to look at it again
}

// Lead makes the Intake of the leader of a pool.
func (r *Router) Lead(l *Leader, pool string) *Intake {
	return &Intake{Router: r, leader: l, pool: pool, routes: map[berth.JobID]*routed{}}
}

// errTurn: else a job could go on to the next pool before it is known to have left this one.
var errTurn = errors.New("etcd: Turn comes when all that was applied is durable: after Schedule, and before Apply")

// A Refusal is a job that the core does not take.
type Refusal struct {
	Route
	Err error
}

// Turn does what the rule asks for: it submits the jobs that came to the pool, and sends on those
// that have waited for too long. What it tells the core is durable with the next Schedule, which is
// to be called at once. It returns the jobs that were refused: they go on to the next pool, and one
// that has none is tried again after the time of the Router. Cost: one read, in which etcd goes
// over the records of the pool; a write or two for each job that goes on.
func (t *Intake) Turn(ctx context.Context) (refused []Refusal, err error) {
	if t.leader.Position() != t.leader.store.at {
		return nil, errTurn
	}
	if err := t.readOn(ctx); err != nil {
		return nil, err
	}
	now := t.leader.Now()
	for _, id := range slices.Sorted(maps.Keys(t.routes)) {
		r := t.routes[id]
		if now < r.due {
			continue
		}
		refusal, err := t.step(ctx, r, now)
		if err != nil {
			return refused, err
		}
		if refusal != nil {
			refused = append(refused, Refusal{r.Route, refusal})
		}
	}
	return refused, nil
}

// readOn reads the records that came.
func (t *Intake) readOn(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	resp, err := t.client.Get(ctx, t.in(t.pool), clientv3.WithPrefix(), clientv3.WithMinModRev(t.read+1))
	if err != nil {
		return fmt.Errorf("%w: read the jobs of %s: %w", journal.ErrUncertain, t.pool, err)
	}
	for _, kv := range resp.Kvs {
		route, err := decodeRoute(kv.Key, kv.Value)
		if err != nil {
			return err
		}
		if had := t.routes[route.Job.ID]; had == nil || had.revision < kv.ModRevision {
			t.routes[route.Job.ID] = &routed{Route: route, revision: kv.ModRevision}
		}
	}
	t.read = resp.Header.Revision
	return nil
}

// step does the one thing that is next for a job. Refusal is what the core says.
func (t *Intake) step(ctx context.Context, r *routed, now berth.Time) (refusal, err error) {
	job, known := t.leader.Core().Job(r.Job.ID)
	since, pending := pendingSince(job)
	last := r.At == len(r.Pools)-1
	switch {
	case r.Leaving && !known:
		return nil, t.pass(ctx, r)
	case r.Leaving && job.Cancelled: // it is on its way out
	case r.Leaving && !pending: // as a leader died, it got a place after all
		return nil, t.leaves(ctx, r, false)
	case r.Leaving:
		return nil, t.leader.Apply(berth.JobCancelled{Job: r.Job.ID})
	case !known:
		if refusal = t.leader.Apply(berth.JobSubmitted{Job: r.Job}); refusal == nil {
			return nil, nil
		}
		if !last {
			return refusal, t.leaves(ctx, r, true)
		}
		r.due = now.Add(berth.DurationOf(t.after))
	case last:
		r.due = berth.Time(1<<63 - 1) // until its end
	case !pending:
		r.due = now.Add(berth.DurationOf(t.after))
	case now < since.Add(berth.DurationOf(t.after)):
		r.due = since.Add(berth.DurationOf(t.after))
	default:
		if err := t.leaves(ctx, r, true); err != nil {
			return nil, err
		}
		return nil, t.leader.Apply(berth.JobCancelled{Job: r.Job.ID}) // no pass has come in between
	}
	return refusal, nil
}

// pendingSince is when the last replica of a job became pending, if all are.
func pendingSince(job berth.JobStatus) (since berth.Time, pending bool) {
	for i := range job.Replicas {
		if job.Replicas[i].State != berth.ReplicaPending {
			return 0, false
		}
		since = max(since, job.Replicas[i].Since)
	}
	return since, true
}

// leaves notes whether a job is about to go.
func (t *Intake) leaves(ctx context.Context, r *routed, leaving bool) error {
	next := r.Route
	next.Leaving = leaving
	text, err := next.encode()
	if err != nil {
		return err
	}
	key := t.record(&r.Route)
	revision, err := t.change(ctx, r, clientv3.OpPut(key, text))
	if err == nil {
		r.Route, r.revision = next, revision
	}
	return err
}

// pass puts the record below the next pool.
func (t *Intake) pass(ctx context.Context, r *routed) error {
	next := Route{Job: r.Job, Pools: r.Pools, At: r.At + 1}
	text, err := next.encode()
	if err != nil {
		return err
	}
	from := t.record(&r.Route)
	to := t.record(&next)
	if _, err = t.change(ctx, r, clientv3.OpDelete(from), clientv3.OpPut(to, text), clientv3.OpPut(t.name(r.Job.ID), next.Pools[next.At])); err == nil {
		delete(t.routes, r.Job.ID)
	}
	return err
}

// End forgets a job: it is over, or about to be. One that no Router has submitted is no error.
func (t *Intake) End(ctx context.Context, job berth.JobID) error {
	if t.read == 0 { // a former leader has submitted it
		if err := t.readOn(ctx); err != nil {
			return err
		}
	}
	r := t.routes[job]
	if r == nil {
		return nil
	}
	if time.Since(t.since) > remember || t.lease == 0 {
		within, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		lease, err := t.client.Grant(within, int64(2*remember/time.Second))
		if err != nil {
			return refusedOr(journal.ErrUncertain, err)
		}
		t.lease, t.since = lease.ID, time.Now()
	}
	key := t.record(&r.Route)
	_, err := t.change(ctx, r, clientv3.OpDelete(key), clientv3.OpPut(t.name(job), "", clientv3.WithLease(t.lease)))
	if err == nil {
		delete(t.routes, job)
	}
	return err
}

// change does a transaction once: while the leader leads, and as the record stands as it was read.
// An answer that is lost is asked for again: as the leader alone changes the record, one that has
// changed says that it was done.
func (t *Intake) change(ctx context.Context, r *routed, ops ...clientv3.Op) (revision int64, err error) {
	lock := t.leader.store.lock
	key := t.record(&r.Route)
	for again := false; ; again = true {
		within, cancel := context.WithTimeout(ctx, askTimeout)
		resp, err := t.client.Txn(within).If(
			clientv3.Compare(clientv3.CreateRevision(lock.Key), "=", lock.Revision),
			clientv3.Compare(clientv3.ModRevision(key), "=", r.revision),
		).Then(ops...).Else(clientv3.OpGet(lock.Key), clientv3.OpGet(key)).Commit()
		cancel()
		switch {
		case err == nil && resp.Succeeded:
			return resp.Header.Revision, nil
		case err == nil:
			return changed(resp, lock, again)
		case refused(err) && !again:
			return 0, refusedOr(fmt.Errorf("etcd: job %s", r.Job.ID), err)
		case refused(err) || ctx.Err() != nil || t.leader.store.held.Err() != nil:
			return 0, fmt.Errorf("%w: job %s: %w", journal.ErrUncertain, r.Job.ID, err)
		}
		pause(ctx, 50*time.Millisecond)
	}
}

// changed is what to make of a transaction that was not done.
func changed(resp *clientv3.TxnResponse, lock Lock, again bool) (revision int64, err error) {
	holds, is := found(resp, 0), found(resp, 1)
	switch {
	case len(holds) == 0 || holds[0].CreateRevision != lock.Revision:
		return 0, fmt.Errorf("%w: the lock %s is lost", journal.ErrFenced, lock.Key)
	case !again:
		return 0, fmt.Errorf("%w: the record of a job was written past the leader %s", journal.ErrFenced, lock.Key)
	case len(is) > 0:
		return is[0].ModRevision, nil
	}
	return 0, nil
}

// refusedOr tells the want of room from other errors.
func refusedOr(other, err error) error {
	if errors.Is(err, rpctypes.ErrNoSpace) {
		return fmt.Errorf("%w: %w", journal.ErrFull, err)
	}
	return fmt.Errorf("%w: %w", other, err)
}
