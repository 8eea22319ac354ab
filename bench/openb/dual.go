package openb

import (
	"math"

	"github.com/berth-sched/berth/bench"
)

// most is an upper bound on what can be allocated, in thousandths of a GPU: the least value of the
// dual on the way of a primal-dual gradient method (Chambolle and Pock, Journal of Mathematical
// Imaging and Vision 40, 2011, with the steps of Pock and Chambolle, ICCV 2011), begun anew from
// its mean now and then.
func (r *relaxation) most() float64 {
	best := math.Inf(1)
	w := newWalk(r)
	for range rounds {
		w.begin()
		for range steps {
			w.step()
		}
		w.restart()
		best = min(best, r.value(w.prices))
	}
	return bench.WholeGPU * best
}

// value is the dual at some prices, in GPUs, which is never less than what can be allocated: what
// all nodes are worth, and for each task what it gains where it gains the most, if anything. A
// price is of a row of a type of node.
func (r *relaxation) value(prices []float64) float64 {
	sum := 0.0
	for t := range r.types {
		for row := range r.rows {
			sum += r.types[t].count * prices[t*r.rows+row]
		}
	}
	for i := range r.demands {
		d := &r.demands[i]
		most := 0.0
		for t := range r.types {
			if d.takes[t] != nil {
				most = max(most, d.gain(t, prices[t*r.rows:]))
			}
		}
		sum += d.count * most
	}
	return sum
}

// gain is what a task is worth more than the part of a node that it takes.
func (d *demand) gain(t int, prices []float64) float64 {
	gain := float64(d.request.TotalMilli()) / bench.WholeGPU
	for row, part := range d.takes[t] {
		gain -= prices[row] * part
	}
	return gain
}

// The walk restarts so many times after so many steps each. On the published lists the bound then
// changes by less than a hundredth of a percent.
const (
	rounds = 60
	steps  = 100
	// weight is what a step in amounts, which are tasks, is to one in prices, which are GPUs.
	weight = 5
)

// A walk is the method on its way. Amounts are by demand and type, prices by type and row, and
// waits, the prices of the demands, by demand.
type walk struct {
	*relaxation
	amounts, prices, waits             []float64
	meanAmounts, meanPrices, meanWaits []float64 // sums, until restart divides them
	amountStep, priceStep              []float64
	waitStep                           float64
	taken, placed                      []float64
}

func newWalk(r *relaxation) *walk {
	zeros := func(n int) []float64 { return make([]float64, n) }
	pairs, rows := len(r.demands)*len(r.types), len(r.types)*r.rows
	w := &walk{
		relaxation: r, amounts: zeros(pairs), prices: zeros(rows), waits: zeros(len(r.demands)),
		meanAmounts: zeros(pairs), meanPrices: zeros(rows), meanWaits: zeros(len(r.demands)),
		amountStep: zeros(pairs), priceStep: zeros(rows), waitStep: 1 / float64(len(r.types)) / weight,
		taken: zeros(rows), placed: zeros(len(r.demands)),
	}
	for i := range r.demands {
		for t, takes := range r.demands[i].takes {
			if takes == nil {
				continue
			}
			sum := 1.0
			for row, part := range takes {
				sum += part
				w.priceStep[t*r.rows+row] += part
			}
			w.amountStep[i*len(r.types)+t] = weight / sum
		}
	}
	for i, sum := range w.priceStep {
		if sum > 0 {
			w.priceStep[i] = 1 / sum / weight
		}
	}
	return w
}

// begin forgets the means.
func (w *walk) begin() {
	clear(w.meanAmounts)
	clear(w.meanPrices)
	clear(w.meanWaits)
}

// step moves amounts up to where the gain ends, then prices and waits up to where there is room.
func (w *walk) step() {
	types := len(w.types)
	clear(w.taken)
	clear(w.placed)
	for i := range w.demands {
		d := &w.demands[i]
		for t, takes := range d.takes {
			if takes == nil {
				continue
			}
			at := i*types + t
			was := w.amounts[at]
			w.amounts[at] = max(0, was+w.amountStep[at]*(d.gain(t, w.prices[t*w.rows:])-w.waits[i]))
			w.meanAmounts[at] += w.amounts[at]
			ahead := 2*w.amounts[at] - was
			w.placed[i] += ahead
			for row, part := range takes {
				w.taken[t*w.rows+row] += ahead * part
			}
		}
	}
	for i := range w.prices {
		w.prices[i] = max(0, w.prices[i]+w.priceStep[i]*(w.taken[i]-w.types[i/w.rows].count))
		w.meanPrices[i] += w.prices[i]
	}
	for i := range w.waits {
		w.waits[i] = max(0, w.waits[i]+w.waitStep*(w.placed[i]-w.demands[i].count))
		w.meanWaits[i] += w.waits[i]
	}
}

// restart goes on from the means of the steps since begin.
func (w *walk) restart() {
	for i, sum := range w.meanAmounts {
		w.amounts[i] = sum / steps
	}
	for i, sum := range w.meanPrices {
		w.prices[i] = sum / steps
	}
	for i, sum := range w.meanWaits {
		w.waits[i] = sum / steps
	}
}
