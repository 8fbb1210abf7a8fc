package policy

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/gridbid/gridbid/protocol"
)

// Vocabulary is what a sentence may name.
type Vocabulary struct {
	Sites   []string
	Tenants []string
	Places  map[string][]string // what else people call sites by: "eu", "hydro"
	Now     protocol.Time
}

// sitesNamed returns the sites that a word names: a site, a place that was given, or
// all sites that have the word between the hyphens of their names.
func (k Vocabulary) sitesNamed(word string) (sites []string) {
	for _, s := range k.Sites {
		if strings.EqualFold(s, word) {
			return []string{s}
		}
	}
	if all, ok := k.Places[strings.ToLower(word)]; ok {
		return slices.Sorted(slices.Values(all))
	}
	for _, s := range k.Sites {
		// The "on" of on-prem is a word of every other sentence.
		if slices.ContainsFunc(strings.Split(s, "-"), func(part string) bool { return strings.EqualFold(part, word) && len(part) > 1 }) && !fillerWords[strings.ToLower(word)] {
			sites = append(sites, s)
		}
	}
	return slices.Sorted(slices.Values(sites))
}

// Weights of a preference that is said with no figure.
const (
	defaultWeight protocol.Milli = 150
	strongWeight  protocol.Milli = 300
)

// maxSentenceBytes bounds a sentence, in bytes.
const maxSentenceBytes = 1000

// ParseSentence reads a sentence as a change of the policy in force. A part of it that
// holds one word which is not known is not understood as a whole: it may be the
// word that matters.
func ParseSentence(sentence string, was protocol.Policy, k Vocabulary) Change {
	c := Change{Base: was.Version, Ops: []Op{}}
	if len(sentence) > maxSentenceBytes {
		c.NotUnderstood = []string{"it is longer than 1000 bytes"}
		return c
	}
	for _, part := range splitClauses(sentence) {
		op, ok := k.parseClause(part)
		if ok && len(c.Ops) < maxOps {
			c.Ops = append(c.Ops, op)
		} else {
			c.NotUnderstood = append(c.NotUnderstood, part)
		}
	}
	return c
}

// splitClauses cuts a sentence where another wish may begin.
func splitClauses(sentence string) (all []string) {
	text := strings.NewReplacer(";", ",", ". ", ", ", "\n", ", ", " and ", ", ", " but ", ", ", "—", ", ").Replace(sentence + " ")
	for part := range strings.SplitSeq(text, ",") {
		part = strings.Trim(part, " .!")
		part = strings.TrimPrefix(strings.TrimPrefix(part, "also "), "Also ")
		if part != "" {
			all = append(all, part)
		}
	}
	return all
}

// fillerWords are words that say nothing which changes a rule.
var fillerWords = wordSet("a an the all any our jobs job sites site run running runs ran send sent place placed placing put use used work workloads workload on at in to of for with by please let be is are from during power that which they it its data move moved moving leave out only stay stays kept tenant team keep")

// articles stand before whoever is meant.
var articles = wordSet("a an the all any our")

func wordSet(s string) map[string]bool {
	all := make(map[string]bool)
	for w := range strings.FieldsSeq(s) {
		all[w] = true
	}
	return all
}

// A clauseParse is a clause on its way to an op.
type clauseParse struct {
	rule          protocol.Rule
	remove        string
	has           map[string]bool // words of it, and what they mean
	nums          []int64
	day           protocol.Time // "today", "tomorrow"; 0: none
	open          bool          // "from tomorrow": it does not end with the day
	after         string        // "after 16:00"
	until         string        // "until 18:00"
	limit         bool          // "no more than", "at most", "below"
	to            bool          // the place is where something would go: "to oslo", "at oslo"
	contradictory bool          // two words of it do not go together: "do not ban", "outside the weekend"
	dataOfPlace   bool          // the data is that of a place: "EU data"
}

// setWeekly takes a time of the week. A wish has one.
func (w *clauseParse) setWeekly(t protocol.Weekly) {
	w.contradictory = w.contradictory || w.rule.Weekly != "" && w.rule.Weekly != t
	w.rule.Weekly = t
}

// hasTime reports whether a wish is for a time alone.
func (w *clauseParse) hasTime() bool {
	return w.rule.From != 0 || w.rule.To != 0 || w.rule.Weekly != ""
}

// hasAnyWord reports whether a wish has one of some words.
func (w *clauseParse) hasAnyWord(words ...string) bool {
	return slices.ContainsFunc(words, func(s string) bool { return w.has[s] })
}

// placeFollows reports whether a place comes next, but for words that say nothing.
func (k Vocabulary) placeFollows(words []string) bool {
	for _, word := range words {
		if len(k.sitesNamed(word)) > 0 || !fillerWords[strings.ToLower(word)] {
			return len(k.sitesNamed(word)) > 0
		}
	}
	return false
}

func (k Vocabulary) parseClause(text string) (Op, bool) {
	all := strings.FieldsFunc(strings.NewReplacer("don't", "do not", "mustn't", "must not", "’", "'").Replace(text), func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '-' && c != '_' && c != '/' && c != ':' && c != '€' && c != '$'
	})
	w := &clauseParse{has: make(map[string]bool)}
	for i := 0; i < len(all); {
		n := k.takeWord(w, all, i)
		if n == 0 {
			return Op{}, false
		}
		i += n
	}
	k.setHours(w)
	op, ok := w.buildOp()
	if ok && op.Rule != nil && !isEverActive(*op.Rule, k.Now) {
		return Op{}, false
	}
	return op, ok
}

// isEverActive reports whether a rule would be in force at some time from now on: one until
// Friday that is for weekends would not.
func isEverActive(r protocol.Rule, now protocol.Time) bool {
	from := max(now, r.From)
	for at := from; at < from.Add(8*24*time.Hour) && (r.To == 0 || at < r.To); at = at.Add(time.Minute) {
		if r.IsActiveAt(at) {
			return true
		}
	}
	return false
}

// setHours sets from and to by the day and the times of it that were said, in
// whichever order.
func (k Vocabulary) setHours(w *clauseParse) {
	r := &w.rule
	// "on weekdays after 18:00" is each of them, and "tomorrow at night" goes on until
	// the morning after: no rule says either.
	w.contradictory = w.contradictory || r.Weekly != "" && w.after+w.until != "" || r.Weekly == protocol.Night && w.day != 0 && !w.open
	if w.day != 0 {
		w.contradictory = w.contradictory || r.From != 0 // beside "this weekend"
		r.From = w.day
		if r.To == 0 && !w.open {
			r.To = w.day.Add(24 * time.Hour)
		}
	} else if w.after+w.until != "" {
		w.contradictory = w.contradictory || r.From != 0
	}
	if w.after != "" {
		r.From = k.nextClockTime(w.after, w.day)
	}
	if w.until != "" {
		r.To = k.nextClockTime(w.until, w.day)
	}
}

// takeWord takes the words at i, and returns how many it took; 0 is none that is
// known.
func (k Vocabulary) takeWord(w *clauseParse, all []string, i int) int {
	low := strings.ToLower(all[i])
	after := func(n int) string {
		if i+n < len(all) {
			return strings.ToLower(all[i+n])
		}
		return ""
	}
	for _, t := range k.Tenants { // "jobs of data", where that is somebody; but "jobs of all" are everybody's
		if i > 0 && !articles[low] && slices.Contains([]string{"of", "tenant", "team"}, strings.ToLower(all[i-1])) && strings.EqualFold(t, all[i]) && w.rule.Tenant == "" && len(k.sitesNamed(all[i])) == 0 {
			w.rule.Tenant = t
			return 1
		}
	}
	negated := w.hasAnyWord("not", "never", "no")
	w.has[low] = true
	switch low {
	case "forbid", "ban", "disallow", "cap", "limit":
		w.contradictory = w.contradictory || negated // "do not ban oslo" bans nothing
		return 1
	case "never", "not", "no":
		w.contradictory = w.contradictory || negated // "never at oslo not at night" bans no nights
		return 1
	case "outside":
		w.contradictory = w.contradictory || !k.placeFollows(all[i+1:])
		return 1
	case "only": // of a place: "only at oslo", "oslo only"
		w.contradictory = w.contradictory || !k.placeFollows(all[i+1:]) && (i+1 < len(all) || i == 0 || len(k.sitesNamed(all[i-1])) == 0)
		return 1
	case "data":
		w.dataOfPlace = w.dataOfPlace || i > 0 && len(k.sitesNamed(all[i-1])) > 0
		return 1
	case "prefer", "favour", "favor", "avoid", "must", "first", "strongly", "do", "stay", "stays", "keep",
		"remove", "drop", "lift", "rule", "except", "above", "price", "carbon", "when", "leave", "out", "power", "draw", "than":
		return 1
	case "weekend", "weekends":
		if i > 0 && strings.EqualFold(all[i-1], "this") {
			w.contradictory = w.contradictory || w.rule.To != 0 || i > 1 && strings.EqualFold(all[i-2], "from")
			w.rule.From, w.rule.To = weekendOf(k.Now)
		} else {
			w.setWeekly(protocol.Weekend)
		}
		return 1
	case "this":
		if after(1) == "weekend" {
			return 1
		}
		return 0
	case "weekdays":
		w.setWeekly(protocol.Weekday)
		return 1
	case "night", "nights":
		w.setWeekly(protocol.Night)
		return 1
	case "daytime":
		w.setWeekly(protocol.Daytime)
		return 1
	case "today", "tomorrow":
		w.contradictory = w.contradictory || w.day != 0
		w.day, w.open = k.Now.Floor(24*time.Hour), i > 0 && strings.EqualFold(all[i-1], "from")
		if low == "tomorrow" {
			w.day = w.day.Add(24 * time.Hour)
		}
		return 1
	case "until", "till":
		w.contradictory = w.contradictory || w.rule.To != 0 || w.until != ""
		if t, ok := k.parseDay(after(1)); ok {
			w.rule.To = t
			return 2
		}
		if isClock(after(1)) {
			w.until = after(1)
			return 2
		}
		return 0
	case "after", "from":
		if isClock(after(1)) {
			w.contradictory, w.after = w.contradictory || w.after != "", after(1)
			return 2
		}
		if low != "from" {
			return 0
		}
		return 1
	case "more", "most", "exceed", "over", "beyond", "maximum", "max", "below", "under", "within":
		w.limit = true // a wish that nothing else than a cap reads
		return 1
	}
	return k.takeFigure(w, all, i)
}

// takeFigure takes what is no word of a wish itself: a rule, an amount or a name; 0 is
// none of them.
func (k Vocabulary) takeFigure(w *clauseParse, all []string, i int) int {
	low := strings.ToLower(all[i])
	if strings.HasPrefix(low, "r-") && len(low) > 2 {
		w.contradictory, w.remove = w.contradictory || w.remove != "", "R-"+low[2:] // one at a time
		return 1
	}
	if cut, unit, ok := unitOf(low); ok {
		w.has[unit] = true
		low = cut
	}
	if n, err := strconv.ParseInt(strings.TrimLeft(low, "€$"), 10, 64); err == nil && n > 0 && n < 1_000_000 {
		w.nums = append(w.nums, n)
		return 1
	}
	if low == "€/mwh" || low == "$/mwh" || low == "usd/mwh" || low == "g/kwh" || low == "kw" || low == "mw" {
		return 1
	}
	if low == "gpu" || low == "gpus" {
		w.has["gpus"] = true
		return 1
	}
	if low == "kilowatt" || low == "kilowatts" || low == "megawatt" || low == "megawatts" {
		w.has[low[:1]+"w"] = true
		return 1
	}
	if s := k.sitesNamed(all[i]); len(s) > 0 && w.rule.Words == "" {
		w.rule.Sites, w.rule.Words = s, all[i]
		at := i - 1
		if at > 0 && strings.EqualFold(all[at], "the") {
			at--
		}
		w.to = at >= 0 && slices.Contains([]string{"to", "at", "on", "in"}, strings.ToLower(all[at]))
		return 1
	} else if len(s) > 0 && slices.Equal(s, w.rule.Sites) { // "never move EU data out of the EU"
		return 1
	}
	if fillerWords[low] { // before tenants, who call themselves as they like: "jobs"
		return 1
	}
	for _, t := range k.Tenants {
		if strings.EqualFold(t, all[i]) && w.rule.Tenant == "" {
			w.rule.Tenant = t
			return 1
		}
	}
	return 0
}

// parseDay returns the beginning of a day that a word names.
func (k Vocabulary) parseDay(word string) (protocol.Time, bool) {
	if t, err := time.Parse("2006-01-02", word); err == nil {
		return protocol.FromStdTime(t), true
	}
	today := k.Now.Floor(24 * time.Hour)
	for n := 1; n <= 7; n++ {
		t := today.Add(time.Duration(n) * 24 * time.Hour)
		if name := strings.ToLower(t.StdTime().Weekday().String()); word == name || len(word) >= 3 && word == name[:3] {
			return t, true
		}
	}
	return 0, false
}

func isClock(word string) bool {
	_, err := time.Parse("15:04", word)
	return err == nil
}

// nextClockTime returns the instant at which it is so late on a day, or next: "16:00".
func (k Vocabulary) nextClockTime(word string, day protocol.Time) protocol.Time {
	t, _ := time.Parse("15:04", word) // it is one
	late := time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute
	if day != 0 {
		return day.Add(late)
	}
	at := k.Now.Floor(24 * time.Hour).Add(late)
	if at <= k.Now {
		at = at.Add(24 * time.Hour)
	}
	return at
}

// unitOf cuts a unit of power from a number: "200kw".
func unitOf(word string) (digits, unit string, ok bool) {
	for _, unit := range []string{"kw", "mw"} {
		if digits, ok := strings.CutSuffix(word, unit); ok && digits != "" && strings.Trim(digits, "0123456789") == "" {
			return digits, unit, true
		}
	}
	return word, "", false
}

// weekendOf returns the weekend that an instant is in, or the next.
func weekendOf(now protocol.Time) (from, to protocol.Time) {
	from = now.Floor(24 * time.Hour)
	if from.StdTime().Weekday() == time.Sunday {
		return from.Add(-24 * time.Hour), from.Add(24 * time.Hour)
	}
	for from.StdTime().Weekday() != time.Saturday {
		from = from.Add(24 * time.Hour)
	}
	return from, from.Add(48 * time.Hour)
}

// buildOp makes an op of a clause whose words are all known. What does not make
// exactly one is not understood.
func (w *clauseParse) buildOp() (Op, bool) {
	has, r := w.hasAnyWord, &w.rule
	removes, prefers := has("remove", "drop", "lift"), has("prefer", "favour", "favor", "first")
	bans := has("forbid", "ban", "never", "not", "no", "disallow")
	stays := has("stay", "stays", "only") || has("keep", "must") && has("stay", "only", "in")
	caps := has("cap", "limit", "above") || w.limit
	switch {
	case w.contradictory, stays && !bans && has("out"), bans && (has("leave") && has("out") || has("stay", "stays")):
		return Op{}, false
	case removes:
		return Op{Op: "remove", ID: w.remove}, w.remove != "" && !has("gpus") && r.Words == "" && r.Tenant == "" && len(w.nums) == 0 && !prefers && !bans && !caps && !w.hasTime() && !has("when")
	case w.remove != "" || has("except", "rule"), has("tenant", "team") && r.Tenant == "": // of nobody who is known
		return Op{}, false
	case caps:
		return w.buildCap()
	case len(w.nums) > 0 || has("price", "when", "carbon", "draw", "gpus"):
		return Op{}, false
	case has("data") && (prefers || has("avoid") || r.Tenant != "" && !w.dataOfPlace): // "avoid moving EU data"; "vision data" may have its home anywhere
		return Op{}, false
	case has("avoid") != prefers && !bans && !stays && len(r.Sites) > 0:
		r.Kind, r.Weight, r.Outside = protocol.Prefer, defaultWeight, has("outside")
		if has("strongly") {
			r.Weight = strongWeight
		}
		if has("avoid") {
			r.Weight = -r.Weight
		}
	case prefers || has("avoid", "strongly"):
		return Op{}, false
	case has("not") && !has("do", "must", "never", "no", "forbid", "ban", "disallow"): // "but not oslo"
		return Op{}, false
	case bans && has("data") && w.to && !has("leave", "out", "outside"): // to go there, not to stay there
		return Op{}, false
	case has("data") && (bans || stays) && len(r.Sites) > 0: // it stays where it is
		r.Kind, r.Homes, r.Outside = protocol.Forbid, r.Sites, true
	case bans && has("outside", "leave") && len(r.Sites) > 0, stays && !bans && len(r.Sites) > 0:
		r.Kind, r.Outside = protocol.Forbid, true
	case bans && !stays && len(r.Sites) > 0:
		r.Kind = protocol.Forbid
	default:
		return Op{}, false
	}
	return Op{Op: "add", Rule: r}, r.To == 0 || r.To > r.From
}

// buildCap makes a cap of price, of carbon, of power or of GPUs. What a market can cap of power
// is what it plans: the runs that it places, and no idle draw.
func (w *clauseParse) buildCap() (Op, bool) {
	r := &w.rule
	kinds := 0
	for _, unit := range []string{"kw", "mw", "g/kwh", "€/mwh", "$/mwh", "usd/mwh", "gpus"} {
		if w.has[unit] {
			kinds++
		}
	}
	bans, caps := w.hasAnyWord("forbid", "ban", "never", "not", "no", "disallow"), w.hasAnyWord("cap", "limit")
	up, down := w.hasAnyWord("above", "more", "exceed", "over", "beyond"), w.hasAnyWord("most", "maximum", "max", "below", "under", "within")
	if len(w.nums) != 1 || kinds > 1 || w.hasAnyWord("prefer", "favour", "favor", "first", "avoid", "strongly", "only", "stay", "stays") || up && !bans && !caps || down && bans {
		return Op{}, false
	}
	r.Kind = protocol.Cap
	switch n := w.nums[0]; {
	case w.has["kw"] || w.has["mw"]: // of named sites: "never run when the power is above" would ban
		r.Power = protocol.Milliwatts(n * 1_000_000)
		if w.has["mw"] {
			r.Power *= 1000
		}
		return Op{Op: "add", Rule: r}, len(r.Sites) > 0 && r.Tenant == "" && !w.has["outside"] && !w.has["never"] && !w.has["price"] && !w.has["carbon"] && !w.has["when"] && !w.has["data"] && (r.To == 0 || r.To > r.From)
	case w.has["gpus"]: // of a tenant or of named sites
		r.GPUs = protocol.Milli(n * 1000)
		return Op{Op: "add", Rule: r}, (r.Tenant != "" || len(r.Sites) > 0) && !w.has["outside"] && !w.has["never"] && !w.has["price"] && !w.has["carbon"] && !w.has["power"] && !w.has["draw"] && !w.has["when"] && !w.has["data"] && (r.To == 0 || r.To > r.From)
	case w.limit && !w.has["than"], w.has["data"], w.has["carbon"] && !w.has["g/kwh"], w.has["price"] && w.has["g/kwh"]: // "EU data" runs anywhere, and a price has no grams
		return Op{}, false
	case w.has["g/kwh"]:
		r.Carbon = protocol.Milligrams(n * 1000)
	case w.has["€/mwh"] || w.has["$/mwh"] || w.has["usd/mwh"]:
		r.Most = protocol.Microdollars(n * 1000)
	default:
		return Op{}, false
	}
	return Op{Op: "add", Rule: r}, !w.has["outside"]
}
