package check

import "fmt"

// A Promise is what a core owes to its users. The numbered ones are
// those of the project's design; the others are what the manual of package berth
// says in words.
type Promise string

const (
	// PromiseS1: no GPU, share or host capacity is held twice.
	PromiseS1 Promise = "S1"
	// PromiseS2: no gang is placed in part, below its minimum, after a batch of orders.
	PromiseS2 Promise = "S2"
	// PromiseS3: usage equals the sum of what is held, in every queue.
	PromiseS3 Promise = "S3"
	// PromiseS4: nothing is taken back of what a queue is guaranteed, counted in what runs, nor for
	// a queue that has its guarantee and its fair share.
	PromiseS4 Promise = "S4"
	// PromiseS5: layouts of divided GPUs are valid at every step, and no instance in use is
	// touched.
	PromiseS5 Promise = "S5"
	// PromiseS6: nothing that runs is stopped without a cause that was told.
	PromiseS6 Promise = "S6"
	// PromiseS7: the orders for a victim name its beneficiary, which has a reservation, and the
	// victims of a beneficiary are all needed and enough.
	PromiseS7 Promise = "S7"
	// PromiseS8: required topology holds for every placed gang.
	PromiseS8 Promise = "S8"
	// PromiseS9: reports about orders and lives that are over change nothing.
	PromiseS9 Promise = "S9"
	// PromiseL1: what is left alone comes to rest, and what could start has started.
	PromiseL1 Promise = "L1"
	// PromiseR2: a refusal is typed, and says which event and why.
	PromiseR2 Promise = "R2"
	// PromiseR5: an honest report about an order that is out, or about a GPU, is accepted.
	PromiseR5 Promise = "R5"

	// PromiseLoans: a borrower stands over a GPU alone that is held by a job of its trust domain,
	// which lends it and leaves it idle, with memory for both, and gives it back in time.
	PromiseLoans Promise = "loans"
	// PromiseIdle: a replica is warned, and its job ended, when it has left its GPUs idle for as
	// long as the policy says, and none else is.
	PromiseIdle Promise = "idle"
	// PromiseOrders are numbered in sequence, of the instant of their pass, about
	// something that exists.
	PromiseOrders Promise = "orders"
	// PromiseDeadlines follow from the policy in force when the order was given.
	PromiseDeadlines Promise = "deadlines"
	// PromiseGain: a gang for which others are evicted gains more than they lose.
	PromiseGain Promise = "worth"
	// PromiseRates: no more are evicted in a time than the policy says.
	PromiseRates Promise = "rates"
	// PromiseCauses are known words, and the right ones.
	PromiseCauses Promise = "causes"
	// PromiseIncarnations rise by one with each life of a replica.
	PromiseIncarnations Promise = "incarnations"
	// PromiseAlternatives: a job is started as one of its alternatives, the first that fits, and
	// stays that until it comes back to the queue.
	PromiseAlternatives Promise = "alternatives"
	// PromiseClaims are met exactly: a member gets what it asked for.
	PromiseClaims Promise = "claims"
	// PromiseLost: what hardware took is handed over whole until the next pass.
	PromiseLost Promise = "lost"
	// PromiseBlast: a fault takes down what may run there, and nothing else.
	PromiseBlast Promise = "blast"
	// PromiseDiff: each difference between a world and the core's is named, and no other.
	PromiseDiff Promise = "diff"
	// PromiseModes hold: a member stands on a GPU that is in its mode, or ordered to be.
	PromiseModes Promise = "modes"
	// PromiseGeometry of a pool is kept: what may change, and how often.
	PromiseGeometry Promise = "geometry"
	// PromiseSelectors hold, and only nodes and GPUs in service get new members.
	PromiseSelectors Promise = "selectors"
	// PromiseLimits of queues, and their limits on borrowing, are not exceeded by any Bind, at any
	// level, and what queues do not lend stays free for them.
	PromiseLimits Promise = "limits"
	// PromiseEligibility: a queue inside its guarantee comes before one that borrows, and of equals
	// the one of higher priority.
	PromiseEligibility Promise = "eligibility"
	// PromiseLedger: the books of GPU time are the integral of what was held.
	PromiseLedger Promise = "ledger"
	// PromiseReservations are kept: a job that a reservation does not admit is not placed there,
	// and gangs get reservations when the policy says so.
	PromiseReservations Promise = "reservations"
	// PromiseProtocol: a victim takes one of the steps that package protocol draws at a time.
	PromiseProtocol Promise = "protocol"
	// PromiseHealth: nodes in quarantine take nothing, and those in burn-in only what is cheap to
	// lose.
	PromiseHealth Promise = "health"
	// PromiseHotSpares are for those that lost hardware, as many as the policy says, and spread.
	PromiseHotSpares Promise = "spares"
	// PromiseBackoffs are waited for.
	PromiseBackoffs Promise = "backoffs"
	// PromiseGates: no job is tried before its begin time, the ends of those that it follows, or
	// beyond the width of its array.
	PromiseGates Promise = "gates"
	// PromiseBudgets: no gang of a queue is started that has used up a budget, and time is counted
	// to the millisecond.
	PromiseBudgets Promise = "budgets"
	// PromiseSurge: where a service has a surge, a replica leaves its node when another runs in its
	// place, or a deadline leaves no more time; and no more start so than may.
	PromiseSurge Promise = "surge"
	// PromiseNICs: a gang that needs several nodes has none with slow NICs if faster ones hold it.
	PromiseNICs Promise = "nics"
	// PromiseTimeouts drop a gang when they are over, and not before.
	PromiseTimeouts Promise = "timeouts"
	// PromiseEvents that cannot be are refused.
	PromiseEvents Promise = "events"
	// PromiseClock readings never go back.
	PromiseClock Promise = "clock"
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
