package berth

import (
	"fmt"

	"github.com/berth-sched/berth/countable"
)

// A Scorer ranks places by a rule of the embedder's own: Config.Scorer. It chooses among what is
// allowed. Requirements of topology, selectors, reservations, quota, and which instance of a
// divided GPU a member gets, are the core's; so is which of its free GPUs a node gives (see
// Node.Links), and over which idle GPU a borrower stands.
//
// The highest score wins. Of equal scores the core's own rule decides, as if there were no other
// places, and its last word is the smaller name. So the order is total whatever the scores are, and
// a Scorer that sets none decides as the core does before it knows what is asked for.
//
// Without a Scorer the core goes by what is asked for. What comes first:
//
//  1. what is allowed: see above;
//  2. for a gang that gains from being close, Policy.Locality, and nothing of the following;
//  3. for a single member, and each share of a gang that asks for no level, the place that takes
//     the least room from what is typically submitted; a Scorer takes the place of this;
//  4. of equal ones the fewest GPUs left over and the fewest whole domains broken, as
//     Policy.Locality orders these two;
//  5. the class with less GPU memory, the product, the smaller name.
//
// What is typical is learned from jobs that are submitted or observed, by claim, products, pools
// and what else a selector asks of GPUs, but for labels: from the latest members, some 16,384 of
// them, as soon as there are 32. [StartPlan.Choice] says what speaks for a place.
//
// A single member, and each share of a gang that asks for no level, goes to the place with the
// highest score, whatever Policy.Locality says. A gang is placed by Policy.Locality; see
// [DomainScorer] for what is left to choose there. A job that returns to its nodes, and one that
// had its place planned (a reservation, a preemption, a move), goes there: a Scorer has its say
// when the plan is made, and not afterwards.
//
// A Scorer has to be pure: equal questions and equal books get equal answers, or equal events would
// not give equal orders. It has no clock, and calls no method of the core. It is asked about
// imagined fleets too, as when victims are looked for; so what a place has is in the [Place], and
// what has happened is in the books of a [BookkeepingScorer].
//
// Cost: Score is shown every place with room, where the core's own rule looks at few: O(nodes) for
// a member, for a share O(GPUs in use), besides what Score takes. That is some 100 ns a place on a
// thousand nodes of eight GPUs, and up to 400 where the fleet is larger than the caches. Nothing is
// allocated for it.
type Scorer interface {
	// Name names the rule with all that it depends on, such as "best-fit" or "typical/7f3a": 1 to
	// 1,024 bytes. A snapshot has it, and core.Restore refuses a Scorer of another name.
	Name() string
	// Score sets the Score of places, two or more, for one member of a group. The group is as it
	// was submitted, without its name and with its minimum filled in; of a gang that grows, Members
	// are those that it lacks. Group and places are for reading otherwise, and good until it
	// returns.
	Score(g *Group, places []Place)
}

// A Place is a node on which a member fits; for a share it is one GPU of the node, of GPUs that are
// alike the one with the lowest index.
type Place struct {
	// Node as it was told, for reading.
	Node *Node
	// GPU that a share would go to, else -1.
	GPU int
	// Left of each GPU of the node, in thousandths: 1000 where it is free, 0 where it is held
	// whole, is divided into instances, or takes no work.
	Left []int32
	// HostLeft is what the host has left.
	HostLeft countable.Amounts
	// Score is 0 when the places are shown.
	Score int64
}

// A DomainScorer is a Scorer that also chooses where gangs go: among domains of one level that
// leave over the same number of members, and break the same whole domains (see Policy.Locality). At
// the node level the domains are nodes, with the same number of free GPUs. Where the core compares
// what placements cost, the cost counts before the score.
type DomainScorer interface {
	Scorer
	// ScoreDomains sets the Score of domains, two or more, for a gang; domains that are not equally
	// good may be among them. Groups are as in Score.
	ScoreDomains(groups []Group, domains []Domain)
}

// A Domain is one in which a gang fits.
type Domain struct {
	// Level of the domain, as in Config.Levels, or "node".
	Level string
	// Path has the names of the domains from the widest level to this one; at the node level the
	// last is the ID of the node.
	Path []string
	// Nodes, GPUs and FreeGPUs are how many there are in it, of all classes.
	Nodes, GPUs, FreeGPUs int
	// Score is 0 when the domains are shown.
	Score int64
}

// A BookkeepingScorer is a Scorer that remembers. What it remembers goes into snapshots, and
// changes by what it is told alone: Score and ScoreDomains leave it as it is.
//
// Config.Scorer is never told anything: a core makes one of its own by Restore, so that cores, and
// the copies that what-ifs work on, share no books.
type BookkeepingScorer interface {
	Scorer
	// Submitted tells of a job that was submitted or observed.
	Submitted(j *Job)
	// Held tells that a member holds a place: it was placed, or observed there. Released tells
	// that it does so no longer. What a plan imagines is not told. Each Released is of a Holding
	// that was Held.
	Held(h Holding)
	Released(h Holding)
	// Save returns the books. Equal books give equal bytes.
	Save() []byte
	// Restore makes another scorer of the same rule with these books; nil: empty ones. Bytes that
	// are no books are an error.
	Restore(books []byte) (BookkeepingScorer, error)
}

// A Holding is what a member holds.
type Holding struct {
	// Node and Group are for reading, and good until the call returns. The group is that of the
	// job.
	Node  *Node
	Group *Group
	// GPUs that are held, whole, or in part by a share or an instance. A GPU that is borrowed is
	// another's, and not among them.
	GPUs GPUSet
}

// checkScorer refuses a scorer without a proper name.
func checkScorer(s Scorer) *Error {
	if s == nil {
		return nil
	}
	if err := checkName(s.Name()); err != nil {
		err.Reason = fmt.Sprintf("its name: %s", err.Reason)
		return err
	}
	return nil
}
