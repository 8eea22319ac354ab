package nodegraph

import "strconv"

// A NUMANode is the number of a NUMA node, which counts from 0, or that it is not known: the
// zero value. NUMA nodes can be compared with ==.
type NUMANode struct{ next int32 } // the number and one; 0: not known

// maxNUMA bounds the numbers of NUMA nodes. On Grace the memory of each GPU and of
// each of its MIG instances is a NUMA node too, so that numbers run high.
const maxNUMA = 4096

// NUMANodeOf is the NUMA node of a number. A negative one, such as the -1 of the kernel, is not
// known; NewGraph refuses one above 4095.
func NUMANodeOf(n int) NUMANode {
	if n < 0 {
		return NUMANode{}
	}
	return NUMANode{int32(min(n, maxNUMA)) + 1}
}

// Number is the number, and whether it is known.
func (n NUMANode) Number() (int, bool) { return int(n.next) - 1, n.next != 0 }

// String prints the number, or "unknown".
func (n NUMANode) String() string {
	if n.next == 0 {
		return "unknown"
	}
	return strconv.Itoa(int(n.next) - 1)
}

func checkNUMA(field string, n NUMANode) error {
	if number, _ := n.Number(); number >= maxNUMA {
		return invalid(field, "a NUMA node goes from 0 to "+strconv.Itoa(maxNUMA-1))
	}
	return nil
}
