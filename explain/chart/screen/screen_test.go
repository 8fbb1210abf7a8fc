package screen

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"net"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestATerminalIsAskedAndBelieved(t *testing.T) {
	for _, tc := range []struct {
		name, reply string
		want        Protocol
	}{
		{"kitty", "\x1b_Gi=31;OK\x1b\\\x1b[?62;c", Kitty},
		{"kitty that has sixels, too", "\x1b_Gi=31;OK\x1b\\\x1b[?62;4c", Kitty},
		{"one with sixels", "\x1b[?62;4;22c", Sixel},
		{"one of class 4 without", "\x1b[?4;22c", None},
		{"one with a 4 in another number", "\x1b[?62;14;24c", None},
		{"one that refuses the picture", "\x1b_Gi=31;EINVAL:no\x1b\\\x1b[?62c", None},
		{"a plain one", "\x1b[?1;2c", None},
		{"one that talks nonsense", "hello\nc", None},
		{"one that says nothing", "", None},
		{"one that does not end", strings.Repeat("\x1b[?62;4;", 400), None},
	} {
		t.Run(tc.name, func(t *testing.T) {
			here, there := net.Pipe()
			defer here.Close()
			asked := make(chan string, 1)
			go func() {
				buf := make([]byte, len(question))
				n, _ := there.Read(buf)
				asked <- string(buf[:n])
				_, _ = there.Write([]byte(tc.reply))
			}()
			wait := time.Minute
			if !strings.HasSuffix(tc.reply, "c") || !strings.Contains(tc.reply, "\x1b[?") { // its end does not come
				wait = 200 * time.Millisecond
			}
			if got := Ask(here, time.Now().Add(wait)); got != tc.want {
				t.Errorf("Ask = %v; want %v", got, tc.want)
			}
			if q := <-asked; q != question {
				t.Errorf("the terminal was asked %q", q)
			}
		})
	}
}

func TestKittyGetsTheWholePicture(t *testing.T) {
	png := bytes.Repeat([]byte("picture"), 3000)
	var out bytes.Buffer
	if err := WriteKitty(&out, png, 80); err != nil {
		t.Fatal(err)
	}
	var text string
	pieces := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\x1b\\")
	for i, p := range pieces[:len(pieces)-1] {
		head, data, _ := strings.Cut(strings.TrimPrefix(p, "\x1b_G"), ";")
		last := i == len(pieces)-2
		if strings.HasSuffix(head, "m=0") != last || strings.Contains(head, "a=T") != (i == 0) || len(data) > 4096 {
			t.Errorf("piece %d of %d has the head %q and %d bytes", i, len(pieces)-1, head, len(data))
		}
		text += data
	}
	if got, err := base64.StdEncoding.DecodeString(text); err != nil || !bytes.Equal(got, png) {
		t.Errorf("the terminal gets another picture (%v)", err)
	}
}

// painted is a small reader of sixels.
func painted(t *rapid.T, s string, w, h int) []int {
	_, s, _ = strings.Cut(s, "q\"")
	at := make([]int, w*h)
	for i := range at {
		at[i] = -1
	}
	colour, x, y := 0, 0, 0
	number := func(i int) (n, next int) {
		for next = i; next < len(s) && s[next] >= '0' && s[next] <= '9'; next++ {
			n = n*10 + int(s[next]-'0')
		}
		return n, next
	}
	put := func(bits byte, times int) {
		for ; times > 0; times, x = times-1, x+1 {
			for k := range 6 {
				if bits>>k&1 == 1 {
					at[(y+k)*w+x] = colour
				}
			}
		}
	}
	for i := strings.IndexByte(s, '#'); i < len(s); {
		switch c := s[i]; {
		case c == '#':
			colour, i = number(i + 1)
			for i < len(s) && s[i] == ';' {
				_, i = number(i + 1)
			}
		case c == '!':
			n, next := number(i + 1)
			put(s[next]-63, n)
			i = next + 1
		case c == '$':
			x, i = 0, i+1
		case c == '-':
			x, y, i = 0, y+6, i+1
		case c >= 63 && c < 127:
			put(c-63, 1)
			i++
		default:
			return at
		}
	}
	t.Fatal("the sixels do not end")
	return nil
}

func TestSixelsAreThePicture(t *testing.T) {
	inks := []color.Color{color.White, color.Black, color.RGBA{0, 0x67, 0xa5, 255}}
	all := palette(inks)
	rapid.Check(t, func(t *rapid.T) {
		w, h := rapid.IntRange(1, 20).Draw(t, "w"), rapid.IntRange(1, 15).Draw(t, "h")
		im := image.NewRGBA(image.Rect(0, 0, w, h))
		want := make([]int, w*h)
		for i := range want {
			want[i] = rapid.SampledFrom([]int{0, 4, 8}).Draw(t, "colour")
			im.Set(i%w, i/w, all[want[i]])
		}
		var out bytes.Buffer
		if err := WriteSixel(&out, im, inks); err != nil {
			t.Fatal(err)
		}
		got := painted(t, out.String(), w, h)
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("pixel %d,%d is of colour %d; want %d in\n%q", i%w, i/w, got[i], want[i], out.String())
			}
		}
	})
}
