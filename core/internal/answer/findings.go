package answer

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/gang"
)

// noFindings is what there is to tell where no node qualifies.
func (an *Answers) noFindings(r *gang.Request) []berth.LevelFinding {
	required, needed := r.Required, 0
	for i := range r.Groups {
		needed += r.Groups[i].Members
		if len(r.Groups) == 1 {
			required = r.Around(i)
		}
	}
	return []berth.LevelFinding{{Level: an.state.Fleet.Tree().LevelName(required), MembersNeeded: needed}}
}

// findings tells what the search finds at each level at which it looks.
func (an *Answers) findings(r *gang.Request) []berth.LevelFinding {
	tree := an.state.Fleet.Tree()
	var list []berth.LevelFinding
	for _, f := range an.state.Fleet.DiagnoseLevels(r) {
		finding := berth.LevelFinding{
			Level: tree.LevelName(f.Level), Domains: f.Domains, DomainsLargeEnough: f.Enough, MembersFit: f.BestMembers, MembersNeeded: f.Needed,
		}
		switch {
		case f.BestMembers == 0:
		case f.BestNode >= 0:
			finding.Best = tree.NodeName(f.BestNode)
		default:
			finding.Best = tree.DomainString(f.Best)
		}
		lacks := func(what string, domains int) {
			if domains > 0 {
				finding.Shortfalls = append(finding.Shortfalls, berth.Shortfall{What: what, Domains: domains})
			}
		}
		lacks("healthy nodes", f.Health)
		lacks("GPUs", f.GPUs)
		lacks("whole segments", f.Segments)
		for r, domains := range f.Host {
			lacks(countable.Resource(r).Words(), domains)
		}
		for i, d := range an.state.Config.Resources {
			lacks(d.Name, f.Declared[i])
		}
		lacks("rails", f.Rails)
		lacks("spread", f.Spread)
		lacks("capacity for all groups", f.Together)
		list = append(list, finding)
	}
	return list
}
