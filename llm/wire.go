package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"
)

// An exchange is one request with what came of it, as the wire saw it. It
// travels in the request's context, so calls side by side do not meet.
type exchange struct {
	prompt Prompt
	sent   int // bytes
	usage  usage
	fault  *Error
}

type exchangeKey struct{}

// tokens returns what a call took. A server may count wrongly, or not at all.
func (x *exchange) tokens(text int) (in, out int) {
	in, out = x.usage.In+x.usage.PromptTokens, x.usage.Out+x.usage.CompletionTokens
	if in <= 0 || in > x.sent {
		in = x.sent/4 + 1
	}
	if out <= 0 || out > 1<<20 {
		out = text/4 + 1
	}
	return in, out
}

// A wire carries the library's requests. It is where a request gets what the
// library cannot say, and where a reply is read, whole and within bounds.
type wire struct {
	api    API
	most   int64
	key    Key
	hosted bool // by OpenAI, whose newer models know another field for the most tokens
	client *http.Client
}

// Do implements the library's Doer.
func (w *wire) Do(r *http.Request) (*http.Response, error) {
	x, ok := r.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		return nil, errors.New("llm: a request of nobody's")
	}
	fail := func(e *Error) (*http.Response, error) {
		x.fault = e
		return nil, e
	}
	if err := w.amend(r, x); err != nil {
		return fail(&Error{Fault: Garbled, Detail: "request: " + err.Error()})
	}
	resp, err := w.client.Do(r)
	if err != nil {
		return fail(&Error{Fault: Unreachable, Detail: err.Error()})
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, w.most+1))
	switch {
	case int64(len(body)) > w.most:
		return fail(&Error{Fault: TooBig, Detail: fmt.Sprintf("the reply is over %d bytes", w.most)})
	case err != nil:
		return fail(&Error{Fault: Cut, Detail: err.Error()})
	case resp.StatusCode != http.StatusOK:
		return fail(&Error{Fault: Status, Status: resp.StatusCode, Retry: retry(resp), Detail: string(body)})
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind == "text/event-stream" || kind == "text/html" {
		return fail(&Error{Fault: Garbled, Detail: "the reply is " + kind})
	}
	if e := w.look(body, x); e != nil {
		return fail(e)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// amend puts the schema into a request, names the field for the most tokens as
// the server knows it, and takes off what was not configured.
func (w *wire) amend(r *http.Request, x *exchange) error {
	r.Header.Del("OpenAI-Organization")
	if w.key == "" {
		r.Header.Del("Authorization")
		r.Header.Del("X-Api-Key")
	}
	if r.Body == nil {
		return errors.New("it has no body")
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	if w.api == OpenAI {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(body, &fields); err != nil {
			return err
		}
		if x.prompt.Schema != nil {
			fields["response_format"], err = json.Marshal(map[string]any{"type": "json_schema", "json_schema": map[string]any{
				"name": x.prompt.Name, "strict": true, "schema": x.prompt.Schema,
			}})
			if err != nil {
				return err
			}
		}
		if most, ok := fields["max_completion_tokens"]; ok && !w.hosted {
			fields["max_tokens"] = most
			delete(fields, "max_completion_tokens")
		}
		if body, err = json.Marshal(fields); err != nil {
			return err
		}
	}
	body = []byte(w.key.scrub(string(body))) // its place is the header
	x.sent = len(body)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.GetBody = nil // sent once: a second try would be a second call
	return nil
}

type usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	In               int `json:"input_tokens"`
	Out              int `json:"output_tokens"`
}

// look finds in a reply what the library does not tell of, or does not survive.
func (w *wire) look(body []byte, x *exchange) *Error {
	var reply struct {
		Error   json.RawMessage `json:"error"`
		Usage   usage           `json:"usage"`
		Content []*struct{}     `json:"content"`
		Choices []*struct {
			Message *struct {
				Refusal string `json:"refusal"`
			} `json:"message"`
		} `json:"choices"`
	}
	if err := json.Unmarshal(body, &reply); err != nil {
		return &Error{Fault: Garbled, Detail: "the reply: " + err.Error()}
	}
	x.usage = reply.Usage
	if len(reply.Error) > 0 && string(reply.Error) != "null" {
		return &Error{Fault: Status, Status: http.StatusOK, Detail: string(reply.Error)}
	}
	if w.api == Anthropic {
		if len(reply.Content) == 0 || reply.Content[0] == nil {
			return &Error{Fault: Empty, Detail: "the reply has no content"}
		}
		return nil
	}
	if len(reply.Choices) == 0 || reply.Choices[0] == nil || reply.Choices[0].Message == nil {
		return &Error{Fault: Empty, Detail: "the reply has no message"}
	}
	if why := reply.Choices[0].Message.Refusal; why != "" {
		return &Error{Fault: Declined, Detail: why}
	}
	return nil
}

// retry returns what a Retry-After asks for, if it does so in seconds.
func retry(r *http.Response) time.Duration {
	n, err := strconv.Atoi(r.Header.Get("Retry-After"))
	if err != nil || n < 0 || n > 86_400 {
		return 0
	}
	return time.Duration(n) * time.Second
}
