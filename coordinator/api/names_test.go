package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/protocol"
)

// A job that names a GPU model or a site that there is not is refused before anything is
// submitted, with the names that there are. Before the first site is known nothing can be said.
func TestUnknownNamesAreRefusedAtSubmission(t *testing.T) {
	w := newWindow(t)
	took := 0
	take := func(m protocol.Message) protocol.Body {
		took++
		return protocol.Confirm{Job: m.Body.(protocol.Submit).Job.ID, Code: protocol.Acknowledged}
	}
	if code, text := w.post("/v1/jobs", "application/yaml", "id: early\ngpus: 1\nrun: 1h\nmodels: [A10]\n", take); code != http.StatusOK || took != 1 {
		t.Errorf("without a site: %d %s; want the job taken", code, text)
	}
	for _, r := range []protocol.RegisterSite{
		{Site: "hydro-north", Pools: []protocol.Pool{{Model: "A100", Nodes: 1, GPUs: 8}, {Model: "T4", Nodes: 1, GPUs: 2}, {Nodes: 3}}},
		{Site: "oslo", Pools: []protocol.Pool{{Model: "H100", Nodes: 1, GPUs: 8}}},
	} {
		w.desk.ObserveMessages([]protocol.Message{(&protocol.Sender{Party: protocol.AgentParty(r.Site)}).NewMessage(noon, protocol.Coordinator, r)}, nil)
	}
	took = 0
	for text, want := range map[string][]string{
		"models: [A100, B200]":        {`models: no site has a GPU of model "B200"`, `there are "A100", "H100" and "T4"`},
		"models: [A10]":               {`did you mean "A100"?`},
		"regions: [mars]":             {`regions: unknown site "mars"`, `there are "hydro-north" and "oslo"`},
		"regions: [hydro-nort, oslo]": {`did you mean "hydro-north"?`},
		"home: olso":                  {`home: unknown site "olso"`, `did you mean "oslo"?`},
	} {
		for _, path := range []string{"/v1/jobs", "/v1/quotes"} {
			code, answer := w.post(path, "application/yaml", "id: a\ngpus: 1\nrun: 1h\n"+text+"\n", take)
			if code != http.StatusUnprocessableEntity {
				t.Errorf("%s of %s: %d %s", path, text, code, answer)
			}
			for _, part := range want {
				if !strings.Contains(strings.ReplaceAll(answer, `\"`, `"`), part) {
					t.Errorf("%s of %s answers %s; want %q", path, text, answer, part)
				}
			}
		}
	}
	if took != 0 {
		t.Errorf("the market was asked %d times", took)
	}
	if code, text := w.post("/v1/jobs", "application/yaml", "id: fine\ngpus: 1\nrun: 1h\nmodels: [T4]\nregions: [hydro-north]\nhome: oslo\n", take); code != http.StatusOK || took != 1 {
		t.Errorf("known names: %d %s", code, text)
	}
	if code, text := w.post("/v1/sites/olso/drain", "", "", take); code != http.StatusNotFound || !strings.Contains(text, "did you mean") {
		t.Errorf("drain of an unknown site: %d %s", code, text)
	}
}
