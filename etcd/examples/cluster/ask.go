package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/etcd/internal/certs"
)

// A caller talks to the replicas, by one certificate.
type caller struct {
	http     *http.Client
	replicas []string
}

func newCaller(folder, name string, replicas []string) (*caller, error) {
	config, err := certs.Config(folder, name)
	if err != nil {
		return nil, err
	}
	return &caller{
		http:     &http.Client{Timeout: 2500 * time.Millisecond, Transport: &http.Transport{TLSClientConfig: config}},
		replicas: replicas,
	}, nil
}

// ask sends events to a path of the replicas until one answers, and returns its term and the
// orders.
func (c *caller) ask(path string, events []berth.Event) (term int64, orders []berth.Bind, err error) {
	var body strings.Builder
	for _, e := range events {
		text, err := berth.EncodeEvent(e)
		if err != nil {
			return 0, nil, err
		}
		body.Write(append(text, '\n'))
	}
	for _, at := range c.replicas {
		if term, orders, err = c.askOne(at, path, body.String()); err == nil {
			return term, orders, nil
		}
	}
	return 0, nil, err
}

// A refusal is an answer other than 200.
type refusal struct {
	status int
	text   string
}

func (r refusal) Error() string { return fmt.Sprintf("%d: %s", r.status, r.text) }

func (c *caller) askOne(at, path, body string) (int64, []berth.Bind, error) {
	resp, err := c.http.Post("https://"+at+path, "application/jsonl", strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
		return 0, nil, refusal{resp.StatusCode, strings.TrimSpace(string(text))}
	}
	return readAnswer(resp.Body)
}

func readAnswer(body io.Reader) (term int64, orders []berth.Bind, err error) {
	for in := json.NewDecoder(body); ; {
		var m message
		switch err := in.Decode(&m); {
		case errors.Is(err, io.EOF):
			return term, orders, nil
		case err != nil:
			return 0, nil, err
		case m.Order == nil:
			term = m.Term
			continue
		}
		order, err := berth.DecodeOrder(m.Order)
		if err != nil {
			return 0, nil, err
		}
		if bind, ok := order.(berth.Bind); ok {
			orders = append(orders, bind)
		}
	}
}

// The paths: of an agent that has orders, of a client that turns to a pool, and of one that
// submits.
func agentPath(have berth.OrderID) string { return fmt.Sprintf("/exchange?have=%d", have) }
func poolPath(pool string) string         { return "/exchange?pool=" + pool }

const jobsPath = "/jobs"
