package main

import (
	"fmt"
	"strings"

	"github.com/berth-sched/berth/mig"
)

// shortNames returns names for the profiles that tell them apart in a drawing: 3g for
// 3g.40gb where no other chosen profile is a 3g, else the whole name.
func shortNames(profiles []mig.Profile) []string {
	count := map[string]int{}
	for _, p := range profiles {
		count[withoutMemory(p.Name)]++
	}
	labels := make([]string, len(profiles))
	for i, p := range profiles {
		labels[i] = withoutMemory(p.Name)
		if count[labels[i]] > 1 {
			labels[i] = p.Name.String()
		}
	}
	return labels
}

// withoutMemory returns the name without its memory, if it is written as NVIDIA writes
// names.
func withoutMemory(name mig.ProfileName) string {
	memory := fmt.Sprintf(".%dgb", name.MemoryGB)
	return strings.Replace(name.String(), memory, "", 1)
}

// parts returns the instances of a set, the largest profile first, such as 3g, 2g and
// 2×1g.
func (g *graph) parts(s *set) []string {
	var parts []string
	for p := len(s.counts) - 1; p >= 0; p-- {
		switch n := s.counts[p]; n {
		case 0:
		case 1:
			parts = append(parts, g.labels[p])
		default:
			parts = append(parts, fmt.Sprintf("%d×%s", n, g.labels[p]))
		}
	}
	if parts == nil {
		parts = []string{"empty"}
	}
	return parts
}

// plural returns a number and what it counts.
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return thousands(n) + " " + what + "s"
}

// thousands writes a number with commas, as tables do.
func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

// summary is what there is to draw, in figures.
func (g *graph) summary() string {
	chosen := fmt.Sprintf("Of %d of its %d profiles", len(g.profiles), len(g.product.Profiles))
	if len(g.profiles) == len(g.product.Profiles) {
		chosen = fmt.Sprintf("Of all %s", plural(len(g.profiles), "profile"))
	}
	return fmt.Sprintf("%s, %s (the empty one too), %s maximal: they are %s of instances, %s with a maximal layout",
		chosen, plural(g.lattice.States(), "layout"), thousands(g.maximal), plural(g.sets, "set"), thousands(g.maximalSets))
}

// row describes a row of the drawing.
func (g *graph) row(i int) (instances, counts string) {
	layouts := 0
	for _, s := range g.rows[i] {
		layouts += s.layouts
	}
	return plural(i, "instance"), plural(len(g.rows[i]), "set") + ", " + plural(layouts, "layout")
}

// verdict says what is the matter with a set to which nothing can be added, in lines.
func (g *graph) verdict(s *set) []string {
	compute, memory, _ := g.idle(s)
	switch {
	case s.trap():
		return []string{fmt.Sprintf("dead end in %d of %d:", s.maximal, s.layouts)}
	case !s.full():
		return nil
	case compute > 0 && memory > 0:
		return []string{fmt.Sprintf("full, %d compute", compute), fmt.Sprintf("and %d memory idle", memory)}
	case compute > 0:
		return []string{fmt.Sprintf("full, %d compute idle", compute)}
	case memory > 0:
		return []string{fmt.Sprintf("full, %d memory idle", memory)}
	}
	return []string{"full, no slice idle"}
}

// size says how many layouts a set stands for, and what its instances have.
func (g *graph) size(s *set) string {
	words := plural(s.layouts, "layout")
	if _, _, idle := g.idle(s); g.knowsSMs() && s.instances > 0 {
		words += ", " + plural(g.product.SMs-idle, "SM")
	}
	return words
}

// stepText says what a step creates and where it leads, and from how many layouts if
// not from all.
func (g *graph) stepText(s *set, t step) string {
	words := fmt.Sprintf("+%s → %d", g.labels[t.profile], t.to.number)
	if t.from < s.layouts {
		words += fmt.Sprintf(" (%d/%d)", t.from, s.layouts)
	}
	return words
}

// detail is all there is to say about a set, for a tooltip or for text.
func (g *graph) detail(s *set) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d: %s. %s", s.number, strings.Join(g.parts(s), " + "), plural(s.layouts, "layout"))
	if s.maximal > 0 {
		fmt.Fprintf(&b, ", %d maximal", s.maximal)
	}
	compute, memory, sms := g.idle(s)
	fmt.Fprintf(&b, ". Idle: %s, %s", plural(compute, "compute slice"), plural(memory, "memory slice"))
	if g.knowsSMs() {
		fmt.Fprintf(&b, ", %s", plural(sms, "SM"))
	}
	if s.instances > 0 {
		fmt.Fprintf(&b, ". Best placed: %s", g.lattice.Layout(s.best))
	}
	if s.trap() {
		fmt.Fprintf(&b, ". Dead end: %s", g.lattice.Layout(s.stuck))
	}
	return b.String()
}

// knowsSMs tells whether the SMs of the product and of all chosen profiles are known.
func (g *graph) knowsSMs() bool {
	for _, p := range g.profiles {
		if p.SMs == 0 {
			return false
		}
	}
	return g.product.SMs > 0
}

// notes returns what a reader should know, in sentences.
func (g *graph) notes() []string {
	var notes []string
	if g.product.Uniform {
		notes = append(notes, "Note: the mode of the GPU makes all its partitions at once, and all are alike. "+
			"A set that is not full stands for partitions in use beside others that are idle.")
	}
	for _, note := range g.product.Notes {
		notes = append(notes, "Note: "+note+".")
	}
	return notes
}
