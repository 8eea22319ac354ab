package baseline

// FIFO starts jobs in the order in which they were submitted. The first that finds no place
// blocks all that come after it, whatever their queue, so that nobody overtakes.
type FIFO struct{}

// Pass implements Policy.
func (FIFO) Pass(p *Pass) { p.startInOrder(p.Waiting()) }

// startInOrder starts jobs of a list until one finds no place, and returns that one and those
// that come after it.
func (p *Pass) startInOrder(list []*Job) []*Job {
	for i, j := range list {
		at := p.Place(j)
		if at == nil {
			return list[i:]
		}
		p.Start(j, at)
	}
	return nil
}
