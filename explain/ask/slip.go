package ask

import (
	"maps"
	"slices"
	"strings"

	"github.com/gridbid/gridbid/explain/format"
)

// A Slip is a word that is not known, taken for one that is.
type Slip struct{ Word, Known string }

// mostSlips bounds the words of one question that are taken for slips.
const mostSlips = 2

// slip reads a question whose unknown words are known ones with a slip of the
// fingers in them. It is answered only if all that they may be gives one query;
// else its readings are offered.
func (l *Listener) slip(question string, unknown []string, back *Back) (Query, []Slip, *Back) {
	if len(unknown) > mostSlips {
		return Query{}, nil, back
	}
	var sure []Query
	var taken []Slip
	far := false
	var try func(text string, rest []string, so []Slip)
	try = func(text string, rest []string, so []Slip) {
		if len(rest) > 0 {
			for _, known := range near(rest[0]) {
				try(strings.Replace(text, rest[0], known, 1), rest[1:], append(slices.Clone(so), Slip{rest[0], known}))
			}
			return
		}
		r := &reading{}
		q, other := l.into(text, r)
		if other != nil && other.apart {
			q, other = l.apart(text, r, other)
		}
		switch {
		case other == nil && !slices.ContainsFunc(sure, func(x Query) bool { return x.String() == q.String() }):
			sure, taken = append(sure, q), so
		case other != nil && other.Kind != "unclear":
			far = true
		}
	}
	try(question, unknown, nil)
	if len(sure) == 1 && !far && !slices.ContainsFunc(unknown, doubtful) {
		return sure[0], taken, nil
	}
	if len(sure) > 0 {
		back.Kind = "ambiguous"
		back.offer("Perhaps one of these is meant:", sure...)
	}
	return Query{}, nil, back
}

// near returns the known words that are one slip of the fingers away.
func near(word string) (all []string) {
	low := fold.Replace(strings.ToLower(word))
	if len(low) < 4 {
		return nil
	}
	var swapped []string // two letters that changed places are the likeliest slip
	for _, known := range vocabulary {
		if letters(low) == letters(known) && (len(known) >= 6 || !noise(known)) && format.Edits(low, known) == 2 {
			swapped = append(swapped, known)
		}
		if known[0] != low[0] || len(known) < 6 && noise(known) {
			continue
		}
		if d := format.Edits(low, known); d <= 1 || d == 2 && letters(low) == letters(known) {
			all = append(all, known)
		}
	}
	if len(swapped) > 0 {
		return swapped
	}
	return all
}

// noise reports whether a word says nothing by itself.
func noise(word string) bool { return slices.Contains(phrases[word], "_") }

// doubtful reports whether a word that is not known may well be meant as it
// stands: a short one, one with a figure, or one that sets a limit.
func doubtful(word string) bool {
	low := strings.ToLower(word)
	return len(low) < 4 || strings.ContainsAny(low, "0123456789") || slices.Contains(words, low)
}

// words are those of the language that look like known ones with a slip in them.
var words = strings.Fields(`
except expect accept besides below above under until since before after without within less lesser fewer worse
coast coal goal cast coats taste rage stage state stall stars stare smart sort sorts short shore store stone ages
prize pride prince praise plane plate plates plan plans planes blaze lace race pace face space trace grace
water waiter weight eight night light might right sight tight houses horse hoses curse course source force
lease leave leaves lead leads read reads real road roads roar tower lower poker mower sower flower powder
lame came game fame tame blame flame frame shame chef cheat chess chest sheep cheek cheer deep jeep free tree
trees three there their where were here hire fire wire tire hired fired wired tired mired forget forge former
former farm form forms firm film fill full fuel feel fell fall tall call calls ball wall hall small smell
bean beam team teams steam stream dream cream scream seam seat seats heat beat meat neat treat great grant
plant plants grand brand stand sand hand hands band bands land lands ends bends sends tends
rain train brain drain grain chain pain main gain again pair fair hair chair stair affair
load loads loan moan goal coat boat float
joke jobless robs jabs lobs mobs side sides sites sight size sizes sire wise rise
rules ruler mules tulip rude role roles poles holes
least beast feast east last past fast vast cast list lists mist fist twist first thirst burst
even event events ever never every fever lever seven eleven
second seconds third thirds fourth half halves double triple twice thrice
older newer longer shorter bigger smaller larger higher lower later earlier faster slower cheaper costlier
older holder folder border order orders odder
single singles jingle mingle angle
carton cartoon cargo care card cards cart car cars scar scars
enemy energetic emergency synergy
cares scores stores stories
`)

// vocabulary is every word of the lexicon that is long enough to be known by
// its looks.
var vocabulary = func() (all []string) {
	for _, text := range slices.Sorted(maps.Keys(phrases)) {
		for word := range strings.FieldsSeq(text) {
			if len(word) >= 4 {
				all = append(all, word)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}()
