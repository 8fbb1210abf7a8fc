package adversary

import (
	"fmt"
	"slices"
	"strings"
)

// A readingSurface is a place where a person, a program or a model reads output of the system.
type readingSurface string

// Surfaces.
const (
	surfacePrompt  readingSurface = "prompt" // sent to a model
	surfaceLedger  readingSurface = "ledger" // raw, and as gridbid messages prints it
	surfaceWhy     readingSurface = "why"
	surfaceRecord  readingSurface = "record"
	surfaceAsk     readingSurface = "ask"
	surfaceChat    readingSurface = "chat"
	surfacePolicy  readingSurface = "policy" // the change that an operator is asked to confirm
	surfacePage    readingSurface = "page"
	surfaceTools   readingSurface = "mcp"
	surfaceChart   readingSurface = "chart"
	surfaceReport  readingSurface = "report"
	surfaceLog     readingSurface = "log"
	surfaceOutcome readingSurface = "outcome" // the market's decisions
)

// allSurfaces lists all surfaces in the order of display.
var allSurfaces = []readingSurface{surfaceOutcome, surfacePrompt, surfaceLedger, surfaceWhy, surfaceRecord, surfaceAsk, surfaceChat, surfacePolicy, surfacePage, surfaceTools, surfaceChart, surfaceReport, surfaceLog}

// A surfaceFindings is the result of one attack on one surface.
type surfaceFindings struct {
	texts  int
	broken []string
}

// attackFindings are the results of one attack on all surfaces.
type attackFindings struct {
	hostile   string // the hostile text; "" if the attack has none
	bySurface map[readingSurface]*surfaceFindings
}

// newAttackFindings returns empty results of an attack with a hostile text.
func newAttackFindings(hostile string) *attackFindings {
	return &attackFindings{hostile, make(map[readingSurface]*surfaceFindings)}
}

// findingsAt returns the result on a surface and creates it if necessary.
func (s *attackFindings) findingsAt(where readingSurface) *surfaceFindings {
	if s.bySurface[where] == nil {
		s.bySurface[where] = new(surfaceFindings)
	}
	return s.bySurface[where]
}

// inspectText counts a text and checks it for what must not appear on any surface.
func (s *attackFindings) inspectText(where readingSurface, text string) {
	s.findingsAt(where).texts++
	if bad := firstUnsafeRune(text); bad != "" {
		s.addFinding(where, "it shows %s", bad)
	}
	s.checkSecrets(where, text)
}

// checkSecrets complains about a text that contains the model's key or instructions.
func (s *attackFindings) checkSecrets(where readingSurface, text string) {
	if strings.Contains(text, string(modelKey)) {
		s.addFinding(where, "it tells the key")
	}
	if where != surfacePrompt && strings.Contains(text, "You choose where") {
		s.addFinding(where, "it tells the prompt")
	}
}

// addFinding records a violation on a surface, once.
func (s *attackFindings) addFinding(where readingSurface, format string, args ...any) {
	x := s.findingsAt(where)
	if text := fmt.Sprintf(format, args...); !slices.Contains(x.broken, text) {
		x.broken = append(x.broken, text)
	}
}

// resultRows returns one row for each surface that was checked.
func (s *attackFindings) resultRows(id, what string) (all []AttackResult) {
	for _, where := range allSurfaces {
		x, seen := s.bySurface[where]
		if !seen {
			continue
		}
		r := AttackResult{ID: id, Surface: string(where), Checks: x.texts, What: what, Held: len(x.broken) == 0, Detail: fmt.Sprintf("%d looked at", x.texts)}
		if !r.Held {
			r.Detail = strings.Join(x.broken, "; ")
		}
		all = append(all, r)
	}
	return all
}
