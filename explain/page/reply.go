package page

import (
	"html/template"
	"regexp"

	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/explain/timeline"
)

// maxCited is the maximum number of decisions that an answer links.
const maxCited = 12

// An answerView is an answer with its presentation.
type answerView struct {
	query.Answer
	Asked  string   // the question in full, as it was understood
	Links  []string // to decisions
	More   int      // number of decisions without a link
	Figure *pageChart
	Others []*answerView // answers to further questions of the same text
}

// A textPart of a sentence is text, or the id of a decision.
type textPart struct{ Text, ID string }

var decisionID = regexp.MustCompile(`\bD-[0-9]{1,18}\b`)

// splitAtDecisionIDs splits a sentence at the ids of decisions.
func splitAtDecisionIDs(s string) (all []textPart) {
	at := 0
	for _, m := range decisionID.FindAllStringIndex(s, -1) {
		if m[0] > at {
			all = append(all, textPart{Text: s[at:m[0]]})
		}
		all = append(all, textPart{ID: s[m[0]:m[1]]})
		at = m[1]
	}
	if at < len(s) {
		all = append(all, textPart{Text: s[at:]})
	}
	return all
}

// answerViewOf adds links and a chart to an answer, and to those of further questions.
func answerViewOf(d *timeline.Timeline, a query.Answer, width float64) *answerView {
	p := &answerView{Answer: a}
	if p.Query != nil {
		p.Asked = p.Query.String()
	}
	p.Links = p.Cites[:min(len(p.Cites), maxCited)]
	p.More = len(p.Cites) - len(p.Links)
	if c, ok := d.ChartOfAnswer(p.Answer); ok {
		w := timeline.Drawing{Chart: "answer", Question: p.Asked}
		p.Figure = &pageChart{w.Chart, drawingAddress(w, ""), template.HTML(c.ComputeLayout(width).InlineSVG()), width}
	}
	for _, more := range a.More {
		p.Others = append(p.Others, answerViewOf(d, more, width))
	}
	return p
}
