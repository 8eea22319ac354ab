package etcd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/berth-sched/berth/journal"
)

const (
	// retryAfter is how long after a failed request the next one is made.
	retryAfter = 200 * time.Millisecond
	// lookEvery is how often is looked for what a watch should have told.
	lookEvery = 2 * time.Second
	// leastTTL is what etcd makes of a smaller one, with its default settings.
	leastTTL = 2 * time.Second
)

// Options are what a Member goes by.
type Options struct {
	// Client is how etcd is reached, with TLS and authentication as it has them. Several members
	// of one process may share it. It remains the caller's to close.
	Client *clientv3.Client
	// Prefix is where the keys of this log are: one for each pool that has a core of its own.
	Prefix string
	// Name is what others find as the leader, such as the address to which agents are to turn.
	Name string
	// TTL is for how long a leader that is not heard of remains the leader, in whole seconds; 0:
	// 5 s. What dies is replaced after that at the latest, and one second more or so. An etcd
	// makes at least one and a half of its election timeouts of it, 2 s with default settings, and
	// the log says so. Longer: a network that is slow for a moment costs no leader.
	TTL time.Duration
	// Journal are the options of the core and its log.
	Journal journal.Options
	// Serve is the loop of the orchestrator, while this member leads. See [Member.Run].
	Serve func(ctx context.Context, l *Leader) error
	// Log gets a line for each change of the role, and each failure that is tried again. Nil: none.
	Log *slog.Logger
}

// A Leader is what a member has while it leads.
type Leader struct {
	*journal.Durable
	// Term is that of the leader: each has a higher one than all before it. It goes with every
	// order to the agents, and an agent that has seen a higher one refuses the order: so a leader
	// that slept between the pass and the sending cannot have an order carried out that is over
	// by now. See the package comment.
	Term  int64
	store *Store
}

// A Role is what a Member does.
type Role int

const (
	// Following: it applies what the leader writes.
	Following Role = iota
	// Leading: it writes.
	Leading
)

// String is "following" or "leading".
func (r Role) String() string { return [...]string{"following", "leading"}[r] }

// A Status is where a Member stands.
type Status struct {
	Role Role
	// Term that it leads; 0 where it follows.
	Term int64
	// At is how far it has followed the log; while it leads, where it began to.
	At journal.Position
	// Head is where the log ended when it was read last.
	Head journal.Position
	// Compared counts the comparisons of the state with that of a leader.
	Compared int
}

// A Member is one replica of a core, of which several run on machines of their own: one leads, and
// the others follow its log as it grows, ready to lead. Make one with New.
type Member struct {
	options Options
	source  *Source
	log     *slog.Logger
	// pools are those of the process, if it has several.
	pools *Pools
	// replica follows; nil: there is no log yet, or it is to be begun anew.
	replica *journal.Replica
	// began is the position of the snapshot that the replica began with.
	began journal.Position
	// compared is the last comparison that was made.
	compared reached

	lock   sync.Mutex
	status Status
}

// New checks the options. It asks etcd nothing.
func New(o Options) (*Member, error) {
	if o.Client == nil || o.Serve == nil || o.Name == "" {
		return nil, errors.New("etcd: a member needs a client, a name and a function that serves")
	}
	if o.TTL == 0 {
		o.TTL = 5 * time.Second
	}
	if o.TTL < leastTTL || o.TTL%time.Second != 0 {
		return nil, fmt.Errorf("etcd: a TTL of %v is not a number of seconds, 2 at least", o.TTL)
	}
	source, err := NewSource(o.Client, o.Prefix)
	if err != nil {
		return nil, err
	}
	m := &Member{options: o, source: source, log: slog.New(slog.DiscardHandler)}
	if o.Log != nil {
		m.log = o.Log.With("member", o.Name)
	}
	return m, nil
}

// Status is where the member stands. It may be called from any goroutine.
func (m *Member) Status() Status {
	m.lock.Lock()
	defer m.lock.Unlock()
	return m.status
}

func (m *Member) note(change func(*Status)) {
	m.lock.Lock()
	defer m.lock.Unlock()
	change(&m.status)
}

// Run follows the log, stands in the election, and leads when it is elected, again and again
// until the context ends, and returns its error then. An etcd that does not answer is waited for:
// without a quorum the core stands still. Run returns when all that it has started has ended.
//
// To lead is to call Serve, when the state is that of the log and nobody else can write any more.
// The context of Serve ends as soon as the lease may be lost; Serve returns then. What it
// returns:
//
//   - nil, or an error of the context: the member gives the lead back, and follows. So does a
//     member that is to be stopped after another leads.
//   - what Schedule returned, as it is: after [journal.ErrFenced] and [journal.ErrUncertain] the
//     member follows, from what the log says.
//   - any other error: Run gives the lead back and returns it.
//
// Run also returns, with a [*journal.Error], when the log is not what this core comes to:
// [journal.ErrOrdersDiffer] and [journal.ErrStateDiffers] name the record after which it stands
// elsewhere than the leader did. A core of another release is a likely cause; do not start it
// again before that is clear.
func (m *Member) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	won := make(chan *candidacy)
	var group sync.WaitGroup
	group.Go(func() { m.stand(ctx, won) })
	defer group.Wait()
	defer cancel()

	grows, enough := m.watch(ctx)
	defer func() { enough() }()
	for {
		if err := m.follow(ctx); err != nil {
			if fatal(err) {
				return err
			}
			if ctx.Err() == nil {
				m.log.Warn("the log cannot be read", "error", err)
			}
			pause(ctx, retryAfter)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case _, ok := <-grows:
			if !ok { // as etcd had no leader, or has compacted the revision
				pause(ctx, retryAfter)
				enough()
				grows, enough = m.watch(ctx)
			}
		case <-time.After(lookEvery):
		case c := <-won:
			enough() // what nobody takes of a watch, the client keeps
			err := m.lead(ctx, c)
			close(c.over)
			if err != nil {
				return err
			}
			grows, enough = m.watch(ctx)
		}
	}
}

// watch tells when the log grows, until it is enough.
func (m *Member) watch(ctx context.Context) (grows clientv3.WatchChan, enough context.CancelFunc) {
	ctx, enough = context.WithCancel(clientv3.WithRequireLeader(ctx))
	return m.options.Client.Watch(ctx, m.source.head()), enough
}

// fatal reports whether an error does not go away by itself.
func fatal(err error) bool {
	var differs *journal.Error
	return errors.As(err, &differs)
}

// lead serves until the lease is lost, or Serve returns.
func (m *Member) lead(ctx context.Context, c *candidacy) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.session.Ctx(), cancel)()
	l, err := m.takeOver(ctx, c)
	if err == nil {
		m.note(func(s *Status) { s.Role, s.Term, s.At = Leading, l.Term, l.Position() })
		m.log.Info("leads", "term", l.Term, "at", l.Position())
		err = m.options.Serve(ctx, l)
		m.note(func(s *Status) { s.Role, s.Term = Following, 0 })
		m.log.Info("leads no more", "term", l.Term, "error", err)
		m.replica, m.compared = nil, reached{} // it may be ahead of the log
		if err == nil || ctx.Err() != nil || errors.Is(err, journal.ErrFenced) || errors.Is(err, journal.ErrUncertain) {
			return nil
		}
		return err
	}
	if fatal(err) {
		return err
	}
	m.log.Warn("cannot lead", "error", err)
	pause(ctx, retryAfter)
	return nil
}

// takeOver fences the former leader, follows the log to its end, tells the others the state to be
// compared, and goes on from there.
func (m *Member) takeOver(ctx context.Context, c *candidacy) (*Leader, error) {
	store, err := Open(ctx, c.session.Ctx(), m.options.Client, m.options.Prefix, c.lock)
	if err != nil {
		return nil, err
	}
	if err := m.follow(ctx); err != nil {
		return nil, err
	}
	l := &Leader{Term: c.lock.Revision, store: store}
	if m.replica == nil { // it is the first of all
		l.Durable, err = journal.Open(ctx, store, m.options.Journal)
		return l, err
	}
	if err := m.publish(ctx, store); err != nil {
		return nil, err
	}
	l.Durable, err = m.replica.Lead(ctx, store, m.options.Journal)
	return l, err
}
