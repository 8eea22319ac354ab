package tidy

import "strings"

// module is the path that every package of ours starts with.
const module = "github.com/berth-sched/berth"

// core names the packages that decide, as paths below the module ("" is the
// root), each with the siblings that it may import. What is under internal/ may
// be imported by all of them, and is held to the same rules once it is. No arrow
// runs back up: a package that is not named here is not importable from here.
var core = map[string][]string{
	"host":               {},
	"topology":           {},
	"topology/nodegraph": {},
	"mig":                {},
	"quota":              {"host"},
	"gang":               {"host", "topology", "mig"},
	"preempt":            {"host", "topology", "mig", "quota", "gang"},
	"":                   {"host", "topology", "topology/nodegraph", "mig", "quota", "gang", "preempt"},
}

// upper are the folders that stand on the root. What is in bench and examples may
// import all of them and everything below; nothing else may import them.
var upper = []string{"bench", "berthtest", "examples", "journal", "nvmlsrc"}

// forTests are packages that nothing but tests may import; they import what they like.
var forTests = set("internal/drawn")

// pure are the packages of the standard library that a decision may use: values
// in, values out. What is missing here is missing on purpose. hash/maphash draws
// a random seed; reflect and unsafe make the other rules blind; sync, runtime
// and context belong to the caller; os, net and log reach outside.
var pure = set(
	"bytes", "cmp", "container/heap", "crypto/sha256", "encoding", "encoding/base64",
	"encoding/binary", "encoding/hex", "encoding/json", "encoding/xml", "errors", "fmt", "hash",
	"hash/crc32", "hash/fnv", "io", "iter", "maps", "math", "math/bits", "slices",
	"sort", "strconv", "strings", "time", "unicode", "unicode/utf8",
)

// thirdParty are the prefixes of the modules that the core may stand on.
var thirdParty = []string{
	"github.com/google/btree",
	"gonum.org/v1/gonum",
	"golang.org/x/exp",
}

// impure are the functions and variables of otherwise pure packages that read
// the machine or write to it.
var impure = set(
	"time.Now", "time.Since", "time.Until", "time.Sleep", "time.After", "time.AfterFunc",
	"time.Tick", "time.NewTimer", "time.NewTicker",
	// The machine's time zone shows in what these return.
	"time.Local", "time.LoadLocation", "time.Unix", "time.UnixMilli", "time.UnixMicro",
	"fmt.Print", "fmt.Printf", "fmt.Println",
	"fmt.Scan", "fmt.Scanf", "fmt.Scanln",
)

// variables at package level that are neither error sentinels nor assertions,
// each with the reason why it may stay. The rule against writing to them has no
// exception.
var variables = map[string]string{
	"classNames":          "texts of an enumeration, indexed by its values",
	"localityNames":       "texts of an enumeration, indexed by its values",
	"preemptionModeNames": "texts of an enumeration, indexed by its values",
	"movesModeNames":      "texts of an enumeration, indexed by its values",
	"gpuModeNames":        "texts of an enumeration, indexed by its values",
	"geometryKindNames":   "texts of an enumeration, indexed by its values",
	"shareModeNames":      "texts of an enumeration, indexed by its values",
	"xidEffectNames":      "texts of an enumeration, indexed by its values",
	"stateNames":          "texts of an enumeration, indexed by its values",
	"outcomeNames":        "texts of an enumeration, indexed by its values",
	"memberStateNames":    "texts of an enumeration, indexed by its values",
	"host.table":          "what differs by resource of a host, indexed by its values",
}

// floats names the files of core packages, as paths below the module, that may
// use floating point, each with the reason. No decision may be made in them.
var floats = map[string]string{
	"topology/nodegraph/weighted.go": "the graph as gonum sees it, whose weights are floats",
}

// below returns the path of a package below the module, and whether it is ours.
func below(path string) (string, bool) {
	if path == module {
		return "", true
	}
	return strings.CutPrefix(path, module+"/")
}

// within reports whether a path below the module is the folder or inside it.
func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

func set(members ...string) map[string]bool {
	m := make(map[string]bool, len(members))
	for _, member := range members {
		m[member] = true
	}
	return m
}
