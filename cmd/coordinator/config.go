package main

import (
	"crypto/tls"
	_ "embed"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/coordinator/rights"
	"github.com/gridbid/gridbid/internal/certificate"
	"github.com/gridbid/gridbid/internal/daemon"
	"github.com/gridbid/gridbid/internal/yamlschema"
	"github.com/gridbid/gridbid/protocol"
)

//go:embed config.schema.json
var configSchema []byte

var configFile = yamlschema.SchemaKind{
	Reader: "coordinator", FileKind: "configuration", Docs: "docs/live.md", Schema: configSchema,
	Pattern: func(p string) string {
		if strings.Contains(p, "ms|") {
			return "a time span such as 500ms, 2s or 1h30m"
		}
		return ""
	},
}

// coordinatorConfig is the coordinator's configuration file, with its YAML keys.
type coordinatorConfig struct {
	daemon.Settings `yaml:",inline"`
	Host            string             `yaml:"host"`
	Archive         string             `yaml:"archive"`
	Credentials     string             `yaml:"credentials_file"`
	OIDC            *rights.OIDCConfig `yaml:"oidc"`
	TLS             tlsConfig          `yaml:"tls"`
	Lease           configDuration     `yaml:"lease"`
	Keep            configDuration     `yaml:"keep"`
	Market          marketConfig       `yaml:"market"`
	Model           modelConfig        `yaml:"model"`
	Proof           proofConfig        `yaml:"proof"`
}

// tlsConfig names the certificate with which the API is served, and its key.
type tlsConfig struct {
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
}

// marketConfig is the section on the market's rules. A pointer is nil where zero is a valid
// value that differs from the default.
type marketConfig struct {
	Gather   *configDuration `yaml:"gather"`
	Window   configDuration  `yaml:"window"`
	Lease    configDuration  `yaml:"lease"`
	Replan   configDuration  `yaml:"replan"`
	Patience configDuration  `yaml:"patience"`
	Remember configDuration  `yaml:"remember"`
	Most     int             `yaml:"most"`
	Margin   *int64          `yaml:"margin"`

	protocol.WeightSettings `yaml:",inline"`
}

// A configDuration is a duration as a word; zero if it is absent.
type configDuration time.Duration

// UnmarshalYAML parses words such as 1h30m, whose form the schema has checked.
func (s *configDuration) UnmarshalYAML(read func(any) error) error {
	var text string
	if err := read(&text); err != nil {
		return err
	}
	d, err := time.ParseDuration(text)
	*s = configDuration(d)
	return err
}

// loadConfig reads and checks a configuration file; "" means all defaults.
func loadConfig(file string) (coordinatorConfig, error) {
	c := coordinatorConfig{}
	if file == "" {
		return c, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return c, fmt.Errorf("coordinator: %w", err)
	}
	p, err := configFile.ParsePage(file, text)
	if err != nil {
		return c, err
	}
	if err := p.DecodeInto(&c); err != nil {
		return c, err
	}
	dir := filepath.Dir(file)
	c.Model = c.Model.resolvePaths(dir)
	c.Credentials, c.Archive = daemon.ResolveUnder(dir, c.Credentials), daemon.ResolveUnder(dir, c.Archive)
	c.Host = daemon.ResolveUnder(dir, c.Host)
	c.TLS.Cert, c.TLS.Key = daemon.ResolveUnder(dir, c.TLS.Cert), daemon.ResolveUnder(dir, c.TLS.Key)
	c.Proof.Key = daemon.ResolveUnder(dir, c.Proof.Key)
	c.ResolvePaths(dir)
	if c.Lease != 0 && time.Duration(c.Lease)%time.Second != 0 {
		return c, p.FaultAt([]string{"lease"}, "want whole seconds")
	}
	return c, nil
}

// mayListen returns an error for an address that other machines reach, unless the API is served
// there by TLS, and to those with a credential.
func (c coordinatorConfig) mayListen(address string) error {
	local, err := daemon.IsLoopback(address)
	if err != nil || local {
		return err
	}
	var missing []string
	if c.TLS.Cert == "" {
		missing = append(missing, "tls: {cert: FILE, key: FILE}")
	}
	if c.Credentials == "" && c.OIDC == nil {
		missing = append(missing, "credentials_file (gridbid credentials add writes it) or oidc")
	}
	if len(missing) > 0 {
		return fmt.Errorf("listen %q: other machines reach this address, so the API needs TLS and credentials there: add %s to the configuration, or listen on a loopback address such as 127.0.0.1:7480 (docs/identity.md)", address, strings.Join(missing, " and "))
	}
	return nil
}

// openAuthenticator returns who authenticates the requests; nil if no credentials are configured.
func (c coordinatorConfig) openAuthenticator(log *slog.Logger) (*rights.Authenticator, error) {
	if c.Credentials == "" && c.OIDC == nil {
		return nil, nil
	}
	return rights.New(rights.Config{CredentialsFile: c.Credentials, OIDC: c.OIDC, Log: log})
}

// openTLS returns how the API is served by TLS; nil: it is served without.
func (c tlsConfig) openTLS(log *slog.Logger) (*tls.Config, error) {
	if c.Cert == "" {
		return nil, nil
	}
	serve, err := certificate.Config(c.Cert, c.Key, log)
	if err != nil {
		return nil, fmt.Errorf("tls: %w", err)
	}
	return serve, nil
}

// marketRules returns the market's configuration, with the defaults of a live
// federation: 10 % margin, 512 jobs in a round, and ended jobs remembered for a day.
func (c coordinatorConfig) marketRules() market.Config {
	m := c.Market
	out := market.Config{
		Window: time.Duration(m.Window), Lease: time.Duration(m.Lease),
		Replan: time.Duration(m.Replan), Patience: time.Duration(m.Patience), Remember: time.Duration(m.Remember),
		Terms: m.WeightSettings.Weights(),
		Pay:   accounts.PaymentRule{Margin: 100},
	}
	if g := m.Gather; g != nil && *g == 0 {
		out.Gather = -1
	} else if g != nil {
		out.Gather = time.Duration(*g)
	}
	if out.Most = m.Most; out.Most == 0 {
		out.Most = 512
	}
	if out.Remember == 0 {
		out.Remember = 24 * time.Hour
	}
	if m.Margin != nil {
		out.Pay.Margin = protocol.Milli(*m.Margin)
	}
	return out
}
