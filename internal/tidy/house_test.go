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
	"topology/nodegraph": {"topology"},
	"mig":                {},
	"quota":              {"host"},
	"gang":               {"host", "topology", "mig"},
	"preempt":            {},
	"":                   {"host", "topology", "mig", "quota", "gang", "preempt"},
	"core/machines":      {},

	// The rooms of the machine, from the ground up: none imports one that stands below it here.
	"core/internal/refusal":   {""},
	"core/internal/invariant": {},
	"core/internal/catalogue": {"", "core/internal/invariant", "core/internal/refusal", "gang", "mig", "topology/nodegraph"},
	"core/internal/losses":    {""},
	"core/internal/meter":     {""},
	"core/internal/agenda":    {""},
	"core/internal/record":    {"", "core/internal/agenda", "core/internal/catalogue", "core/internal/losses", "core/internal/meter", "core/internal/refusal", "gang", "host", "mig", "quota", "topology"},
	"core/internal/state":     {"", "core/internal/agenda", "core/internal/catalogue", "core/internal/invariant", "core/internal/losses", "core/internal/record", "core/internal/refusal", "gang", "preempt", "quota", "topology"},
	"core/internal/books":     {"", "core/internal/agenda", "core/internal/catalogue", "core/internal/invariant", "core/internal/record", "core/internal/refusal", "core/internal/state", "gang", "host", "quota"},
	"core/internal/backlog":   {"", "core/internal/agenda", "core/internal/books", "core/internal/catalogue", "core/internal/invariant", "core/internal/record", "core/internal/refusal", "core/internal/state", "gang", "mig", "quota", "topology"},
	"core/internal/admission": {"", "core/internal/agenda", "core/internal/backlog", "core/internal/books", "core/internal/catalogue", "core/internal/invariant", "core/internal/record", "core/internal/refusal", "core/internal/state", "gang", "topology"},
	"core/internal/upkeep":    {"", "core/internal/agenda", "core/internal/backlog", "core/internal/books", "core/internal/losses", "core/internal/record", "core/internal/refusal", "core/internal/state"},
	"core/internal/life":      {"", "core/internal/agenda", "core/internal/backlog", "core/internal/books", "core/internal/invariant", "core/internal/meter", "core/internal/record", "core/internal/refusal", "core/internal/state", "quota"},
	"core/internal/gpus":      {"", "core/internal/agenda", "core/internal/backlog", "core/internal/books", "core/internal/catalogue", "core/internal/invariant", "core/internal/life", "core/internal/record", "core/internal/refusal", "core/internal/state", "core/internal/upkeep", "gang", "mig"},
	"core/internal/search":    {"", "core/internal/agenda", "core/internal/backlog", "core/internal/books", "core/internal/catalogue", "core/internal/gpus", "core/internal/invariant", "core/internal/life", "core/internal/record", "core/internal/state", "core/internal/upkeep", "gang", "mig", "preempt", "quota", "topology"},
	"core/internal/evict":     {"", "core/internal/agenda", "core/internal/backlog", "core/internal/books", "core/internal/invariant", "core/internal/life", "core/internal/record", "core/internal/search", "core/internal/state", "gang", "host", "preempt", "quota", "topology"},
	"core/internal/answer":    {"", "core/internal/agenda", "core/internal/backlog", "core/internal/books", "core/internal/evict", "core/internal/gpus", "core/internal/life", "core/internal/record", "core/internal/search", "core/internal/state", "core/internal/upkeep", "gang", "host", "preempt", "quota", "topology", "topology/nodegraph"},

	"core": {"", "core/internal/admission", "core/internal/agenda", "core/internal/answer", "core/internal/backlog", "core/internal/books", "core/internal/catalogue", "core/internal/evict", "core/internal/gpus", "core/internal/invariant", "core/internal/life", "core/internal/losses", "core/internal/record", "core/internal/refusal", "core/internal/search", "core/internal/state", "core/internal/upkeep", "gang", "mig", "quota", "topology"},
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

// thirdParty names the modules that a program gets with the packages that decide, all
// of them: whoever embeds the core answers for each.
var thirdParty = []string{"github.com/google/btree"}

// readers names packages that stand beside those that decide, each with the modules
// that it draws in.
var readers = map[string][]string{
	"topology/fabric":              {"go.yaml.in/yaml/v3"},
	"topology/nodegraph/gonumview": {"gonum.org/v1/gonum"},
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
	"eventKinds":  "the closed set of events, with their decoders",
	"actionKinds": "the closed set of actions, with their decoders",
	"host.table":  "what differs by resource of a host, indexed by its values",
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
