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

// An exchange is one request with what the wire found in its reply. It travels in
// the request's context, so that concurrent calls do not mix.
type exchange struct {
	prompt Prompt
	sent   int // bytes
	usage  usage
	fault  *Error
}

type exchangeKey struct{}

// tokenCounts returns the tokens of a call. It estimates them from lengths if the
// server's count is missing or implausible.
func (x *exchange) tokenCounts(text int) (in, out int) {
	in, out = x.usage.In+x.usage.PromptTokens, x.usage.Out+x.usage.CompletionTokens
	if in <= 0 || in > x.sent {
		in = x.sent/4 + 1
	}
	if out <= 0 || out > 1<<20 {
		out = text/4 + 1
	}
	return in, out
}

// A wire sends the library's requests. It adds what the library cannot express, and
// reads replies completely and within a bound.
type wire struct {
	api    API
	most   int64
	key    Key
	hosted bool // the server is OpenAI's, whose newer models have another field for the token limit
	client *http.Client
}

// Do implements the library's Doer.
func (w *wire) Do(r *http.Request) (*http.Response, error) {
	x, ok := r.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		return nil, errors.New("llm: a request outside of a call")
	}
	fail := func(e *Error) (*http.Response, error) {
		x.fault = e
		return nil, e
	}
	if err := w.amendRequest(r, x); err != nil {
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
		return fail(&Error{Fault: Status, Status: resp.StatusCode, Retry: retryAfter(resp), Detail: string(body)})
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind == "text/event-stream" || kind == "text/html" {
		return fail(&Error{Fault: Garbled, Detail: "the reply is " + kind})
	}
	if e := w.inspectReply(body, x); e != nil {
		return fail(e)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// amendRequest adds the schema to a request, uses the field for the token limit that the
// server knows, and removes headers that were not configured.
func (w *wire) amendRequest(r *http.Request, x *exchange) error {
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
	body = []byte(w.key.removeKey(string(body))) // a key belongs in the header only; a prompt must not leak it
	x.sent = len(body)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.GetBody = nil // no automatic retry: it would be a second call, outside of the limits
	return nil
}

type usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	In               int `json:"input_tokens"`
	Out              int `json:"output_tokens"`
}

// inspectReply finds what the library does not report or would crash on, and counts tokens.
func (w *wire) inspectReply(body []byte, x *exchange) *Error {
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

// retryAfter returns the delay of a Retry-After header, if it is in seconds.
func retryAfter(r *http.Response) time.Duration {
	n, err := strconv.Atoi(r.Header.Get("Retry-After"))
	if err != nil || n < 0 || n > 86_400 {
		return 0
	}
	return time.Duration(n) * time.Second
}
