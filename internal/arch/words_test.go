package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
	"testing"
	"unicode"
)

// retired maps private words of the first house to the terms of the field that
// replaced them. No exported name may hold one, so that they cannot come back.
var retired = map[string]string{
	"again":      "requeue, retry or repeated",
	"aside":      "headroom",
	"attend":     "reconcile",
	"believable": "valid bid",
	"beside":     "side party or local neighbour",
	"board":      "job status",
	"boast":      "overbid",
	"book":       "history",
	"books":      "event log",
	"borrow":     "adopt",
	"brought":    "snapshot",
	"clerk":      "input recorder",
	"conduct":    "policy config",
	"deaf":       "ignores the source",
	"dear":       "expensive",
	"desk":       "API server",
	"diary":      "timeline",
	"doubt":      "validation",
	"ears":       "deduplicator",
	"ebb":        "drain time",
	"elsewhere":  "other site",
	"errand":     "local request",
	"errands":    "local requests",
	"everybody":  "all parties",
	"evil":       "hostile",
	"fate":       "outcome",
	"favourite":  "best option",
	"feed":       "signal source",
	"foresee":    "forecast",
	"foretold":   "forecast",
	"forth":      "forecast horizon",
	"furthest":   "maximum",
	"giveback":   "hand-over",
	"gone":       "decommissioned, removed or ended",
	"govern":     "set policy",
	"greet":      "register",
	"greeting":   "registration",
	"habit":      "bid strategy",
	"habits":     "trait rates",
	"hands":      "executor",
	"haste":      "early start",
	"hasten":     "clamp retries",
	"haul":       "load",
	"hear":       "receive",
	"heard":      "received",
	"hearing":    "job round",
	"hears":      "receives",
	"heed":       "handle",
	"heeded":     "accepted",
	"hello":      "registration",
	"hindered":   "pending",
	"impostor":   "unauthenticated sender",
	"keeper":     "event-sourced machine",
	"knows":      "contains or serves",
	"lapsed":     "expired",
	"lasting":    "reconnecting",
	"led":        "leader's term",
	"lent":       "external",
	"letgo":      "release",
	"lied":       "misreported",
	"lived":      "incarnation",
	"lives":      "incarnations",
	"looks":      "samples or evaluations",
	"lull":       "batch delay",
	"manners":    "fault modes",
	"matter":     "case",
	"matters":    "cases",
	"mend":       "repair",
	"menu":       "bids of a job",
	"mischief":   "fault injection",
	"mouth":      "sender",
	"moved":      "shifted, changed or transferred",
	"namesake":   "instance of a job id",
	"nobody":     "no-op implementation",
	"notebook":   "archive",
	"numb":       "grace period",
	"outbox":     "persister",
	"outlook":    "forecast",
	"owe":        "send reliably",
	"owed":       "pending acknowledgement",
	"owes":       "pending acknowledgements",
	"parcel":     "batch",
	"patient":    "deferrable",
	"piecework":  "paused run",
	"proclaim":   "announce",
	"purse":      "budget",
	"remind":     "retransmit",
	"robbed":     "preempted",
	"rogue":      "misbehaving party",
	"rough":      "approximate",
	"said":       "concepts, sent or reported",
	"say":        "send",
	"says":       "sends",
	"scene":      "layout",
	"scribe":     "recorder",
	"scroll":     "log",
	"settle":     "synchronize, drain or compute the settlement",
	"shade":      "misreport or color pair",
	"shaded":     "misreported",
	"shader":     "misreporting agent",
	"sights":     "findings",
	"sitting":    "replayed judge",
	"slip":       "typo",
	"somebody":   "party",
	"spurn":      "renege",
	"spurns":     "reneges",
	"stage":      "replay setup",
	"standing":   "status",
	"stands":     "confirmed or has status",
	"stint":      "run segment",
	"stints":     "run segments",
	"stir":       "wake waiting jobs",
	"stood":      "restored",
	"stray":      "orphaned run",
	"talk":       "conversation",
	"tardy":      "late start",
	"tell":       "report",
	"teller":     "exporter",
	"telling":    "report",
	"temptation": "gain from misreporting",
	"tend":       "reconcile pods",
	"told":       "reported or published",
	"took":       "accepted, processed or elapsed",
	"tricks":     "attacks",
	"trifle":     "minimum saving",
	"tunes":      "tuned parameters",
	"turnstile":  "fair queue",
	"unbound":    "non-binding",
	"unheard":    "silent",
	"unsold":     "not awarded",
	"untrue":     "distrusted",
	"unwell":     "unhealthy",
	"upped":      "live federation",
	"useless":    "fragmented or unusable",
	"usual":      "default or typical",
	"watchman":   "guard process",
	"whoever":    "the named party",
	"wish":       "policy request",
	"wishes":     "pending policy requests",
}

func TestPlantedRetiredWordsAreFound(t *testing.T) {
	for _, tc := range []struct{ name, code, want string }{
		{"a type", "// KubeHands is.\ntype KubeHands int", `KubeHands holds the retired word "hands"; the term is executor`},
		{"a function", "// OpenDiary is.\nfunc OpenDiary() {}", `OpenDiary holds the retired word "diary"; the term is timeline`},
		{"a method", "// T is.\ntype T int\n// Proclaim is.\nfunc (T) Proclaim() {}", `Proclaim holds the retired word "proclaim"; the term is announce`},
		{"a field", "// T is.\ntype T struct{ Mouth int }", `Mouth holds the retired word "mouth"; the term is sender`},
		{"a constant", "// MaxLull is.\nconst MaxLull = 1", `MaxLull holds the retired word "lull"; the term is batch delay`},
		{"a method of an interface", "// T is.\ntype T interface{ Errand() }", `Errand holds the retired word "errand"; the term is local request`},
		{"a name that only begins alike", "// Handshake is.\ntype Handshake int", ""},
		{"a name that is not exported", "type hands int", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := strings.Join(planted(t, "agents/power", tc.code, ""), "\n")
			if _, what, _ := strings.Cut(got, ": "); what != tc.want {
				t.Errorf("found %q, want %q", got, tc.want)
			}
		})
	}
}

// retiredWords returns a complaint for each exported name of p that holds a retired
// word. Methods and fields count, whether their type is exported or not.
func retiredWords(p *pkg) (wrong []string) {
	check := func(id *ast.Ident) {
		if !id.IsExported() {
			return
		}
		for _, word := range wordsOf(id.Name) {
			if term, ok := retired[word]; ok {
				wrong = append(wrong, fmt.Sprintf("%s: %s holds the retired word %q; the term is %s", p.at(id), id.Name, word, term))
			}
		}
	}
	for _, f := range p.files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				check(d.Name)
			case *ast.GenDecl:
				if d.Tok == token.IMPORT {
					continue
				}
				for _, s := range d.Specs {
					eachDeclaredName(s, check)
				}
			}
		}
	}
	return wrong
}

// eachDeclaredName calls check for the names that s declares: those of values and
// types, and the fields and methods of a type.
func eachDeclaredName(s ast.Spec, check func(*ast.Ident)) {
	switch s := s.(type) {
	case *ast.ValueSpec:
		for _, id := range s.Names {
			check(id)
		}
	case *ast.TypeSpec:
		check(s.Name)
		ast.Inspect(s.Type, func(n ast.Node) bool {
			if f, ok := n.(*ast.Field); ok {
				for _, id := range f.Names {
					check(id)
				}
			}
			return true
		})
	}
}

// wordsOf returns the words of a name in camel case, in lower case.
func wordsOf(name string) (words []string) {
	runes := []rune(name)
	from := 0
	for i := 1; i <= len(runes); i++ {
		if i == len(runes) || unicode.IsUpper(runes[i]) && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			words = append(words, strings.ToLower(string(runes[from:i])))
			from = i
		}
	}
	return words
}
