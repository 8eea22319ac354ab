package script

import (
	"encoding"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/memory"
	"github.com/berth-sched/berth/quota"
)

// arguments are what follows the first word of a command. The first mistake is
// kept, so that a command reads all it needs and asks once, with finish.
type arguments struct {
	words  []string // those without a =
	values []value  // the others, in the order in which they stand
	reason string
	err    error
}

type value struct {
	key, text string
	used      bool
}

func parseArguments(line string) *arguments {
	a := &arguments{}
	line, reason, _ := strings.Cut(line, " because ")
	a.reason = strings.TrimSpace(reason)
	a.add(strings.Fields(line))
	return a
}

// add takes the words of a command, or the pairs of a group.
func (a *arguments) add(fields []string) {
	for _, f := range fields {
		if key, text, named := strings.Cut(f, "="); named {
			a.values = append(a.values, value{key: key, text: text})
		} else {
			a.words = append(a.words, f)
		}
	}
}

func (a *arguments) fail(format string, args ...any) {
	if a.err == nil {
		a.err = fmt.Errorf(format, args...)
	}
}

// finish returns the first mistake, which may be a word or a key that nobody
// asked for.
func (a *arguments) finish(words int) error {
	if len(a.words) != words {
		a.fail("has %d words without a =, not %d: %q", len(a.words), words, a.words)
	}
	for i := range a.values {
		if !a.values[i].used {
			a.fail("does not know %s=", a.values[i].key)
		}
	}
	return a.err
}

// word returns the word at a position, or an empty one.
func (a *arguments) word(i int) string {
	if i >= len(a.words) {
		return ""
	}
	return a.words[i]
}

func (a *arguments) number(i int) int {
	n, err := parseNumber(a.word(i))
	if err != nil {
		a.fail("%v", err)
	}
	return n
}

// all returns every value of a key.
func (a *arguments) all(key string) []string {
	var texts []string
	for i := range a.values {
		if v := &a.values[i]; v.key == key {
			v.used = true
			texts = append(texts, v.text)
		}
	}
	return texts
}

// lookup returns the value of a key that may stand once.
func (a *arguments) lookup(key string) (string, bool) {
	switch texts := a.all(key); len(texts) {
	case 0:
		return "", false
	case 1:
		return texts[0], true
	default:
		a.fail("has %s= twice", key)
		return texts[0], true
	}
}

func (a *arguments) text(key string) string {
	text, _ := a.lookup(key)
	return text
}

func (a *arguments) list(key string) []string {
	text, _ := a.lookup(key)
	if text == "" {
		return nil
	}
	return strings.Split(text, "|")
}

// read returns the value of a key as a function reads it, or the one to take if it is not there.
func read[T any](a *arguments, key string, absent T, parse func(string) (T, error)) T {
	text, ok := a.lookup(key)
	if !ok {
		return absent
	}
	v, err := parse(text)
	if err != nil {
		a.fail("%s=%s: %v", key, text, err)
	}
	return v
}

func (a *arguments) integer(key string, absent int) int { return read(a, key, absent, parseNumber) }

func (a *arguments) span(key string) berth.Duration { return read(a, key, 0, parseSpan) }

// milli returns the thousandths of a decimal number, as of cores.
func (a *arguments) milli(key string, absent int64) int64 { return read(a, key, absent, parseMilli) }

// memory returns MiB.
func (a *arguments) memory(key string, absent int64) int64 {
	return read(a, key, absent, memory.ParseMiB)
}

// one reads one of the words that a type has, such as a class. It is as it was if the key is not
// there.
func (a *arguments) one(key string, of encoding.TextUnmarshaler) {
	if text, ok := a.lookup(key); ok {
		if err := of.UnmarshalText([]byte(text)); err != nil {
			a.fail("%s=%s: %v", key, text, err)
		}
	}
}

func (a *arguments) yes(key string) bool {
	text, ok := a.lookup(key)
	if ok && text != "yes" {
		a.fail("%s=%s: yes is all that can be said", key, text)
	}
	return ok
}

// labels reads k:v|k:v.
func (a *arguments) labels(key string) map[string]string {
	var labels map[string]string
	for _, pair := range a.list(key) {
		k, v, ok := strings.Cut(pair, ":")
		if !ok {
			a.fail("%s=: %q is not of the form key:value", key, pair)
		}
		if labels == nil {
			labels = map[string]string{}
		}
		labels[k] = v
	}
	return labels
}

// taints reads k:v|k, each with the only effect that there is.
func (a *arguments) taints() []berth.Taint {
	var list []berth.Taint
	for _, text := range a.list("taints") {
		key, value, _ := strings.Cut(text, ":")
		list = append(list, berth.Taint{Key: key, Value: value, Effect: berth.TaintNoSchedule})
	}
	return list
}

// tolerations reads k:v, which is that value, k, which is any, and *, which is every taint.
func (a *arguments) tolerations() []berth.Toleration {
	var list []berth.Toleration
	for _, text := range a.list("tolerates") {
		key, value, one := strings.Cut(text, ":")
		t := berth.Toleration{Key: key, Value: value}
		if !one {
			t.Operator = berth.TolerationExists
		}
		if text == "*" {
			t.Key = ""
		}
		list = append(list, t)
	}
	return list
}

// resources reads scratch:500|rdma/vf:1.
func (a *arguments) resources(key string) map[string]int64 {
	var named map[string]int64
	for _, pair := range a.list(key) {
		name, text, _ := strings.Cut(pair, ":")
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			a.fail("%s=: %s is not of the form NAME:AMOUNT", key, pair)
		}
		if named == nil {
			named = map[string]int64{}
		}
		named[name] = n
	}
	return named
}

// amounts reads gpu:8|H100-80GB:4|cpu:10|memory:1TiB|resource:scratch:500.
func (a *arguments) amounts(key string) quota.Amounts { return a.byResource(key, nil) }

// thousandths reads gpu:300|memory:500.
func (a *arguments) thousandths(key string) quota.Thousandths {
	return quota.Thousandths(a.byResource(key, parsePlain))
}

func parsePlain(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) }

// byResource reads a number for each resource: by another parser, or in the unit that people use.
func (a *arguments) byResource(key string, other func(string) (int64, error)) quota.Amounts {
	var amounts quota.Amounts
	for _, pair := range a.list(key) {
		name, text, _ := strings.Cut(pair, ":")
		parse, resource := parseMilli, quota.GPUMilliOf(name)
		switch name {
		case "gpu":
			resource = quota.GPUMilli
		case "cpu":
			resource = quota.CPUMilli
		case "memory":
			parse, resource = memory.ParseMiB, quota.MemoryMiB
		case "resource":
			name, text, _ = strings.Cut(text, ":")
			parse, resource = parsePlain, quota.Resource(name)
		}
		if other != nil {
			parse = other
		}
		n, err := parse(text)
		if err != nil {
			a.fail("%s=: %s: %v", key, pair, err)
		}
		if amounts == nil {
			amounts = quota.Amounts{}
		}
		amounts[resource] = n
	}
	return amounts
}

func parseNumber(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number", text)
	}
	return n, nil
}

func parseSpan(text string) (berth.Duration, error) {
	d, err := time.ParseDuration(text)
	return berth.DurationOf(d), err
}

// parseMilli reads a decimal number with up to three places as thousandths.
func parseMilli(text string) (int64, error) {
	whole, fraction, _ := strings.Cut(text, ".")
	if len(fraction) > 3 {
		return 0, fmt.Errorf("%q is finer than a thousandth", text)
	}
	digits := whole + fraction + strings.Repeat("0", 3-len(fraction))
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number", text)
	}
	return n, nil
}

// expandNames turns n1..n8 into the eight names, and leaves other names alone.
// Numbers keep the width of the first.
func expandNames(text string) ([]string, error) {
	from, to, isRange := strings.Cut(text, "..")
	if !isRange {
		return []string{text}, nil
	}
	prefix := strings.TrimRight(from, "0123456789")
	digits := from[len(prefix):]
	first, err1 := strconv.Atoi(digits)
	last, err2 := strconv.Atoi(strings.TrimPrefix(to, prefix))
	if err1 != nil || err2 != nil || !strings.HasPrefix(to, prefix) || last < first || last-first >= 1<<12 {
		return nil, fmt.Errorf("%q is not a range like n1..n8, of at most 4,096 names", text)
	}
	var names []string
	for n := first; n <= last; n++ {
		names = append(names, fmt.Sprintf("%s%0*d", prefix, len(digits), n))
	}
	return names, nil
}

// expand lists the names of a list with ranges.
func expand(list []string) ([]string, error) {
	var all []string
	for _, text := range list {
		names, err := expandNames(text)
		if err != nil {
			return nil, err
		}
		all = append(all, names...)
	}
	return all, nil
}

// members reads the words from a position on as members.
func (a *arguments) members(from int) ([]berth.MemberRef, error) {
	var list []berth.MemberRef
	for i := from; i < len(a.words); i++ {
		ref, err := parseMember(a.word(i))
		if err != nil {
			return nil, err
		}
		list = append(list, ref)
	}
	return list, nil
}

// parseReplica reads train or web/3.
func parseReplica(text string) (berth.JobID, int, error) {
	name, digits, numbered := strings.Cut(text, "/")
	if !numbered {
		return berth.JobID(name), 0, nil
	}
	n, err := strconv.Atoi(digits)
	if err != nil {
		return "", 0, fmt.Errorf("%q is not a replica like web/3", text)
	}
	return berth.JobID(name), n, nil
}

// parseMember reads workers[2] or [2].
func parseMember(text string) (berth.MemberRef, error) {
	group, rest, ok := strings.Cut(text, "[")
	n, err := strconv.Atoi(strings.TrimSuffix(rest, "]"))
	if !ok || err != nil || !strings.HasSuffix(rest, "]") {
		return berth.MemberRef{}, fmt.Errorf("%q is not a member like workers[2]", text)
	}
	return berth.MemberRef{Group: group, Index: n}, nil
}

// parsePlace reads n1[0-3,6], n1[3] or n1.
func parsePlace(text string) (berth.NodeID, berth.GPUSet, error) {
	name, rest, bracket := strings.Cut(text, "[")
	if !bracket {
		return berth.NodeID(name), 0, nil
	}
	var set berth.GPUSet
	for _, part := range strings.Split(strings.TrimSuffix(rest, "]"), ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, err1 := strconv.Atoi(from)
		last, err2 := strconv.Atoi(to)
		if err1 != nil || err2 != nil || first < 0 || last < first || last >= berth.MaxGPUs || !strings.HasSuffix(rest, "]") {
			return "", 0, fmt.Errorf("%q is not a place like n1[0-3,6]", text)
		}
		for i := first; i <= last; i++ {
			set |= berth.GPUSetOf(i)
		}
	}
	return berth.NodeID(name), set, nil
}
