//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// smallestNormal and the bits of an absolute value.
DATA normal<>+0(SB)/4, $0x00800000
GLOBL normal<>(SB), RODATA|NOPTR, $4
DATA magnitude<>+0(SB)/4, $0x7fffffff
GLOBL magnitude<>(SB), RODATA|NOPTR, $4

// func adamStep2(w, m, v, grad *float32, blocks int, c *adamCoefficients)
TEXT ·adamStep2(SB), NOSPLIT, $0-48
	MOVQ w+0(FP), DI
	MOVQ m+8(FP), SI
	MOVQ v+16(FP), DX
	MOVQ grad+24(FP), BX
	MOVQ blocks+32(FP), CX
	MOVQ c+40(FP), AX
	VBROADCASTSS adamCoefficients_beta1(AX), Y6
	VBROADCASTSS adamCoefficients_oneMinusBeta1(AX), Y7
	VBROADCASTSS adamCoefficients_beta2(AX), Y8
	VBROADCASTSS adamCoefficients_oneMinusBeta2(AX), Y9
	VBROADCASTSS adamCoefficients_step(AX), Y10
	VBROADCASTSS adamCoefficients_scale(AX), Y11
	VBROADCASTSS adamCoefficients_eps(AX), Y12
	VBROADCASTSS adamCoefficients_decay(AX), Y13
	VBROADCASTSS normal<>(SB), Y14
	VBROADCASTSS magnitude<>(SB), Y15

loop:
	// Y0 = g, Y1 = m, Y2 = v, Y3 = w
	PREFETCHT0 1024(DI)
	PREFETCHT0 1024(SI)
	PREFETCHT0 1024(DX)
	PREFETCHT0 1024(BX)
	VMOVUPS (DI), Y3
	VMULPS  Y3, Y13, Y0
	VADDPS  (BX), Y0, Y0
	VMULPS  (SI), Y6, Y1
	VMULPS  Y0, Y7, Y4
	VADDPS  Y4, Y1, Y1
	VMULPS  (DX), Y8, Y2
	VMULPS  Y0, Y9, Y4
	VMULPS  Y0, Y4, Y4
	VADDPS  Y4, Y2, Y2

	// Predicate 5 is "not less", which keeps NaN.
	VANDPS  Y1, Y15, Y4
	VCMPPS  $5, Y14, Y4, Y4
	VANDPS  Y4, Y1, Y1
	VCMPPS  $5, Y14, Y2, Y4
	VANDPS  Y4, Y2, Y2
	VMOVUPS Y1, (SI)
	VMOVUPS Y2, (DX)

	VSQRTPS Y2, Y4
	VMULPS  Y4, Y11, Y4
	VADDPS  Y4, Y12, Y4
	VMULPS  Y1, Y10, Y5
	VDIVPS  Y4, Y5, Y5
	VSUBPS  Y5, Y3, Y3
	VMOVUPS Y3, (DI)
	ADDQ    $32, DI
	ADDQ    $32, SI
	ADDQ    $32, DX
	ADDQ    $32, BX
	DECQ    CX
	JNZ     loop
	VZEROUPPER
	RET

// func polyakStep2(target, online *float32, blocks int, rho, oneMinusRho float32)
TEXT ·polyakStep2(SB), NOSPLIT, $0-32
	MOVQ target+0(FP), DI
	MOVQ online+8(FP), SI
	MOVQ blocks+16(FP), CX
	VBROADCASTSS rho+24(FP), Y2
	VBROADCASTSS oneMinusRho+28(FP), Y3

loop:
	PREFETCHT0 1024(DI)
	PREFETCHT0 1024(SI)
	VMULPS  (DI), Y2, Y0
	VMULPS  (SI), Y3, Y1
	VADDPS  Y1, Y0, Y0
	VMOVUPS Y0, (DI)
	ADDQ    $32, DI
	ADDQ    $32, SI
	DECQ    CX
	JNZ     loop
	VZEROUPPER
	RET
