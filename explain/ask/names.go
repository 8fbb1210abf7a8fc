package ask

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/gridbid/gridbid/internal/nearest"
	"github.com/gridbid/gridbid/protocol"
)

// Kinds of names, in the order in which one that fits several is listed.
const (
	ofSite   = "SITE"
	ofTenant = "TENANT"
	ofAJob   = "JOB"
	ofPolicy = "POLICY"
)

// A nameIndex is every name that a question may hold, by its small letters.
type nameIndex struct {
	names   map[string][]knownName
	longest int // bytes
}

type knownName struct{ kind, name string }

// newNameIndex returns the index of a run.
func newNameIndex(run RunContext) *nameIndex {
	x := &nameIndex{names: make(map[string][]knownName)}
	add := func(key, kind, name string) {
		if key == "" {
			return
		}
		x.names[key] = append(x.names[key], knownName{kind, name})
		x.longest = max(x.longest, len(key))
	}
	parts := make(map[string][]string)
	for _, s := range run.Sites {
		add(strings.ToLower(s), ofSite, s)
		said := strings.FieldsFunc(strings.ToLower(s), func(c rune) bool { return c == '-' || c == '_' })
		if spaced := strings.Join(said, " "); spaced != strings.ToLower(s) {
			parts[spaced] = append(parts[spaced], s)
			for _, part := range said {
				parts[part] = append(parts[part], s)
			}
		}
	}
	for _, part := range slices.Sorted(maps.Keys(parts)) { // "hydro" for hydro-north
		_, known := slices.BinarySearch(english.vocabulary, part)
		known = known && !slices.Equal(english.phrases[part], []string{"rulewords"})
		if of := parts[part]; len(of) == 1 && len(part) > 3 && !known && !isTimeWord(part) && len(x.names[part]) == 0 && !english.distinct[part] {
			add(part, ofSite, of[0])
		}
	}
	for _, t := range run.Tenants {
		add(strings.ToLower(t), ofTenant, t)
	}
	for _, id := range run.Jobs {
		low := strings.ToLower(string(id))
		if add(low, ofAJob, string(id)); strings.Contains(low, "-") {
			add(strings.ReplaceAll(low, "-", " "), ofAJob, string(id)) // "job 0999"
			if short := strings.Replace(low, "-0", " ", 1); len(short) == len("job 999") && nouns[short[:3]] == ofAJob && short[4] != '0' {
				add(short, ofAJob, string(id))
			}
		}
	}
	policies := slices.Concat(run.Policies, run.Replayed)
	slices.Sort(policies)
	for _, p := range slices.Compact(policies) {
		add(strings.ToLower(p), ofPolicy, p)
		if spaced := strings.ReplaceAll(p, "-", " "); spaced != p && !strings.HasSuffix(p, "-now") { // "which site is greenest now" names no policy
			add(spaced, ofPolicy, p)
		}
	}
	return x
}

// findName returns what a piece of text names: exactly so, or with other capitals
// if nothing is named exactly so. Kind "" is any.
func (x *nameIndex) findName(text, kind string) (all []knownName) {
	var loose []knownName
	for _, n := range x.names[strings.ToLower(text)] {
		switch {
		case kind != "" && n.kind != kind:
		case n.name == text:
			all = append(all, n)
		default:
			loose = append(loose, n)
		}
	}
	if len(all) > 0 {
		return all
	}
	return loose
}

// nearestNames returns the names of a kind that look most like text, and how many
// letters apart the nearest is. A part of a name between hyphens counts too.
func (x *nameIndex) nearestNames(text, kind string, most int) (all []string, apart int) {
	type found struct {
		name  string
		apart int
	}
	var near []found
	text = strings.ToLower(text)
	for _, key := range slices.Sorted(maps.Keys(x.names)) {
		for _, n := range x.names[key] {
			if kind != "" && n.kind != kind {
				continue
			}
			d := nearest.TypingErrors(text, key)
			for part := range strings.SplitSeq(key, "-") {
				if n.kind == ofSite {
					d = min(d, nearest.EditDistance(text, part))
				}
			}
			near = append(near, found{n.name, d})
		}
	}
	slices.SortStableFunc(near, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.apart, b.apart), cmp.Compare(a.name, b.name))
	})
	for _, f := range near {
		if len(all) < most && !slices.Contains(all, f.name) {
			all = append(all, f.name)
		}
	}
	if len(near) == 0 {
		return nil, 1 << 20
	}
	return all, near[0].apart
}

// A RunContext holds the names and times of a run that a question may refer to, up to the
// last message read.
type RunContext struct {
	Sites    []string
	Tenants  []string
	Jobs     []protocol.JobID
	Models   []string // of GPUs
	Policies []string // under which the run can be replayed
	Replayed []string // policies whose totals are known

	First, Last protocol.Time // of the record
	Today       protocol.Time // midnight of the day that "today" means

	Decided func(seq uint64) bool   // there is a decision of that number
	Notable func() []protocol.JobID // jobs to offer where none was named
}

// A Parser reads questions about one run.
type Parser struct {
	RunContext
	index *nameIndex
	exact bool // typos are not corrected, and no other questions offered
}

// NewParser returns a parser that knows the names of a run.
func NewParser(run RunContext) *Parser { return &Parser{RunContext: run, index: newNameIndex(run)} }

// namesModel reports whether a question names a GPU model of the run.
func (l *Parser) namesModel(question string) bool {
	return slices.ContainsFunc(l.index.splitTokens(question), l.isModel)
}

// isModel reports whether a token names a GPU model of the run.
func (l *Parser) isModel(t token) bool {
	return slices.ContainsFunc(l.Models, func(m string) bool { return strings.TrimSuffix(t.low, "s") == strings.ToLower(m) })
}

// isFilterOnly reports whether a word is the "only" of "only at oslo" or "oslo only". Except in
// a yes-or-no question it adds nothing to the name, so it is skipped.
func (r *reading) isFilterOnly(tokens []token, i int) bool {
	named := func(k int) bool { return k >= 0 && k < len(tokens) && len(tokens[k].names) > 0 }
	first := tokens[0].low
	if tokens[i].low != "only" || tokens[i].quoted || slices.Contains(invertedVerbs, first) || slices.Contains([]string{"why", "did", "does", "would", "could"}, first) || i > 0 && tokens[i-1].low == "not" {
		return false
	}
	for k := i + 1; k < len(tokens) && slices.Contains([]string{"at", "of", "for", "on", "site", "tenant"}, tokens[k].low) && !named(k); k++ {
		if named(k + 1) {
			return true
		}
	}
	return named(i+1) || i == len(tokens)-1 && named(i-1)
}
