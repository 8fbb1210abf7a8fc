// Package llm is the only access to language models. It calls servers in the format
// of OpenAI's chat completions (Ollama, vLLM and most hosted services) or of
// Anthropic's messages. It uses langchaingo, which no other package imports.
//
// A call is one prompt and one reply: no tools, no streams, no memory. The package
// turns into errors what the library lets through: a reply that is cut short,
// refused, empty, too long, has tool calls, or is not JSON though the prompt has a
// schema; a panic of the client; a server that hangs. See [Fault].
//
// Promises: Ask returns when its context ends, whatever the server does; no reply
// and no error contains the key; calls and tokens of an hour stay within the
// limits; of the environment only proxy settings are read.
//
// Package coordinator/advisor asks models on behalf of the market; package
// llm/faultyserver is a hostile server for tests.
package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tmc/langchaingo/llms"
)

// An API is a wire format.
type API string

// The formats.
const (
	OpenAI    API = "openai" // the default
	Anthropic API = "anthropic"
)

// A Config is the address of a model and the limits of its cost. The zero of a field
// means its default; URL and Model have none.
type Config struct {
	API   API
	URL   string // the part before "/chat/completions" or "/messages": "http://127.0.0.1:11434/v1"
	Model string
	Key   Key

	Wait     time.Duration // for a reply, if the context has no deadline; default 30s
	MaxReply int64         // bytes of a reply on the wire; default 1 MiB
	Hourly   HourlyLimit
	Tariff   Tariff

	Transport http.RoundTripper // default: plain HTTP; see also [Cassette]
	Now       func() time.Time  // default: time.Now
}

// A Prompt is the input of a call.
type Prompt struct {
	System, User string
	Images       [][]byte        // PNG
	Schema       json.RawMessage // of the reply, which must then be one JSON value; nil: free text
	Name         string          // of the schema
	Tokens       int             // limit for the reply; default 512
}

// A Reply is a complete reply.
type Reply struct {
	Text    string
	In, Out int // tokens counted by the server; estimated from lengths if it does not count
	Elapsed time.Duration
}

// A Model is one model at one server. It is safe for concurrent use.
type Model struct {
	cfg   Config
	chat  llms.Model
	spent spendingMeter
}

// OpenModel returns a model. It opens no connection. The error says which setting is wrong.
func OpenModel(cfg Config) (*Model, error) {
	if cfg.API == "" {
		cfg.API = OpenAI
	}
	if cfg.Wait == 0 {
		cfg.Wait = 30 * time.Second
	}
	if cfg.MaxReply == 0 {
		cfg.MaxReply = 1 << 20
	}
	if cfg.Transport == nil {
		cfg.Transport = http.DefaultTransport.(*http.Transport).Clone()
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	u, err := checkURL(cfg.URL, cfg.Key)
	if err != nil {
		return nil, err
	}
	if strings.ContainsFunc(string(cfg.Key), func(r rune) bool { return r <= ' ' || r > '~' }) { // such a key is no valid header, and each call would fail
		return nil, errors.New("llm: the key has a space, a line break or a character outside of ASCII: want one line with the key alone")
	}
	if cfg.Model == "" {
		return nil, errors.New("llm: model is missing: configure which one the server shall run")
	}
	m := &Model{cfg: cfg, spent: spendingMeter{limit: cfg.Hourly, tariff: cfg.Tariff}}
	m.chat, err = newBackend(cfg, u)
	if err != nil {
		return nil, fmt.Errorf("llm: %s", cfg.Key.removeKey(err.Error()))
	}
	return m, nil
}

// checkURL refuses URLs that would send the key unencrypted or hold a password.
func checkURL(raw string, key Key) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		shown := key.removeKey(raw)
		if i := strings.LastIndex(raw, "@"); i >= 0 { // before the @ there may be a password
			shown = "***" + raw[i:]
		}
		return nil, fmt.Errorf("llm: url %q: want http://HOST/v1 or https://HOST/v1", shown)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("llm: url: it has a user, a query or a fragment; pass the key in a file or in the environment")
	}
	ip := net.ParseIP(u.Hostname())
	if key != "" && u.Scheme == "http" && u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("llm: url %s: the key would cross the network unencrypted; use https, or no key", u)
	}
	return u, nil
}

// Name returns the model's name.
func (m *Model) Name() string { return m.cfg.Model }

// TotalSpending returns the cost of the model so far.
func (m *Model) TotalSpending() Spending { return m.spent.totalSpending() }

// Ask sends a prompt to the model and returns its reply. An error is an [*Error].
func (m *Model) Ask(ctx context.Context, p Prompt) (Reply, error) {
	if p.Tokens == 0 {
		p.Tokens = 512
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, m.cfg.Wait)
		defer cancel()
	}
	began := m.cfg.Now()
	// Four bytes a token is usual; a token has at least one byte.
	guess := (len(p.System)+len(p.User)+len(p.Schema))/4 + p.Tokens
	hour, ok := m.spent.reserveCall(began, guess)
	if !ok {
		return Reply{}, &Error{Fault: OverBudget, Detail: "the calls or tokens of this hour are spent"}
	}
	type outcome struct {
		reply Reply
		err   error
	}
	done := make(chan outcome, 1) // buffered, so that a late reply does not block its goroutine for ever
	go func() {
		r, err := m.callServer(ctx, p)
		done <- outcome{r, err}
	}()
	var out outcome
	select {
	case out = <-done:
	case <-ctx.Done():
		out.err = &Error{Fault: Late, Detail: "no whole reply in time"}
	}
	if out.err != nil {
		m.spent.chargeCall(hour, guess, 0, 0, false)
		return Reply{}, m.explainError(ctx, out.err)
	}
	m.spent.chargeCall(hour, guess, out.reply.In, out.reply.Out, true)
	out.reply.Elapsed = m.cfg.Now().Sub(began)
	return out.reply, nil
}

// explainError converts any error to an [*Error] without the key.
func (m *Model) explainError(ctx context.Context, err error) error {
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{Fault: Garbled, Detail: err.Error()}
	}
	if ctx.Err() != nil { // the library hides the error of the context
		e = &Error{Fault: Late, Detail: "no whole reply in time", ended: ctx.Err()}
	}
	e.Detail = m.cfg.Key.safeExcerpt(e.Detail)
	return e
}

// callServer sends the prompt to the server and checks the reply.
func (m *Model) callServer(ctx context.Context, p Prompt) (reply Reply, err error) {
	x := &exchange{prompt: p}
	defer func() {
		if v := recover(); v != nil {
			reply, err = Reply{}, &Error{Fault: Garbled, Detail: fmt.Sprint("the client panicked: ", v)}
		}
	}()
	resp, err := m.chat.GenerateContent(context.WithValue(ctx, exchangeKey{}, x), promptMessages(m.cfg.API, p), llms.WithMaxTokens(p.Tokens))
	switch {
	case ctx.Err() != nil:
		return Reply{}, &Error{Fault: Late, Detail: "no whole reply in time"}
	case x.fault != nil:
		return Reply{}, x.fault
	case err != nil:
		return Reply{}, err
	}
	text, err := completeText(m.cfg.API, resp)
	if err != nil {
		return Reply{}, err
	}
	if p.Schema != nil && !json.Valid([]byte(text)) {
		return Reply{}, &Error{Fault: Garbled, Detail: "the reply is not JSON"}
	}
	reply.Text = m.cfg.Key.removeKey(text)
	reply.In, reply.Out = x.tokenCounts(len(text))
	return reply, nil
}

// completeText returns the text of a reply, or an error if the reply is not complete text.
func completeText(api API, r *llms.ContentResponse) (string, error) {
	var text strings.Builder
	for i, c := range r.Choices {
		if c == nil || api == OpenAI && i > 0 {
			continue // in Anthropic's format choices are blocks of one reply; in OpenAI's further choices were not requested
		}
		switch c.StopReason {
		case "length", "max_tokens":
			return "", &Error{Fault: Cut, Detail: "the reply ends at its most tokens"}
		case "content_filter", "refusal":
			return "", &Error{Fault: Declined, Detail: "the server withholds the reply"}
		}
		if len(c.ToolCalls) > 0 || c.FuncCall != nil {
			return "", &Error{Fault: ToolCall, Detail: "the reply calls a tool, and none was offered"}
		}
		text.WriteString(c.Content)
	}
	if strings.TrimSpace(text.String()) == "" {
		return "", &Error{Fault: Empty, Detail: "the reply is empty"}
	}
	return text.String(), nil
}
