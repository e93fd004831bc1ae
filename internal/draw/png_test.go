package draw

import (
	"encoding/base64"
	"encoding/binary"
	"regexp"
	"testing"
)

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
	if stored == 0 {
		t.Error("no block")
	}
}
