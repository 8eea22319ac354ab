// Package answer explains and reports: why a job waits, what it would take, what the fleet does,
// what one fault would take down, where an observed world differs. It changes nothing.
package answer

import (
	"fmt"
	"strconv"

	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/backlog"
	"github.com/berth-sched/berth/core/internal/books"
	"github.com/berth-sched/berth/core/internal/evict"
	"github.com/berth-sched/berth/core/internal/gpus"
	"github.com/berth-sched/berth/core/internal/life"
	"github.com/berth-sched/berth/core/internal/search"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/core/internal/upkeep"
	"github.com/berth-sched/berth/core/internal/victim"
)

// Answers are given about the rooms below. It owns nothing.
type Answers struct {
	agenda  *agenda.Agenda
	state   *state.State
	books   *books.Books
	backlog *backlog.Backlog
	upkeep  *upkeep.Upkeep
	life    *life.Life
	gpus    *gpus.GPUs
	search  *search.Search
	victims *victim.Victims
	evict   *evict.Evict
}

// New returns one that stands on the rooms below.
func New(agenda *agenda.Agenda, state *state.State, books *books.Books, backlog *backlog.Backlog, upkeep *upkeep.Upkeep, life *life.Life, gpus *gpus.GPUs, search *search.Search, victims *victim.Victims, evict *evict.Evict) *Answers {
	return &Answers{
		agenda: agenda, state: state, books: books, backlog: backlog, upkeep: upkeep, life: life, gpus: gpus, search: search,
		victims: victims, evict: evict,
	}
}

// failedStarts says how often in a row a replica failed to start.
func failedStarts(n int) string {
	if n == 1 {
		return "its last start failed"
	}
	return fmt.Sprintf("its last %d starts failed", n)
}

// count is a number of things in words, as in "1 node" or "2 nodes".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
