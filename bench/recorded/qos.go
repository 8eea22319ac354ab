package recorded

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/input"
)

// maxQOS is more than a cluster has.
const maxQOS = 1 << 12

// setPriorities gives each job the priority of its QOS.
func (b *Week) setPriorities(file *File) error {
	told := map[string]int32{}
	if file.given() {
		text, err := input.Unzip(file.Data)
		if err != nil {
			return fmt.Errorf("%s: %w", file.Name, err)
		}
		if told, err = readQOS(file.Name, text); err != nil {
			return err
		}
	}
	first := ""
	for i := range b.Jobs {
		j := &b.Jobs[i]
		qos := strings.ToLower(j.QOS)
		priority, is := told[qos]
		j.Spec.Priority = priority
		switch {
		case file.given() && qos == "":
			b.skip("tells no QOS: has priority 0", j.Line)
		case file.given() && !is:
			b.skip(fmt.Sprintf("is of a QOS that %s does not have, %q: has priority 0", file.Name, errtext.Short(j.QOS)), j.Line)
		case i > 0 && !file.given() && qos != first:
			b.skip("is of another QOS than the first: -qos says which comes first", j.Line)
		case i == 0:
			first = qos
		}
	}
	return nil
}

// readQOS reads columns parted by "|" under a header that has Name and Priority, as sacctmgr(1)
// prints them, https://slurm.schedmd.com/sacctmgr.html. The result is by the name in lower case,
// as Slurm keeps it. Other columns are not read.
func readQOS(file string, r io.Reader) (map[string]int32, error) {
	in, line := bufio.NewScanner(r), 0
	fail := func(format string, args ...any) error {
		return &workload.TraceError{File: file, Line: max(line, 1), Field: "qos", Kind: workload.ErrValue, Reason: fmt.Sprintf(format, args...)}
	}
	told := map[string]int32{}
	name, priority, columns := -1, -1, 0
	for in.Scan() {
		line++
		text := strings.TrimSpace(strings.TrimPrefix(in.Text(), "\ufeff"))
		if text == "" {
			continue
		}
		cells := strings.Split(text, "|")
		if columns == 0 {
			for i := range cells {
				cells[i] = strings.ToLower(strings.TrimSpace(cells[i]))
			}
			name, priority, columns = slices.Index(cells, "name"), slices.Index(cells, "priority"), len(cells)
			if name < 0 || priority < 0 {
				return nil, fail(`there is no header with "Name" and "Priority": priorities are read from what "sacctmgr show qos --parsable2 format=Name,Priority" prints`)
			}
			continue
		}
		if len(cells) != columns {
			return nil, fail("has %d columns instead of %d", len(cells), columns)
		}
		qos := strings.ToLower(strings.TrimSpace(cells[name]))
		value, err := strconv.ParseInt(strings.TrimSpace(cells[priority]), 10, 64)
		_, twice := told[qos]
		switch {
		case twice || qos == "":
			return nil, fail("QOS %.80q is there twice, or has no name", qos)
		case err != nil || value < 0 || value > math.MaxInt32:
			return nil, fail("the priority %.80q is no number of 0 to %d", cells[priority], math.MaxInt32)
		case len(told) == maxQOS:
			return nil, fail("more than %d QOS", maxQOS)
		}
		told[qos] = int32(value)
	}
	if err := in.Err(); err != nil {
		line++
		return nil, fail("%v", err)
	}
	if len(told) == 0 {
		return nil, fail("there is no QOS")
	}
	return told, nil
}
