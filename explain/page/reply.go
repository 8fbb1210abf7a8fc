package page

import (
	"html/template"
	"regexp"
	"strings"

	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/explain/timeline"
)

// mostCited bounds the decisions that an answer shows as links.
const mostCited = 12

// A reply is an answer as it is shown.
type reply struct {
	query.Answer
	Asked     string // the question in full, as it was read
	Sentences [][]part
	Links     []string // to decisions
	More      int      // decisions that are not among them
	Figure    *figure
	Others    []*reply // to what else was asked in the same breath
}

// A part of a sentence is text, or the id of a decision.
type part struct{ Text, ID string }

var decisionID = regexp.MustCompile(`\bD-[0-9]{1,18}\b`)

// parts finds the decisions in a sentence.
func parts(s string) (all []part) {
	at := 0
	for _, m := range decisionID.FindAllStringIndex(s, -1) {
		if m[0] > at {
			all = append(all, part{Text: s[at:m[0]]})
		}
		all = append(all, part{ID: s[m[0]:m[1]]})
		at = m[1]
	}
	if at < len(s) {
		all = append(all, part{Text: s[at:]})
	}
	return all
}

func newReply(d *timeline.Diary, question, before string, width float64) *reply {
	if strings.TrimSpace(question) == "" {
		question = "help"
	}
	return shownAs(d, d.Ask(question, before), width)
}

func shownAs(d *timeline.Diary, a query.Answer, width float64) *reply {
	p := &reply{Answer: a}
	if p.Query != nil {
		p.Asked = p.Query.String()
	}
	for _, s := range p.Text {
		p.Sentences = append(p.Sentences, parts(s))
	}
	p.Links = p.Cites[:min(len(p.Cites), mostCited)]
	p.More = len(p.Cites) - len(p.Links)
	if c, ok := d.Picture(p.Answer); ok {
		w := timeline.Drawing{Chart: "answer", Question: p.Asked}
		p.Figure = &figure{w.Chart, address(w), template.HTML(c.Draw(width).Inline())}
	}
	for _, more := range a.More {
		p.Others = append(p.Others, shownAs(d, more, width))
	}
	return p
}
