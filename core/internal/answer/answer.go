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
//
// Its invariants:
//
//  1. No answer changes anything that another one, or a pass, could tell. Equal states get equal
//     answers.
//  2. A reason names what is in the way now: a limit before capacity, and of capacity what is
//     short.
//  3. The victims and moves of a start plan are those that the next pass would take. Where there
//     are none, a text says why.
//  4. A report counts every GPU once: held, free or out of service. What is free is stranded if no
//     member that waits fits on its node.
//  5. A world that is as the core has it does not differ from it. Each difference is named once, by
//     the event that settles it if there is one.
//  6. A fault of a process takes its replica and, by the mode of the GPU, those beside it; one of
//     the GPU takes all. A replica is down if a group has less than its minimum then.
//  7. What is handed out is the caller's own.
//  8. Replicas that wait alike are told as one, whether they are records by now or a number.
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
