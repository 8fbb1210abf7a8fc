package llm_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/llm"
	"github.com/gridbid/gridbid/llm/faultyserver"
)

func TestACassetteAnswersAsTheServerDid(t *testing.T) {
	for _, api := range apis {
		path := filepath.Join(t.TempDir(), "tape.jsonl")
		plain := &http.Transport{}
		defer plain.CloseIdleConnections()
		tape, err := llm.RecordTo(path, secret, plain)
		if err != nil {
			t.Fatal(err)
		}
		m, s := serve(t, api, faultyserver.AnswerWith(func(body []byte) string {
			return `{"said":"` + string(secret) + `","first":` + map[bool]string{true: "true", false: "false"}[strings.Contains(string(body), "first")] + `}`
		}), func(c *llm.Config) { c.Transport = tape })
		one, two := prompt, prompt
		one.User, two.User = "first "+string(secret), "second"
		var said [2]llm.Reply
		for i, p := range []llm.Prompt{one, two} {
			if said[i], err = m.Ask(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}
		if err := tape.Close(); err != nil {
			t.Fatal(err)
		}
		kept, err := os.ReadFile(path)
		if err != nil || strings.Contains(string(kept), string(secret)) || strings.Count(string(kept), "\n") != 2 {
			t.Fatalf("%s: the cassette is %s, %v", api, kept, err)
		}

		again, err := llm.ReplayFrom(path)
		if err != nil {
			t.Fatal(err)
		}
		m, err = llm.OpenModel(llm.Config{API: api, URL: s.BaseURL(), Model: "small-1", Key: secret, Transport: again})
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range []llm.Prompt{two, one} {
			if r, err := m.Ask(t.Context(), p); err != nil || r.Text != said[1-i].Text || r.In != said[1-i].In {
				t.Errorf("%s: %+v, %v; want %+v", api, r, err, said[1-i])
			}
		}
		if len(s.RequestBodies()) != 2 {
			t.Errorf("%s: the server was asked %d times; want 2", api, len(s.RequestBodies()))
		}
		two.User = "third"
		if _, err := m.Ask(t.Context(), two); err == nil || !strings.Contains(err.Error(), "recorded") {
			t.Errorf("%s: what was not recorded gets %v", api, err)
		}
	}
}

func TestACassetteIsNotWrittenOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tape.jsonl")
	if err := os.WriteFile(path, []byte("not json\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := llm.RecordTo(path, "", nil); err == nil {
		t.Error("Record writes over a file")
	}
	if _, err := llm.ReplayFrom(path); err == nil || !strings.Contains(err.Error(), ":1:") {
		t.Errorf("Replay = %v; want the line", err)
	}
}
