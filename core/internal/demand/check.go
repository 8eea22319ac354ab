package demand

import (
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth/gang"
)

// Check works out anew what is kept of the mix, of the outlook and of the nodes. Prices stand as
// they were found: they are state. It is for tests.
func (d *Demand) Check() error {
	if err := d.mix.check(); err != nil {
		return err
	}
	if err := d.outlook.check(); err != nil {
		return err
	}
	if len(d.prices) != 2*len(d.outlook.typical) || d.number == 0 {
		return fmt.Errorf("%d typical kinds have %d prices", len(d.outlook.typical), len(d.prices))
	}
	for _, key := range slices.Sorted(maps.Keys(d.leftovers.known)) {
		s := d.leftovers.known[key]
		if string(appendLeftover(nil, s.model, s.host, s.left)) != key || s.outlook != d.leftovers.outlook {
			return fmt.Errorf("a leftover with %v left is known by another key, or of another outlook", s.left)
		}
		if err := d.checkLeftover(s); err != nil {
			return err
		}
	}
	return d.fleet.CheckTags(func(s *gang.Stock) error {
		tag, known := s.Tag.(*leftover)
		if !known || tag.outlook != d.leftovers.outlook {
			return nil // it is found anew
		}
		key := d.keyOf(s.Class)
		key.Fence = ""
		if model, known := d.outlook.byKey[key]; !known || model != tag.model || tag.host != s.Host || !slices.Equal(tag.left, s.Left) {
			return fmt.Errorf("a stock of %+v with %v left is taken for one of model %d with %v", key, s.Left, tag.model, tag.left)
		}
		return d.checkLeftover(tag)
	})
}

// checkLeftover measures a leftover anew, unless it was measured anew before and is as it was then:
// what it takes follows from itself and its outlook alone.
func (d *Demand) checkLeftover(s *leftover) error {
	fresh := Demand{outlook: d.outlook, prices: d.prices, number: d.number}
	again := leftover{model: s.model, host: s.host, left: s.left, takes: s.takes}
	if sum := s.sum(); sum != s.checked {
		if fresh.measure(&again); !slices.Equal(again.takes, s.takes) {
			return fmt.Errorf("a leftover of model %d with %v left takes %v, and is said to take %v", s.model, s.left, again.takes, s.takes)
		}
		s.checked = sum
	}
	if worth := fresh.worth(&again); s.priced == d.number && s.worth != worth {
		return fmt.Errorf("a leftover of model %d with %v left is worth %d, and is said to be worth %d", s.model, s.left, worth, s.worth)
	}
	return nil
}

// check checks that the kinds of a mix are known by what they ask for, and their weights add up.
func (m *mix) check() error {
	total := int64(0)
	for i := range m.kinds {
		k := &m.kinds[i]
		total += k.Weight
		e := expectedOf(k)
		if key := string(appendKey(nil, &e.group)); k.Weight < 1 || m.keys[i] != key || m.byKey[key] != i {
			return fmt.Errorf("kind %d of the mix weighs %d, or is known by another key", i, k.Weight)
		}
	}
	if len(m.kinds) > maxKinds || len(m.keys) != len(m.kinds) || len(m.byKey) != len(m.kinds) || total != m.total {
		return fmt.Errorf("the mix has %d kinds, %d keys and %d of them known, and weighs %d, counted %d", len(m.kinds), len(m.keys), len(m.byKey), total, m.total)
	}
	return nil
}

// check works out the typical kinds anew, and those models of hardware that are not as they were
// when they were worked out last: to deal hands takes longer than all else that Check of the core
// does, and they follow from the kinds alone.
func (o *outlook) check() error {
	var fresh outlook
	fresh.expect(o.kinds, o.time)
	for i := range fresh.typical {
		a, b := fresh.typical[i], o.typical[i]
		if a.gpus != b.gpus || a.milli != b.milli || a.host != b.host || a.name != b.name || a.demand != b.demand {
			return fmt.Errorf("the typical kind %d is %+v, and should be %+v", i, b, a)
		}
	}
	if len(o.typical) != len(fresh.typical) || len(o.byKey) != len(o.models) {
		return fmt.Errorf("there are %d typical kinds of %d, and %d models of %d kinds of hardware", len(o.typical), len(o.kinds), len(o.models), len(o.byKey))
	}
	for at := range o.models {
		of := &o.models[at]
		if known, is := o.byKey[of.key]; !is || known != at {
			return fmt.Errorf("the model of %+v is not known by it", of.key)
		}
		sum := of.sum()
		if sum == of.checked {
			continue
		}
		fresh.models = fresh.models[:0]
		clear(fresh.byKey)
		fresh.model(of.key)
		if again := &fresh.models[0]; !slices.Equal(again.accepts, of.accepts) || !slices.EqualFunc(again.hands, of.hands, slices.Equal[[]int16]) {
			return fmt.Errorf("the model of %+v accepts other kinds, or is dealt other hands", of.key)
		}
		of.checked = sum
	}
	return nil
}

// A checksum is one of numbers by FNV-1a, of a number at a time. It starts at a number other than
// zero, which says that nothing was checked yet.
type checksum uint64

const newChecksum checksum = 14695981039346656037

func (c *checksum) add(n int64) { *c = (*c ^ checksum(n)) * 1099511628211 }

// sum is a checksum of what a leftover is and takes.
func (s *leftover) sum() checksum {
	c := newChecksum
	c.add(int64(s.model))
	for _, amount := range s.host {
		c.add(amount)
	}
	for _, milli := range s.left {
		c.add(int64(milli))
	}
	for _, t := range s.takes {
		c.add(int64(t.kind)<<16 | int64(t.count))
	}
	return c
}

// sum is a checksum of what hardware accepts and is dealt.
func (m *model) sum() checksum {
	c := newChecksum
	for _, yes := range m.accepts {
		if c.add(0); yes {
			c.add(1)
		}
	}
	for _, hand := range m.hands {
		c.add(-1)
		for _, kind := range hand {
			c.add(int64(kind))
		}
	}
	return c
}
