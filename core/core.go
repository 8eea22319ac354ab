package core

import (
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/admission"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/answer"
	"github.com/berth-sched/berth/core/internal/backlog"
	"github.com/berth-sched/berth/core/internal/books"
	"github.com/berth-sched/berth/core/internal/catalogue"
	"github.com/berth-sched/berth/core/internal/evict"
	"github.com/berth-sched/berth/core/internal/gpus"
	"github.com/berth-sched/berth/core/internal/life"
	"github.com/berth-sched/berth/core/internal/losses"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/core/internal/score"
	"github.com/berth-sched/berth/core/internal/search"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/core/internal/upkeep"
	"github.com/berth-sched/berth/core/internal/values"
	"github.com/berth-sched/berth/core/internal/victim"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/internal/limits"
	"github.com/berth-sched/berth/quota"
)

// A Core is the scheduling core: a [berth.Scheduler], and the answers to further questions.
// Make one with [New] or [Restore]. Its methods may not be called at the same time as each
// other.
//
// It has a room for each thing that it takes care of, and the rooms know those below them
// alone: each is a package that says what it owns, and which invariants Check holds it to.
// What is here walks over them: the doors for events, the stages of a pass, snapshots, and
// what-ifs.
type Core struct {
	catalogue *catalogue.Catalogue
	losses    *losses.Losses
	agenda    *agenda.Agenda
	state     *state.State
	scoring   *score.Scoring
	books     *books.Books
	backlog   *backlog.Backlog
	admission *admission.Admission
	upkeep    *upkeep.Upkeep
	life      *life.Life
	gpus      *gpus.GPUs
	search    *search.Search
	victims   *victim.Victims
	evict     *evict.Evict
	answer    *answer.Answers
}

// New makes a core with an empty fleet. A Config that makes no sense is refused with a
// [*berth.Error] that names the field.
func New(config berth.Config) (*Core, error) {
	if err := refusal.From(config.Check()); err != nil {
		err.Event = "config"
		return nil, err
	}
	config = values.CloneConfig(config)
	config.Limits = config.Limits.WithDefaults()
	config.Policy = config.Policy.WithDefaults()
	fleet, err := gang.NewFleet(config.Levels...)
	if err != nil {
		return nil, &berth.Error{Event: "config", Field: "levels", Kind: berth.ErrInvalid, Reason: err.Error()}
	}
	c := build(config, fleet)
	if err := c.books.UseScorer(config.Scorer); err != nil {
		return nil, &berth.Error{Event: "config", Field: "scorer", Kind: err.Kind, Reason: err.Reason}
	}
	c.backlog.EnsureQueue(quota.RootQueue)
	c.books.SetBudgets(config.Policy.Budgets)
	c.books.SettleBudgets() // nothing waits yet
	c.upkeep.SetSpares(config.Policy.HotSpares)
	return c, nil
}

// build makes the rooms, each on those below it.
func build(config berth.Config, fleet *gang.Fleet) *Core {
	c := &Core{catalogue: catalogue.New(), losses: losses.New(), agenda: agenda.New()}
	c.state = state.New(c.catalogue, c.losses, c.agenda, config, fleet)
	c.scoring = score.New(c.state)
	c.books = books.New(c.catalogue, c.agenda, c.state, c.scoring, config)
	c.backlog = backlog.New(c.catalogue, c.agenda, c.state, c.books)
	c.admission = admission.New(c.catalogue, c.agenda, c.state, c.books, c.backlog)
	c.upkeep = upkeep.New(c.losses, c.agenda, c.state, c.books, c.backlog)
	c.life = life.New(c.agenda, c.state, c.books, c.backlog)
	c.gpus = gpus.New(c.catalogue, c.agenda, c.state, c.books, c.backlog, c.upkeep, c.life)
	c.search = search.New(c.catalogue, c.agenda, c.state, c.books, c.backlog, c.upkeep, c.life, c.gpus)
	c.victims = victim.New(c.state, c.books, c.backlog, c.life, c.search)
	c.evict = evict.New(c.agenda, c.state, c.books, c.backlog, c.life, c.search, c.victims)
	c.answer = answer.New(c.agenda, c.state, c.books, c.backlog, c.upkeep, c.life, c.gpus, c.search, c.victims, c.evict)
	return c
}

// Config returns a copy of the configuration in force, with the defaults filled in and the
// policy of the last [berth.PolicyChanged].
func (c *Core) Config() berth.Config {
	return values.CloneConfig(c.state.Config)
}

// Now is the latest instant that the core has seen; zero before the first call.
func (c *Core) Now() berth.Time { return c.state.Now }

// JobIDs lists the jobs that the core knows, by ID. O(jobs x log jobs).
func (c *Core) JobIDs() []berth.JobID { return slices.Sorted(maps.Keys(c.state.Jobs)) }

// NextWake is the instant at which a pass has something to do even if no event comes: now when
// work is left over, else the next deadline, backoff or timeout. It reports false when only an
// event can make a difference.
func (c *Core) NextWake() (berth.Time, bool) {
	if _, ready := c.state.Quota.Next(); ready || c.state.Todo.Len() > 0 || c.agenda.DueNow() {
		return c.state.Now, true
	}
	at := c.agenda.Next()
	if next, ok := c.state.Timers.Min(); ok {
		at = min(at, next.At)
	}
	for _, res := range c.backlog.Reservations {
		at = min(at, res.Until, c.state.NextDrain(res))
	}
	at = min(at, c.nextChange(), c.evict.NextOverLimit(), c.books.NextOfBudgets(), c.evict.NextOutOfBudget())
	if at > c.state.Now { // last, since it looks at every queue
		at = min(at, c.evict.NextBid())
	}
	return max(at, c.state.Now), at <= limits.MaxInstant
}

// Ledger returns the GPU time used until the latest instant: by account, in order of
// queue, class, product and tenant, and by queue, in order of name. Nothing unless
// Config.Ledger is set.
func (c *Core) Ledger() ([]berth.LedgerLine, []berth.QueueTime) {
	if c.books.Ledger == nil {
		return nil, nil
	}
	c.books.TickLedger()
	var lines []berth.LedgerLine
	for _, key := range c.books.Ledger.Keys() {
		allocated, active := c.books.Ledger.Read(key)
		var class berth.Class
		_ = class.UnmarshalText([]byte(key.Class)) // the ledger has it from Class.String
		lines = append(lines, berth.LedgerLine{
			Queue: key.Queue, Class: class, Product: key.Product, Tenant: berth.TenantID(key.Tenant), Borrowed: key.Borrowed,
			Allocated: allocated, Active: active,
		})
	}
	var queues []berth.QueueTime
	for _, q := range c.books.Ledger.State().Queues {
		guaranteed, borrowed := c.books.Ledger.Split(q.Queue)
		queues = append(queues, berth.QueueTime{Queue: q.Queue, Guaranteed: guaranteed, Borrowed: borrowed})
	}
	return lines, queues
}
