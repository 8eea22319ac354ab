// Package packing finds nodes for the members of several gangs at once, exactly, where each member
// may go anywhere: an exact bin packing of vectors, by search with a memory of states in vain.
package packing

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// A Room is what a node has free: GPUs, and the amounts of its host.
type Room struct {
	GPUs int
	Host []int64
}

// A Run is some members that are alike, all on nodes of one kind.
type Run struct {
	Members int
	Each    Room
	// Nodes has the nodes that suit, in the order in which they are tried, and Kinds the kind of
	// each of them.
	Nodes []int
	Kinds []int32
}

// A Packing packs runs onto nodes.
type Packing struct {
	Rooms []Room
	Runs  []Run
	// Steps is how many steps are left: a step tries all nodes for one member.
	Steps int

	order []int // of the runs
	at    [][]int
	// alike numbers the nodes by the runs that they suit, and the kinds that they are for these.
	alike []int
	vain  map[string]bool
	key   []byte
}

// Pack returns a node for each member of each run, in order; nil: there are none, or the steps were
// not enough. Runs of more GPUs each come first, of those the later ones. O(members x nodes) for
// each way in which nodes may be filled, and no way is tried twice.
func (p *Packing) Pack() (at [][]int) {
	p.vain, p.order, p.at = map[string]bool{}, nil, nil
	for i := range p.Runs {
		p.order = append(p.order, i)
		p.at = append(p.at, make([]int, p.Runs[i].Members))
	}
	slices.SortFunc(p.order, func(a, b int) int {
		return cmp.Or(cmp.Compare(p.Runs[b].Each.GPUs, p.Runs[a].Each.GPUs), cmp.Compare(b, a))
	})
	p.findAlike()
	if !p.place(position{kind: -1}) {
		return nil
	}
	return p.at
}

// findAlike numbers the nodes.
func (p *Packing) findAlike() {
	suits := make([][]byte, len(p.Rooms))
	for r := range p.Runs {
		for i, n := range p.Runs[r].Nodes {
			suits[n] = binary.AppendVarint(binary.AppendVarint(suits[n], int64(r)), int64(p.Runs[r].Kinds[i]))
		}
	}
	numbers := map[string]int{}
	p.alike = make([]int, len(p.Rooms))
	for n, text := range suits {
		number, known := numbers[string(text)]
		if !known {
			number = len(numbers)
			numbers[string(text)] = number
		}
		p.alike[n] = number
	}
}

// A position is how far a search has come: the next member of a run, which goes to one of its nodes
// from one on, and of a kind; -1: of any.
type position struct {
	run, member, from int
	kind              int32
}

// place finds nodes for a member and all behind it.
func (p *Packing) place(s position) bool {
	if s.run == len(p.order) {
		return true
	}
	one := &p.Runs[p.order[s.run]]
	if s.member == one.Members {
		return p.place(position{run: s.run + 1, kind: -1})
	}
	if p.Steps <= 0 || !p.hasGPUs(s) || !p.hasRoom(s) {
		return false
	}
	p.Steps--
	key := p.state(s)
	if p.vain[key] {
		return false
	}
	for i := s.from; i < len(one.Nodes); i++ {
		n := one.Nodes[i]
		if s.kind >= 0 && one.Kinds[i] != s.kind || p.triedAlike(one, s.from, i) || !p.take(n, &one.Each) {
			continue
		}
		p.at[p.order[s.run]][s.member] = n
		found := p.place(position{s.run, s.member + 1, i, one.Kinds[i]})
		p.give(n, &one.Each, 1)
		if found || p.Steps <= 0 { // then no other node is tried: what is behind takes a step
			return found
		}
	}
	p.vain[key] = true
	return false
}

// triedAlike reports whether the search has tried a node for a member, from a place in its run on,
// that is as good as the one at i: a packing with the one is a packing with the other.
func (p *Packing) triedAlike(one *Run, from, i int) bool {
	n := one.Nodes[i]
	for _, m := range one.Nodes[from:i] {
		if p.alike[m] == p.alike[n] && p.Rooms[m].GPUs == p.Rooms[n].GPUs && slices.Equal(p.Rooms[m].Host, p.Rooms[n].Host) {
			return true
		}
	}
	return false
}

// hasGPUs reports whether there are GPUs enough for the members that are left, wherever they may
// go: for all of them, and for those alone that ask for at least so many each. Of a node counts
// what is a multiple of the greatest number that divides all that they ask for.
func (p *Packing) hasGPUs(s position) bool {
	asked, divisor := 0, 0
	for r := s.run; r < len(p.order); r++ {
		one := &p.Runs[p.order[r]]
		left := one.Members
		if r == s.run {
			left -= s.member
		}
		asked, divisor = asked+left*one.Each.GPUs, gcd(divisor, one.Each.GPUs)
		if divisor == 0 || r+1 < len(p.order) && p.Runs[p.order[r+1]].Each.GPUs == one.Each.GPUs {
			continue
		}
		free := 0
		for n := range p.Rooms {
			if gpus := p.Rooms[n].GPUs; gpus >= one.Each.GPUs {
				free += gpus - gpus%divisor
			}
		}
		if free < asked {
			return false
		}
	}
	return true
}

// gcd is the greatest number that divides both.
func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// hasRoom reports whether each run has room for its members that are left, as if it were the only
// one and its members could be of several kinds: else there is nothing to search.
func (p *Packing) hasRoom(s position) bool {
	for r := s.run; r < len(p.order); r++ {
		one := &p.Runs[p.order[r]]
		left, from := one.Members, 0
		if r == s.run {
			left, from = one.Members-s.member, s.from
		}
		for i := from; i < len(one.Nodes) && left > 0; i++ {
			if r > s.run || s.kind < 0 || one.Kinds[i] == s.kind {
				left -= p.Rooms[one.Nodes[i]].holds(&one.Each, left)
			}
		}
		if left > 0 {
			return false
		}
	}
	return true
}

// holds is how many members have room on a node together, up to some most.
func (r *Room) holds(each *Room, most int) int {
	if each.GPUs > 0 {
		most = min(most, r.GPUs/each.GPUs)
	}
	for i, amount := range each.Host {
		if amount > 0 {
			most = int(min(int64(most), r.Host[i]/amount))
		}
	}
	return max(0, most)
}

// take takes what a member needs of a node, if that has it.
func (p *Packing) take(n int, each *Room) bool {
	room := &p.Rooms[n]
	if room.GPUs < each.GPUs {
		return false
	}
	for i, amount := range each.Host {
		if room.Host[i] < amount {
			return false
		}
	}
	p.give(n, each, -1)
	return true
}

func (p *Packing) give(n int, each *Room, sign int) {
	room := &p.Rooms[n]
	room.GPUs += sign * each.GPUs
	for i, amount := range each.Host {
		room.Host[i] += int64(sign) * amount
	}
}

// state names all that the rest of a search depends on.
func (p *Packing) state(s position) string {
	p.key = p.key[:0]
	for _, n := range [...]int{s.run, s.member, s.from, int(s.kind)} {
		p.key = binary.AppendVarint(p.key, int64(n))
	}
	for n := range p.Rooms {
		p.key = binary.AppendVarint(p.key, int64(p.Rooms[n].GPUs))
		for _, amount := range p.Rooms[n].Host {
			p.key = binary.AppendVarint(p.key, amount)
		}
	}
	return string(p.key)
}
