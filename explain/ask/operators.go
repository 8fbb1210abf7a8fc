package ask

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// Operators are what a question may have beside its base: an exception, a bound, a second split,
// a share, "per job", a second site to compare with, a state, a GPU model. They are the same for
// all questions, so their words are taken out of the tokens, what remains is read by the rules as
// any question, and the query of that takes the operators. A rule counts only if its question
// has a place for all of them: none is ever dropped.

// jobStates are the states that jobs are asked for by.
var jobStates = strings.Fields("pending planned running preempted done failed cancelled refused")

// quantityVerbs say which quantity of a job is bounded.
var quantityVerbs = map[string]string{
	"wait": "wait", "waits": "wait", "waited": "wait", "waiting": "wait", "queued": "wait", "pending": "wait", "queue": "wait", "delayed": "wait", "delay": "wait",
	"run": "run", "runs": "run", "ran": "run", "running": "run", "took": "run", "takes": "run", "take": "run", "lasted": "run", "lasts": "run",
	"late": "late", "lateness": "late", "overdue": "late", "emitted": "carbon", "emits": "carbon", "emit": "carbon", "carbon": "carbon",
	"used": "energy", "uses": "energy", "using": "energy", "use": "energy", "consumed": "energy", "burned": "energy", "burnt": "energy", "energy": "energy",
	"cost": "cost", "costs": "cost", "costing": "cost", "paid": "paid", "gpus": "gpus", "held": "holds", "deferred": "holds", "postponed": "holds",
}

// sinceArrival may follow a bound of the wait, and ofSlack one of slack.
var (
	sinceArrival = regexp.MustCompile(`^(?:of|after) (?:arriving|arrival|submission|being submitted|(?:they|it) (?:arrived|came in|were submitted|was submitted))\b`)
	ofSlack      = regexp.MustCompile(`^(?:to spare|of slack|of margin|slack|margin|(?:of|before|ahead of|from) (?:their |its |the |a )?(?:deadline|deadlines|due date))\b`)
)

// kindOfQuantity is what the unit of a bound of each quantity measures.
var kindOfQuantity = map[string]string{"wait": "time", "run": "time", "late": "time", "slack": "time", "carbon": "carbon", "energy": "energy", "cost": "cost", "paid": "cost", "gpus": "gpus", "holds": "times"}

// operatorAt returns the operator whose longest phrase begins words, and how many words it has.
func operatorAt(words []string) (name string, used int) {
	return longestIn(english.operators, words, english.longestOperator)
}

// An operatorReader takes the operators out of the tokens of a question.
type operatorReader struct {
	*reading
	l      *Parser
	tokens []token
	low    []string // of each token; of a name, a word that is none
	gone   []bool   // taken
}

// takeOperators returns the tokens that are no words of operators. Operators are set in r.query;
// r.implied are concepts that their words stand for, too.
func (r *reading) takeOperators(l *Parser, tokens []token) (rest []token) {
	x := operatorReader{reading: r, l: l, tokens: tokens, low: lowWords(tokens), gone: make([]bool, len(tokens))}
	for i := range tokens {
		if name, n := operatorAt(x.low[i:]); name == "except" && (x.takeExcept(i, n) || x.takeIdle(i+n)) {
			x.take(i, i+n)
		}
	}
	x.takeHome()
	x.takeAgainst()
	x.takeSizes()
	x.joinSplits()
	for i := 0; i < len(tokens); i++ {
		if x.gone[i] || tokens[i].quoted && x.low[i] == "\x00" {
			continue
		}
		if x.takeModel(i) {
			continue
		}
		name, n := operatorAt(x.low[i:])
		if n == 0 {
			continue
		}
		taken := false
		switch kind, value, _ := strings.Cut(name, "-"); {
		case name == "at-most" && r.query.CountsAtOnce():
			taken = true // "at the same time at most"
		case slices.Contains(boundNames, name):
			taken = x.takeBound(i, n, name)
		case (name == "share" || name == "part") && x.isOfCapacity(i+n):
			taken = true
			x.dropWords("used busy in use occupied spent")
			r.imply("utilization")
		case name == "peak" && (r.query.By == "" || r.query.CountsAtOnce()):
			if taken = x.takePeak(); taken {
				r.imply("most")
			}
		case name == "share" && (r.query.Pick == "" || r.query.Pick == "share"):
			r.query.Pick, taken = "share", true
			x.dropWords("went goes go came come comes due")
		case (kind == "per" || kind == "carbon") && r.query.Per == "":
			if value == "kwh" && x.namesA(ofSite) && !x.hasWord([]string{"by", "each", "every"}) {
				continue // of one site it may be its grid's
			}
			x.dropWords("got had average mean typical")
			if value == "gpu-hour" && x.hasWord([]string{"price"}) { // it is no price of the grid
				x.dropWords("price")
				r.imply("cost")
			}
			if r.query.Per, taken = value, true; kind == "carbon" {
				r.imply("carbon")
			}
		case (kind == "most" || kind == "least") && r.query.By == "":
			r.query.Pick, r.query.By, taken = kind, value, true
		case kind == "only" && !x.hasWord(listed("gpu-nouns")) && !slices.ContainsFunc(x.tokens, x.l.isModel):
			r.query.Only, taken = value, true
		case kind == "state" && i > 0 && slices.Contains(strings.Fields("not longest shortest"), x.low[i-1]) || kind == "state" && i+n < len(x.low) && slices.Contains(strings.Fields("first last"), x.low[i+n]):
		case value == "refused" && (x.hasWord(listed("site-nouns")) || x.namesA(ofSite)): // by sites, which make no offer
		case kind == "state" && r.query.State == "" && !x.namesA(ofAJob):
			r.query.State, taken = value, true
			x.dropWords("now currently") // a state without a time is that of now
			r.imply("jobs", "list")
		}
		if taken {
			x.take(i, i+n)
			i += n - 1
		}
	}
	for i, t := range tokens {
		if !x.gone[i] {
			rest = append(rest, t)
		}
	}
	return rest
}

// imply adds concepts, each as a word of its own.
func (r *reading) imply(concepts ...string) {
	for _, c := range concepts {
		r.implied = append(r.implied, []string{c})
	}
}

func (x *operatorReader) take(from, to int) {
	for i := from; i < to; i++ {
		x.gone[i] = true
	}
}

// dropWords takes words that say nothing beside an operator.
func (x *operatorReader) dropWords(words string) {
	for i, w := range x.low {
		if slices.Contains(strings.Fields(words), w) {
			x.gone[i] = true
		}
	}
}

// namesA reports whether a question names a thing of a kind.
func (x *operatorReader) namesA(kind string) bool {
	return slices.ContainsFunc(x.tokens, func(t token) bool { return len(t.names) > 0 && t.names[0].kind == kind })
}

func (x *operatorReader) hasWord(words []string) bool {
	return slices.ContainsFunc(x.low, func(w string) bool { return slices.Contains(words, w) })
}

// saysJobs reports whether one of some nouns stands there, and not after a "per".
func (x *operatorReader) saysJobs(nouns []string) bool {
	for i, w := range x.low {
		if slices.Contains(nouns, w) && (i == 0 || x.low[i-1] != "per") {
			return true
		}
	}
	return false
}

// joinSplits makes "by site and hour" two splits.
func (x *operatorReader) joinSplits() {
	splits := func(words ...string) bool {
		return slices.ContainsFunc(english.phrases[strings.Join(words, " ")], func(c string) bool { return strings.HasPrefix(c, "by") })
	}
	for i := 0; i+3 < len(x.low); i++ {
		if w := x.low[i+2]; (w == "and" || w == "then" || w == "&") && splits(x.low[i:i+2]...) && splits("by", x.low[i+3]) {
			x.low[i+2], x.tokens[i+2].low, x.tokens[i+2].text = "by", "by", "by"
		}
	}
}

// takeExcept takes the sites and tenants that are left out.
func (x *operatorReader) takeExcept(i, n int) bool {
	at, before := i+n, len(x.query.ExceptSites)+len(x.query.ExceptTenants)
	for end := at; end < len(x.tokens); end++ {
		t := x.tokens[end]
		if len(t.names) == 0 {
			first := at == i+n
			joined := first || slices.ContainsFunc(x.low[at:end+1], func(w string) bool { return slices.Contains(listed("name-joins"), w) })
			if slices.Contains(listed("except-nouns"), t.low) || joined && slices.Contains(listed("except-places"), t.low) || !first && slices.Contains(listed("name-joins"), t.low) {
				continue
			}
			break
		}
		name := t.names[0]
		out := map[string]*[]string{ofSite: &x.query.ExceptSites, ofTenant: &x.query.ExceptTenants}[name.kind]
		if len(t.names) > 1 || out == nil || slices.Contains(*out, name.name) {
			return false
		}
		*out = append(*out, name.name)
		x.take(at, end+1)
		at = end + 1
	}
	slices.Sort(x.query.ExceptSites)
	slices.Sort(x.query.ExceptTenants)
	return len(x.query.ExceptSites)+len(x.query.ExceptTenants) > before
}

// takeBound takes "more than 2 h" and, where it is one of each job, the words that say of what.
func (x *operatorReader) takeBound(i, n int, bound string) bool {
	value, kind, used := readAmount(x.low[i+n:])
	if used == 0 || x.query.Bound != "" && x.query.Bounded == "" || i == 0 && bound == "at-most" && !x.hasWord(questionWords) {
		return false // "no more than 80 kW at oslo" is a rule
	}
	end := i + n + used
	sites := x.hasWord(listed("group-nouns"))
	ofJobs := kind != "jobs" && !slices.Contains([]string{"intensity", "price", "power", "share"}, kind) && (kind == "time" || x.saysJobs(listed("job-askers")) && !(sites && !x.saysJobs(listed("job-nouns")))) &&
		!(kind == "gpus" && x.hasWord(strings.Fields("free idle available left spare")))
	switch {
	case ofJobs:
		if quantity, ok := x.takeQuantity(i, end, kind); ok {
			if x.query.setJobBound(quantity, bound, formatAmount(value, kind)) {
				x.take(i, end)
				x.imply("jobs", "list")
				return true
			}
			return false
		} else if x.hasWord(listed("job-askers")) {
			return false
		}
	case kind == "cost" && x.namesA(ofSite) && x.hasWord(strings.Fields("when ever hours")):
		kind, value = "price", value/1000 // "when was oslo over 100 bucks"
		x.imply(kind)
	case kind == "carbon" && sites && value < 5_000_000 && !x.hasWord(strings.Fields("emit emits emitted carbon co2 emissions")):
		kind = "intensity" // "sites above 300 g"
		fallthrough
	case slices.Contains([]string{"carbon", "energy", "cost", "intensity", "price", "power"}, kind):
		x.imply(kind)
	case kind == "share":
		x.imply("utilization")
	}
	if kind == "carbon" && end < len(x.low) && slices.Contains(strings.Fields("co2 co2e carbon emissions"), x.low[end]) {
		end++ // "over 1 kg CO2"
	}
	if x.query.Bound != "" {
		return false
	}
	x.query.Bound, x.query.Amount = bound, formatAmount(value, kind)
	x.take(i, end)
	return true
}

// takeQuantity takes the words between jobs and their bound, and finds which quantity it is of.
func (x *operatorReader) takeQuantity(i, end int, kind string) (quantity string, ok bool) {
	from := i
	for k := i - 1; k >= 0; k-- {
		verb := quantityVerbs[x.low[k]]
		if verb == "" && !slices.Contains(listed("bound-fillers"), x.low[k]) || k == 0 && verb == "" || verb != "" && quantity != "" {
			break
		}
		quantity, from = max(quantity, verb), k
	}
	rest := strings.Join(x.low[min(end, len(x.low)):], " ")
	switch {
	case strings.HasPrefix(rest, "to start") || strings.HasPrefix(rest, "before start"):
		quantity = "wait"
		x.take(end, end+2)
	case i > 0 && quantity == "" && slices.Contains(listed("start-verbs"), x.low[i-1]) && (x.low[i] == "within" || sinceArrival.MatchString(rest)): // "started within 5 minutes"
		quantity, from = "wait", i-1
		x.take(end, end+len(strings.Fields(sinceArrival.FindString(rest))))
	case ofSlack.MatchString(rest):
		quantity = "slack"
		x.take(end, end+len(strings.Fields(ofSlack.FindString(rest))))
	case quantity != "":
	case strings.HasPrefix(rest, "late") || strings.HasPrefix(rest, "overdue") || kind == "time" && x.hasWord([]string{"late", "overdue"}) && x.low[i] != "longer" && x.low[i] != "shorter":
		quantity = "late"
	case strings.HasPrefix(rest, "waiting") || strings.HasPrefix(rest, "waited") || strings.HasPrefix(rest, "wait ") || strings.HasPrefix(rest, "in the queue") || strings.HasPrefix(rest, "in queue"):
		quantity = "wait"
		x.take(end, end+max(1, slices.Index(x.low[end:], "queue")+1))
	case kind == "time" && (x.low[i] == "longer" || x.low[i] == "shorter") && i > 0 && slices.Contains(listed("job-nouns"), x.low[i-1]) && !x.hasWord([]string{"late", "overdue"}):
		quantity = "run" // "jobs shorter than 5 minutes"
	}
	if quantity == "energy" || quantity == "cost" || quantity == "" { // "used 8 GPUs"
		for _, q := range []string{"carbon", "energy", "cost", "gpus"} {
			if kindOfQuantity[q] == kind {
				quantity = q
			}
		}
	}
	if kindOfQuantity[quantity] != kind {
		return "", false // two hours of what: of waiting, or of running
	}
	for k := from; k < i; k++ {
		queued := x.low[k] == "queued" && !slices.Contains(strings.Fields("is are were was be been"), x.low[k-1]) // "jobs that queued for 2 h"
		x.gone[k] = x.gone[k] || queued || !slices.Contains(listed("base-verbs"), x.low[k])
	}
	return quantity, true
}

// takeAgainst takes the second of two sites or tenants that are compared, and what compares them.
func (x *operatorReader) takeAgainst() {
	var at []int
	for i, t := range x.tokens {
		switch {
		case len(t.names) == 0 || x.gone[i]:
		case len(t.names) > 1 || t.names[0].kind == ofPolicy || len(at) > 0 && (len(at) > 1 || x.tokens[at[0]].names[0].kind != t.names[0].kind || t.names[0].name == x.tokens[at[0]].names[0].name):
			return
		default:
			at = append(at, i)
		}
	}
	if len(at) != 2 {
		return
	}
	joined, gone := false, slices.Clone(x.gone)
	for i := at[0] + 1; i < at[1]; i++ {
		name, n := operatorAt(x.low[i:])
		if name == "against" || (name == "more" || name == "less") && i+n == at[1] { // "longer than"
			joined = true
			if than := english.operators[strings.TrimSuffix(strings.Join(x.low[i:i+n], " "), " than")]; strings.HasPrefix(than, "than-") { // "greener than"
				x.implyThan(than, x.tokens[at[0]].names[0].kind)
			}
			if x.take(i, i+n); strings.HasPrefix(x.low[i], "longer") || strings.HasPrefix(x.low[i], "shorter") {
				x.imply("long")
			}
		}
	}
	if !joined {
		x.gone = gone
		return
	}
	for i := range x.low {
		switch name, n := operatorAt(x.low[i:]); {
		case strings.HasPrefix(name, "than-"):
			x.implyThan(name, x.tokens[at[0]].names[0].kind)
			fallthrough
		case name == "than":
			x.take(i, i+n)
		}
	}
	if x.tokens[at[0]].names[0].kind == ofAJob {
		x.imply("compare")
	}
	x.query.Against = x.tokens[at[1]].names[0].name
	x.take(at[1], at[1]+1)
	if nouns[x.low[at[1]-1]] != "" {
		x.gone[at[1]-1] = true
	}
}

// implyThan adds what "greener" and "cheaper" are of: of a site its grid, of a tenant and a job what they used.
func (x *operatorReader) implyThan(name, kind string) {
	if kind != ofSite {
		name = cmp.Or(map[string]string{"than-intensity": "than-carbon", "than-price": "than-cost", "than-utilization": "than-gpuhours"}[name], name)
	}
	x.imply(name[5:])
}

// takeSplits takes the words that only split a sum, in their order, so that a question has one or
// two splits whatever its rules know of them.
func (r *reading) takeSplits() {
	r.concepts = slices.DeleteFunc(r.concepts, func(word []string) bool {
		if r.query.By != "" && (r.query.Pick == "" || slices.Contains(word, r.query.Pick)) && len(word) == 1 && (word[0] == "most" || word[0] == "least") {
			r.query.Pick = word[0]
			return true
		}
		i := slices.IndexFunc(word, func(c string) bool { return strings.HasPrefix(c, "by") && slices.Contains(measureSplits, c[2:]) })
		if i < 0 || r.query.Then != "" || r.query.By == word[i][2:] {
			return false
		}
		if by := word[i][2:]; r.query.By == "" {
			r.query.By = by
		} else {
			r.query.Then = by
		}
		return true
	})
}

// takesOperators reports whether a question has a place for all operators of r.
func (r *reading) takesOperators(ask string) bool {
	f, ok := english.questions[ask]
	if r.query.Bound != "" && r.query.Bounded == "" && ask != "bill" && listedKinds[ask] == "" {
		return false
	}
	return !r.operators || ok && !slices.ContainsFunc(queryFields, func(x queryField) bool {
		return x.operator && x.isSet(&r.query) && (!f.takesField(x) || len(valuesOf(x.name, ask)) > 0 && x.name != "state" && !slices.Contains(valuesOf(x.name, ask), x.valueIn(&r.query).String()))
	})
}
