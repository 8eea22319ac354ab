package score_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
	"github.com/berth-sched/berth/core/internal/score"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/topology"
)

// A ruler is a scorer that prefers one node, and writes down what it is shown.
type ruler struct {
	prefers berth.NodeID
	groups  []berth.Group
	shown   []string
}

func (r *ruler) Name() string { return "ruler" }

func (r *ruler) Score(g *berth.Group, places []berth.Place) {
	r.groups, r.shown = append(r.groups, *g), nil
	for i := range places {
		p := &places[i]
		r.shown = append(r.shown, fmt.Sprintf("%s/%d %s %v %d cores, score %d", p.Node.ID, p.GPU, p.Node.GPUs[0].Product, p.Left, p.HostLeft[0]/1000, p.Score))
		if p.Node.ID == r.prefers {
			p.Score = 1
		}
	}
}

// A mapper is one that chooses among domains as well.
type mapper struct {
	ruler
	rack    string
	domains []berth.Domain
	asked   []berth.Group
}

func (r *mapper) ScoreDomains(groups []berth.Group, domains []berth.Domain) {
	r.asked, r.domains = slices.Clone(groups), slices.Clone(domains)
	for i := range domains {
		if slices.Contains(domains[i].Path, r.rack) {
			domains[i].Score = 1
		}
	}
}

// A clerk is one that keeps books: what it was told, in the order in which it was. Others are made
// of it, which it lists.
type clerk struct {
	mapper
	books string
	made  *[]*clerk
	other func(books string) (berth.BookkeepingScorer, error)
}

func newClerk() *clerk { return &clerk{made: new([]*clerk)} }

func (r *clerk) own() *clerk { return (*r.made)[len(*r.made)-1] }

func (r *clerk) Submitted(j *berth.Job) {
	r.books += fmt.Sprintf("+%s of %s;", j.ID, j.Queue)
}

func (r *clerk) Held(h berth.Holding) {
	r.books += fmt.Sprintf("%s holds %s of %s;", h.Group.Name, h.GPUs, h.Node.ID)
}

func (r *clerk) Released(h berth.Holding) {
	r.books += fmt.Sprintf("%s leaves %s of %s;", h.Group.Name, h.GPUs, h.Node.ID)
}

func (r *clerk) Save() []byte { return []byte(r.books) }

func (r *clerk) Restore(books []byte) (berth.BookkeepingScorer, error) {
	if r.other != nil {
		return r.other(string(books))
	}
	own := &clerk{mapper: r.mapper, books: string(books), made: r.made}
	clear(books) // the caller's own
	*r.made = append(*r.made, own)
	return own, nil
}

// machine is a fleet of two racks with two nodes of 4 GPUs each, n1 and n2, n3 and n4.
func machine(t roomtest.TB, s berth.Scorer) *roomtest.Machine {
	m := roomtest.New(t, berth.Config{Levels: []string{"rack"}, Scorer: s})
	m.Nodes(2, 4, "r1")
	m.Nodes(2, 4, "r2")
	m.Queue("a", 0)
	return m
}

func shared(id berth.JobID, milli int) berth.Job {
	return berth.Job{ID: id, Queue: "a", Class: berth.ClassInteractive, Groups: []berth.Group{{Members: 1, Claim: berth.SharedGPU(berth.ShareMPS, milli)}}}
}

// requestOf is what a job that waits asks the fleet for.
func requestOf(m *roomtest.Machine, spec berth.Job) *gang.Request {
	s := m.Wait(spec).Entries[0].Bucket.Shape
	m.State.Compile(s)
	return &s.Minimum
}

// place finds a place for a request, and gives it back.
func place(m *roomtest.Machine, r *gang.Request) []gang.Member {
	if !m.Books.Place(r) {
		return nil
	}
	members := slices.Clone(m.Books.Placement.Members)
	for i := range members {
		m.Books.Release(members[i].Hold)
	}
	return members
}

// placed names the nodes on which a job would be placed.
func placed(m *roomtest.Machine, spec berth.Job) (nodes []berth.NodeID) {
	for _, at := range place(m, requestOf(m, spec)) {
		nodes = append(nodes, m.State.Nodes[at.Hold.Node].Spec.ID)
	}
	return nodes
}

// Invariant 1.
func TestAScorerIsShownEachPlaceAsItIs(t *testing.T) {
	s := &ruler{prefers: "n3"}
	m := machine(t, s)
	half := roomtest.Job("half", "a", 1, 2)
	half.Groups[0].Claim.CPUMilli = 30_000
	m.Run(half, "n1")
	m.Run(shared("share", 300), "n2")
	spec := roomtest.Job("waits", "a", 1, 1)
	spec.Groups[0].Selector.Products = []string{"H100"}
	require.Equal(t, []berth.NodeID{"n3"}, placed(m, spec))
	require.Equal(t, []string{
		"n1/-1 H100 [0 0 1000 1000] 70 cores, score 0",
		"n2/-1 H100 [700 1000 1000 1000] 100 cores, score 0",
		"n3/-1 H100 [1000 1000 1000 1000] 100 cores, score 0",
		"n4/-1 H100 [1000 1000 1000 1000] 100 cores, score 0",
	}, slices.Sorted(slices.Values(s.shown)))
	require.Equal(t, spec.Groups[0].Claim, s.groups[0].Claim)
	require.Equal(t, spec.Groups[0].Selector, s.groups[0].Selector)
	require.Equal(t, 1, s.groups[0].MinMembers, "filled in")

	s.prefers = "n2"
	require.Equal(t, []berth.NodeID{"n2"}, placed(m, roomtest.Job("again", "a", 1, 1)))
}

// A share is shown GPUs, and of those of a node that are alike the first.
func TestAShareIsShownGPUs(t *testing.T) {
	s := &ruler{}
	m := machine(t, s)
	m.Run(roomtest.Job("runs", "a", 3, 4), "n1", "n3", "n4")
	m.Run(shared("share", 300), "n2")
	require.Equal(t, []berth.NodeID{"n2"}, placed(m, shared("waits", 500)))
	require.Equal(t, []string{
		"n2/0 H100 [700 1000 1000 1000] 100 cores, score 0", "n2/1 H100 [700 1000 1000 1000] 100 cores, score 0",
	}, slices.Sorted(slices.Values(s.shown)))
}

func TestAScorerOfDomainsChoosesAmongThem(t *testing.T) {
	for _, rack := range []string{"r1", "r2"} {
		s := &mapper{rack: rack}
		m := machine(t, s)
		m.Run(roomtest.Job("runs", "a", 2, 1), "n2", "n4")
		gang := roomtest.Job("waits", "a", 2, 3)
		gang.Topology.Required = "rack"
		nodes := placed(m, gang)
		require.Equal(t, map[string][]berth.NodeID{"r1": {"n1", "n2"}, "r2": {"n3", "n4"}}[rack], slices.Sorted(slices.Values(nodes)))
		slices.SortFunc(s.domains, func(a, b berth.Domain) int { return slices.Compare(a.Path, b.Path) })
		require.Equal(t, []berth.Domain{
			{Level: "rack", Path: []string{"r1"}, Nodes: 2, GPUs: 8, FreeGPUs: 7},
			{Level: "rack", Path: []string{"r2"}, Nodes: 2, GPUs: 8, FreeGPUs: 7},
		}, s.domains)
		gang.ID = "again"
		placed(m, gang)
		require.Len(t, s.asked, 1)
		require.Equal(t, 2, s.asked[0].Members)
		require.Equal(t, gang.Groups[0].Claim, s.asked[0].Claim)
	}
}

// At the level of nodes a domain is a node.
func TestAScorerOfDomainsIsShownNodes(t *testing.T) {
	s := &mapper{rack: "n2"}
	m := machine(t, s)
	m.Run(roomtest.Job("runs", "a", 2, 1), "n2", "n1")
	m.Run(roomtest.Job("full", "a", 2, 4), "n3", "n4")
	gang := roomtest.Job("waits", "a", 3, 1)
	gang.Topology.Required = "node"
	require.Equal(t, []berth.NodeID{"n2", "n2", "n2"}, placed(m, gang))
	slices.SortFunc(s.domains, func(a, b berth.Domain) int { return slices.Compare(a.Path, b.Path) })
	require.Equal(t, []berth.Domain{
		{Level: "node", Path: []string{"r1", "n1"}, Nodes: 1, GPUs: 4, FreeGPUs: 3},
		{Level: "node", Path: []string{"r1", "n2"}, Nodes: 1, GPUs: 4, FreeGPUs: 3},
	}, s.domains)
}

// Invariants 2 and 3.

func TestWithoutAScorerTheDemandDecides(t *testing.T) {
	m := machine(t, nil)
	members, domains := m.Scoring.Functions()
	require.Nil(t, members)
	require.Nil(t, domains)
	require.NotNil(t, m.Scoring.Losses())
	spec := roomtest.Job("batch", "a", 2, 1)
	spec.ExpectedRuntime = berth.Hour
	rep := m.Run(spec, "n1", "n2")
	saved := m.Scoring.SaveDemand()
	require.Len(t, saved.Kinds, 1)
	require.EqualValues(t, 2, saved.Kinds[0].Weight)
	require.EqualValues(t, 2*3600, saved.Kinds[0].Time)
	require.NotEmpty(t, saved.Changed, "it is told of what is held")
	m.Finished(rep)
	after := m.Scoring.SaveDemand()
	require.NotEqual(t, saved.Changed, after.Changed, "and of what is not any more")

	service := roomtest.Job("service", "a", 1, 1)
	service.ExpectedRuntime, service.Service = berth.Hour, &berth.Service{Replicas: 3}
	m.Wait(service)
	saved = m.Scoring.SaveDemand()
	require.EqualValues(t, 2+3, saved.Kinds[0].Weight, "of all its gangs")
	require.EqualValues(t, 2*3600, saved.Kinds[0].Time, "a service runs for ever, whatever it says")

	twin := machine(t, nil)
	twin.NoRefusal(twin.Scoring.RestoreDemand(saved))
	require.Equal(t, saved, twin.Scoring.SaveDemand())
	name, books := m.Scoring.Save()
	require.Empty(t, name)
	require.Nil(t, books)
	m.NoRefusal(m.Scoring.RestoreBooks(nil))
	m.Refused(m.Scoring.RestoreBooks([]byte("books")), berth.ErrInvalid, "scorerBooks")
}

func TestWithAScorerNothingIsKnownOfDemand(t *testing.T) {
	s := &ruler{}
	m := machine(t, s)
	require.Nil(t, m.Scoring.Losses())
	require.Nil(t, m.Scoring.SaveDemand())
	require.NoError(t, m.Scoring.Check())
	m.NoRefusal(m.Scoring.RestoreDemand(nil))
	m.Refused(m.Scoring.RestoreDemand(machine(t, nil).Scoring.SaveDemand()), berth.ErrInvalid, "demand")
	_, domains := m.Scoring.Functions()
	require.Nil(t, domains, "it chooses among no domains")
	require.Nil(t, m.Scoring.Choice(requestOf(m, roomtest.Job("waits", "a", 1, 1)), 0, nil))
	name, books := m.Scoring.Save()
	require.Equal(t, "ruler", name)
	require.Nil(t, books)
	m.Refused(m.Scoring.RestoreBooks([]byte("books")), berth.ErrInvalid, "scorerBooks")
}

// Invariant 3: the scorer of the config is told nothing.
func TestBooksAreTheCoresOwn(t *testing.T) {
	given := newClerk()
	m := machine(t, given)
	own := given.own()
	spec := roomtest.Job("pair", "a", 2, 1)
	spec.Groups[0].Name = "workers"
	rep := m.Run(spec, "n2", "n1")
	told := "+pair of a;workers holds 0 of n2;workers holds 0 of n1;"
	require.Equal(t, told, own.books)

	m.Books.Vanish(record.Piece{Rep: rep})
	placed(m, roomtest.Job("waits", "a", 1, 4))
	told += "+waits of a;"
	require.Equal(t, told, own.books, "what is imagined is not told, nor what is tried")
	m.Books.Reappear(record.Piece{Rep: rep})
	m.Finished(rep)
	told += "workers leaves 0 of n2;workers leaves 0 of n1;"
	require.Equal(t, told, own.books)
	require.Empty(t, given.books)

	spec = roomtest.Job("two", "a", 1, 1)
	spec.Groups = append(spec.Groups, spec.Groups[0])
	spec.Groups[0].Name, spec.Groups[1].Name = "leader", "workers"
	m.Run(spec, "n3", "n4")
	require.Equal(t, told+"+two of a;leader holds 0 of n3;workers holds 0 of n4;", own.books)
}

// Invariant 4.
func TestBooksAreRestored(t *testing.T) {
	given := newClerk()
	m := machine(t, given)
	m.Wait(roomtest.Job("waits", "a", 1, 4))
	name, books := m.Scoring.Save()
	require.Equal(t, "ruler", name)
	require.Equal(t, "+waits of a;", string(books))

	other := newClerk()
	twin := machine(t, other)
	twin.NoRefusal(twin.Scoring.RestoreBooks(books))
	require.Equal(t, "+waits of a;", string(books), "they are the caller's own")
	_, again := twin.Scoring.Save()
	require.Equal(t, books, again)
	require.Empty(t, other.books)
}

func TestBooksThatAreNoneAreRefused(t *testing.T) {
	for name, restore := range map[string]func(string) (berth.BookkeepingScorer, error){
		"an error":        func(string) (berth.BookkeepingScorer, error) { return nil, errors.New("no books") },
		"nothing":         func(string) (berth.BookkeepingScorer, error) { return nil, nil },
		"of another name": func(string) (berth.BookkeepingScorer, error) { return &renamed{}, nil },
	} {
		given := newClerk()
		m := machine(t, given)
		own := given.own()
		own.other = restore
		m.Refused(m.Scoring.RestoreBooks([]byte("books")), berth.ErrInvalid, "scorerBooks")
		m.Wait(roomtest.Job("waits", "a", 1, 4))
		require.Equal(t, "+waits of a;", own.books, "%s: the former one goes on", name)
		fresh := score.New(m.State)
		given.other = restore
		m.Refused(fresh.Use(given), berth.ErrInvalid, "scorerBooks")
	}
}

type renamed struct{ clerk }

func (r *renamed) Name() string { return "renamed" }

// One that is restored need not choose among domains any more: all of them are alike then.
func TestARestoredScorerMayChooseAmongNoDomains(t *testing.T) {
	given := newClerk()
	given.rack = "r2"
	m := machine(t, given)
	gang := roomtest.Job("waits", "a", 2, 3)
	gang.Topology.Required = "rack"
	require.Equal(t, []berth.NodeID{"n3", "n4"}, placed(m, gang))
	given.own().other = func(string) (berth.BookkeepingScorer, error) { return &nodesAlone{BookkeepingScorer: newClerk()}, nil }
	m.NoRefusal(m.Scoring.RestoreBooks(nil))
	gang.ID = "again"
	require.Equal(t, []berth.NodeID{"n1", "n2"}, placed(m, gang))
}

type nodesAlone struct{ berth.BookkeepingScorer }

// Invariant 5.

// keeping is a fleet of one node of 8 GPUs and one of 4, which is asked for both.
func keeping(t roomtest.TB, change func(*berth.Job)) *roomtest.Machine {
	m := roomtest.New(t, berth.Config{Levels: []string{"rack"}})
	m.Join(roomtest.Node("large", 8, "r1"))
	m.Join(roomtest.Node("small", 4, "r1"))
	m.Queue("a", 0)
	large, one := roomtest.Job("large", "a", 1, 8), roomtest.Job("one", "a", 1, 1)
	change(&one)
	large.Groups[0].Selector.Products = []string{"H100"}
	for range 60 {
		m.Scoring.Submitted(m.Admit(large).Job)
		m.Scoring.Submitted(m.Admit(one).Job)
		large.ID, one.ID = large.ID+"x", one.ID+"x"
	}
	m.Break() // those that are admitted stand nowhere
	return m
}

func choice(m *roomtest.Machine, spec berth.Job) *berth.PlaceChoice {
	r := requestOf(m, spec)
	at := place(m, r)
	return m.Scoring.Choice(r, at[0].Hold.Node, func(r *gang.Request) []gang.Member { return place(m, r) })
}

func TestAChoiceSaysWhatAPlaceKeeps(t *testing.T) {
	m := keeping(t, func(*berth.Job) {})
	c := choice(m, roomtest.Job("waits", "a", 1, 1))
	require.Equal(t, berth.NodeID("small"), c.Node)
	require.Equal(t, berth.NodeID("large"), c.Instead)
	require.EqualValues(t, 1, c.Keeps[0].Members)
	require.Equal(t, 8, c.Keeps[0].Claim.GPUs)
	require.Equal(t, "small rather than large: keeps room for 1 more of 8xH100", c.Text)

	m.Run(roomtest.Job("runs", "a", 1, 8), "large")
	require.Equal(t, "small: no other place takes more from what is typically asked for", choice(m, roomtest.Job("more", "a", 1, 1)).Text)
}

// Members that are placed together, or on instances, are not placed by demand, nor is anything
// before there is any.
func TestNoChoiceIsExplainedWhereDemandDoesNotDecide(t *testing.T) {
	m := keeping(t, func(*berth.Job) {})
	require.Nil(t, choice(m, roomtest.Job("pair", "a", 2, 1)))
	instance := roomtest.Job("instance", "a", 1, 0)
	instance.Groups[0].Claim = berth.MIGInstance("1g.10gb")
	r := requestOf(m, instance)
	require.Nil(t, m.Scoring.Choice(r, 0, nil))
	r = requestOf(m, roomtest.Job("large-one", "a", 1, 8))
	require.Nil(t, m.Scoring.Choice(r, m.NodeNamed("small").Index, nil), "it does not fit there")

	m = machine(t, nil)
	require.Nil(t, m.Scoring.Choice(requestOf(m, roomtest.Job("waits", "a", 1, 1)), 0, nil))
}

// A node that is excluded by the request is no other place.
func TestAnotherPlaceIsOneThatTheRequestAdmits(t *testing.T) {
	m := keeping(t, func(*berth.Job) {})
	r := *requestOf(m, roomtest.Job("waits", "a", 1, 1))
	r.Groups = slices.Clone(r.Groups)
	r.Groups[0].Match = func(n topology.NodeIndex) bool { return n == m.NodeNamed("small").Index }
	c := m.Scoring.Choice(&r, m.NodeNamed("small").Index, func(r *gang.Request) []gang.Member { return place(m, r) })
	require.Empty(t, c.Instead)
}

// A share leaves a whole GPU alone where it can.
func TestAShareGoesBesideOthers(t *testing.T) {
	m := keeping(t, func(*berth.Job) {})
	m.Run(shared("runs", 800), "small")
	require.Equal(t, "small rather than large: keeps room for 1 more of 8xH100", choice(m, shared("waits", 100)).Text)
}
