package script

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth"
)

func reserve(_ *Session, a *arguments) ([]berth.Event, error) {
	r := berth.Reservation{
		ID: berth.ReservationID(a.word(0)), Queue: berth.QueueID(a.text("queue")),
		From: berth.Time(a.span("from")), Until: berth.Time(a.span("until")), Every: a.span("every"), Clear: a.yes("clear"),
		GPUs: a.integer("gpus", 0), Required: a.text("required"), Reason: a.reason,
		Selector: berth.Selector{Pools: a.list("pool"), Products: a.list("product"), Labels: a.labels("labels"), Tolerations: a.tolerations()},
	}
	names, err := expand(a.list("nodes"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		r.Nodes = append(r.Nodes, berth.NodeID(name))
	}
	if path := a.text("domain"); path != "" {
		r.Domain = strings.Split(path, "/")
	}
	return one(berth.ReservationSet{Reservation: r}, a.finish(1))
}

// reservations prints what is set aside.
func (s *Session) reservations() error {
	list := s.core.Report().Reservations
	for i := range list {
		s.print("%s: %s", holder(&list[i]), reserved(&list[i]))
	}
	if len(list) == 0 {
		s.print("none")
	}
	return nil
}

// holder names a reservation, or the gang that has it.
func holder(r *berth.ReservationReport) string {
	if r.ID != "" {
		return string(r.ID)
	}
	line := fmt.Sprintf("for %s/%d", r.Job, r.Replica)
	if r.Alternative > 0 {
		line += fmt.Sprintf(" as alternative %d", r.Alternative)
	}
	if r.Moving {
		line += ", which moves there"
	}
	return line
}

// reserved prints a reservation, as in "n1..n4 from 10h0m0s until 12h0m0s".
func reserved(r *berth.ReservationReport) string {
	line := fmt.Sprintf("%s from %s until %s", ranges(r.Nodes), clock(r.From), clock(r.Until))
	if len(r.Nodes) == 0 {
		line = "no nodes" + line
	}
	if r.Every > 0 {
		line += fmt.Sprintf(", every %v", r.Every)
	}
	if r.Clear {
		line += ", cleared for it"
	}
	if len(r.Conflicts) > 0 {
		line += ", in conflict with " + join(r.Conflicts)
	}
	return line
}

// ranges prints names in order, those that are numbered on from each other as a range.
func ranges(ids []berth.NodeID) string {
	var parts []string
	ids = slices.Clone(ids)
	slices.SortFunc(ids, compareNumbered)
	for i := 0; i < len(ids); {
		n := i + 1
		for n < len(ids) && follows(ids[n-1], ids[n]) {
			n++
		}
		if n-i > 2 {
			parts = append(parts, fmt.Sprintf("%s..%s", ids[i], ids[n-1]))
		} else {
			for _, id := range ids[i:n] {
				parts = append(parts, string(id))
			}
		}
		i = n
	}
	return join(parts)
}

// cutDigits divides a name like n12 into n and 12. False: it has no such end.
func cutDigits(id berth.NodeID) (prefix string, number int, ok bool) {
	prefix = strings.TrimRight(string(id), "0123456789")
	number, err := strconv.Atoi(string(id)[len(prefix):])
	return prefix, number, err == nil
}

func compareNumbered(a, b berth.NodeID) int {
	x, m, _ := cutDigits(a)
	y, n, _ := cutDigits(b)
	if x == y && m != n {
		return m - n
	}
	return strings.Compare(string(a), string(b))
}

func follows(a, b berth.NodeID) bool {
	x, m, numbered := cutDigits(a)
	y, n, alsoNumbered := cutDigits(b)
	return numbered && alsoNumbered && x == y && n == m+1
}

// expectReserved fails the script unless a reservation, or that of a gang, is there:
// with the nodes, the start and the end that are named.
func (s *Session) expectReserved(a *arguments) error {
	id, number, err := parseReplica(a.word(1))
	if err != nil {
		return err
	}
	list := s.core.Report().Reservations
	at := slices.IndexFunc(list, func(r berth.ReservationReport) bool {
		return string(r.ID) == a.word(1) || r.ID == "" && r.Job == id && r.Replica == number
	})
	if a.word(2) == "not" {
		if at >= 0 {
			return fmt.Errorf("it has %s", reserved(&list[at]))
		}
		return a.finish(3)
	}
	if at < 0 {
		return fmt.Errorf("there is no reservation %s", a.word(1))
	}
	r := &list[at]
	for _, want := range []struct{ key, got string }{
		{"nodes", ranges(r.Nodes)}, {"from", clock(r.From)}, {"until", clock(r.Until)},
	} {
		text, ok := a.lookup(want.key)
		if d, err := parseSpan(text); err == nil {
			text = d.String()
		}
		if ok && text != want.got {
			return fmt.Errorf("it has %s", reserved(r))
		}
	}
	return a.finish(2)
}
