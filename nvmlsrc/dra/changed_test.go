package dra

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/internal/drawn"
)

// what is read of a dump, without lines: the devices, the claims and the nodes.
func what(d *Dump) []string {
	var list []string
	for _, device := range d.Devices {
		device.Line, device.uses = 0, nil
		list = append(list, fmt.Sprintf("%+v", device))
	}
	for _, claim := range d.Claims {
		claim.Line = 0
		list = append(list, fmt.Sprintf("%+v", claim))
	}
	nodes, told := d.Nodes()
	return append(list, fmt.Sprintf("%+v %v", nodes, told))
}

// mayMiss are members that some drivers do not write, and that say something only if they are
// there.
var mayMiss = []string{`"uuid"`, `"productName"`, `"resource.kubernetes.io/pciBusID"`, `"resource.kubernetes.io/numaNode"`, `"status"`, `"allocation"`, `"reservedFor"`, `"results"`, `"devices"`, `"capacity"`, `"memory"`, `"namespace"`, `"string"`, `"int"`, `"value"`, `"spec"`, `"sharedCounters"`, `"consumesCounters"`, `"metadata"`, `"attributes"`, `"generation"`}

// A good dump in which names are changed, and parts are missing, there twice or in another order:
// what comes out is the same, or it is refused, or says what is passed over. What is missing may be
// a value that is not told.
func TestChangedDumpsGiveTheSameOrAreTold(t *testing.T) {
	good := list(append(partitionable(t, "n1", 1, "v1"), claimOf("c", "n1", "gpu-0"),
		`{"apiVersion": "resource.k8s.io/v1", "kind": "DeviceTaintRule", "metadata": {"name": "r", "generation": 1}, "spec": {"deviceSelector": {"driver": "gpu.nvidia.com", "pool": "n1", "device": "gpu-0"}, "taint": {"key": "k", "effect": "NoSchedule"}}}`)...)
	want := what(read(t, good))
	member := regexp.MustCompile(`"[\w./-]+": (?:"[^"]*"|\d+|\{"\w+": "[^"]*"\}), `)
	pair := regexp.MustCompile(`("[\w./-]+": (?:"[^"]*"|\d+)), ("[\w./-]+": (?:"[^"]*"|\d+))`)
	name := regexp.MustCompile(`"([\w./-]+)": `)
	object := regexp.MustCompile(`(?s)\{"apiVersion".*?(?:,\n\{"api|\n\]\}\n$)`)
	outcomes := map[string]int{}
	for seed := range drawn.Seeds(300) {
		r := rand.New(rand.NewPCG(seed, 0))
		one := func(of *regexp.Regexp) []int {
			all := of.FindAllStringSubmatchIndex(good, -1)
			return all[r.IntN(len(all))]
		}
		text, part := "", ""
		change := []string{"rename", "remove", "double", "swap", "double object"}[r.IntN(5)]
		switch change {
		case "rename":
			at := one(name)
			part = good[at[2]:at[3]]
			text = good[:at[3]] + "x" + good[at[3]:]
		case "remove", "double":
			at := one(member)
			part = good[at[0]:at[1]]
			text = good[:at[0]] + good[at[1]:]
			if change == "double" {
				text = good[:at[1]] + good[at[0]:]
			}
		case "swap":
			at := one(pair)
			text = good[:at[2]] + good[at[4]:at[5]] + ", " + good[at[2]:at[3]] + good[at[5]:]
		case "double object":
			at := one(object)
			end := at[0] + strings.LastIndex(good[at[0]:at[1]], "\n]}")
			if rest := strings.LastIndex(good[at[0]:at[1]], ",\n{\"api"); rest >= 0 {
				end = at[0] + rest // where the next one begins
			}
			text = good[:end] + ",\n" + good[at[0]:end] + good[end:]
		}
		d, err := Read("f", strings.NewReader(text))
		var typed *Error
		outcome := "same"
		switch {
		case errors.As(err, &typed):
			outcome = "refused"
		case err != nil:
			t.Fatal(err)
		case len(d.Skipped) > 0:
			outcome = "told"
		case slices.Equal(want, what(d)):
		case change == "remove" && slices.ContainsFunc(mayMiss, func(name string) bool { return strings.HasPrefix(part, name) }):
			outcome = "less"
		default:
			t.Fatalf("seed %d, %s: nothing is told: %s", seed, change, part)
		}
		outcomes[outcome]++
	}
	if drawn.Many() {
		for _, outcome := range []string{"same", "refused", "told"} {
			require.NotZero(t, outcomes[outcome], outcome)
		}
	}
	t.Log(outcomes)
}
