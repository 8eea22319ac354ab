package baseline

// Greedy starts whatever fits, in the order of submission: nothing is kept for anybody, so a large
// gang may wait for ever beside small jobs.
type Greedy struct{}

// Pass implements Policy.
func (Greedy) Pass(p *Pass) {
	for _, j := range p.startInOrder(p.Waiting()) {
		if at := p.Place(j); at != nil {
			p.Start(j, at)
		}
	}
}
