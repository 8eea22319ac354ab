package migsim

import (
	"bytes"
	"slices"

	"github.com/berth-sched/berth/mig"
)

// Optimum returns the most requests that can be accepted by an oracle that knows all of
// them beforehand, may refuse what fits, and moves nothing. It asks whether none need
// be refused, then whether one is enough, and so on. For that it tries every choice
// for every request in turn, and remembers in which fleets, taken with the slots in
// which their instances end and whichever GPU is which, so many refusals are too few.
//
// Complexity: exponential; meant for two GPUs and a dozen requests.
func (s Setup) Optimum(requests []Request) int {
	search := &optimum{lattice: s.Lattice, requests: requests, tooFew: map[string]int{}}
	refusals := 0
	for !search.can(0, make([]host, s.GPUs), refusals) {
		refusals++
	}
	return len(requests) - refusals
}

type optimum struct {
	lattice  *mig.Lattice
	requests []Request
	tooFew   map[string]int // the most refusals that were found too few
}

// A host is a GPU of the search: its state and the instances on it, in the order of
// their placements.
type host struct {
	state mig.State
	runs  []running
}

type running struct {
	at  mig.Placement
	end int
}

func (r running) compare(o running) int { return r.at.Compare(o.at) }

// can tells whether so many refusals are enough from the slot on.
func (o *optimum) can(slot int, fleet []host, refusals int) bool {
	if refusals >= len(o.requests)-slot {
		return true
	}
	fleet = o.advance(slot, fleet)
	key := o.key(slot, fleet)
	if most, ok := o.tooFew[key]; ok && refusals <= most {
		return false
	}
	request := o.requests[slot]
	for g, h := range fleet {
		if g > 0 && bytes.Equal(encode(nil, h), encode(nil, fleet[g-1])) {
			continue // as good as the one before
		}
		for _, at := range o.lattice.AppendOpen(nil, h.state, request.Profile) {
			with := slices.Clone(fleet)
			with[g] = o.start(h, running{at, min(slot+request.Slots, len(o.requests))})
			if o.can(slot+1, with, refusals) {
				return true
			}
		}
	}
	if refusals > 0 && o.can(slot+1, fleet, refusals-1) {
		return true
	}
	o.tooFew[key] = refusals
	return false
}

func (o *optimum) start(h host, r running) host {
	next, err := o.lattice.PlaceAt(h.state, r.at)
	if err != nil {
		panic(err) // an open placement that cannot be placed: a fault of the lattice
	}
	runs := append(slices.Clone(h.runs), r)
	slices.SortFunc(runs, running.compare)
	return host{state: next, runs: runs}
}

// advance removes what has ended, and sorts the GPUs, which are all alike.
func (o *optimum) advance(slot int, fleet []host) []host {
	fleet = slices.Clone(fleet)
	for g, h := range fleet {
		h.runs = slices.DeleteFunc(slices.Clone(h.runs), func(r running) bool {
			if r.end > slot {
				return false
			}
			next, err := o.lattice.Remove(h.state, r.at)
			if err != nil {
				panic(err) // the search lost an instance that it placed itself
			}
			h.state = next
			return true
		})
		fleet[g] = h
	}
	slices.SortFunc(fleet, func(a, b host) int { return bytes.Compare(encode(nil, a), encode(nil, b)) })
	return fleet
}

func (o *optimum) key(slot int, fleet []host) string {
	key := []byte{byte(slot)}
	for _, h := range fleet {
		key = encode(key, h)
	}
	return string(key)
}

// encode tells hosts apart: the state names the placements, in whose order the ends
// follow. They are no later than the last request, for after it nobody asks.
func encode(to []byte, h host) []byte {
	to = append(to, byte(h.state>>8), byte(h.state), byte(len(h.runs)))
	for _, r := range h.runs {
		to = append(to, byte(r.end))
	}
	return to
}
