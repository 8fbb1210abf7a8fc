package api

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// A Person is an operator who may confirm a change of policy, and has a token for
// it. The file of people holds hashes, not tokens. Without a file of people the API
// does not verify names.
type Person struct {
	Name   string `json:"name"`
	SHA256 string `json:"token_sha256"` // in hex
}

// personNamePattern matches valid names of people.
var personNamePattern = regexp.MustCompile(`^[\pL\pN][\pL\pN ._@-]{0,63}$`)

// NewPerson generates a token for an operator. The caller must show it once; the file
// has only its hash.
func NewPerson(name string) (token string, p Person, err error) {
	if !personNamePattern.MatchString(name) {
		return "", p, fmt.Errorf("api: people: %q: want letters, digits, spaces and ._@-, at most 64", name)
	}
	token = rand.Text()
	return token, Person{name, hashToken(token)}, nil
}

// hashToken returns the SHA-256 of a token in hex. Tokens are random and long, so a plain
// hash suffices.
func hashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// ReadPeople reads a file of people: a JSON array. It refuses a name or a token that
// occurs twice, since one operator could then confirm a change as two.
func ReadPeople(file string, text []byte) ([]Person, error) {
	var all []Person
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	if err := in.Decode(&all); err != nil {
		return nil, fmt.Errorf("%s: %w: want what `gridbid policy person` writes", file, err)
	}
	names, tokens := make(map[string]bool), make(map[string]bool)
	for i, p := range all {
		raw, err := hex.DecodeString(p.SHA256)
		switch {
		case !personNamePattern.MatchString(p.Name):
			return nil, fmt.Errorf("%s: person %d: name %q: want letters, digits, spaces and ._@-, at most 64", file, i+1, p.Name)
		case err != nil || len(raw) != sha256.Size:
			return nil, fmt.Errorf("%s: person %d: token_sha256: want 64 hex digits", file, i+1)
		case names[p.Name] || tokens[strings.ToLower(p.SHA256)]:
			return nil, fmt.Errorf("%s: person %d: an earlier person has the same name or token; remove one", file, i+1)
		}
		names[p.Name], tokens[strings.ToLower(p.SHA256)] = true, true
	}
	return all, nil
}

// RequireTokens makes the API require a token from every operator who confirms a policy. Call
// it before serving. With an empty list no operator can confirm one.
func (d *Server) RequireTokens(all []Person) {
	d.people = make(map[string]string, len(all))
	for _, p := range all {
		d.people[strings.ToLower(p.SHA256)] = p.Name
	}
}

var errNoToken = errors.New("api: confirming a policy requires a token of your own: Authorization: Bearer TOKEN; `gridbid policy person` makes one")

// authenticate returns the name of the operator whose token a request has; "" if names are
// not verified.
func (d *Server) authenticate(r *http.Request) (string, error) {
	if d.people == nil {
		return "", nil
	}
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if name := d.people[hashToken(token)]; ok && name != "" {
		return name, nil
	}
	return "", errNoToken
}
