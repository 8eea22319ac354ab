package etcd_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/berth-sched/berth/etcd/internal/server"
)

// long is how long a test waits for what has to come, on a machine that has a lot to do.
const long = 2 * time.Minute

// common is an etcd that most tests share, below prefixes of their own.
var common struct {
	once sync.Once
	at   string
	err  error
}

// prefixes counts those that were given.
var prefixes atomic.Int64

func newPrefix() string { return fmt.Sprintf("/test/%d", prefixes.Add(1)) }

// TestMain ends when all tests have: the folder of the common server goes with it.
func TestMain(m *testing.M) { runMain(m) }

// sharedServer is the address of the common server.
func sharedServer(t *testing.T) string {
	t.Helper()
	common.once.Do(func() {
		var list []*server.Server
		if list, common.err = server.Cluster(commonDir, 1); common.err != nil {
			return
		}
		var e *embed.Etcd
		if e, common.err = list[0].Start(); common.err == nil {
			common.err = server.Ready(e, long)
		}
		common.at = list[0].Client
	})
	require.NoError(t, common.err)
	return common.at
}

// startServer starts one that belongs to a test.
func startServer(t *testing.T, s *server.Server) *embed.Etcd {
	t.Helper()
	e, err := s.Start()
	require.NoError(t, err)
	t.Cleanup(func() { stopServer(e) })
	return e
}

// stopServer stops a server, unless it was stopped.
func stopServer(e *embed.Etcd) {
	select {
	case <-e.Server.StopNotify():
	default:
		e.Close()
	}
}

// A wire is what goes between a client and etcd; a test harms it.
type wire struct {
	// refuse, if set, answers a transaction that would write, instead of etcd.
	refuse atomic.Pointer[error]
	// lose is how many answers of transactions that write are lost: they take effect.
	lose atomic.Int64
	// cut: nothing goes through, in either direction, until it is mended.
	cut atomic.Bool
	// cutAfter: it is cut when an answer is lost.
	cutAfter atomic.Bool
	// before, if set, is called before each such transaction.
	before atomic.Pointer[func()]
	writes atomic.Int64
	// watched counts what watches told.
	watched atomic.Int64
}

func (w *wire) unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if err := w.through(ctx); err != nil {
		return err
	}
	if !writes(method, req) {
		return invoke(ctx, method, req, reply, cc, opts...)
	}
	w.writes.Add(1)
	if refusal := w.refuse.Load(); refusal != nil {
		return *refusal
	}
	if before := w.before.Load(); before != nil {
		(*before)()
	}
	err := invoke(ctx, method, req, reply, cc, opts...)
	if err == nil && w.lose.Load() > 0 {
		w.lose.Add(-1)
		w.cut.Store(w.cutAfter.Load())
		return status.Error(codes.Unavailable, "the answer was lost")
	}
	if err := w.through(ctx); err != nil {
		return err
	}
	return err
}

// through waits for the end of the request if the wire is cut.
func (w *wire) through(ctx context.Context) error {
	for w.cut.Load() {
		select {
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}

// A cutStream is a stream, of watches or keepalives, over a wire that may be cut.
type cutStream struct {
	grpc.ClientStream
	wire *wire
}

func (s cutStream) SendMsg(m any) error {
	if err := s.wire.through(s.Context()); err != nil {
		return err
	}
	return s.ClientStream.SendMsg(m)
}

func (s cutStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if told, ok := m.(*pb.WatchResponse); ok && err == nil && len(told.Events) > 0 {
		s.wire.watched.Add(1)
	}
	if cut := s.wire.through(s.Context()); cut != nil {
		return cut
	}
	return err
}

func (w *wire) stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	if err := w.through(ctx); err != nil {
		return nil, err
	}
	s, err := streamer(ctx, desc, cc, method, opts...)
	if err != nil {
		return nil, err
	}
	return cutStream{s, w}, nil
}

// quick has a client look often for a server that is down.
var quick = grpc.WithConnectParams(grpc.ConnectParams{
	Backoff: backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.5, MaxDelay: time.Second}, MinConnectTimeout: 3 * time.Second,
})

// newClient connects, over a wire that a test may harm.
func newClient(t *testing.T, addresses ...string) (*clientv3.Client, *wire) {
	t.Helper()
	w := &wire{}
	c, err := clientv3.New(clientv3.Config{
		Endpoints: addresses, DialTimeout: long, Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{quick, grpc.WithChainUnaryInterceptor(w.unary), grpc.WithChainStreamInterceptor(w.stream)},
	})
	require.NoError(t, err)
	t.Cleanup(func() { w.cut.Store(false); _ = c.Close() })
	return c, w
}
