// Package fabric reads the descriptions that fleets already have of their network,
// and writes those that Slurm reads.
//
// A [Fabric] is what they have in common: named levels from the widest to the
// narrowest, and nodes, each with the name of its domain on every level. It says
// where a node is and nothing about what is free; [Fabric.Tree] makes a
// [topology.Tree] of it, and an embedder of the scheduler copies Node.Path into the
// domains of its nodes.
//
// # Use
//
//  1. Read what there is: [ReadSlurmConf], [ReadSlurmYAML], [ReadTopograph],
//     [ReadNodeList] or [FromLabels], [ReadLingjun].
//  2. Where NVLink domains should be places of their own, such as the racks of an
//     NVL72, insert them with [Fabric.WithIslands].
//  3. Make nodes or a tree of it, or write it with [WriteSlurmTree], [WriteSlurmBlock]
//     or [WriteSlurmYAML].
//
// In short:
//
//	f, err := fabric.ReadSlurmConf("topology.conf", file)
//	...
//	tree, err := f.Tree(func(n fabric.Node) (topology.NodeClass, int) { return h100, 8 })
//
// # One depth for all
//
// A tree of domains has the same levels everywhere; real networks do not. The rule
// by which every source is brought to one depth:
//
//  1. Switches below which there is no node are left out, and what follows does not
//     see them.
//  2. The level of a switch is its height, as in Slurm: a switch without switches
//     below it is a leaf, any other stands one above the highest below it. The levels
//     are called leaf, spine, core, and tier-3 and so on above that.
//  3. Nodes that hang on a switch which has switches below it too get a leaf of their
//     own there, named after the switch with "-direct" at the end. They are nearer to
//     each other than to the rest, so that is a place.
//  4. A level that is skipped on the way up is filled with a domain named after the
//     next one below. So a leaf right below the core is alone in its spine: nothing
//     else becomes near by filling.
//  5. A node on no switch is alone on every level, in domains with the node's name.
//  6. A node on several leaves is in a domain of its own, together with those that
//     are on the same leaves: its name is theirs joined by "+", ordered by name, where
//     numbers count as numbers. That holds level by level, after 4. The leaves are
//     Node.Rails, in that order.
//
// Labels and tables name levels instead of switches. There a level that no node knows
// is left out, a node that lacks one gets it by rules 4 and 5, and one that lacks
// the narrowest gets the domain of rule 3. A made-up name that exists already is
// refused with ErrConflict.
//
// Slurm's blocks are one level, block. Further block sizes are a level each above
// it, block-SIZE, whose domains are the aggregates that Slurm makes of neighbours in
// the file; they are named by the host list of their blocks. A file without sizes has
// those of 2, 4, 8 and 16 blocks, as far as there are so many. A block without nodes holds a
// place among its neighbours and is none itself.
//
// # Formats
//
//   - topology.conf: topology.conf(5) of Slurm 26.11, topology/tree and topology/block,
//     https://slurm.schedmd.com/topology.conf.html; lines and host lists as in
//     slurm.conf(5).
//   - topology.yaml: topology.yaml(5) of the same, tree, block and flat,
//     https://slurm.schedmd.com/topology.yaml.html.
//   - Models of NVIDIA topograph, of each of the three forms that they had:
//     https://github.com/NVIDIA/topograph, tests/models and docs.
//   - Labels of nodes, with the keys of topograph ([TopographKeys]:
//     https://docs.nvidia.com/topograph/reference/node-labels-and-annotations), those of
//     Kueue's examples ([KueueKeys]:
//     https://kueue.sigs.k8s.io/docs/concepts/topology_aware_scheduling/)
//     or your own, out of a Kubernetes NodeList or given as maps.
//   - topo.csv of Alibaba's Lingjun trace of 2023.
//
// # Errors
//
// Every reader is strict: what it does not understand it refuses, with an [*Error]
// that has file, line and reason, and one of the kinds Err. Inputs are bounded:
// 16 MiB (but for a node list, which is read node by node), 262,144 nodes, 16 levels, 64
// leaves of a node, 253 bytes of a name. What an input stands for is counted before it is
// made: it may take 32 MiB of memory and 20 bytes for each of its own, so a host list of a
// few bytes stands for 65,536 nodes at most. What gzip wrote comes to 1 MiB and 64 times its
// length at most.
//
// Readers are deterministic and cost O(n log n) in what they read and expand, times
// the levels.
//
// This package is for the edge of a program. It reads from an io.Reader and uses a
// YAML library, which the deciding packages do not; none of them imports it.
package fabric
