// Package oidctest runs a real OIDC provider for tests: that of zitadel/oidc with its storage in
// memory, whose keys a test rotates and withdraws, and whose fetches it counts. No program links it.
package oidctest

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// Names of the provider. ServiceID is a client with a secret, whose tokens are meant for itself;
// DeviceID is a client without one, for people.
const (
	ServiceID = "sid1"
	DeviceID  = "device"
	UserID    = "id1"
	secret    = "verysecret"
)

// A Provider is a running provider.
type Provider struct {
	Issuer  string
	Fetches atomic.Int64 // of its keys
	Down    atomic.Bool  // it answers every request with 503

	store *store
	t     testing.TB
}

// Start starts a provider whose tokens have the claim groups.
func Start(t testing.TB, groups ...string) *Provider {
	t.Helper()
	p := &Provider{t: t}
	var serve http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.Down.Load() {
			http.Error(w, "away", http.StatusServiceUnavailable)
			return
		}
		if r.URL.Path == "/keys" {
			p.Fetches.Add(1)
		}
		serve.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	p.Issuer = server.URL
	p.store = &store{Storage: storage.NewStorageWithClients(storage.NewUserStore(server.URL), map[string]*storage.Client{DeviceID: storage.NativeClient(DeviceID)}), groups: groups, lifetime: 10 * time.Minute}
	p.Rotate()
	config := &op.Config{
		CryptoKey: [32]byte([]byte(rand.Text() + rand.Text())[:32]), CodeMethodS256: true, AuthMethodPost: true, GrantTypeRefreshToken: true,
		DeviceAuthorization: op.DeviceAuthorizationConfig{Lifetime: 5 * time.Minute, PollInterval: time.Second, UserFormPath: "/device", UserCode: op.UserCodeBase20},
	}
	provider, err := op.NewProvider(config, p.store, op.StaticIssuer(server.URL), op.WithAllowInsecure(), op.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	serve = provider
	return p
}

// Rotate makes a new key with which tokens are signed from now on; those before stay published.
func (p *Provider) Rotate() {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		p.t.Fatal(err)
	}
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	p.store.keys = append(p.store.keys, signer{strconv.Itoa(len(p.store.keys)), key})
}

// WithdrawOld stops publishing all keys but the newest.
func (p *Provider) WithdrawOld() {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	p.store.keys = p.store.keys[len(p.store.keys)-1:]
}

// SetGroups sets the claim groups of tokens from now on.
func (p *Provider) SetGroups(groups ...string) {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	p.store.groups = groups
}

// Token returns an access token of the service, by client credentials. It is a JWT for the
// audience ServiceID.
func (p *Provider) Token() string {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.Issuer+"/oauth/token", strings.NewReader(url.Values{"grant_type": {"client_credentials"}, "scope": {"openid"}}.Encode()))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth(ServiceID, secret)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	var got struct {
		Token string `json:"access_token"`
	}
	if err := json.Unmarshal(text, &got); err != nil || got.Token == "" {
		p.t.Fatalf("the provider answers %s: %s", answer.Status, text)
	}
	return got.Token
}

// Approve lets the person of UserID approve the sign-in with a code, as on the provider's page.
func (p *Provider) Approve(code string) error {
	return p.store.CompleteDeviceAuthorization(p.t.Context(), code, UserID)
}

// Deny has the person deny it.
func (p *Provider) Deny(code string) error {
	return p.store.DenyDeviceAuthorization(p.t.Context(), code)
}

// A store is the example's storage with keys that rotate, JWTs and the claim groups.
type store struct {
	*storage.Storage
	lifetime time.Duration

	mu     sync.Mutex
	keys   []signer
	groups []string
}

type signer struct {
	id  string
	key *rsa.PrivateKey
}

func (s signer) SignatureAlgorithm() jose.SignatureAlgorithm { return jose.RS256 }
func (s signer) Key() any                                    { return s.key }
func (s signer) ID() string                                  { return s.id }

type published struct{ signer }

func (p published) Algorithm() jose.SignatureAlgorithm { return jose.RS256 }
func (p published) Use() string                        { return "sig" }
func (p published) Key() any                           { return &p.key.PublicKey }

// SigningKey implements op.Storage.
func (s *store) SigningKey(context.Context) (op.SigningKey, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keys[len(s.keys)-1], nil
}

// KeySet implements op.Storage.
func (s *store) KeySet(context.Context) (all []op.Key, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.keys {
		all = append(all, published{k})
	}
	return all, nil
}

func (s *store) claims() map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return map[string]any{"groups": slices.Clone(s.groups)}
}

// GetPrivateClaimsFromScopes implements op.Storage: the claims of access tokens.
func (s *store) GetPrivateClaimsFromScopes(context.Context, string, string, []string) (map[string]any, error) {
	return s.claims(), nil
}

// SetUserinfoFromScopes implements op.Storage: the claims of ID tokens.
func (s *store) SetUserinfoFromScopes(_ context.Context, info *oidc.UserInfo, user, _ string, _ []string) error {
	info.Subject = user
	info.AppendClaims("groups", s.claims()["groups"])
	return nil
}

// SetUserinfoFromRequest implements op.CanSetUserinfoFromRequest.
func (s *store) SetUserinfoFromRequest(ctx context.Context, info *oidc.UserInfo, r op.IDTokenRequest, _ []string) error {
	return s.SetUserinfoFromScopes(ctx, info, r.GetSubject(), "", nil)
}

// GetClientByClientID implements op.Storage.
func (s *store) GetClientByClientID(ctx context.Context, id string) (op.Client, error) {
	if id == DeviceID {
		return client{storage.NativeClient(DeviceID)}, nil
	}
	return s.Storage.GetClientByClientID(ctx, id)
}

// ClientCredentials implements op.ClientCredentialsStorage.
func (s *store) ClientCredentials(ctx context.Context, id, secret string) (op.Client, error) {
	c, err := s.Storage.ClientCredentials(ctx, id, secret)
	return client{c}, err
}

// A client is one whose access tokens are JWTs, and that may sign people in by the device flow.
type client struct{ op.Client }

func (client) AccessTokenType() op.AccessTokenType  { return op.AccessTokenTypeJWT }
func (client) IDTokenUserinfoClaimsAssertion() bool { return true }
func (client) IsScopeAllowed(string) bool           { return true }
func (c client) GrantTypes() []oidc.GrantType {
	return append(c.Client.GrantTypes(), oidc.GrantTypeDeviceCode, oidc.GrantTypeRefreshToken)
}

// TokenRequestByRefreshToken implements op.Storage. The example's storage does not know the client
// of a refresh token that came by the device flow.
func (s *store) TokenRequestByRefreshToken(ctx context.Context, token string) (op.RefreshTokenRequest, error) {
	r, err := s.Storage.TokenRequestByRefreshToken(ctx, token)
	if known, ok := r.(*storage.RefreshTokenRequest); ok {
		known.ApplicationID = DeviceID
	}
	return r, err
}
