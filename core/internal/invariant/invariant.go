// Package invariant stops the program where an invariant of the machine does not hold.
package invariant

// Must is for what the core has made sure of before: the packages below check
// what they are told all the same, and if one of them refuses, the core's own
// books are wrong and nothing that it would decide can be trusted. No event can
// bring that about.
func Must(err error) {
	if err != nil {
		panic("berth: broken invariant: " + err.Error())
	}
}
