// Package screen shows pictures in a terminal that says that it can, by the
// kitty graphics protocol or by sixels. It believes no name of a terminal: it
// asks, and what does not answer in time gets no picture.
package screen

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"io"
	"strings"
	"time"
)

// A Protocol is how a terminal shows pictures.
type Protocol int

// Protocols. None is a terminal that does not say that it shows any.
const (
	None Protocol = iota
	Sixel
	Kitty
)

// A Line is the way to a terminal and back. It must pass bytes on as they are:
// the terminal's own handling of lines is off.
type Line interface {
	io.ReadWriter
	SetReadDeadline(time.Time) error
}

// question asks for a picture that is not to be shown, and then for what the
// terminal is, which every terminal answers: so the end of the answers is known.
const question = "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\" + "\x1b[c"

// Ask asks a terminal what it can show, and waits until an instant.
func Ask(tty Line, until time.Time) Protocol {
	if tty.SetReadDeadline(until) != nil {
		return None // it could keep us waiting for ever
	}
	if _, err := io.WriteString(tty, question); err != nil {
		return None
	}
	var reply []byte
	for in := bufio.NewReader(tty); len(reply) < 1024; {
		c, err := in.ReadByte()
		if err != nil {
			return None
		}
		if reply = append(reply, c); c == 'c' && bytes.Contains(reply, []byte("\x1b[?")) {
			return understood(string(reply))
		}
	}
	return None
}

// understood reads the answers to question: an acknowledgement of the picture,
// and "\x1b[?62;4;22c", where 4 stands for sixels.
func understood(reply string) Protocol {
	if strings.Contains(reply, "\x1b_Gi=31;OK") {
		return Kitty
	}
	_, attributes, ok := strings.Cut(reply, "\x1b[?")
	if !ok {
		return None
	}
	for i, a := range strings.Split(strings.TrimSuffix(attributes, "c"), ";") {
		if i > 0 && a == "4" {
			return Sixel
		}
	}
	return None
}

// WriteKitty shows a PNG, as wide as so many columns.
func WriteKitty(w io.Writer, png []byte, columns int) error {
	const most = 4096 // bytes in one piece
	out := bufio.NewWriter(w)
	text := base64.StdEncoding.EncodeToString(png)
	head := fmt.Sprintf("a=T,f=100,q=2,c=%d,", columns)
	for len(text) > 0 {
		piece, more := text[:min(most, len(text))], 0
		if text = text[len(piece):]; text != "" {
			more = 1
		}
		fmt.Fprintf(out, "\x1b_G%sm=%d;%s\x1b\\", head, more, piece)
		head = ""
	}
	fmt.Fprintln(out)
	return out.Flush()
}

// WriteSixel shows a picture. Its colours are rounded to those of a palette.
func WriteSixel(w io.Writer, im image.Image, inks []color.Color) error {
	b := im.Bounds()
	p := image.NewPaletted(image.Rect(0, 0, b.Dx(), b.Dy()), palette(inks))
	draw.Draw(p, p.Bounds(), im, b.Min, draw.Src)
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "\x1bP0;1q\"1;1;%d;%d", b.Dx(), b.Dy())
	for i, c := range p.Palette {
		r, g, b, _ := c.RGBA()
		fmt.Fprintf(out, "#%d;2;%d;%d;%d", i, percent(r), percent(g), percent(b))
	}
	for y := 0; y < b.Dy(); y += 6 {
		band(out, p, y)
	}
	fmt.Fprint(out, "\x1b\\\n")
	return out.Flush()
}

func percent(v uint32) uint32 { return (v*100 + 0x7fff) / 0xffff }

// palette returns inks on the first of them, which is the paper, and what lies
// between: the edges of letters and lines.
func palette(inks []color.Color) (all color.Palette) {
	for i, ink := range inks {
		if i == 0 {
			all = append(all, ink)
			continue
		}
		for part := uint32(1); part <= 4; part++ {
			mix := func(a, b uint32) uint8 { return uint8((a*(4-part) + b*part) / 4 >> 8) }
			r0, g0, b0, _ := inks[0].RGBA()
			r1, g1, b1, _ := ink.RGBA()
			if len(all) < 256 {
				all = append(all, color.RGBA{mix(r0, r1), mix(g0, g1), mix(b0, b1), 255})
			}
		}
	}
	return all
}

// band writes six rows: for each colour in them a bit for each pixel, runs
// shortened.
func band(out *bufio.Writer, p *image.Paletted, y int) {
	wide, high := p.Rect.Dx(), min(6, p.Rect.Dy()-y)
	used := make([]bool, len(p.Palette))
	for k := range high {
		for _, c := range p.Pix[(y+k)*p.Stride : (y+k)*p.Stride+wide] {
			used[c] = true
		}
	}
	for c, there := range used {
		if !there {
			continue
		}
		fmt.Fprintf(out, "#%d", c)
		run, last := 0, byte(0)
		for x := range wide + 1 {
			bits := byte(0)
			for k := range high {
				if x < wide && int(p.Pix[(y+k)*p.Stride+x]) == c {
					bits |= 1 << k
				}
			}
			if x > 0 && (bits != last || x == wide) {
				repeat(out, run, last)
				run = 0
			}
			run, last = run+1, bits
		}
		out.WriteByte('$')
	}
	out.WriteByte('-')
}

func repeat(out *bufio.Writer, n int, bits byte) {
	if n > 3 {
		fmt.Fprintf(out, "!%d%c", n, bits+63)
		return
	}
	for range n {
		out.WriteByte(bits + 63)
	}
}
