package evictable

// Spoils are changes of what an index keeps, each of which leaves it wrong, by name.
var Spoils = map[string]func(*Index){
	"the least cost of a tier": func(p *Index) {
		for _, t := range p.tiers {
			t.known, t.least = true, least{}
		}
	},
	"the key of a tier": func(p *Index) {
		for _, t := range p.tiers {
			t.priority++
		}
	},
	"a tier that is known by another key":  func(p *Index) { p.tiers[tierKey{priority: 7}] = &tier{} },
	"a place":                              func(p *Index) { p.nodes[0].refs[0].tier.places[0].held++ },
	"a place that is left out":             func(p *Index) { p.nodes[0].refs = nil },
	"the bound of a node":                  func(p *Index) { p.nodes[0].bound.fixed-- },
	"the rank of a node":                   func(p *Index) { p.nodes[0].rank++ },
	"the order of names":                   func(p *Index) { p.names[0], p.names[1] = p.names[1], p.names[0] },
	"a node that is left out of the names": func(p *Index) { p.names = p.names[:len(p.names)-1] },
	"a node that had the number before":    func(p *Index) { p.nodes[0].node = p.nodes[1].node },
	"a node that is to be put in order":    func(p *Index) { p.renamed = append(p.renamed, 0) },
}
