package ask

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gridbid/gridbid/explain/record"
)

// A token is a word of a question, or a name in it.
type token struct {
	text   string // as written; in quotes, without them
	low    string // in lower case
	names  []knownName
	quoted bool

	at, end int // in the question
}

// nouns say of what kind the name after them is.
var nouns = map[string]string{
	"job": ofAJob, "site": ofSite, "agent": ofSite, "tenant": ofTenant, "team": ofTenant, "policy": ofPolicy,
}

// subscriptFolder replaces subscript digits: "CO₂" becomes "CO2".
var subscriptFolder = strings.NewReplacer("₂", "2")

// splitTokens cuts a question into words and names. A name may hold anything: the
// longest that begins at a word is taken.
func (x *nameIndex) splitTokens(question string) (all []token) {
	s := question + " "
	prev := ""
	for i := 0; i < len(s); {
		c, size := utf8.DecodeRuneInString(s[i:])
		if c == '"' {
			if text, n, ok := readQuoted(s[i:]); ok {
				all = append(all, token{text: text, low: strings.ToLower(text), names: x.namesIn(text, prev), quoted: true, at: i, end: i + n})
				i, prev = i+n, ""
				continue
			}
		}
		if n := x.longestAt(s[i:], prev); n > 0 {
			text := s[i : i+n]
			all = append(all, token{text: text, low: strings.ToLower(text), names: x.namesIn(text, prev), at: i, end: i + n})
			i, prev = i+n, ""
			continue
		}
		if !inWord(c) {
			i += size
			if !strings.ContainsRune(" ?!,.;:'€$/()–—…-\t\n", c) {
				all = append(all, token{text: string(c), low: string(c), at: i - size, end: i})
			}
			continue
		}
		text := readWordAt(s[i:])
		if strings.Trim(text, "-") == "" {
			i += len(text)
			continue
		}
		end := i + len(text)
		text = strings.ReplaceAll(text, ",", "") // 1,000
		prev = strings.ToLower(text)
		all = append(all, token{text: text, low: prev, at: i, end: end})
		i = end
	}
	return all
}

// lowWords returns the words of tokens as the lexicon has them; of a name, one that is no word.
func lowWords(tokens []token) (low []string) {
	for _, t := range tokens {
		if len(t.names) > 0 {
			low = append(low, "\x00")
		} else {
			low = append(low, subscriptFolder.Replace(t.low))
		}
	}
	return low
}

// longestIn returns the entry of the longest phrase that begins words, of at most so many words, and how
// many it has.
func longestIn[V any](phrases map[string]V, words []string, most int) (entry V, n int) {
	for n := min(most, len(words)); n > 0; n-- {
		if entry, ok := phrases[strings.Join(words[:n], " ")]; ok {
			return entry, n
		}
	}
	return entry, 0
}

// quotedText is what stands in quotes, with its quotes; a backslash takes the meaning of what follows it.
var quotedText = regexp.MustCompile(`(?s)"((?:[^"\\]|\\.)*)"`)

// escaped is a character after a backslash.
var escaped = regexp.MustCompile(`(?s)\\(.)`)

// replaceOutsideQuotes applies do to every part of s that is not in quotes.
func replaceOutsideQuotes(s string, do func(string) string) string {
	var b strings.Builder
	from := 0
	for _, at := range quotedText.FindAllStringIndex(s, -1) {
		b.WriteString(do(s[from:at[0]]))
		b.WriteString(s[at[0]:at[1]])
		from = at[1]
	}
	return b.String() + do(s[from:])
}

// namesIn returns what a piece of text names: of the kind that the noun before it gives, if
// there is one, and otherwise of any kind.
func (x *nameIndex) namesIn(text, prev string) []knownName {
	if found := x.findName(text, nouns[prev]); len(found) > 0 {
		return found
	}
	return x.findName(text, "")
}

// readQuoted returns what stands in quotes at the start of s, and how long that is.
func readQuoted(s string) (text string, n int, ok bool) {
	at := quotedText.FindStringSubmatchIndex(s)
	if at == nil || at[0] != 0 {
		return "", 0, false
	}
	return escaped.ReplaceAllString(s[at[2]:at[3]], "$1"), at[1], true
}

// longestAt returns how long the longest name at the start of s is. A name
// that is made of the grammar's own words counts only in quotes or after the
// noun that says what it is; one without letters, in quotes only. Who names a job
// "yesterday" or "at oslo" changes no question that is not about it.
func (x *nameIndex) longestAt(s, prev string) int {
	for n := min(len(s), x.longest); n > 0; n-- {
		if n < len(s) {
			if c, _ := utf8.DecodeRuneInString(s[n:]); !utf8.RuneStart(s[n]) || inWord(c) {
				if last, _ := utf8.DecodeLastRuneInString(s[:n]); inWord(last) || !utf8.RuneStart(s[n]) {
					continue
				}
			}
		}
		if !strings.ContainsFunc(s[:n], inWord) || s[0] == ' ' {
			continue
		}
		found, kind := x.names[strings.ToLower(s[:n])], nouns[prev]
		if len(found) > 0 && (len(x.findName(s[:n], kind)) > 0 && kind != "" || found[0].kind == ofPolicy || (found[0].kind == ofSite || found[0].kind == ofAJob) && !strings.EqualFold(found[0].name, s[:n]) || !x.isOrdinaryText(s[:n])) {
			return n
		}
	}
	return 0
}

// isOrdinaryText reports whether text is made of words that the grammar knows: its own,
// numbers, times, ids of decisions, and names of other things.
func (x *nameIndex) isOrdinaryText(text string) bool {
	low := strings.ToLower(text)
	for w := range strings.FieldsSeq(low) {
		w = strings.TrimSuffix(strings.TrimFunc(w, func(c rune) bool { return !inWord(c) }), "'s")
		_, known := english.phrases[subscriptFolder.Replace(w)]
		_, id := record.ParseDecisionID(w, func(uint64) bool { return false })
		count := isNumber(strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(w, "s"), "gpu"), "-")) // "8", "8-gpu"
		if !known && !id && !count && !isTimeWord(w) && (w == low || len(x.names[w]) == 0) {
			return false
		}
	}
	return true
}

func isNumber(w string) bool { return w != "" && strings.Trim(w, "0123456789") == "" }

// inWord reports whether a rune may be part of a word or a name.
func inWord(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) || c == '-' || c == '_' }

// thousand is the end of 1,000.
var thousand = regexp.MustCompile(`^[0-9],[0-9]{3}\b`)

// readWordAt returns the word at the start of s: letters, digits, and what holds
// them together inside dates, times, numbers and units.
func readWordAt(s string) string {
	end := 0
	for end < len(s) {
		c, size := utf8.DecodeRuneInString(s[end:])
		next, _ := utf8.DecodeRuneInString(s[end+size:])
		joins := strings.ContainsRune("./+%", c) && inWord(next) || c == ':' && unicode.IsDigit(next) || c == ',' && thousand.MatchString(s[max(end-1, 0):])
		if !inWord(c) && !joins {
			break
		}
		end += size
	}
	return s[:end]
}

// longestPhrase returns the longest phrase at the start of words, of so many at
// most.
func longestPhrase(words []string, most int) (int, []string) {
	if concepts, n := longestIn(english.phrases, words, most); n > 0 {
		return n, concepts
	}
	if parts := strings.Split(words[0], "-"); len(parts) > 1 {
		if n, concepts := longestPhrase(parts, english.longest); n == len(parts) {
			return 1, concepts
		}
	}
	return 0, nil
}
