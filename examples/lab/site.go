package main

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const module = "github.com/berth-sched/berth"

//go:embed page presets
var embedded embed.FS

// A website has its files by name.
type website map[string][]byte

// A story is a scenario that the page offers.
type story struct {
	// Group is presets or the scripts of the tests.
	Group string `json:"group"`
	Name  string `json:"name"`
	// Title is its first sentence.
	Title string `json:"title"`
	Text  string `json:"text"`
}

// site makes all files of the page. Those that it is made of stand beside this program, but for the
// core, which is compiled, what Go has to run it, and the scripts of the tests.
func site() (website, error) {
	files := website{}
	page, err := fs.Sub(embedded, "page")
	if err != nil {
		return nil, err
	}
	if err := files.add(page); err != nil {
		return nil, err
	}
	stories, err := stories()
	if err != nil {
		return nil, err
	}
	if files["stories.json"], err = json.Marshal(stories); err != nil {
		return nil, err
	}
	if files["wasm_exec.js"], err = support(); err != nil {
		return nil, err
	}
	files["lab.wasm.gz"], err = compiled()
	return files, err
}

// add takes all files of a folder.
func (w website) add(folder fs.FS) error {
	names, err := fs.Glob(folder, "*")
	if err != nil {
		return err
	}
	for _, name := range names {
		if w[name], err = fs.ReadFile(folder, name); err != nil {
			return err
		}
	}
	return nil
}

// compiled is the worker as WebAssembly, compressed. The page inflates it, so that a server has
// nothing to know of it.
func compiled() ([]byte, error) {
	folder, err := os.MkdirTemp("", "lab")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	out := filepath.Join(folder, "lab.wasm")
	// Without inlining it is a seventh smaller, which a visitor waits for.
	build := exec.Command("go", "build", "-trimpath", "-gcflags=all=-l", "-ldflags=-s -w", "-o", out, module+"/examples/lab/worker")
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	if said, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the core cannot be compiled to WebAssembly: %w\n%s(run this in a clone of %s, or where it is required)", err, said, module)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		return nil, err
	}
	return compress(b)
}

func compress(b []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(b); err != nil {
		return nil, err
	}
	err = w.Close()
	return out.Bytes(), err
}

// support is the script with which Go's WebAssembly runs in a browser. It belongs to the toolchain.
func support() ([]byte, error) {
	root, err := goTool("env", "GOROOT")
	if err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(root, "lib", "wasm", "wasm_exec.js"))
}

func goTool(args ...string) (string, error) {
	out, err := exec.Command("go", args...).Output()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return "", fmt.Errorf("go %s: %w\n%s(run this in a clone of %s, or where it is required)", strings.Join(args, " "), err, exit.Stderr, module)
	} else if err != nil {
		return "", fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

// stories are the presets, and the scripts of the tests by number.
func stories() ([]story, error) {
	presets, err := fs.Sub(embedded, "presets")
	if err != nil {
		return nil, err
	}
	list, err := storiesOf(presets, "Presets")
	if err != nil {
		return nil, err
	}
	folder, err := goTool("list", "-f", "{{.Dir}}", module+"/berthtest/script")
	if err != nil {
		return nil, err
	}
	scripts, err := storiesOf(os.DirFS(filepath.Join(folder, "testdata")), "Scripts of the tests")
	return append(list, scripts...), err
}

func storiesOf(folder fs.FS, group string) ([]story, error) {
	names, err := fs.Glob(folder, "*.txt")
	if err != nil {
		return nil, err
	}
	var list []story
	for _, name := range names {
		text, err := fs.ReadFile(folder, name)
		if err != nil {
			return nil, err
		}
		list = append(list, story{Group: group, Name: strings.TrimSuffix(name, ".txt"), Title: title(string(text)), Text: string(text)})
	}
	slices.SortStableFunc(list, func(a, b story) int { return number(a.Name) - number(b.Name) })
	return list, nil
}

// number is what a name begins with.
func number(name string) int {
	n := 0
	for _, digit := range []byte(name) {
		if digit < '0' || digit > '9' || n > 1e6 {
			break
		}
		n = n*10 + int(digit-'0')
	}
	return n
}

// title is the first sentence of the comment that a scenario begins with.
func title(text string) string {
	var words []string
	for line := range strings.Lines(text) {
		said, comment := strings.CutPrefix(strings.TrimSpace(line), "#")
		if !comment {
			break
		}
		words = append(words, strings.Fields(said)...)
	}
	sentence, _, _ := strings.Cut(strings.Join(words, " ")+" ", ". ")
	return strings.TrimSpace(sentence)
}

// size is what travels, if a server compresses what is text.
func (w website) size() int {
	n := 0
	for name, b := range w {
		if !strings.HasSuffix(name, ".gz") {
			if c, err := compress(b); err == nil {
				b = c
			}
		}
		n += len(b)
	}
	return n
}

func (w website) write(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, b := range w {
		if err := os.WriteFile(filepath.Join(folder, name), b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (w website) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
	if name == "" {
		name = "index.html"
	}
	b, known := w[name]
	if !known {
		http.NotFound(out, r)
		return
	}
	kind := mime.TypeByExtension(path.Ext(name))
	if strings.HasSuffix(name, ".gz") {
		kind = "application/octet-stream" // or the browser inflates it before the page does
	}
	out.Header().Set("Content-Type", kind)
	out.Header().Set("Cache-Control", "no-cache")
	_, _ = out.Write(b)
}
