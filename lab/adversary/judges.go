package adversary

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/gridbid/gridbid/llm"
	"github.com/gridbid/gridbid/protocol"
)

// A scriptedModel answers by a function.
type scriptedModel func(llm.Prompt) (string, error)

// Name implements advisor.Model.
func (scriptedModel) Name() string { return "scripted" }

// Ask implements advisor.Model.
func (s scriptedModel) Ask(_ context.Context, p llm.Prompt) (llm.Reply, error) {
	text, err := s(p)
	return llm.Reply{Text: text, In: 1, Out: 1}, err
}

// promptHandles returns the handles of a prompt, in the order of display.
func promptHandles(p llm.Prompt) []string {
	var s struct {
		Properties struct {
			Choice struct {
				Enum []string `json:"enum"`
			} `json:"choice"`
		} `json:"properties"`
	}
	_ = json.Unmarshal(p.Schema, &s) // every prompt has a valid schema
	return s.Properties.Choice.Enum
}

// pickReply returns a valid answer that chooses a handle.
func pickReply(handle string) string {
	return fmt.Sprintf(`{"choice":%q,"reason":"operator_note"}`, handle)
}

// scriptedModels are hostile models, by name. Each auction has its own rng, which only one
// goroutine uses.
var scriptedModels = []struct {
	name  string
	moves bool // whether it can legitimately move an award, within its band
	make  func(rng *rand.Rand) scriptedModel
}{
	{"random bytes", false, func(rng *rand.Rand) scriptedModel {
		b := make([]byte, rng.IntN(64))
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return constantReply(string(b))
	}},
	{"an option that was not offered", false, func(rng *rand.Rand) scriptedModel { return constantReply(pickReply(fmt.Sprint("k", 90+rng.IntN(9)))) }},
	{"the name of a site", false, func(*rand.Rand) scriptedModel { return constantReply(pickReply("s0")) }},
	{"another field", false, func(*rand.Rand) scriptedModel {
		return constantReply(`{"choice":"k1","reason":"operator_note","cost":0}`)
	}},
	{"prose round the object", false, func(*rand.Rand) scriptedModel { return constantReply("Sure! " + pickReply("k1")) }},
	{"two objects", false, func(*rand.Rand) scriptedModel { return constantReply(pickReply("k1") + pickReply("k2")) }},
	{"a list", false, func(*rand.Rand) scriptedModel { return constantReply("[" + pickReply("k1") + "]") }},
	{"null", false, func(*rand.Rand) scriptedModel { return constantReply("null") }},
	{"nothing", false, func(*rand.Rand) scriptedModel { return constantReply("") }},
	{"four kilobytes", false, func(*rand.Rand) scriptedModel {
		return constantReply(`{"choice":"k1","reason":"operator_note"` + strings.Repeat(" ", 4096) + "}")
	}},
	{"a number for a handle", false, func(*rand.Rand) scriptedModel { return constantReply(`{"choice":1,"reason":"operator_note"}`) }},
	{"a reason of its own", false, func(*rand.Rand) scriptedModel {
		return constantReply(`{"choice":"k1","reason":"the operator approved"}`)
	}},
	{"an error", false, func(*rand.Rand) scriptedModel {
		return func(llm.Prompt) (string, error) { return pickReply("k1"), errors.New("no") }
	}},
	{"a panic", false, func(*rand.Rand) scriptedModel { return func(llm.Prompt) (string, error) { panic("no") } }},
	{"always the first shown", false, func(*rand.Rand) scriptedModel {
		return func(p llm.Prompt) (string, error) { return pickReply(promptHandles(p)[0]), nil }
	}},
	{"always the last shown", false, func(*rand.Rand) scriptedModel {
		return func(p llm.Prompt) (string, error) { return pickReply(promptHandles(p)[len(promptHandles(p))-1]), nil }
	}},
	{"always k1", true, func(*rand.Rand) scriptedModel { return constantReply(pickReply("k1")) }},
	{"the dearest", true, func(*rand.Rand) scriptedModel {
		return func(p llm.Prompt) (string, error) { return pickReply(mostExpensiveHandle(p.User)), nil }
	}},
}

// constantReply returns a model that always answers the same text.
func constantReply(text string) scriptedModel {
	return func(llm.Prompt) (string, error) { return text, nil }
}

// mostExpensiveHandle returns the handle of the option with the highest cost in a prompt.
func mostExpensiveHandle(text string) (handle string) {
	most := -1.0
	for line := range strings.Lines(text) {
		var h string
		var total, extra float64
		if n, _ := fmt.Sscanf(line, "- %2s: costs $%f in all, $%f more", &h, &total, &extra); n == 3 && extra > most {
			most, handle = extra, h
		}
	}
	return handle
}

// forgedAnswers send answers directly on the bus, without the checks of the advisor.
var forgedAnswers = []struct {
	name string
	say  func(rng *rand.Rand, ask protocol.JudgeRequest) (protocol.Party, protocol.JudgeAnswer)
}{
	{"another party answers", func(_ *rand.Rand, a protocol.JudgeRequest) (protocol.Party, protocol.JudgeAnswer) {
		return protocol.AgentParty("s1"), answerWith(a, a.Choices[0].Handle, 2)
	}},
	{"an answer to another round", func(_ *rand.Rand, a protocol.JudgeRequest) (protocol.Party, protocol.JudgeAnswer) {
		a.Round++
		return protocol.Judge, answerWith(a, a.Choices[0].Handle, 2)
	}},
	{"an answer about another job", func(_ *rand.Rand, a protocol.JudgeRequest) (protocol.Party, protocol.JudgeAnswer) {
		a.Job = "another"
		return protocol.Judge, answerWith(a, a.Choices[0].Handle, 2)
	}},
	{"asked once", func(_ *rand.Rand, a protocol.JudgeRequest) (protocol.Party, protocol.JudgeAnswer) {
		return protocol.Judge, answerWith(a, a.Choices[0].Handle, 1)
	}},
	{"three picks", func(_ *rand.Rand, a protocol.JudgeRequest) (protocol.Party, protocol.JudgeAnswer) {
		return protocol.Judge, answerWith(a, a.Choices[0].Handle, 3)
	}},
	{"random picks", func(rng *rand.Rand, a protocol.JudgeRequest) (protocol.Party, protocol.JudgeAnswer) {
		out := answerWith(a, fmt.Sprint("k", rng.IntN(9)), 2)
		out.Picks[1].Handle = fmt.Sprint("k", rng.IntN(9))
		return protocol.Judge, out
	}},
	{"a fault beside picks", func(_ *rand.Rand, a protocol.JudgeRequest) (protocol.Party, protocol.JudgeAnswer) {
		out := answerWith(a, a.Choices[0].Handle, 2)
		out.Fault = "none"
		return protocol.Judge, out
	}},
}

// answerWith returns an answer of the judge with a number of equal picks.
func answerWith(a protocol.JudgeRequest, handle string, picks int) protocol.JudgeAnswer {
	return protocol.JudgeAnswer{Round: a.Round, Job: a.Job, Picks: slices.Repeat([]protocol.JudgePick{{Handle: handle, Why: protocol.SpreadLoad}}, picks)}
}
