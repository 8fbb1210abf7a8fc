package rights

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// checkInterval is how often the file of credentials is read, and open requests are checked.
// Together with the leeway of OIDC tokens it keeps the promise that a request ends within ten
// seconds of its credential.
const checkInterval = 2 * time.Second

// maxToken bounds a token, in bytes: those of OIDC providers that list groups take some.
const maxToken = 16 << 10

// Reasons for which a credential is refused. They say nothing that its sender does not know.
var (
	errNone    = errors.New("rights: no credential: send Authorization: Bearer TOKEN; with gridbid, set GRIDBID_TOKEN")
	errUnknown = errors.New("rights: the credential is not known here: check that it is of this federation, or ask its admin for another")
	errRevoked = errors.New("rights: the credential was revoked: ask the federation's admin for another")
	errExpired = errors.New("rights: the credential has expired: ask the federation's admin for another")
	errEnded   = errors.New("rights: the credential ended while the request was served")
)

// A Config says whose credentials count.
type Config struct {
	CredentialsFile string      // of static tokens, "" for none; it is read again when it changes
	OIDC            *OIDCConfig // nil: tokens of no provider count
	Log             *slog.Logger
}

// An Authenticator says for whom tokens stand. It is safe for concurrent use.
type Authenticator struct {
	cfg      Config
	now      func() time.Time
	provider *provider // nil: none

	mu      sync.Mutex
	text    []byte // of the file, as it was read last
	fault   string // of the last attempt to read it
	tokens  map[string]Credential
	revoked map[string]bool // subjects of the provider
	open    map[*openRequest]struct{}
}

// An openRequest is a request that is being served.
type openRequest struct {
	token     string
	principal Principal
	cut       func()
}

// New returns an authenticator after reading its file. The provider is asked when the first of
// its tokens comes, or Run begins: a coordinator starts without it, too.
func New(cfg Config) (a *Authenticator, err error) {
	a = &Authenticator{cfg: cfg, now: time.Now, open: make(map[*openRequest]struct{})}
	if cfg.OIDC != nil {
		if a.provider, err = newProvider(*cfg.OIDC, func() time.Time { return a.now() }, cfg.Log); err != nil {
			return nil, err
		}
	}
	if cfg.CredentialsFile != "" {
		if err := a.readFile(); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// readFile reads the credentials file, if it has changed.
func (a *Authenticator) readFile() error {
	text, err := os.ReadFile(a.cfg.CredentialsFile)
	if err != nil {
		return fmt.Errorf("rights: credentials: %w", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.tokens != nil && bytes.Equal(text, a.text) {
		return nil
	}
	f, err := ReadFile(a.cfg.CredentialsFile, text)
	if err != nil {
		return fmt.Errorf("rights: credentials: %w", err)
	}
	a.text, a.tokens = text, make(map[string]Credential, len(f.Credentials))
	for _, c := range f.Credentials {
		a.tokens[c.SHA256] = c
	}
	a.revoked = make(map[string]bool, len(f.RevokedSubjects))
	for _, subject := range f.RevokedSubjects {
		a.revoked[subject] = true
	}
	return nil
}

// Authenticate returns for whom a token stands.
func (a *Authenticator) Authenticate(ctx context.Context, token string) (Principal, error) {
	if len(token) > maxToken {
		return Principal{}, errUnknown
	}
	if a.provider != nil && isJWT(token) {
		return a.provider.authenticate(ctx, token, func(subject string) bool {
			a.mu.Lock()
			defer a.mu.Unlock()
			return a.revoked[subject]
		})
	}
	hash := hashToken(token) // a lookup by hash tells nothing of the token by its time
	a.mu.Lock()
	c, ok := a.tokens[hash]
	a.mu.Unlock()
	switch {
	case !ok:
		return Principal{}, errUnknown
	case !c.Revoked.IsZero():
		return Principal{}, errRevoked
	case !a.now().Before(c.Expires):
		return Principal{}, errExpired
	}
	return c.principal(), nil
}

// Admit authenticates a token for a request that is served from now on. The context that it
// returns has the principal, and ends when the token stands for it no longer; cut is called then,
// too. The caller must call done at the end of the request.
func (a *Authenticator) Admit(ctx context.Context, token string, cut func()) (_ context.Context, done func(), err error) {
	p, err := a.Authenticate(ctx, token)
	if err != nil {
		return ctx, nil, err
	}
	ctx, end := context.WithCancelCause(with(ctx, p))
	r := &openRequest{token: token, principal: p, cut: func() {
		end(errEnded)
		if cut != nil {
			cut()
		}
	}}
	a.mu.Lock()
	a.open[r] = struct{}{}
	a.mu.Unlock()
	return ctx, func() {
		a.mu.Lock() // so that no request is cut after its end
		delete(a.open, r)
		a.mu.Unlock()
		end(nil)
	}, nil
}

// AdmitRequest is Admit for a request: when the credential ends, a handler that waits for the client's reads or
// writes is ended, too.
func (a *Authenticator) AdmitRequest(w http.ResponseWriter, r *http.Request, token string) (_ context.Context, done func(), err error) {
	flow := http.NewResponseController(w)
	return a.Admit(r.Context(), token, func() {
		_ = flow.SetReadDeadline(time.Now())
		_ = flow.SetWriteDeadline(time.Now())
	})
}

// Run reads the credentials file when it changes, and cuts open requests whose credential has
// ended, until ctx ends. A file that cannot be read leaves the credentials as they were: the log
// says so, since a revocation in it does not count until it is mended.
func (a *Authenticator) Run(ctx context.Context) {
	if a.provider != nil {
		go a.provider.keys.renewUntil(ctx)
	}
	tick := time.NewTicker(checkInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			a.refresh(ctx)
		}
	}
}

// refresh is one round of Run.
func (a *Authenticator) refresh(ctx context.Context) {
	// A provider that does not answer must not delay who is cut.
	ctx = context.WithValue(ctx, withoutFetch{}, true)
	fault := ""
	if a.cfg.CredentialsFile != "" {
		if err := a.readFile(); err != nil {
			fault = err.Error()
		}
	}
	if fault != "" && fault != a.fault {
		a.cfg.Log.Error("the credentials file cannot be read; those read before still count, revoked ones among them", "err", fault)
	}
	a.fault = fault
	a.mu.Lock()
	var all []*openRequest
	for r := range a.open {
		all = append(all, r)
	}
	a.mu.Unlock()
	for _, r := range all {
		p, err := a.Authenticate(ctx, r.token)
		if err == nil && p.isSame(r.principal) {
			continue
		}
		a.mu.Lock()
		if _, open := a.open[r]; open {
			delete(a.open, r)
			r.cut()
			a.cfg.Log.Warn("an open request was cut: its credential has ended", "principal", r.principal.Name, "source", string(r.principal.Source))
		}
		a.mu.Unlock()
	}
}

// BearerToken returns the token of an Authorization header.
func BearerToken(headers []string) (string, error) {
	if len(headers) == 0 {
		return "", errNone
	}
	scheme, token, ok := strings.Cut(headers[0], " ")
	if token = strings.TrimSpace(token); len(headers) > 1 || !ok || token == "" || !strings.EqualFold(scheme, "Bearer") {
		return "", errNone
	}
	return token, nil
}

// A Login is what a client needs to sign in at the OIDC provider.
type Login struct {
	Issuer   string   `json:"issuer"`
	ClientID string   `json:"client_id"`
	Scopes   []string `json:"scopes"`
}

// Login returns how to sign in; false if no provider is configured.
func (g *Guard) Login() (Login, bool) {
	if g.auth == nil || g.auth.cfg.OIDC == nil {
		return Login{}, false
	}
	c := g.auth.cfg.OIDC
	return Login{c.Issuer, cmp.Or(c.ClientID, c.Audience), append([]string{"openid", "offline_access"}, c.Scopes...)}, true
}
