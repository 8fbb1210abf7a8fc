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

// A model answers by a function.
type model func(llm.Prompt) (string, error)

// Name implements advise.Model.
func (model) Name() string { return "scripted" }

// Ask implements advise.Model.
func (s model) Ask(_ context.Context, p llm.Prompt) (llm.Reply, error) {
	text, err := s(p)
	return llm.Reply{Text: text, In: 1, Out: 1}, err
}

// offered returns the handles of a prompt, in the order shown.
func offered(p llm.Prompt) []string {
	var s struct {
		Properties struct {
			Choice struct {
				Enum []string `json:"enum"`
			} `json:"choice"`
		} `json:"properties"`
	}
	_ = json.Unmarshal(p.Schema, &s) // a prompt of ours has one
	return s.Properties.Choice.Enum
}

func pick(handle string) string {
	return fmt.Sprintf(`{"choice":%q,"reason":"operator_note"}`, handle)
}

// models are what a model may say, by name; rng is its own of each auction, and
// never used by two goroutines.
var models = []struct {
	name  string
	moves bool // it may move an award, within its band
	make  func(rng *rand.Rand) model
}{
	{"random bytes", false, func(rng *rand.Rand) model {
		b := make([]byte, rng.IntN(64))
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return say(string(b))
	}},
	{"an option that was not offered", false, func(rng *rand.Rand) model { return say(pick(fmt.Sprint("k", 90+rng.IntN(9)))) }},
	{"the name of a site", false, func(*rand.Rand) model { return say(pick("s0")) }},
	{"another field", false, func(*rand.Rand) model { return say(`{"choice":"k1","reason":"operator_note","cost":0}`) }},
	{"prose round the object", false, func(*rand.Rand) model { return say("Sure! " + pick("k1")) }},
	{"two objects", false, func(*rand.Rand) model { return say(pick("k1") + pick("k2")) }},
	{"a list", false, func(*rand.Rand) model { return say("[" + pick("k1") + "]") }},
	{"null", false, func(*rand.Rand) model { return say("null") }},
	{"nothing", false, func(*rand.Rand) model { return say("") }},
	{"four kilobytes", false, func(*rand.Rand) model {
		return say(`{"choice":"k1","reason":"operator_note"` + strings.Repeat(" ", 4096) + "}")
	}},
	{"a number for a handle", false, func(*rand.Rand) model { return say(`{"choice":1,"reason":"operator_note"}`) }},
	{"a reason of its own", false, func(*rand.Rand) model { return say(`{"choice":"k1","reason":"the operator approved"}`) }},
	{"an error", false, func(*rand.Rand) model {
		return func(llm.Prompt) (string, error) { return pick("k1"), errors.New("no") }
	}},
	{"a panic", false, func(*rand.Rand) model { return func(llm.Prompt) (string, error) { panic("no") } }},
	{"always the first shown", false, func(*rand.Rand) model { return func(p llm.Prompt) (string, error) { return pick(offered(p)[0]), nil } }},
	{"always the last shown", false, func(*rand.Rand) model {
		return func(p llm.Prompt) (string, error) { return pick(offered(p)[len(offered(p))-1]), nil }
	}},
	{"always k1", true, func(*rand.Rand) model { return say(pick("k1")) }},
	{"the dearest", true, func(*rand.Rand) model {
		return func(p llm.Prompt) (string, error) { return pick(dearest(p.User)), nil }
	}},
}

func say(text string) model { return func(llm.Prompt) (string, error) { return text, nil } }

// dearest returns the handle of the option that a prompt says costs most.
func dearest(text string) (handle string) {
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

// impostors are what a party that calls itself the judge may say: they do not
// pass through the door, but speak on the bus.
var impostors = []struct {
	name string
	say  func(rng *rand.Rand, ask protocol.Ask) (protocol.Party, protocol.Answer)
}{
	{"another party answers", func(_ *rand.Rand, a protocol.Ask) (protocol.Party, protocol.Answer) {
		return protocol.Agent("s1"), answer(a, a.Choices[0].Handle, 2)
	}},
	{"an answer to another round", func(_ *rand.Rand, a protocol.Ask) (protocol.Party, protocol.Answer) {
		a.Round++
		return protocol.Judge, answer(a, a.Choices[0].Handle, 2)
	}},
	{"an answer about another job", func(_ *rand.Rand, a protocol.Ask) (protocol.Party, protocol.Answer) {
		a.Job = "another"
		return protocol.Judge, answer(a, a.Choices[0].Handle, 2)
	}},
	{"asked once", func(_ *rand.Rand, a protocol.Ask) (protocol.Party, protocol.Answer) {
		return protocol.Judge, answer(a, a.Choices[0].Handle, 1)
	}},
	{"three picks", func(_ *rand.Rand, a protocol.Ask) (protocol.Party, protocol.Answer) {
		return protocol.Judge, answer(a, a.Choices[0].Handle, 3)
	}},
	{"random picks", func(rng *rand.Rand, a protocol.Ask) (protocol.Party, protocol.Answer) {
		out := answer(a, fmt.Sprint("k", rng.IntN(9)), 2)
		out.Picks[1].Handle = fmt.Sprint("k", rng.IntN(9))
		return protocol.Judge, out
	}},
	{"a fault beside picks", func(_ *rand.Rand, a protocol.Ask) (protocol.Party, protocol.Answer) {
		out := answer(a, a.Choices[0].Handle, 2)
		out.Fault = "none"
		return protocol.Judge, out
	}},
}

func answer(a protocol.Ask, handle string, picks int) protocol.Answer {
	return protocol.Answer{Round: a.Round, Job: a.Job, Picks: slices.Repeat([]protocol.Pick{{Handle: handle, Why: protocol.SpreadLoad}}, picks)}
}
