package workload_test

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/bench/workload"
)

// lines is a text of so many lines, which nobody holds as a whole.
type lines struct {
	line func(i int) string
	left int
	at   int
	rest []byte
}

func (l *lines) Read(p []byte) (int, error) {
	if len(l.rest) == 0 {
		if l.at == l.left {
			return 0, io.EOF
		}
		l.rest = append(l.rest[:0], l.line(l.at)...)
		l.at++
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// readers of traces. The first gives each row as it comes: its format promises the order of time.
var readers = []struct {
	name string
	read readTrace
	line func(i int) string
}{
	{"swf", workload.ReadSWF, func(i int) string {
		return fmt.Sprintf("%d %d -1 3600 4 -1 -1 8 7200 -1 1 %d 1 -1 2 1 -1 -1\n", i+1, i, i%50)
	}},
	{"philly", workload.ReadPhilly, func(i int) string {
		if i == 0 {
			return phillyHeader
		}
		return fmt.Sprintf("2017-10-09 %02d:%02d:%02d,66.0,%d,66.0,vc%d\n", i/3600%24, i/60%60, i%60, 1+i%20, i%15)
	}},
	{"sacct", workload.ReadSacct, func(i int) string {
		if i == 0 {
			return sacctHeader
		}
		return strings.ReplaceAll(sacctLine(fmt.Sprint(i), "cpu=8,gres/gpu:a100=4,mem=64G,node=1", ""),
			"09:30:00", fmt.Sprintf("%02d:%02d:%02d", i/3600%24, i/60%60, i%60))
	}},
}

// TestStreamAllocatesPerRow: what a row costs does not depend on how many there are, and a
// trace that is in order keeps nothing of the rows that are through.
func TestStreamAllocatesPerRow(t *testing.T) {
	trace, err := readers[0].read("file", &lines{line: readers[0].line, left: 80_000}, workload.Options{})
	require.NoError(t, err)
	next := func() {
		_, more := trace.Next()
		require.True(t, more, trace.Err())
	}
	perRow := testing.AllocsPerRun(1000, next)
	kept := heap()
	for range 70_000 {
		next()
	}
	require.Less(t, heap()-kept, int64(1<<20), "bytes kept after 70,000 rows")
	require.InDelta(t, perRow, testing.AllocsPerRun(1000, next), 2)
	require.LessOrEqual(t, perRow, 24.0)
}

// heap is what is in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestEndlessLineIsRefused before it fills the memory, in every form of text.
func TestEndlessLineIsRefused(t *testing.T) {
	for name, read := range map[string]readTrace{"comma-separated": workload.ReadPhilly, "split": workload.ReadSacct} {
		t.Run(name, func(t *testing.T) {
			_, err := read("file", &lines{line: func(int) string { return "timestamp and no end of it " }, left: 1 << 20}, workload.Options{})
			var e *workload.TraceError
			require.ErrorAs(t, err, &e)
			require.ErrorIs(t, err, workload.ErrRow)
			require.Equal(t, 1, e.Line)
			require.Contains(t, e.Reason, "more than 1048576 bytes")
		})
	}
}

// TestBrokenCompression is told where it breaks off.
func TestBrokenCompression(t *testing.T) {
	var text strings.Builder
	text.WriteString(phillyHeader)
	for i := range 5000 {
		fmt.Fprintf(&text, "2017-10-09 07:%02d:01,%d.0,1,66.0,aa\n", i%60, i*7919%10_007)
	}
	whole := string(zipped(t, text.String()))
	list, err := readTrace(workload.ReadPhilly).all(t, whole, workload.Options{})
	require.NoError(t, err)
	require.Len(t, list, 5001)

	_, err = readTrace(workload.ReadPhilly).all(t, whole[:len(whole)/2], workload.Options{})
	var e *workload.TraceError
	require.ErrorAs(t, err, &e)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Greater(t, e.Line, 1000)
	_, err = readTrace(workload.ReadPhilly).all(t, whole[:3], workload.Options{})
	require.ErrorAs(t, err, &e)
	require.Equal(t, 1, e.Line)
}

// TestByteOrderMark: what spreadsheets write in front is no part of the first name.
func TestByteOrderMark(t *testing.T) {
	jobs := readTrace(workload.ReadPhilly).jobs(t, "\ufeff"+phillyHeader+"2017-10-09 07:01:55,66.0,1,66.0,aa\n", workload.Options{})
	require.Len(t, jobs, 1)
}

func BenchmarkRead(b *testing.B) {
	for _, c := range readers {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			open := func() *workload.Trace {
				trace, err := c.read("file", &lines{line: c.line, left: 80_000}, workload.Options{})
				require.NoError(b, err)
				return trace
			}
			trace := open()
			for b.Loop() {
				if _, more := trace.Next(); !more {
					require.NoError(b, trace.Err())
					trace = open()
				}
			}
		})
	}
}
