package draw

import (
	"encoding/binary"
	"hash/adler32"
	"hash/crc32"
	"image"
	"image/color"
)

// storedPNG returns an image as PNG whose pixels are stored and not compressed: a
// compressor's bytes change from one release of Go to the next, and those of a
// figure shall not.
func storedPNG(m *image.Paletted) []byte {
	width, height := m.Rect.Dx(), m.Rect.Dy()
	header := binary.BigEndian.AppendUint32(nil, uint32(width))
	header = binary.BigEndian.AppendUint32(header, uint32(height))
	header = append(header, 8, 3, 0, 0, 0) // bits, each an index into a palette; plain otherwise

	var palette, alpha []byte
	for _, c := range m.Palette {
		c := color.NRGBAModel.Convert(c).(color.NRGBA)
		palette = append(palette, c.R, c.G, c.B)
		alpha = append(alpha, c.A)
	}

	var pixels []byte
	for y := range height {
		pixels = append(pixels, 0) // no filter
		pixels = append(pixels, m.Pix[y*m.Stride:][:width]...)
	}
	const most = 1<<16 - 1       // bytes in a block of deflate
	stream := []byte{0x78, 0x01} // the header of zlib
	for rest := pixels; len(rest) > 0; {
		block := rest[:min(len(rest), most)]
		rest = rest[len(block):]
		last := byte(0)
		if len(rest) == 0 {
			last = 1
		}
		stream = append(stream, last) // and stored
		stream = binary.LittleEndian.AppendUint16(stream, uint16(len(block)))
		stream = binary.LittleEndian.AppendUint16(stream, ^uint16(len(block)))
		stream = append(stream, block...)
	}
	stream = binary.BigEndian.AppendUint32(stream, adler32.Checksum(pixels))

	file := []byte("\x89PNG\r\n\x1a\n")
	for _, chunk := range []struct {
		name string
		data []byte
	}{{"IHDR", header}, {"PLTE", palette}, {"tRNS", alpha}, {"IDAT", stream}, {"IEND", nil}} {
		file = binary.BigEndian.AppendUint32(file, uint32(len(chunk.data)))
		from := len(file)
		file = append(append(file, chunk.name...), chunk.data...)
		file = binary.BigEndian.AppendUint32(file, crc32.ChecksumIEEE(file[from:]))
	}
	return file
}
