package page

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
)

// Every text colour has a contrast of 4.5 to 1 with its background, and distinguishing
// marks one of 3 to 1, in light and dark mode (WCAG 2.2, 1.4.3 and 1.4.11, level AA).
func TestContrast(t *testing.T) {
	style := colorVariables()
	light := colorsOf(style[:strings.Index(style, "@media")])
	dark := colorsOf(style[strings.Index(style, ":root[data-theme=dark]"):])
	type pair struct {
		ink, papers string
		want        float64
	}
	all := []pair{
		{"text", "paper desk wash", 4.5}, {"muted", "paper desk wash", 4.5}, {"link", "paper desk wash", 4.5},
		{"bad", "paper wash", 4.5}, {"on-accent", "accent", 4.5},
		{"edge", "paper desk", 3}, {"accent", "paper grid", 3},
	}
	series := regexp.MustCompile(`^[sp][0-9]$`)
	for ink := range light {
		if series.MatchString(ink) {
			all = append(all, pair{ink, "paper", 3})
		}
	}
	if len(all) != 7+8+7 {
		t.Errorf("%d pairs of colours are looked at", len(all))
	}
	for _, tc := range all {
		for paper := range strings.FieldsSeq(tc.papers) {
			for name, theme := range map[string]map[string]string{"light": light, "dark": dark} {
				if got := contrastRatio(theme[tc.ink], theme[paper]); theme[tc.ink] == "" || theme[paper] == "" || got < tc.want {
					t.Errorf("%s: %s %s on %s %s has a contrast of %.2f; want %v", name, tc.ink, theme[tc.ink], paper, theme[paper], got, tc.want)
				}
			}
		}
	}
}

// colorsOf returns the variables of a style sheet that are colours.
func colorsOf(style string) map[string]string {
	all := make(map[string]string)
	for _, m := range regexp.MustCompile(`--([\w-]+):(#\w{6});`).FindAllStringSubmatch(style, -1) {
		all[m[1]] = m[2]
	}
	return all
}

// contrastRatio returns the contrast ratio of two colours such as "#1b1f24", from 1 to 21
// (WCAG 2.2, "contrast ratio").
func contrastRatio(a, b string) float64 {
	x, y := relativeLuminance(a), relativeLuminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// relativeLuminance returns the relative luminance of a colour (WCAG 2.2, "relative luminance").
func relativeLuminance(hex string) (sum float64) {
	var c [3]uint8
	_, _ = fmt.Sscanf(hex, "#%02x%02x%02x", &c[0], &c[1], &c[2])
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		v := float64(c[i]) / 255
		if v <= 0.04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		sum += weight * v
	}
	return sum
}
