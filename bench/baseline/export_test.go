package baseline

import (
	"fmt"

	"github.com/berth-sched/berth"
)

// A WatchedEASY notes when the first jobs of the queue were to start at the latest.
type WatchedEASY struct {
	EASY
	Promised map[*Job]berth.Time
}

func NewWatchedEASY() *WatchedEASY { return &WatchedEASY{Promised: map[*Job]berth.Time{}} }

func (w *WatchedEASY) Pass(p *Pass) {
	w.EASY.Pass(p)
	if waiting := p.Waiting(); len(waiting) > 0 {
		if _, noted := w.Promised[waiting[0]]; !noted {
			w.Promised[waiting[0]], _ = p.shadow(waiting[0])
		}
	}
}

// Broken lists the jobs that started later.
func (w *WatchedEASY) Broken() (list []string) {
	for j, at := range w.Promised {
		if j.Since > at {
			list = append(list, fmt.Sprintf("%s started at %d, not by %d", j.Spec.ID, j.Since, at))
		}
	}
	return list
}

// A WatchedCells notes first jobs of a queue that wait though the queue has cells for them, longer
// than until the next pass: a job may have become the first in the course of one.
type WatchedCells struct {
	*Cells
	Broken []string
	since  map[*Job]berth.Time
}

func NewWatchedCells(shares map[berth.QueueID]map[int]int) *WatchedCells {
	return &WatchedCells{Cells: NewCells(shares), since: map[*Job]berth.Time{}}
}

func (w *WatchedCells) Pass(p *Pass) {
	w.Cells.Pass(p)
	used, seen := map[berth.QueueID]int{}, map[berth.QueueID]bool{}
	for _, j := range p.s.holding {
		if j.Mark == guaranteed {
			used[j.Spec.Queue] += len(j.members)
		}
	}
	waiting := p.Waiting()
	for _, j := range waiting {
		used[j.Spec.Queue] += len(w.plans[j])
	}
	for _, j := range waiting {
		queue := j.Spec.Queue
		if w.plans[j] != nil || seen[queue] {
			continue
		}
		if seen[queue] = true; used[queue]+len(j.members) > w.cells[queue][0].nodes {
			continue
		}
		if since, noted := w.since[j]; !noted {
			w.since[j] = p.Now()
		} else if since < p.Now() {
			w.Broken = append(w.Broken, fmt.Sprintf("%s waits from %d to %d", j.Spec.ID, since, p.Now()))
		}
	}
}
