// Package flagline reads the flags of programs: help goes where results go, and what is wrong is
// one line that names the flag. It also says what programs exit with.
package flagline

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"time"

	"github.com/berth-sched/berth/internal/errtext"
)

// ErrMisuse is what an error is that refuses a command line.
var ErrMisuse = errors.New("the command line makes no sense")

// A misuse says what is wrong with a command line, in words of its own.
type misuse struct{ text string }

func (e *misuse) Error() string        { return e.text }
func (e *misuse) Is(target error) bool { return target == ErrMisuse }

// Misused refuses a command line.
func Misused(format string, args ...any) error { return &misuse{fmt.Sprintf(format, args...)} }

// Status is what a program exits with, and writes the error, if there is one to tell: 0 where all
// went well or help was asked for, 2 for a command line that makes no sense, 1 for all else.
func Status(program string, err error, stderr io.Writer) int {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}
	fmt.Fprintf(stderr, "%s: %v\n", program, err)
	if errors.Is(err, ErrMisuse) {
		return 2
	}
	return 1
}

// Parse reads flags, and refuses what is none. If -h or -help is among them, it writes the
// introduction and all flags to help, and returns flag.ErrHelp. Other errors are of one line, and
// ErrMisuse.
func Parse(f *flag.FlagSet, args []string, help io.Writer, introduction string) error {
	if err := Flags(f, args, help, introduction); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return Misused("%q is no flag", f.Arg(0))
	}
	return nil
}

// Flags reads flags as Parse does, up to the first argument that is none.
func Flags(f *flag.FlagSet, args []string, help io.Writer, introduction string) error {
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	err := f.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		f.SetOutput(help)
		fmt.Fprint(help, introduction)
		f.PrintDefaults()
		return err
	}
	if err != nil {
		return Misused("%s", line(f, err.Error()))
	}
	return nil
}

// The texts of package flag.
var (
	unknown = regexp.MustCompile(`^flag provided but not defined: -(.*)$`)
	invalid = regexp.MustCompile(`^invalid (?:boolean )?value (".*") for (?:flag )?-(\S+): (.*)$`)
	lacking = regexp.MustCompile(`^flag needs an argument: -(.*)$`)
)

// line names the flag first, then what is wrong with it.
func line(f *flag.FlagSet, text string) string {
	if m := unknown.FindStringSubmatch(text); m != nil {
		var names []string
		f.VisitAll(func(known *flag.Flag) { names = append(names, "-"+known.Name) })
		return "there is no flag -" + errtext.Short(m[1]) + errtext.DidYouMean("-"+m[1], names) + "; -help lists all"
	}
	if m := lacking.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("-%s: the value is missing", m[1])
	}
	m := invalid.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	why := ": " + m[3]
	if m[3] == "parse error" {
		why = " is not " + form(f.Lookup(m[2]).Value)
	}
	return fmt.Sprintf("-%s: %s%s", m[2], m[1], why)
}

// form says what values of a flag look like.
func form(v flag.Value) string {
	g, ok := v.(flag.Getter)
	if !ok {
		return "understood"
	}
	switch g.Get().(type) {
	case bool:
		return "true or false"
	case time.Duration:
		return "a time such as 90s or 1h30m"
	case uint, uint64:
		return "a whole number without a sign"
	case int, int64:
		return "a whole number"
	case float64:
		return "a number"
	}
	return "understood"
}
