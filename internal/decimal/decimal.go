// Package decimal prints numbers of thousandths.
package decimal

import (
	"fmt"
	"strings"
)

// Milli prints thousandths as a decimal fraction without trailing zeros, as in "7.5".
func Milli(v int64) string {
	if v%1000 == 0 {
		return fmt.Sprint(v / 1000)
	}
	return strings.TrimRight(fmt.Sprintf("%d.%03d", v/1000, v%1000), "0")
}
