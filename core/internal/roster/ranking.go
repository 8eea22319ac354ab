package roster

import "slices"

// A Ranking has items in a total order, so that it can be told how many stand before one. It is
// made when somebody asks, and kept as long as more is asked than changes.
type Ranking[T any] struct {
	compare func(a, b T) int
	blocks  [][]T // none is empty, or longer than blockSize
	many    int
	// changes since it was last asked.
	changes int
}

// blockSize is how many items a block has at the most: what a change moves.
const blockSize = 512

// NewRanking ranks items that are in order.
func NewRanking[T any](items []T, compare func(a, b T) int) *Ranking[T] {
	r := &Ranking[T]{compare: compare, many: len(items)}
	for block := range slices.Chunk(items, blockSize/2) {
		r.blocks = append(r.blocks, slices.Clone(block))
	}
	return r
}

// Before counts the items before one. O(log items + items / blockSize).
func (r *Ranking[T]) Before(item T) int {
	r.changes = 0
	block := r.find(item)
	before := 0
	for _, list := range r.blocks[:block] {
		before += len(list)
	}
	if block < len(r.blocks) {
		at, _ := slices.BinarySearchFunc(r.blocks[block], item, r.compare)
		before += at
	}
	return before
}

// find is the block that has an item, or would have it.
func (r *Ranking[T]) find(item T) int {
	block, _ := slices.BinarySearchFunc(r.blocks, item, func(list []T, item T) int { return r.compare(list[len(list)-1], item) })
	return block
}

// Note follows an item that comes, or goes. False: more has changed than was asked, and it is not
// worth its keep.
func (r *Ranking[T]) Note(item T, comes bool) bool {
	if r.changes++; r.changes > r.many {
		return false
	}
	block := r.find(item)
	if !comes {
		at, _ := slices.BinarySearchFunc(r.blocks[block], item, r.compare)
		r.many--
		if r.blocks[block] = slices.Delete(r.blocks[block], at, at+1); len(r.blocks[block]) == 0 {
			r.blocks = slices.Delete(r.blocks, block, block+1)
		}
		return true
	}
	if r.many++; len(r.blocks) == 0 {
		r.blocks = append(r.blocks, nil)
	}
	block = min(block, len(r.blocks)-1)
	at, _ := slices.BinarySearchFunc(r.blocks[block], item, r.compare)
	list := slices.Insert(r.blocks[block], at, item)
	if r.blocks[block] = list; len(list) > blockSize {
		half := len(list) / 2
		r.blocks = slices.Insert(r.blocks, block+1, slices.Clone(list[half:]))
		clear(list[half:])
		r.blocks[block] = list[:half]
	}
	return true
}

// Items lists what is ranked, in order.
func (r *Ranking[T]) Items() []T { return slices.Concat(r.blocks...) }
