package draw

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"regexp"
	"testing"
)

// TestStoredPNG reads images back by another program, the standard library, and
// holds one to bytes that a third has written, zlib.
func TestStoredPNG(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, size := range []image.Point{{1, 1}, {2, 1}, {42, 1}, {30, 50}, {255, 257}, {400, 400}} {
		m := image.NewPaletted(image.Rectangle{Max: size}, Viridis())
		for i := range m.Pix {
			m.Pix[i] = uint8(rng.Float64() * float64(len(m.Palette)))
		}
		got, err := png.Decode(bytes.NewReader(storedPNG(m)))
		if err != nil {
			t.Fatalf("%v: %v", size, err)
		}
		if got.Bounds() != m.Rect {
			t.Fatalf("%v becomes %v", m.Rect, got.Bounds())
		}
		for y := range size.Y {
			for x := range size.X {
				if a, b := color.NRGBAModel.Convert(m.At(x, y)), color.NRGBAModel.Convert(got.At(x, y)); a != b {
					t.Fatalf("%v: the pixel at %d, %d is %v, want %v", size, x, y, b, a)
				}
			}
		}
	}
	m := image.NewPaletted(image.Rect(0, 0, 2, 1), color.Palette{color.NRGBA{}, color.NRGBA{1, 2, 3, 255}})
	m.Pix = []uint8{0, 1}
	// By Python's struct, zlib.crc32 and zlib.compress with level 0.
	const want = "89504e470d0a1a0a0000000d4948445200000002000000010803000000c3fc8fb800000006504c54450000000102030f9ae0c00000000274524e5300ff5b9122b50000000e494441547801010300fcff000001000400020b218b710000000049454e44ae426082"
	if got := hex.EncodeToString(storedPNG(m)); got != want {
		t.Errorf("two pixels are\n%s, want\n%s", got, want)
	}
}

// A drawing's bytes must not depend on a compressor.
func TestImageIsStored(t *testing.T) {
	d := &Drawing{Width: 100, Height: 100}
	d.Bar(Scale{0, 1}, "cells", 0, 0, 100)
	address := regexp.MustCompile(`base64,([^"]+)"`).FindStringSubmatch(string(d.Inline()))
	file, err := base64.StdEncoding.DecodeString(address[1])
	if err != nil {
		t.Fatal(err)
	}
	stored := 0
	for rest := file[8:]; len(rest) > 0; {
		n := binary.BigEndian.Uint32(rest)
		if string(rest[4:8]) == "IDAT" {
			for data := rest[8+2 : 8+n-4]; len(data) > 0; stored++ { // without zlib's header and sum
				if data[0]>>1 != 0 {
					t.Fatalf("a block of kind %d, want 0, stored", data[0]>>1)
				}
				data = data[5+int(binary.LittleEndian.Uint16(data[1:])):]
			}
		}
		rest = rest[8+n+4:]
	}
	if stored != 1 {
		t.Errorf("%d blocks, want 1", stored)
	}
}
