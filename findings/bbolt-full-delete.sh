#!/usr/bin/env bash
# Claim:    on a full disk bbolt cannot delete half of the records of a bucket, nor a tenth of them.
# Version:  go.etcd.io/bbolt v1.5.0, as in etcd; default options. A limit on the size of files stands for the disk.
# Expected: deleting is how room is made, so it needs none: what is deleted is half of the file.
# Seen:     pages are never changed in place. A transaction writes each page that it touches to a free one, and frees the old
#           ones for the transaction after it, so a deletion needs as many free pages as it touches. One record, or all of
#           them, can be deleted: that writes few pages. A tenth and a half touch all.
# Matters:  a journal, or a queue of jobs, that is full and drops what is old first, and only then writes, stays full for ever.
#           Room has to be kept for it from the start, or deletions made of few records each.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

cat > go.mod <<'END'
module finding

go 1.25.0

require go.etcd.io/bbolt v1.5.0
END

cat > main.go <<'END'
package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log"
	"os/signal"
	"syscall"

	"go.etcd.io/bbolt"
)

const records = 480

func key(i int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(i)) }

func main() {
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1 << 20, Max: 1 << 20}); err != nil {
		log.Fatal(err)
	}
	db, err := bbolt.Open("db", 0o600, nil)
	if err != nil {
		log.Fatal(err)
	}
	change := func(what string, from, to, step int, f func(*bbolt.Bucket, int) error) {
		err := db.Update(func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte("records"))
			for i := from; i < to && err == nil; i += step {
				err = f(b, i)
			}
			return err
		})
		if what != "" {
			fmt.Printf("%-22s %v\n", what, err)
		} else if err != nil {
			log.Fatal(err)
		}
	}
	put := func(b *bbolt.Bucket, i int) error { return b.Put(key(i), bytes.Repeat([]byte("x"), 700)) }
	drop := func(b *bbolt.Bucket, i int) error { return b.Delete(key(i)) }
	for i := 0; i < records; i += 10 {
		change("", i, i+10, 1, put)
	}
	change("put as many again:", records, 2*records, 1, put)
	change("delete each second:", 0, records, 2, drop)
	change("delete each tenth:", 0, records, 10, drop)
	change("delete one:", 7, 8, 1, drop)
	change("delete all:", 0, records, 1, drop)
}
END

GOWORK=off GOFLAGS=-mod=mod go run . > now

cat > seen <<'END'
put as many again:     file resize error: truncate db: file too large
delete each second:    file resize error: truncate db: file too large
delete each tenth:     file resize error: truncate db: file too large
delete one:            <nil>
delete all:            <nil>
END

cat now
diff seen now || { echo "this finding has changed: see the lines above" >&2; exit 1; }
