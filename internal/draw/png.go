package draw

import (
	"bytes"
	"image"
	"image/png"
)

// pngOf returns an image as PNG that is not compressed: a compressor's bytes
// change from one release of Go to the next, and those of a figure shall not.
func pngOf(m *image.Paletted) []byte {
	var b bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.NoCompression}
	if err := encoder.Encode(&b, m); err != nil {
		panic(err) // an image without pixels, which nobody draws
	}
	return b.Bytes()
}
