package nvmlsrc

import "time"

func (p *FakeMachine) version() (string, error) { return p.driver, nil }
func (p *FakeMachine) count() (int, error)      { return len(p.gpus), p.countErr }

func (p *FakeMachine) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed++
	return nil
}

func (p *FakeMachine) device(i int) (device, error) {
	g := p.gpus[i]
	return answer(g, queryDevice, func() (device, error) { return g, nil })
}

// watch collects what is raised from now on.
func (p *FakeMachine) watch() (watch, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.watchErr != nil {
		return nil, p.watchErr
	}
	w := &pretendWatch{box: p, raised: make(chan event, pretendBacklog)}
	if p.watches == nil {
		p.watches = map[*pretendWatch]bool{}
	}
	p.watches[w] = true
	return w, nil
}

// pretendBacklog is how many events are kept for a slow subscriber; a driver drops the rest
// too.
const pretendBacklog = 64

type pretendWatch struct {
	box    *FakeMachine
	raised chan event
	broken error // what a wait ends with; nil: it is not broken
}

func (w *pretendWatch) raise(e event) {
	select {
	case w.raised <- e:
	default:
	}
}

func (w *pretendWatch) wait(atMost time.Duration) (event, bool, error) {
	if w.broken != nil {
		return event{}, false, w.broken
	}
	select {
	case e := <-w.raised:
		return e, true, nil
	default:
	}
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	select {
	case e := <-w.raised:
		return e, true, nil
	case <-timer.C:
		return event{}, false, nil
	}
}

func (w *pretendWatch) close() error {
	w.box.mu.Lock()
	defer w.box.mu.Unlock()
	delete(w.box.watches, w)
	return nil
}
