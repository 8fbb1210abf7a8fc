package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gridbid/gridbid/coordinator/rights"
)

// The file of credentials is replaced whole: who reads the old one meanwhile, or is left
// with it, has it whole; and whoever could read it still can.
func TestCredentialsAreWrittenWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	file, old := filepath.Join(dir, "credentials.json"), filepath.Join(dir, "old.json")
	add := func(name string) {
		t.Helper()
		if out, _, err := execute(newCredentialsCommand(), "add", name, "--role", "auditor", "--file", file); err != nil || out == "" {
			t.Fatalf("%s: %v", name, err)
		}
	}
	add("ada")
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(file, old); err != nil {
		t.Skip(err)
	}
	add("ben")
	for path, want := range map[string]int{file: 2, old: 1} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if all, err := rights.ReadFile(path, text); err != nil || len(all.Credentials) != want {
			t.Errorf("%s: %d credentials, %v; want %d", filepath.Base(path), len(all.Credentials), err, want)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v; want the rights that it had", info.Mode(), err)
	}
	if all, _ := os.ReadDir(dir); len(all) != 2 {
		t.Errorf("left behind: %v", all)
	}
}

// Tokens are shown once, so none may get lost from the file, whoever else adds one.
func TestCredentialsAreAddedOneAfterTheOther(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials.json")
	const many = 20
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() {
			if out, _, err := execute(newCredentialsCommand(), "add", fmt.Sprint("ada ", i), "--role", "tenant", "--tenant", "team-a", "--file", file); err != nil || len(out) < 20 {
				t.Errorf("add: %v: %q", err, out)
			}
		})
	}
	all.Wait()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if all, err := rights.ReadFile(file, text); err != nil || len(all.Credentials) != many {
		t.Errorf("%d credentials are in the file: %v; want %d", len(all.Credentials), err, many)
	}
	for _, args := range [][]string{
		{"add", "ada 1", "--role", "auditor"}, {"add", "", "--role", "auditor"}, {"add", "x", "--role", "root"}, {"add", "x", "--role", "tenant"},
		{"add", "x", "--role", "auditor", "--tenant", "team-a"}, {"add", "x", "--role", "auditor", "--valid", "20000h"}, {"revoke", "ben"}, {"revoke"}, {"revoke", "ada 1", "--subject", "x"},
	} {
		if _, _, err := execute(newCredentialsCommand(), append(args, "--file", file)...); !errors.As(err, new(usageError)) {
			t.Errorf("%q: %v; want bad input", args, err)
		}
	}
	if now, err := os.ReadFile(file); err != nil || string(now) != string(text) {
		t.Errorf("who cannot be added changed the file: %v: %s", err, now)
	}
}

// A token is in no file and in no listing, and what is revoked is shown so.
func TestARevokedCredentialIsListedAsThat(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials.json")
	token, _, err := execute(newCredentialsCommand(), "add", "ada", "--role", "tenant", "--tenant", "team-a", "--file", file)
	if err != nil {
		t.Fatal(err)
	}
	if out, _, err := execute(newCredentialsCommand(), "revoke", "ada", "--file", file); err != nil || !strings.Contains(out, "ada is revoked") {
		t.Errorf("revoke: %v: %s", err, out)
	}
	out, _, err := execute(newCredentialsCommand(), "list", "--file", file, "-o", "json")
	text, _ := os.ReadFile(file)
	if err != nil || !strings.Contains(out, `"revoked"`) || !strings.Contains(out, "team-a") || strings.Contains(out+string(text), strings.TrimSpace(token)) {
		t.Errorf("list: %v: %s", err, out)
	}
	if out, _, err := execute(newCredentialsCommand(), "revoke", "--subject", "auth0|7", "--file", file); err != nil || !strings.Contains(out, "auth0|7 is revoked") {
		t.Errorf("revoke a subject: %v: %s", err, out)
	}
	if text, _ := os.ReadFile(file); !strings.Contains(string(text), `"auth0|7"`) {
		t.Errorf("the file is %s", text)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v; want it readable by its owner only", info.Mode(), err)
	}
}
