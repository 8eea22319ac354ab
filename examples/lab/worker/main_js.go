// The program worker is the scheduling core in a browser's worker: it answers requests of the
// page, each a JSON object in a string, with another (see package world).
//
// A panic ends it. The page starts it again, and plays the scenario anew.
package main

import (
	"syscall/js"

	"github.com/berth-sched/berth/examples/lab/world"
)

func main() {
	var lab world.Lab
	js.Global().Set("berthAnswer", js.FuncOf(func(_ js.Value, args []js.Value) any {
		request := args[0].String()
		if request == "panic" {
			panic("the page asked for it: this is how it is tested that the page goes on")
		}
		return string(lab.Answer([]byte(request)))
	}))
	js.Global().Call("berthReady")
	select {}
}
