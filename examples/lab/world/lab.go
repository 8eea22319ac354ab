package world

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/journal"
)

// A Lab holds worlds by name, and answers requests about them. The zero value holds none.
//
// Each request is a JSON object: its do names the question, its world the world. So is each answer;
// it has an error where the request is refused. A request takes no longer than the
// number of steps that it allows, so that the page can stop in between.
type Lab struct {
	worlds map[string]*World
	// recording plays a scenario again, for its journal.
	recording *recording
}

// A Request has in its other fields what it needs.
type Request struct {
	// Do is load, run, seek, append, picture, explain, device, log, text, transcript, journal,
	// drive or files.
	Do    string `json:"do"`
	World string `json:"world"`
	// Text of a scenario, or the line to append. Policy and Horizon, as in "6h", are for drive,
	// and Files for files.
	Text    string         `json:"text"`
	Policy  string         `json:"policy"`
	Files   []File         `json:"files"`
	Horizon berth.Duration `json:"horizon"`
	// Steps is how many steps may be taken; Until is an instant at which to stop. To is the step
	// to seek; ByTime seeks the last one up to Until. Lines are appended at the instant At, and
	// with Keep the rest of the scenario goes on behind them.
	Steps  int         `json:"steps"`
	Until  berth.Time  `json:"until"`
	ByTime bool        `json:"byTime"`
	To     int         `json:"to"`
	At     berth.Time  `json:"at"`
	Keep   bool        `json:"keep"`
	Job    berth.JobID `json:"job"`
	Node   string      `json:"node"`
	GPU    int         `json:"gpu"`
}

// A Status says where a world stands. It is part of most answers.
type Status struct {
	Step int `json:"step"`
	// Steps are those that were taken so far, also behind the present one.
	Steps int        `json:"steps"`
	Now   berth.Time `json:"now"`
	// Done: no step is left. Reached: what the request asked for is done.
	Done    bool `json:"done"`
	Reached bool `json:"reached"`
	// Next is when the next step happens; NextHappens is false where it is no more than the end
	// of a run.
	Next        berth.Time `json:"next"`
	NextHappens bool       `json:"nextHappens"`
	Failed      string     `json:"failed,omitempty"`
	// Latest is the latest step.
	Latest *Step `json:"latest,omitempty"`
}

// Answer does what a request in JSON asks for.
func (l *Lab) Answer(request []byte) []byte {
	var r Request
	var answer any
	err := json.Unmarshal(request, &r)
	if err == nil {
		answer, err = l.do(&r)
	}
	if err != nil {
		answer = map[string]string{"error": err.Error()}
	}
	b, err := json.Marshal(answer)
	if err != nil {
		b, _ = json.Marshal(map[string]string{"error": err.Error()})
	}
	return b
}

func (l *Lab) do(r *Request) (any, error) {
	switch r.Do {
	case "load":
		w, err := New(r.Text)
		if err != nil {
			return nil, err
		}
		if l.worlds == nil {
			l.worlds = map[string]*World{}
		}
		l.worlds[r.World] = w
		return w.status(), nil
	case "drive":
		text, err := Driven(r.Text, r.Policy, r.Horizon)
		return map[string]string{"text": text}, err
	case "files":
		text, err := FromFiles(r.Files)
		return map[string]string{"text": text}, err
	}
	w := l.worlds[r.World]
	if w == nil {
		return nil, fmt.Errorf("no scenario is loaded as %q", r.World)
	}
	switch r.Do {
	case "run":
		return w.run(r)
	case "seek":
		return w.seek(r)
	case "append":
		err := w.Append(r.At, r.Text, r.Keep)
		return w.status(), err
	case "picture":
		return w.Picture(), nil
	case "explain":
		return w.Explain(r.Job)
	case "device":
		return w.Device(berth.NodeID(r.Node), r.GPU)
	case "log":
		return map[string]any{"log": w.log, "lines": w.lines}, nil
	case "text":
		return map[string]string{"text": w.Text()}, nil
	case "transcript":
		return map[string]string{"text": w.Transcript()}, nil
	case "journal":
		return l.journal(w, r.Steps)
	}
	return nil, fmt.Errorf("there is no request %q", r.Do)
}

func (w *World) status() Status {
	s := Status{Step: w.step, Steps: len(w.log), Now: w.session.Now(), Done: w.Done(), Reached: true}
	s.Next, s.NextHappens = w.NextAt()
	if w.step > 0 {
		latest := w.last()
		s.Latest, s.Failed = &latest, latest.Failed
	}
	return s
}

// run takes steps as long as the next one is not behind Until.
func (w *World) run(r *Request) (Status, error) {
	return w.advance(r.Steps, func() bool {
		at, _ := w.NextAt()
		return !w.Done() && at <= r.Until
	})
}

// seek goes on towards a step.
func (w *World) seek(r *Request) (Status, error) {
	to := r.To
	if r.ByTime {
		to = w.StepAt(r.Until)
	}
	to = max(0, min(to, len(w.log)))
	if err := w.Back(to); err != nil {
		return w.status(), err
	}
	return w.advance(r.Steps, func() bool { return w.step < to })
}

// advance takes steps while there are more to take, but no more than so many.
func (w *World) advance(most int, more func() bool) (Status, error) {
	for n := 0; more(); n++ {
		if n == most {
			s := w.status()
			s.Reached = false
			return s, nil
		}
		if err := w.Step(); err != nil {
			return w.status(), err
		}
	}
	return w.status(), nil
}

// A recording is a world that is played again with a journal.
type recording struct {
	of     *World
	to     int
	world  *World
	config berth.Config // before the present step
	out    bytes.Buffer
	writer *journal.Writer
	err    error
}

// A Recorded is a journal, once Reached.
type Recorded struct {
	Status
	Journal string `json:"journal,omitempty"`
}

// journal plays on, up to the step at which the world stands.
func (l *Lab) journal(w *World, steps int) (Recorded, error) {
	if l.recording == nil || l.recording.of != w || l.recording.to != w.step {
		again, err := New(w.Text())
		if err != nil {
			return Recorded{}, err
		}
		l.recording = &recording{of: w, to: w.step, world: again, config: again.session.Core().Config()}
		l.recording.attach()
	}
	r := l.recording
	for n := 0; n < steps && r.world.step < r.to; n++ {
		r.config = r.world.session.Core().Config()
		if err := r.world.Step(); err != nil {
			return Recorded{}, err
		}
	}
	answer := Recorded{Status: r.world.status()}
	if r.world.step < r.to {
		answer.Reached = false
		return answer, nil
	}
	l.recording = nil
	r.begin()
	if r.err != nil {
		return answer, r.err
	}
	err := r.writer.Flush()
	answer.Journal = r.out.String()
	return answer, err
}

// attach has the writer see what the world tells its core.
func (r *recording) attach() {
	s := r.world.session
	applied, scheduled := s.Applied, s.Scheduled
	s.Applied = func(now berth.Time, e berth.Event, refused error) {
		if r.begin(); r.err == nil {
			r.writer.Applied(now, e, refused)
		}
		applied(now, e, refused)
	}
	s.Scheduled = func(now berth.Time, orders []berth.Order) {
		if r.begin(); r.err == nil {
			r.writer.Scheduled(now, orders)
		}
		scheduled(now, orders)
	}
}

// begin writes the head of the journal, before the first event or pass: until then a config may
// make another core.
func (r *recording) begin() {
	if r.writer == nil && r.err == nil {
		r.writer, r.err = journal.NewWriter(&r.out, r.config)
	}
}
