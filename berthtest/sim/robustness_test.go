package sim_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/internal/worlds"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/drawn"
)

// Any bytes that are no snapshot, event or action are refused with a typed error;
// and what Restore takes is a core in order, whatever it was made of.
func TestR1_AnyBytesAreAValueOrATypedError(t *testing.T) {
	t.Parallel()
	taken, refused := 0, 0
	for seed := range drawn.Seeds(2) {
		config, log := recorded(t, seed)
		sched := fresh(t, config)
		random := rand.New(rand.NewPCG(seed, 4))
		for i := range log {
			tell(t, sched, &log[i])
			if random.IntN(10) > 0 {
				continue
			}
			for range 10 {
				broken, err := core.Restore(mutate(random, []byte(snapshot(t, sched))))
				if err != nil {
					requireTyped(t, err)
					refused++
					continue
				}
				taken++
				require.NoError(t, broken.Check())
				_, err = broken.Schedule(broken.Now())
				require.NoError(t, err)
				require.NoError(t, broken.Check())
			}
			decodeMutated(t, random, &log[i])
		}
	}
	if drawn.Many() {
		require.Greater(t, taken, 50, "mutations are too rough")
		require.Greater(t, refused, 50, "mutations are too mild")
	}
}

func decodeMutated(t *testing.T, random *rand.Rand, s *worlds.Step) {
	t.Helper()
	if s.Event != nil {
		line, err := berth.EncodeEvent(s.Event)
		if err != nil {
			requireTyped(t, err) // a refused event may be beyond words
			return
		}
		if _, err := berth.DecodeEvent(mutate(random, line)); err != nil {
			requireTyped(t, err)
		}
	}
	for _, a := range s.Actions {
		line, err := berth.EncodeOrder(a)
		require.NoError(t, err)
		if _, err := berth.DecodeOrder(mutate(random, line)); err != nil {
			requireTyped(t, err)
		}
	}
}

// mutate changes some bytes: mostly digits into digits, so that the form stays.
func mutate(random *rand.Rand, b []byte) []byte {
	for range 1 + random.IntN(3) {
		i := random.IntN(len(b))
		if random.IntN(8) == 0 {
			b[i] = byte(random.IntN(256))
			continue
		}
		for range len(b) {
			if '0' <= b[i] && b[i] <= '9' {
				b[i] = byte('0' + random.IntN(10))
				break
			}
			i = (i + 1) % len(b)
		}
	}
	return b
}

func requireTyped(t *testing.T, err error) {
	t.Helper()
	var e *berth.Error
	require.True(t, errors.As(err, &e), "%T: %v", err, err)
	require.NotEmpty(t, e.Event)
	require.NotEmpty(t, e.Reason)
	require.NotNil(t, e.Kind)
}

// A rejected event changes nothing: not a byte of the state, whatever it is in.
func TestR2_RejectedEventsChangeNothing(t *testing.T) {
	t.Parallel()
	for seed := range drawn.Seeds(2) {
		config, log := recorded(t, seed)
		sched, g := fresh(t, config), worlds.NewGenerator(seed)
		g.Config()
		bad := g.BadEvents()
		for i := range log {
			tell(t, sched, &log[i])
			if i%40 != int(seed%40) {
				continue
			}
			before := snapshot(t, sched)
			for _, e := range append(bad, unfitting(sched)...) {
				err := sched.Apply(sched.Now()+1, e)
				require.Error(t, err, "%#v", e)
				requireTyped(t, err)
				require.Equal(t, before, snapshot(t, sched), "%#v", e)
			}
			require.ErrorIs(t, sched.Apply(sched.Now()-1, berth.PolicyChanged{}), berth.ErrClock)
			_, err := sched.Schedule(sched.Now() - 1)
			require.ErrorIs(t, err, berth.ErrClock)
			require.Error(t, sched.Apply(sched.Now(), nil))
			require.Equal(t, before, snapshot(t, sched))
			require.NoError(t, sched.Check())
		}
	}
}

// unfitting lists events that are refused because of what the core holds.
func unfitting(sched *core.Core) []berth.Event {
	var list []berth.Event
	for _, a := range sched.Outstanding() {
		h := a.Header()
		if r, ok := a.(berth.Repartition); ok {
			list = append(list,
				berth.OrderReported{Order: h.ID, Outcome: berth.OutcomePartial},
				berth.OrderReported{Order: h.ID, Outcome: 9},
				berth.OrderReported{Order: h.ID, Outcome: berth.OutcomeDone, Reason: "\x01"},
				berth.OrderReported{Order: h.ID, Outcome: berth.OutcomeDone, Members: []berth.MemberRef{{}}},
				berth.GPUPartitioned{Node: r.Node, GPU: r.GPU, Mode: r.Mode, Instances: r.Create},
			)
			continue
		}
		list = append(list,
			berth.OrderReported{Order: h.ID, Outcome: berth.OutcomePartial},
			berth.OrderReported{Order: h.ID, Outcome: 9},
			berth.OrderReported{Order: h.ID, Outcome: berth.OutcomeDone, Reason: "\x01"},
			berth.OrderReported{Order: h.ID, Outcome: berth.OutcomeDone, Members: []berth.MemberRef{{}}},
			berth.OrderReported{Order: h.ID, Outcome: berth.OutcomePartial, Members: []berth.MemberRef{{Group: "nobody"}}},
			berth.MemberFailed{Job: h.Job, Replica: h.Replica, Incarnation: h.Incarnation},
			berth.MemberFailed{Job: h.Job, Replica: h.Replica, Incarnation: h.Incarnation - 1, Members: []berth.MemberRef{{}}},
			berth.JobSubmitted{Job: berth.Job{ID: h.Job, Queue: "org0", Groups: []berth.Group{{Members: 1, Claim: berth.Claim{GPUs: 1}}}}},
		)
	}
	for _, q := range sched.Report().Queues {
		if q.WaitingReplicas > 0 {
			list = append(list, berth.QueueRemoved{Queue: q.Queue})
		}
	}
	return list
}

// Memory is bounded by what lives: after long churn, when everything has left, the
// state is that of a new core, and no index holds on to anything.
func TestR3_NothingIsLeftBehind(t *testing.T) {
	for seed := range drawn.Seeds(2) {
		r := worlds.NewRun(30_000 + seed)
		must(t, r, seed)
		r.Leave()
		require.NoError(t, r.Err, "seed %d\n%s", seed, r.Tail())
		sched := r.Sim.Core()
		_, err := sched.Schedule(sched.Now() + berth.Time(berth.Hour)) // for so long rates are remembered
		require.NoError(t, err)
		require.NoError(t, sched.Check())
		policy := sched.Config().Policy // what is past is forgotten if it need not be remembered
		policy.UsageHalfLife, policy.Health, policy.RuntimeSamples = 0, berth.Health{}, berth.Off
		require.NoError(t, sched.Apply(sched.Now(), berth.PolicyChanged{Policy: policy}))
		if sched.Config().Ledger {
			require.NoError(t, sched.Apply(sched.Now(), berth.LedgerSettled{}))
		}
		empty := fresh(t, sched.Config())
		for i := range r.Log { // tables stay
			if e, ok := r.Log[i].Event.(berth.MIGTableSet); ok && r.Log[i].Refused == nil {
				require.NoError(t, empty.Apply(0, e))
			}
		}
		numbers := regexp.MustCompile("[0-9]+")
		size := func(sched *core.Core) (n int) { // what is known of demand is bounded by the kinds of it
			var parts map[string]json.RawMessage
			require.NoError(t, json.Unmarshal([]byte(snapshot(t, sched)), &parts))
			delete(parts, "demand")
			for _, part := range parts {
				n += len(numbers.ReplaceAll(part, []byte("0")))
			}
			return n
		}
		require.InDelta(t, size(empty), size(sched), 60, "numbers aside: %s", snapshot(t, sched))
		for _, field := range []string{
			"state.Jobs", "state.Orders", "state.Shapes", "state.NodeByID", "state.Classes.ByKey", "catalogue.Owners.ByKey",
			"backlog.Blocked.many", "backlog.QuotaBlocked", "backlog.GPUHolds", "gpus.Repartitions", "gpus.Astray",
		} {
			require.Zero(t, lengthOf(t, sched, field), "seed %d: %s", seed, field)
		}
	}
}

// The tables that use an index again do so: they are as long after a hundred
// generations as after the first few.
func TestR3_TablesDoNotGrow(t *testing.T) {
	sched := fresh(t, berth.Config{})
	tables := []string{"state.Nodes", "books.Queues", "state.Classes.List", "catalogue.Owners.Keys"}
	var first []int
	for generation := range 100 {
		churn(t, sched, berth.Time(generation)*berth.Time(berth.Minute))
		var lengths []int
		for _, field := range tables {
			lengths = append(lengths, lengthOf(t, sched, field))
		}
		if generation == 2 {
			first = lengths
		}
		if generation > 2 {
			require.Equal(t, first, lengths, "%v in generation %d", tables, generation)
		}
	}
}

// lengthOf reads how long a table of a room of a core is, or a count that it keeps of itself.
func lengthOf(t *testing.T, sched *core.Core, field string) int {
	t.Helper()
	v := reflect.ValueOf(sched).Elem()
	for name := range strings.SplitSeq(field, ".") {
		v = reflect.Indirect(v).FieldByName(name)
		require.True(t, v.IsValid(), "Core has no field %s any more: name its successor here", field)
	}
	if v.CanInt() {
		return int(v.Int())
	}
	return v.Len()
}
