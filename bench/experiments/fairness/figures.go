package fairness

import (
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/study"
)

var figures = []study.Figure[*run]{
	{Name: "mean distance of a team from its entitlement, % of the fleet", Of: (*run).distance},
	{Name: teams[night].name + " in the morning, % of the fleet", Of: (*run).morningShare},
	{Name: "lacking of guarantees while wanted, GPU-hours", Of: (*run).lacked},
	{Name: "Jain's index of use for entitlement, by working day, %", Of: (*run).jainEntitled},
	{Name: "Jain's index of use for even part, by working day, %", Of: (*run).jainEven},
	{Name: "fleet in use, %", Of: (*run).inUse},
}

// A teamFigure is about a team in a week.
type teamFigure struct {
	name string
	of   func(r *run, team int) float64
}

var teamFigures = []teamFigure{
	{"had", func(r *run, team int) float64 { return study.GPUHours(sum(r.teams[team].had)) }},
	{"entitled", func(r *run, team int) float64 { return study.GPUHours(sum(r.teams[team].entitled)) }},
	{"worst lag", func(r *run, team int) float64 { lag, _ := r.teams[team].extremes(); return lag }},
	{"worst lead", func(r *run, team int) float64 { _, lead := r.teams[team].extremes(); return lead }},
	{"lacked", func(r *run, team int) float64 { return study.GPUHours(sum(r.teams[team].lacked)) }},
	{"lacked %", (*run).lackedPart},
	{"wait p50", func(r *run, team int) float64 { return r.teams[team].wait(0.5) }},
	{"wait p99", func(r *run, team int) float64 { return r.teams[team].wait(0.99) }},
	{"unstarted %", func(r *run, team int) float64 { return r.teams[team].unstartedPart() }},
	{"started again", func(r *run, team int) float64 { return float64(r.teams[team].again) }},
	{"guaranteed", func(r *run, team int) float64 { return study.GPUHours(float64(r.ledger[team].Guaranteed)) }},
	{"borrowed", func(r *run, team int) float64 { return study.GPUHours(float64(r.ledger[team].Borrowed)) }},
}

// slotsPerDay is how many slots a day has.
const slotsPerDay = int(berth.Day / study.Slot)

// sum adds up slots.
func sum(slots []int64) float64 {
	total := int64(0)
	for _, v := range slots {
		total += v
	}
	return float64(total)
}

// percent of the fleet's GPU time in so many slots.
func (r *run) percent(gpuTime float64, slots int) float64 {
	return 100 * gpuTime / (float64(r.b.gpus()) * float64(slots) * float64(study.Slot))
}

// morning adds up a series over the mornings of working days, and tells how many slots
// these are.
func (r *run) morning(series []int64) (total float64, slots int) {
	for day := range r.b.Days {
		if !workingDay(day + 1) {
			continue
		}
		from := day*slotsPerDay + morningFrom*slotsPerDay/24
		until := day*slotsPerDay + morningUntil*slotsPerDay/24
		total += sum(series[from:until])
		slots += until - from
	}
	return total, slots
}

// morningShare is what the night's tenant has in the morning, in percent of the fleet.
func (r *run) morningShare() float64 {
	return r.percent(r.morning(r.teams[night].had))
}

// morningEntitled is how much of the fleet the teams are entitled to in the morning, in
// percent: all of it if they want all of it.
func (r *run) morningEntitled() float64 {
	entitled := 0.0
	for team := range r.teams {
		entitled += r.percent(r.morning(r.teams[team].entitled))
	}
	return entitled
}

// distance is how much of the fleet is with another team than the one entitled to
// it, or idle though wanted, in percent, on average over time.
func (r *run) distance() float64 {
	off := 0.0
	for team := range r.teams {
		off += sum(r.teams[team].off)
	}
	return r.percent(off, r.b.Days*slotsPerDay) / float64(len(teams))
}

// lackedPart is what a team lacked of its guarantee while it wanted it, in percent.
func (r *run) lackedPart(team int) float64 {
	f := &r.teams[team]
	return 100 * sum(f.lacked) / max(sum(f.due), 1)
}

// lacked is what the teams lacked of their guarantees, in GPU-hours.
func (r *run) lacked() float64 {
	total := 0.0
	for team := range r.teams {
		total += study.GPUHours(sum(r.teams[team].lacked))
	}
	return total
}

// extremes are how far a team was behind and ahead at the most, in GPU-hours: what it
// had since the week began, less what it was entitled to.
func (f *book) extremes() (lag, lead float64) {
	balance := int64(0)
	for slot := range f.had {
		balance += f.had[slot] - f.entitled[slot]
		lag, lead = min(lag, study.GPUHours(float64(balance))), max(lead, study.GPUHours(float64(balance)))
	}
	return lag, lead
}

// jainOfDays is the mean over the working days of Jain's index of what each team had
// that day for what is due to it.
func (r *run) jainOfDays(due func(team, day int) float64) float64 {
	var days []float64
	for day := range r.b.Days {
		if !workingDay(day + 1) {
			continue
		}
		var normalised []float64
		for team := range r.teams {
			if part := due(team, day); part > 0 {
				normalised = append(normalised, sum(dayOf(r.teams[team].had, day))/part)
			}
		}
		days = append(days, study.Jain(normalised))
	}
	return stat.Mean(days, nil)
}

func dayOf(slots []int64, day int) []int64 { return slots[day*slotsPerDay : (day+1)*slotsPerDay] }

func (r *run) jainEntitled() float64 {
	return 100 * r.jainOfDays(func(team, day int) float64 { return sum(dayOf(r.teams[team].entitled, day)) })
}

func (r *run) jainEven() float64 {
	return 100 * r.jainOfDays(func(team, _ int) float64 { return r.b.evenPart(team) * float64(berth.Day) })
}

// inUse is how much of the fleet is, in percent.
func (r *run) inUse() float64 {
	had := 0.0
	for team := range r.teams {
		had += sum(r.teams[team].had)
	}
	return r.percent(had, r.b.Days*slotsPerDay)
}

// wait is a quantile in hours.
func (f *book) wait(q float64) float64 {
	if len(f.waits) == 0 {
		return 0
	}
	return float64(study.Quantile(slices.Clone(f.waits), q)) / float64(berth.Hour)
}

// unstartedPart of the jobs that were handed in, in percent.
func (f *book) unstartedPart() float64 {
	return 100 * float64(f.unstarted) / float64(max(f.submitted, 1))
}
