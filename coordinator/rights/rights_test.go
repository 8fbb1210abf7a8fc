package rights

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gridbid/gridbid/internal/boundedlog"
)

var noon = time.Date(2026, 3, 11, 12, 0, 0, 0, time.UTC)

// A desk is an authenticator over a file that the test writes, with a clock that it sets.
type desk struct {
	*testing.T
	*Authenticator
	file   string
	have   File
	mu     sync.Mutex
	at     time.Time
	logged bytes.Buffer
}

func newDesk(t *testing.T) *desk {
	d := &desk{T: t, file: filepath.Join(t.TempDir(), "credentials.json"), at: noon}
	d.write()
	a, err := New(Config{CredentialsFile: d.file, Log: slog.New(slog.NewTextHandler(&d.logged, nil))})
	if err != nil {
		t.Fatal(err)
	}
	a.now = func() time.Time { d.mu.Lock(); defer d.mu.Unlock(); return d.at }
	d.Authenticator = a
	return d
}

func (d *desk) write() {
	d.Helper()
	text, err := json.Marshal(d.have)
	if err == nil {
		err = os.WriteFile(d.file, text, 0o600)
	}
	if err != nil {
		d.Fatal(err)
	}
}

// add returns the token of a new credential of one hour.
func (d *desk) add(c Credential) string {
	d.Helper()
	c.Expires = noon.Add(time.Hour)
	token, c, err := NewCredential(c, noon)
	if err != nil {
		d.Fatal(err)
	}
	d.have.Credentials = append(d.have.Credentials, c)
	d.write()
	if d.Authenticator != nil {
		d.refresh(d.Context())
	}
	return token
}

func credentialFor(r Role) Credential {
	c := Credential{Name: "of " + string(r), Role: r}
	switch r {
	case Tenant, TenantAdmin:
		c.Tenant = "team-a"
	case SiteOperator:
		c.Site = "oslo"
	}
	return c
}

// Every endpoint is asked by every role: it is served if the table says so, and refused and
// logged otherwise; without a credential only those that are open are served.
func TestEveryRoleMayUseItsEndpointsOnly(t *testing.T) {
	d := newDesk(t)
	guard, mux := NewGuard(d.Authenticator, d.cfg.Log), http.NewServeMux()
	for _, e := range append(Endpoints(), Page) {
		mux.Handle(e.Pattern, guard.Protect(e.Pattern, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if p := Of(r.Context()); len(e.Roles) > 0 && (len(p.Roles) != 1 || !p.IsAuthenticated()) {
				t.Errorf("%s is served to %+v", e.Pattern, p)
			}
		})))
	}
	ask := func(pattern, token string) int {
		guard.lines = boundedlog.Lines{} // each refusal is to have its line
		method, path, ok := strings.Cut(pattern, " ")
		if !ok {
			method, path = http.MethodGet, pattern
		}
		r := httptest.NewRequest(method, "https://hub.example"+strings.NewReplacer("{id}", "x", "{site}", "oslo").Replace(path), nil)
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		return w.Code
	}
	// The table as docs/identity.md has it: what each role may not do.
	refused := map[Role]string{
		Tenant:          "gone revoked drain sites events auctions policy metrics POST:/v1/quotas/{name}",
		TenantAdmin:     "gone revoked drain sites events auctions policy metrics",
		SiteOperator:    "jobs quotes quotas services gone revoked auctions policy record metrics /",
		Auditor:         "POST DELETE logs",
		FederationAdmin: "logs POST:/v1/jobs POST:/v1/quotes POST:/v1/services POST:/v1/quotas/{name}",
	}
	for _, role := range AllRoles() {
		token := d.add(credentialFor(role))
		for _, e := range append(Endpoints(), Page) {
			want := http.StatusOK
			words := append(strings.FieldsFunc(e.Pattern, func(r rune) bool { return r == ' ' || r == '/' }), strings.Replace(e.Pattern, " ", ":", 1))
			if e.Pattern == "/" {
				words = []string{"/"}
			}
			for _, word := range strings.Fields(refused[role]) {
				if slices.Contains(words, word) && len(e.Roles) > 0 {
					want = http.StatusForbidden
				}
			}
			logged := d.logged.Len()
			if got := ask(e.Pattern, token); got != want {
				t.Errorf("%s asks %s: %d; want %d", role, e.Pattern, got, want)
			} else if isLogged := d.logged.Len() > logged; isLogged != (got == http.StatusForbidden) {
				t.Errorf("%s asks %s: logged %v", role, e.Pattern, isLogged)
			}
		}
		if strings.Contains(d.logged.String(), token) {
			t.Errorf("the log has a token: %s", d.logged.String())
		}
	}
	for _, e := range append(Endpoints(), Page) {
		want := http.StatusUnauthorized
		if len(e.Roles) == 0 {
			want = http.StatusOK
		}
		for _, token := range []string{"", "guess", strings.Repeat("x", 20_000), "a.b.c"} {
			if got := ask(e.Pattern, token); got != want {
				t.Errorf("%.9q asks %s: %d; want %d", token, e.Pattern, got, want)
			}
		}
	}
}

// A request that is being served ends when its credential is revoked, expires or becomes another's,
// and no other does.
func TestOpenRequestsAreCutWithTheirCredential(t *testing.T) {
	d := newDesk(t)
	guard := NewGuard(d.Authenticator, d.cfg.Log)
	server := httptest.NewServer(guard.Protect("GET /v1/record", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "begun\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})))
	defer server.Close()
	open := func(token string) io.ReadCloser {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
		r.Header.Set("Authorization", "Bearer "+token)
		a, err := http.DefaultClient.Do(r)
		if err != nil || a.StatusCode != http.StatusOK {
			t.Fatalf("open: %v, %v", a, err)
		}
		if _, err := io.ReadFull(a.Body, make([]byte, 6)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { a.Body.Close() })
		return a.Body
	}
	isOpen := func() (n int) { d.Authenticator.mu.Lock(); defer d.Authenticator.mu.Unlock(); return len(d.open) }
	streams := map[string]io.ReadCloser{}
	for _, name := range []string{"revoked", "other", "expired"} {
		streams[name] = open(d.add(Credential{Name: name, Role: Auditor}))
	}
	d.refresh(t.Context())
	if isOpen() != 3 {
		t.Fatalf("%d are open; want 3", isOpen())
	}
	awaitEnd := func(name string) {
		t.Helper()
		if _, err := io.ReadAll(streams[name]); err != nil && err != io.ErrUnexpectedEOF {
			t.Logf("%s ends with %v", name, err)
		}
	}
	d.have.Credentials[0].Revoked = noon
	d.write()
	d.refresh(t.Context())
	awaitEnd("revoked")
	d.have.Credentials[1].Role = FederationAdmin
	d.write()
	d.refresh(t.Context())
	awaitEnd("other")
	if isOpen() != 1 {
		t.Fatalf("%d are open; want 1", isOpen())
	}
	d.mu.Lock()
	d.at = noon.Add(time.Hour)
	d.mu.Unlock()
	d.refresh(t.Context())
	awaitEnd("expired")
	if isOpen() != 0 {
		t.Errorf("%d are open; want none", isOpen())
	}
}

// A file that is torn or gone leaves the credentials as they were, and is reported once.
func TestAFileThatCannotBeReadIsReported(t *testing.T) {
	d := newDesk(t)
	token := d.add(Credential{Name: "ada", Role: Auditor})
	if err := os.WriteFile(d.file, []byte(`{"credentials": [`), 0o600); err != nil {
		t.Fatal(err)
	}
	d.refresh(t.Context())
	d.refresh(t.Context())
	if n := strings.Count(d.logged.String(), "cannot be read"); n != 1 {
		t.Errorf("reported %d times: %s", n, &d.logged)
	}
	if p, err := d.Authenticate(t.Context(), token); err != nil || p.Name != "ada" {
		t.Errorf("ada is %+v, %v", p, err)
	}
	d.write()
	if d.refresh(t.Context()); d.fault != "" {
		t.Errorf("a mended file has the fault %s", d.fault)
	}
}

func TestCredentialsThatEndedAreRefusedWithWhy(t *testing.T) {
	d := newDesk(t)
	token := d.add(Credential{Name: "ada", Role: Auditor})
	d.have.Credentials[0].Revoked = noon
	d.write()
	d.refresh(t.Context())
	if _, err := d.Authenticate(t.Context(), token); err != errRevoked {
		t.Errorf("revoked: %v", err)
	}
	late := d.add(Credential{Name: "ben", Role: Auditor})
	d.at = noon.Add(time.Hour)
	if _, err := d.Authenticate(t.Context(), late); err != errExpired {
		t.Errorf("expired: %v", err)
	}
}

func TestACredentialsFileNamesEachOnceAndCompletely(t *testing.T) {
	_, ada, err := NewCredential(Credential{Name: "ada", Role: Tenant, Tenant: "team-a", Expires: noon.Add(time.Hour)}, noon)
	if err != nil {
		t.Fatal(err)
	}
	file := func(change func(*Credential)) []byte {
		other := ada
		other.Name, other.SHA256 = "ben", strings.Repeat("0a", 32)
		change(&other)
		text, _ := json.Marshal(File{Credentials: []Credential{ada, other}})
		return text
	}
	if f, err := ReadFile("c.json", file(func(*Credential) {})); err != nil || len(f.Credentials) != 2 || f.Credentials[0] != ada {
		t.Errorf("read %+v, %v", f, err)
	}
	for want, change := range map[string]func(*Credential){
		"the name":               func(c *Credential) { c.Name = "ada" },
		"its token":              func(c *Credential) { c.SHA256 = ada.SHA256 },
		"in lower case":          func(c *Credential) { c.SHA256 = strings.ToUpper(ada.SHA256) },
		"64 hex digits":          func(c *Credential) { c.SHA256 = "0a" },
		"name \"\"":              func(c *Credential) { c.Name = "" },
		"expires is missing":     func(c *Credential) { c.Expires = time.Time{} },
		"want one of tenant":     func(c *Credential) { c.Role = "root" },
		"have a tenant":          func(c *Credential) { c.Tenant = "" },
		"role auditor: tenant":   func(c *Credential) { c.Role = Auditor },
		"has a site":             func(c *Credential) { c.Role, c.Tenant = SiteOperator, "" },
		"tenant \"a/b\": want l": func(c *Credential) { c.Tenant = "a/b" },
	} {
		if _, err := ReadFile("c.json", file(change)); err == nil || !strings.Contains(err.Error(), "c.json: credential 2: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	for _, text := range []string{"", "{}x", `{"tokens": []}`, "[]", `{"credentials": [1]}`} {
		if _, err := ReadFile("c.json", []byte(text)); err == nil || !strings.Contains(err.Error(), "c.json") {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, life := range []time.Duration{0, -time.Hour, 401 * 24 * time.Hour} {
		if _, _, err := NewCredential(Credential{Name: "x", Role: Auditor, Expires: noon.Add(life)}, noon); err == nil {
			t.Errorf("a credential that lives %v is made", life)
		}
	}
}

// Whatever a request's header says, nothing panics, nobody gets in, and no log has it.
func FuzzAuthorization(f *testing.F) {
	for _, s := range []string{"Bearer x", "bearer  x", "Basic dTpw", "Bearer", "Bearer a.b.c", "Bearer eyJhbGciOiJub25lIn0.e30.", "\x00", "Bearer \xff"} {
		f.Add(s, "/v1/jobs")
	}
	var logged bytes.Buffer
	a, err := New(Config{Log: slog.New(slog.NewTextHandler(&logged, nil))})
	if err != nil {
		f.Fatal(err)
	}
	guard := NewGuard(a, a.cfg.Log)
	h := guard.Protect("GET /v1/jobs", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("served") }))
	f.Fuzz(func(t *testing.T, header, path string) {
		logged.Reset()
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL.Path = path
		r.Header["Authorization"] = []string{header}
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != http.StatusUnauthorized {
			t.Errorf("%q: %d", header, w.Code)
		}
		secret := strings.TrimPrefix(header, "Bearer ")
		if said := w.Body.String() + strings.ReplaceAll(logged.String(), fmt.Sprintf("%q", path), ""); len(secret) > 20 && !strings.Contains(path, secret) && strings.Contains(said, secret) {
			t.Errorf("%q is in %s", secret, said)
		}
	})
}

func TestOfNobodyHasNoRole(t *testing.T) {
	p := Of(context.Background())
	if p.SeesAllJobs() || !p.IsAuthenticated() {
		t.Errorf("nobody is %+v", p)
	}
	for _, e := range Endpoints() {
		if len(e.Roles) > 0 && e.Allows(p) {
			t.Errorf("nobody may %s", e.Pattern)
		}
	}
}
