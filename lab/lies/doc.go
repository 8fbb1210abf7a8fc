// Package lies tests package verify against hubs that lie: a small federation of sites that sign what
// they say, a market with its log, and a hub between them that alters, drops, forges or reorders one
// thing. Each lie must be found by the reader and by the check that docs/proof.md names. Hubs that do
// not lie must verify, whatever happens: `make honest-rounds` plays 100,000 rounds of theirs.
package lies
