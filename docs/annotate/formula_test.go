package main

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"
)

func TestFormula(t *testing.T) {
	for _, test := range []struct{ notation, want string }{
		{"m ε", "<mi>m</mi><mi>ε</mi>"},
		{"1.5 - x*y", "<mn>1.5</mn><mo>−</mo><mi>x</mi><mo>·</mo><mi>y</mi>"},
		{"Q_{targ,i}", "<msub><mi>Q</mi><mrow><mi>targ</mi><mo>,</mo><mi>i</mi></mrow></msub>"},
		{"s'", `<mrow><mi>s</mi><mo lspace="0" rspace="0">′</mo></mrow>`},
		{"p_j^α", "<msubsup><mi>p</mi><mi>j</mi><mi>α</mi></msubsup>"},
		{"Σ_j^d x", "<munderover><mo>∑</mo><mi>j</mi><mi>d</mi></munderover><mi>x</mi>"},
		{"min_M q", `<munder><mo lspace="0" rspace="0" movablelimits="true">min</mo><mi>M</mi></munder><mi>q</mi>`},
		{"max(a, 0)", `<mo lspace="0" rspace="0" movablelimits="true">max</mo><mrow><mo>(</mo><mi>a</mi><mo>,</mo><mn>0</mn><mo>)</mo></mrow>`},
		{"frac{1}{|B|}", `<mfrac><mrow><mn>1</mn></mrow><mrow><mo stretchy="false" lspace="0" rspace="0">|</mo><mi>B</mi><mo stretchy="false" lspace="0" rspace="0">|</mo></mrow></mfrac>`},
		{"tilde{s}", `<mover accent="true"><mrow><mi>s</mi></mrow><mo>~</mo></mover>`},
		{"a < text{b < c}", "<mi>a</mi><mo>&lt;</mo><mtext>b\u00a0&lt;\u00a0c</mtext>"},
		{"[0, 1)", "<mrow><mo>[</mo><mn>0</mn><mo>,</mo><mn>1</mn><mo>)</mo></mrow>"},
		{"cases{0 & a; 1 & b}", `<mrow><mo stretchy="true">{</mo><mtable><mtr><mtd><mn>0</mn></mtd><mtd><mi>a</mi></mtd></mtr><mtr><mtd><mn>1</mn></mtd><mtd><mi>b</mi></mtd></mtr></mtable></mrow>`},
	} {
		got, err := formula(test.notation, false)
		if err != nil || got != "<math>"+test.want+"</math>" {
			t.Errorf("%q becomes\n%s, %v, want\n%s", test.notation, got, err, test.want)
		}
		for d := xml.NewDecoder(strings.NewReader(got)); ; {
			if _, err := d.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%q: %v", test.notation, err)
			}
		}
	}
	for _, notation := range []string{"(a", "frac{a}", "frac a", "x_", "cases a", "cases{a", "text a", "text{a", "{a"} {
		if got, err := formula(notation, true); err == nil {
			t.Errorf("%q becomes %s", notation, got)
		}
	}
}
