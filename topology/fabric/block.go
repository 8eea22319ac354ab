package fabric

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// maxBlockSizes is the number of sizes that Slurm takes: MAX_BLOCK_LEVELS.
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
// there is one for every further size, in any order: Slurm joins that many
// neighbours of the file to an aggregate, the last of which may be short of some. A block without
// nodes, or with fewer than the first size, keeps its place among them.
func (s *source) blocks(blocks []block, sizes []sized, field string) (*Fabric, error) {
	nodes, first := 0, 0
	for i := range blocks {
		nodes += len(blocks[i].nodes)
		first = cmp.Or(first, len(blocks[i].nodes))
	}
	if nodes == 0 {
		return nil, s.refuse(ErrInvalid, 0, "", "no block has nodes")
	}
	ratios, err := s.ratios(sizes, field)
	if err != nil {
		return nil, err
	}
	f := &Fabric{BlockSizes: []int{first}}
	if len(sizes) > 0 {
		f.BlockSizes[0] = sizes[0].nodes
	} else {
		ratios = defaultRatios(len(blocks))
	}
	for _, ratio := range ratios {
		f.BlockSizes = append(f.BlockSizes, f.BlockSizes[0]*ratio)
	}
	for _, size := range slices.Backward(f.BlockSizes[1:]) {
		f.Levels = append(f.Levels, fmt.Sprintf("block-%d", size))
	}
	f.Levels = append(f.Levels, "block")
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

// ratios checks block sizes and returns of how many blocks the aggregates are, the narrowest first.
// Slurm keeps a set of sizes (_read_topo_file of its block_record.c): the first is that of a block,
// and the others may come in any order, and again.
func (s *source) ratios(sizes []sized, field string) ([]int, error) {
	var ratios []int
	for _, size := range sizes {
		at := s.refuse(ErrInvalid, size.line, field, "")
		switch {
		case size.nodes < 1 || size.nodes > maxNodes:
			at.Reason = fmt.Sprintf("the size %d is not within 1 and %d", size.nodes, maxNodes)
			return nil, at
		case size.nodes%sizes[0].nodes != 0 || !powerOfTwo(size.nodes/sizes[0].nodes):
			at.Reason = fmt.Sprintf("%d is not %d times a power of two", size.nodes, sizes[0].nodes)
			return nil, at
		case size.nodes/sizes[0].nodes >= 1<<maxBlockSizes:
			at.Reason, at.Kind = fmt.Sprintf("%d is more than %d times %d", size.nodes, 1<<(maxBlockSizes-1), sizes[0].nodes), ErrLimit
			return nil, at
		case size.nodes > sizes[0].nodes:
			ratios = append(ratios, size.nodes/sizes[0].nodes)
		}
	}
	slices.Sort(ratios)
	return slices.Compact(ratios), nil
}

// defaultRatios are those of Slurm where no sizes are given: of 2, 4, 8 and 16 blocks, up to
// the first that takes them all.
func defaultRatios(blocks int) []int {
	var ratios []int
	for ratio := 2; ratio <= 16 && ratio < 2*blocks; ratio *= 2 {
		ratios = append(ratios, ratio)
	}
	return ratios
}

func powerOfTwo(n int) bool { return n > 0 && n&(n-1) == 0 }

// aggregateNames names the aggregates of a number of blocks, as Slurm does by the
// host list of their blocks, here of those that have nodes.
func aggregateNames(blocks []block, ratio int) []string {
	var names []string
	for together := range slices.Chunk(blocks, ratio) {
		var members []string
		for _, b := range together {
			if len(b.nodes) > 0 {
				members = append(members, b.name)
			}
		}
		names = append(names, compressHostlist(members))
	}
	return names
}
