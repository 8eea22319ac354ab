// Package study is what the experiments have in common: how they tell their results, how they
// play many seeds at once, and what they draw and compute with.
//
// An experiment is a package of bench/experiments with a type Options, a function Defaults and
//
//	func Run(ctx context.Context, o Options, w io.Writer) error
//
// Run writes tables to w in the form that Options.Output asks for. Options that make no sense are
// refused before anything is written, with an error that is flagline.ErrMisuse. An error that is
// [ErrFinding] says that the experiment ran, and does not show what it is for; any other, that
// something failed.
// Where a context is cancelled, no further run is begun.
package study
