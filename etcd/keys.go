package etcd

import (
	"fmt"
	"strconv"
	"strings"
)

// keys names the keys of a log. All begin with a prefix, which ends in a slash:
//
//	PREFIX/leader/LEASE            the candidates; the oldest of them leads
//	PREFIX/head                    the position behind the last record that counts
//	PREFIX/log/LAST/PIECE          records up to the number LAST
//	PREFIX/newest                  which snapshot counts
//	PREFIX/snapshots/NAME/PIECE    the snapshots
//	PREFIX/state                   what the leader came to when its term began
//
// LAST and PIECE are hexadecimal digits, so that the order of keys is that of numbers. What stands
// in the log behind the head is of an append that was never done.
type keys struct{ prefix string }

// keysOf refuses a prefix that leaves no room for others beside it.
func keysOf(prefix string) (keys, error) {
	trimmed := strings.TrimRight(prefix, "/")
	if trimmed == "" {
		return keys{}, fmt.Errorf("etcd: the prefix %q is empty", prefix)
	}
	return keys{trimmed + "/"}, nil
}

func (k keys) leaders() string   { return k.prefix + "leader/" }
func (k keys) head() string      { return k.prefix + "head" }
func (k keys) newest() string    { return k.prefix + "newest" }
func (k keys) state() string     { return k.prefix + "state" }
func (k keys) log() string       { return k.prefix + "log/" }
func (k keys) snapshots() string { return k.prefix + "snapshots/" }

// batch is before all pieces of the batch that ends with a record.
func (k keys) batch(last uint64) string { return fmt.Sprintf("%s%016x/", k.log(), last) }

// piece is a piece of that batch.
func (k keys) piece(last uint64, piece int) string { return pieceOf(k.batch(last), piece) }

// snapshot is before all pieces of a snapshot.
func (k keys) snapshot(name string) string { return k.snapshots() + name + "/" }

func pieceOf(before string, piece int) string { return fmt.Sprintf("%s%08x", before, piece) }

// parse reads the key of a piece of a batch.
func (k keys) parse(key []byte) (last uint64, piece int, ok bool) {
	name, ok := strings.CutPrefix(string(key), k.log())
	batch, digits, cut := strings.Cut(name, "/")
	if !ok || !cut {
		return 0, 0, false
	}
	last, err := strconv.ParseUint(batch, 16, 64)
	number, pieceErr := strconv.ParseUint(digits, 16, 31)
	return last, int(number), err == nil && pieceErr == nil && string(key) == k.piece(last, int(number))
}

// past is the end of a range of all keys that begin with a prefix that ends in a slash.
func past(prefix string) string { return prefix[:len(prefix)-1] + "0" } // '0' is '/' + 1
