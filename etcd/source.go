package etcd

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/berth-sched/berth/journal"
)

const (
	// pieceBytes is how much a value has at most: etcd takes requests of 1.5 MiB.
	pieceBytes = 1 << 20
	// askTimeout is for how long one request is waited for, before it is made again, and perhaps
	// of another server.
	askTimeout = 5 * time.Second
)

// A Source reads a log that is kept in etcd, and writes nothing. What it reads is linearizable:
// all that was durable when the call was made. Its methods may be called from several goroutines
// at once.
type Source struct {
	client *clientv3.Client
	keys
}

var _ journal.Source = (*Source)(nil)

// NewSource makes a Source of the log below a prefix. The client remains the caller's to close.
func NewSource(client *clientv3.Client, prefix string) (*Source, error) {
	k, err := keysOf(prefix)
	return &Source{client, k}, err
}

// ask reads, all at one revision. It asks again for a while, as when etcd elects a leader.
func (s *Source) ask(ctx context.Context, ops ...clientv3.Op) (*clientv3.TxnResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	for {
		resp, err := s.client.Txn(ctx).Then(ops...).Commit()
		if err == nil {
			return resp, nil
		}
		if pause(ctx, retryAfter); ctx.Err() != nil || refused(err) || errors.Is(err, rpctypes.ErrCompacted) {
			return nil, fmt.Errorf("etcd: read %s: %w", s.prefix, err)
		}
	}
}

// found are the keys of one read of an answer.
func found(resp *clientv3.TxnResponse, read int) []*mvccpb.KeyValue {
	return resp.Responses[read].GetResponseRange().Kvs
}

// readOne decodes the value of a key, if there is one.
func readOne(resp *clientv3.TxnResponse, read int, into any) error {
	list := found(resp, read)
	if len(list) == 0 {
		return nil
	}
	if err := json.Unmarshal(list[0].Value, into); err != nil {
		return &journal.Error{Field: string(list[0].Key), Kind: journal.ErrDamaged, Reason: "is not as it was written", Err: err}
	}
	return nil
}

// Head implements [journal.Source].
func (s *Source) Head(ctx context.Context) (journal.Position, error) {
	var head journal.Position
	resp, err := s.ask(ctx, clientv3.OpGet(s.head()))
	if err != nil {
		return head, err
	}
	return head, readOne(resp, 0, &head)
}

// A saved is the value of the key that says which snapshot counts.
type saved struct {
	At    journal.Position `json:"at"`
	Name  string           `json:"name"`
	Bytes int              `json:"bytes"`
}

// Newest implements [journal.Source]. A snapshot that is replaced while it is read is left, and
// the one that replaces it is read.
func (s *Source) Newest(ctx context.Context) (journal.Snapshot, error) {
	for {
		var is saved
		resp, err := s.ask(ctx, clientv3.OpGet(s.newest()))
		if err == nil {
			err = readOne(resp, 0, &is)
		}
		if err != nil || is.Name == "" {
			return journal.Snapshot{}, err
		}
		data, err := s.snapshotData(ctx, is, resp.Header.Revision)
		if err != nil {
			return journal.Snapshot{}, err
		}
		if data != nil {
			return journal.Snapshot{At: is.At, Data: data}, nil
		}
	}
}

// snapshotData reads the pieces as they were at a revision; nil: etcd has compacted it meanwhile.
func (s *Source) snapshotData(ctx context.Context, is saved, revision int64) ([]byte, error) {
	const pieces = 4 // a request
	data := make([]byte, 0, is.Bytes)
	from, to := s.snapshot(is.Name), past(s.snapshot(is.Name))
	for {
		resp, err := s.ask(ctx, clientv3.OpGet(from, clientv3.WithRange(to), clientv3.WithRev(revision), clientv3.WithLimit(pieces)))
		if errors.Is(err, rpctypes.ErrCompacted) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		list := found(resp, 0)
		for _, kv := range list {
			data = append(data, kv.Value...)
			from = string(kv.Key) + "\x00"
		}
		if len(list) < pieces {
			break
		}
	}
	if len(data) != is.Bytes {
		return nil, &journal.Error{
			Field: "snapshot", Kind: journal.ErrDamaged,
			Reason: fmt.Sprintf("has %d bytes, and was saved with %d", len(data), is.Bytes),
		}
	}
	return data, nil
}

// A page is a part of the log, read at one revision.
type page struct {
	head  journal.Position
	state reached // of the leader
	kvs   []*mvccpb.KeyValue
	more  bool // there are further keys of records that count
}

// A reading goes through the log page by page.
type reading struct {
	*Source
	from  string // the next key
	limit int64  // of keys in a page
	// next is the number of the next record that is wanted.
	next uint64
	// rest is what was read of the batch that ends with last, up to a piece, and not cut into
	// records yet. It begins with the record number.
	rest         []byte
	number, last uint64
	piece        int
}

// read begins a reading behind a record.
func (s *Source) read(after uint64) *reading {
	return &reading{Source: s, from: s.batch(after + 1), next: after + 1, limit: 64}
}

// page reads on. Pages grow while records are small.
func (r *reading) page(ctx context.Context) (page, error) {
	resp, err := r.ask(ctx, clientv3.OpGet(r.head()), clientv3.OpGet(r.state()),
		clientv3.OpGet(r.from, clientv3.WithRange(past(r.log())), clientv3.WithLimit(r.limit)))
	if err != nil {
		return page{}, err
	}
	p := page{kvs: found(resp, 2), more: resp.Responses[2].GetResponseRange().More}
	if err := errors.Join(readOne(resp, 0, &p.head), readOne(resp, 1, &p.state)); err != nil {
		return page{}, err
	}
	size := 0
	for i, kv := range p.kvs {
		if last, _, ok := r.parse(kv.Key); ok && last > p.head.Number {
			p.kvs, p.more = p.kvs[:i], false // it counts when the head is there, and is read then from its beginning
			break
		}
		size += len(kv.Value)
		r.from = string(kv.Key) + "\x00"
	}
	if size < pieceBytes {
		r.limit = min(2*r.limit, 4096)
	} else {
		r.limit = max(r.limit/2, 8)
	}
	return p, nil
}

// records are those of a page that were asked for.
func (r *reading) records(p page) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for _, kv := range p.kvs {
			if err := r.take(kv); err != nil {
				yield(nil, err)
				return
			}
			for record, ok := r.cut(); ok; record, ok = r.cut() {
				if r.number <= r.next {
					continue // it was not asked for
				}
				r.next++
				if !yield(record, nil) {
					return
				}
			}
		}
		if !p.more && r.next <= p.head.Number {
			yield(nil, r.compacted())
		}
	}
}

func (r *reading) compacted() error {
	return fmt.Errorf("%w: record %d of %s", journal.ErrCompacted, r.next, r.prefix)
}

// take puts a piece behind the rest.
func (r *reading) take(kv *mvccpb.KeyValue) error {
	last, piece, ok := r.parse(kv.Key)
	value := kv.Value
	switch {
	case !ok:
		return r.damaged(kv, "is no key of a log")
	case piece != 0 && (last != r.last || piece != r.piece+1), piece == 0 && len(r.rest) > 0:
		return r.compacted() // while it was read
	case piece == 0:
		first, n := binary.Uvarint(value)
		if n <= 0 || first > last {
			return r.damaged(kv, "does not begin with the number of a record")
		}
		if first > r.next {
			return r.compacted()
		}
		r.number, r.rest = first, value[n:]
	default:
		r.rest = append(bytes.Clone(r.rest), value...)
	}
	r.last, r.piece = last, piece
	return nil
}

// cut cuts the next record off the rest, if it is there whole.
func (r *reading) cut() ([]byte, bool) {
	length, n := binary.Uvarint(r.rest)
	if n <= 0 || length > uint64(len(r.rest)-n) {
		return nil, false
	}
	record := r.rest[n : n+int(length)]
	r.rest = r.rest[n+int(length):]
	r.number++
	return record, true
}

func (r *reading) damaged(kv *mvccpb.KeyValue, reason string) error {
	return &journal.Error{Record: r.next, Field: string(kv.Key), Kind: journal.ErrDamaged, Reason: reason}
}

// Records implements [journal.Source].
func (s *Source) Records(ctx context.Context, after uint64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		r := s.read(after)
		if r.next == 0 {
			return // nothing is behind the last number there is
		}
		for more := true; more; {
			p, err := r.page(ctx)
			if err != nil {
				yield(nil, err)
				return
			}
			for record, err := range r.records(p) {
				if !yield(record, err) || err != nil {
					return
				}
			}
			more = p.more
		}
	}
}
