package spec

import (
	"regexp"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A Summary says what a scenario is, by its file alone.
type Summary struct {
	What  string        // as LoadScenario takes it
	About string        // one sentence
	Day   protocol.Time // on which jobs arrive; 0 if neither the file nor its name says so
	Files []string      // recorded data that it needs: relative to the working directory
}

// dayInName matches the date in the name of a recorded day.
var dayInName = regexp.MustCompile(`\d{4}-\d{2}-\d{2}$`)

// Summarize returns what a scenario is, without reading the data that it names. Data is the
// folder that ${data} stands for; "" is the default.
func Summarize(what, data string) (Summary, error) {
	file, text, folder, err := ScenarioSource(what)
	if err != nil {
		return Summary{}, err
	}
	s, err := parseSpec(file, text)
	if err != nil {
		return Summary{}, err
	}
	out := Summary{What: what, About: s.About}
	if at, err := time.Parse(time.RFC3339, s.Start); err == nil {
		out.Day = protocol.FromStdTime(at)
	} else if at, err := time.Parse(time.DateOnly, dayInName.FindString(what)); err == nil {
		out.Day = protocol.FromStdTime(at)
	}
	s = fileLibrary{data: Options{Data: data}.dataFolder(), folder: folder}.resolvePaths(s)
	add := func(file string) {
		if file != "" && !slices.Contains(out.Files, file) {
			out.Files = append(out.Files, file)
		}
	}
	if s.Window != nil {
		add(s.Window.File)
	}
	add(s.Jobs.Trace)
	if s.Nodes != nil {
		add(s.Nodes.File)
	}
	for _, site := range s.Sites {
		for _, q := range signalQuantities {
			for _, series := range []*seriesSpec{site.Signals[q], site.Forecasts[q]} {
				if series != nil {
					add(series.File)
				}
			}
		}
	}
	return out, nil
}
