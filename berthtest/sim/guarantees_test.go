package sim_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/check"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/quota"
)

// This file is what the queues of a fleet are promised, where it can be said exactly: all
// jobs have one member with one GPU, all GPUs are alike, and orders are carried out at
// once. A world is told of everything through the public API, under the checker, and
// keeps counts of its own of what each queue uses, from orders and reports alone.

// A team is a queue of a world. Amounts are whole GPUs.
type team struct {
	name                                 string
	parent                               *team
	children                             []*team
	guarantee, limit, lending, borrowing int // or none
	weight                               int64
	priority                             int32
	used                                 int
}

const none = -1

func (q *team) queue() quota.Queue {
	set := quota.Queue{Name: berth.QueueID(q.name), Weight: q.weight, Priority: q.priority}
	if q.parent != nil {
		set.Parent = berth.QueueID(q.parent.name)
	}
	for _, f := range []struct {
		to   *quota.Amounts
		gpus int
	}{{&set.Guarantee, q.guarantee}, {&set.Limit, q.limit}, {&set.LendingLimit, q.lending}, {&set.BorrowingLimit, q.borrowing}} {
		if f.gpus != none {
			*f.to = quota.Amounts{quota.GPUMilli: int64(f.gpus) * 1000}
		}
	}
	return set
}

// above lists the queue and those above it, from the top down.
func (q *team) above() []*team {
	var path []*team
	for ; q != nil; q = q.parent {
		path = append(path, q)
	}
	slices.Reverse(path)
	return path
}

// entitled reports whether a leaf is promised one GPU more, and so is every queue above it
// that states a guarantee; and no limit is in the way.
func (q *team) entitled() bool {
	if q.guarantee == none {
		return false
	}
	for ; q != nil; q = q.parent {
		if q.guarantee != none && q.used >= q.guarantee || q.limit != none && q.used >= q.limit {
			return false
		}
	}
	return true
}

// borrowing reports whether, where the paths of two leaves part, the first counts as one
// that borrows: the first queue from there down to it that states a guarantee uses more
// than that, or none states one.
func borrowing(q, other *team) bool {
	path, others := q.above(), other.above()
	at := 0
	for at < min(len(path), len(others)) && path[at] == others[at] {
		at++
	}
	for _, q := range path[at:] {
		if q.guarantee != none {
			return q.used > q.guarantee
		}
	}
	return at < len(path)
}

// promised is what is set aside for a queue.
func (q *team) promised() int {
	if q.guarantee != none {
		return q.guarantee
	}
	sum := 0
	for _, child := range q.children {
		sum += child.promised()
	}
	return sum
}

// A small world in which all jobs are alike.
type smallWorld struct {
	*rapid.T
	core    *core.Core
	checker *check.Checker
	now     berth.Time
	teams   []*team
	leaves  []*team
	nodes   []berth.Node
	jobs    map[berth.JobID]*smallJob
	next    int
	// reclaims: what was lent is given back.
	reclaims bool
	// aside is a node that takes no work while cordoned is true.
	aside    berth.NodeID
	cordoned bool
}

type smallJob struct {
	team    *team
	life    berth.Incarnation
	holds   bool // from its Bind until it is told that it ended
	running bool
	failed  bool // since its last Bind: it may be backing off
}

func newSmallWorld(t *rapid.T, reclaims bool) *smallWorld {
	config := berth.Config{Ledger: true}
	if reclaims { // where the past counts the queue that gives back changes, and nothing settles
		config.Policy.Preemption.Mode = berth.PreemptionReclaim
	} else {
		config.Policy.Preemption.Mode = berth.PreemptionOff
		config.Policy.UsageHalfLife = rapid.SampledFrom([]berth.Duration{0, berth.Minute, berth.Hour}).Draw(t, "half-life")
	}
	sched, err := core.New(config)
	require.NoError(t, err)
	w := &smallWorld{T: t, core: sched, checker: check.New(config), jobs: map[berth.JobID]*smallJob{}, reclaims: reclaims}
	for i := range w.draw(1, 3, "tops") {
		w.family(&team{name: fmt.Sprint("q", i)}, 3)
	}
	for _, q := range w.teams {
		w.tell(berth.QueueSet{Queue: q.queue()})
	}
	for range w.draw(1, 3, "nodes") {
		w.join()
	}
	return w
}

func (w *smallWorld) draw(least, most int, what string) int {
	return rapid.IntRange(least, most).Draw(w.T, what)
}

// family draws a queue and those below it, and returns what it is promised. Parents come
// before children in the list.
func (w *smallWorld) family(q *team, levels int) int {
	w.teams = append(w.teams, q)
	below := 0
	if levels > 1 {
		for i := range w.draw(0, 2, "children") {
			child := &team{name: fmt.Sprint(q.name, i), parent: q}
			q.children = append(q.children, child)
			below += w.family(child, levels-1)
		}
	}
	if len(q.children) == 0 {
		w.leaves = append(w.leaves, q)
	}
	w.state(q, below)
	if q.guarantee == none {
		return below
	}
	return q.guarantee
}

// state draws what a queue states, given what those below it are promised.
func (w *smallWorld) state(q *team, below int) {
	some := func(least, most int, what string) int {
		if w.draw(0, 2, what+" stated") == 0 {
			return w.draw(least, most, what)
		}
		return none
	}
	q.guarantee, q.limit, q.lending, q.borrowing = below+w.draw(0, 3, "guarantee"), none, none, none
	if w.draw(0, 3, "silent") == 0 {
		q.guarantee = none
	}
	promised := max(below, q.guarantee)
	q.limit = some(promised, promised+4, "limit")
	if !w.reclaims {
		q.lending, q.borrowing = some(0, 2, "lending"), some(0, 3, "borrowing")
	}
	q.weight, q.priority = int64(w.draw(0, 3, "weight")), int32(w.draw(0, 1, "priority"))
}

func (w *smallWorld) verify(err error) {
	w.Helper()
	require.NoError(w, err)
	require.NoError(w, w.core.Check())
	require.NoError(w, w.checker.AgainstReport(w.core.Report()))
	require.NoError(w, w.checker.AgainstLedger(w.core.Ledger()))
}

// tell gives an event, and reports whether it was accepted.
func (w *smallWorld) tell(e berth.Event) bool {
	w.Helper()
	line, _ := berth.EncodeEvent(e)
	w.Logf("%d %s", w.now, line)
	if err := w.core.Apply(w.now, e); err != nil {
		w.verify(w.checker.Rejected(w.now, e, err))
		return false
	}
	w.verify(w.checker.Applied(w.now, e))
	return true
}

// settle runs passes and carries their orders out, until there is nothing more to do.
func (w *smallWorld) settle() {
	w.Helper()
	for range 50 {
		actions := w.pass()
		for _, a := range actions {
			w.carryOut(a)
		}
		switch wake, due := w.core.NextWake(); {
		case len(actions) > 0:
		case !due:
			w.atRest()
			return
		default: // a backoff ends
			w.now = max(w.now, wake)
		}
	}
	w.Fatal("the fleet does not settle")
}

// pass runs one, and asserts that no job was started that borrows for it where another
// waits, before and after, that is entitled to a GPU.
func (w *smallWorld) pass() []berth.Order {
	w.Helper()
	entitled := w.entitled()
	actions, err := w.core.Schedule(w.now)
	require.NoError(w, err)
	w.verify(w.checker.Scheduled(w.now, actions))
	lends := slices.ContainsFunc(w.teams, func(q *team) bool { return q.lending != none || q.borrowing != none })
	for _, a := range actions {
		line, _ := berth.EncodeOrder(a)
		w.Logf("  %s", line)
		b, ok := a.(berth.Bind)
		if !ok {
			continue
		}
		j := w.jobs[b.Job]
		j.life, j.holds, j.failed = b.Incarnation, true, false
		w.use(j.team, 1)
		for _, q := range entitled {
			if !lends && b.Cause.Code == berth.CauseFits && q.entitled() && borrowing(j.team, q) {
				require.NotContains(w, w.entitled(), q, "queue %s waits for what it is guaranteed, and %s of queue %s was started", q.name, b.Job, j.team.name)
			}
		}
	}
	return actions
}

// entitled lists the queues that wait for what they are guaranteed.
func (w *smallWorld) entitled() (list []*team) {
	for _, q := range w.leaves {
		waits := false
		for _, j := range w.jobs {
			waits = waits || j.team == q && !j.holds && !j.failed
		}
		if waits && q.entitled() && !w.keepsPlaces(q.above()[0]) {
			list = append(list, q)
		}
	}
	return list
}

// keepsPlaces reports whether a queue may be charged for the place of a job below it that backs
// off.
func (w *smallWorld) keepsPlaces(top *team) bool {
	for _, j := range w.jobs {
		if j.failed && j.team.above()[0] == top {
			return true
		}
	}
	return false
}

func (w *smallWorld) use(q *team, sign int) {
	for ; q != nil; q = q.parent {
		q.used += sign
	}
}

// carryOut does what was ordered, and reports it.
func (w *smallWorld) carryOut(a berth.Order) {
	h := a.Header()
	require.True(w, w.tell(berth.OrderReported{Order: h.ID, Outcome: berth.OutcomeDone}))
	j := w.jobs[h.Job]
	switch a.(type) {
	case berth.Bind:
		j.running = true
	case berth.Release:
		w.freed(h.Job, j)
	}
}

// freed notes that a job holds nothing any more.
func (w *smallWorld) freed(id berth.JobID, j *smallJob) {
	if j.holds {
		w.use(j.team, -1)
	}
	j.holds, j.running = false, false
	if _, err := w.core.Explain(id); err != nil { // it is over
		delete(w.jobs, id)
	}
}

// atRest asserts what holds when a fleet has settled. Usage is what is held, at every level.
// Where what was lent is given back, nobody waits for what it is guaranteed.
func (w *smallWorld) atRest() {
	w.Helper()
	require.NoError(w, w.checker.Quiescent(w.now))
	for _, q := range w.core.Report().Queues {
		at := slices.IndexFunc(w.teams, func(t *team) bool { return t.name == string(q.Queue) })
		require.EqualValues(w, 1000*w.teams[at].used, q.UsedMilli, "queue %s", q.Queue)
	}
	if w.reclaims && w.keepsItsWord() {
		require.Empty(w, w.entitled(), "wait for what they are guaranteed")
	}
}

// keepsItsWord reports whether the fleet has what all queues are guaranteed, on nodes that
// take work and beside what others use.
func (w *smallWorld) keepsItsWord() bool {
	gpus := w.core.Report().GPUs
	promised := 0
	for _, q := range w.teams {
		if q.parent == nil {
			promised += q.promised()
		}
	}
	return gpus.AllMilli-gpus.OutOfServiceMilli >= 1000*int64(promised) && !w.cordoned
}

// The churn: what comes, goes and changes. All of it is left to chance.

func (w *smallWorld) submit() {
	q := rapid.SampledFrom(w.leaves).Draw(w.T, "queue")
	for range w.draw(1, 4, "jobs") {
		id := berth.JobID(fmt.Sprint("j", w.next))
		w.next++
		w.jobs[id] = &smallJob{team: q}
		w.tell(berth.JobSubmitted{Job: berth.Job{
			ID: id, Queue: berth.QueueID(q.name), Tenant: berth.TenantID(fmt.Sprint("t", w.next%2)),
			Groups: []berth.Group{{Members: 1, Claim: berth.Claim{GPUs: 1}}},
		}})
	}
}

// some draws a job, if there are any.
func (w *smallWorld) some(is func(*smallJob) bool) (berth.JobID, *smallJob) {
	var ids []berth.JobID
	for i := range w.next {
		if id := berth.JobID(fmt.Sprint("j", i)); w.jobs[id] != nil && is(w.jobs[id]) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return "", nil
	}
	id := rapid.SampledFrom(ids).Draw(w.T, "job")
	return id, w.jobs[id]
}

func runs(j *smallJob) bool { return j.running }

func (w *smallWorld) finish() {
	if id, j := w.some(runs); j != nil {
		require.True(w, w.tell(berth.JobFinished{Job: id, Incarnation: j.life}))
		w.freed(id, j)
	}
}

func (w *smallWorld) cancel() {
	if id, j := w.some(func(j *smallJob) bool { return j.running || !j.holds }); j != nil {
		require.True(w, w.tell(berth.JobCancelled{Job: id}))
		if j.running = false; !j.holds { // else it is released first
			delete(w.jobs, id)
		}
	}
}

func (w *smallWorld) fail() {
	if id, j := w.some(runs); j != nil {
		require.True(w, w.tell(berth.MemberFailed{Job: id, Incarnation: j.life, Members: []berth.MemberRef{{}}}))
		w.freed(id, j)
		j.failed = true
	}
}

func (w *smallWorld) report() {
	if id, j := w.some(runs); j != nil {
		busy := w.draw(0, 1000, "busy")
		require.True(w, w.tell(berth.ActivityReported{Job: id, Incarnation: j.life, ActiveMilli: busy}))
	}
}

func (w *smallWorld) join() {
	n := berth.Node{ID: berth.NodeID(fmt.Sprint("n", len(w.nodes)))}
	for range w.draw(1, 4, "GPUs") {
		n.GPUs = append(n.GPUs, berth.GPU{Product: "H100"})
	}
	w.nodes = append(w.nodes, n)
	w.tell(berth.NodeJoined{Node: n})
}

// toggle has a node take no work, or take it again.
func (w *smallWorld) toggle() {
	if w.cordoned = !w.cordoned; w.cordoned {
		w.aside = rapid.SampledFrom(w.nodes).Draw(w.T, "node").ID
		w.tell(berth.NodeCordoned{Node: w.aside})
	} else {
		w.tell(berth.NodeUncordoned{Node: w.aside})
	}
}

func (w *smallWorld) change() {
	q := rapid.SampledFrom(w.teams).Draw(w.T, "queue")
	before := *q
	w.state(q, w.draw(0, 2, "below"))
	if !w.tell(berth.QueueSet{Queue: q.queue()}) {
		*q = before
	}
}

func (w *smallWorld) restore() {
	b, err := w.core.Snapshot()
	require.NoError(w, err)
	w.core, err = core.Restore(b)
	require.NoError(w, err)
	w.verify(nil)
}

func (w *smallWorld) churn() {
	things := []func(){
		w.submit, w.submit, w.submit, w.finish, w.finish, w.cancel, w.fail, w.report, w.change, w.toggle, w.restore,
		func() { w.tell(berth.LedgerSettled{}) },
	}
	for range w.draw(5, 30, "steps") {
		for range w.draw(1, 4, "things") {
			things[w.draw(0, len(things)-1, "thing")]()
		}
		w.settle()
		w.now = w.now.Add(berth.Duration(w.draw(0, 100_000, "ms")))
	}
}

// No start goes past a queue that waits for what it is guaranteed, usage is what is held at
// every level, and the ledger is the integral of it, whatever comes and goes.
func TestGuaranteesHoldUnderChurn(t *testing.T) {
	t.Parallel()
	drawn.Check(t, func(t *rapid.T) { newSmallWorld(t, false).churn() })
}

// Where what was lent is given back, nobody waits for what it is guaranteed in a fleet that
// has settled and has as much.
func TestGuaranteesAreTakenBack(t *testing.T) {
	t.Parallel()
	drawn.Check(t, func(t *rapid.T) { newSmallWorld(t, true).churn() })
}
