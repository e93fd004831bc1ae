//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// The micro-kernels, whose definition is in kernel.go. They share their
// registers:
//
//	AX       the tile
//	SI, DI   the rows of A at step k, first and second part
//	R8-R10   offsets of a part's second to fourth row, R13 of the second part
//	R11      from step to step in A
//	BX, R12  the row of B at step k, and from step to step
//	CX       steps left
//	DX, R14  pointers to C, its start and the mask

// func cpuid(eax, ecx uint32) (a, b, c, d uint32)
TEXT ·cpuid(SB), NOSPLIT, $0-24
	MOVL eax+0(FP), AX
	MOVL ecx+4(FP), CX
	CPUID
	MOVL AX, a+8(FP)
	MOVL BX, b+12(FP)
	MOVL CX, c+16(FP)
	MOVL DX, d+20(FP)
	RET

// func xgetbv() uint32
TEXT ·xgetbv(SB), NOSPLIT, $0-4
	XORL CX, CX
	XGETBV
	MOVL AX, ret+0(FP)
	RET

// ROWS sets R8-R10, R13 to the offsets of rows r, and R14 to the second part of
// DX = p.
#define ROWS(p, r) \
	MOVQ p(AX), DX \
	MOVQ (r+rowOffsets_row1)(AX), R8 \
	MOVQ (r+rowOffsets_row2)(AX), R9 \
	MOVQ (r+rowOffsets_row3)(AX), R10 \
	MOVQ (r+rowOffsets_part)(AX), R13 \
	LEAQ (DX)(R13*1), R14

// OPERANDS sets SI, DI, R8-R12, BX, CX for the loop over k.
#define OPERANDS \
	ROWS(tile_a, tile_aRows) \
	MOVQ DX, SI \
	MOVQ R14, DI \
	MOVQ tile_aStep(AX), R11 \
	MOVQ tile_b(AX), BX \
	MOVQ tile_bStep(AX), R12 \
	MOVQ tile_k(AX), CX

// STEP goes to the next k.
#define STEP \
	ADDQ R11, SI \
	ADDQ R11, DI \
	ADDQ R12, BX \
	DECQ CX

// COLUMNS sets the mask registers K1 and K2 to the columns 0-15 and 16-31.
#define COLUMNS \
	MOVQ  tile_cols(AX), CX \
	MOVQ  $-1, DX \
	BZHIQ CX, DX, DX \
	KMOVW DX, K1 \
	SHRQ  $16, DX \
	KMOVW DX, K2

// Of the memory operand p, 64 p is the one 64 bytes on.

// LOAD2 and STORE2 move a row's two vectors, of the columns K1 and K2, HIDE2
// zeroes them where the mask at p is zero. Z31 is zero.
#define LOAD2(p, z0, z1) \
	VMOVUPS.Z p, K1, z0 \
	VMOVUPS.Z 64 p, K2, z1
#define STORE2(p, z0, z1) \
	VMOVUPS z0, K1, p \
	VMOVUPS z1, K2, 64 p
#define HIDE2(p, z0, z1) \
	HIDE(p, K1, z0) \
	HIDE(64 p, K2, z1)
#define HIDE(p, k, z) \
	VMOVUPS.Z p, k, Z16 \
	VCMPPS    $4, Z31, Z16, K5 \
	VMOVUPS.Z z, K5, z

// LOADALL, STOREALL and HIDEALL are for tiles that need all their columns.
#define LOADALL(p, z) VMOVUPS p, z
#define LOADALL2(p, z0, z1) \
	LOADALL(p, z0) \
	LOADALL(64 p, z1)
#define STOREALL(p, z) VMOVUPS z, p
#define STOREALL2(p, z0, z1) \
	STOREALL(p, z0) \
	STOREALL(64 p, z1)
#define HIDEALL(p, z) \
	VMOVUPS   p, Z24 \
	VCMPPS    $4, Z31, Z24, K5 \
	VMOVUPS.Z z, K5, z
#define HIDEALL2(p, z0, z1) \
	HIDEALL(p, z0) \
	HIDEALL(64 p, z1)

// LOW is max(Z30, z). Of a NaN or two zeros it keeps z.
#define LOW(z) VMAXPS z, Z30, z
#define LOW8(z0, z1, z2, z3, z4, z5, z6, z7) \
	VBROADCASTSS tile_low(AX), Z30 \
	LOW(z0); LOW(z1); LOW(z2); LOW(z3); LOW(z4); LOW(z5); LOW(z6); LOW(z7)

// ROWS2 applies f to the eight rows of two vectors at DX and R14.
#define ROWS2(f) \
	f((DX), Z0, Z1) \
	f((DX)(R8*1), Z2, Z3) \
	f((DX)(R9*1), Z4, Z5) \
	f((DX)(R10*1), Z6, Z7) \
	f((R14), Z8, Z9) \
	f((R14)(R8*1), Z10, Z11) \
	f((R14)(R9*1), Z12, Z13) \
	f((R14)(R10*1), Z14, Z15)

// FMA2 adds the product of a row's element and Z24, Z25 to its sums.
#define FMA2(p, za, z0, z1) \
	VBROADCASTSS p, za \
	VFMADD231PS  Z24, za, z0 \
	VFMADD231PS  Z25, za, z1
#define FMA2x8 \
	FMA2((SI), Z26, Z0, Z1) \
	FMA2((SI)(R8*1), Z27, Z2, Z3) \
	FMA2((SI)(R9*1), Z28, Z4, Z5) \
	FMA2((SI)(R10*1), Z29, Z6, Z7) \
	FMA2((DI), Z30, Z8, Z9) \
	FMA2((DI)(R8*1), Z31, Z10, Z11) \
	FMA2((DI)(R9*1), Z26, Z12, Z13) \
	FMA2((DI)(R10*1), Z27, Z14, Z15)

// func tile512x8x32(t *tile)
TEXT ·tile512x8x32(SB), NOSPLIT, $0-8
	MOVQ t+0(FP), AX
	COLUMNS
	ROWS(tile_start, tile_startRows)
	ROWS2(LOAD2)
	OPERANDS
	CMPQ tile_cols(AX), $32
	JNE  partial

	// Loads under a mask would take slots of the multiplications.
	PCALIGN $32
full:
	LOADALL2((BX), Z24, Z25)
	FMA2x8
	STEP
	JNZ full
	JMP finish

partial:
	LOAD2((BX), Z24, Z25)
	FMA2x8
	STEP
	JNZ partial

finish:
	LOW8(Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7)
	LOW8(Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15)
	CMPQ tile_mask(AX), $0
	JEQ  store
	VPXORD Z31, Z31, Z31
	ROWS(tile_mask, tile_maskRows)
	ROWS2(HIDE2)

store:
	ROWS(tile_c, tile_cRows)
	ROWS2(STORE2)
	VZEROUPPER
	RET

// The kernel below has tiles of twelve rows. R15 points to the last four rows of C, its start
// or the mask. In the loop R13 points to the last four rows of A.
#define ROWS2x12(f) \
	ROWS2(f) \
	f((R15), Z16, Z17) \
	f((R15)(R8*1), Z18, Z19) \
	f((R15)(R9*1), Z20, Z21) \
	f((R15)(R10*1), Z22, Z23)
#define ROWS12(p, r) \
	ROWS(p, r) \
	LEAQ (R14)(R13*1), R15
#define FMA2x12 \
	LOADALL2((BX), Z24, Z25) \
	FMA2x8 \
	FMA2((R13), Z28, Z16, Z17) \
	FMA2((R13)(R8*1), Z29, Z18, Z19) \
	FMA2((R13)(R9*1), Z30, Z20, Z21) \
	FMA2((R13)(R10*1), Z31, Z22, Z23) \
	ADDQ R11, R13

// func tile512x12x32(t *tile)
TEXT ·tile512x12x32(SB), NOSPLIT, $0-8
	MOVQ t+0(FP), AX
	ROWS12(tile_start, tile_startRows)
	ROWS2x12(LOADALL2)
	OPERANDS
	LEAQ (DI)(R13*1), R13
	CMPQ tile_prefetch(AX), $0
	JEQ  full

	// The columns of B that the next tile needs, if it is the first to.
	PCALIGN $32
first:
	PREFETCHT1 128(BX)
	PREFETCHT1 192(BX)
	FMA2x12
	STEP
	JNZ first
	JMP finish

	PCALIGN $32
full:
	FMA2x12
	STEP
	JNZ full

finish:
	LOW8(Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7)
	LOW8(Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15)
	LOW8(Z16, Z17, Z18, Z19, Z20, Z21, Z22, Z23)
	CMPQ tile_mask(AX), $0
	JEQ  store
	VPXORD Z31, Z31, Z31
	ROWS12(tile_mask, tile_maskRows)
	ROWS2x12(HIDEALL2)

store:
	ROWS12(tile_c, tile_cRows)
	ROWS2x12(STOREALL2)
	VZEROUPPER
	RET

// ROW8 applies f to eight vectors at p.
#define ROW8(f, p) \
	f(p, Z0) \
	f(64 p, Z1) \
	f(128 p, Z2) \
	f(192 p, Z3) \
	f(256 p, Z4) \
	f(320 p, Z5) \
	f(384 p, Z6) \
	f(448 p, Z7)
#define FMA1(p, z) VFMADD231PS p, Z16, z

// func tile512x1x128(t *tile)
TEXT ·tile512x1x128(SB), NOSPLIT, $0-8
	MOVQ t+0(FP), AX
	MOVQ tile_start(AX), DX
	ROW8(LOADALL, (DX))
	OPERANDS

loop:
	VBROADCASTSS (SI), Z16
	ROW8(FMA1, (BX))
	STEP
	JNZ loop

	LOW8(Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7)
	MOVQ   tile_mask(AX), DX
	TESTQ  DX, DX
	JEQ    store
	VPXORD Z31, Z31, Z31
	ROW8(HIDEALL, (DX))

store:
	MOVQ tile_c(AX), DX
	ROW8(STOREALL, (DX))
	VZEROUPPER
	RET

// The kernels for few columns hold 4 by 4 blocks of A in the quarters of four
// vectors, vector p row 4q+p in quarter q, and transpose them to vectors of one
// k each, which have the rows in their order.
//
//	SI, DI, DX, R14  rows 0 to 3 of A at step k
//	R9, R13          four and twelve rows of A
//	BX, R12, R15     row k of B, one and three rows of it

#define COLUMNOPERANDS \
	MOVQ narrowTile_a(AX), SI \
	MOVQ narrowTile_aRow(AX), R9 \
	LEAQ (SI)(R9*1), DI \
	LEAQ (SI)(R9*2), DX \
	LEAQ (DI)(R9*2), R14 \
	SHLQ $2, R9 \
	LEAQ (R9)(R9*2), R13 \
	MOVQ narrowTile_b(AX), BX \
	MOVQ narrowTile_bStep(AX), R12 \
	LEAQ (R12)(R12*2), R15 \
	MOVQ narrowTile_blocks(AX), CX \
	MOVQ narrowTile_cols(AX), R8 \
	MOVQ narrowTile_sums(AX), R10
#define COLUMNSTEP \
	ADDQ $16, SI \
	ADDQ $16, DI \
	ADDQ $16, DX \
	ADDQ $16, R14 \
	LEAQ (BX)(R12*4), BX \
	DECQ CX

// LOADBLOCKS loads vector z from the rows at p, 4, 8 and 12 rows below.
#define LOADBLOCKS(p, x, z) \
	VMOVUPS         (p), x \
	VBROADCASTF32X4 (p)(R9*1), K1, z \
	VBROADCASTF32X4 (p)(R9*2), K2, z \
	VBROADCASTF32X4 (p)(R13*1), K3, z

// BLOCKS sets Z24 to Z27 to the steps k to k+3 of A.
#define BLOCKS \
	LOADBLOCKS(SI, X16, Z16) \
	LOADBLOCKS(DI, X17, Z17) \
	LOADBLOCKS(DX, X18, Z18) \
	LOADBLOCKS(R14, X19, Z19) \
	VUNPCKLPS Z17, Z16, Z20 \
	VUNPCKHPS Z17, Z16, Z21 \
	VUNPCKLPS Z19, Z18, Z22 \
	VUNPCKHPS Z19, Z18, Z23 \
	VUNPCKLPD Z22, Z20, Z24 \
	VUNPCKHPD Z22, Z20, Z25 \
	VUNPCKLPD Z23, Z21, Z26 \
	VUNPCKHPD Z23, Z21, Z27
#define BLOCKMASKS \
	MOVL  $0x00f0, AX \
	KMOVW AX, K1 \
	MOVL  $0x0f00, AX \
	KMOVW AX, K2 \
	MOVL  $0xf000, AX \
	KMOVW AX, K3

// FMACOLUMN adds four steps of the column at offset o to z.
#define FMACOLUMN(o, z) \
	VFMADD231PS.BCST o(BX), Z24, z \
	VFMADD231PS.BCST o(BX)(R12*1), Z25, z \
	VFMADD231PS.BCST o(BX)(R12*2), Z26, z \
	VFMADD231PS.BCST o(BX)(R15*1), Z27, z

// func narrow512(t *narrowTile)
TEXT ·narrow512(SB), NOSPLIT, $0-8
	MOVQ t+0(FP), AX
	COLUMNOPERANDS
	BLOCKMASKS
	VMOVUPS (R10), Z0
	VMOVUPS 64(R10), Z1
	VMOVUPS 128(R10), Z2
	VMOVUPS 192(R10), Z3

loop:
	BLOCKS
	FMACOLUMN(0, Z0)
	CMPQ R8, $2
	JLT  next
	FMACOLUMN(4, Z1)
	JEQ  next
	FMACOLUMN(8, Z2)
	CMPQ R8, $4
	JLT  next
	FMACOLUMN(12, Z3)

next:
	COLUMNSTEP
	JNZ loop

	VMOVUPS Z0, (R10)
	VMOVUPS Z1, 64(R10)
	VMOVUPS Z2, 128(R10)
	VMOVUPS Z3, 192(R10)
	VZEROUPPER
	RET

// func transpose512(t *narrowTile)
TEXT ·transpose512(SB), NOSPLIT, $0-8
	MOVQ t+0(FP), AX
	COLUMNOPERANDS
	BLOCKMASKS

loop:
	BLOCKS
	VMOVUPS Z24, (BX)
	VMOVUPS Z25, (BX)(R12*1)
	VMOVUPS Z26, (BX)(R12*2)
	VMOVUPS Z27, (BX)(R15*1)
	COLUMNSTEP
	JNZ loop
	VZEROUPPER
	RET

// The AVX2 kernels have masks only in passing: 16 vectors are just enough for twelve
// sums, two vectors of B, and two of everything else.

DATA columns<>+0(SB)/8, $0x0706050403020100
DATA columns<>+8(SB)/8, $0x0f0e0d0c0b0a0908
GLOBL columns<>(SB), RODATA|NOPTR, $16

// COLUMNS2 sets Y14 to the mask of the columns 0-7, and Y15 to that of 8-15.
#define COLUMNS2 \
	VPBROADCASTD tile_cols(AX), Y13 \
	VPMOVSXBD    columns<>+0(SB), Y14 \
	VPMOVSXBD    columns<>+8(SB), Y15 \
	VPCMPGTD     Y14, Y13, Y14 \
	VPCMPGTD     Y15, Y13, Y15

// YFETCH brings a row into the cache while the loop runs.
#define YFETCH(p, y0, y1) PREFETCHT0 p
#define YLOAD2(p, y0, y1) \
	VMASKMOVPS p, Y14, y0 \
	VMASKMOVPS 32 p, Y15, y1
#define YSTORE2(p, y0, y1) \
	VMASKMOVPS y0, Y14, p \
	VMASKMOVPS y1, Y15, 32 p
#define YSTOREALL2(p, y0, y1) \
	STOREALL(p, y0) \
	STOREALL(32 p, y1)
#define YHIDE2(p, y0, y1) \
	VMASKMOVPS p, Y14, Y12 \
	VCMPPS     $4, Y13, Y12, Y12 \
	VANDPS     Y12, y0, y0 \
	VMASKMOVPS 32 p, Y15, Y12 \
	VCMPPS     $4, Y13, Y12, Y12 \
	VANDPS     Y12, y1, y1
#define YROWS2(f) \
	f((DX), Y0, Y1) \
	f((DX)(R8*1), Y2, Y3) \
	f((DX)(R9*1), Y4, Y5) \
	f((R14), Y6, Y7) \
	f((R14)(R8*1), Y8, Y9) \
	f((R14)(R9*1), Y10, Y11)
#define YLOW(y) VMAXPS y, Y12, y
#define YLOW4(y0, y1, y2, y3) YLOW(y0); YLOW(y1); YLOW(y2); YLOW(y3)

#define YFMA2(p, ya, y0, y1) \
	VBROADCASTSS p, ya \
	VFMADD231PS  Y12, ya, y0 \
	VFMADD231PS  Y13, ya, y1
#define YFMA2x6 \
	YFMA2((SI), Y14, Y0, Y1) \
	YFMA2((SI)(R8*1), Y15, Y2, Y3) \
	YFMA2((SI)(R9*1), Y14, Y4, Y5) \
	YFMA2((DI), Y15, Y6, Y7) \
	YFMA2((DI)(R8*1), Y14, Y8, Y9) \
	YFMA2((DI)(R9*1), Y15, Y10, Y11)

// func tile2x6x16(t *tile)
TEXT ·tile2x6x16(SB), NOSPLIT, $0-8
	MOVQ t+0(FP), AX
	COLUMNS2
	ROWS(tile_start, tile_startRows)
	YROWS2(YLOAD2)
	ROWS(tile_c, tile_cRows)
	YROWS2(YFETCH)
	CMPQ tile_mask(AX), $0
	JEQ  loop
	ROWS(tile_mask, tile_maskRows)
	YROWS2(YFETCH)

loop:
	OPERANDS
	CMPQ tile_cols(AX), $16
	JNE  partial

	PCALIGN $32
full:
	PREFETCHT0 (SI)(R11*8)
	PREFETCHT0 (BX)(R12*8)
	VMOVUPS (BX), Y12
	VMOVUPS 32(BX), Y13
	YFMA2x6
	STEP
	JNZ full
	JMP finish

partial:
	COLUMNS2
	YLOAD2((BX), Y12, Y13)
	YFMA2x6
	STEP
	JNZ partial

finish:
	VBROADCASTSS tile_low(AX), Y12
	YLOW4(Y0, Y1, Y2, Y3)
	YLOW4(Y4, Y5, Y6, Y7)
	YLOW4(Y8, Y9, Y10, Y11)
	COLUMNS2
	CMPQ tile_mask(AX), $0
	JEQ  store
	VXORPS Y13, Y13, Y13
	ROWS(tile_mask, tile_maskRows)
	YROWS2(YHIDE2)

store:
	ROWS(tile_c, tile_cRows)
	CMPQ tile_cols(AX), $16
	JNE  storePartial // under a mask a store takes twelve cycles
	YROWS2(YSTOREALL2)
	VZEROUPPER
	RET

storePartial:
	YROWS2(YSTORE2)
	VZEROUPPER
	RET

#define YROW8(f, p) \
	f(p, Y0) \
	f(32 p, Y1) \
	f(64 p, Y2) \
	f(96 p, Y3) \
	f(128 p, Y4) \
	f(160 p, Y5) \
	f(192 p, Y6) \
	f(224 p, Y7)
#define YFMA1(p, y) VFMADD231PS p, Y12, y
#define YHIDEALL(p, y) \
	VCMPPS $4, p, Y13, Y12 \
	VANDPS Y12, y, y

// func tile2x1x64(t *tile)
TEXT ·tile2x1x64(SB), NOSPLIT, $0-8
	MOVQ t+0(FP), AX
	MOVQ tile_start(AX), DX
	YROW8(LOADALL, (DX))
	OPERANDS

loop:
	VBROADCASTSS (SI), Y12
	YROW8(YFMA1, (BX))
	STEP
	JNZ loop

	VBROADCASTSS tile_low(AX), Y12
	YLOW4(Y0, Y1, Y2, Y3)
	YLOW4(Y4, Y5, Y6, Y7)
	MOVQ   tile_mask(AX), DX
	TESTQ  DX, DX
	JEQ    store
	VXORPS Y13, Y13, Y13
	YROW8(YHIDEALL, (DX))

store:
	MOVQ tile_c(AX), DX
	YROW8(STOREALL, (DX))
	VZEROUPPER
	RET

#define YLOADBLOCKS(p, x, y) \
	VMOVUPS     (p), x \
	VINSERTF128 $1, (p)(R9*1), y, y
#define YBLOCKS \
	YLOADBLOCKS(SI, X4, Y4) \
	YLOADBLOCKS(DI, X5, Y5) \
	YLOADBLOCKS(DX, X6, Y6) \
	YLOADBLOCKS(R14, X7, Y7) \
	VUNPCKLPS Y5, Y4, Y8 \
	VUNPCKHPS Y5, Y4, Y9 \
	VUNPCKLPS Y7, Y6, Y10 \
	VUNPCKHPS Y7, Y6, Y11 \
	VUNPCKLPD Y10, Y8, Y4 \
	VUNPCKHPD Y10, Y8, Y5 \
	VUNPCKLPD Y11, Y9, Y6 \
	VUNPCKHPD Y11, Y9, Y7
#define YFMACOLUMN(o, y) \
	VBROADCASTSS o(BX), Y12 \
	VBROADCASTSS o(BX)(R12*1), Y13 \
	VBROADCASTSS o(BX)(R12*2), Y14 \
	VBROADCASTSS o(BX)(R15*1), Y15 \
	VFMADD231PS  Y12, Y4, y \
	VFMADD231PS  Y13, Y5, y \
	VFMADD231PS  Y14, Y6, y \
	VFMADD231PS  Y15, Y7, y

// func narrow2(t *narrowTile)
TEXT ·narrow2(SB), NOSPLIT, $0-8
	MOVQ t+0(FP), AX
	COLUMNOPERANDS
	VMOVUPS (R10), Y0
	VMOVUPS 64(R10), Y1
	VMOVUPS 128(R10), Y2
	VMOVUPS 192(R10), Y3

loop:
	YBLOCKS
	YFMACOLUMN(0, Y0)
	CMPQ R8, $2
	JLT  next
	YFMACOLUMN(4, Y1)
	JEQ  next
	YFMACOLUMN(8, Y2)
	CMPQ R8, $4
	JLT  next
	YFMACOLUMN(12, Y3)

next:
	COLUMNSTEP
	JNZ loop

	VMOVUPS Y0, (R10)
	VMOVUPS Y1, 64(R10)
	VMOVUPS Y2, 128(R10)
	VMOVUPS Y3, 192(R10)
	VZEROUPPER
	RET

// func transpose2(t *narrowTile)
TEXT ·transpose2(SB), NOSPLIT, $0-8
	MOVQ t+0(FP), AX
	COLUMNOPERANDS

loop:
	YBLOCKS
	VMOVUPS Y4, (BX)
	VMOVUPS Y5, (BX)(R12*1)
	VMOVUPS Y6, (BX)(R12*2)
	VMOVUPS Y7, (BX)(R15*1)
	COLUMNSTEP
	JNZ loop
	VZEROUPPER
	RET

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
