package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/etcd/internal/certs"
	"github.com/berth-sched/berth/etcd/internal/server"
	"github.com/berth-sched/berth/quota"
)

// A single is one replica at one etcd, with certificates as in the demonstration.
type single struct {
	*testing.T
	dir, etcd, door string
}

func newSingle(t *testing.T) *single {
	s := &single{T: t, dir: t.TempDir()}
	list, err := server.Cluster(s.dir, 1)
	require.NoError(t, err)
	doors, err := server.Addresses(1)
	require.NoError(t, err)
	s.etcd, s.door = list[0].Client, doors[0]
	require.NoError(t, (&stage{dir: s.dir, servers: list, doors: doors, nodes: []string{"box-a-0", "box-a-1"}}).certify())

	list[0].Certificates = etcdCerts(s.dir)
	e, err := list[0].Start()
	require.NoError(t, err)
	t.Cleanup(e.Close)
	require.NoError(t, server.Ready(e, time.Minute))

	r, web, err := newReplica("0", s.dir, s.door, []string{s.etcd})
	require.NoError(t, err)
	listener, err := net.Listen("tcp", s.door)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- r.pools.Run(ctx) }()
	go func() { ended <- web.ServeTLS(listener, "", "") }()
	t.Cleanup(func() {
		cancel()
		_ = web.Close()
		for range cap(ended) {
			<-ended
		}
	})
	return s
}

// as is a caller with the certificate of a name.
func (s *single) as(name string) *caller {
	s.Helper()
	c, err := newCaller(doorCerts(s.dir), name, []string{s.door})
	require.NoError(s, err)
	return c
}

// tell tells until the replica leads, and answers in time.
func (s *single) tell(c *caller, events ...berth.Event) (orders []berth.Bind, err error) {
	s.Helper()
	path := poolPath("a")
	if len(events) == 1 && events[0].Kind() == (berth.JobSubmitted{}).Kind() {
		path = jobsPath
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		_, orders, err = c.ask(path, events)
		var r refusal
		if err == nil || errors.As(err, &r) && r.status != http.StatusServiceUnavailable || time.Now().After(end) {
			return orders, err
		}
	}
}

// orders tells, and waits for orders: all that are not reported.
func (s *single) orders(c *caller, events ...berth.Event) (orders []berth.Bind) {
	s.Helper()
	for len(orders) == 0 {
		var err error
		orders, err = s.tell(c, events...)
		require.NoError(s, err)
	}
	return orders
}

func (s *single) refused(status int, text string, c *caller, events ...berth.Event) {
	s.Helper()
	_, err := s.tell(c, events...)
	var r refusal
	require.ErrorAs(s, err, &r)
	require.Equal(s, status, r.status)
	require.Contains(s, r.text, text)
}

func joins(name string) berth.NodeJoined {
	return berth.NodeJoined{Node: berth.Node{
		ID: berth.NodeID(name), Domains: []string{"leaf"}, GPUs: slices.Repeat([]berth.GPU{{Product: "H100-80GB"}}, 8),
	}}
}

func work(id string) berth.JobSubmitted {
	return berth.JobSubmitted{Job: berth.Job{ID: berth.JobID(id), Queue: "team", Groups: []berth.Group{{Members: 1, Claim: berth.WholeGPUs(8)}}}}
}

func TestDoor(t *testing.T) {
	s := newSingle(t)
	for _, part := range []struct {
		name string
		test func(*testing.T, *single)
	}{{"a stolen certificate", aStolenCertificate}, {"other certificates", otherCertificates}, {"too much", tooMuch}, {"metrics", showsMetrics}} {
		t.Run(part.name, func(t *testing.T) { part.test(t, &single{T: t, dir: s.dir, etcd: s.etcd, door: s.door}) })
	}
}

// An agent speaks for its own node alone, whatever it says of itself, and a client for no node.
func aStolenCertificate(t *testing.T, s *single) {
	own, other, client := s.as("node/box-a-0"), s.as("node/box-a-1"), s.as("client/demo")
	const no = "node box-a-1 may not tell this"

	s.refused(http.StatusForbidden, no, other, joins("box-a-0"))
	s.refused(http.StatusForbidden, no, other, joins("box-a-1"), joins("box-a-0")) // and nothing of it is told
	s.refused(http.StatusForbidden, "for clients", other, work("a"))
	s.refused(http.StatusForbidden, no, other, joins("box-a-1"), work("a"))
	s.refused(http.StatusForbidden, no, other, berth.NodeLost{Node: "box-a-0"})
	s.refused(http.StatusForbidden, "client demo may not", client, joins("box-a-0"))

	_, err := s.tell(client, berth.QueueSet{Queue: quota.Queue{Name: "team"}})
	require.NoError(t, err)
	_, err = s.tell(client, work("a"))
	require.NoError(t, err)
	_, err = s.tell(own, joins("box-a-0"))
	require.NoError(t, err)
	orders := s.orders(own)
	none, err := s.tell(other)
	require.NoError(t, err)
	require.Empty(t, none, "it sees no order of another node")

	failed := berth.OrderReported{Order: orders[0].ID, Outcome: berth.OutcomeFailed}
	done := berth.OrderReported{Order: orders[0].ID, Outcome: berth.OutcomeDone}
	finished := berth.JobFinished{Job: "a", Incarnation: orders[0].Incarnation}
	s.refused(http.StatusForbidden, no, other, failed)
	s.refused(http.StatusForbidden, no, other, finished)
	s.refused(http.StatusForbidden, "client demo may not", client, finished)
	_, err = s.tell(other, berth.JobFinished{Job: "b", Incarnation: 1}) // which nobody has submitted
	require.NoError(t, err)
	_, err = s.tell(client, work("b"))
	require.NoError(t, err)
	_, err = s.tell(own, done, finished)
	require.NoError(t, err)
	orders = s.orders(own)
	require.Equal(t, berth.JobID("b"), orders[0].Job, "its end was told before its beginning, and marks nothing")
	for _, late := range [][]berth.Event{{done, finished}, {failed}, {done, done, finished, finished}} {
		require.Equal(t, orders, s.orders(own, late...), "what is told twice and late changes nothing")
	}
}

// Without a certificate of the right authority, and for the right use, nobody is talked to.
func otherCertificates(t *testing.T, s *single) {
	_, err := s.tell(s.as("node/box-a-0"), joins("box-a-0"))
	require.NoError(t, err)

	elsewhere := doorCerts(t.TempDir()) // an authority of the same name
	forger, err := certs.New(elsewhere)
	require.NoError(t, err)
	require.NoError(t, forger.Client("node/box-a-0"))
	authority, err := os.ReadFile(certs.CA(doorCerts(s.dir)))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(certs.CA(elsewhere), authority, 0o600)) // it believes the replica
	forged, err := newCaller(elsewhere, "node/box-a-0", []string{s.door})
	require.NoError(t, err)
	_, _, err = forged.ask(agentPath(0), nil)
	require.ErrorContains(t, err, "unknown certificate")

	bare := s.as("node/box-a-0")
	bare.http.Transport.(*http.Transport).TLSClientConfig.Certificates = nil
	_, _, err = bare.ask(agentPath(0), nil)
	require.ErrorContains(t, err, "certificate required")

	// An agent's certificate does not answer as a replica's.
	config, err := certs.Config(doorCerts(s.dir), "node/box-a-1")
	require.NoError(t, err)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
	require.NoError(t, err)
	defer listener.Close()
	go func() { _ = http.Serve(listener, http.NotFoundHandler()) }()
	deceived := s.as("node/box-a-0")
	deceived.replicas = []string{listener.Addr().String()}
	_, _, err = deceived.ask(agentPath(0), nil)
	require.ErrorContains(t, err, "x509")

	// Nor does it open etcd, which has another authority.
	for dir, name := range map[string]string{etcdCerts(s.dir): "replica/0", doorCerts(s.dir): "node/box-a-0"} {
		config, err := certs.Config(dir, name)
		require.NoError(t, err)
		config.InsecureSkipVerify = true
		err = reach(s.etcd, config)
		if dir == etcdCerts(s.dir) {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, "certificate")
		}
	}
}

// reach asks an etcd server for its version.
func reach(at string, config *tls.Config) error {
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: config}}
	resp, err := client.Get("https://" + at + "/version")
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// What is too large is refused with the bounds, and a flood waits, or is refused: others do not
// notice.
func tooMuch(t *testing.T, s *single) {
	flooder, other := s.as("client/demo"), s.as("node/box-a-1")
	_, err := s.tell(other, joins("box-a-1"))
	require.NoError(t, err)

	_, _, err = flooder.askOne(s.door, poolPath("a"), strings.Repeat(" ", mostBytes+1))
	require.EqualError(t, err, "413: a request has 1048576 bytes and 1000 events at most")
	many := slices.Repeat([]berth.Event{berth.QueueSet{Queue: quota.Queue{Name: "team"}}}, mostEvents+1)
	s.refused(http.StatusRequestEntityTooLarge, "1000 events at most", flooder, many...)

	var events strings.Builder
	for _, e := range many[:perSecond/2] {
		text, err := berth.EncodeEvent(e)
		require.NoError(t, err)
		events.Write(append(text, '\n'))
	}
	for name, flood := range map[string]struct {
		body   string
		counts int64
	}{
		"events": {events.String(), perSecond / 2},
		"bytes":  {strings.Repeat(" ", mostBytes), mostBytes / eventBytes},
	} {
		var told, refused atomic.Int64
		var group sync.WaitGroup
		began := time.Now()
		going := func() bool { return told.Load() < 3*perSecond || refused.Load() == 0 }
		for range 8 {
			group.Go(func() {
				for going() && time.Since(began) < time.Minute {
					_, _, err := flooder.askOne(s.door, poolPath("a"), flood.body)
					var no refusal
					switch {
					case err == nil:
						told.Add(flood.counts)
					case errors.As(err, &no) && no.status == http.StatusTooManyRequests:
						assert.Equal(t, "client demo tells more than 1000 events a second", no.text)
						refused.Add(1)
						time.Sleep(20 * time.Millisecond)
					}
				}
			})
		}
		quickest := time.Minute
		for going() && time.Since(began) < time.Minute {
			at := time.Now()
			_, err := s.tell(other, berth.OrderReported{Order: 1000, Outcome: berth.OutcomeDone})
			require.NoError(t, err)
			quickest = min(quickest, time.Since(at))
		}
		group.Wait()
		require.False(t, going())
		require.Less(t, quickest, linger+2*time.Second, "a peer that floods slows itself")
		require.Greater(t, time.Since(began), 1500*time.Millisecond, "a thousand at once, and a thousand a second")
		t.Logf("%d %s in %v, %d requests refused; another peer had its answer after %v", told.Load(), name, time.Since(began), refused.Load(), quickest)
	}
}

// The metrics are for clients. The core is looked at now and then.
func showsMetrics(t *testing.T, s *single) {
	wanted := []string{
		`berth_leads{pool="a"} 1`, `berth_orders_total{cause="fits",kind="bind",pool="a"}`, `berth_nodes{pool="a",state="all"} 2`,
		`berth_jobs_total{event="finished",pool="a"} 1`, `berth_journal_behind_records{pool="a"} 0`,
	}
	get := func(name string) (status int, text string) {
		resp, err := s.as(name).http.Get("https://" + s.door + "/metrics")
		if err != nil {
			return 0, err.Error()
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return resp.StatusCode, fmt.Sprint(string(body), err)
	}
	var text string
	missing := func(line string) bool { return !strings.Contains(text, line) }
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		status, body := get("client/demo")
		if text = body; status == http.StatusOK && !slices.ContainsFunc(wanted, missing) {
			break
		}
		require.False(t, time.Now().After(end), "%d: %s", status, text)
	}
	status := 0
	for end := time.Now().Add(time.Minute); status == 0 && time.Now().Before(end); {
		status, _ = get("node/box-a-0")
	}
	require.Equal(t, http.StatusForbidden, status)
}
