package check

import "fmt"

// A Promise is what a core owes to those who rely on it. The numbered ones are
// those of the project's design; the others are what the manual of package berth
// says in words.
type Promise string

const (
	// S1: no GPU, share or host capacity is held twice.
	S1 Promise = "S1"
	// S2: no gang is placed in part, below its minimum, after a batch of orders.
	S2 Promise = "S2"
	// S3: usage equals the sum of what is held, in every queue.
	S3 Promise = "S3"
	// S4: nothing is taken back of what a queue is guaranteed, nor for a queue that has its
	// guarantee and its fair share.
	S4 Promise = "S4"
	// S5: layouts of divided GPUs are valid at every step, and no instance in use is
	// touched.
	S5 Promise = "S5"
	// S6: nothing that runs is stopped without a cause that was told.
	S6 Promise = "S6"
	// S7: whoever has to yield is told for whom, who has a reservation, and room is made for it
	// by all who have to and by no others.
	S7 Promise = "S7"
	// S8: required topology holds for every placed gang.
	S8 Promise = "S8"
	// S9: reports about orders and lives that are over change nothing.
	S9 Promise = "S9"
	// L1: what is left alone comes to rest, and what could start has started.
	L1 Promise = "L1"
	// R2: a refusal is typed, and says which event and why.
	R2 Promise = "R2"
	// R5: an honest report about an order that is out, or about a GPU, is accepted.
	R5 Promise = "R5"

	// Orders are numbered in sequence, of the instant of their pass, about
	// something that exists.
	Orders Promise = "orders"
	// Deadlines follow from the policy in force when the order was given.
	Deadlines Promise = "deadlines"
	// Worth: a gang to which others have to yield gains more than they lose.
	Worth Promise = "worth"
	// Rates: no more have to yield in a time than the policy says.
	Rates Promise = "rates"
	// Causes are known words, and the right ones.
	Causes Promise = "causes"
	// Incarnations rise by one with each life of a replica.
	Incarnations Promise = "incarnations"
	// Claims are met exactly: a member gets what it asked for.
	Claims Promise = "claims"
	// Modes hold: a member stands on a GPU that is in its mode, or ordered to be.
	Modes Promise = "modes"
	// Geometry of a pool is kept: what may change, and how often.
	Geometry Promise = "geometry"
	// Selectors hold, and only nodes and GPUs in service get new members.
	Selectors Promise = "selectors"
	// Limits of queues, and their limits on borrowing, are not exceeded by any Bind, at any
	// level, and what queues do not lend stays free for them.
	Limits Promise = "limits"
	// Eligibility: a queue inside its guarantee comes before one that borrows, and of equals
	// the one of higher priority.
	Eligibility Promise = "eligibility"
	// Ledger: the books of GPU time are the integral of what was held.
	Ledger Promise = "ledger"
	// Reservations are kept: who may not be where nodes are set aside is not placed
	// there, and gangs get them when the policy says so.
	Reservations Promise = "reservations"
	// Protocol: a victim takes one of the steps that package protocol draws at a time.
	Protocol Promise = "protocol"
	// Health: nodes on probation take nothing, and those on trial only what is cheap to lose.
	Health Promise = "health"
	// Spares are for those that lost hardware, as many as the policy says, and spread.
	Spares Promise = "spares"
	// Backoffs are waited for.
	Backoffs Promise = "backoffs"
	// Timeouts drop a gang when they are over, and not before.
	Timeouts Promise = "timeouts"
	// Facts that cannot be are refused.
	Facts Promise = "facts"
	// Clock readings never go back.
	Clock Promise = "clock"
)

// A Violation is a promise that was broken.
type Violation struct {
	Promise Promise
	// Text says what breaks it.
	Text string
}

func (v *Violation) Error() string { return string(v.Promise) + ": " + v.Text }

// broken makes a violation.
func broken(p Promise, format string, args ...any) error {
	return &Violation{Promise: p, Text: fmt.Sprintf(format, args...)}
}
