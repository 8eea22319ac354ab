package record

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
)

var rewrite = flag.Bool("rewrite", false, "write the tables of the states into doc.go of the root and docs/states.md")

const root = "../../.."

// A machine is what an After says, asked of each state and each signal, and what the comments of
// the states and signals say.
type machine struct {
	name            string
	states, signals []string
	docs            map[string]string
	steps           []step
}

type step struct{ from, on, to string }

func machines(t *testing.T) []machine {
	docs := constantDocs(t)
	replica := func(s berth.ReplicaState) string {
		if s == ReplicaGone { // of which the contract has no name
			return "gone"
		}
		return s.String()
	}
	trust := machine{name: "Trust in a node", docs: docs}
	for s := range trusts {
		trust.states = append(trust.states, s.String())
	}
	for on := range trustSignals {
		trust.signals = append(trust.signals, on.String())
	}
	forms := []TrustPart{{}} // all that signals lead to
	for i := 0; i < len(forms); i++ {
		for on := range trustSignals {
			next, ok := on.After(forms[i], 1)
			if ok && !slices.Contains(forms, next) {
				forms = append(forms, next)
			}
			is := step{forms[i].State().String(), on.String(), next.State().String()}
			if ok && !slices.Contains(trust.steps, is) {
				trust.steps = append(trust.steps, is)
			}
		}
	}
	at := func(s step) int { return 100*slices.Index(trust.states, s.from) + slices.Index(trust.signals, s.on) }
	slices.SortStableFunc(trust.steps, func(a, b step) int { return at(a) - at(b) })
	return []machine{
		machineOf("Replica", docs, ReplicaGone+1, replicaSignals, replica, ReplicaSignal.After),
		machineOf("Member", docs, memberStates, memberSignals, MemberState.String, MemberSignal.After),
		machineOf("GPU", docs, gpuStates, gpuSignals, GPUKnowledge.String, GPUSignal.After),
		machineOf("Reservation", docs, kinds, reservationSignals, ReservationKind.String, ReservationSignal.After),
		trust,
	}
}

func machineOf[S, E interface {
	~uint8
	fmt.Stringer
}](name string, docs map[string]string, states S, signals E, text func(S) string, after func(E, S) (S, bool)) machine {
	m := machine{name: name, docs: docs}
	for on := range signals {
		m.signals = append(m.signals, on.String())
	}
	for s := range states {
		m.states = append(m.states, text(s))
		for on := range signals {
			if next, ok := after(on, s); ok {
				m.steps = append(m.steps, step{text(s), on.String(), text(next)})
			}
		}
	}
	return m
}

// constantDocs has what the comment of each constant of the states and signals says, by type and
// value: "ReplicaSignal 0".
func constantDocs(t *testing.T) map[string]string {
	docs := map[string]string{}
	for _, name := range []string{"replica_states.go", "member_states.go", "gpu_states.go", "trust_states.go", kindsFile, filepath.Join(root, "enum.go")} {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		require.NoError(t, err)
		for _, d := range file.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			first := g.Specs[0].(*ast.ValueSpec)
			for i, s := range g.Specs {
				v := s.(*ast.ValueSpec)
				text := strings.Join(strings.Fields(v.Doc.Text()), " ")
				text = strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(text, v.Names[0].Name), ":"), ".")
				docs[fmt.Sprint(nameOf(first.Type), " ", i)] = strings.TrimSpace(text)
			}
		}
	}
	return docs
}

// types are the types of states and signals, for their comments.
func (m machine) types() (state, signal string) {
	switch m.name {
	case "Member":
		return "MemberState", "MemberSignal"
	case "GPU":
		return "GPUKnowledge", "GPUSignal"
	case "Reservation":
		return "ReservationKind", "ReservationSignal"
	case "Replica":
		return "ReplicaState", "ReplicaSignal"
	}
	return "Trust", "TrustSignal"
}

// rows are the steps, with what the signal says.
func (m machine) rows() [][]string {
	_, signal := m.types()
	var rows [][]string
	for _, s := range m.steps {
		rows = append(rows, []string{s.from, s.on, s.to, m.docs[fmt.Sprint(signal, " ", slices.Index(m.signals, s.on))]})
	}
	return rows
}

// markdown is a chapter of docs/states.md.
func (m machine) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## %s\n\n| state | |\n|---|---|\n", m.name)
	state, _ := m.types()
	for i, s := range m.states {
		fmt.Fprintf(&b, "| %s | %s |\n", s, cmp.Or(m.docs[fmt.Sprint(state, " ", i)], "it is forgotten"))
	}
	b.WriteString("\n| state | signal | next | |\n|---|---|---|---|\n")
	for _, row := range m.rows() {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
	}
	return b.String()
}

// comment is a table in the comment of a package.
func (m machine) comment() string {
	var widths [3]int
	rows := append([][]string{{"state", "signal", "next", ""}}, m.rows()...)
	for _, row := range rows {
		for i := range widths {
			widths[i] = max(widths[i], len(row[i]))
		}
	}
	var b strings.Builder
	last := ""
	for _, row := range rows {
		from := row[0]
		if from == last {
			from = ""
		}
		last = row[0]
		line := fmt.Sprintf("//\t%-*s  %-*s  %-*s  %s", widths[0], from, widths[1], row[1], widths[2], row[2], row[3])
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// The tables of the states in the manual and in docs/states.md are what the core runs on, step by
// step: a step that is there and not in them, or the other way round, is named here. -rewrite
// writes them.
func TestStatesArePrinted(t *testing.T) {
	list := machines(t)
	manual := filepath.Join(root, "doc.go")
	b, err := os.ReadFile(manual)
	require.NoError(t, err)
	text := replaceTable(t, string(b), "// A replica is in one of five states", list[0].comment())
	text = replaceTable(t, text, "// What is known of how a GPU is divided", list[2].comment())
	page := statesHead
	for _, m := range list {
		page += m.markdown()
	}
	states := filepath.Join(root, "docs", "states.md")
	if *rewrite {
		require.NoError(t, os.WriteFile(manual, []byte(text), 0o644))
		require.NoError(t, os.WriteFile(states, []byte(page), 0o644))
		return
	}
	was, err := os.ReadFile(states)
	require.NoError(t, err)
	require.Equal(t, strings.Split(string(was), "\n"), strings.Split(page, "\n"))
	require.Equal(t, strings.Split(string(b), "\n"), strings.Split(text, "\n"))
}

const statesHead = `# States

The states of the core and the ways between them, printed from the code that it runs on, the
functions After of ` + "`core/internal/record`" + `: ` + "`go test ./core/internal/record -run States -rewrite`" + `. A signal
without a line cannot come in that state. What a report of an embedder does to a replica is a table
of the manual, ` + "`go doc .`" + `.
`

// replaceTable puts another table behind the paragraph that begins with a line.
func replaceTable(t *testing.T, text, begins, table string) string {
	at := strings.Index(text, begins)
	require.Positive(t, at, begins)
	from := at + strings.Index(text[at:], "//\t")
	to := from
	for strings.HasPrefix(text[to:], "//\t") {
		to += strings.Index(text[to:], "\n") + 1
	}
	return text[:from] + table + text[to:]
}

// Every state is reached from the first, and every signal leads somewhere. What is over stays so.
// Reservations begin as what they are.
func TestEveryStateIsReached(t *testing.T) {
	for _, m := range machines(t) {
		reached := m.states[:1]
		if m.name == "Reservation" {
			reached = m.states
		}
		for range m.states {
			for _, s := range m.steps {
				if slices.Contains(reached, s.from) && !slices.Contains(reached, s.to) {
					reached = append(slices.Clone(reached), s.to)
				}
			}
		}
		require.ElementsMatch(t, m.states, reached, m.name)
		for _, on := range m.signals {
			require.True(t, slices.ContainsFunc(m.steps, func(s step) bool { return s.on == on }), "%s: %s", m.name, on)
		}
		over := []string{"gone", "ended"}
		for _, s := range m.steps {
			require.NotContains(t, over, s.from, m.name)
		}
	}
}
