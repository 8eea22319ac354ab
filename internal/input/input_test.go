package input

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func zip(t *testing.T, text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(text))
	require.NoError(t, errors.Join(err, w.Close()))
	return b.String()
}

func TestUnzipReadsWhatIsAndIsNotCompressed(t *testing.T) {
	for _, text := range []string{"", "a", "plain text", strings.Repeat("a row of a log\n", 10_000)} {
		for _, written := range []string{text, zip(t, text)} {
			in, err := Unzip(iotest.HalfReader(strings.NewReader(written)))
			require.NoError(t, err)
			again, err := Unzip(in)
			require.NoError(t, err)
			require.Same(t, in, again, "what is unzipped is not unzipped again")
			got, err := io.ReadAll(again)
			require.NoError(t, err)
			require.Equal(t, text, string(got))
		}
	}
	_, err := Unzip(strings.NewReader("\x1f\x8b, and no gzip behind it"))
	require.ErrorIs(t, err, gzip.ErrHeader)
	in, err := Unzip(strings.NewReader(zip(t, "cut off")[:20]))
	require.NoError(t, err)
	_, err = io.ReadAll(in)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

// What gzip made of very little text of one kind ends with an error soon after it came to more than
// a log does.
func TestUnzipEndsWhatComesToTooMuch(t *testing.T) {
	packed := zip(t, strings.Repeat("0", 16<<20))
	in, err := Unzip(strings.NewReader(packed))
	require.NoError(t, err)
	n, err := io.Copy(io.Discard, in)
	require.ErrorIs(t, err, ErrLimit)
	require.GreaterOrEqual(t, n, int64(MostFree))
	require.LessOrEqual(t, n, int64(MostFree+MostTimes*len(packed)+64<<10))
}

// Lines are those of the whole text, at whichever places are asked for.
func TestLinesTellWhereAnOffsetIs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		text := make([]byte, r.IntN(300))
		for i := range text {
			text[i] = "ab\n"[r.IntN(3)]
		}
		l := NewLines(bytes.NewReader(text), len(text))
		read := 0
		for asked := 0; asked < len(text); {
			n, _ := l.Read(make([]byte, r.IntN(40)))
			read += n
			asked += r.IntN(read - asked + 1)
			before := text[:asked]
			line, column := l.At(int64(asked))
			require.Equal(t, 1+bytes.Count(before, []byte{'\n'}), line)
			require.Equal(t, len(before)-bytes.LastIndexByte(before, '\n'), column)
			line, column = l.At(int64(asked) - 5)
			require.Equal(t, 1+bytes.Count(before, []byte{'\n'}), line)
			require.Equal(t, len(before)-bytes.LastIndexByte(before, '\n'), column)
		}
	}
}

// Of a list that a decoder takes value by value no more is kept than what it has read ahead, also
// of a long one on one line. A value that is too long ends it.
func TestLinesKeepWhatIsReadAhead(t *testing.T) {
	l := NewLines(strings.NewReader("["+strings.Repeat(`{"a":"0123456789"},`, 100_000)+"0]"), 1000)
	decoder := json.NewDecoder(l)
	_, err := decoder.Token()
	require.NoError(t, err)
	for decoder.More() {
		var value any
		require.NoError(t, decoder.Decode(&value))
		_, _ = l.At(decoder.InputOffset())
	}
	require.Less(t, cap(l.kept), 4000)
	decoder = json.NewDecoder(NewLines(strings.NewReader(`["`+strings.Repeat("a", 5000)+`"]`), 1000))
	_, err = decoder.Token()
	require.NoError(t, err)
	var value any
	require.ErrorIs(t, decoder.Decode(&value), ErrLimit)
}
