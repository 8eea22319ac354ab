// Package unordered has lists whose items know their positions, so that any can be taken
// out in O(1). Their order depends on their history: what decides does not go by it.
package unordered

// Remove takes out the item at a position: the last one takes its place, and moved tells
// it so. The item that was taken out is told nothing, unless it is the last one itself.
func Remove[T any](list []T, at int, moved func(item T, at int)) []T {
	last := len(list) - 1
	list[at] = list[last]
	moved(list[at], at)
	clear(list[last:])
	return list[:last]
}
