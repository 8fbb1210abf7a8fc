package protocol

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

func markAs(b byte) func([]byte) ([]byte, error) {
	return func([]byte) ([]byte, error) { return bytes.Repeat([]byte{b}, 64), nil }
}

// What was signed is what a reader takes for signed, and without a signature no byte changes.
func TestASignatureIsOfTheMessageAsItWasSent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMessage(t)
		plain, err := Encode(m)
		if err != nil {
			t.Skip("a message that cannot be encoded")
		}
		var seen []byte
		signed, err := AppendSigned(nil, m, func(digest []byte) ([]byte, error) {
			seen = bytes.Clone(digest)
			return markAs(7)(nil)
		})
		if err != nil || len(signed) != len(plain)+SignatureSize {
			t.Fatalf("%v: %d bytes, and %d without the signature", err, len(signed), len(plain))
		}
		got, err := Decode(signed)
		if err != nil || got.Signature == nil || !bytes.Equal(got.Signature.Digest[:], seen) || got.Signature.Value[63] != 7 {
			t.Fatalf("decoded %+v, %v", got.Signature, err)
		}
		again, err := Encode(got)
		if err != nil || !bytes.Equal(again, signed) {
			t.Fatalf("%v: encoded again it differs", err)
		}
		got.Signature = nil
		if digest, err := got.Digest(); err != nil || !bytes.Equal(digest[:], seen) {
			t.Fatalf("its digest without the signature is another one; %v", err)
		}
		if unsigned, err := AppendSigned(nil, m, nil); err != nil || !bytes.Equal(unsigned, plain) {
			t.Fatalf("%v: without a key it differs", err)
		}
	})
}

// Fields that this program does not know are signed too: a newer sender's signature stays good.
func TestASignatureCoversFieldsOfNewerSenders(t *testing.T) {
	signed, err := AppendSigned(nil, sent(Accept{Job: "a", Epoch: 1}), markAs(7))
	if err != nil {
		t.Fatal(err)
	}
	more := append([]byte{signed[0] + 1}, signed[1:]...)
	more = append(more, "\xa2zz\x05"...)
	known, err := Decode(signed)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(more)
	if err != nil || got.Signature.Digest == known.Signature.Digest || !reflect.DeepEqual(got.Body, known.Body) {
		t.Errorf("decoded %+v, %v; want the body of the other and another digest", got, err)
	}
}

func TestABadSignatureIsRefused(t *testing.T) {
	signed, err := AppendSigned(nil, sent(Accept{Job: "a", Epoch: 1}), markAs(7))
	if err != nil {
		t.Fatal(err)
	}
	short := bytes.Replace(signed, append([]byte("\xa2sg\xc4\x40"), bytes.Repeat([]byte{7}, 64)...), append([]byte("\xa2sg\xc4\x3f"), bytes.Repeat([]byte{7}, 63)...), 1)
	if _, err := Decode(short); err == nil || bytes.Equal(short, signed) {
		t.Error("a signature of 63 bytes is read")
	}
	twice := append(bytes.Clone(signed), signed[1:1+SignatureSize]...)
	twice[0]++
	if _, err := Decode(twice); err == nil {
		t.Error("two signatures are read")
	}
	if _, err := AppendSigned(nil, sent(Accept{Job: "a", Epoch: 1}), func([]byte) ([]byte, error) { return nil, errors.New("no key") }); err == nil {
		t.Error("a message is sent unsigned when its key fails")
	}
}
