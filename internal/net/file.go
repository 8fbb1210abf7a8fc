package net

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

// Schema is the version of the file of weights. A reader refuses every other.
const Schema = 1

// MostBytes bounds a file of weights.
const MostBytes = 1 << 20

// A File is a net with what was used to train it.
type File struct {
	Schema    int      `json:"schema"`
	Name      string   `json:"name"`      // what the net is for
	Version   string   `json:"version"`   // of the program that trained it
	Seed      uint64   `json:"seed"`      // of the training
	Decisions int      `json:"decisions"` // that it was trained on
	Days      string   `json:"days"`      // sha256 of the list of training days
	Features  []string `json:"features"`  // names of the inputs, in order
	Net
	SHA256 string `json:"sha256"` // of the file with this field empty
}

// Write returns the bytes of a file, with Schema and SHA256 set. It is an error if the net is not
// whole or holds a number that is not finite.
func (f File) Write() ([]byte, error) {
	f.Schema, f.SHA256 = Schema, ""
	if err := f.validate(); err != nil {
		return nil, fmt.Errorf("net: %w", err)
	}
	text, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("net: %w", err)
	}
	sum := sha256.Sum256(text)
	f.SHA256 = hex.EncodeToString(sum[:])
	text, err = json.Marshal(f)
	return append(text, '\n'), err
}

// Parse reads a file of weights. It accepts the very bytes that Write returned and no others: an error
// names the field that is wrong, or says that bytes were altered.
func Parse(text []byte) (File, error) {
	var f File
	switch head := struct{ Schema int }{}; {
	case len(text) > MostBytes:
		return File{}, fmt.Errorf("net: weights have %d bytes: want at most %d", len(text), MostBytes)
	case json.Unmarshal(text, &head) == nil && head.Schema != Schema:
		return File{}, fmt.Errorf("net: schema: %d: this program reads %d: train the weights anew with it", head.Schema, Schema)
	}
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	if err := in.Decode(&f); err != nil {
		var at *json.SyntaxError
		if errors.As(err, &at) {
			return File{}, fmt.Errorf("net: byte %d: %w: want weights as `gridbid learn` writes them", at.Offset, err)
		}
		return File{}, fmt.Errorf("net: %w: want weights as `gridbid learn` writes them", err)
	}
	if err := f.validate(); err != nil {
		return File{}, fmt.Errorf("net: %w", err)
	}
	if len(f.Features) != len(f.Mean) {
		return File{}, fmt.Errorf("net: features: %d names for %d inputs: want one for each", len(f.Features), len(f.Mean))
	}
	whole, err := f.Write()
	if err != nil {
		return File{}, err
	}
	if !bytes.Equal(whole, text) {
		return File{}, fmt.Errorf("net: sha256: %.12s is not that of these bytes: they were altered; take the file from where it came, or train anew", f.SHA256)
	}
	return f, nil
}
