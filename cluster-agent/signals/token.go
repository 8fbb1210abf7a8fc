package signals

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// A bearerToken is a credential that a login returns; it expires. "" means none.
type bearerToken string

// queryWithLogin calls ask with the stored token. It logs in first if there is none, and once
// more if the answer has one of the statuses over, which mean that the token expired.
// A fresh token that is refused is an error.
func (t *bearerToken) queryWithLogin(login func() ([]byte, error), field string, ask func(bearer string) ([]byte, error), over ...int) ([]byte, error) {
	for fresh := false; ; {
		if *t == "" {
			body, err := login()
			if err != nil {
				return nil, err
			}
			got, err := extractToken(body, field)
			if err != nil {
				return nil, fmt.Errorf("login: %w", err)
			}
			*t, fresh = got, true
		}
		body, err := ask("Bearer " + string(*t))
		var r httpRefusal
		if !errors.As(err, &r) || !slices.Contains(over, r.status) {
			return body, err
		}
		if *t = ""; fresh {
			return body, err
		}
	}
}

// extractToken returns the token in a field of a login's answer.
func extractToken(body []byte, field string) (t bearerToken, err error) {
	var all map[string]json.RawMessage
	if err := parseJSON(body, &all); err != nil {
		return "", err
	}
	if all[field] != nil {
		err = parseJSON(all[field], &t)
	}
	if err == nil && t == "" {
		err = missingFieldError(field)
	}
	return t, err
}
