package ask

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/internal/format"
)

// A Clarification is the answer to a question that is not read as one query: why, and which questions to ask instead.
type Clarification struct {
	Kind     string   // "ambiguous", "unclear", "not-found", "refused"
	Text     []string // sentences, for people
	Readings []string // questions to ask instead; answerableQuestions makes them from offered

	offered     []Query // what Readings are made of
	intro       string  // the sentence before them
	missingSlot string  // what the question did not name: "JOB", "SITE", ...
	splittable  bool    // its words are known, and may make a question if phrases are taken apart
}

// offerQueries has queries offered instead, with a sentence before them.
func (b *Clarification) offerQueries(leads string, queries ...Query) *Clarification {
	b.intro, b.offered = leads, append(b.offered, queries...)
	return b
}

// severalReadings is said of a question that is read as several queries.
const severalReadings = "This can be read in several ways. Which is meant?"

// maxReadings bounds how many readings are offered.
const maxReadings = 8

// answerableQuestions returns queries as questions that are answered when they are asked: of
// what cannot be asked together, without its time, its split or whom it is about.
func (l *Parser) answerableQuestions(offered []Query) (all []string) {
	if l.exact {
		return nil
	}
	for _, q := range offered[:min(len(offered), maxReadings)] {
		timeless, whole := q, q
		timeless.At, timeless.From, timeless.To = 0, 0, 0
		whole.By, whole.Pick = "", ""
		both := timeless
		both.By, both.Pick = "", ""
		ofAll := both
		ofAll.Site, ofAll.Tenant = "", ""
		for _, less := range []Query{q, timeless, whole, both, ofAll} {
			text := less.String()
			if again, _, back := l.parseWithOrWithout(text, false); back != nil || again.String() != text || again.Check() != nil {
				continue
			}
			if !slices.Contains(all, text) {
				all = append(all, text)
			}
			break
		}
	}
	return all
}

// addSentence adds a formatted sentence to the text.
func (b *Clarification) addSentence(format string, args ...any) {
	b.Text = append(b.Text, fmt.Sprintf(format, args...))
}

// newClarification returns a clarification of a kind, with its first sentence.
func newClarification(kind, format string, args ...any) *Clarification {
	return &Clarification{Kind: kind, Text: []string{fmt.Sprintf(format, args...)}}
}

// unclearText returns a clarification of a question that was not understood.
func unclearText(text string) *Clarification { return newClarification("unclear", "%s", text) }

// unknownWords refuses a question with unknown words, because ignoring them would answer
// another question.
func (l *Parser) unknownWords(words []string) *Clarification {
	a := unclearText("The question is not answered, because it is not understood: " + format.JoinNames("%q", words[:min(len(words), 5)]) + " is no word that is known here, and no name of this run.")
	if len(words) > 1 {
		a.Text[0] = strings.Replace(a.Text[0], " is no word that is known here, and no name", " are no words that are known here, and no names", 1)
	}
	if n := len(l.Sites); n > 0 && n <= 12 {
		a.addSentence("Its sites are %s.", format.JoinNames("%s", l.Sites))
	}
	a.addSentence("What can be asked: `gridbid ask help`.")
	return a
}

// unknownName answers a token that is no word, but looks like a name: it comes
// after a noun, is in quotes, has a digit, or is nearly a name.
func (l *Parser) unknownName(tokens []token, i int) *Clarification {
	t, kind := tokens[i], ""
	if i > 0 {
		kind = nouns[tokens[i-1].low]
	}
	near, apart := l.index.nearestNames(t.text, kind, 5)
	if slices.Contains([]string{"except", "besides", "excluding"}, t.low) {
		return nil // "every site except oslo"
	}
	looks := kind != "" || t.quoted || strings.ContainsAny(t.text, "0123456789_") || apart <= max(1, len(t.text)/3)
	if !looks || i == 0 && kind == "" && apart > 2 && !strings.ContainsAny(t.text, "0123456789") && !t.quoted {
		return nil
	}
	what := strings.ToLower(cmp.Or(kind, "name"))
	a := newClarification("not-found", "No %s %q is in this run.", what, format.CleanText(t.text))
	if len(near) == 0 {
		a.addSentence("It has no %s at all.", what)
		return a
	}
	a.addSentence("The nearest are %s.", format.JoinNames("%q", near))
	return a
}

// slotQuestions ask for what a question may lack.
var slotQuestions = []struct{ slot, text string }{
	{"JOB", "Which job is meant? A run has many; for one of them:"},
	{"SITE", "Which site is meant?"},
	{"TENANT", "Whose? Name a tenant."},
	{"AT", "At which time? The record goes from {first} to {last}; say \"at 13:45\", or \"now\" for its end."},
	{"DUR", "How long? Say \"8 hours\"."},
	{"NUM", "How many? Say \"8 GPUs\"."},
}

// explainMissing asks for the one name, time or number that would complete the question; offerNearest
// offers questions to one that it gives back.
func (l *Parser) explainMissing(r *reading) *Clarification {
	content := slices.ContainsFunc(r.concepts, func(word []string) bool {
		return !slices.Contains(word, "_") && !slices.Contains(word, "which") && !slices.Contains(word, "how")
	})
	if !content {
		return unclearText("That asks nothing about the run. What can be asked: `gridbid ask help`.")
	}
	span := strings.NewReplacer("{first}", format.FormatInstant(l.First), "{last}", format.FormatInstant(l.Last))
	for _, x := range slotQuestions {
		found := bestRules(append(slices.Clone(r.concepts), []string{x.slot}), r.takesOperators)
		if len(found) == 0 || found[0].allowsAll() {
			continue
		}
		a, q := newClarification("ambiguous", "%s", span.Replace(x.text)), r.buildQuery(found[0])
		switch a.missingSlot = x.slot; x.slot {
		case "JOB":
			for _, id := range l.Notable() {
				q.Job = id
				a.offerQueries("", q)
			}
		case "SITE":
			for _, s := range l.Sites {
				q.Site = s
				a.offerQueries("", q)
			}
		}
		return a
	}
	a := unclearText("Every word of the question is known, but not what they ask together; it is not guessed at.")
	a.addSentence("What can be asked: `gridbid ask help`.")
	return a
}

// reversesQuestion reports whether a word turns a question into its opposite. A reading without
// it must not be offered.
func reversesQuestion(word []string) bool {
	return slices.ContainsFunc(word, func(c string) bool { return c == "not" || c == "never" || c == "legislate" || c == "hinder" })
}

// refusalTexts say why a question that is understood is not answered, by the refusal's rule.
var refusalTexts = map[string]string{
	"!unrecorded": "That is not recorded. The record has energy, carbon, money, time, GPUs and decisions; other quantities are not derived from them.",
	"!drained":    "Whether a site is drained is not told from the record; of a live federation `gridbid sites` shows it.",
	"!whatif":     "What a job of another size, urgency, model, deadline or arrival would have got is not computed from the record. `gridbid submit -f JOB.yaml --dry-run` tells price, carbon and start at each site before a job is submitted.",
	"!opinion":    "That is a matter of opinion, and only figures are told here. Ask for carbon, cost, late jobs, waits or bid error of a site or tenant.",
	"!beyond":     "That is beyond the record. It goes from {first} to {last}, and forecasts reach as far as the sites said.",
	"!act":        "Questions only read; nothing is moved, stopped or changed by one. To see what another day or rule would give, replay it: `gridbid replay --help`.",
	"!legislate":  "That would be a rule for the future, and questions only read. `gridbid policy say` takes it in the same words, shows what it would have changed, and asks before it is in force.",
}

// refuseQuestion returns the clarification of a question that is understood and not answered.
func (l *Parser) refuseQuestion(r *reading, why string) *Clarification {
	a := &Clarification{Kind: "refused"}
	switch why {
	case "!policy":
		a.Kind = "not-found"
		if len(l.Replayed) == 0 {
			a.addSentence("The figures of other policies are not at hand. Replay them together: `gridbid replay --policy auction,home-fifo`.")
			return a
		}
		a.addSentence("No policy of that name was replayed here. There is %s.", format.JoinNames("%s", l.Replayed))
	case "!act":
		a.Text = r.commandText([]string{refusalTexts[why]})
	default:
		a.Text = []string{strings.NewReplacer("{first}", l.First.String(), "{last}", l.Last.String()).Replace(refusalTexts[why])}
	}
	return a
}

// actCommands are the commands that do what a question does not, by the words that ask for it.
var actCommands = []struct {
	words, of, command string
}{
	{"cancel stop kill abort terminate delete end", "JOB", "gridbid cancel %s"},
	{"restart resubmit rerun retry again", "JOB", "gridbid submit -f JOB.yaml"},
	{"move migrate relocate transfer pause suspend raise lower increase change extend set adjust edit update modify push postpone refund reimburse", "JOB", ""}, // there is none
	{"resume undrain uncordon back rejoin enable re-enable reenable reactivate", "SITE", "gridbid drain %s --over"},
	{"drain cordon disable deactivate evacuate pause stop throttle close off down offline out", "SITE", "gridbid drain %s"},
	{"remove delete decommission", "SITE", "gridbid sites remove %s --lost"},
	{"export download csv parquet", "", "gridbid export --table jobs,bids,rounds --format csv"},
	{"submit launch start schedule run", "", "gridbid submit -f JOB.yaml"},
}

// commandText names the command that does what the words of a question order, of the thing that they
// name or of any; without one, the text stays.
func (r *reading) commandText(text []string) []string {
	named := map[string]string{"JOB": string(r.query.Job), "SITE": r.query.Site}
	for _, x := range actCommands {
		said := slices.ContainsFunc(r.tokens, func(t token) bool { return slices.Contains(strings.Fields(x.words), t.low) })
		if !said || x.of != "" && named[x.of] == "" && !r.concepts.hasConcept(nounOf[x.of]) {
			continue
		}
		if x.command == "" {
			return []string{"Questions only read, so nothing was done, and no command does that: the market places a job by its own terms, and `gridbid cancel` takes it back."}
		}
		name := x.of
		if named[x.of] != "" {
			name = ShellName(named[x.of])
		}
		text = []string{"Questions only read, so nothing was done. The command that does it: " + strings.ReplaceAll(x.command, "%s", name)}
		if len(r.times.days)+len(r.times.instants)+len(r.times.spans) > 0 {
			text = append(text, "The time that you name is left out of it: see its --help.")
		}
		return text
	}
	return text
}

// ShellName returns a name as one word of a command line: bare if it is one plain word.
func ShellName(name string) string {
	switch {
	case QuoteName(name) == name:
		return name
	case format.CleanText(name) != name:
		return "(a name that cannot be typed; use --json)"
	}
	return format.ShellQuoted(name)
}

// mostNearest bounds how many questions are offered to one that is not understood.
const mostNearest = 4

// offerNearest offers readings of a question that is not understood: the questions whose
// rules need the most of the concepts that its known words stand for, filled with the names
// and times of the question. It offers nothing if no known word stands for a needed concept,
// or if a word turns the question into its opposite.
func (l *Parser) offerNearest(question string, back *Clarification) {
	if tooLong(question) != nil || l.exact {
		return
	}
	r := &reading{}
	if other := r.readTokens(l, l.index.splitTokens(question)); other != nil || slices.ContainsFunc(r.concepts, reversesQuestion) {
		return
	}
	if at, from, to, ok := r.times.timeWindow(l); ok {
		r.query.At, r.query.From, r.query.To = at, from, to
	}
	// A scored rule counts which of its needs the known words meet.
	type scored struct {
		rule
		met, missed int
	}
	var best []scored
	for _, p := range english.rules {
		s := scored{rule: p}
		for _, any := range p.needs {
			if slices.ContainsFunc(any, r.concepts.hasConcept) {
				s.met++
			} else {
				s.missed++
			}
		}
		if s.met == 0 || p.allowsAll() || strings.HasPrefix(p.ask, "!") {
			continue
		}
		// Keep the best rule of each question.
		k := slices.IndexFunc(best, func(x scored) bool { return x.ask == s.ask })
		switch {
		case k < 0:
			best = append(best, s)
		case s.met-s.missed > best[k].met-best[k].missed:
			best[k] = s
		}
	}
	slices.SortStableFunc(best, func(a, b scored) int { return (b.met - b.missed) - (a.met - a.missed) })
	for _, s := range best[:min(len(best), mostNearest)] {
		back.offerQueries("What can be asked, nearest first:", l.withExampleFields(r.buildQuery(s.rule)))
	}
}

// withExampleFields fills the fields that a query needs and the question does not name with
// examples from the run, so that the offered question can be asked as it is.
func (l *Parser) withExampleFields(q Query) Query {
	has := func(slot string) bool { return strings.Contains(english.questions[q.Ask].text, slot) }
	if has("{target}") && q.Job == "" && q.Decision == 0 && len(l.Jobs) > 0 {
		q.Job = l.Jobs[0]
		if l.Notable != nil {
			q.Job = append(l.Notable(), q.Job)[0]
		}
	}
	if (has("{site}") || english.isOfKind(q, "of-a-site")) && q.Site == "" && len(l.Sites) > 0 {
		q.Site = l.Sites[0]
	}
	if has("{other}") && q.Other == "" && len(l.Sites) > 1 {
		q.Other = l.Sites[slices.IndexFunc(l.Sites, func(s string) bool { return s != q.Site })]
	}
	if has("{number}") && q.Number == 0 {
		q.Number = 8
	}
	if has("{long}") && q.Long == 0 {
		q.Long = 8 * time.Hour
	}
	return q.WithDefaults()
}
