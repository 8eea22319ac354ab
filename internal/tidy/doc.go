// Package tidy holds no code, only the tests that keep the module's house in
// order: which package may import which, and that the packages that decide
// contain nothing that could make two runs differ or that reaches outside the
// process.
//
// A rule that turns out to be in the way is changed here, in the open, with its
// reason beside it; nothing elsewhere can switch one off.
package tidy
