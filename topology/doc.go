// Package topology says where the nodes of a fleet are and, for every domain of
// the fleet, how much of it is free.
//
// A [Tree] has the fleet at its root, named levels from the widest to the
// narrowest ("zone", "spine", "leaf"), and nodes below the narrowest level. A
// domain is one place of a level: a zone, one spine of it, one leaf of that. A
// tree without levels is a flat fleet.
//
// # What is counted
//
// Every node belongs to a hardware class, a small number that the caller gives to
// nodes that are alike in all that matters to a search, the number of GPUs
// included. For every domain and class the tree knows how many nodes have exactly
// k GPUs free, for every k. From these counts follow, without a visit to a single
// node, how many members of a gang a domain can hold ([Tree.Capacity]) and where a
// node stands that fits a claim best ([Tree.Visit]): what is not feasible is
// skipped as a whole.
//
// # Use
//
// The embedder's part:
//
//  1. Make a tree with [NewTree], naming the levels.
//  2. Add nodes with [Tree.AddNode]. Domains come and go with their nodes.
//  3. Tell each change of what a node has free with [Tree.SetFree]. A node starts
//     with nothing free; -1 takes it out of all counts.
//  4. Ask.
//
// In short:
//
//	tree, err := topology.NewTree("spine", "leaf")
//	...
//	n, err := tree.AddNode("node-17", []string{"spine-a", "leaf-2"}, class, 8)
//	...
//	tree.SetFree(n, 8)
//	for _, spine := range tree.Children(topology.RootDomain) {
//		fmt.Println(tree.DomainName(spine), tree.Capacity(spine, class, 4))
//	}
//
// # Order
//
// Children and nodes are listed in the order of their names. Indexes of nodes and
// domains are handed out again after a removal, so they tell something about the
// past; names do not. No answer of this package depends on an index, and so two
// fleets with the same nodes give the same answers, however they came about.
//
// # Cost
//
// With l the number of levels, g the GPUs of a node and c the classes present in
// a domain: SetFree is O(l), the questions O(log c) or O(g + log c), and none of
// them allocates. AddNode and RemoveNode are O(l log n), and O(n/64) where n nodes
// of the domain follow in the order of names, so that nodes that join in the order of
// their names cost least. Memory is O(n g / 64) words beside the nodes themselves.
//
// A Tree is a plain value machine: not safe for concurrent use, and equal calls give
// equal answers.
package topology
