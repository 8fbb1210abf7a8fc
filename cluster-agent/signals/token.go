package signals

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// A token is what a service gives who logs in, for a while; "" is none.
type token string

// use asks with the token of before, and logs in when there is none or it is over,
// as one of the given statuses says. A fresh one that is refused is not asked for
// again.
func (t *token) use(login func() ([]byte, error), field string, ask func(bearer string) ([]byte, error), over ...int) ([]byte, error) {
	for fresh := false; ; {
		if *t == "" {
			body, err := login()
			if err != nil {
				return nil, err
			}
			got, err := tokenIn(body, field)
			if err != nil {
				return nil, fmt.Errorf("login: %w", err)
			}
			*t, fresh = got, true
		}
		body, err := ask("Bearer " + string(*t))
		var r refusal
		if !errors.As(err, &r) || !slices.Contains(over, r.status) {
			return body, err
		}
		if *t = ""; fresh {
			return body, err
		}
	}
}

// tokenIn returns the token that stands in a field of an answer.
func tokenIn(body []byte, field string) (t token, err error) {
	var all map[string]json.RawMessage
	if err := parse(body, &all); err != nil {
		return "", err
	}
	if all[field] != nil {
		err = parse(all[field], &t)
	}
	if err == nil && t == "" {
		err = missing(field)
	}
	return t, err
}
