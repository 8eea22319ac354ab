package world

import (
	"fmt"
	"path"
	"strings"

	"github.com/berth-sched/berth/topology/fabric"
)

// maxFleet is how many nodes a topology file may have: a picture of more is none.
const maxFleet = 4096

// FromTopology is a scenario on the fleet of a topology file of Slurm: topology.conf or, by its
// name, topology.yaml. The file does not tell what GPUs there are, so each node has 8 H100.
func FromTopology(name, text string) (string, error) {
	var f *fabric.Fabric
	var err error
	switch path.Ext(name) {
	case ".yaml", ".yml":
		f, err = fabric.ReadSlurmYAML(name, strings.NewReader(text), "")
	default:
		f, err = fabric.ReadSlurmConf(name, strings.NewReader(text))
	}
	if err != nil {
		return "", err
	}
	if len(f.Nodes) == 0 || len(f.Nodes) > maxFleet {
		return "", fmt.Errorf("%s has %d nodes; a picture has at least 1 and at most %d", name, len(f.Nodes), maxFleet)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# The fleet of %s, with 8 GPUs a node.\nconfig levels=%s\n", oneWord(name), strings.Join(f.Levels, ","))
	for i := range f.Nodes {
		n := &f.Nodes[i]
		where := strings.Join(n.Path, "/")
		if oneWord(n.Name) != n.Name || oneWord(where) != where || strings.Count(where, "/") != len(n.Path)-1 {
			return "", fmt.Errorf("%s: the name of node %q or of a domain of it cannot be said in a script", name, n.Name)
		}
		fmt.Fprintf(&b, "node %s at=%s\n", n.Name, where)
	}
	b.WriteString("queue research\nqueue product\nrun 6h\n")
	return b.String(), nil
}

// oneWord is a text without what ends a word of a script.
func oneWord(text string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r == '=' || r == '|' || r == '\u007f' {
			return -1
		}
		return r
	}, text)
}
