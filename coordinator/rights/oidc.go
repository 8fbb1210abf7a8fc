package rights

import (
	"context"
	"crypto"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"

	"github.com/gridbid/gridbid/internal/loopback"
)

// An OIDCConfig says which tokens of an OIDC provider count, and what they let their owners do.
type OIDCConfig struct {
	Issuer    string     `yaml:"issuer"`     // exactly as the provider states it
	Audience  string     `yaml:"audience"`   // that a token must be meant for
	ClientID  string     `yaml:"client_id"`  // with which `gridbid login` signs in; default: Audience
	Scopes    []string   `yaml:"scopes"`     // that it asks for, beside openid and offline_access
	NameClaim string     `yaml:"name_claim"` // claim with the principal's name; default: sub
	Rules     []OIDCRule `yaml:"rules"`
}

// An OIDCRule gives a role to the tokens whose claim has a value, or has it in a list.
type OIDCRule struct {
	Claim       string `yaml:"claim"` // default: groups
	Value       string `yaml:"value"`
	Role        Role   `yaml:"role"`
	Tenant      string `yaml:"tenant"`
	TenantClaim string `yaml:"tenant_claim"` // claim with the tenant's name, in place of Tenant
	Site        string `yaml:"site"`
}

// Times of a provider's keys. A withdrawn key stops counting within keysRenewed; without an answer
// of the provider the last keys count for keysKept. Between two fetches is at least keysCooldown,
// whatever tokens come.
const (
	keysRenewed  = 10 * time.Minute
	keysKept     = time.Hour
	keysCooldown = 10 * time.Second
	fetchTimeout = 5 * time.Second
)

// expiryLeeway is for how long a token counts after its end: clocks differ.
const expiryLeeway = 5 * time.Second

// signingAlgorithms are those of asymmetric keys. With others a public key could serve as a
// shared secret.
var signingAlgorithms = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA}

// check returns an error if a configuration is not complete, with what to do.
func (c OIDCConfig) check() error {
	u, err := url.Parse(c.Issuer)
	if err != nil || u.Host == "" {
		return fmt.Errorf("rights: oidc: issuer %q: want a URL such as https://login.example.org", c.Issuer)
	}
	if _, own := loopback.ParseHost(u.Host); u.Scheme != "https" && !(u.Scheme == "http" && own) {
		return fmt.Errorf("rights: oidc: issuer %q: want https", c.Issuer)
	}
	if c.Audience == "" {
		return errors.New("rights: oidc: audience is missing: want the name that the provider's tokens for this federation have as aud, often the client's id")
	}
	if len(c.Rules) == 0 {
		return errors.New("rights: oidc: rules are missing: without one no token has a role")
	}
	for i, r := range c.Rules {
		tenant := r.Tenant
		if r.TenantClaim != "" {
			if r.Tenant != "" {
				return fmt.Errorf("rights: oidc: rule %d: tenant and tenant_claim: keep one", i+1)
			}
			tenant = "of-a-claim"
		}
		if r.Value == "" {
			return fmt.Errorf("rights: oidc: rule %d: value is missing: want what the claim must have", i+1)
		}
		if err := checkScope(r.Role, tenant, r.Site); err != nil {
			return fmt.Errorf("rights: oidc: rule %d: %w", i+1, err)
		}
	}
	return nil
}

// A provider verifies tokens of an OIDC provider.
type provider struct {
	cfg      OIDCConfig
	keys     *keySet
	verifier *oidc.IDTokenVerifier
}

// newProvider returns a provider that has not been asked yet.
func newProvider(cfg OIDCConfig, now func() time.Time, log *slog.Logger) (*provider, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	k := &keySet{issuer: cfg.Issuer, now: now, log: log, client: &http.Client{
		Timeout:       fetchTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	return &provider{cfg, k, oidc.NewVerifier(cfg.Issuer, k, &oidc.Config{
		ClientID: cfg.Audience, SupportedSigningAlgs: signingAlgorithms,
		Now: func() time.Time { return now().Add(-expiryLeeway) },
	})}, nil
}

// isJWT reports whether a token has the form of those that providers sign.
func isJWT(token string) bool { return strings.Count(token, ".") == 2 }

// maxReason bounds what is said of a token: it may quote claims that a stranger wrote.
const maxReason = 200

// authenticate returns for whom a token stands.
func (p *provider) authenticate(ctx context.Context, token string, revoked func(subject string) bool) (Principal, error) {
	t, err := p.verifier.Verify(ctx, token)
	if errors.As(err, new(*oidc.TokenExpiredError)) {
		return Principal{}, errExpired
	}
	if err != nil {
		why := strings.TrimPrefix(err.Error(), "oidc: ")
		return Principal{}, fmt.Errorf("rights: the token of %s does not count here: %s", p.cfg.Issuer, why[:min(len(why), maxReason)])
	}
	if revoked(t.Subject) {
		return Principal{}, errRevoked
	}
	var claims map[string]any
	if err := t.Claims(&claims); err != nil {
		return Principal{}, errUnknown
	}
	return p.principal(t, claims)
}

// principal applies the rules to a verified token.
func (p *provider) principal(t *oidc.IDToken, claims map[string]any) (out Principal, err error) {
	name := t.Subject
	if c := p.cfg.NameClaim; c != "" {
		name, _ = claims[c].(string)
	}
	// The prefix keeps names of the provider apart from those of the credentials file, so that
	// nobody confirms a change as two.
	out = Principal{Name: "oidc:" + name, Source: OIDC, Expires: t.Expiry}
	if !personPattern.MatchString(name) && name != t.Subject || name == "" || len(name) > 255 {
		return Principal{}, errors.New("rights: the token has no usable name: the claim that name_claim names is missing")
	}
	for _, r := range p.cfg.Rules {
		claim := r.Claim
		if claim == "" {
			claim = "groups"
		}
		if !slices.Contains(claimValues(claims[claim]), r.Value) {
			continue
		}
		tenant := r.Tenant
		if r.TenantClaim != "" {
			tenant, _ = claims[r.TenantClaim].(string)
			if !namePattern.MatchString(tenant) {
				return Principal{}, fmt.Errorf("rights: the token's claim %s names no tenant: want letters, digits and ._-, at most 63", r.TenantClaim)
			}
		}
		if tenant != "" && out.Tenant != "" && tenant != out.Tenant || r.Site != "" && out.Site != "" && r.Site != out.Site {
			return Principal{}, errors.New("rights: the rules give this token two tenants or two sites: ask the federation's admin to give it one")
		}
		if tenant != "" {
			out.Tenant = tenant
		}
		if r.Site != "" {
			out.Site = r.Site
		}
		if !out.Is(r.Role) {
			out.Roles = append(out.Roles, r.Role)
		}
	}
	if len(out.Roles) == 0 {
		return Principal{}, errors.New("rights: the token is genuine, and no rule gives it a role: ask the federation's admin")
	}
	return out, nil
}

// claimValues returns the texts of a claim, which is a text or a list.
func claimValues(claim any) (out []string) {
	switch c := claim.(type) {
	case string:
		return []string{c}
	case []any:
		for _, v := range c {
			if text, ok := v.(string); ok {
				out = append(out, text)
			}
		}
	}
	return out
}

// A keySet is the keys of a provider, as go-oidc's verifier wants them. The library's own set
// accepts a withdrawn key until an unknown one comes, and fetches once for each token with an
// unknown key.
type keySet struct {
	issuer string
	client *http.Client
	now    func() time.Time
	log    *slog.Logger

	fetching sync.Mutex // one fetch at a time
	jwks     string     // URL of the keys, once it was discovered

	mu      sync.Mutex
	keys    []crypto.PublicKey
	fetched time.Time // the last success
	tried   time.Time // the last attempt
}

// VerifySignature implements oidc.KeySet.
func (k *keySet) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	k.mu.Lock()
	keys, tried := k.keys, k.tried
	if k.now().Sub(k.fetched) > keysKept {
		keys = nil
	}
	k.mu.Unlock()
	payload, err := (&oidc.StaticKeySet{PublicKeys: keys}).VerifySignature(ctx, token)
	if err == nil {
		return payload, nil
	}
	if ctx.Value(withoutFetch{}) != nil {
		return nil, err
	}
	// The provider may have a new key.
	k.fetchUnless(tried)
	k.mu.Lock()
	keys = k.keys
	if k.now().Sub(k.fetched) > keysKept {
		keys = nil
	}
	k.mu.Unlock()
	return (&oidc.StaticKeySet{PublicKeys: keys}).VerifySignature(ctx, token)
}

// fetchUnless fetches the keys, unless another has since the attempt of the time tried, or the
// last attempt was just now.
func (k *keySet) fetchUnless(tried time.Time) {
	k.fetching.Lock()
	defer k.fetching.Unlock()
	k.mu.Lock()
	again := k.tried.Equal(tried) && k.now().Sub(k.tried) >= keysCooldown
	if again {
		k.tried = k.now()
	}
	k.mu.Unlock()
	if !again {
		return
	}
	keys, err := k.fetch()
	if err != nil {
		k.log.Warn("the keys of the OIDC provider could not be fetched; those fetched before count for an hour", "issuer", k.issuer, "err", err)
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keys, k.fetched = keys, k.now()
}

// withoutFetch is the key of a context in which tokens are verified by the keys at hand.
type withoutFetch struct{}

// renewUntil renews the keys until ctx ends.
func (k *keySet) renewUntil(ctx context.Context) {
	tick := time.NewTicker(keysCooldown)
	defer tick.Stop()
	for {
		k.renew()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// renew fetches the keys if those at hand are old.
func (k *keySet) renew() {
	k.mu.Lock()
	tried, old := k.tried, k.now().Sub(k.fetched) >= keysRenewed
	k.mu.Unlock()
	if old {
		k.fetchUnless(tried)
	}
}

// maxKeys bounds the keys of a provider: each is tried for a token.
const maxKeys = 32

// fetch fetches the keys, and before that once where they are.
func (k *keySet) fetch() ([]crypto.PublicKey, error) {
	// The client that asks may go away; the keys are for all.
	ctx := oidc.ClientContext(context.Background(), k.client)
	if k.jwks == "" {
		p, err := oidc.NewProvider(ctx, k.issuer)
		if err != nil {
			return nil, err
		}
		var found struct {
			JWKS string `json:"jwks_uri"`
		}
		if err := p.Claims(&found); err != nil {
			return nil, err
		}
		u, err := url.Parse(found.JWKS)
		if err != nil || u.Scheme != "https" && !strings.HasPrefix(k.issuer, "http://") {
			return nil, fmt.Errorf("jwks_uri %q: want https", found.JWKS)
		}
		k.jwks = found.JWKS
	}
	answer, err := k.client.Get(k.jwks)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s", k.jwks, answer.Status)
	}
	var set jose.JSONWebKeySet
	if err == nil {
		err = json.Unmarshal(text, &set)
	}
	if err != nil {
		return nil, err
	}
	var keys []crypto.PublicKey
	for _, key := range set.Keys {
		if key.Use == "enc" || !key.IsPublic() || len(keys) == maxKeys {
			continue
		}
		keys = append(keys, key.Key)
	}
	return keys, nil
}
