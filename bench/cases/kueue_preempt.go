package cases

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berth-sched/berth"
)

// A kueueCase is a scenario of Kueue's preemption: what runs, one workload that comes,
// and what has to go for it. What its words become:
//
//   - the quota of a queue or a cohort is the guarantee; that of a cohort is what it
//     states itself and what those below it have. The topmost may not use more, which
//     is the capacity: see kueue_quota.go.
//   - the first resource that is contended is GPUs, in units of what all its amounts have
//     in common: a workload is a gang with a member for each. Up to two others are host
//     memory and host CPU of one more member.
//   - the policy of the queue of the workload that comes says what it must leave alone:
//     see kueue_policy.go. The strategies of fair sharing have no counterpart: the core
//     goes by the fair shares themselves.
//   - the first to go among equals was admitted last, and then has the smaller name. What
//     each would lose is not known, so all write checkpoints that cost the same.
//
// Compared is what is stopped for the workload that comes, until it is admitted. Whether it is
// is not told by the file, nor what becomes of the victims.
type kueueCase struct {
	ID         string            `json:"id"`
	Name       string            `json:"name"`
	Algorithm  string            `json:"algorithm"`
	Cohorts    []kueueCohort     `json:"cohorts"`
	Queues     []kueueQueue      `json:"queues"`
	Admitted   []kueueWorkload   `json:"admitted"`
	Incoming   kueueWorkload     `json:"incoming"`
	Expect     []kueueVictim     `json:"expect_victims"`
	Strategies []json.RawMessage `json:"strategies"`

	// Notes for people.
	Source  json.RawMessage `json:"source"`
	Teaches json.RawMessage `json:"teaches"`
}

type kueueCohort struct {
	Name   string               `json:"name"`
	Parent string               `json:"parent"`
	Weight *float64             `json:"weight"`
	Quota  map[string]kueueHave `json:"quota"`
}

type kueueQueue struct {
	Name   string               `json:"name"`
	Cohort string               `json:"cohort"`
	Weight *float64             `json:"weight"`
	Quota  map[string]kueueHave `json:"quota"`
	Policy json.RawMessage      `json:"policy"`

	policy kueuePolicy
}

type kueueHave struct {
	Nominal        int64  `json:"nominal"`
	BorrowingLimit *int64 `json:"borrowing_limit"`
	LendingLimit   *int64 `json:"lending_limit"`
}

type kueueWorkload struct {
	Name       string           `json:"name"`
	Queue      string           `json:"queue"`
	Priority   int32            `json:"priority"`
	Usage      map[string]int64 `json:"usage"`
	Request    map[string]int64 `json:"request"`
	AdmittedAt int64            `json:"admitted_at"`
	QueuedAt   int64            `json:"queued_at"`
	Evicted    bool             `json:"evicted"`
	Contended  []string         `json:"contended"`
}

type kueueVictim struct {
	Workload string `json:"workload"`
	Reason   string `json:"reason"`
}

// kueueRounds is how many minutes a scenario is given.
const kueueRounds = 8

func readKueuePreemption(file map[string]json.RawMessage) ([]scenario, error) {
	list, err := readList[kueueCase](file, "preemption_cases")
	if err != nil {
		return nil, err
	}
	if _, has := file["flap_cases"]; !has {
		return list, nil
	}
	flaps, err := readList[flapCase](file, "flap_cases")
	return append(list, flaps...), err
}

func (c *kueueCase) id() string { return c.ID }

func (c *kueueCase) check() *Error {
	names := map[string]bool{}
	for i := range c.Cohorts {
		if h := &c.Cohorts[i]; names[h.Name] || h.Name == "" {
			return malformed(fmt.Sprintf("cohorts[%d].name", i), fmt.Sprintf("%q is empty or doubled", h.Name))
		}
		names[c.Cohorts[i].Name] = true
	}
	for i := range c.Cohorts {
		if h := &c.Cohorts[i]; h.Parent != "" && !names[h.Parent] {
			return malformed(fmt.Sprintf("cohorts[%d].parent", i), fmt.Sprintf("there is no cohort %q", h.Parent))
		}
	}
	queues := map[string]bool{}
	for i := range c.Queues {
		q, at := &c.Queues[i], fmt.Sprintf("queues[%d]", i)
		switch {
		case queues[q.Name] || q.Name == "":
			return malformed(at+".name", fmt.Sprintf("%q is empty or doubled", q.Name))
		case q.Cohort != "" && !names[q.Cohort]:
			return malformed(at+".cohort", fmt.Sprintf("there is no cohort %q", q.Cohort))
		}
		queues[q.Name] = true
		if err := q.readPolicy(); err != nil {
			return malformed(at+".policy", err.Error())
		}
	}
	if err := checkAmounts(c); err != nil {
		return err
	}
	running := map[string]bool{}
	for i := range c.Admitted {
		a := &c.Admitted[i]
		if !queues[a.Queue] {
			return malformed(fmt.Sprintf("admitted[%d].queue", i), fmt.Sprintf("there is no queue %q", a.Queue))
		}
		if running[a.Name] {
			return malformed(fmt.Sprintf("admitted[%d].name", i), fmt.Sprintf("%q is doubled", a.Name))
		}
		running[a.Name] = true
	}
	if !queues[c.Incoming.Queue] {
		return malformed("incoming.queue", fmt.Sprintf("there is no queue %q", c.Incoming.Queue))
	}
	for i, v := range c.Expect {
		if !running[v.Workload] {
			return malformed(fmt.Sprintf("expect_victims[%d].workload", i), fmt.Sprintf("%q does not run", v.Workload))
		}
	}
	return nil
}

// checkAmounts refuses amounts whose sums might not fit.
func checkAmounts(c *kueueCase) *Error {
	bad := func(amount int64) bool { return amount < 0 || amount > 1<<50 }
	for _, have := range c.haves() {
		for _, key := range slices.Sorted(maps.Keys(have)) {
			h := have[key]
			if bad(h.Nominal) || h.BorrowingLimit != nil && bad(*h.BorrowingLimit) || h.LendingLimit != nil && bad(*h.LendingLimit) {
				return malformed("quota["+key+"]", "is out of range")
			}
		}
	}
	for _, w := range c.workloads() {
		for _, key := range slices.Sorted(maps.Keys(w.amounts())) {
			if bad(w.amounts()[key]) {
				return malformed(w.Name+"["+key+"]", "is out of range")
			}
		}
		if w.AdmittedAt < -1<<31 || w.AdmittedAt > 1<<31 {
			return malformed(w.Name+".admitted_at", "is out of range")
		}
	}
	return nil
}

// amounts is what a workload takes.
func (w *kueueWorkload) amounts() map[string]int64 {
	if w.Usage != nil {
		return w.Usage
	}
	return w.Request
}

// workloads lists what runs and what comes.
func (c *kueueCase) workloads() []*kueueWorkload {
	var list []*kueueWorkload
	for i := range c.Admitted {
		list = append(list, &c.Admitted[i])
	}
	return append(list, &c.Incoming)
}

// haves lists all quotas.
func (c *kueueCase) haves() []map[string]kueueHave {
	var list []map[string]kueueHave
	for i := range c.Cohorts {
		list = append(list, c.Cohorts[i].Quota)
	}
	for i := range c.Queues {
		list = append(list, c.Queues[i].Quota)
	}
	return list
}

func (c *kueueCase) run() Result {
	r := Result{ID: c.ID, Name: c.Name, Kind: c.Algorithm}
	admitted, ours, ok := c.play(&r)
	if !ok {
		return r
	}
	theirs := []string{}
	for _, v := range c.Expect {
		theirs = append(theirs, v.Workload)
	}
	slices.Sort(theirs)
	if r.Agree = slices.Equal(ours, theirs); r.Agree {
		return r
	}
	r.Detail = fmt.Sprintf("stops %s; Kueue: %s", orNobody(ours), orNobody(theirs))
	r.Rule, r.Sums = c.rule(admitted, ours, theirs)
	return r
}

// play lets a scenario go on for its rounds, and tells what was stopped for the workload that
// comes until it was admitted, if it was; not ok: it could not, and the result says why.
func (c *kueueCase) play(r *Result) (admitted bool, victims []string, ok bool) {
	w, wrong := c.world()
	if wrong != nil {
		wrong.Case = r.ID
		r.Detail, r.Rule, r.Err = wrong.Error(), wrong.rule(), wrong
		return false, nil, false
	}
	look := func() error {
		if !admitted {
			admitted, victims = len(w.running[c.incoming()]) > 0, c.victims(w)
		}
		return nil
	}
	w.before = look
	for range kueueRounds {
		if _, err := w.round(); err != nil {
			r.Detail = err.Error()
			return false, nil, false
		}
	}
	err := look()
	return admitted, victims, err == nil
}

// incoming is the ID of the workload that comes.
func (c *kueueCase) incoming() berth.JobID {
	if c.Incoming.Name != "" {
		return berth.JobID(c.Incoming.Name)
	}
	return "incoming"
}

// victims are the workloads that were stopped for the one that comes, in order of name.
func (c *kueueCase) victims(w *world) []string {
	list := []string{}
	for i := range c.Admitted {
		if w.stopped[berth.JobID(c.Admitted[i].Name)] == c.incoming() {
			list = append(list, c.Admitted[i].Name)
		}
	}
	slices.Sort(list)
	return list
}

func orNobody(names []string) string {
	if len(names) == 0 {
		return "nobody"
	}
	return strings.Join(names, " ")
}
