package demand

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/fields"
)

// notInKey are fields of claims and selectors by which kinds are not told apart, and why.
var notInKey = map[string]string{
	"Claim.MIG":                      "a divided GPU has no room for others, so that no kind has one",
	"Claim.MinInstance.MinSMs":       "as MIG",
	"Claim.MinInstance.MinMemoryMiB": "as MIG",
	"Claim.Borrow.MemoryMiB":         "a GPU that is borrowed is taken from nobody, so that no kind has one",
	"Claim.Share.Mode":               "shares count as those of MPS",
	"Claim.Share.MemoryMiB":          "shares count by their thousandths alone",
	"Claim.Resources[].key":          "what is declared is not weighed",
	"Claim.Resources[]":              "as its name",
	"Selector.Labels[].key":          "labels are no part of classes",
	"Selector.Labels[]":              "labels are no part of classes",
}

// What a claim or a selector says tells kinds apart, and is kept: a field that was forgotten would
// make one kind of two, or be asked of nobody once it is restored.
func TestWhatIsAskedForIsInTheKeyOfItsKind(t *testing.T) {
	group := berth.Group{Claim: fields.Fill[berth.Claim](), Selector: fields.Fill[berth.Selector]()}
	key := func(g *berth.Group) string { return string(appendKey(nil, g)) }
	was := key(&group)
	for i, leaf := range fields.Leaves(&group) {
		if !strings.HasPrefix(leaf.Path, "Claim.") && !strings.HasPrefix(leaf.Path, "Selector.") {
			continue
		}
		changed := fields.Clone(group)
		fields.Leaves(&changed)[i].Set(leaf.Others("other")[0])
		require.Equal(t, notInKey[leaf.Place] == "", key(&changed) != was, "%s: add it to appendKey and mix.name of mix.go, or say in notInKey why it is left out", leaf.Path)
	}

	require.Empty(t, appendLater(nil, []int64{0, 0}), "what is not asked for changes no key")
	require.NotEqual(t, appendLater(nil, []int64{0, 7}), appendLater(nil, []int64{7, 0}))

	group.Claim.MIG, group.Claim.MinInstance, group.Claim.Borrow = "", nil, nil
	was = key(&group)
	m := newMix()
	m.add(&group, 1, 0, 0)
	fields.Scribble(&group)
	kept := berth.Group{Claim: m.kinds[0].Claim, Selector: m.kinds[0].Selector}
	require.Equal(t, was, key(&kept), "mix.name of mix.go keeps less than the key says, or shares it with the job")
}
