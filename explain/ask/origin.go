package ask

import (
	"slices"
	"strings"
)

// Words of operators that say whose jobs are meant, and whether idle draw counts.

// takeHome takes the site that jobs have as their home: "jobs with home oslo", "oslo's own jobs"; and
// "oslo's jobs", where it is asked at which sites they ran.
func (x *operatorReader) takeHome() {
	isSite := func(i int) bool {
		return i >= 0 && i < len(x.tokens) && !x.gone[i] && len(x.tokens[i].names) == 1 && x.tokens[i].names[0].kind == ofSite
	}
	in := func(i int, words ...string) bool { return i >= 0 && i < len(x.low) && slices.Contains(words, x.low[i]) }
	sites := 0
	for i := range x.tokens {
		if isSite(i) {
			sites++
		}
	}
	for i := range x.tokens {
		if !isSite(i) || x.namesA(ofAJob) {
			continue
		}
		from, to, after := i, i+1, i+1
		if in(after, "s") {
			after++
		}
		of := i
		for in(of-1, "the", "site", "at", "in", "is", "of", "from", "was", "to") {
			of--
		}
		moved := sites > 1 || x.hasWord(listed("away-words"))
		switch {
		case in(of-1, "home", "homes"):
			if from = of - 1; in(from-1, "with", "whose", "their", "have", "had", "has") {
				from--
			}
		case in(after, "own") && in(after+1, listed("job-nouns")...):
			to = after + 1
		case of < i && x.hasWord(listed("job-nouns")) && in(of-1, listed("home-verbs")...) && (in(of, "from") || x.low[of-1] == "submitted" && in(of, "at") || strings.HasPrefix(x.low[of-1], "belong") && in(of, "to")):
			if from = of - 1; in(from-1, "that", "which", "were") {
				from--
			}
		case moved && in(after, listed("job-nouns")...) && !in(i-1, "at", "on"):
			to = after
		case moved && of < i && in(of-1, listed("job-nouns")...) && (in(of, "of", "from")):
			from = of
		default:
			continue
		}
		x.query.Home = x.tokens[i].names[0].name
		x.take(from, to)
		x.imply("jobs")
		return
	}
}

// takeIdle takes the idle draw that is left out.
func (x *operatorReader) takeIdle(at int) bool {
	for at < len(x.low) && slices.Contains([]string{"the", "any", "all"}, x.low[at]) {
		x.gone[at], at = at+1 < len(x.low) && x.low[at+1] == "idle", at+1
	}
	if at >= len(x.low) || x.low[at] != "idle" {
		return false
	}
	x.query.Only = "jobs"
	x.take(at, at+1)
	if at+1 < len(x.low) && slices.Contains(listed("idle-nouns"), x.low[at+1]) {
		x.take(at+1, at+2)
	}
	return true
}
