// Package narrate has the words for what was recorded: for reasons, states and events of jobs and sites, the
// size of a job and where it ran, and the terms of a cost. Sentences that hold figures are those of
// explain/query, whose answers the command line, the page and the chat show; the text on a service is here,
// as there are no questions about services.
//
// Names and notes are external input: characters that could move a terminal's cursor or change the text's
// direction become a dot.
package narrate

import (
	"fmt"
	"slices"
	"time"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/protocol"
)

// SizeText says what a job asks for: "8 GPUs", "0.5 of a GPU" or, where it wants none, "4 cores"; of a gang
// by its pods.
func SizeText(j protocol.Job) string {
	switch {
	case j.IsGang():
		return podsText(j)
	case j.GPUs == 0:
		return format.FormatThousandths(j.CPU) + " cores"
	case j.Share > 0 && j.Share < 1000:
		return format.FormatThousandths(j.Share) + " of a GPU"
	}
	return format.CountWithNoun(j.GPUs, "GPU", "GPUs")
}

// podsText says of what pods a gang consists: "1 pod of 4 cores and 4 pods of 8 GPUs".
func podsText(j protocol.Job) string {
	var all []string
	for i, c := range j.Pods {
		pods := format.CountWithNoun(c.Pods, "pod", "pods")
		if fewest, most := j.PodRange(); j.IsElastic() {
			pods = fmt.Sprintf("%d to %d pods", fewest, most)
		}
		all = append(all, fmt.Sprintf("%s of %s", pods, SizeText(j.PodsOf(i, 1))))
	}
	return format.JoinWithAnd(all)
}

// HowStopped says how a part of a job's run ended.
func HowStopped(s history.RunSegment) string {
	switch {
	case s.Run.Preempted:
		return "preempted"
	case s.PausedByItsSite():
		return "paused by its site, to go on on other nodes or with another number of pods"
	}
	return "paused, as its award said"
}

// mostNodesNamed is how many nodes of a gang a sentence names.
const mostNodesNamed = 8

// NodesText names the node and the GPUs of a run, or the number of a gang's nodes and the first of them.
func NodesText(run *history.Run) string {
	names := run.NodeNames()
	if len(names) == 1 {
		text := format.CleanText(names[0])
		if run.Domain != "" && run.Domain != names[0] {
			text += ", in " + format.CleanText(run.Domain)
		}
		return text + devicesText(run.Devices)
	}
	shown := slices.Clone(names[:min(len(names), mostNodesNamed)])
	if more := len(names) - len(shown); more > 0 {
		shown = append(shown, fmt.Sprintf("%d more", more))
	}
	text := fmt.Sprintf("%d nodes (%s)", len(names), format.JoinNames("%s", shown))
	if run.Domain != "" {
		text += ", all in " + format.CleanText(run.Domain)
	}
	return text
}

// devicesText names GPUs of a node after it, three or more in sequence as a range.
func devicesText(devices []int) string {
	n := len(devices)
	switch {
	case n == 0:
		return ""
	case n > 2 && slices.IsSorted(devices) && devices[n-1]-devices[0] == n-1:
		return fmt.Sprintf(", GPUs %d to %d", devices[0], devices[n-1])
	}
	var all []string
	for _, d := range devices {
		all = append(all, fmt.Sprint(d))
	}
	return ", " + format.PluralForm(n, "GPU", "GPUs") + " " + format.JoinWithAnd(all)
}

// sentenceTime formats an instant for a sentence, without seconds.
func sentenceTime(t protocol.Time) string { return format.FormatInstant(t.Floor(time.Minute)) }
