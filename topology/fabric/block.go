package fabric

import (
	"fmt"
	"slices"
	"strings"
)

// maxBlockSizes is the number of sizes that Slurm takes.
const maxBlockSizes = 16

// A block is one of topology/block, in the order of the file.
type block struct {
	name  string
	line  int
	nodes []string
}

// A sized is one of BlockSizes, with its line.
type sized struct {
	nodes int
	line  int
}

// blocks makes a fabric of blocks and their sizes. Above the level of the blocks
// there is one for every further size: Slurm joins that many neighbours of the file
// to an aggregate, the last of which may be short of some.
func (s *source) blocks(blocks []block, sizes []sized, field string) (*Fabric, error) {
	ratios, err := s.ratios(sizes, field)
	if err != nil {
		return nil, err
	}
	f := &Fabric{}
	for i, size := range slices.Backward(sizes) {
		f.BlockSizes = append([]int{size.nodes}, f.BlockSizes...)
		if i > 0 {
			f.Levels = append(f.Levels, fmt.Sprintf("block-%d", size.nodes))
		}
	}
	f.Levels = append(f.Levels, "block")
	nodes := 0
	for i := range blocks {
		nodes += len(blocks[i].nodes)
	}
	if nodes > maxNodes {
		return nil, s.refuse(ErrLimit, 0, "", "there are more than %d nodes", maxNodes)
	}
	if err := s.spend(0, "", nodes*(nodeCost+pathCost*len(f.Levels))); err != nil {
		return nil, err
	}
	f.Nodes = make([]Node, 0, nodes)
	aggregates := make([][]string, len(ratios))
	for i, ratio := range ratios {
		aggregates[i] = aggregateNames(blocks, ratio)
	}
	index, owner := map[string]bool{}, map[string]string{}
	for at, b := range blocks {
		if index[b.name] {
			return nil, s.refuse(ErrDuplicate, b.line, "", "the block %q is there twice", b.name)
		}
		index[b.name] = true
		if len(sizes) > 0 && len(b.nodes) < sizes[0].nodes {
			return nil, s.refuse(ErrInvalid, b.line, "", "the block %q has %d nodes, fewer than the smallest of the block sizes, %d",
				b.name, len(b.nodes), sizes[0].nodes)
		}
		path := make([]string, 0, len(f.Levels))
		for i, ratio := range slices.Backward(ratios) {
			path = append(path, aggregates[i][at/ratio])
		}
		path = append(path, b.name)
		for _, name := range b.nodes {
			if other, taken := owner[name]; taken {
				return nil, s.refuse(ErrDuplicate, b.line, "", "the node %q is named in %q and in %q", name, other, b.name)
			}
			owner[name] = b.name
			f.Nodes = append(f.Nodes, Node{Name: name, Path: slices.Clone(path)})
		}
	}
	slices.SortFunc(f.Nodes, func(a, b Node) int { return strings.Compare(a.Name, b.Name) })
	return f, nil
}

// ratios checks block sizes and returns of how many blocks the aggregates are.
func (s *source) ratios(sizes []sized, field string) ([]int, error) {
	var ratios []int
	for i, size := range sizes {
		at := s.refuse(ErrInvalid, size.line, field, "")
		switch {
		case i >= maxBlockSizes:
			at.Reason, at.Kind = fmt.Sprintf("more than %d sizes", maxBlockSizes), ErrLimit
			return nil, at
		case size.nodes < 1 || size.nodes > maxNodes:
			at.Reason = fmt.Sprintf("the size %d is not within 1 and %d", size.nodes, maxNodes)
			return nil, at
		case i == 0:
			continue
		case size.nodes <= sizes[i-1].nodes || size.nodes%sizes[0].nodes != 0 || !powerOfTwo(size.nodes/sizes[0].nodes):
			at.Reason = fmt.Sprintf("%d is not %d times a power of two, and more than the size before it", size.nodes, sizes[0].nodes)
			return nil, at
		}
		ratios = append(ratios, size.nodes/sizes[0].nodes)
	}
	return ratios, nil
}

func powerOfTwo(n int) bool { return n > 0 && n&(n-1) == 0 }

// aggregateNames names the aggregates of a number of blocks, as Slurm does: by the
// host list of their blocks.
func aggregateNames(blocks []block, ratio int) []string {
	var names []string
	for together := range slices.Chunk(blocks, ratio) {
		members := make([]string, len(together))
		for i, b := range together {
			members[i] = b.name
		}
		names = append(names, compressHostlist(members))
	}
	return names
}
