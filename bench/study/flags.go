package study

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berth-sched/berth/bench/flagline"
)

// Options are those of an experiment: each says as a flag what it is, and what it may be.
type Options interface {
	Flags(*Flags)
}

// Flags declares the options of an experiment as flags. What an option holds beforehand is the
// default of its flag. The ranges also hold for programs that set the options themselves, by
// [Check].
type Flags struct {
	set    *flag.FlagSet
	checks []func() error
}

// NewFlags makes flags for the options of an experiment of that name.
func NewFlags(name string, o Options) *Flags {
	f := &Flags{set: flag.NewFlagSet(name, flag.ContinueOnError)}
	o.Flags(f)
	return f
}

// Parse reads a command line into the options, as flagline.Parse does, and checks them.
func (f *Flags) Parse(args []string, help io.Writer, introduction string) error {
	if err := flagline.Parse(f.set, args, help, introduction); err != nil {
		return err
	}
	return f.check()
}

// Check refuses options that are outside of their ranges, in the words of their flags: berthbench
// prints what was given and what is possible. A user is told of one flag at a time.
func Check(o Options) error { return NewFlags("", o).check() }

func (f *Flags) check() error {
	for _, check := range f.checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// Refuse adds a check of options together, which the single ranges do not tell. It returns nil
// where all is well.
func (f *Flags) Refuse(check func() error) { f.checks = append(f.checks, check) }

// Text declares a text that may be anything.
func (f *Flags) Text(p *string, name, usage string) { f.set.StringVar(p, name, *p, usage) }

// Yes declares something that is so where the flag is given.
func (f *Flags) Yes(p *bool, name, usage string) { f.set.BoolVar(p, name, *p, usage) }

// Func declares a flag whose text is read by a function, which returns an error for what makes no
// sense.
func (f *Flags) Func(name, usage string, read func(text string) error) { f.set.Func(name, usage, read) }

// Int declares a number from the least to the most.
func (f *Flags) Int(p *int, name string, least, most int, usage string) {
	f.set.IntVar(p, name, *p, usage)
	within(f, p, name, least, most)
}

// Float declares a number from the least to the most.
func (f *Flags) Float(p *float64, name string, least, most float64, usage string) {
	f.set.Float64Var(p, name, *p, usage)
	within(f, p, name, least, most)
}

// Time declares a span of wall-clock time, or one that a person writes as such.
func (f *Flags) Time(p *time.Duration, name string, least, most time.Duration, usage string) {
	f.set.DurationVar(p, name, *p, usage)
	within(f, p, name, least, most)
}

func within[T cmp.Ordered](f *Flags, p *T, name string, least, most T) {
	f.Refuse(func() error { return Within(name, *p, least, most) })
}

// Within refuses a number that is not in its range. What is no number is in none.
func Within[T cmp.Ordered](name string, value, least, most T) error {
	if value >= least && value <= most {
		return nil
	}
	return flagline.Misused("-%s: %v is not between %v and %v", name, value, least, most)
}

// Seed declares the seed of the first of what is drawn.
func (f *Flags) Seed(p *uint64, usage string) { f.set.Uint64Var(p, "seed", *p, usage) }

// HTML declares the file of a page. Without the flag there is none.
func (f *Flags) HTML(p *string) {
	f.set.StringVar(p, "html", *p, "draw what came of it on a page, in this file")
}

// File declares a file or folder without which there is nothing to do: source says where to get it.
func (f *Flags) File(p *string, name, what, source string) {
	f.set.StringVar(p, name, *p, what+"; "+source)
	f.Refuse(func() error {
		if *p == "" {
			return flagline.Misused("-%s is missing: %s; %s", name, what, source)
		}
		return nil
	})
}

// Words declares names with commas between, each once.
func (f *Flags) Words(p *[]string, name, usage string) {
	f.set.Var(&list[string]{p, func(text string) ([]string, error) { return []string{text}, nil }}, name, usage+", with commas between")
	once(f, p, name)
}

// Numbers declares numbers from the least to the most, with commas between, each once; at least
// one.
func (f *Flags) Numbers(p *[]int, name string, least, most int, usage string) {
	f.set.Var(&list[int]{p, func(text string) ([]int, error) {
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, fmt.Errorf("%q is no number", text)
		}
		return []int{n}, nil
	}}, name, usage+", with commas between")
	f.Refuse(func() error {
		for _, n := range *p {
			if err := Within(name, n, least, most); err != nil {
				return err
			}
		}
		return nil
	})
	some(f, p, name)
	once(f, p, name)
}

// Seeds declares seeds as 42-51 or 42,44, each once: twice, one would count as another sample.
func (f *Flags) Seeds(p *[]int64) {
	f.set.Var(&list[int64]{p, seedRange}, "seeds", "seeds, as 42-51 or 42,44")
	some(f, p, "seeds")
	once(f, p, "seeds")
}

// mostSeeds bounds a range of seeds.
const mostSeeds = 10_000

// seedRange reads a seed, or the first and the last of some.
func seedRange(text string) (seeds []int64, err error) {
	first, last, isRange := strings.Cut(text, "-")
	from, err := strconv.ParseInt(first, 10, 32)
	to := from
	if isRange && err == nil {
		to, err = strconv.ParseInt(last, 10, 32)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%q is neither a number nor a range of them", text)
	case to < from || to-from >= mostSeeds:
		return nil, fmt.Errorf("%q is no range of 1 to %d seeds", text, mostSeeds)
	}
	for seed := from; seed <= to; seed++ {
		seeds = append(seeds, seed)
	}
	return seeds, nil
}

func some[T any](f *Flags, p *[]T, name string) {
	f.Refuse(func() error {
		if len(*p) == 0 {
			return flagline.Misused("-%s: at least one is needed", name)
		}
		return nil
	})
}

func once[T comparable](f *Flags, p *[]T, name string) {
	f.Refuse(func() error {
		for i, v := range *p {
			if slices.Contains((*p)[:i], v) {
				return flagline.Misused("-%s: %q is named twice", name, fmt.Sprint(v))
			}
		}
		return nil
	})
}

// A list is the value of a flag with commas in it. Each part of the text is one value or several.
type list[T any] struct {
	values *[]T
	read   func(text string) ([]T, error)
}

func (l *list[T]) Set(text string) error {
	*l.values = nil
	for part := range strings.SplitSeq(text, ",") {
		values, err := l.read(part)
		if err != nil {
			return err
		}
		*l.values = append(*l.values, values...)
	}
	return nil
}

func (l *list[T]) String() string {
	if l.values == nil {
		return "" // package flag asks a value of its own for the default
	}
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(*l.values), " ", ","), "[]")
}
