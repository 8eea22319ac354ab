package traces

import (
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/bench/flagline"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/bench/study/studytest"
)

// writeTrace writes a text below a folder, compressed if the name says so.
func writeTrace(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	file, err := os.Create(path)
	require.NoError(t, err)
	defer file.Close()
	if filepath.Ext(name) != ".gz" {
		_, err = file.WriteString(text)
		require.NoError(t, err)
		return path
	}
	w := gzip.NewWriter(file)
	_, err = w.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return path
}

func TestTraces(t *testing.T) {
	dir := t.TempDir()
	writeTrace(t, dir, "philly/jobs.csv.gz", "timestamp,duration,num_gpus,cluster\n"+
		"2017-10-10 07:00:00,7200.0,16,b\n2017-10-09 07:00:00,3600.0,1,a\n2017-10-09 08:00:00,3600.0,20,b\n")
	writeTrace(t, dir, "openb/openb_node_list_x.csv", "sn,cpu_milli,memory_mib,gpu,model\na,1,1,2,T4\nb,1,1,0,\n")
	writeTrace(t, dir, "openb/openb_pod_list_x.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1,1,1,460\nq,1,1,0,0\nr,1,1,1,1000\n")

	o := Options{Output: study.Output{Format: study.CSV}, Dir: dir}
	out, err := studytest.Tell(Run, o)
	require.NoError(t, err)
	require.Equal(t, `table,file,format,jobs,days,queues,host,part,1 GPU,2-4,5-8,9-16,>16,GPU-hours,median min,mean min,without end
"jobs, by the GPUs that they claim",openb/openb_pod_list_x.csv,openb tasks,3,,,1,1,1,0,0,0,0,,,,
"jobs, by the GPUs that they claim",philly/jobs.csv.gz,philly,3,1,2,0,0,1,0,0,1,1,53,60,80,0
table,file,rows,reason
table,file,format,nodes,GPUs,products
fleets,openb/openb_node_list_x.csv,openb nodes,2,2,2 T4
`, out)
}

// TestTracesReportsWhatIsBroken, and prints the others all the same.
func TestTracesReportsWhatIsBroken(t *testing.T) {
	dir := t.TempDir()
	for says, o := range map[string]Options{
		"there is no trace below": {Dir: dir},
		"-dir is missing":         {},
	} {
		_, err := studytest.Tell(Run, o)
		require.ErrorIs(t, err, flagline.ErrMisuse)
		require.ErrorContains(t, err, says)
	}

	broken := writeTrace(t, dir, "philly/a.csv", "timestamp,duration,num_gpus,cluster\n2017-10-10 07:00:00,7200.0,none,b\n")
	writeTrace(t, dir, "philly/b.csv", "timestamp,duration,num_gpus,cluster\n2017-10-10 07:00:00,7200.0,4,b\n")
	out, err := studytest.Tell(Run, Options{Dir: dir})
	require.Contains(t, out, "philly/b.csv")
	require.ErrorContains(t, err, broken+":2:28: num_gpus")
	require.NotErrorIs(t, err, flagline.ErrMisuse)
}

func TestHelpNamesTheFiles(t *testing.T) {
	for _, f := range formats {
		require.Contains(t, Help, strings.TrimSuffix(f.pattern, "*"), f.name)
	}
}
