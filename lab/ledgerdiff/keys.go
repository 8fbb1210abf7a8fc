package main

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/gridbid/gridbid/protocol"
)

// keys are the keys to leave out, by the type name of a message's body.
type keys map[string][]string

// bodies are the kinds of messages of which keys can be left out: those to which
// fields are added for all of a federation.
var bodies = []protocol.Body{
	protocol.Submit{}, protocol.Call{}, protocol.Offer{}, protocol.Award{}, protocol.Hold{}, protocol.Accept{}, protocol.Decline{},
	protocol.Launch{}, protocol.Exited{}, protocol.Done{}, protocol.Settled{}, protocol.Hello{}, protocol.Meter{}, protocol.Heard{},
}

// parseKeys reads "Kind.key,Kind.key". A kind or a key that does not exist is an
// error: a misspelt one would leave nothing out.
func parseKeys(text string) (keys, error) {
	all := make(keys)
	if text == "" {
		return all, nil
	}
	for _, one := range strings.Split(text, ",") {
		kind, key, ok := strings.Cut(one, ".")
		if !ok {
			return nil, fmt.Errorf("%q is not Kind.key, as in Call.pl", one)
		}
		body := bodyOf(kind)
		if body == nil {
			return nil, fmt.Errorf("%q: no message is a %q whose keys can be left out", one, kind)
		}
		if fieldByKey(body, key) < 0 {
			return nil, fmt.Errorf("%q: a %s has no key %q on the wire", one, kind, key)
		}
		all[kind] = append(all[kind], key)
	}
	return all, nil
}

func bodyOf(kind string) reflect.Type {
	for _, b := range bodies {
		if t := reflect.TypeOf(b); t.Name() == kind {
			return t
		}
	}
	return nil
}

// fieldByKey returns the index of the field that travels under a key, or -1.
func fieldByKey(body reflect.Type, key string) int {
	for i := range body.NumField() {
		if name, _, _ := strings.Cut(body.Field(i).Tag.Get("msgpack"), ","); name == key {
			return i
		}
	}
	return -1
}

// without returns m with the keys to leave out set to zero.
func (k keys) without(m protocol.Message) protocol.Message {
	t := reflect.TypeOf(m.Body)
	names := k[t.Name()]
	if len(names) == 0 {
		return m
	}
	body := reflect.New(t).Elem()
	body.Set(reflect.ValueOf(m.Body))
	for _, key := range names {
		body.Field(fieldByKey(t, key)).SetZero()
	}
	m.Body = body.Interface().(protocol.Body)
	return m
}
