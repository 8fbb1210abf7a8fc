package page

import (
	"html/template"
	"regexp"
	"strings"

	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/explain/timeline"
)

// maxCited bounds the decisions that an answer shows as links.
const maxCited = 12

// A answerView is an answer as it is shown.
type answerView struct {
	query.Answer
	Asked     string // the question in full, as it was read
	Sentences [][]textPart
	Links     []string // to decisions
	More      int      // decisions that are not among them
	Figure    *pageChart
	Others    []*answerView // to what else was asked in the same breath
}

// A textPart of a sentence is text, or the id of a decision.
type textPart struct{ Text, ID string }

var decisionID = regexp.MustCompile(`\bD-[0-9]{1,18}\b`)

// splitAtDecisionIDs finds the decisions in a sentence.
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

func newAnswerView(d *timeline.Diary, question, before string, width float64) *answerView {
	if strings.TrimSpace(question) == "" {
		question = "help"
	}
	return answerViewOf(d, d.Ask(question, before), width)
}

func answerViewOf(d *timeline.Diary, a query.Answer, width float64) *answerView {
	p := &answerView{Answer: a}
	if p.Query != nil {
		p.Asked = p.Query.String()
	}
	for _, s := range p.Text {
		p.Sentences = append(p.Sentences, splitAtDecisionIDs(s))
	}
	p.Links = p.Cites[:min(len(p.Cites), maxCited)]
	p.More = len(p.Cites) - len(p.Links)
	if c, ok := d.Picture(p.Answer); ok {
		w := timeline.Drawing{Chart: "answer", Question: p.Asked}
		p.Figure = &pageChart{w.Chart, drawingAddress(w), template.HTML(c.ComputeLayout(width).InlineSVG())}
	}
	for _, more := range a.More {
		p.Others = append(p.Others, answerViewOf(d, more, width))
	}
	return p
}
