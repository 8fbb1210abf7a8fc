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

// A Person may confirm a change of policy, by a token of his own. The file of
// people does not hold tokens. Without people the desk believes the names that it
// is given.
type Person struct {
	Name   string `json:"name"`
	SHA256 string `json:"token_sha256"` // in hex
}

// plain is what a person may be called.
var plain = regexp.MustCompile(`^[\pL\pN][\pL\pN ._@-]{0,63}$`)

// NewPerson makes a token for somebody. It is shown once: the file has its hash.
func NewPerson(name string) (token string, p Person, err error) {
	if !plain.MatchString(name) {
		return "", p, fmt.Errorf("desk: people: %q: want letters, digits, spaces and ._@-, at most 64", name)
	}
	token = rand.Text()
	return token, Person{name, hash(token)}, nil
}

func hash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// ReadPeople reads a file of people: a JSON array. Two people of one name, or one
// token for two, would be one person who agrees with himself.
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
		case !plain.MatchString(p.Name):
			return nil, fmt.Errorf("%s: person %d: name %q: want letters, digits, spaces and ._@-, at most 64", file, i+1, p.Name)
		case err != nil || len(raw) != sha256.Size:
			return nil, fmt.Errorf("%s: person %d: token_sha256: want 64 hex digits", file, i+1)
		case names[p.Name] || tokens[strings.ToLower(p.SHA256)]:
			return nil, fmt.Errorf("%s: person %d: the name or the token is that of another before", file, i+1)
		}
		names[p.Name], tokens[strings.ToLower(p.SHA256)] = true, true
	}
	return all, nil
}

// Know has the desk ask everybody who confirms a policy for a token, from the
// start on. Nobody known means that nobody may.
func (d *Desk) Know(all []Person) {
	d.people = make(map[string]string, len(all))
	for _, p := range all {
		d.people[strings.ToLower(p.SHA256)] = p.Name
	}
}

var errStranger = errors.New("desk: who confirms a policy shows a token of his own: Authorization: Bearer TOKEN; `gridbid policy person` makes one")

// who returns who asks, by his token. Without people it is "".
func (d *Desk) who(r *http.Request) (string, error) {
	if d.people == nil {
		return "", nil
	}
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if name := d.people[hash(token)]; ok && name != "" {
		return name, nil
	}
	return "", errStranger
}
