// Package pq is a binary heap whose items know their position, so that any item
// can be moved or taken out in O(log n). Given a total order the sequence of
// minima does not depend on the history of the heap.
package pq

// A Heap holds items with the least one on top. Make one with New.
type Heap[T any] struct {
	items []T
	less  func(a, b T) bool
	// moved, unless nil, tells an item its new position; -1 when it leaves the heap.
	moved func(item T, position int)
}

// New returns an empty heap.
func New[T any](less func(a, b T) bool, moved func(item T, position int)) Heap[T] {
	return Heap[T]{less: less, moved: moved}
}

// Of makes a heap of items, which it keeps in their slice. O(items).
func Of[T any](items []T, less func(a, b T) bool) Heap[T] {
	h := Heap[T]{items: items, less: less}
	for i := len(items)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
	return h
}

// Len is the number of items.
func (h *Heap[T]) Len() int { return len(h.items) }

// Min returns the least item of a heap that is not empty.
func (h *Heap[T]) Min() T { return h.items[0] }

// Items returns the items in no useful order. The slice is the heap's own.
func (h *Heap[T]) Items() []T { return h.items }

// Push adds an item. O(log n).
func (h *Heap[T]) Push(item T) {
	h.items = append(h.items, item)
	h.up(len(h.items) - 1)
}

// Fix restores the order after the item at a position changed. O(log n).
func (h *Heap[T]) Fix(position int) {
	if !h.down(position) {
		h.up(position)
	}
}

// Remove takes out the item at a position. O(log n), and O(1) on average for items that are taken
// out in the reverse of the order in which they came.
func (h *Heap[T]) Remove(position int) {
	item := h.items[position]
	last := len(h.items) - 1
	h.items[position] = h.items[last]
	var zero T
	h.items[last] = zero
	h.items = h.items[:last]
	if position < last {
		h.Fix(position)
	}
	if h.moved != nil {
		h.moved(item, -1)
	}
}

// Pop takes out the least item of a heap that is not empty. O(log n).
func (h *Heap[T]) Pop() T {
	item := h.items[0]
	h.Remove(0)
	return item
}

// Clear takes out all items. O(n).
func (h *Heap[T]) Clear() {
	if h.moved != nil {
		for _, item := range h.items {
			h.moved(item, -1)
		}
	}
	clear(h.items)
	h.items = h.items[:0]
}

func (h *Heap[T]) up(i int) {
	item := h.items[i]
	for i > 0 {
		parent := (i - 1) / 2
		if !h.less(item, h.items[parent]) {
			break
		}
		h.set(i, h.items[parent])
		i = parent
	}
	h.set(i, item)
}

// down reports whether the item moved.
func (h *Heap[T]) down(i int) bool {
	item, start := h.items[i], i
	for {
		child := 2*i + 1
		if child >= len(h.items) {
			break
		}
		if child+1 < len(h.items) && h.less(h.items[child+1], h.items[child]) {
			child++
		}
		if !h.less(h.items[child], item) {
			break
		}
		h.set(i, h.items[child])
		i = child
	}
	h.set(i, item)
	return i > start
}

func (h *Heap[T]) set(i int, item T) {
	h.items[i] = item
	if h.moved != nil {
		h.moved(item, i)
	}
}
