// Package storetest holds implementations of [journal.Store] to what that says: [Run] is a test
// that a package with a store calls from one of its own. It appends, saves, reads and opens again;
// has two writers at one log; has the process and the machine die in the midst of writes, with
// writes that are torn, short or done in another order than they were made, and with a full disk;
// and drives a [journal.Durable] through all of it.
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, slices.Values([]uint64{1, 2, 3, 4}), func(t *testing.T) storetest.Log {
//			path := filepath.Join(t.TempDir(), "log")
//			return storetest.Log{Open: func() (journal.Store, error) { return mystore.Open(path) }}
//		})
//	}
//
// [File] is a store on a pretended disk, [Disk], that knows which writes are durable. The suite is
// tried on it, and tests of what uses a store may use it.
package storetest
