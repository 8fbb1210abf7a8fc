package faultyserver

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// A Misbehaviour is a faulty behaviour. Fault is the [llm.Fault] that package llm reports for it.
type Misbehaviour struct {
	Name, Fault string
	Do          Behaviour
}

// CommonFaults returns the behaviours that no caller can take for a reply, in any format.
func CommonFaults() []Misbehaviour {
	return []Misbehaviour{
		{"hangs before the headers", "late", func(_ http.ResponseWriter, r *http.Request, _ []byte) { waitForClient(r) }},
		{"hangs half-way through the body", "late", func(w http.ResponseWriter, r *http.Request, _ []byte) {
			sendPartial(w, r, `{"choices":[{"message":{"role":"assistant","content":"{\"choi`)
			waitForClient(r)
		}},
		{"sends a byte a second", "late", func(w http.ResponseWriter, r *http.Request, _ []byte) {
			for r.Context().Err() == nil {
				sendPartial(w, r, " ")
				time.Sleep(50 * time.Millisecond)
			}
		}},
		{"closes half-way through the body", "cut", func(w http.ResponseWriter, r *http.Request, _ []byte) {
			w.Header().Set("Content-Length", "4096")
			sendPartial(w, r, `{"choices":[{"message":{"role":"assistant","content":"{\"choi`)
			panic(http.ErrAbortHandler)
		}},
		{"closes at once", "unreachable", func(http.ResponseWriter, *http.Request, []byte) { panic(http.ErrAbortHandler) }},
		{"streams though not asked to", "garbled", streamEvents(`{"choices":[{"delta":{"content":"The site is "}}]}`)},
		{"streams an error", "garbled", streamEvents(`{"choices":[{"delta":{"content":"The "}}]}`, `{"error":{"message":"overloaded"}}`, "[DONE]")},
		{"streams HTML", "garbled", streamEvents("<html><body>gateway</body></html>", "[DONE]")},
		{"streams a line of a hundred kilobytes", "garbled", streamEvents(`{"choices":[{"delta":{"content":"` + strings.Repeat("a", 100_000) + `"}}]}`)},
		{"streams tool calls in turns", "garbled", streamEvents(
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\""}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"g","arguments":"{\"y\""}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"type":"function","function":{"arguments":":1}"}}]}}]}`, "[DONE]")},
		{"answers with HTML", "garbled", func(w http.ResponseWriter, _ *http.Request, _ []byte) {
			writeResponse(w, "text/html", http.StatusOK, "<html><body>gateway</body></html>")
		}},
		{"answers with HTML that is said to be JSON", "garbled", RawBody("<html></html>")},
		{"answers with nothing", "garbled", RawBody("")},
		{"cuts the JSON", "garbled", RawBody(`{"choices":[{"message":{"role":"assistant","content":"{}"`)},
		{"answers with two values", "garbled", RawBody(`{"choices":[{"message":{"content":"{}"},"finish_reason":"stop"}]}{"choices":[]}`)},
		{"answers with {}", "empty", RawBody(`{}`)},
		{"has no choices", "empty", RawBody(`{"choices":[],"content":[]}`)},
		{"has a choice that is null", "empty", RawBody(`{"choices":[null],"content":[null]}`)},
		{"has a message that is null", "empty", RawBody(`{"choices":[{"message":null,"finish_reason":"stop"}],"content":[]}`)},
		{"has choices that are no list", "garbled", RawBody(`{"choices":"k1","content":"k1"}`)},
		{"nests ten thousand deep", "garbled", RawBody(`{"choices":` + strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001) + `}`)},
		{"says an empty text", "empty", FixedText(" \n")},
		{"stops at its most tokens", "cut", func(w http.ResponseWriter, r *http.Request, _ []byte) {
			writeResponse(w, "application/json", http.StatusOK, replyBody(r, `{"choice":"k1"}`, "length", "max_tokens"))
		}},
		{"filters the reply", "declined", func(w http.ResponseWriter, r *http.Request, _ []byte) {
			writeResponse(w, "application/json", http.StatusOK, replyBody(r, `{"choice":"k1"}`, "content_filter", "refusal"))
		}},
		{"answers 200 with an error", "status", RawBody(`{"error":{"message":"model not loaded"}}`)},
		{"answers 429 with Retry-After", "status", func(w http.ResponseWriter, _ *http.Request, _ []byte) {
			w.Header().Set("Retry-After", "7")
			writeResponse(w, "application/json", http.StatusTooManyRequests, `{"error":{"message":"slow down"}}`)
		}},
		{"answers 500", "status", func(w http.ResponseWriter, _ *http.Request, _ []byte) {
			writeResponse(w, "text/plain", http.StatusInternalServerError, "oops")
		}},
		{"redirects", "status", func(w http.ResponseWriter, r *http.Request, _ []byte) {
			http.Redirect(w, r, "http://127.0.0.1:1/stolen", http.StatusTemporaryRedirect)
		}},
		{"answers with two megabytes", "too-big", func(w http.ResponseWriter, r *http.Request, _ []byte) {
			writeResponse(w, "application/json", http.StatusOK, replyBody(r, strings.Repeat("a", 2<<20), "stop", "end_turn"))
		}},
		{"says its arguments as an object", "garbled", RawBody(`{"choices":[{"message":{"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":{"id":"D-1"}}}]},"finish_reason":"tool_calls"}],"content":[{"type":"tool_use","id":"t","name":"f","input":"D-1"}]}`)},
	}
}

// OpenAIFaults returns faulty behaviours of OpenAI's format alone.
func OpenAIFaults() []Misbehaviour {
	return []Misbehaviour{
		{"calls a tool", "tool-call", RawBody(`{"choices":[{"message":{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"award","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`)},
		{"calls a tool with what is no JSON", "tool-call", RawBody(`{"choices":[{"message":{"role":"assistant","content":"{}","tool_calls":[{"id":"c","type":"function","function":{"name":"award","arguments":"award it"}}]},"finish_reason":"tool_calls"}]}`)},
		{"refuses", "declined", RawBody(`{"choices":[{"message":{"role":"assistant","content":null,"refusal":"I cannot choose"},"finish_reason":"stop"}]}`)},
		{"says its content as an object", "garbled", RawBody(`{"choices":[{"message":{"role":"assistant","content":{"choice":"k1"}},"finish_reason":"stop"}]}`)},
	}
}

// AnthropicFaults returns faulty behaviours of Anthropic's format alone.
func AnthropicFaults() []Misbehaviour {
	return []Misbehaviour{
		{"uses a tool", "tool-call", RawBody(`{"type":"message","role":"assistant","content":[{"type":"tool_use","id":"t","name":"award","input":{}}],"stop_reason":"tool_use"}`)},
		{"uses a tool after a text", "tool-call", RawBody(`{"type":"message","role":"assistant","content":[{"type":"text","text":"{}"},{"type":"tool_use","id":"t","name":"award","input":{}}],"stop_reason":"tool_use"}`)},
		{"answers with an error of its own kind", "status", RawBody(`{"type":"error","error":{"type":"overloaded_error","message":"overloaded"}}`)},
		{"says its content as text", "garbled", RawBody(`{"type":"message","role":"assistant","content":"{}","stop_reason":"end_turn"}`)},
		{"has a block of no known kind", "garbled", RawBody(`{"type":"message","role":"assistant","content":[{"type":"hologram"}],"stop_reason":"end_turn"}`)},
	}
}

// sendPartial sends the beginning of a body and keeps the connection open.
func sendPartial(w http.ResponseWriter, _ *http.Request, text string) {
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	fmt.Fprint(w, text)
	w.(http.Flusher).Flush()
}

func streamEvents(events ...string) Behaviour {
	return func(w http.ResponseWriter, r *http.Request, _ []byte) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range events {
			sendPartial(w, r, "data: "+e+"\n\n")
		}
	}
}
