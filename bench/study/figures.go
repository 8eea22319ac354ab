package study

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/berth-sched/berth"
)

// An Estimate is a mean and half of its 95 % confidence interval, of so many values. An interval of
// two is some thirteen times their deviation: it keeps verdicts from judging by noise, and texts
// leave it out.
type Estimate struct {
	Mean, Half float64
	Values     int
}

// Fewest values have an interval that is told.
const Fewest = 3

func (e Estimate) String() string {
	if e.Values < Fewest {
		return fmt.Sprintf("%.2f", e.Mean)
	}
	return fmt.Sprintf("%.2f ±%.2f", e.Mean, e.Half)
}

// Intervals ends a heading of means of so many values: whether there are intervals.
func Intervals(values int) string {
	if values < Fewest {
		return ", too few for confidence intervals"
	}
	return " with 95 % confidence intervals"
}

// Short is an estimate without the interval where that is nothing, and with as many places
// as its size asks for.
func (e Estimate) Short() string {
	if e.Half == 0 || e.Values < Fewest {
		return Cell(e.Mean)
	}
	return Cell(e.Mean) + " ±" + Cell(e.Half)
}

// EstimateOf takes the values as independent and, as their mean goes, normal: Student's
// t with one degree of freedom less than there are values.
func EstimateOf(values []float64) Estimate {
	mean, deviation := stat.MeanStdDev(values, nil)
	n := float64(len(values))
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(0.975)
	return Estimate{mean, t * deviation / math.Sqrt(n), len(values)}
}

// Each gives a figure of every run.
func Each[R any](runs []R, figure func(R) float64) []float64 {
	list := make([]float64, len(runs))
	for i, r := range runs {
		list[i] = figure(r)
	}
	return list
}

// Differences are of two lines on the same seeds.
func Differences(a, b []float64) []float64 {
	list := make([]float64, len(a))
	for i := range a {
		list[i] = a[i] - b[i]
	}
	return list
}

// Quantile is the smallest value that a part of the values does not exceed. It sorts
// them.
func Quantile[T ~int64 | ~float64](values []T, q float64) T {
	slices.Sort(values)
	at := int(math.Ceil(q*float64(len(values)))) - 1
	return values[min(max(at, 0), len(values)-1)]
}

// Jain is Jain's index of fairness: the square of the sum of what each has, over their
// number times the sum of the squares. It is 1 if all have the same and 1/n if one has
// all. From Jain, Chiu and Hawe, "A Quantitative Measure of Fairness and Discrimination
// for Resource Allocation in Shared Computer Systems", DEC TR-301, 1984.
func Jain(values []float64) float64 {
	total, squares := 0.0, 0.0
	for _, v := range values {
		total, squares = total+v, squares+v*v
	}
	if squares == 0 {
		return 1
	}
	return total * total / (float64(len(values)) * squares)
}

// GPUHours are those of a GPU time in milliseconds.
func GPUHours(gpuTime float64) float64 { return gpuTime / float64(berth.Hour) }
