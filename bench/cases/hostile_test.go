package cases

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/internal/hostile"
)

// A file of scenarios that stand for much is refused before it becomes much, whatever is long in
// it: the list of scenarios, or one of a scenario.
func TestHostileScenariosCostLittle(t *testing.T) {
	for begin, scenario := range map[string]reflect.Type{
		`{"tas_cases":`: reflect.TypeFor[tasCase](), `{"preemption_cases":`: reflect.TypeFor[kueueCase](),
		`{"preemption_cases":[],"flap_cases":`: reflect.TypeFor[flapCase](), `{"format":"","cases":`: reflect.TypeFor[kaiCase](),
	} {
		for _, element := range []string{"{}", "0", `"a"`, "null"} {
			hostile.Bounded(t, begin+element, begin+hostile.List("[", element, 300_000, "]")+"}", 24<<20, func(input string) {
				_, err := Read("test", strings.NewReader(input))
				require.ErrorIs(t, err, ErrMalformed)
			})
		}
		for _, text := range hostile.Texts(scenario, 100_000) {
			hostile.Bounded(t, begin+text.Path, begin+"["+text.JSON+"]}", 2<<20, func(input string) {
				if _, err := Read("test", strings.NewReader(input)); err != nil {
					require.ErrorIs(t, err, ErrMalformed)
				}
			})
		}
	}
}
