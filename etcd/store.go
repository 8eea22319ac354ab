package etcd

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/berth-sched/berth/journal"
)

// A Lock is a key that one writer has at a time, such as the one that wins an election: the writer
// owns the log for as long as the key exists and has been created at that revision.
type Lock struct {
	Key      string
	Revision int64
}

// A Store is a [journal.Store] in etcd, as the holder of a [Lock] has it. Each write is a
// transaction with three guards: the lock is held, the head is where this handle left it, and so
// is the newest snapshot. A holder that was paused or cut off while the lock went to another
// cannot write, however late its requests come in; and a request that is made again, as its answer
// was lost, is done once.
//
// A write that gets no answer is made again until it gets one, the context ends or the lock is
// lost. So ErrUncertain comes only then. ErrFull is what etcd answers while its quota is
// used up; it goes on when the space is compacted and defragmented, and the alarm disarmed.
type Store struct {
	Source
	lock Lock
	// held ends when the lock may be lost.
	held context.Context
	// at is the head, written at the revision headRevision; 0: there is none.
	at           journal.Position
	headRevision int64
	// kept is the newest snapshot, written at the revision keptRevision; 0: there is none.
	kept         saved
	keptRevision int64
	saves        int
	// remains: pieces of a batch that does not count may stand behind the head.
	remains bool
	failed  error
}

var _ journal.Store = (*Store)(nil)

// Open makes the handle of the holder of a lock. It writes the head anew, so that a request of a
// former holder that is still on its way is refused. Held ends when the lock may be lost: a write
// is not made again after that. Errors: [journal.ErrFenced], where the lock is not held, or what
// etcd says.
func Open(ctx, held context.Context, client *clientv3.Client, prefix string, lock Lock) (*Store, error) {
	source, err := NewSource(client, prefix)
	if err != nil {
		return nil, err
	}
	s := &Store{Source: *source, lock: lock, held: held}
	resp, err := s.ask(ctx, clientv3.OpGet(s.head()), clientv3.OpGet(s.newest()))
	if err != nil {
		return nil, err
	}
	if err := errors.Join(readOne(resp, 0, &s.at), readOne(resp, 1, &s.kept)); err != nil {
		return nil, err
	}
	if list := found(resp, 0); len(list) > 0 {
		s.headRevision = list[0].ModRevision
	}
	if list := found(resp, 1); len(list) > 0 {
		s.keptRevision = list[0].ModRevision
	}
	text, err := json.Marshal(s.at)
	if err != nil {
		return nil, err
	}
	if s.headRevision, err = s.write(ctx, s.head(), text, s.removeRemains(s.at.Number)); err != nil {
		return nil, err
	}
	return s, nil
}

// removeRemains removes what stands behind a record.
func (s *Store) removeRemains(behind uint64) clientv3.Op {
	return clientv3.OpDelete(s.batch(behind+1), clientv3.WithRange(past(s.log())))
}

// Append implements [journal.Store]. A batch of up to 1 MiB is one transaction; of a larger one the
// parts come first, and the head with the last of them.
func (s *Store) Append(ctx context.Context, b journal.Batch) error {
	switch {
	case s.failed != nil:
		return s.failed
	case b.After != s.at || b.Head.Number != s.at.Number+uint64(len(b.Records)):
		return s.fail(fmt.Errorf("%w: the head of %s is %v, and the batch goes from %v to %v", journal.ErrFenced, s.prefix, s.at, b.After, b.Head))
	case len(b.Records) == 0:
		return nil
	}
	pieces := pieces(batchBytes(b))
	last := len(pieces) - 1
	for i, piece := range pieces[:last] {
		s.remains = true
		if _, err := s.write(ctx, "", nil, clientv3.OpPut(s.piece(b.Head.Number, i), string(piece))); err != nil {
			return s.fail(err)
		}
	}
	head, err := json.Marshal(b.Head)
	if err != nil {
		return s.fail(err)
	}
	ops := []clientv3.Op{clientv3.OpPut(s.piece(b.Head.Number, last), string(pieces[last]))}
	if s.remains { // of a shorter batch that had no room, perhaps
		ops = append(ops,
			clientv3.OpDelete(s.batch(b.After.Number+1), clientv3.WithRange(s.batch(b.Head.Number))),
			clientv3.OpDelete(s.piece(b.Head.Number, last+1), clientv3.WithRange(past(s.log()))))
	}
	revision, err := s.write(ctx, s.head(), head, ops...)
	if err != nil {
		return s.fail(err)
	}
	s.at, s.headRevision, s.remains = b.Head, revision, false
	return nil
}

// batchBytes is the number of the first record, and then each record behind its length.
func batchBytes(b journal.Batch) []byte {
	size := binary.MaxVarintLen64
	for _, record := range b.Records {
		size += len(record) + binary.MaxVarintLen32
	}
	data := binary.AppendUvarint(make([]byte, 0, size), b.After.Number+1)
	for _, record := range b.Records {
		data = append(binary.AppendUvarint(data, uint64(len(record))), record...)
	}
	return data
}

// pieces cuts bytes into values; of no bytes it makes one.
func pieces(data []byte) [][]byte {
	var list [][]byte
	for len(data) > pieceBytes {
		list = append(list, data[:pieceBytes])
		data = data[pieceBytes:]
	}
	return append(list, data)
}

// Save implements [journal.Store]. The records between the former snapshot and this one are kept,
// so that a follower that is a little behind goes on with them; those before are dropped. What a
// Save that failed has left is dropped at once if there was no room for the rest, and else by the
// next one, before it writes: there are never more than two snapshots and a part of one.
func (s *Store) Save(ctx context.Context, n journal.Snapshot) error {
	first, before := s.keptRevision == 0, s.kept.At
	switch {
	case s.failed != nil:
		return s.failed
	case first && s.at.Number > 0,
		!first && (n.At.Number < before.Number || n.At.Number > s.at.Number),
		!first && n.At.Number == s.at.Number && n.At != s.at,
		!first && n.At.Number == before.Number && n.At != before:
		return s.fail(fmt.Errorf("%w: %s has no position %v between %v and %v", journal.ErrFenced, s.prefix, n.At, before, s.at))
	}
	if err := s.drop(ctx, 0); errors.Is(err, journal.ErrFenced) {
		return s.fail(err)
	}
	err := s.put(ctx, n, first)
	upTo := before.Number
	if errors.Is(err, journal.ErrFull) {
		upTo = 0
	} else if err != nil {
		return s.fail(err)
	}
	if dropped := s.drop(ctx, upTo); errors.Is(dropped, journal.ErrFenced) {
		return s.fail(dropped)
	}
	return err // what could not be dropped is dropped with the next one
}

// put writes a snapshot, and makes it count. The first one is also the head.
func (s *Store) put(ctx context.Context, n journal.Snapshot, first bool) error {
	s.saves++
	is := saved{At: n.At, Name: fmt.Sprintf("%016x-%x-%x", n.At.Number, s.lock.Revision, s.saves), Bytes: len(n.Data)}
	for i, piece := range pieces(n.Data) {
		if _, err := s.write(ctx, "", nil, clientv3.OpPut(pieceOf(s.snapshot(is.Name), i), string(piece))); err != nil {
			return err
		}
	}
	text, err := json.Marshal(is)
	if err != nil {
		return err
	}
	var ops []clientv3.Op
	if first {
		head, err := json.Marshal(is.At)
		if err != nil {
			return err
		}
		ops = append(ops, clientv3.OpPut(s.head(), string(head)))
	}
	revision, err := s.write(ctx, s.newest(), text, ops...)
	if err != nil {
		return err
	}
	s.kept, s.keptRevision = is, revision
	if first {
		s.at, s.headRevision = is.At, revision
	}
	return nil
}

// drop deletes all snapshots but the newest, and the records up to one. Each transaction deletes a
// bounded number of them, as etcd does nothing else meanwhile.
func (s *Store) drop(ctx context.Context, upTo uint64) error {
	const most = 1000
	but := s.snapshot(s.kept.Name)
	for _, span := range [][2]string{{s.snapshots(), but}, {past(but), past(s.snapshots())}, {s.log(), s.batch(upTo + 1)}} {
		for more := true; more; {
			resp, err := s.ask(ctx, clientv3.OpGet(span[0], clientv3.WithRange(span[1]), clientv3.WithLimit(most), clientv3.WithKeysOnly()))
			if err != nil {
				return err
			}
			list := found(resp, 0)
			if len(list) == 0 {
				break
			}
			end := string(list[len(list)-1].Key) + "\x00"
			if _, err := s.write(ctx, "", nil, clientv3.OpDelete(span[0], clientv3.WithRange(end))); err != nil {
				return err
			}
			more = len(list) == most
		}
	}
	return nil
}

// fail ends the use of the handle, unless there is no room.
func (s *Store) fail(err error) error {
	if !errors.Is(err, journal.ErrFull) {
		s.failed = err
	}
	return err
}

// Close implements [journal.Store]: the lock is given back.
func (s *Store) Close() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.held), askTimeout)
	defer cancel()
	_, err := s.client.Txn(ctx).
		If(clientv3.Compare(clientv3.CreateRevision(s.lock.Key), "=", s.lock.Revision)).
		Then(clientv3.OpDelete(s.lock.Key)).Commit()
	s.failed = fmt.Errorf("%w: %s was closed", journal.ErrFenced, s.prefix)
	return err
}

// write has a transaction done once under the guards of the handle, with a key and its value if
// one is given, and returns the revision at which it was done. The guards make it safe to ask
// again: if the key is written, the head or the newest snapshot is not where it was.
func (s *Store) write(ctx context.Context, key string, value []byte, ops ...clientv3.Op) (int64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.held, cancel)()
	read := s.head()
	if key != "" {
		ops = append(ops, clientv3.OpPut(key, string(value)))
		read = key
	}
	wait := 10 * time.Millisecond
	for again := false; ; again = true {
		resp, err := s.try(ctx, read, ops)
		switch {
		case err != nil && refused(err) && again:
			return 0, s.uncertain(err)
		case err != nil && errors.Is(err, rpctypes.ErrNoSpace):
			return 0, fmt.Errorf("%w: %s: %w", journal.ErrFull, s.prefix, err)
		case err != nil && refused(err):
			return 0, fmt.Errorf("etcd: write %s: %w", s.prefix, err)
		case err == nil && resp.Succeeded:
			return resp.Header.Revision, nil
		case err == nil:
			return s.notDone(resp, key, value, again)
		}
		select {
		case <-ctx.Done():
			return 0, s.uncertain(err)
		case <-time.After(wait):
			wait = min(2*wait, 250*time.Millisecond)
		}
	}
}

// try is one request.
func (s *Store) try(ctx context.Context, read string, ops []clientv3.Op) (*clientv3.TxnResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return s.client.Txn(ctx).If(
		clientv3.Compare(clientv3.CreateRevision(s.lock.Key), "=", s.lock.Revision),
		clientv3.Compare(clientv3.ModRevision(s.head()), "=", s.headRevision),
		clientv3.Compare(clientv3.ModRevision(s.newest()), "=", s.keptRevision),
	).Then(ops...).Else(clientv3.OpGet(s.lock.Key), clientv3.OpGet(read)).Commit()
}

// notDone tells why a guard did not hold: because an earlier request was done after all, or
// because another writer owns the log.
func (s *Store) notDone(resp *clientv3.TxnResponse, key string, value []byte, again bool) (int64, error) {
	lock, is := found(resp, 0), found(resp, 1)
	mine := len(lock) > 0 && lock[0].CreateRevision == s.lock.Revision
	done := again && key != "" && len(is) > 0 && string(is[0].Value) == string(value)
	var revision int64
	if len(is) > 0 {
		revision = is[0].ModRevision
	}
	before := s.headRevision
	if key == s.newest() {
		before = s.keptRevision
	}
	switch {
	case mine && done && revision != before:
		return revision, nil
	case again && revision != before:
		return 0, s.uncertain(errors.New("the lock was lost meanwhile"))
	case mine:
		return 0, fmt.Errorf("%w: %s was written past its lock", journal.ErrFenced, s.prefix)
	}
	return 0, fmt.Errorf("%w: the lock %s is lost", journal.ErrFenced, s.lock.Key)
}

func (s *Store) uncertain(err error) error {
	return fmt.Errorf("%w: %s: %w", journal.ErrUncertain, s.prefix, err)
}

// refused reports whether an error says that nothing was done, and nothing would be if it was
// asked again at once.
func refused(err error) bool {
	if errors.Is(err, rpctypes.ErrTooManyRequests) {
		return false
	}
	switch status.Code(err) {
	case codes.ResourceExhausted, codes.InvalidArgument, codes.PermissionDenied, codes.Unauthenticated, codes.FailedPrecondition:
		return true
	}
	var said rpctypes.EtcdError
	if !errors.As(err, &said) {
		return false
	}
	switch said.Code() {
	case codes.ResourceExhausted, codes.InvalidArgument, codes.PermissionDenied, codes.Unauthenticated, codes.FailedPrecondition:
		return true
	}
	return false
}
