// Package docs holds pages of the documentation that the program shows, too, so that page and
// answer are one text.
package docs

import _ "embed" // glossary.md

// Glossary is docs/glossary.md.
//
//go:embed glossary.md
var Glossary string
