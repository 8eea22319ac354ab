// Package roster keeps records by number, where numbers may lie far apart.
package roster

import (
	"iter"
	"math"
)

// pageSize is how many numbers a page has.
const pageSize = 512

// A Roster has records by number, such as the replicas of a job: those that are observed, or that
// are left of many, have numbers far apart. So it is kept in pages, and a page where there is none
// costs 24 bytes. The zero value is empty.
//
// Most jobs have one replica, so that the record with number 0 stands beside the pages, and there
// are pages only where there is another. A page ends with its last record.
type Roster[T any] struct {
	first *T
	pages *[][]*T // nil: none
}

// At is the record with a number; nil: there is none. O(1).
func (r *Roster[T]) At(number int) *T {
	switch {
	case number == 0:
		return r.first
	case r.pages == nil || number < 0 || number/pageSize >= len(*r.pages):
		return nil
	}
	if page := (*r.pages)[number/pageSize]; number%pageSize < len(page) {
		return page[number%pageSize]
	}
	return nil
}

// Add enters a record under a number that no other has, from 0.
func (r *Roster[T]) Add(number int, record *T) {
	if number == 0 {
		r.first = record
		return
	}
	if r.pages == nil {
		r.pages = new([][]*T)
	}
	page := at(r.pages, number/pageSize)
	*at(page, number%pageSize) = record
}

// at is an element of a list that grows until it has it.
func at[E any](list *[]E, i int) *E {
	if more := i + 1 - len(*list); more > 0 {
		*list = append(*list, make([]E, more)...)
	}
	return &(*list)[i]
}

// Remove takes out the record with a number that has one.
func (r *Roster[T]) Remove(number int) {
	if number == 0 {
		r.first = nil
		return
	}
	list := *r.pages
	page := &list[number/pageSize]
	(*page)[number%pageSize] = nil
	for len(*page) > 0 && (*page)[len(*page)-1] == nil {
		*page = (*page)[:len(*page)-1]
	}
	if len(*page) == 0 {
		*page = nil
	}
	for len(list) > 0 && list[len(list)-1] == nil {
		list = list[:len(list)-1]
	}
	if *r.pages = list; len(list) == 0 {
		r.pages = nil
	}
}

// All goes through the records in order of number. Those that are removed meanwhile are passed
// over. O(records + largest number / 512).
func (r *Roster[T]) All() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for number := 0; ; number++ {
			record, at := r.next(number)
			if number = at; record == nil || !yield(record) {
				return
			}
		}
	}
}

// First is the lowest number from one to another, which is outside, that has a record; if there
// is none, the other.
func (r *Roster[T]) First(from, end int) int {
	if _, at := r.next(from); at < end {
		return at
	}
	return end
}

// next is the first record from a number on, and its number; nil: there is none.
func (r *Roster[T]) next(number int) (*T, int) {
	if number == 0 && r.first != nil {
		return r.first, 0
	}
	if r.pages == nil {
		return nil, math.MaxInt
	}
	for at := number / pageSize; at < len(*r.pages); at++ {
		for page := (*r.pages)[at]; number-at*pageSize < len(page); number++ {
			if record := page[number-at*pageSize]; record != nil {
				return record, number
			}
		}
		number = (at + 1) * pageSize
	}
	return nil, math.MaxInt
}
