package tidy

import (
	"maps"
	"slices"
	"strings"
)

// module is the path that every package of ours starts with.
const module = "github.com/berth-sched/berth"

// ground names the packages that decide and know nothing of the core, as paths below the
// module ("" is the root, the contract), each with the siblings that it may import. What is
// under internal/ may be imported by all of them, and is held to the same rules once it is.
// No arrow runs back up: a package that is named neither here nor in floors is not
// importable from here.
var ground = map[string][]string{
	"countable":          {},
	"topology":           {},
	"topology/nodegraph": {"topology"},
	"mig":                {},
	"quota":              {"countable"},
	"gang":               {"countable", "topology", "mig"},
	"preempt":            {},
	"":                   {"countable", "topology", "mig", "quota", "gang", "preempt"},
}

// A room is a package of the core. It may import the contract, the packages of the ground
// that it names, and every room on a floor below its own.
type room struct {
	path string
	// owner is the struct that holds what the room knows; no other package assigns its fields.
	owner string
	needs []string
}

// floors are the rooms from the ground up; those on one floor do not know each other.
var floors = [][]room{
	{
		{"core/internal/effort", "", nil},
		{"core/internal/values", "", []string{"countable", "quota"}},
		{"core/internal/invariant", "", nil},
		{"core/internal/refusal", "", nil},
		{"core/internal/agenda", "Agenda", nil},
		{"core/internal/losses", "Losses", nil},
		{"core/internal/meter", "Meter", nil},
		{"core/internal/roster", "", nil},
	},
	{
		{"core/internal/catalogue", "Catalogue", []string{"gang", "mig", "topology/nodegraph"}},
		{"core/internal/runtimes", "Runtimes", nil},
		{"core/internal/spec", "", []string{"countable", "mig", "topology"}},
	},
	{{"core/internal/hardware", "Table", []string{"topology"}}},
	// quota has the names by which amounts are saved.
	{{"core/internal/demand", "Demand", []string{"countable", "gang", "quota", "topology"}}},
	{{"core/internal/record", "", []string{"gang", "countable", "mig", "quota", "topology"}}},
	{{"core/internal/state", "State", []string{"gang", "countable", "preempt", "quota", "topology"}}},
	{
		{"core/internal/packing", "", []string{"gang", "countable", "topology"}},
		{"core/internal/score", "Scoring", []string{"gang", "topology"}},
	},
	{
		{"core/internal/books", "Books", []string{"gang", "countable", "mig", "quota", "topology"}},
		{"core/internal/due", "Due", []string{"quota"}},
	},
	{{"core/internal/backlog", "Backlog", []string{"gang", "mig", "quota", "topology"}}},
	{{"core/internal/admission", "Admission", []string{"gang", "topology"}}},
	{{"core/internal/upkeep", "Upkeep", nil}},
	{{"core/internal/life", "Life", []string{"quota"}}},
	{{"core/internal/gpus", "GPUs", []string{"gang", "mig"}}},
	{{"core/internal/evictable", "Index", []string{"countable", "preempt", "quota", "topology"}}},
	{{"core/internal/search", "Search", []string{"gang", "countable", "mig", "quota", "topology"}}},
	{{"core/internal/victim", "Victims", []string{"gang", "preempt", "quota", "topology"}}},
	{{"core/internal/evict", "Evict", []string{"gang", "preempt", "quota", "topology"}}},
	{{"core/internal/answer", "Answers", []string{"gang", "countable", "preempt", "quota", "topology", "topology/nodegraph"}}},
	{{"core", "Core", []string{"gang", "mig", "quota", "topology"}}},
}

// decides lists the packages that decide.
func decides() []string {
	paths := slices.Collect(maps.Keys(ground))
	for _, r := range slices.Concat(floors...) {
		paths = append(paths, r.path)
	}
	slices.Sort(paths)
	return paths
}

// siblings lists what a package may import of those that decide, and reports whether it
// is one of them.
func siblings(path string) ([]string, bool) {
	below := []string{""}
	for _, floor := range floors {
		for _, r := range floor {
			if r.path == path {
				return append(below, r.needs...), true
			}
		}
		for _, r := range floor {
			below = append(below, r.path)
		}
	}
	paths, ok := ground[path]
	return paths, ok
}

// upper are the folders that stand on the root. What is in bench and examples may
// import all of them and everything below; nothing else may import them. The module in etcd may
// import what examples may.
var upper = []string{"bench", "berthtest", "etcd", "examples", "journal", "kube", "nvmlsrc"}

// forTests are packages that nothing but tests and CI may use; they import what they like.
var forTests = set("bench/study/studytest", "core/internal/roomtest", "internal/api", "internal/drawn", "internal/fields", "internal/hostile", "internal/sample", "internal/sizes")

// pure are the packages of the standard library that a decision may use: values
// in, values out. What is missing here is missing on purpose. hash/maphash draws
// a random seed; reflect and unsafe make the other rules blind; sync, runtime
// and context belong to the caller; os, net and log reach outside.
var pure = set(
	"bytes", "cmp", "container/heap", "container/list", "crypto/sha256", "encoding", "encoding/base64",
	"encoding/binary", "encoding/hex", "encoding/json", "encoding/xml", "errors", "fmt", "hash",
	"hash/crc32", "hash/fnv", "io", "iter", "maps", "math", "math/bits", "slices",
	"sort", "strconv", "strings", "time", "unicode", "unicode/utf16", "unicode/utf8",
)

// decoder reads JSON into values whose types it looks at. No decision is made there.
const decoder = "internal/strict"

// thirdParty names the modules that a program gets with the packages that decide, all
// of them: an embedder answers for each.
var thirdParty = []string{"github.com/google/btree"}

// readers names packages that stand beside those that decide, each with the modules
// that it draws in.
var readers = map[string][]string{
	"internal/input":  nil,
	"topology/fabric": {"go.yaml.in/yaml/v3"},
}

// impure are the functions and variables of otherwise pure packages that read
// the machine or write to it.
var impure = set(
	"time.Now", "time.Since", "time.Until", "time.Sleep", "time.After", "time.AfterFunc",
	"time.Tick", "time.NewTimer", "time.NewTicker",
	// The machine's time zone shows in what these return, unless it is put into UTC at once.
	"time.Local", "time.LoadLocation", "time.Unix", "time.UnixMilli", "time.UnixMicro",
	"fmt.Print", "fmt.Printf", "fmt.Println",
	"fmt.Scan", "fmt.Scanf", "fmt.Scanln",
)

// variables at package level that are neither error sentinels nor assertions,
// each with the reason why it may stay. The rule against writing to them has no
// exception.
var variables = map[string]string{
	"eventKinds":                     "the closed set of events, with their decoders",
	"orderKinds":                     "the closed set of orders, with their decoders",
	"forms":                          "how other values are read, made of their types alone",
	"core.snapshotForm":              "how snapshots are read, made of a type alone",
	"core.snapshotPen":               "how snapshots are written, made of a type alone",
	"core/internal/state.patternPen": "how keys are written, made of a type alone",
	"core/internal/state.shapePen":   "how keys are written, made of a type alone",
	"countable.table":                "what differs by resource of a host, indexed by its values",
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
