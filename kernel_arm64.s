//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// The micro-kernels, whose definition is in kernel.go. They share their
// registers:
//
//	R19      the tile
//	R0-R7    the tile's rows, in A at step k
//	R9       from step to step in A
//	R8, R10  the row of B at step k, and from step to step
//	R11      steps left
//	R12-R15  offsets of rows

// ROWS sets R0-R7 to the rows r of p.
#define ROWS(p, r) \
	MOVD p(R19), R0 \
	MOVD (r+rowOffsets_row1)(R19), R12 \
	MOVD (r+rowOffsets_row2)(R19), R13 \
	MOVD (r+rowOffsets_row3)(R19), R14 \
	MOVD (r+rowOffsets_part)(R19), R15 \
	ADD  R12, R0, R1 \
	ADD  R13, R0, R2 \
	ADD  R14, R0, R3 \
	ADD  R15, R0, R4 \
	ADD  R12, R4, R5 \
	ADD  R13, R4, R6 \
	ADD  R14, R4, R7

// OPERANDS sets the registers of the loop over k.
#define OPERANDS \
	ROWS(tile_a, tile_aRows) \
	MOVD tile_aStep(R19), R9 \
	MOVD tile_b(R19), R8 \
	MOVD tile_bStep(R19), R10 \
	MOVD tile_k(R19), R11

// The assembler does not know these three, of vectors of four float32:
// FCMLT Vm, Vn, #0; FCMEQ Vm, Vn, #0; BIC Vx, Vx, Vm.
#define LESSTHANZERO(n, m) WORD $(0x4EA0E800 | n<<5 | m)
#define EQUALZERO(n, m) WORD $(0x4EA0D800 | n<<5 | m)
#define CLEAR(m, x) WORD $(0x4E601C00 | m<<16 | x<<5 | x)

// RELU zeroes what is negative in Vx, HIDE what is zero in Vm.
#define RELU(x) \
	LESSTHANZERO(x, 31) \
	CLEAR(31, x)
#define HIDE(m, x) \
	EQUALZERO(m, 31) \
	CLEAR(31, x)
#define RELU8(x) \
	RELU((x+0)); RELU((x+1)); RELU((x+2)); RELU((x+3)) \
	RELU((x+4)); RELU((x+5)); RELU((x+6)); RELU((x+7))

#define FMA2(r, va, v0, v1) \
	VLD1R.P (r)(R9), [va.S4] \
	VFMLA   V16.S4, va.S4, v0.S4 \
	VFMLA   V17.S4, va.S4, v1.S4
#define HIDE2(r, x, y) \
	VLD1 (r), [V16.S4, V17.S4] \
	HIDE(16, x) \
	HIDE(17, y)

// func tile8x8(t *tile)
TEXT ·tile8x8(SB), NOSPLIT, $0-8
	MOVD t+0(FP), R19
	ROWS(tile_start, tile_startRows)
	VLD1 (R0), [V0.S4, V1.S4]
	VLD1 (R1), [V2.S4, V3.S4]
	VLD1 (R2), [V4.S4, V5.S4]
	VLD1 (R3), [V6.S4, V7.S4]
	VLD1 (R4), [V8.S4, V9.S4]
	VLD1 (R5), [V10.S4, V11.S4]
	VLD1 (R6), [V12.S4, V13.S4]
	VLD1 (R7), [V14.S4, V15.S4]
	OPERANDS

loop:
	VLD1.P (R8)(R10), [V16.S4, V17.S4]
	FMA2(R0, V18, V0, V1)
	FMA2(R1, V19, V2, V3)
	FMA2(R2, V20, V4, V5)
	FMA2(R3, V21, V6, V7)
	FMA2(R4, V22, V8, V9)
	FMA2(R5, V23, V10, V11)
	FMA2(R6, V24, V12, V13)
	FMA2(R7, V25, V14, V15)
	SUBS $1, R11
	BNE  loop

	MOVW tile_low(R19), R12
	CBNZ R12, mask
	RELU8(0)
	RELU8(8)

mask:
	MOVD tile_mask(R19), R12
	CBZ  R12, store
	ROWS(tile_mask, tile_maskRows)
	HIDE2(R0, 0, 1)
	HIDE2(R1, 2, 3)
	HIDE2(R2, 4, 5)
	HIDE2(R3, 6, 7)
	HIDE2(R4, 8, 9)
	HIDE2(R5, 10, 11)
	HIDE2(R6, 12, 13)
	HIDE2(R7, 14, 15)

store:
	ROWS(tile_c, tile_cRows)
	VST1 [V0.S4, V1.S4], (R0)
	VST1 [V2.S4, V3.S4], (R1)
	VST1 [V4.S4, V5.S4], (R2)
	VST1 [V6.S4, V7.S4], (R3)
	VST1 [V8.S4, V9.S4], (R4)
	VST1 [V10.S4, V11.S4], (R5)
	VST1 [V12.S4, V13.S4], (R6)
	VST1 [V14.S4, V15.S4], (R7)
	RET

#define FMA1(r, va, v) \
	VLD1R.P (r)(R9), [va.S4] \
	VFMLA   V16.S4, va.S4, v.S4
#define HIDE1(r, x) \
	FMOVS (r), F16 \
	HIDE(16, x)

// func tile8x1(t *tile)
TEXT ·tile8x1(SB), NOSPLIT, $0-8
	MOVD  t+0(FP), R19
	ROWS(tile_start, tile_startRows)
	FMOVS (R0), F0
	FMOVS (R1), F1
	FMOVS (R2), F2
	FMOVS (R3), F3
	FMOVS (R4), F4
	FMOVS (R5), F5
	FMOVS (R6), F6
	FMOVS (R7), F7
	OPERANDS

loop:
	VLD1R.P (R8)(R10), [V16.S4]
	FMA1(R0, V18, V0)
	FMA1(R1, V19, V1)
	FMA1(R2, V20, V2)
	FMA1(R3, V21, V3)
	FMA1(R4, V22, V4)
	FMA1(R5, V23, V5)
	FMA1(R6, V24, V6)
	FMA1(R7, V25, V7)
	SUBS $1, R11
	BNE  loop

	MOVW tile_low(R19), R12
	CBNZ R12, mask
	RELU8(0)

mask:
	MOVD tile_mask(R19), R12
	CBZ  R12, store
	ROWS(tile_mask, tile_maskRows)
	HIDE1(R0, 0)
	HIDE1(R1, 1)
	HIDE1(R2, 2)
	HIDE1(R3, 3)
	HIDE1(R4, 4)
	HIDE1(R5, 5)
	HIDE1(R6, 6)
	HIDE1(R7, 7)

store:
	ROWS(tile_c, tile_cRows)
	FMOVS F0, (R0)
	FMOVS F1, (R1)
	FMOVS F2, (R2)
	FMOVS F3, (R3)
	FMOVS F4, (R4)
	FMOVS F5, (R5)
	FMOVS F6, (R6)
	FMOVS F7, (R7)
	RET

#define FMA4(r, va, v0, v1, v2, v3) \
	VLD1R.P (r)(R9), [va.S4] \
	VFMLA   V16.S4, va.S4, v0.S4 \
	VFMLA   V17.S4, va.S4, v1.S4 \
	VFMLA   V18.S4, va.S4, v2.S4 \
	VFMLA   V19.S4, va.S4, v3.S4
#define HIDE4(r, x) \
	VLD1 (r), [V16.S4, V17.S4, V18.S4, V19.S4] \
	HIDE(16, (x+0)) \
	HIDE(17, (x+1)) \
	HIDE(18, (x+2)) \
	HIDE(19, (x+3))

// func tile4x16(t *tile)
TEXT ·tile4x16(SB), NOSPLIT, $0-8
	MOVD t+0(FP), R19
	ROWS(tile_start, tile_startRows)
	VLD1 (R0), [V0.S4, V1.S4, V2.S4, V3.S4]
	VLD1 (R1), [V4.S4, V5.S4, V6.S4, V7.S4]
	VLD1 (R2), [V8.S4, V9.S4, V10.S4, V11.S4]
	VLD1 (R3), [V12.S4, V13.S4, V14.S4, V15.S4]
	OPERANDS

loop:
	VLD1.P (R8)(R10), [V16.S4, V17.S4, V18.S4, V19.S4]
	FMA4(R0, V20, V0, V1, V2, V3)
	FMA4(R1, V21, V4, V5, V6, V7)
	FMA4(R2, V22, V8, V9, V10, V11)
	FMA4(R3, V23, V12, V13, V14, V15)
	SUBS $1, R11
	BNE  loop

	MOVW tile_low(R19), R12
	CBNZ R12, mask
	RELU8(0)
	RELU8(8)

mask:
	MOVD tile_mask(R19), R12
	CBZ  R12, store
	ROWS(tile_mask, tile_maskRows)
	HIDE4(R0, 0)
	HIDE4(R1, 4)
	HIDE4(R2, 8)
	HIDE4(R3, 12)

store:
	ROWS(tile_c, tile_cRows)
	VST1 [V0.S4, V1.S4, V2.S4, V3.S4], (R0)
	VST1 [V4.S4, V5.S4, V6.S4, V7.S4], (R1)
	VST1 [V8.S4, V9.S4, V10.S4, V11.S4], (R2)
	VST1 [V12.S4, V13.S4, V14.S4, V15.S4], (R3)
	RET

// func tile1x32(t *tile)
TEXT ·tile1x32(SB), NOSPLIT, $0-8
	MOVD t+0(FP), R19
	MOVD tile_start(R19), R0
	ADD  $64, R0, R1
	VLD1 (R0), [V0.S4, V1.S4, V2.S4, V3.S4]
	VLD1 (R1), [V4.S4, V5.S4, V6.S4, V7.S4]
	OPERANDS
	ADD  $64, R8, R1

loop:
	VLD1.P  (R8)(R10), [V16.S4, V17.S4, V18.S4, V19.S4]
	VLD1.P  (R1)(R10), [V20.S4, V21.S4, V22.S4, V23.S4]
	VLD1R.P (R0)(R9), [V24.S4]
	VFMLA   V16.S4, V24.S4, V0.S4
	VFMLA   V17.S4, V24.S4, V1.S4
	VFMLA   V18.S4, V24.S4, V2.S4
	VFMLA   V19.S4, V24.S4, V3.S4
	VFMLA   V20.S4, V24.S4, V4.S4
	VFMLA   V21.S4, V24.S4, V5.S4
	VFMLA   V22.S4, V24.S4, V6.S4
	VFMLA   V23.S4, V24.S4, V7.S4
	SUBS    $1, R11
	BNE     loop

	MOVW tile_low(R19), R12
	CBNZ R12, mask
	RELU8(0)

mask:
	MOVD tile_mask(R19), R0
	CBZ  R0, store
	ADD  $64, R0, R1
	HIDE4(R0, 0)
	HIDE4(R1, 4)

store:
	MOVD tile_c(R19), R0
	ADD  $64, R0, R1
	VST1 [V0.S4, V1.S4, V2.S4, V3.S4], (R0)
	VST1 [V4.S4, V5.S4, V6.S4, V7.S4], (R1)
	RET
