package page

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/rights"
	"github.com/gridbid/gridbid/explain/timeline/tail"
)

// readersWith returns an authenticator that knows tokens as an auditor's, and the file of its
// credentials.
func readersWith(t *testing.T, tokens ...string) (*rights.Authenticator, string) {
	t.Helper()
	var f rights.File
	for _, token := range tokens {
		f.Credentials = append(f.Credentials, credentialOf(token, rights.Auditor, ""))
	}
	file := filepath.Join(t.TempDir(), "credentials.json")
	writeCredentials(t, file, f)
	a, err := rights.New(rights.Config{CredentialsFile: file, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return a, file
}

func credentialOf(token string, role rights.Role, tenant string) rights.Credential {
	sum := sha256.Sum256([]byte(token))
	return rights.Credential{Name: "reader " + token[:2], Role: role, Tenant: tenant, SHA256: hex.EncodeToString(sum[:]), Expires: time.Now().Add(time.Hour)}
}

func writeCredentials(t *testing.T, file string, f rights.File) {
	t.Helper()
	text, err := json.Marshal(f)
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// lockedWith returns options of a page that one token reads.
func lockedWith(t *testing.T, token string) Options {
	readers, _ := readersWith(t, token)
	return Options{Readers: readers}
}

// The page shows the jobs of all tenants, so a tenant's credential does not open it.
func TestATenantDoesNotReadThePage(t *testing.T) {
	const token = "0123456789abcdef"
	readers, file := readersWith(t)
	writeCredentials(t, file, rights.File{Credentials: []rights.Credential{credentialOf(token, rights.Tenant, "team-a")}})
	go readers.Run(t.Context())
	for { // until the file is read
		if _, err := readers.Authenticate(t.Context(), token); err == nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	s := finished(t, 3, Options{Readers: readers})
	if a, _ := get(t, s.URL+"/at", func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("a tenant reads the page: %d", a.StatusCode)
	}
}

// A feed that is open when its reader's credential is revoked ends, and so does the session of a
// browser that signed in with it.
func TestAFeedEndsWithItsCredential(t *testing.T) {
	const token = "0123456789abcdef"
	readers, file := readersWith(t, token)
	w := newWire()
	run := tail.StartReading(t.Context(), w.source, nil)
	s := served(t, run, Options{Readers: readers, Live: true, HeartbeatInterval: 50 * time.Millisecond})
	go readers.Run(t.Context())
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	signedIn, err := client.PostForm(s.URL+"/login", map[string][]string{"token": {token}})
	if err != nil || len(signedIn.Cookies()) != 1 {
		t.Fatalf("sign in: %v, %v", signedIn, err)
	}
	signedIn.Body.Close()
	var feeds []io.ReadCloser
	for _, sign := range []func(*http.Request){
		func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) },
		func(r *http.Request) { r.AddCookie(signedIn.Cookies()[0]) },
	} {
		r, _ := http.NewRequest(http.MethodGet, s.URL+"/events", nil)
		sign(r)
		a, err := client.Do(r)
		if err != nil || a.StatusCode != http.StatusOK {
			t.Fatalf("feed: %v, %v", a, err)
		}
		defer a.Body.Close()
		if _, err := a.Body.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		feeds = append(feeds, a.Body)
	}
	was := credentialOf(token, rights.Auditor, "")
	was.Revoked = time.Now()
	writeCredentials(t, file, rights.File{Credentials: []rights.Credential{was}})
	for _, feed := range feeds {
		text, _ := io.ReadAll(feed) // without an end it beats for ever
		if !strings.Contains(string(text), "\n") {
			t.Errorf("the feed has %q", text)
		}
	}
	if a, _ := get(t, s.URL+"/at", func(r *http.Request) { r.AddCookie(signedIn.Cookies()[0]) }); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("the session goes on: %d", a.StatusCode)
	}
}
