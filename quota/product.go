package quota

import "fmt"

// A product is a GPU product that somebody speaks of. It lives while it is
// retained, while a queue states a guarantee or a limit on it, or while it is in
// use. The last needs no count: the root's account has it.
type product struct {
	retained int64 // RetainProduct less ReleaseProduct
	stated   int64 // queues that guarantee or limit it
}

// RetainProduct returns the index of a GPU product for use in charges, and notes
// one more use of it outside the tree: a node that has it, a job that asks for it.
// The index stays that product's until the last use of it has gone. It refuses
// what cannot be a name (ErrInvalid), and a product that would be one more than
// MaxProducts (ErrLimit), and returns NoProduct then.
//
// O(1), without allocation, for a product that the tree has; O(products) for one
// that it has not.
func (t *Tree) RetainProduct(name string) (ProductIndex, error) {
	p, ok := t.byProduct[name]
	if !ok {
		if err := t.CheckProduct(name, NoProduct); err != nil {
			return NoProduct, err
		}
		p = t.addProduct(name)
	}
	t.product(p).retained++
	return p, nil
}

// CheckProduct refuses what RetainProduct would refuse after a ReleaseProduct of gone, and
// changes nothing. With the last thing that has a product goes what the fleet has of it.
// NoProduct: nothing goes. O(1).
func (t *Tree) CheckProduct(name string, gone ProductIndex) error {
	if _, ok := t.byProduct[name]; ok {
		return nil
	}
	if reason := checkName(name); reason != "" {
		return &Error{Field: "product", Reason: reason, Kind: ErrInvalid}
	}
	have := len(t.byProduct)
	if t.hasProduct(gone) && t.isLastOf(gone) {
		have--
	}
	if have >= t.maxProducts {
		return &Error{Field: "product", Reason: t.fullOfProducts(), Kind: ErrLimit}
	}
	return nil
}

// isLastOf reports whether a product has no use but one RetainProduct, and the capacity that
// is told of it.
func (t *Tree) isLastOf(p ProductIndex) bool {
	last := product{retained: 1}
	if _, told := t.Capacity(t.names[p.id()]); told {
		last.stated++
	}
	return *t.product(p) == last && t.nodes[RootQueue].peek(p.id()).used == 0
}

// ReleaseProduct takes one RetainProduct back. It has no effect on what is not
// retained. O(products of the root), without allocation.
//
// When the last use of a product goes (retained, configured and charged alike),
// its name is forgotten, and its index goes to a product that comes later. Charge
// nothing by an index that is no longer retained, except to Discharge what was
// charged by it.
func (t *Tree) ReleaseProduct(p ProductIndex) {
	if !t.hasProduct(p) || t.product(p).retained == 0 {
		return
	}
	t.product(p).retained--
	t.dropProduct(p)
}

// Product finds a product by its name, and returns NoProduct where nobody retains,
// configures or uses one of this name. O(1), without allocation.
func (t *Tree) Product(name string) ProductIndex {
	if p, ok := t.byProduct[name]; ok {
		return p
	}
	return NoProduct
}

func (t *Tree) fullOfProducts() string {
	return fmt.Sprintf("the tree has %d GPU products, the most there may be", t.maxProducts)
}

func (t *Tree) hasProduct(p ProductIndex) bool {
	return p > NoProduct && int(p) <= len(t.products) && t.names[p.id()] != ""
}

// product is what the tree keeps of a product that it has.
func (t *Tree) product(p ProductIndex) *product { return &t.products[p-1] }

// addProduct gives a product that is not in the tree the lowest index that is
// free. Products come seldom, so that a scan does for a list of the free.
func (t *Tree) addProduct(name string) ProductIndex {
	p := ProductIndex(len(t.products)) + 1
	if len(t.byProduct) < len(t.products) {
		for p = 1; t.names[p.id()] != ""; {
			p++
		}
		t.names[p.id()] = GPUMilliOf(name)
	} else {
		t.products = append(t.products, product{})
		t.names = append(t.names, GPUMilliOf(name))
	}
	t.byProduct[name] = p
	return p
}

// dropProduct forgets a product that has no use any more. Nothing else can tell:
// a queue has an account of it only where it is stated, in use, or promised to a
// queue below that states it.
func (t *Tree) dropProduct(p ProductIndex) {
	if *t.product(p) != (product{}) || t.nodes[RootQueue].peek(p.id()).used != 0 {
		return
	}
	name, _ := t.names[p.id()].product()
	delete(t.byProduct, name)
	t.names[p.id()] = ""
	for last := len(t.products) - 1; last >= 0 && t.names[firstProduct+resourceID(last)] == ""; last-- {
		t.products, t.names = t.products[:last], t.names[:firstProduct+resourceID(last)]
	}
}

// checkProducts refuses a queue that would bring in more products than there may
// be, when those that go with what it replaces are gone. i is None for a new one.
func (t *Tree) checkProducts(q *Queue, i QueueIndex) *Error {
	have, field := len(t.byProduct), ""
	for _, r := range q.resources() {
		if _, known := t.lookupResource(r); !known {
			have++
			field = q.fieldOf(r)
		}
	}
	if field == "" || have <= t.maxProducts { // seldom otherwise
		return nil
	}
	if i != NoQueue {
		old := &t.nodes[i].config
		for _, r := range old.resources() {
			if t.goesWith(old, r) && !q.states(r) {
				have--
			}
		}
	}
	if have > t.maxProducts {
		return q.refuse(ErrLimit, field, t.fullOfProducts())
	}
	return nil
}

// goesWith reports whether r is a product of which q, a queue of the tree that
// states it, is the only use.
func (t *Tree) goesWith(q *Queue, r Resource) bool {
	id, _ := t.lookupResource(r)
	return id >= firstProduct && *t.product(productAt(id)) == (product{stated: 1}) && t.nodes[RootQueue].peek(id).used == 0
}

// states reports whether a queue guarantees or limits r.
func (q *Queue) states(r Resource) bool { return q.fieldOf(r) != "" }

// fieldOf is the path at which a queue first states r, or "".
func (q *Queue) fieldOf(r Resource) string {
	for _, f := range q.stated() {
		if _, ok := f.amounts[r]; ok {
			return element(f.field, r)
		}
	}
	return ""
}
