package ask

import (
	"regexp"
	"strings"

	"github.com/gridbid/gridbid/docs"
)

// A definition is one row of docs/glossary.md.
type definition struct {
	terms     []string // the word, and others for it in this project
	text      string   // without markup
	elsewhere string   // what the field calls it; "" if nothing else
}

// definitions are the rows of the glossary's tables of terms and of states, by each of their terms
// in small letters.
var definitions = readGlossary(docs.Glossary)

var linkMarkup = regexp.MustCompile(` ?\(?\[([0-9]{4}|[a-z .]+)\]\([^)]*\)\)?`)

// readGlossary reads the rows "| **term, term** | text | elsewhere |".
func readGlossary(page string) map[string]definition {
	all := make(map[string]definition)
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) == 2 {
			cells = append(cells, "–") // a state
		}
		if len(cells) != 3 || !strings.HasPrefix(strings.TrimSpace(cells[0]), "**") {
			continue
		}
		plain := func(cell string) string {
			return strings.TrimSpace(strings.NewReplacer("`", "", "*", "").Replace(linkMarkup.ReplaceAllString(cell, "")))
		}
		d := definition{strings.Split(plain(cells[0]), ", "), plain(cells[1]), strings.Trim(plain(cells[2]), "–")}
		for _, t := range d.terms {
			all[strings.ToLower(t)] = d
		}
	}
	return all
}

// Definition returns what a term of the glossary means, in words and what the field calls it; false
// if it is none. The plural and the British spelling of a term are the term.
func Definition(term string) (name, text, elsewhere string, ok bool) {
	low := strings.ToLower(strings.Join(strings.Fields(term), " "))
	american := strings.ReplaceAll(low, "isation", "ization")
	if low == "held" {
		low = "hold"
	}
	for _, t := range []string{low, american, strings.TrimSuffix(low, "s"), strings.TrimSuffix(low, "ed"), strings.TrimSuffix(low, "red"), strings.TrimSuffix(low, "ring") + "r", strings.ReplaceAll(low, "-", " ")} {
		if d, ok := definitions[t]; ok {
			return t, d.text, d.elsewhere, true
		}
	}
	return "", "", "", false
}

// definitionForms are how the meaning of a word is asked for; the group is the word. A bare "what
// is WORD" has no "the", because "what is the utilization" asks for a figure; ParseQuestion takes
// it for one that asks the meaning where there is no such figure.
var definitionForms = []*regexp.Regexp{
	regexp.MustCompile(`^(?:please )?(?:define|definition of|meaning of|the meaning of|what is (?:the )?mean(?:ing)? of|what is the definition of|what is meant by|what is meant with|what do you mean by|what do you call|explain the (?:word|term)|what is the (?:word|term))(?: an?| the)? (.+)$`),
	regexp.MustCompile(`^what (?:does|do)(?: an?| the)?(?: word| term)? (.+?) (?:mean|means|stand for)(?: in .*)?$`),
	regexp.MustCompile(`^(?:explain |tell me )?what (.+?) means$`),
	regexp.MustCompile(`^tell me what(?: an?| the)? (.+?) is$`),
	regexp.MustCompile(`^(?:and )?(?:what is|what are)(?: an?)? (.+)$`),
	regexp.MustCompile(`^what exactly is(?: an?)? (.+)$`),
	regexp.MustCompile(`^explain(?: to me| to us| me| us)?(?: what)?(?: an?| the)? (.+?)(?: is| are)?$`),
	regexp.MustCompile(`^(?:in )?(?:what|which) units? (?:is|are|has|have|of)(?: an?| the)? (.+?)(?: measured| counted| given)?(?: in)?$`),
	regexp.MustCompile(`^what (?:is|are)(?: an?| the)? (.+?) (?:measured in|counted in|given in|made (?:up )?of|good for|about)$`),
	regexp.MustCompile(`^(?:how|from what|of what) (?:is|are)(?: an?| the)? (.+?) (?:computed|calculated|defined|made|made up|counted|worked out)$`),
	regexp.MustCompile(`^(?:what counts as|when is a job called|when does a job count as)(?: an?| the)? (.+)$`),
	regexp.MustCompile(`^is(?: an?| the)? (.+?) (?:given |measured |counted )?in (?:dollars|money|grams|kilograms|kg|kwh|percent|hours|minutes|seconds)$`),
}

// genericTail is what a question for a meaning may have after the term: "in the bid table".
var genericTail = regexp.MustCompile(`,? (?:(?:in|at|on|of|for)(?: the| that| this| a| your| our)? (?:[a-z]+ )?(?:table|column|report|answer|output|record|page|chart|line|list|offers?|bids?|market|auction|federation|gridbid)|column|here|please|exactly|for (?:my|our|the) [a-z]+|to (?:me|us)|and (?:does|why does) it matter.*)$`)

// parseDefinition reads a question for the meaning of a term of the glossary.
func parseDefinition(question string) (Query, bool) {
	text := strings.TrimSpace(strings.Trim(strings.ToLower(question), "?.! "))
	for _, form := range definitionForms {
		if found := form.FindStringSubmatch(text); found != nil {
			if name, _, _, ok := Definition(strings.Trim(found[1], `"'`)); ok {
				return Query{Ask: "define", Term: name}, true
			}
		}
	}
	if less := genericTail.ReplaceAllString(text, ""); less != text {
		return parseDefinition(less)
	}
	return Query{}, false
}
