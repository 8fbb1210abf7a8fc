// Package narrate explains a decision in words: why this site, why this hour, what
// other sites offered, and the result. The command line, the page and the chat show
// the same text.
//
// Guarantees: every figure is copied from the record or is a difference of two of its
// figures; a sentence with a site's figure names the site; the same record gives the
// same text. Names and notes are external input: characters that could move a
// terminal's cursor or change the text's direction become a dot. The text is plain,
// in UTC, and fits 100 columns unless names are long.
//
// Its input comes from package history.
package narrate

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/history"
)

// WriteDecision writes what happened to a job and why.
func WriteDecision(w io.Writer, r history.JobRecord) error {
	out := bufio.NewWriter(w)
	format.WrapText(out, jobSentence(r))
	writeParagraph(out, partsSentences(r))
	h, heard := decidingRound(r)
	writeParagraph(out, decisionSentences(r, h, heard))
	if a := r.CurrentAward(); heard && (a == nil || decidedInRound(h, a)) {
		fmt.Fprintln(out)
		writeCostTable(out, h)
		fmt.Fprintln(out)
		writeTermsTable(out, h)
	}
	writeParagraph(out, roundSentences(r))
	writeParagraph(out, measuredSentences(r))
	return out.Flush()
}

// decidingRound returns the round to explain: that of the award in force if the record has it,
// else the newest; false without any.
func decidingRound(r history.JobRecord) (history.JobRound, bool) {
	n := len(r.FullRounds)
	if n == 0 {
		return history.JobRound{}, false
	}
	if a := r.CurrentAward(); a != nil {
		if i := slices.IndexFunc(r.FullRounds, func(h history.JobRound) bool { return decidedInRound(h, a) }); i >= 0 {
			return r.FullRounds[i], true
		}
	}
	return r.FullRounds[n-1], true
}

// decidedInRound reports whether an award was decided in a round. The epoch tells awards of a
// round that was called a second time apart.
func decidedInRound(h history.JobRound, a *history.Decision) bool {
	return h.Round == a.Round && h.Decision.Kind == "award" && h.Decision.Epoch == a.Epoch
}

// writeParagraph writes an empty line and then sentences; nothing if there are none.
func writeParagraph(out *bufio.Writer, sentences []string) {
	if len(sentences) > 0 {
		fmt.Fprintln(out)
		format.WrapText(out, strings.Join(sentences, " "))
	}
}
