package fabric

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// BenchmarkSlurmConf reads and writes a tree of 16 nodes a leaf and 16 leaves a
// spine, as topology.conf.
func BenchmarkSlurmConf(b *testing.B) {
	for _, spines := range []int{2, 64} {
		var conf strings.Builder
		for s := range spines {
			for l := range 16 {
				fmt.Fprintf(&conf, "SwitchName=s%dl%d Nodes=s%dl%dn[01-16]\n", s, l, s, l)
			}
			fmt.Fprintf(&conf, "SwitchName=s%d Switches=s%dl[0-15]\n", s, s)
		}
		fmt.Fprintf(&conf, "SwitchName=core Switches=s[0-%d]\n", spines-1)
		nodes := spines * 256
		perNode := func(b *testing.B) {
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*nodes), "ns/node")
		}
		f, err := ReadSlurmConf("bench", strings.NewReader(conf.String()))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("read/nodes=%d", nodes), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ReadSlurmConf("bench", strings.NewReader(conf.String())); err != nil {
					b.Fatal(err)
				}
			}
			perNode(b)
		})
		b.Run(fmt.Sprintf("write/nodes=%d", nodes), func(b *testing.B) {
			b.ReportAllocs()
			var out bytes.Buffer
			for b.Loop() {
				out.Reset()
				if err := WriteSlurmTree(&out, f); err != nil {
					b.Fatal(err)
				}
			}
			perNode(b)
		})
	}
}
