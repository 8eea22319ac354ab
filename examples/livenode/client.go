package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/berth-sched/berth/examples/livenode/internal/own"
	"github.com/berth-sched/berth/quota"
)

// A client talks to the orchestrator of a state folder.
type client struct {
	folder string
	http   http.Client
}

func newClient(folder string) *client {
	c := &client{folder: folder}
	c.http.Transport = &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, "unix", socketFile(folder))
			if err != nil {
				return nil, err
			}
			if err := own.CheckPeer(c); err != nil { // it would be told a whole environment
				return nil, errors.Join(fmt.Errorf("%s: %w", socketFile(folder), err), c.Close())
			}
			return c, nil
		},
	}
	return c
}

// errNotServing: no orchestrator answers.
var errNotServing = errors.New("no livenode is serving")

func (c *client) submit(ctx context.Context, s Submission) (name string, err error) {
	return name, c.call(ctx, http.MethodPost, "/jobs", s, &name)
}

func (c *client) why(ctx context.Context, job string) (text string, err error) {
	return text, c.call(ctx, http.MethodGet, "/jobs/"+url.PathEscape(job)+"/why", nil, &text)
}

func (c *client) cancel(ctx context.Context, job string) error {
	return c.call(ctx, http.MethodDelete, "/jobs/"+url.PathEscape(job), nil, nil)
}

func (c *client) status(ctx context.Context) (s Status, err error) {
	return s, c.call(ctx, http.MethodGet, "/status", nil, &s)
}

func (c *client) setQueue(ctx context.Context, q quota.Queue) error {
	return c.call(ctx, http.MethodPut, "/queues/"+url.PathEscape(string(q.Name)), q, nil)
}

func (c *client) removeQueue(ctx context.Context, name quota.QueueID) error {
	return c.call(ctx, http.MethodDelete, "/queues/"+url.PathEscape(string(name)), nil, nil)
}

func (c *client) repaired(ctx context.Context, gpu string) error {
	return c.call(ctx, http.MethodPost, "/repaired/"+url.PathEscape(gpu), nil, nil)
}

func (c *client) fault(ctx context.Context, f Fault) error {
	return c.call(ctx, http.MethodPost, "/faults", f, nil)
}

// call sends a request and decodes its answer.
func (c *client) call(ctx context.Context, method, path string, request, answer any) error {
	var body io.Reader
	if request != nil {
		text, err := json.Marshal(request)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://livenode"+path, body)
	if err != nil {
		return err
	}
	response, err := c.http.Do(r)
	var dial *net.OpError
	switch {
	case errors.As(err, &dial) && dial.Op == "dial":
		return fmt.Errorf("%w in %s (%w); start it with: livenode serve -state %s", errNotServing, c.folder, dial.Err, c.folder)
	case err != nil:
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		var no refusal
		if err := json.NewDecoder(response.Body).Decode(&no); err != nil {
			return fmt.Errorf("livenode answers %s", response.Status)
		}
		return errors.New(no.Error)
	}
	if answer == nil {
		return nil
	}
	return json.NewDecoder(response.Body).Decode(answer)
}
