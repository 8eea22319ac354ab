// Package study is what the experiments have in common. An experiment is a package of
// bench/experiments with a type Options, a function Defaults and
//
//	func Run(ctx context.Context, o Options, w io.Writer) error
//
// Options embed an [Output], which says in which form tables are written, and declare themselves as
// [Flags], with the range of each: berthbench reads them from the command line, and Run refuses
// with [Check] those that make no sense, before anything is written, with an error that is
// flagline.ErrMisuse.
//
// There are two frames. An experiment that plays one thing and prints what it was, such as
// expected, fills a [Table] and prints it. One that compares, such as preempt, philly and steady,
// is a [Study]: some lines, which are policies mostly, each played on the same seeds, and the
// figures of all side by side.
//
// An error that is [ErrFinding] says that the experiment ran, and does not show what it is for; any
// other, that something failed. Where a context is cancelled, no further run is begun.
package study
