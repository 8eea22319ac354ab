package gang
import ("testing";"math/rand/v2";"fmt")
func TestDbg(t *testing.T) {
	r := dice{rand.New(rand.NewPCG(1611, 1))}
	w := r.fleet(t)
	q := r.request(w)
	for ways(w, q) > 4000 { q = r.request(w) }
	f := w.fleet
	var p Placement
	fmt.Println(f.Place(q, &p))
	fmt.Println(p, f.search.solver.spent, f.search.solver.groups)
	f.ReleaseAll(&p)
	f.begin(q, &p); f.search.counts = []int{3,2,2}; f.search.gpus=14
	fmt.Println(f.solve(0, f.search.order, improveSteps), f.cost(q, p.Members), p.Members)
	v := &f.search.solver
	fmt.Println(v.groups, v.spent, v.usedUnit, v.spanUnit, v.breakUnit)
	fmt.Println(f.run())
}
