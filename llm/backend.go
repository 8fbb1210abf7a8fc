package llm

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/anthropic"
	"github.com/tmc/langchaingo/llms/openai"
)

// placeholderKey stands in for a missing key: without one the library would read the
// environment. The wire removes it from each request.
const placeholderKey = Key("no-key")

// newBackend returns the library's client on top of our wire. It sets every option
// that the library would otherwise read from the environment.
func newBackend(cfg Config, u *url.URL) (llms.Model, error) {
	key := cfg.Key
	if key == "" {
		key = placeholderKey
	}
	w := &wire{api: cfg.API, most: cfg.MaxReply, key: cfg.Key, hosted: u.Hostname() == "api.openai.com", client: &http.Client{
		Transport: cfg.Transport,
		// A redirect would send the key and the prompt to another server.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	base := strings.TrimSuffix(u.String(), "/")
	switch cfg.API {
	case OpenAI:
		return openai.New(openai.WithBaseURL(base), openai.WithToken(string(key)), openai.WithModel(cfg.Model),
			openai.WithOrganization(""), openai.WithAPIType(openai.APITypeOpenAI), openai.WithHTTPClient(w))
	case Anthropic:
		return anthropic.New(anthropic.WithBaseURL(base), anthropic.WithToken(string(key)), anthropic.WithModel(cfg.Model),
			anthropic.WithHTTPClient(w))
	}
	return nil, fmt.Errorf("api %q: want %s or %s", cfg.API, OpenAI, Anthropic)
}

// promptMessages converts a prompt to the library's messages.
func promptMessages(api API, p Prompt) []llms.MessageContent {
	system := p.System
	if api == Anthropic && p.Schema != nil { // its format has no field for a schema
		system += "\n\nAnswer with one JSON object and nothing else. It fits this JSON Schema: " + string(p.Schema)
	}
	user := llms.MessageContent{Role: llms.ChatMessageTypeHuman, Parts: []llms.ContentPart{llms.TextPart(p.User)}}
	for _, png := range p.Images {
		if api == OpenAI {
			user.Parts = append(user.Parts, llms.ImageURLPart("data:image/png;base64,"+base64.StdEncoding.EncodeToString(png)))
		} else {
			user.Parts = append(user.Parts, llms.BinaryPart("image/png", png))
		}
	}
	if system == "" {
		return []llms.MessageContent{user}
	}
	return []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeSystem, system), user}
}
