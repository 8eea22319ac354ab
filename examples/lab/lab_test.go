package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// maxBytes is what the page may weigh, compressed: the readers of files are part of it.
const maxBytes = 4_100_000

// What -export writes is whole and not too heavy, and is what the server gives.
func TestExport(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the core to WebAssembly")
	}
	folder := t.TempDir()
	var said bytes.Buffer
	require.NoError(t, run([]string{"-export", folder}, &said, io.Discard))
	require.Contains(t, said.String(), "MB")
	written := website{}
	require.NoError(t, written.add(os.DirFS(folder)))
	require.LessOrEqual(t, written.size(), maxBytes)
	t.Logf("%d files, %d bytes compressed, of which the core %d", len(written), written.size(), len(written["lab.wasm.gz"]))

	core, err := gzip.NewReader(bytes.NewReader(written["lab.wasm.gz"]))
	require.NoError(t, err)
	magic := make([]byte, 4)
	_, err = io.ReadFull(core, magic)
	require.NoError(t, err)
	require.Equal(t, "\x00asm", string(magic))
	for _, name := range []string{"index.html", "lab.js", "worker.js", "wasm_exec.js", "stories.json"} {
		got := httptest.NewRecorder()
		written.ServeHTTP(got, httptest.NewRequest(http.MethodGet, "/"+strings.TrimPrefix(name, "index.html"), nil))
		require.Equal(t, http.StatusOK, got.Code, name)
		require.Equal(t, string(written[name]), got.Body.String())
	}
	got := httptest.NewRecorder()
	written.ServeHTTP(got, httptest.NewRequest(http.MethodGet, "/../main.go", nil))
	require.Equal(t, http.StatusNotFound, got.Code)
}

// Every script of the tests is offered, under a title.
func TestStories(t *testing.T) {
	list, err := stories()
	require.NoError(t, err)
	names, err := filepath.Glob("../../berthtest/script/testdata/*.txt")
	require.NoError(t, err)
	presets, err := filepath.Glob("presets/*.txt")
	require.NoError(t, err)
	require.Len(t, list, len(names)+len(presets))
	require.Equal(t, "1-two-teams", list[0].Name, "what the page opens with")
	for _, s := range list {
		require.NotEmpty(t, s.Title, s.Name)
	}
}

// The page is of itself: nothing in it comes from elsewhere.
func TestPageIsSelfContained(t *testing.T) {
	folder, err := os.ReadDir("page")
	require.NoError(t, err)
	for _, file := range folder {
		b, err := os.ReadFile(filepath.Join("page", file.Name()))
		require.NoError(t, err)
		text := strings.ReplaceAll(string(b), "http://www.w3.org/2000/svg", "")
		require.NotContains(t, text, "http:", file.Name())
		require.NotContains(t, text, "https:", file.Name())
	}
}
