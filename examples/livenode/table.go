package main

import (
	"slices"
	"strconv"
	"time"
)

// number prints a number, and nothing for none.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// age prints how long ago something was, to the second.
func age(now, then time.Time) string {
	return max(0, now.Sub(then)).Truncate(time.Second).String()
}

func nonEmpty(texts ...string) []string {
	return slices.DeleteFunc(texts, func(s string) bool { return s == "" })
}
