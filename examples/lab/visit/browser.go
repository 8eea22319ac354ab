package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"
)

// A browser is a headless Chromium with one page, driven over the DevTools protocol: messages
// in JSON that end in a zero byte, over two pipes.
type browser struct {
	cmd     *exec.Cmd
	to      *os.File
	session string

	mu      sync.Mutex
	next    int
	waiting map[int]chan reply
	// complaints are errors that the page threw or wrote to its console.
	complaints []string
}

type reply struct {
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// answerTime is how long a call may take.
const answerTime = 90 * time.Second

func launch(ctx context.Context, program, profile string) (*browser, error) {
	hear, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	from, tell, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	b := &browser{to: to, waiting: map[int]chan reply{}}
	b.cmd = exec.CommandContext(ctx, program, "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-quic",
		"--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--user-data-dir="+profile, "about:blank")
	b.cmd.ExtraFiles = []*os.File{hear, tell} // the browser's descriptors 3 and 4
	if err := b.cmd.Start(); err != nil {
		return nil, err
	}
	hear.Close()
	tell.Close()
	go b.listen(from)
	return b, b.attach()
}

// attach opens a page and has it report what goes wrong.
func (b *browser) attach() error {
	var target struct{ TargetID string }
	if err := b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target); err != nil {
		return err
	}
	var attached struct{ SessionID string }
	if err := b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached); err != nil {
		return err
	}
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		if err := b.call(domain+".enable", nil, nil); err != nil {
			return err
		}
	}
	return nil
}

func (b *browser) listen(from *os.File) {
	r := bufio.NewReaderSize(from, 1<<20)
	for {
		message, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var m struct {
			ID     int             `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
			reply
		}
		if json.Unmarshal(bytes.TrimSuffix(message, []byte{0}), &m) != nil {
			continue
		}
		b.mu.Lock()
		if waiting := b.waiting[m.ID]; waiting != nil {
			delete(b.waiting, m.ID)
			waiting <- m.reply
		} else if complains(m.Method, m.Params) {
			b.complaints = append(b.complaints, m.Method+" "+string(m.Params))
		}
		b.mu.Unlock()
	}
}

// complains reports whether an event of the browser tells of an error.
func complains(method string, params json.RawMessage) bool {
	switch method {
	case "Runtime.exceptionThrown":
		return true
	case "Runtime.consoleAPICalled":
		return bytes.Contains(params, []byte(`"type":"error"`))
	case "Log.entryAdded":
		return bytes.Contains(params, []byte(`"level":"error"`))
	}
	return false
}

// call asks the browser, and reads its answer into result unless that is nil.
func (b *browser) call(method string, params, result any) error {
	b.mu.Lock()
	b.next++
	id, answer := b.next, make(chan reply, 1)
	b.waiting[id] = answer
	b.mu.Unlock()
	message := map[string]any{"id": id, "method": method}
	if params != nil {
		message["params"] = params
	}
	if b.session != "" {
		message["sessionId"] = b.session
	}
	line, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if _, err := b.to.Write(append(line, 0)); err != nil {
		return err
	}
	select {
	case r := <-answer:
		if r.Error != nil {
			return fmt.Errorf("%s: %s", method, r.Error.Message)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(r.Result, result)
	case <-time.After(answerTime):
		return fmt.Errorf("%s: no answer in %v", method, answerTime)
	}
}

// evaluate runs an expression in the page, waits for it if it is a promise, and reads its value.
func (b *browser) evaluate(expression string, value any) error {
	var r struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		ExceptionDetails *struct {
			Text      string `json:"text"`
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	if err := b.call("Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true, "userGesture": true}, &r); err != nil {
		return err
	}
	if e := r.ExceptionDetails; e != nil {
		return errors.New(e.Text + " " + e.Exception.Description)
	}
	if value == nil || r.Result.Value == nil {
		return nil
	}
	return json.Unmarshal(r.Result.Value, value)
}

// screenshot writes what the window shows, or the whole page.
func (b *browser) screenshot(file string, whole bool) error {
	var r struct{ Data string }
	if err := b.call("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": whole}, &r); err != nil {
		return err
	}
	png, err := base64.StdEncoding.DecodeString(r.Data)
	if err != nil {
		return err
	}
	return os.WriteFile(file, png, 0o644)
}

// window makes the window so many pixels wide and high, light or dark.
func (b *browser) window(width, height int, scheme string) error {
	if err := b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}, nil); err != nil {
		return err
	}
	return b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

func (b *browser) close() {
	_ = b.call("Browser.close", nil, nil)
	b.to.Close()
	_ = b.cmd.Wait()
}
