package fabric

import (
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/berth-sched/berth/internal/input"
)

// ReadLingjun reads topo.csv of Alibaba's 2023 trace of the Lingjun cluster, plain or
// compressed with gzip: a host a line, with the switches of the three layers above it
// in the columns ip, DSW, PSW and ASW, in any order. The levels are core, spine and
// leaf. File names the input in errors.
//
// The numbers of ASWs and PSWs are those within their parent: S14 of P8 and S14 of
// P10 are two switches. See Qualify before writing such a fabric for Slurm. The file
// does not tell how many GPUs a host has.
//
// The data set goes with Cao et al., "Crux: GPU-Efficient Communication Scheduling for
// Deep Learning Training", ACM SIGCOMM 2024.
func ReadLingjun(file string, r io.Reader) (*Fabric, error) {
	s := newSource(file)
	text, err := s.unzip(r)
	if err != nil {
		return nil, err
	}
	reader := csv.NewReader(strings.NewReader(text))
	header, err := reader.Read()
	if err != nil {
		return nil, s.csvError(err)
	}
	layers := []string{"DSW", "PSW", "ASW"}
	columns := make([]int, 0, 4)
	for _, name := range append([]string{"ip"}, layers...) {
		at := slices.Index(header, name)
		if at < 0 || len(header) != 4 {
			return nil, s.refuse(ErrSyntax, 1, name, "the columns are ip, DSW, PSW and ASW, not %s", shorten(strings.Join(header, ",")))
		}
		columns = append(columns, at)
	}
	var rows []*row
	for {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return s.rows(levelNames(len(layers)), rows)
		}
		if err != nil {
			return nil, s.csvError(err)
		}
		line, _ := reader.FieldPos(0)
		r := row{line: line, Node: Node{Name: record[columns[0]]}}
		if r.Name == "" {
			return nil, s.refuse(ErrInvalid, line, "ip", "the host has no name")
		}
		for _, at := range columns[1:] {
			r.Path = append(r.Path, record[at])
		}
		if rows, err = s.row(rows, "", r); err != nil {
			return nil, err
		}
	}
}

// unzip reads an input, and undoes a compression that shows in its first bytes. The
// limit holds for what comes out.
func (s *source) unzip(r io.Reader) (string, error) {
	plain, err := input.Unzip(r)
	if err != nil {
		return "", s.refuse(ErrSyntax, 0, "", "the input is not what gzip writes: %v", err)
	}
	text, err := s.readAll(plain)
	return string(text), err
}

func (s *source) csvError(err error) error {
	var parse *csv.ParseError
	switch {
	case errors.As(err, &parse):
		return s.refuse(ErrSyntax, parse.Line, "", "%v", parse.Err)
	case errors.Is(err, io.EOF):
		return s.refuse(ErrSyntax, 0, "", "the file is empty")
	}
	return s.refuse(ErrSyntax, 0, "", "%v", err)
}
