package script

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/mig"
)

// partition reads how a GPU is used: mode=mig and instances=3g.40gb@0:4|3g.40gb@4:4.
func (a *arguments) partition() (berth.GPUMode, []mig.Placement) {
	mode := berth.GPUModeWhole
	a.one("mode", &mode)
	var instances []mig.Placement
	for _, text := range a.list("instances") {
		placement, err := mig.ParsePlacement(text)
		if err != nil {
			a.fail("instances=: %v", err)
		}
		instances = append(instances, placement)
	}
	return mode, instances
}

func partitionGPU(_ *Session, a *arguments) ([]berth.Event, error) {
	e := berth.GPUPartitioned{Node: berth.NodeID(a.word(0)), GPU: a.number(1)}
	e.Mode, e.Instances = a.partition()
	return one(e, a.finish(2))
}

// setTable makes a table from one of package mig, with some of its profiles left out.
func setTable(_ *Session, a *arguments) ([]berth.Event, error) {
	like := a.text("like")
	table, known := mig.Lookup(like)
	if !known {
		a.fail("like=%s: package mig has no such table", like)
	}
	table.Name = a.word(0)
	for _, text := range a.list("without") {
		at := slices.IndexFunc(table.Profiles, func(p mig.Profile) bool { return p.Name.String() == text })
		if at < 0 {
			a.fail("without=: %s has no %s", like, text)
			continue
		}
		table.Profiles = slices.Delete(table.Profiles, at, at+1)
	}
	return one(berth.MIGTableSet{Table: table}, a.finish(1))
}

// geometry reads main:adaptive:cost=30s,layout=3g.40gb|3g.40gb.
func (a *arguments) geometry(text string) berth.Geometry {
	pool, rest, _ := strings.Cut(text, ":")
	word, pairs, more := strings.Cut(rest, ":")
	var kind berth.GeometryKind
	if err := kind.UnmarshalText([]byte(word)); err != nil {
		a.fail("geometry=%s is not of the form pool:kind:key=value,...: %v", text, err)
		return berth.Geometry{}
	}
	inner := &arguments{}
	if more {
		inner.add(strings.Split(pairs, ","))
	}
	g := berth.Geometry{
		Pool: pool, Kind: kind,
		Cost: inner.span("cost"), Interval: inner.span("interval"), PerHour: inner.integer("per-hour", 0),
		HoldLimit: inner.spanOrOff("hold-limit"),
	}
	for _, profile := range inner.list("layout") {
		name, err := mig.ParseProfileName(profile)
		if err != nil {
			inner.fail("layout=: %v", err)
		}
		g.Layout = append(g.Layout, name)
	}
	if err := inner.finish(0); err != nil {
		a.fail("geometry=%s: %v", pool, err)
	}
	return g
}

// minInstance reads what an instance must have, if anything.
func (a *arguments) minInstance() *berth.MinInstance {
	f := berth.MinInstance{MinSMs: a.integer("min-sms", 0), MinMemoryMiB: a.memory("min-instance-memory", 0)}
	if f == (berth.MinInstance{}) {
		return nil
	}
	return &f
}

// parseHeld reads n1[3:1g.10gb@2:1], a place with an instance, or what parsePlace reads.
func parseHeld(text string) (berth.MemberPlacement, error) {
	p := berth.MemberPlacement{}
	if rest, borrowed := strings.CutSuffix(text, ":borrowed]"); borrowed {
		p.Borrowed, text = true, rest+"]"
	}
	if at := strings.IndexByte(text, ':'); at >= 0 && strings.HasSuffix(text, "]") {
		instance, err := mig.ParsePlacement(text[at+1 : len(text)-1])
		if err != nil {
			return p, err
		}
		p.Instance = instance
		text = text[:at] + "]"
	}
	var err error
	p.Node, p.GPUs, err = parsePlace(text)
	return p, err
}

// steps prints what a Repartition changes, as in "n1[3] mig -1g.10gb@0:1 +7g.80gb@0:8".
func steps(r *berth.Repartition) string {
	line := fmt.Sprintf("%s[%d] %s", r.Node, r.GPU, r.Mode)
	for _, p := range r.Destroy {
		line += " " + mig.Step{Placement: p}.String()
	}
	for _, p := range r.Create {
		line += " " + mig.Step{Create: true, Placement: p}.String()
	}
	return line
}

// after prints the orders for which a Bind waits.
func after(ids []berth.OrderID) string {
	if len(ids) == 0 {
		return ""
	}
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = fmt.Sprintf("#%d", id)
	}
	return " after " + join(names)
}
