package score

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/values"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/internal/decimal"
	"github.com/berth-sched/berth/topology"
)

// Choice says what speaks for a node on which a request for one member fits, against the best of
// those that take more from what is typically asked for; place finds a place for a request. Nil: it
// is not that which decides.
func (sc *Scoring) Choice(r *gang.Request, at topology.NodeIndex, place func(*gang.Request) []gang.Member) *berth.PlaceChoice {
	if len(r.Groups) != 1 || r.Groups[0].Members != 1 || sc.demand == nil || !sc.demand.Knows() {
		return nil
	}
	fleet, claim := sc.state.Fleet, &r.Groups[0].Claim
	least, left, ok := fleet.LossOn(claim, at)
	if !ok || len(claim.Instances) > 0 {
		return nil
	}
	out := &berth.PlaceChoice{Node: sc.state.Nodes[at].Spec.ID}
	worse := place(sc.worse(r, least))
	if len(worse) == 0 {
		out.Text = fmt.Sprintf("%s: no other place takes more from what is typically asked for", out.Node)
		return out
	}
	instead := worse[0].Hold.Node
	_, insteadLeft, _ := fleet.LossOn(claim, instead)
	out.Instead = sc.state.Nodes[instead].Spec.ID
	out.Keeps = sc.demand.Kept(claim, fleet.StockOf(at), left, fleet.StockOf(instead), insteadLeft)
	out.Text = fmt.Sprintf("%s rather than %s: %s", out.Node, out.Instead, keptText(out.Keeps))
	return out
}

// worse is a request for one member, but for places alone where more is lost.
func (sc *Scoring) worse(r *gang.Request, than int64) *gang.Request {
	worse := *r
	worse.Groups = slices.Clone(r.Groups)
	g := &worse.Groups[0]
	match := g.Match
	g.Match = func(n topology.NodeIndex) bool {
		loss, _, ok := sc.state.Fleet.LossOn(&g.Claim, n)
		return ok && loss > than && (match == nil || match(n))
	}
	return &worse
}

// keptText says what is kept that is worth the most, and what is given up for it.
func keptText(list []berth.KeptRoom) string {
	kept, given := "", ""
	for i := range list {
		k := &list[i]
		switch {
		case k.Members > 0 && kept == "":
			kept = fmt.Sprintf("keeps room for %d more of %s", k.Members, kindText(k))
		case k.Members < 0 && given == "":
			given = fmt.Sprintf("takes that of %d of %s", -k.Members, kindText(k))
		}
	}
	switch {
	case kept == "" && given == "":
		return "keeps more room for all kinds together"
	case kept == "":
		return "keeps more room for all kinds together, though it " + given
	case given == "":
		return kept
	}
	return kept + ", and " + given
}

// kindText names a kind of members, as in "8xH100".
func kindText(k *berth.KeptRoom) string {
	product, many := "GPU", fmt.Sprintf("%dx", k.Claim.GPUs)
	if len(k.Selector.Products) > 0 {
		product = strings.Join(k.Selector.Products, "|")
	}
	if k.Claim.Share != nil {
		many = decimal.Milli(int64(k.Claim.Share.GPUMilli)) + " of "
	}
	return strings.Join(append([]string{many + product}, values.HostClaim(&k.Claim)...), ", ")
}
