package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/berth-sched/berth/examples/livenode/internal/own"
	"github.com/berth-sched/berth/quota"
)

// What clients say and hear: HTTP over a socket in the state folder, which its owner alone
// may open, and root, so "curl --unix-socket" is a client too.
//
//	POST   /jobs           Submission   the name of the job
//	GET    /jobs/NAME/why               where it stands, in sentences
//	DELETE /jobs/NAME                   cancels it
//	GET    /status                      Status
//	PUT    /queues/NAME    quota.Queue  makes or changes a queue
//	DELETE /queues/NAME                 removes it
//	POST   /repaired/GPU                a GPU that failed is fit for work again
//	POST   /faults         Fault        on a pretend box: a GPU fails
//
// A refusal is an answer with another status than 200 and {"error": ...}.

// socketFile is the socket of a state folder.
func socketFile(folder string) string { return filepath.Join(folder, "socket") }

// maxSocketPath is the longest path that a socket may have (unix(7), less the final zero).
const maxSocketPath = 107

// listen makes the socket. One that a crash has left is replaced: the
// process that has the store is the only one.
func listen(folder string) (net.Listener, error) {
	path := socketFile(folder)
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("the path of the socket, %s, is longer than %d bytes; give a shorter -state", path, maxSocketPath)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return own.Listen(path)
}

// serve answers clients until the context is done.
func (o *orchestrator) serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{Handler: o.handler(), ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (o *orchestrator) handler() http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, f func(*http.Request) (any, error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			r.Body = http.MaxBytesReader(w, r.Body, maxRequest)
			answer, err := f(r)
			reply(w, answer, err)
		})
	}
	handle("POST /jobs", func(r *http.Request) (any, error) {
		var s Submission
		if err := decode(r, &s); err != nil {
			return nil, err
		}
		return ask(o, r, func() (string, error) { return o.submit(s) })
	})
	handle("GET /jobs/{name}/why", func(r *http.Request) (any, error) {
		return ask(o, r, func() (string, error) { return o.why(r.PathValue("name")) })
	})
	handle("DELETE /jobs/{name}", func(r *http.Request) (any, error) {
		return nil, o.ask(r.Context(), func() error { return o.cancelJob(r.PathValue("name")) })
	})
	handle("GET /status", func(r *http.Request) (any, error) {
		return ask(o, r, func() (Status, error) { return o.status(), nil })
	})
	handle("PUT /queues/{name}", func(r *http.Request) (any, error) {
		var q quota.Queue
		if err := decode(r, &q); err != nil {
			return nil, err
		}
		q.Name = quota.QueueID(r.PathValue("name"))
		return nil, o.ask(r.Context(), func() error { return o.setQueue(q) })
	})
	handle("DELETE /queues/{name}", func(r *http.Request) (any, error) {
		return nil, o.ask(r.Context(), func() error { return o.removeQueue(r.PathValue("name")) })
	})
	handle("POST /repaired/{gpu}", func(r *http.Request) (any, error) {
		gpu, err := strconv.Atoi(r.PathValue("gpu"))
		if err != nil {
			return nil, err
		}
		return nil, o.ask(r.Context(), func() error { return o.repaired(gpu) })
	})
	handle("POST /faults", func(r *http.Request) (any, error) {
		var f Fault
		if err := decode(r, &f); err != nil {
			return nil, err
		}
		return nil, o.ask(r.Context(), func() error { return o.machine.befall(f) })
	})
	return mux
}

// maxRequest bounds a request: a command line and an environment take 2 MiB at most on
// Linux (execve(2)), and JSON can double that.
const maxRequest = 8 << 20

// ask has the loop call a function that returns something.
func ask[T any](o *orchestrator, r *http.Request, f func() (T, error)) (any, error) {
	var answer T
	err := o.ask(r.Context(), func() (err error) {
		answer, err = f()
		return err
	})
	return answer, err
}

func decode(r *http.Request, v any) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// A refusal is the body of an answer that is none.
type refusal struct {
	Error string `json:"error"`
}

func reply(w http.ResponseWriter, answer any, err error) {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case errors.Is(err, errUnknownJob):
		w.WriteHeader(http.StatusNotFound)
	case errors.Is(err, errEnding):
		w.WriteHeader(http.StatusServiceUnavailable)
	case err != nil:
		w.WriteHeader(http.StatusBadRequest)
	}
	if err != nil {
		answer = refusal{err.Error()}
	}
	_ = json.NewEncoder(w).Encode(answer) // if the client is gone nobody misses it
}
