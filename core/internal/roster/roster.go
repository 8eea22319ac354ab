// Package roster keeps records by number, where numbers may lie far apart.
package roster

import "iter"

// pageSize is how many numbers a page has.
const pageSize = 256

// A Roster has records by number, such as the replicas of a job: those that are observed, or that
// are left of many, have numbers far apart. So it is kept in pages, and a page where there is none
// costs eight bytes. The zero value is empty.
type Roster[T any] struct{ pages []*page[T] }

// A page has records of consecutive numbers, and is not empty.
type page[T any] struct {
	records [pageSize]*T
	many    int
}

// At is the record with a number; nil: there is none. O(1).
func (r *Roster[T]) At(number int) *T {
	if number < 0 || number/pageSize >= len(r.pages) || r.pages[number/pageSize] == nil {
		return nil
	}
	return r.pages[number/pageSize].records[number%pageSize]
}

// Add enters a record under a number that no other has, from 0.
func (r *Roster[T]) Add(number int, record *T) {
	at := number / pageSize
	if more := at + 1 - len(r.pages); more > 0 {
		r.pages = append(r.pages, make([]*page[T], more)...)
	}
	if r.pages[at] == nil {
		r.pages[at] = &page[T]{}
	}
	r.pages[at].records[number%pageSize] = record
	r.pages[at].many++
}

// Remove takes out the record with a number that has one.
func (r *Roster[T]) Remove(number int) {
	p := r.pages[number/pageSize]
	p.records[number%pageSize] = nil
	if p.many--; p.many == 0 {
		r.pages[number/pageSize] = nil
	}
	for len(r.pages) > 0 && r.pages[len(r.pages)-1] == nil {
		r.pages = r.pages[:len(r.pages)-1]
	}
}

// All goes through the records in order of number. Those that are removed meanwhile are passed
// over. O(records + largest number / 256).
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
	for ; number/pageSize < len(r.pages); number++ {
		if r.pages[number/pageSize] == nil {
			number += pageSize - 1 - number%pageSize
		} else if record := r.At(number); record != nil {
			return record, number
		}
	}
	return nil, int(^uint(0) >> 1)
}
