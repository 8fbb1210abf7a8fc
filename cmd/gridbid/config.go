package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/internal/atomicfile"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/internal/nearest"
	"github.com/gridbid/gridbid/internal/printer"
	"github.com/gridbid/gridbid/internal/yamlschema"
)

// A configFile is the user's configuration: federations by name, and which of them commands
// talk to.
type configFile struct {
	Current  string                   `yaml:"current-context" json:"current-context,omitempty"`
	Contexts map[string]configContext `yaml:"contexts" json:"contexts,omitempty"`
}

// A configContext is how to reach one federation, and how its answers are printed.
type configContext struct {
	API    string `yaml:"api" json:"api,omitempty"`
	CA     string `yaml:"ca" json:"ca,omitempty"`
	NATS   string `yaml:"nats" json:"nats,omitempty"`
	Output string `yaml:"output" json:"output,omitempty"`
}

// configSchema reads the file, so that a fault in it is reported with its line.
var configSchema = yamlschema.SchemaKind{
	Reader: "config", FileKind: "configuration of gridbid", Docs: "docs/cli.md",
	Schema: []byte(`{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object", "additionalProperties": false,
  "properties": {
    "current-context": {"type": "string", "description": "the context that is used unless --context names another"},
    "contexts": {"type": "object", "additionalProperties": {
      "type": "object", "additionalProperties": false,
      "properties": {
        "api": {"type": "string", "description": "HOST:PORT or https://HOST:PORT of a coordinator's API"},
        "ca": {"type": "string", "description": "file with the authority of the API's certificate; default: those that this machine trusts"},
        "nats": {"type": "string", "description": "nats.yaml of a tenant's folder, by whose key jobs are submitted and cancelled over NATS"},
        "output": {"enum": ["table", "wide", "json", "yaml", "csv", "name"]}
      }
    }}
  }
}`),
}

// configPath returns the path of the configuration file: $GRIDBID_CONFIG, or
// gridbid/config.yaml in the folder of the XDG base directories.
func configPath() (string, error) {
	if path := os.Getenv("GRIDBID_CONFIG"); path != "" {
		return path, nil
	}
	folder := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(folder) { // the specification has relative paths ignored
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("no folder for the configuration: %w: set GRIDBID_CONFIG to a file", err)
		}
		folder = filepath.Join(home, ".config")
	}
	return filepath.Join(folder, "gridbid", "config.yaml"), nil
}

// readConfig reads the configuration. A file that does not exist is an empty one.
func readConfig() (c configFile, err error) {
	path, err := configPath()
	if err != nil {
		return c, nil // without a home there is no configuration; writing one fails
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(bytes.TrimSpace(text)) == 0 {
		return c, nil
	}
	if err != nil {
		return c, usageError{err}
	}
	page, err := configSchema.ParsePage(path, text)
	if err == nil {
		err = page.DecodeInto(&c)
	}
	if err == nil && c.Current != "" {
		_, err = c.contextOf(c.Current)
	}
	if err != nil {
		return c, usageError{err}
	}
	return c, nil
}

// writeConfig replaces the configuration file. Invariant: only its owner can read it, as
// contexts are where credentials will be.
func (c configFile) writeConfig() (path string, err error) {
	if path, err = configPath(); err != nil {
		return "", usageError{err}
	}
	var text bytes.Buffer
	if err := (printer.Listing[any]{Data: c}).Print(&text, printer.YAML); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	if err := os.Chmod(path, 0o600); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err // an older file keeps its mode when it is replaced
	}
	return path, atomicfile.ReplaceFile(path, text.Bytes(), 0o600)
}

// names returns the names of all contexts, sorted.
func (c configFile) names() []string { return slices.Sorted(maps.Keys(c.Contexts)) }

// contextOf returns the context of a name.
func (c configFile) contextOf(name string) (configContext, error) {
	if x, ok := c.Contexts[name]; ok {
		return x, nil
	}
	if len(c.Contexts) == 0 {
		return configContext{}, usageError{fmt.Errorf("no context %q: there is none yet; `gridbid config set-context %s --api HOST:PORT` makes it", name, shellWord(name))}
	}
	return configContext{}, usageError{fmt.Errorf("no context %q%s", name, nearest.WhatThereIs(name, c.names()))}
}

// fromContext marks the flags whose default a context may set.
const fromContext = "gridbid-from-context"

// applyContext sets the flags of a command that neither its arguments nor the environment set
// by the context in use: that of --context, of $GRIDBID_CONTEXT, or the current one.
func applyContext(cmd *cobra.Command) error {
	chosen := cmd.Flags().Lookup("context")
	if chosen == nil || chosen.Annotations[fromContext] == nil {
		chosen = nil
	}
	use := configContext{Output: os.Getenv("GRIDBID_OUTPUT")}
	if chosen != nil {
		c, err := readConfig()
		if err != nil {
			return err
		}
		if name := cmp.Or(chosen.Value.String(), os.Getenv("GRIDBID_CONTEXT"), c.Current); name != "" {
			x, err := c.contextOf(name)
			if err != nil {
				return err
			}
			use = configContext{API: x.API, NATS: x.NATS, Output: cmp.Or(use.Output, x.Output)}
		}
	}
	set := func(name, value, where string) error {
		f := cmd.Flags().Lookup(name)
		if f == nil || f.Annotations[fromContext] == nil || f.Changed || value == "" {
			return nil
		}
		if err := f.Value.Set(value); err != nil {
			return usageError{fmt.Errorf("%s: %w", where, err)}
		}
		return nil
	}
	// Who names the API asks the API.
	if api := cmd.Flags().Lookup("api"); os.Getenv("GRIDBID_NATS") == "" && os.Getenv("GRIDBID_API") == "" && (api == nil || !api.Changed) {
		if err := set("nats", use.NATS, "the context's nats"); err != nil {
			return err
		}
	}
	if os.Getenv("GRIDBID_API") == "" {
		if err := set("api", use.API, "the context's api"); err != nil {
			return err
		}
	}
	return set("output", use.Output, "$GRIDBID_OUTPUT")
}

// newConfigCommand is `gridbid config`.
func newConfigCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "name federations, and choose the one that commands talk to",
		Long: `A context names a federation: the address of its coordinator's API, and the format in
which its answers are printed. Commands use the current context; --context and
$GRIDBID_CONTEXT choose another.

  gridbid config set-context north --api 127.0.0.1:7480 --output wide
  gridbid config set-context south --api https://hub.example.org:7480 --ca ca.pem
  gridbid config set-context vision --nats vision/nats.yaml    # a tenant's key
  gridbid config use-context north
  gridbid config get-contexts

A flag goes before the environment ($GRIDBID_API, $GRIDBID_OUTPUT), and the environment
before the context. The file is gridbid/config.yaml in $XDG_CONFIG_HOME or ~/.config, or
$GRIDBID_CONFIG; only its owner can read it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newConfigView(), newConfigSet(), newConfigUse(), newConfigList(), newConfigDelete())
	return cmd
}

// newConfigView is `gridbid config view`.
func newConfigView() *cobra.Command {
	var f outputFlags
	cmd := &cobra.Command{
		Use:   "view",
		Short: "print the configuration, and the file that it is in",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := readConfig()
			if err != nil {
				return err
			}
			path, err := configPath()
			if err != nil {
				return err
			}
			fmt.Fprintf(notesOf(cmd), "# %s\n", path)
			return f.printValue(cmd, c, func(out io.Writer) {
				_ = printer.Listing[any]{Data: c}.Print(out, printer.YAML) // never fails: out is a buffer in memory
			})
		},
	}
	f.registerOutput(cmd)
	return cmd
}

// newConfigSet is `gridbid config set-context`.
func newConfigSet() *cobra.Command {
	var x configContext
	cmd := &cobra.Command{
		Use:     "set-context NAME",
		Short:   "make a context, or change one; what is not given stays",
		Example: `  gridbid config set-context north --api 127.0.0.1:7480 --output wide`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if x.Output != "" {
				if _, err := printer.ParseFormat(x.Output); err != nil {
					return usageError{fmt.Errorf("--output: %w", err)}
				}
			}
			if _, err := apiURL(x.API); x.API != "" && err != nil {
				return err
			}
			for _, file := range []*string{&x.CA, &x.NATS} { // commands are called in any folder
				if *file == "" {
					continue
				}
				full, err := filepath.Abs(*file)
				if err != nil {
					return usageError{err}
				}
				*file = full
			}
			return changeConfig(cmd, func(c *configFile) (string, error) {
				if c.Contexts == nil {
					c.Contexts = make(map[string]configContext)
				}
				was := c.Contexts[args[0]]
				c.Contexts[args[0]] = configContext{API: cmp.Or(x.API, was.API), CA: cmp.Or(x.CA, was.CA), NATS: cmp.Or(x.NATS, was.NATS), Output: cmp.Or(x.Output, was.Output)}
				if c.Current == "" { // the first one is meant to be used
					c.Current = args[0]
					return fmt.Sprintf("context %s is set, and is the current one", args[0]), nil
				}
				return fmt.Sprintf("context %s is set; the current one is %s", args[0], c.Current), nil
			})
		},
	}
	cmd.Flags().StringVar(&x.API, "api", "", "`ADDRESS` (HOST:PORT, or https://HOST:PORT) of the coordinator's API")
	cmd.Flags().StringVar(&x.CA, "ca", "", "`FILE` with the authority of its certificate (default: those that this machine trusts)")
	cmd.Flags().StringVar(&x.NATS, "nats", "", "`FILE` nats.yaml of a tenant's folder, by whose key jobs are submitted and cancelled")
	cmd.Flags().StringVar(&x.Output, "output", "", "`FORMAT` of its answers: "+format.JoinWithOr(printer.Formats()))
	return cmd
}

// changeConfig changes the configuration and prints what was done.
func changeConfig(cmd *cobra.Command, change func(*configFile) (did string, err error)) error {
	c, err := readConfig()
	if err != nil {
		return err
	}
	did, err := change(&c)
	if err != nil {
		return err
	}
	path, err := c.writeConfig()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s (%s)\n", did, path)
	return err
}

// newConfigUse is `gridbid config use-context`.
func newConfigUse() *cobra.Command {
	return &cobra.Command{
		Use:   "use-context NAME",
		Short: "have commands use a context from now on",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return changeConfig(cmd, func(c *configFile) (string, error) {
				_, err := c.contextOf(args[0])
				c.Current = args[0]
				return "the current context is " + args[0], err
			})
		},
	}
}

// A contextRow is a context in a listing.
type contextRow struct {
	Name    string `json:"name"`
	Current bool   `json:"current"`
	configContext
}

// newConfigList is `gridbid config get-contexts`.
func newConfigList() *cobra.Command {
	var f outputFlags
	cmd := &cobra.Command{
		Use:   "get-contexts",
		Short: "list the contexts",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := readConfig()
			if err != nil {
				return err
			}
			var rows []contextRow
			for _, name := range c.names() {
				rows = append(rows, contextRow{name, name == c.Current, c.Contexts[name]})
			}
			return f.printView(cmd, printer.Listing[contextRow]{Rows: rows, Columns: []printer.Column[contextRow]{
				{Head: "NAME", Value: func(r contextRow) any { return r.Name }},
				{Head: "CURRENT", Value: func(r contextRow) any { return r.Current }},
				{Head: "API", Value: func(r contextRow) any { return r.API }},
				{Head: "OUTPUT", Value: func(r contextRow) any { return r.Output }},
			}})
		},
	}
	f.registerOutput(cmd)
	return cmd
}

// newConfigDelete is `gridbid config delete-context`.
func newConfigDelete() *cobra.Command {
	return &cobra.Command{
		Use:   "delete-context NAME",
		Short: "forget a context",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return changeConfig(cmd, func(c *configFile) (string, error) {
				if _, err := c.contextOf(args[0]); err != nil {
					return "", err
				}
				delete(c.Contexts, args[0])
				if c.Current == args[0] {
					c.Current = ""
					return fmt.Sprintf("context %s is gone; none is the current one now", args[0]), nil
				}
				return fmt.Sprintf("context %s is gone", args[0]), nil
			})
		},
	}
}
