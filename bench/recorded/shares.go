package recorded

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/skipped"
)

// maxShare bounds the share of an account, and maxDepth how far it is below the root.
const (
	maxShare = 1 << 40
	maxDepth = 64
)

// A row takes some 400 bytes, and a few bytes are one: a file has freeRows, and another for each
// bytesPerRow of its own.
const (
	freeRows    = 1 << 14
	bytesPerRow = 32
)

// shareColumns are those of sshare, in lower case, and that of lines by hand.
const shareColumns = " account user partition rawshares normshares rawusage normusage effectvusage fairshare levelfs " +
	"grptresmins grptresraw tresrunmins cluster id shares "

// A shareTable is what sshare prints, under way.
type shareTable struct {
	file  string
	line  int
	bytes int
	skips *skipped.List
	names []string // of the columns, in lower case
	// account, user and amount are columns; user is -1 where there is none.
	account, user, amount int
	rows                  []shareRow
	// path are the accounts that the next row may be below.
	path []int
	// at has the row of an account, or of a user of one.
	at map[string]int
}

// A shareRow is an account, or a user of one.
type shareRow struct {
	account string // in lower case
	user    bool
	depth   int // how far it is indented
	raw     float64
	above   int // the row of the account above; -1: none
	// below is what accounts and users below have together, and users what those users have.
	below, users float64
	// parent: there are accounts below.
	parent bool
}

// readShares reads columns parted by "|" under a header: Account, and RawShares as sshare writes it
// or Shares. An account that is indented is part of the one above, as sshare shows it: its share is
// that one's, divided by the shares of all that stand beside it. An account with accounts below it
// keeps the part of its own users. "Parent" is no share. The result is by the name of the account
// in lower case, as Slurm keeps them, and comes to 1 at most. The columns are those of sshare(1),
// https://slurm.schedmd.com/sshare.html. O(rows).
func readShares(file string, r io.Reader, skips *skipped.List) (map[string]float64, error) {
	in := bufio.NewScanner(r)
	t := shareTable{file: file, skips: skips, at: map[string]int{}}
	for in.Scan() {
		t.line++
		t.bytes += len(in.Bytes())
		text := strings.TrimSuffix(in.Text(), "\r")
		if strings.TrimSpace(text) == "" {
			continue
		}
		take := t.take
		if t.names == nil {
			take = t.header
		}
		if err := take(strings.Split(strings.TrimPrefix(text, "\ufeff"), "|")); err != nil {
			return nil, err
		}
	}
	if err := in.Err(); err != nil {
		t.line++
		return nil, t.fail(0, "", "%v", err)
	}
	if !slices.ContainsFunc(t.rows, func(r shareRow) bool { return !r.user && r.raw > 0 }) {
		return nil, t.fail(0, "", "there is no account with a share")
	}
	return t.shares(), nil
}

func (t *shareTable) fail(column int, field, format string, args ...any) error {
	return &workload.TraceError{File: t.file, Line: max(t.line, 1), Column: column, Field: field, Kind: workload.ErrValue, Reason: fmt.Sprintf(format, args...)}
}

func (t *shareTable) header(cells []string) error {
	for _, cell := range cells {
		name := strings.ToLower(strings.TrimSpace(cell))
		switch {
		case name != "" && slices.Contains(t.names, name):
			return t.fail(0, "", "two columns are called %.80q", name)
		case name != "" && !strings.Contains(shareColumns, " "+name+" "):
			t.skips.Add(t.file, t.line, fmt.Sprintf("column %q is none of sshare", errtext.Short(name)))
		}
		t.names = append(t.names, name)
	}
	t.account, t.user = slices.Index(t.names, "account"), slices.Index(t.names, "user")
	t.amount = max(slices.Index(t.names, "rawshares"), slices.Index(t.names, "shares"))
	switch {
	case t.account < 0:
		return t.fail(0, "", `there is no header with "Account" above: shares are read from what "sshare --all --parsable" prints`)
	case t.amount < 0:
		return t.fail(0, "", `there is no column "RawShares" or "Shares"`)
	}
	return nil
}

func (t *shareTable) take(cells []string) error {
	if len(cells) != len(t.names) {
		return t.fail(0, "", "has %d columns instead of %d", len(cells), len(t.names))
	}
	name := strings.TrimSpace(cells[t.account])
	row := shareRow{account: strings.ToLower(name), depth: strings.Index(cells[t.account], name), above: -1}
	key := row.account
	if t.user >= 0 && strings.TrimSpace(cells[t.user]) != "" {
		row.user = true
		key += "|" + strings.TrimSpace(cells[t.user])
	}
	column := 1 + len(strings.Join(cells[:t.amount], "|")) + min(t.amount, 1)
	if _, twice := t.at[key]; twice || name == "" {
		return t.fail(column, "share", "account %.80q has two, or no name", key)
	}
	if raw := strings.TrimSpace(cells[t.amount]); raw != "" && !strings.EqualFold(raw, "parent") {
		v, err := strconv.ParseFloat(raw, 64)
		if err != nil || !(v >= 0 && v <= maxShare) {
			return t.fail(column, "share", "%.80q is no number of 0 to %d", raw, int64(maxShare))
		}
		row.raw = v
	}
	if err := t.place(&row); err != nil {
		return err
	}
	t.at[key] = len(t.rows)
	if !row.user {
		t.path = append(t.path, len(t.rows))
	}
	t.rows = append(t.rows, row)
	return nil
}

// place finds the account above a row, and counts it there.
func (t *shareTable) place(row *shareRow) error {
	if row.user {
		at, is := t.at[row.account]
		if !is {
			return t.fail(0, "user", "is of account %.80q, which is not above", row.account)
		}
		row.above = at
		t.rows[at].users += row.raw
		t.rows[at].below += row.raw
		return nil
	}
	for len(t.path) > 0 && t.rows[t.path[len(t.path)-1]].depth >= row.depth {
		t.path = t.path[:len(t.path)-1]
	}
	switch {
	case len(t.rows) > freeRows+t.bytes/bytesPerRow:
		return &workload.TraceError{File: t.file, Line: t.line, Kind: workload.ErrLimit, Reason: fmt.Sprintf("there are more than %d accounts, and one for each %d bytes", freeRows, bytesPerRow)}
	case len(t.path) > maxDepth:
		return t.fail(0, "account", "is more than %d accounts deep", maxDepth)
	case len(t.path) > 0:
		row.above = t.path[len(t.path)-1]
		t.rows[row.above].parent = true
		t.rows[row.above].below += row.raw
	case len(t.rows) > 0 && t.rows[0].account == "root":
		return t.fail(0, "account", "is not indented below root: so it does not tell which account it is part of")
	}
	return nil
}

// shares are what the accounts have of the whole.
func (t *shareTable) shares() map[string]float64 {
	top := 0.0
	for i := range t.rows {
		if r := &t.rows[i]; r.above < 0 {
			top += r.raw
		}
	}
	shares := map[string]float64{}
	whole := make([]float64, len(t.rows)) // of an account and all below it
	for i := range t.rows {
		r := &t.rows[i]
		switch {
		case r.above >= 0:
			whole[i] = whole[r.above] * part(r.raw, t.rows[r.above].below)
		case r.parent && top == 0:
			whole[i] = 1 // root
		default:
			whole[i] = part(r.raw, top)
		}
		if r.user {
			continue
		}
		shares[r.account] = whole[i]
		if r.parent {
			shares[r.account] *= part(r.users, r.below)
		}
	}
	return shares
}

// part is what one has of all together, which may be nothing.
func part(one, all float64) float64 {
	if all == 0 {
		return 0
	}
	return one / all
}
