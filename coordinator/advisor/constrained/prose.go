package constrained

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gridbid/gridbid/explain/record"
)

// ProseRequest returns a request to write sentences with references to facts.
func ProseRequest(d record.DecisionRecord) ModelRequest {
	var list strings.Builder
	fmt.Fprintf(&list, "Decision %s on job %s.\n", d.ID, d.Job.ID)
	if won := winningSite(d); won != "" {
		fmt.Fprintf(&list, "It goes to %s.\n", won)
	} else if endsJob(d) {
		list.WriteString("It ends.\n")
	}
	for _, f := range d.Facts {
		about := f.Subject
		if s := siteOfFact(d, f); s != "" {
			about = "site " + s
			if d.Winner != nil && f.Subject == *d.Winner {
				about += " (the winner)"
			}
		}
		fmt.Fprintf(&list, "{{%s}} %s, %s: %s\n", f.ID, about, f.Metric, f.Text)
	}
	fmt.Fprintf(&list, "Words you may use beside these names: %s.\n", strings.Join(allowedWords, " "))
	text := map[string]any{"type": "string", "maxLength": maxSentenceRunes}
	cites := map[string]any{"type": "array", "items": map[string]any{"type": "string", "enum": []string{d.ID, d.Job.ID}}}
	return ModelRequest{
		System: "You explain a scheduling decision to an operator, in up to five short sentences. Write every figure and every reason as a reference, " +
			"{{F3}} or {{R1}}, which is printed in its place; never a number, a number word or a comparison of your own. " +
			"Name the site whose facts a sentence refers to. Use only the words that are listed. " +
			`Answer with one JSON object: {"sentences": [{"text": TEXT, "cites": [ID, ...]}, ...]}.`,
		User: list.String(), Name: "narration",
		Schema: sentencesSchema(map[string]any{
			"type": "object", "additionalProperties": false, "required": []string{"text", "cites"},
			"properties": map[string]any{"text": text, "cites": cites},
		}),
	}
}

// CheckProse returns the sentences of a reply to ProseRequest with facts inserted. It is an
// error if any sentence breaks a rule.
func CheckProse(d record.DecisionRecord, reply string) ([]string, error) {
	said, err := decodeSentences[struct {
		Text  string   `json:"text"`
		Cites []string `json:"cites"`
	}](reply)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, s := range said {
		for _, id := range s.Cites {
			if id != d.ID && id != d.Job.ID {
				return nil, fmt.Errorf("constrained: the reply cites %.20q, which is not in this record", id)
			}
		}
		text, err := expandReferences(d, s.Text)
		if err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	return out, nil
}

// gluedReference matches a reference that is not separated from the text beside it.
var gluedReference = regexp.MustCompile(`[^\s(]\{\{|\}\}[^\s,.:;)]`)

// reasonReference matches the only allowed use of "because": with a reason of the record.
var reasonReference = regexp.MustCompile(`(?i)\bbecause \{\{R`)

var factReference = regexp.MustCompile(`\{\{([FR][0-9]{1,4})\}\}`)

// expandReferences returns a sentence with facts in place of references. It is an error if the
// sentence contains anything but references, names of the record and words of the
// vocabulary, or a site's fact without the site's name.
func expandReferences(d record.DecisionRecord, text string) (string, error) {
	if n := utf8.RuneCountInString(text); n == 0 || n > maxSentenceRunes {
		return "", fmt.Errorf("constrained: sentence of %d characters: want 1 to %d", n, maxSentenceRunes)
	}
	// Remove references and names; every remaining word must be in the vocabulary.
	bare := " " + factReference.ReplaceAllString(text, " ") + " "
	named := make(map[string]bool)
	names := append(sitesOfRecord(d), d.ID, d.Job.ID)
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) }) // longest first: a name may be the prefix of another
	for _, name := range names {
		if cut := withoutName(bare, name); cut != bare {
			bare, named[name] = cut, true
		}
	}
	if gluedReference.MatchString(text) {
		return "", fmt.Errorf("constrained: a reference is not separated from the text beside it")
	}
	if strings.Count(strings.ToLower(text), "because") != len(reasonReference.FindAllString(text, -1)) {
		return "", fmt.Errorf("constrained: a cause that is not a reason of the record")
	}
	// A sentence that names a losing site must not use words of winning.
	won := winningSite(d)
	for _, word := range strings.FieldsFunc(bare, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",.:;()'", r) }) {
		if _, ok := slices.BinarySearch(allowedWords, strings.ToLower(word)); !ok {
			return "", fmt.Errorf("constrained: %.40q is not in the vocabulary", word)
		}
		if slices.Contains(winningWords, strings.ToLower(word)) && slices.ContainsFunc(sitesOfRecord(d), func(s string) bool { return named[s] && s != won }) {
			return "", fmt.Errorf("constrained: %q is used of a site that did not win", word)
		}
		if endsJob(d) && slices.Contains(runningWords, strings.ToLower(word)) {
			return "", fmt.Errorf("constrained: %q is used of a job that has ended", word)
		}
	}
	facts := make(map[string]record.Fact) // by reference
	for _, f := range d.Facts {
		facts["{{"+f.ID+"}}"] = f
	}
	// A fact about a site is only understood if the sentence names the site.
	for _, m := range factReference.FindAllStringSubmatch(text, -1) {
		fact, ok := facts[m[0]]
		if !ok {
			return "", fmt.Errorf("constrained: unknown fact %s", m[1])
		}
		if site := siteOfFact(d, fact); site != "" && !named[site] {
			return "", fmt.Errorf("constrained: %s is about %s, which the sentence does not name", m[1], site)
		}
	}
	return factReference.ReplaceAllStringFunc(text, func(m string) string { return facts[m].Text }), nil
}

// withoutName returns text with a name removed wherever it is a whole word.
func withoutName(text, name string) string {
	inName := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_' }
	var out strings.Builder
	for {
		i := strings.Index(text, name)
		if i < 0 || name == "" {
			return out.String() + text
		}
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[i+len(name):])
		out.WriteString(text[:i])
		if inName(before) || inName(after) {
			out.WriteString(name)
		} else {
			out.WriteByte(' ')
		}
		text = text[i+len(name):]
	}
}

// allowedWords is the sorted list of allowed words: function words and the nouns of the
// market. It has no word that counts, compares, denies or gives a cause; "because"
// introduces a reason of the record.
var allowedWords = slices.Sorted(strings.FieldsSeq(`a about again against also an and are as at be because been begin begins beside bid bids bound by call called carbon
cluster clearing co2e cost costs counted day deadline decided decision difference draws each emissions emit emits end ends energy
federation finish finishes for from gets gives goes gpu gpus has have held hour in is it its job jobs made money
needs next of offer out offered offers on operator option options or other over own place placed places plan planned power price
proof room round runs says schedule shows site sites so start starts takes term that the their them then there these they this
time to together total under until wait waits was were what when where which will winner wins with`))

// winningWords lists words that state which site won.
var winningWords = []string{"gets", "gives", "goes", "placed", "runs", "winner", "wins"}

// runningWords lists words that state that a job will run.
var runningWords = []string{"again", "begin", "begins", "gets", "goes", "plan", "planned", "plans", "runs", "start", "starts", "takes", "until", "wait", "waits", "will", "winner", "wins"}
