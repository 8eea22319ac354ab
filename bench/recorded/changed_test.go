package recorded

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/internal/drawn"
)

// A text is a file in parts: fields of records, such as the cells of a row. The first record of a
// table names the fields of all.
type text struct {
	begin, end     string // of the file
	between, close string // fields, and the end of a record
	records        [][]string
	table          bool
}

func (x text) String() string {
	var b strings.Builder
	b.WriteString(x.begin)
	for i, r := range x.records {
		b.WriteString(strings.Join(r, x.between))
		if i < len(x.records)-1 || x.end == "" {
			b.WriteString(x.close)
		}
	}
	return b.String() + x.end
}

func (x text) clone() text {
	x.records = slices.Clone(x.records)
	for i := range x.records {
		x.records[i] = slices.Clone(x.records[i])
	}
	return x
}

// fields changes the fields of a record, or of all where the file is a table.
func (x text) fields(record int, change func([]string) []string) text {
	x = x.clone()
	for i := range x.records {
		if x.table || i == record {
			x.records[i] = change(x.records[i])
		}
	}
	return x
}

// A change does something to a file. Harmless ones leave the result as it is.
type change struct {
	name     string
	harmless bool
	apply    func(t *rapid.T, x text) text
}

var changes = []change{
	{"records in another order", true, func(t *rapid.T, x text) text {
		first := 0
		if x.table {
			first = 1
		}
		x = x.clone()
		copy(x.records[first:], rapid.Permutation(x.records[first:]).Draw(t, "records"))
		return x
	}},
	{"fields in another order", true, func(t *rapid.T, x text) text {
		first := 0
		if !x.table {
			first = 1 // the name of the node
		}
		record := index(t, x.records)
		order := make([]int, len(x.records[record])-first)
		for i := range order {
			order[i] = first + i
		}
		order = rapid.Permutation(order).Draw(t, "order")
		return x.fields(record, func(f []string) []string {
			list := slices.Clone(f[:first])
			for _, i := range order {
				list = append(list, f[i])
			}
			return list
		})
	}},
	{"a record twice", false, func(t *rapid.T, x text) text {
		i := index(t, x.records)
		x = x.clone()
		x.records = slices.Insert(x.records, rapid.IntRange(0, len(x.records)).Draw(t, "to"), x.records[i])
		return x
	}},
	{"a field twice", false, func(t *rapid.T, x text) text {
		record := index(t, x.records)
		i, to := index(t, x.records[record]), index(t, x.records[record])
		return x.fields(record, func(f []string) []string { return slices.Insert(f, to, f[i]) })
	}},
	{"a field away", false, func(t *rapid.T, x text) text {
		record := index(t, x.records)
		i := index(t, x.records[record])
		return x.fields(record, func(f []string) []string { return slices.Delete(f, i, i+1) })
	}},
	{"a letter more in a name", false, func(t *rapid.T, x text) text {
		record := index(t, x.records)
		if x.table && rapid.Bool().Draw(t, "header") {
			record = 0
		}
		x = x.clone()
		f := x.records[record]
		i := index(t, f)
		names := namesIn(f[i], x.table && record == 0)
		if len(names) == 0 {
			return x
		}
		at := rapid.SampledFrom(names).Draw(t, "name")
		f[i] = f[i][:at] + "x" + f[i][at:]
		return x
	}},
}

func index[T any](t *rapid.T, of []T) int { return rapid.IntRange(0, len(of)-1).Draw(t, "index") }

// namesIn are where the names in a field end: all of a header, or what stands before "=" or ":".
func namesIn(field string, header bool) (ends []int) {
	if header {
		return []int{len(strings.TrimRight(field, " "))}
	}
	for i, c := range field {
		if c == '=' || i > 0 && field[i-1] == '"' && c == ':' {
			end := i
			if c == ':' {
				end--
			}
			ends = append(ends, end)
		}
	}
	return ends
}

// accounts draws jobs as Slurm runs them: requeued, resized, heterogeneous, suspended, pending.
func accounts(t *rapid.T) text {
	x := text{between: "|", close: "\n", table: true, records: [][]string{strings.Split(strings.TrimSpace(whole), "|")}}
	at := 0
	clock := func(second int) string {
		return fmt.Sprintf("2026-03-02T%02d:%02d:%02d", second/3600, second/60%60, second%60)
	}
	row := func(id string, submit, eligible, start, end, suspended int, state string, nodes, gpus int, kind string) {
		tres := func(kind string) string {
			return fmt.Sprintf("billing=1,cpu=%d,gres/gpu%s=%d,mem=8G,node=%d", 4*nodes, kind, gpus, nodes)
		}
		x.records = append(x.records, []string{
			id, []string{"bio", "phys"}[submit%2], "gpu", clock(submit), clock(eligible), clock(start), clock(end),
			clock(end - start - suspended)[11:], clock(suspended)[11:], "01:00:00", state, tres(kind), tres(""), fmt.Sprint(nodes),
		})
	}
	for id := range rapid.IntRange(1, 6).Draw(t, "jobs") {
		at += rapid.IntRange(1, 600).Draw(t, "gap")
		start := at + rapid.IntRange(2, 300).Draw(t, "wait")
		end := start + rapid.IntRange(1, 900).Draw(t, "run")
		name := fmt.Sprint(id + 10)
		switch rapid.SampledFrom([]string{"plain", "array", "twice", "resized", "parts", "suspended", "typed"}).Draw(t, "kind") {
		case "plain":
			row(name, at, at+1, start, end, 0, "COMPLETED", 2, 16, "")
		case "array":
			row(name+"_1", at, at, start, end, 0, "FAILED", 1, 2, "")
			row(name+"_2", at, start, end, end+5, 0, "COMPLETED", 1, 2, "")
		case "twice":
			row(name, at, at, start, end, 0, "PREEMPTED", 1, 8, "")
			row(name, end, end+121, end+130, end+200, 0, "COMPLETED", 1, 8, "")
		case "resized":
			row(name, at, at, start, end, 0, "RESIZING", 3, 24, "")
			row(name, end, at, start, end+60, 0, "COMPLETED", 1, 8, "")
		case "parts":
			row(name+"+0", at, at, start, end, 0, "COMPLETED", 2, 16, ":h100")
			row(name+"+1", at, at, start, end, 0, "COMPLETED", 1, 1, "")
		case "suspended":
			row(name, at, at, start, end+40, 40, "COMPLETED", 1, 4, "")
		case "typed":
			row(name, at, at, start, end, 0, "TIMEOUT", 1, 4, ":H100")
		}
	}
	return x
}

// nodesOf draws what scontrol prints, a paragraph or a line for each.
func nodesOf(t *rapid.T) text {
	x := text{between: "\n   ", close: "\n\n"}
	if rapid.Bool().Draw(t, "oneliner") {
		x.between, x.close = " ", "\n"
	}
	for i := range rapid.IntRange(4, 6).Draw(t, "nodes") {
		x.records = append(x.records, []string{
			fmt.Sprintf("NodeName=n%d", i), "CPUTot=64", rapid.SampledFrom([]string{"Gres=gpu:H100:8(S:0-1)", "Gres=gpu:h100:8", "Gres=gpu:h100:4(S:0),gpu:h100:4(S:1)"}).Draw(t, "gres"),
			"OS=Linux 5.15 #1 SMP", "RealMemory=1000", "Partitions=" + rapid.SampledFrom([]string{"gpu", "all,gpu"}).Draw(t, "partitions"), "Comment=a node",
		})
	}
	return x
}

// sharesOf is a tree of accounts. Its rows have an order.
func sharesOf(*rapid.T) text {
	x := text{between: "|", close: "\n", table: true}
	for _, row := range []string{
		"Account|User|RawShares|NormShares|RawUsage|EffectvUsage|FairShare", "root|||0.0|1000||0.5", " science||50|0.5|500|0.5|", "  bio||1|0.5|250|0.5|",
		"   bio|ann|1|0.5|250|0.5|0.3", "  phys||3|0.5|250|0.5|", "   phys|bob|parent|0.5|250|0.5|0.3", " cs||50|0.5|500|0.5|",
	} {
		x.records = append(x.records, strings.Split(row, "|"))
	}
	return x
}

// dumpOf draws a dump of kubectl.
func dumpOf(t *rapid.T) text {
	x := text{begin: `{"kind": "List", "items": [` + "\n", between: ", ", close: ",\n", end: "\n]}\n"}
	for i := range rapid.IntRange(1, 3).Draw(t, "nodes") {
		x.records = append(x.records, []string{
			`{"kind": "Node"`, fmt.Sprintf(`"metadata": {"name": "n%d", "labels": {"nvidia.com/gpu.product": "H100"}}`, i), `"status": {"capacity": {"nvidia.com/gpu": "8"}}`, `"x": 0}`,
		})
	}
	for i := range rapid.IntRange(1, 5).Draw(t, "pods") {
		minute := rapid.IntRange(0, 20).Draw(t, "minute")
		x.records = append(x.records, []string{
			`{"kind": "Pod"`, fmt.Sprintf(`"metadata": {"name": "p%d", "namespace": "a", "creationTimestamp": "2026-03-02T08:%02d:00Z"}`, i, minute),
			fmt.Sprintf(`"spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": "%d"}}}]}`, rapid.SampledFrom([]int{1, 2, 8}).Draw(t, "gpus")),
			fmt.Sprintf(`"status": {"phase": "Succeeded", "startTime": "2026-03-02T08:%02d:00Z", "containerStatuses": [{"state": {"terminated": {"finishedAt": "2026-03-02T09:%02d:00Z"}}}]}`, minute+1, minute), `"x": 0}`,
		})
	}
	return x
}

// what is read of files: the jobs, the fleet and the shares, in an order of their own, and what is
// told.
func what(jobs, nodes, shares string) (result, skipped []string, err error) {
	w, err := read(jobs, nodes, shares)
	if err != nil {
		return nil, nil, err
	}
	for i := range w.Jobs {
		j := &w.Jobs[i]
		line := fmt.Sprintf("%s of %s at %v for %v, waited %v, limit %v:", j.Spec.ID, j.Spec.Queue, j.At.Sub(0), j.Runtime, j.Wait, j.Spec.ExpectedRuntime)
		for _, g := range j.Spec.Groups {
			line += fmt.Sprintf(" %dx%d %v %v", g.Members, g.Claim.GPUs, g.Selector.Products, g.Selector.Pools)
		}
		result = append(result, line)
	}
	for i := range w.Nodes {
		n := &w.Nodes[i]
		result = append(result, fmt.Sprintf("%s of %s with %d %s", n.ID, n.Pool, len(n.GPUs), n.GPUs[0].Product))
	}
	slices.Sort(result)
	for _, s := range w.Skipped {
		s.Line = 0 // that of a reason that was there before
		skipped = append(skipped, s.String())
	}
	slices.Sort(skipped)
	return append(result, fmt.Sprint(w.Shares)), skipped, nil
}

// A file of which parts were renamed, removed, doubled or put in another order gives what the file
// gave, or is refused with its line, or the reader says what it passed over.
func TestChangedFilesGiveTheSameOrAreTold(t *testing.T) {
	seen := map[string]int{}
	drawn.Check(t, func(t *rapid.T) {
		files := []text{accounts(t), nodesOf(t), sharesOf(t)}
		if rapid.IntRange(0, 3).Draw(t, "files") == 0 {
			files = []text{dumpOf(t), {end: " "}, {end: " "}}
		}
		texts := func(files []text) [3]string {
			var list [3]string
			for i := range files {
				list[i] = strings.TrimSpace(files[i].String())
			}
			return list
		}
		before := texts(files)
		result, skipped, err := what(before[0], before[1], before[2])
		if err != nil || len(skipped) > 0 {
			t.Fatalf("the good files: %v %q\n%s", err, skipped, strings.Join(before[:], "\n"))
		}
		k := rapid.IntRange(0, len(files)-1).Draw(t, "file")
		if len(files[k].records) == 0 {
			k = 0
		}
		c := rapid.SampledFrom(changes).Draw(t, "change")
		harmless := c.harmless
		if files[0].end != "" && strings.Contains(c.name, "field") || k == 2 && c.name == changes[0].name {
			return // braces stand with the fields of JSON, and accounts are below others
		}
		if !files[k].table && files[k].between == " " && c.name == changes[1].name {
			harmless = false // texts of a line end at fields that are to come
		}
		files[k] = c.apply(t, files[k])
		after := texts(files)
		got, told, err := what(after[0], after[1], after[2])
		var where *workload.TraceError
		switch {
		case err == nil && slices.Equal(got, result):
			seen["same"]++
		case harmless:
			t.Fatalf("%s: %v\n%q\n%q\n%s", c.name, err, result, got, after[k])
		case errors.Is(err, ErrFleet), errors.As(err, &where) && where.Line > 0:
			seen["refused"]++
		case err == nil && len(told) > 0:
			seen["told"]++
		default:
			t.Fatalf("%s: %v, and nothing is told\n%q\n%q\n%s", c.name, err, result, got, after[k])
		}
	})
	for _, kind := range []string{"same", "refused", "told"} {
		if drawn.Many() && seen[kind] == 0 {
			t.Errorf("no file was %s", kind)
		}
	}
	t.Log(seen)
}
