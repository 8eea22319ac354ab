package hardware

import (
	"cmp"
	"slices"
	"strings"

	"github.com/berth-sched/berth"
)

// taintsKey has the taints of a node in one text, so that keys can be compared: key, value and
// effect of each, in order, each with a zero byte behind it, which no name has. The order in which
// a node lists them does not matter.
func taintsKey(taints []berth.Taint) string {
	if len(taints) == 0 {
		return ""
	}
	sorted := slices.SortedFunc(slices.Values(taints), func(a, b berth.Taint) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Effect, b.Effect))
	})
	var b strings.Builder
	for _, t := range sorted {
		for _, text := range [...]string{t.Key, t.Value, string(rune(t.Effect))} {
			b.WriteString(text)
			b.WriteByte(0)
		}
	}
	return b.String()
}

// Repels finds the first taint of nodes of the class that a group does not tolerate.
func (k Key) Repels(g *berth.Group) (taint berth.Taint, repels bool) {
	for rest := k.taints; rest != ""; {
		var effect string
		taint.Key, rest, _ = strings.Cut(rest, "\x00")
		taint.Value, rest, _ = strings.Cut(rest, "\x00")
		effect, rest, _ = strings.Cut(rest, "\x00")
		taint.Effect = berth.TaintEffect(effect[0])
		if !slices.ContainsFunc(g.Selector.Tolerations, func(t berth.Toleration) bool { return t.Tolerates(&taint) }) {
			return taint, true
		}
	}
	return berth.Taint{}, false
}
