package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/spf13/cobra"
	"golang.org/x/oauth2"

	"github.com/gridbid/gridbid/coordinator/rights"
	"github.com/gridbid/gridbid/internal/atomicfile"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/internal/loopback"
)

// A session is what `gridbid login` keeps for one API. Invariant: it is in a file that only its
// owner can read, and in no error, log or argument.
type session struct {
	Login   rights.Login `json:"login"`
	Token   string       `json:"token"`
	Refresh string       `json:"refresh_token,omitempty"`
	Expires time.Time    `json:"expires"`
}

// sessionPath returns the file of the session of an API, beside the configuration file.
func sessionPath(u *url.URL) (string, error) {
	config, err := configPath()
	if err != nil {
		return "", usageError{err}
	}
	name := strings.NewReplacer(":", "_", "[", "", "]", "").Replace(u.Host)
	return filepath.Join(filepath.Dir(config), "sessions", u.Scheme+"_"+name+".json"), nil
}

// write replaces the file of a session.
func (s session) write(path string) error {
	text, err := json.Marshal(s)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err != nil {
		return err
	}
	if err := os.Chmod(path, 0o600); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err // an older file keeps its mode when it is replaced
	}
	return atomicfile.ReplaceFile(path, append(text, '\n'), 0o600)
}

// sessionToken returns the token of the session of an API, renewed if it is about to expire; ""
// if nobody signed in.
func sessionToken(ctx context.Context, u *url.URL) (string, error) {
	path, err := sessionPath(u)
	if err != nil {
		return "", nil // without a home nobody signed in
	}
	s, err := readSession(path)
	if err != nil || s.Token == "" || time.Until(s.Expires) > 30*time.Second {
		return s.Token, err
	}
	again := fmt.Errorf("you are signed out of %s: sign in by `gridbid login`", u.Host)
	if s.Refresh == "" {
		return "", again
	}
	// A refresh token counts once with most providers, so one process renews at a time.
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	defer folder.Close()
	_ = syscall.Flock(int(folder.Fd()), syscall.LOCK_EX) // best effort: some file systems have no locks
	if s, err = readSession(path); err != nil || time.Until(s.Expires) > 30*time.Second {
		return s.Token, err // another process has renewed it
	}
	at, err := openSignIn(ctx, s.Login)
	if err != nil {
		return "", err
	}
	token, err := at.config.TokenSource(at.ctx, &oauth2.Token{RefreshToken: s.Refresh}).Token()
	if err != nil {
		return "", fmt.Errorf("%w: %s", again, providerFault(err))
	}
	if err := at.keep(&s, token); err != nil {
		return "", err
	}
	return s.Token, s.write(path)
}

// readSession reads the file of a session; one that is not there is empty.
func readSession(path string) (s session, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil && json.Unmarshal(text, &s) != nil {
		err = usageError{fmt.Errorf("%s is no session: remove it, and sign in by `gridbid login`", path)}
	}
	return s, err
}

// A signIn is the provider at which somebody signs in.
type signIn struct {
	ctx      context.Context
	config   oauth2.Config
	verifier *oidc.IDTokenVerifier
}

// openSignIn asks a provider how to sign in there.
func openSignIn(ctx context.Context, login rights.Login) (s signIn, err error) {
	u, err := url.Parse(login.Issuer)
	if err != nil {
		return s, fmt.Errorf("the provider's URL %q: %w", login.Issuer, err)
	}
	if _, own := loopback.ParseHost(u.Host); u.Scheme != "https" && !own {
		return s, fmt.Errorf("the coordinator names the OIDC provider %s, which is not reached by https: ask its admin", login.Issuer)
	}
	s.ctx = oidc.ClientContext(ctx, &http.Client{Timeout: requestTimeout})
	p, err := oidc.NewProvider(s.ctx, login.Issuer)
	if err != nil {
		return s, fmt.Errorf("the OIDC provider: %w", err)
	}
	endpoint := p.Endpoint()
	endpoint.AuthStyle = oauth2.AuthStyleInParams // a client without a secret; the library would try twice
	s.config = oauth2.Config{ClientID: login.ClientID, Endpoint: endpoint, Scopes: login.Scopes}
	s.verifier = p.VerifierContext(s.ctx, &oidc.Config{ClientID: login.ClientID})
	return s, nil
}

// keep puts what a provider gave into a session: the ID token, which is always a JWT, or else the
// access token.
func (s signIn) keep(to *session, token *oauth2.Token) error {
	to.Token, to.Expires = token.AccessToken, token.Expiry
	if raw, ok := token.Extra("id_token").(string); ok && raw != "" {
		id, err := s.verifier.Verify(s.ctx, raw)
		if err != nil {
			return fmt.Errorf("the OIDC provider's token is not for this client: %w", err)
		}
		to.Token, to.Expires = raw, id.Expiry
	}
	if token.RefreshToken != "" {
		to.Refresh = token.RefreshToken
	}
	return nil
}

// providerFault returns what a provider answered instead of a token, without the body of the
// answer, which may hold anything.
func providerFault(err error) string {
	var fault *oauth2.RetrieveError
	switch {
	case errors.As(err, &fault) && fault.ErrorCode != "":
		return format.CleanText(strings.TrimSpace(fault.ErrorCode + " " + fault.ErrorDescription))
	case errors.As(err, &fault):
		return "the provider answers " + fault.Response.Status
	}
	return err.Error()
}

// newLoginCommand is `gridbid login`.
func newLoginCommand() *cobra.Command {
	var f apiFlags
	cmd := &cobra.Command{
		Use:   "login",
		Short: "sign in at the federation's OIDC provider",
		Long: `Sign in at the OpenID Connect provider that the coordinator's configuration names, by
the device flow: the command prints an address and a code, and waits until you have
approved the code there, in any browser. Commands then send your token to this API
only, and renew it. It is in gridbid/sessions in the folder of the configuration, in a
file that only you can read. $GRIDBID_TOKEN goes before it.`,
		Example: `  gridbid login --api https://hub.example.org:7480
  gridbid whoami`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			u, err := apiURL(f.api)
			if err != nil {
				return err
			}
			path, err := sessionPath(u)
			if err != nil {
				return err
			}
			var s session
			if err := f.sendRequest(withoutCredential(cmd.Context()), http.MethodGet, "/v1/login", "", nil, &s.Login); err != nil {
				return err
			}
			at, err := openSignIn(cmd.Context(), s.Login)
			if err != nil {
				return err
			}
			device, err := at.config.DeviceAuth(at.ctx)
			if err != nil {
				return fmt.Errorf("the OIDC provider signs nobody in by the device flow: %s", providerFault(err))
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "Open %s and enter the code %s\n", format.CleanText(device.VerificationURI), format.CleanText(device.UserCode))
			token, err := at.config.DeviceAccessToken(at.ctx, device)
			if err != nil {
				return fmt.Errorf("you are not signed in: %s", providerFault(err))
			}
			if err := at.keep(&s, token); err != nil {
				return err
			}
			if err := s.write(path); err != nil {
				return err
			}
			var p rights.Principal
			if err := f.getJSON(cmd.Context(), "/v1/whoami", &p); err != nil {
				return fmt.Errorf("you are signed in at the provider, and the coordinator does not take its token: %w", err)
			}
			return f.printValue(cmd, p, func(out io.Writer) { showPrincipal(out, p) })
		},
	}
	f.registerFlags(cmd, false)
	return cmd
}

// newLogoutCommand is `gridbid logout`.
func newLogoutCommand() *cobra.Command {
	var f apiFlags
	cmd := &cobra.Command{
		Use:   "logout",
		Short: "forget the token of a login",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			u, err := apiURL(f.api)
			if err != nil {
				return err
			}
			path, err := sessionPath(u)
			if err != nil {
				return err
			}
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "signed out of %s\n", u.Host)
			return err
		},
	}
	f.registerFlags(cmd, false)
	return cmd
}
