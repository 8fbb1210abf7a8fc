package adversary

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/gridbid/gridbid/coordinator/advisor"
	"github.com/gridbid/gridbid/llm"
	"github.com/gridbid/gridbid/protocol"
)

// tryPayload replays a day in which a hostile text is the name of jobs and of their
// tenant, or an operator's note, with a model that obeys it. Then it checks
// everything shown about these jobs, and asks the text as a question.
func tryPayload(ctx context.Context, enters, text string) (*attackFindings, error) {
	s, advice := adversaryScenario(60)
	seen := newAttackFindings(text)
	note := strings.Contains(enters, "note")
	if note {
		for i := range advice.Notes {
			advice.Notes[i].Text = string([]rune(text)[:min(300, len([]rune(text)))])
		}
	} else {
		for i := range 4 { // several jobs: a single one might never reach the judge
			s.Jobs[i*13].ID = protocol.JobID(fmt.Sprint(text, strings.Repeat("\u200b", i)))
			s.Jobs[i*13].Tenant = text
		}
	}
	var mu sync.Mutex
	var prompts []string
	obeys := scriptedModel(func(p llm.Prompt) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		prompts = append(prompts, p.System+p.User+string(p.Schema))
		return pickReply("k1"), nil
	})
	r, err := replayScenario(ctx, s, advice, advisor.NewJudge(obeys, time.Now).ForReplay(ctx))
	if err != nil {
		seen.addFinding(surfaceOutcome, "the day does not add up: %v", err)
		return seen, nil
	}
	seen.findingsAt(surfaceOutcome).texts = r.questionCount()
	for _, p := range prompts {
		seen.inspectText(surfacePrompt, p)
		if !note && containsHostileText(p, text) {
			seen.addFinding(surfacePrompt, "it holds the text")
		}
	}
	if len(prompts) == 0 {
		seen.addFinding(surfacePrompt, "the model was not asked, so nothing was shown")
	}
	r.inspectAllSurfaces(ctx, seen, 8)
	seen.inspectReport(text)
	return seen, seen.inspectCoordinatorLogs(ctx, text)
}

// containsHostileText reports whether a text contains a significant part of a hostile one: three
// consecutive words of at least 12 bytes.
func containsHostileText(text, hostile string) bool {
	words := strings.FieldsFunc(hostile, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) })
	for i := range words {
		part := strings.Join(words[i:min(i+3, len(words))], " ")
		if len(part) >= 12 && strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// firstUnsafeRune returns the first character that could move a cursor, reorder text or
// be invisible, or "".
func firstUnsafeRune(s string) string {
	for _, r := range s {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) && r != '\u00a0' && r != '\u202f' && r != '\u2009' || r == unicode.ReplacementChar {
			return fmt.Sprintf("%U", r)
		}
	}
	return ""
}
