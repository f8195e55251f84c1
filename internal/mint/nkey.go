package mint

import (
	"crypto/ed25519"
	"encoding/base32"
	"encoding/binary"

	"github.com/nats-io/nkeys"
)

// Sizes of a public key in bytes and as text.
const (
	nkeyBytes = 1 + ed25519.PublicKeySize + 2 // prefix, key, checksum
	nkeyText  = 56
)

// crcTable is that of CRC-16/XMODEM, the checksum of an nkey.
var crcTable = func() (table [256]uint16) {
	for i := range table {
		crc := uint16(i) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
		table[i] = crc
	}
	return table
}()

var base32Text = base32.StdEncoding.WithPadding(base32.NoPadding)

// userPublic is the text of a user's public key, as nkeys.Encode writes it. That one reflects and
// allocates, which a scoped user's mint, small as it is, would show.
func userPublic(key ed25519.PublicKey) string {
	var raw [nkeyBytes]byte
	raw[0] = byte(nkeys.PrefixByteUser)
	copy(raw[1:], key)
	crc := uint16(0)
	for _, b := range raw[:nkeyBytes-2] {
		crc = crc<<8 ^ crcTable[byte(crc>>8)^b]
	}
	binary.LittleEndian.PutUint16(raw[nkeyBytes-2:], crc)
	var text [nkeyText]byte
	base32Text.Encode(text[:], raw[:])
	return string(text[:])
}
