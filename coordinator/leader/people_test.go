package leader_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/coordinator/api"
	"github.com/gridbid/gridbid/coordinator/rights"
	"github.com/gridbid/gridbid/protocol"
)

// With credentials no operator can confirm in the name of another, and what loosens a
// hard rule takes two tokens.
func TestLooseningAPolicyTakesTwoTokens(t *testing.T) {
	srv, err := natsbus.StartServer(natsbus.Config{Store: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	var people rights.File
	token := func(name string) string {
		token, line, err := rights.NewCredential(rights.Credential{Name: name, Role: rights.FederationAdmin, Expires: time.Now().Add(time.Hour)}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		people.Credentials = append(people.Credentials, line)
		return token
	}
	ada, ben := token("ada"), token("ben")
	text, _ := json.Marshal(people)
	file := filepath.Join(t.TempDir(), "credentials.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	auth, err := rights.New(rights.Config{CredentialsFile: file})
	if err != nil {
		t.Fatal(err)
	}
	c := start(t, &srv.Bus, held)
	c.desk.GuardBy(rights.NewGuard(auth, slog.New(slog.DiscardHandler)))
	guarded := httptest.NewServer(c.desk.HTTPHandler())
	t.Cleanup(guarded.Close)
	c.leads(t)
	ask := func(token, path, body string, want int) (text string) {
		t.Helper()
		r, err := http.NewRequest(http.MethodPost, guarded.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		raw, _ := io.ReadAll(answer.Body)
		if answer.StatusCode != want {
			t.Fatalf("%s %s: %d %s; want %d", path, body, answer.StatusCode, raw, want)
		}
		return string(raw)
	}
	forbid := `{"change": {"base": 0, "ops": [{"op": "add", "rule": {"kind": "forbid", "where": {"sites": ["oslo"]}}}]}, "said": "never run at oslo"`
	ask("", "/v1/policy", forbid+"}", http.StatusUnauthorized)
	ask("guess", "/v1/policy", forbid+"}", http.StatusUnauthorized)
	ask(ada, "/v1/policy", forbid+`, "by": "ben"}`, http.StatusForbidden)
	ask(ada, "/v1/policy", forbid+`, "second": "ben"}`, http.StatusForbidden)
	var p protocol.Policy
	if err := json.Unmarshal([]byte(ask(ada, "/v1/policy", forbid+"}", http.StatusOK)), &p); err != nil || p.By != "ada" || !p.Proved || len(p.Rules) != 1 {
		t.Fatalf("in force: %+v, %v", p, err)
	}
	quotas := func(base int, tree string) string {
		return fmt.Sprintf(`{"change": {"base": %d, "ops": [{"op": "quotas", "quotas": %s}]}, "said": "quotas.yaml"}`, base, tree)
	}
	if got := ask(ada, "/v1/policy", quotas(1, `[{"name": "a", "min_thousandths_of_a_gpu": 1000}]`), http.StatusConflict); !strings.Contains(got, "guarantee 1 GPUs together, and there are 0 at the registered sites") {
		t.Errorf("quotas beyond what the sites have: %s", got)
	}
	if got := ask(ada, "/v1/policy", quotas(1, `[{"name": "a", "parent": "b"}]`), http.StatusConflict); !strings.Contains(got, "no quota is named b") {
		t.Errorf("quotas that are no tree: %s", got)
	}
	if err := json.Unmarshal([]byte(ask(ada, "/v1/policy", quotas(1, `[{"name": "a", "max_thousandths_of_a_gpu": 4000}]`), http.StatusOK)), &p); err != nil || len(p.Quotas) != 1 || p.Quotas[0].Max != 4000 || len(p.Rules) != 1 {
		t.Fatalf("in force: %+v, %v", p, err)
	}
	ask(ada, "/v1/policy", quotas(2, `[]`), http.StatusAccepted) // others take what it held: a second person is asked
	loosen := fmt.Sprintf(`{"change": {"base": 2, "ops": [{"op": "remove", "id": %q}]}, "said": "remove it"}`, p.Rules[0].ID)
	var waiting api.PendingChange
	if err := json.Unmarshal([]byte(ask(ada, "/v1/policy", loosen, http.StatusAccepted)), &waiting); err != nil || waiting.By != "ada" || len(waiting.Descriptions) != 1 {
		t.Fatalf("waiting: %+v, %v", waiting, err)
	}
	at := "/v1/policy/waiting/" + waiting.ID
	ask("", at, "", http.StatusUnauthorized)
	ask(ada, at, "", http.StatusForbidden)
	ask(ben, "/v1/policy/waiting/w-000000", "", http.StatusNotFound)
	if err := json.Unmarshal([]byte(ask(ben, at, "", http.StatusOK)), &p); err != nil || p.By != "ada" || p.Second != "ben" || !p.Proved || p.Version != 3 || p.Quotas[0].Weight != 1000 {
		t.Fatalf("in force: %+v, %v", p, err)
	}
	ask(ben, at, "", http.StatusNotFound)
}
