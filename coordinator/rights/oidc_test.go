package rights

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/gridbid/gridbid/coordinator/rights/oidctest"
)

// teamRules give the group team-a-members the role of a tenant.
func teamRules(issuer string) *OIDCConfig {
	return &OIDCConfig{Issuer: issuer, Audience: oidctest.ServiceID, Rules: []OIDCRule{
		{Value: "team-a-members", Role: Tenant, Tenant: "team-a"},
		{Value: "team-b-members", Role: Tenant, Tenant: "team-b"},
		{Value: "auditors", Role: Auditor},
		{Claim: "sub", Value: "of-oslo", Role: SiteOperator, Site: "oslo"},
	}}
}

// newOIDCDesk returns an authenticator of a provider, with a clock that the test moves.
func newOIDCDesk(t *testing.T, cfg *OIDCConfig) (a *Authenticator, ahead func(time.Duration), logged *bytes.Buffer) {
	t.Helper()
	logged = new(bytes.Buffer)
	a, err := New(Config{OIDC: cfg, Log: slog.New(slog.NewTextHandler(logged, nil))})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var by time.Duration
	a.now = func() time.Time { mu.Lock(); defer mu.Unlock(); return time.Now().Add(by) }
	return a, func(d time.Duration) { mu.Lock(); defer mu.Unlock(); by += d }, logged
}

// Keys of a real provider rotate during the run: tokens of the new key count after one fetch, and
// those of a withdrawn key do not within the time in which keys are renewed.
func TestKeysOfTheProviderRotate(t *testing.T) {
	p := oidctest.Start(t, "team-a-members", "others")
	a, ahead, _ := newOIDCDesk(t, teamRules(p.Issuer))
	ctx := t.Context()
	old := p.Token()
	who, err := a.Authenticate(ctx, old)
	if err != nil || who.Tenant != "team-a" || !who.Is(Tenant) || len(who.Roles) != 1 || who.Source != OIDC || !strings.HasPrefix(who.Name, "oidc:") || who.Expires.Before(time.Now()) {
		t.Fatalf("the first token is of %+v, %v", who, err)
	}
	for range 50 {
		if _, err := a.Authenticate(ctx, old); err != nil {
			t.Fatal(err)
		}
	}
	if n := p.Fetches.Load(); n != 1 {
		t.Errorf("%d fetches of keys; want 1", n)
	}
	p.Rotate()
	ahead(keysCooldown)
	fresh := p.Token()
	for _, token := range []string{fresh, old} {
		if _, err := a.Authenticate(ctx, token); err != nil {
			t.Errorf("after the rotation: %v", err)
		}
	}
	if n := p.Fetches.Load(); n != 2 {
		t.Errorf("%d fetches of keys; want one more", n)
	}
	p.WithdrawOld()
	a.provider.keys.renew() // too early to ask again
	if _, err := a.Authenticate(ctx, old); err != nil {
		t.Errorf("before the keys are renewed: %v", err)
	}
	ahead(keysCooldown)
	a.provider.keys.mu.Lock() // tokens live five minutes, and must not merely expire meanwhile
	a.provider.keys.fetched = a.provider.keys.fetched.Add(-keysRenewed)
	a.provider.keys.mu.Unlock()
	a.provider.keys.renew()
	if _, err := a.Authenticate(ctx, fresh); err != nil {
		t.Errorf("after the renewal: %v", err)
	}
	if _, err := a.Authenticate(ctx, old); err == nil || err == errExpired {
		t.Errorf("a token of a withdrawn key: %v; want it refused, and not as expired", err)
	}
}

// Tokens that nobody signed make one fetch in ten seconds, however many come.
func TestBadTokensMakeNoFetches(t *testing.T) {
	p := oidctest.Start(t, "team-a-members")
	a, ahead, _ := newOIDCDesk(t, teamRules(p.Issuer))
	good := p.Token()
	if _, err := a.Authenticate(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	ahead(keysCooldown)
	was := p.Fetches.Load()
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			if _, err := a.Authenticate(t.Context(), forged(t, p.Issuer, fmt.Sprint("key-", i), nil)); err == nil {
				t.Error("a forged token counts")
			}
		})
	}
	all.Wait()
	if n := p.Fetches.Load() - was; n != 1 {
		t.Errorf("200 bad tokens made %d fetches of keys; want 1", n)
	}
	if _, err := a.Authenticate(t.Context(), good); err != nil {
		t.Errorf("a good token among bad ones: %v", err)
	}
}

var forger = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

// forged returns a token that a key of its own signed; change changes its claims.
func forged(t testing.TB, issuer, kid string, change map[string]any) string {
	key, err := forger()
	if err != nil {
		t.Fatal(err)
	}
	claims := map[string]any{"iss": issuer, "aud": oidctest.ServiceID, "sub": "mallory", "exp": time.Now().Add(time.Hour).Unix(), "groups": []string{"auditors"}}
	for k, v := range change {
		claims[k] = v
	}
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: key, KeyID: kid}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(claims)
	signed, err := s.Sign(text)
	if err != nil {
		t.Fatal(err)
	}
	out, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A desk that trusts the forger's key reads all claims, so each check is seen by itself.
func trusting(t testing.TB, cfg *OIDCConfig) *Authenticator {
	a, err := New(Config{OIDC: cfg, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	key, _ := forger()
	k := a.provider.keys
	k.keys, k.fetched, k.tried = append(k.keys, key.Public()), time.Now(), time.Now()
	return a
}

func TestTokensMustBeMeantForThisFederation(t *testing.T) {
	const issuer = "https://login.example"
	a := trusting(t, teamRules(issuer))
	for _, c := range []struct {
		name   string
		change map[string]any
		want   string // "": it counts
	}{
		{"right", nil, ""},
		{"a list of audiences", map[string]any{"aud": []string{"x", oidctest.ServiceID}}, ""},
		{"another audience", map[string]any{"aud": "other"}, "audience"},
		{"no audience", map[string]any{"aud": nil}, "audience"},
		{"another issuer", map[string]any{"iss": issuer + "/"}, "different provider"},
		{"expired", map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}, "expired"},
		{"a clock that is a little behind", map[string]any{"exp": time.Now().Add(-time.Second).Unix()}, ""},
		{"no end", map[string]any{"exp": nil}, "does not count"},
		{"not yet", map[string]any{"nbf": time.Now().Add(time.Hour).Unix()}, "before"},
		{"no group of ours", map[string]any{"groups": []string{"AUDITORS", "auditors "}}, "no rule gives it a role"},
		{"groups of another form", map[string]any{"groups": map[string]any{"auditors": true}}, "no rule gives it a role"},
		{"groups as numbers", map[string]any{"groups": []any{1, nil, []string{"auditors"}}}, "no rule gives it a role"},
		{"two tenants", map[string]any{"groups": []string{"team-a-members", "team-b-members"}}, "two tenants"},
		{"a site by its subject", map[string]any{"sub": "of-oslo", "groups": nil}, ""},
		{"no subject", map[string]any{"sub": ""}, "no usable name"},
	} {
		p, err := a.Authenticate(t.Context(), forged(t, issuer, "k", c.change))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v; want %q", c.name, p, err, c.want)
		}
	}
}

// Nobody signs with the public key as a secret, or with nothing.
func TestOnlyAsymmetricSignaturesCount(t *testing.T) {
	const issuer = "https://login.example"
	a := trusting(t, teamRules(issuer))
	key, _ := forger()
	public := key.PublicKey.N.Bytes()
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: public}, nil)
	if err != nil {
		t.Fatal(err)
	}
	payload := []byte(`{"iss":"` + issuer + `","aud":"` + oidctest.ServiceID + `","sub":"x","exp":9999999999,"groups":["auditors"]}`)
	signed, _ := s.Sign(payload)
	symmetric, _ := signed.CompactSerialize()
	b64 := base64.RawURLEncoding.EncodeToString
	for _, token := range []string{symmetric, b64([]byte(`{"alg":"none"}`)) + "." + b64(payload) + ".", b64([]byte(`{"alg":"RS256"}`)) + "." + b64(payload) + "."} {
		if p, err := a.Authenticate(t.Context(), token); err == nil {
			t.Errorf("%.40s counts for %+v", token, p)
		}
	}
}

// A subject that is revoked here is refused, though the provider still vouches for it.
func TestARevokedSubjectIsRefused(t *testing.T) {
	const issuer = "https://login.example"
	a := trusting(t, teamRules(issuer))
	token := forged(t, issuer, "k", nil)
	if _, err := a.Authenticate(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	a.revoked = map[string]bool{"mallory": true}
	if _, err := a.Authenticate(t.Context(), token); err != errRevoked {
		t.Errorf("a revoked subject: %v", err)
	}
}

// While the provider is away the keys that are known count, for an hour and not longer.
func TestKeysCountForAWhileWithoutTheProvider(t *testing.T) {
	p := oidctest.Start(t, "auditors")
	a, ahead, logged := newOIDCDesk(t, teamRules(p.Issuer))
	token := p.Token()
	p.Down.Store(true)
	if _, err := a.Authenticate(t.Context(), token); err == nil || !strings.Contains(logged.String(), "could not be fetched") {
		t.Errorf("without keys: %v; logged %s", err, logged)
	}
	p.Down.Store(false)
	ahead(keysCooldown)
	if _, err := a.Authenticate(t.Context(), token); err != nil {
		t.Fatalf("the provider is back: %v", err)
	}
	p.Down.Store(true)
	ahead(keysCooldown)
	a.provider.keys.renew()
	if _, err := a.Authenticate(t.Context(), token); err != nil {
		t.Errorf("with known keys: %v", err)
	}
	a.provider.keys.fetched = a.provider.keys.fetched.Add(-keysKept)
	if _, err := a.Authenticate(t.Context(), token); err == nil || err == errExpired {
		t.Errorf("with keys of an hour ago: %v", err)
	}
}

func TestAProviderIsConfiguredCompletely(t *testing.T) {
	for want, change := range map[string]func(*OIDCConfig){
		"want a URL":          func(c *OIDCConfig) { c.Issuer = "login" },
		"want https":          func(c *OIDCConfig) { c.Issuer = "http://login.example" },
		"audience is missing": func(c *OIDCConfig) { c.Audience = "" },
		"rules are missing":   func(c *OIDCConfig) { c.Rules = nil },
		"rule 1: value":       func(c *OIDCConfig) { c.Rules[0].Value = "" },
		"rule 1: role":        func(c *OIDCConfig) { c.Rules[0].Role = "root" },
		"rule 1: role tenant": func(c *OIDCConfig) { c.Rules[0].Tenant = "" },
		"keep one":            func(c *OIDCConfig) { c.Rules[0].TenantClaim = "org" },
	} {
		c := teamRules("https://login.example")
		change(c)
		if _, err := New(Config{OIDC: c}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}

// The tenant may come from a claim, and is then a name.
func TestATenantOfAClaim(t *testing.T) {
	c := teamRules("https://login.example")
	c.Rules = []OIDCRule{{Claim: "groups", Value: "auditors", Role: Tenant, TenantClaim: "org"}}
	a := trusting(t, c)
	for org, want := range map[any]string{"team-a": "team-a", "a/b": "", "": "", 7: "", "x\ny": ""} {
		p, err := a.Authenticate(t.Context(), forged(t, c.Issuer, "k", map[string]any{"org": org}))
		if p.Tenant != want || (err == nil) != (want != "") {
			t.Errorf("org %q: %+v, %v", org, p, err)
		}
	}
}

// Whatever stands in a token's place, nothing panics and nobody gets in.
func FuzzToken(f *testing.F) {
	const issuer = "https://login.example"
	a := trusting(f, teamRules(issuer))
	good := forged(f, issuer, "k", nil)
	parts := strings.Split(good, ".")
	for _, token := range []string{good + "x", "..", "a.b.c", parts[0] + ".." + parts[2], parts[0] + "." + parts[1] + ".", strings.Repeat("a.", 2) + strings.Repeat("b", 1000)} {
		f.Add(token)
	}
	f.Fuzz(func(t *testing.T, token string) {
		if p, err := a.Authenticate(context.Background(), token); err == nil && token != good {
			t.Errorf("%q is of %+v", token, p)
		}
	})
}
